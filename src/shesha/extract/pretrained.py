"""Load pretrained models by name: a local folder, a package with weights, a hub, adapters (PEFT), or timm."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from importlib.util import find_spec
from io import StringIO
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, cast

import torch

from shesha.extract._input_rows import Process
from shesha.extract.gguf_header import read_gguf_numbers
from shesha.support import files as regular_files
from shesha.support.files import read_json
from shesha.support.optional import require
from shesha.support.provenance import state, state_warning
from shesha.support.wording import count

if TYPE_CHECKING:
    from torch import nn


TIMM = "timm/"
"""Prefix of the names of timm models."""
CONFIG, MODULES, ADAPTER = "config.json", "modules.json", "adapter_config.json"
_GGUF = ".gguf"
_MOST_LAYERS, _MOST_ENTRIES = 1000, 2**28
"""Layers, and entries of one matrix, that any configuration may declare, however small its weights are."""
_WIDTHS = ("hidden_size", "n_embd", "d_model", "dim")
_GGUF_SIZES = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "vocab_size": "vocab_size",
}
"""Names in a configuration for numbers in the header of a GGUF file."""
_SAFE: dict[str, Any] = {"trust_remote_code": False}


@dataclass(frozen=True)
class Source:
    """Where a pretrained model is stored.

    Attributes
    ----------
    place : str
        The folder or name to pass to transformers.
    folder : Path or None
        The local folder, or None if the model is known only by name.
    gguf : str
        Name of the GGUF file in the folder, which contains both weights and tokenizer; empty for safetensors weights.
    """

    place: str
    folder: Path | None
    gguf: str = ""
    root: Path | None = None
    """The folder that lists the modules of a sentence encoder, if it is another one."""
    adapter: Path | None = None
    """The folder of an adapter (PEFT) that changes the model; `place` is then its base model."""

    def file(self, name: str, *, of_list: bool = False) -> Path | None:
        """Return the path of a file of the model, or of its list of modules; None if it does not exist.

        Files of a model known only by name are looked up in the cache of the hub, where loading stores them.
        """
        places = (self.root,) if of_list and self.root is not None else (self.adapter, self.folder)
        files = [place / name for place in places if place is not None]
        if self.folder is not None or any(file.is_file() for file in files):
            return next((file for file in files if file.is_file()), None)
        from transformers.utils.hub import cached_file

        try:
            found = cached_file(self.place, name, _raise_exceptions_for_missing_entries=False)
        except (OSError, ValueError):
            return None
        return None if found is None else Path(found)

    @property
    def options(self) -> dict[str, Any]:
        """Options for every call that loads from this source."""
        local = {"local_files_only": True} if self.folder is not None else {}
        return {**_SAFE, **local, **({"gguf_file": self.gguf} if self.gguf else {})}


def find_source(name: str) -> Source:
    """Find a model in a folder, GGUF file or package, or assume a name that transformers can load."""
    place = Path(name).expanduser()
    if place.is_dir():
        source = _source_in(place)
        if source is None:
            raise ValueError(f"model must be a folder with a {CONFIG}, an {ADAPTER} or one GGUF file, got {place}")
        return source
    if place.suffix == _GGUF and place.is_file():
        return Source(str(place.parent), place.parent, place.name)
    return _find_packaged_weights(name) or Source(name, None)


def _source_in(folder: Path) -> Source | None:
    """Return the model in a folder: a configuration, an adapter, a list of modules, or else a single GGUF file."""
    if (folder / ADAPTER).is_file():
        return find_adapter(folder)
    if (folder / CONFIG).is_file():
        above = folder.parent if (folder.parent / MODULES).is_file() and not (folder / MODULES).is_file() else None
        return Source(str(folder), folder, root=above)
    if (folder / MODULES).is_file():
        return _transformer_source(folder)
    files = sorted(folder.glob(f"*{_GGUF}"))
    return Source(str(folder), folder, files[0].name) if len(files) == 1 else None


def _transformer_source(folder: Path) -> Source:
    """Return the network of a sentence encoder that is in a folder of its own."""
    listed = module_list(Source(str(folder), folder))
    kind, path, _ = listed[0] if listed else ("nothing", "", {})
    inside = folder / path
    if kind != "Transformer" or not (inside / CONFIG).is_file():
        raise ValueError(
            f"model must be a sentence encoder that begins with a Transformer, got {folder}, whose {MODULES} begins "
            f"with {kind}; encode the texts with sentence-transformers, and pass the matrix instead of the model"
        )
    return Source(str(inside), inside, root=folder)


def module_list(source: Source | None) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the kind, the folder and the configuration of each module of a sentence encoder; empty if it is none."""
    listed = read_source_json(source, MODULES, of_list=True)
    if source is None or not isinstance(listed, list):
        return []
    modules = []
    for entry in listed:
        kind, path = (str(entry.get(key, "")) if isinstance(entry, dict) else "" for key in ("type", "path"))
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise ValueError(f"{MODULES} must list folders inside the model, got {path!r}")
        known = kind.startswith("sentence_transformers.")
        config = read_source_json(source, path, CONFIG, of_list=True) if path else {}
        modules.append((kind.rpartition(".")[2] if known else kind or "a module without a type", path, config))
    return modules


