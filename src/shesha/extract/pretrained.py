"""Load pretrained models by name: a local folder, a package with weights, or a name on a hub.

Nothing is unpickled, and code that comes with a model is never run: weights are safetensors or GGUF, and
`trust_remote_code` is always False.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha.support.optional import require

if TYPE_CHECKING:
    from torch import nn

TIMM = "timm/"
"""Prefix of the names of timm models."""
CONFIG = "config.json"
_GGUF = ".gguf"
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
            raise ValueError(f"model must be a folder with a {CONFIG} or one GGUF file, got {place}")
        return source
    if place.suffix == _GGUF and place.is_file():
        return Source(str(place.parent), place.parent, place.name)
    return _find_packaged_weights(name) or Source(name, None)


def _source_in(folder: Path) -> Source | None:
    """Return the model in a folder that has a configuration or else a single GGUF file; None otherwise."""
    if (folder / CONFIG).is_file():
        return Source(str(folder), folder)
    files = sorted(folder.glob(f"*{_GGUF}"))
    return Source(str(folder), folder, files[0].name) if len(files) == 1 else None


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
    """Load a network without the head from its pretraining."""
    transformers = require("transformers", "hf", f"transformers is needed to load {name}")
    torch = require("torch", "torch")
    from shesha.extract.model_state import preserve_random_state

    # Pickled weights could run code; safetensors and GGUF contain only numbers.
    how = {"dtype": torch.float32} if source.gguf else {"use_safetensors": True, "weights_only": True}
    with quiet(), _gguf_reader(source), preserve_random_state():
        # Weights that the file lacks (often a pooler) are random; a fixed seed makes them equal when a run resumes.
        torch.manual_seed(0)
        try:
            model: nn.Module = transformers.AutoModel.from_pretrained(source.place, **how, **source.options)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"model must be a folder or package with a {CONFIG} and safetensors weights, a GGUF file, or a name "
                f"that transformers can load, got {name!r}: {str(error).strip().splitlines()[0]}"
            ) from error
    return model


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
    with quiet(), _gguf_reader(source):
        try:
            return getattr(transformers, what).from_pretrained(source.place, **source.options)
        except (OSError, ValueError, ImportError) as error:
            reason = str(error).strip().splitlines()[0]
            raise ValueError(
                f"reader must be given for {kind} if {source.place!r} contains none, got None: {reason}"
            ) from error


def read_json(source: Source | None, *parts: str) -> dict[str, Any]:
    """Return the content of a JSON file next to the weights, or an empty dict if there is none."""
    file = source.folder.joinpath(*parts) if source is not None and source.folder is not None else None
    return json.loads(file.read_text(encoding="utf-8")) if file is not None and file.is_file() else {}


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