def _find_packaged_weights(name: str) -> Source | None:
    """Return the weights in an installed package, which is located but not imported."""
    module = name.replace("-", "_")
    spec = find_spec(module) if module.isidentifier() else None
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    folders = (root, *sorted(folder for folder in root.iterdir() if folder.is_dir()))
    weights = (folder for folder in folders if any(folder.glob("*.safetensors")) or any(folder.glob(f"*{_GGUF}")))
    return next((source for folder in weights if (source := _source_in(folder)) is not None), None)


def load_model(name: str, source: Source) -> nn.Module:
    """Load a network without the head from its pretraining, with its adapter if it has one."""
    if source.adapter is not None:
        return load_adapter(source)
    return load_network(name, source)


def load_network(name: str, source: Source, auto_class: str = "AutoModel") -> nn.Module:
    """Load a network by one of the automatic classes of transformers."""
    transformers = require("transformers", "hf", f"transformers is needed to load {name}")
    torch = require("torch", "torch")
    from shesha.extract.torch_modules import preserve_random_state

    # Pickled weights could run code; safetensors and GGUF contain only numbers.
    how = {"dtype": torch.float32} if source.gguf else {"use_safetensors": True, "weights_only": True}
    with quiet(), _gguf_reader(source), preserve_random_state():
        _require_plausible_sizes(source)
        # Weights that the file lacks (often a pooler) are random; a fixed seed makes them equal when a run resumes.
        torch.manual_seed(0)
        try:
            loader = getattr(transformers, auto_class)
            model, found = loader.from_pretrained(source.place, output_loading_info=True, **how, **source.options)
        except Exception as error:  # A damaged configuration leads to errors of any kind.
            raise ValueError(
                f"model must be a folder or package with a {CONFIG} and safetensors weights, a GGUF file, or a name "
                f"that transformers can load, got {name!r}: {_first_line(error)}"
            ) from error
    _require_weights(name, model, found)
    return cast("nn.Module", model)


def _require_weights(name: str, model: Any, found: Mapping[str, Any]) -> None:
    """Refuse a file that lacks most parameters of its network, which would be random, and warn if it lacks some."""
    # Files of a language model lack the pooler, which no layer uses.
    missing = sorted(key for key in found.get("missing_keys", ()) if "pooler" not in key)
    n_all = len(list(model.parameters()))
    if not missing:
        return
    lacks = f"{len(missing):,} of {count(n_all, 'parameter')} (such as {missing[0]})"
    if 2 * len(missing) > n_all:
        others = set(map(str, found.get("unexpected_keys", ())))
        ends = {key.removesuffix(missing[0]) for key in others if key.endswith(missing[0])}
        prefix = next((end for end in sorted(ends) if end and all(f"{end}{key}" in others for key in missing)), "")
        begin = (
            f", because the names in it begin with {prefix!r}; save the weights without this prefix" if prefix else ""
        )
        raise ValueError(f"model must be saved with the weights of its network, got {name!r} without {lacks}{begin}")
    state_warning(
        f"the file of {name} lacks {lacks}, which are random, so the layers that use them show no learned geometry",
        questions_input=True,
    )


def _require_plausible_sizes(source: Source) -> None:
    """Refuse a configuration with negative sizes, or of a far larger network than the weights in its folder could fill.

    A network is built before its weights are read, so such a configuration would exhaust memory or time.
    """
    if source.folder is None:
        return
    n_bytes = sum(file.stat().st_size for file in source.folder.glob(source.gguf or "*.safetensors"))
    if source.gguf:
        numbers = read_gguf_numbers(source.folder / source.gguf)
        sizes = [(_GGUF_SIZES.get(key.rpartition(".")[2], ""), value) for key, value in numbers.items()]
    else:
        parts = _parts(read_source_json(source, CONFIG))
        sizes = [(name, value) for part in parts for name, value in part.items() if type(value) is int]
    width = max((value for name, value in sizes if name in _WIDTHS), default=1)
    for name, value in sizes:
        deep = "layers" in name or name == "n_layer"
        limit = max(_MOST_LAYERS, n_bytes >> 12) if deep else max(_MOST_ENTRIES, 4 * n_bytes)
        entries = value * width if name in ("vocab_size", *_WIDTHS) else value
        counts = deep or "size" in name or "heads" in name or name in _WIDTHS
        if counts and (value < 0 or entries > limit):
            raise ValueError(
                f"{source.gguf or CONFIG} must describe the weights beside it ({n_bytes:,} bytes), got {name} = "
                f"{str(value)[:20]} in {source.folder}"
            )


def _parts(config: Any) -> Iterator[dict[str, Any]]:
    """Yield a configuration and those of its parts."""
    if isinstance(config, dict):
        yield config
        for part in config.values():
            yield from _parts(part)


@contextmanager
def _gguf_reader(source: Source) -> Iterator[None]:
    """Check that GGUF files can be read, and silence their progress bar, which no option turns off."""
    if not source.gguf:
        yield
        return
    for needed in ("gguf", "accelerate"):
        if find_spec(needed) is None:
            raise ImportError(f"{needed} is needed to read {source.gguf}: pip install gguf accelerate")
    with redirect_stderr(StringIO()):
        yield


def load_reader(source: Source, kind: str) -> Any:
    """Load the tokenizer or image processor of a model."""
    transformers = require("transformers", "hf", "transformers is needed to read the inputs")
    what = {"texts": "AutoTokenizer", "images": "AutoImageProcessor"}[kind]
    own = source.adapter is not None and any(source.adapter.glob("tokenizer*"))
    place = str(source.adapter) if own else source.place
    with quiet(), _gguf_reader(source):
        try:
            reader = getattr(transformers, what).from_pretrained(place, **source.options)
            # A damaged tokenizer may fail only when it looks up its own tokens.
            getattr(reader, "unk_token_id", None)
            return reader
        except Exception as error:  # A damaged tokenizer leads to errors of any kind.
            raise ValueError(
                f"reader must be given for {kind} if {place!r} contains none, got None: {_first_line(error)}"
            ) from error


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def read_source_json(source: Source | None, *parts: str, of_list: bool = False) -> Any:
    """Return the content of a JSON file next to the weights, or an empty dict if there is none.

    With `of_list`, the file is next to the list of modules of a sentence encoder.
    """
    file = None if source is None else source.file("/".join(parts), of_list=of_list)
    if file is None:
        return {}
    return regular_files.read_json(file, "/".join(parts))


def input_network(model: nn.Module, kind: str) -> nn.Module:
    """Return the part of a model that encodes the inputs: a tower, an encoder, or all but the head."""
    base = getattr(model, "base_model", model)
    tower = {"texts": "text_model", "images": "vision_model"}[kind]
    if getattr(base, "text_model", None) is not None and getattr(base, "vision_model", None) is not None:
        encoder: nn.Module = getattr(base, tower)
        return encoder
    config = getattr(base, "config", None)
    return base.get_encoder() if getattr(config, "is_encoder_decoder", False) else base  # type: ignore[operator]


def is_causal(model: nn.Module) -> bool:
    """Return whether attention is causal, so that only the last token depends on all others."""
    from transformers.models.auto import modeling_auto as known

    config = getattr(model, "config", None)
    kind = getattr(config, "model_type", None)
    causal, masked = known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, known.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    return bool(getattr(config, "is_decoder", False)) or (kind in causal and kind not in masked)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the messages of transformers about unused weights of the head."""
    logging = require("transformers", "hf").utils.logging
    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()


_WEIGHTS = "adapter_model.safetensors"
_CLASSES = {
    "CAUSAL_LM": "AutoModelForCausalLM",
    "SEQ_2_SEQ_LM": "AutoModelForSeq2SeqLM",
    "SEQ_CLS": "AutoModelForSequenceClassification",
    "TOKEN_CLS": "AutoModelForTokenClassification",
    "QUESTION_ANS": "AutoModelForQuestionAnswering",
}
"""Class of the base model for each task of an adapter; otherwise, the model has no head."""


def find_adapter(folder: Path) -> Source:
    """Return the source of an adapter's base model, which the adapter's configuration names."""
    base = str(_read_config(folder).get("base_model_name_or_path") or "")
    places = [folder / base, folder.parent / base, folder.parent / Path(base).name] if base else []
    place = next((str(place) for place in places if place.is_dir()), base)
    try:
        source = find_source(place)
    except ValueError as error:
        raise ValueError(f"{_merge_advice(folder, base)}: {error}") from error
    root = folder if (folder / "modules.json").is_file() else source.root
    return Source(source.place, source.folder, source.gguf, root, folder)


def load_adapter(source: Source) -> nn.Module:
    """Load a base model, add the weights of the adapter, and return a model with the names of the base model."""
    folder = source.adapter
    assert folder is not None
    config = _read_config(folder)
    base = str(config.get("base_model_name_or_path"))
    if find_spec("peft") is None:
        raise ValueError(f"{_merge_advice(folder, base)}: peft, which loads adapters, is not installed")
    if not (folder / _WEIGHTS).is_file():
        raise ValueError(f"{_merge_advice(folder, base)}: there is no {_WEIGHTS}")
    tried = dict.fromkeys([_CLASSES.get(str(config.get("task_type")), "AutoModel"), "AutoModel", _CLASSES["CAUSAL_LM"]])
    for auto_class in tried:
        merged = _merge_adapter(source, folder, auto_class)
        if merged is not None:
            kind = str(config.get("peft_type") or "adapter")
            state(f"{folder.name}: {kind} adapter on {Path(base).name}")
            # Later steps find the tokenizer and the pooling of the adapter by this name.
            merged.config._name_or_path = str(folder)
            loaded: nn.Module = merged
            return loaded
    raise ValueError(f"{_merge_advice(folder, base)}: its weights do not fit the layers of the base model")


def _merge_adapter(source: Source, folder: Path, auto_class: str) -> Any:
    """Return the base model with the merged adapter; None if the adapter's weights have no place in this class."""
    import peft
    from peft.utils import get_peft_model_state_dict
    from safetensors import safe_open

    with quiet(), warnings.catch_warnings():
        # The versions of the two libraries need not fit exactly; missing weights are looked for below.
        warnings.simplefilter("ignore")
        try:
            network = load_network(source.place, Source(source.place, source.folder, source.gguf), auto_class)
            adapted: Any = peft.PeftModel.from_pretrained(network, str(folder), local_files_only=True)
        except (ValueError, RuntimeError, KeyError, TypeError, OSError) as error:
            reason = str(error).strip().splitlines()[0]
            if auto_class == "AutoModel":
                raise ValueError(f"{_merge_advice(folder, source.place)}: {reason}") from error
            return None
        placed = set(get_peft_model_state_dict(adapted, save_embedding_layers=False))
    with safe_open(folder / _WEIGHTS, framework="pt") as file:
        stored = set(file.keys())
    # Weights that find no layer are skipped with a warning only, which leaves the base model unchanged.
    if any(name not in placed and "embed" not in name for name in stored):
        return None
    if adapted.active_peft_config.is_prompt_learning or not hasattr(adapted, "merge_and_unload"):
        raise ValueError(
            f"model must be an adapter that changes layers, got {folder}, which learns prompts "
            f"({adapted.active_peft_config.peft_type.value}); pass activations that the model computes with them"
        )
    return adapted.merge_and_unload()


def _read_config(folder: Path) -> dict[str, Any]:
    config = read_json(folder / ADAPTER, ADAPTER)
    if not isinstance(config, dict):
        raise ValueError(f"{ADAPTER} must be a JSON object, got {type(config).__name__} in {folder}")
    return config


def _merge_advice(folder: Path, base: str) -> str:
    return (
        f"model must be an adapter that can be loaded with its base model {base!r}, got {folder}. Merge it first, with "
        "`from transformers import AutoModel, AutoTokenizer; from peft import PeftModel; "
        f"model = PeftModel.from_pretrained(AutoModel.from_pretrained({base!r}), {str(folder)!r}); "
        "model.merge_and_unload().save_pretrained('merged'); "
        f"AutoTokenizer.from_pretrained({base!r}).save_pretrained('merged')`, and pass merged"
    )


def load(name: str) -> tuple[nn.Module, Process]:
    """Return a pretrained network without its classifier, and its image preprocessing."""
    timm: Any = require("timm", "timm", f"timm is needed to load timm/{name}")
    try:
        model: nn.Module = timm.create_model(name, pretrained=True, num_classes=0)
    except (RuntimeError, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"model must be a network of timm with weights, got {name!r}: {reason}") from error
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(model), is_training=False)
    image: Any = require("PIL.Image", "vision", "pillow is needed to read images")

    def process(images: list[Any]) -> torch.Tensor:
        as_images = [picture if hasattr(picture, "convert") else image.fromarray(picture) for picture in images]
        return torch.stack([transform(picture) for picture in as_images])

    return model, process
