"""Pretrained models by name: a local folder, a package that carries its weights, or a hub's name.

Nothing is unpickled and no code that comes with a model is run: weights are safetensors, and `trust_remote_code` is
never set.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha.support.optional import require

if TYPE_CHECKING:
    from torch import nn

TIMM = "timm/"
"""Begins the names of timm's models."""
CONFIG = "config.json"
_SAFE: dict[str, Any] = {"trust_remote_code": False}


@dataclass(frozen=True)
class Source:
    """Where a pretrained model lies.

    Attributes
    ----------
    place : str
        What transformers is asked for: a folder, or a name.
    folder : Path or None
        The folder, where it is known without asking anybody.
    """

    place: str
    folder: Path | None

    @property
    def options(self) -> dict[str, Any]:
        """Options of every call that loads from here."""
        return {**_SAFE, "local_files_only": True} if self.folder is not None else dict(_SAFE)


def find_source(name: str) -> Source:
    """Find a model: a folder, then a package, then a name that transformers may have kept or may ask a hub for."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / CONFIG).is_file():
            raise ValueError(f"model must be a folder with a {CONFIG}, got {folder}")
        return Source(str(folder), folder)
    packaged = _package_folder(name)
    return Source(str(packaged) if packaged else name, packaged)


def _package_folder(name: str) -> Path | None:
    """Return the folder of weights within an installed package, which is looked for and not imported."""
    module = name.replace("-", "_")
    spec = find_spec(module) if module.isidentifier() else None
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    folders = (root, *sorted(one for one in root.iterdir() if one.is_dir()))
    return next((one for one in folders if (one / CONFIG).is_file() and any(one.glob("*.safetensors"))), None)


def load_model(name: str, source: Source) -> nn.Module:
    """Load a network without the head that it was trained with."""
    transformers = require("transformers", "hf", f"transformers is needed to load {name}")
    torch = require("torch", "torch")
    from shesha.extract.model_state import preserve_random_state

    with quiet(), preserve_random_state():
        # What the file lacks (a pooler, often) is drawn at random: equal draws let a run that was cut off go on.
        torch.manual_seed(0)
        try:
            model: nn.Module = transformers.AutoModel.from_pretrained(
                source.place, use_safetensors=True, weights_only=True, **source.options
            )
        except (OSError, ValueError) as error:
            raise ValueError(
                f"model must be a folder or package with a {CONFIG} and safetensors weights, or a name that "
                f"transformers can load, got {name!r}: {str(error).strip().splitlines()[0]}"
            ) from error
    return model


def load_reader(source: Source, kind: str) -> Any:
    """Load the tokenizer or the image processor of a model."""
    transformers = require("transformers", "hf", "transformers is needed to read the inputs")
    what = {"texts": "AutoTokenizer", "images": "AutoImageProcessor"}[kind]
    with quiet():
        try:
            return getattr(transformers, what).from_pretrained(source.place, **source.options)
        except (OSError, ValueError, ImportError) as error:
            reason = str(error).strip().splitlines()[0]
            raise ValueError(f"reader must be given for {kind}, got none with {source.place!r}: {reason}") from error


def read_json(source: Source | None, *parts: str) -> dict[str, Any]:
    """Return what a JSON file beside the weights holds; nothing where there is none."""
    file = source.folder.joinpath(*parts) if source is not None and source.folder is not None else None
    return json.loads(file.read_text(encoding="utf-8")) if file is not None and file.is_file() else {}


def input_network(model: nn.Module, kind: str) -> nn.Module:
    """Return the part of a model that reads this kind of inputs: one of two towers, an encoder, or all but the head."""
    base = getattr(model, "base_model", model)
    tower = {"texts": "text_model", "images": "vision_model"}[kind]
    if getattr(base, "text_model", None) is not None and getattr(base, "vision_model", None) is not None:
        found: nn.Module = getattr(base, tower)
        return found
    config = getattr(base, "config", None)
    return base.get_encoder() if getattr(config, "is_encoder_decoder", False) else base  # type: ignore[operator]


def is_causal(model: nn.Module) -> bool:
    """Whether tokens see only what is before them, so that the last one has seen everything."""
    from transformers.models.auto import modeling_auto as known

    config = getattr(model, "config", None)
    kind = getattr(config, "model_type", None)
    causal, masked = known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, known.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    return bool(getattr(config, "is_decoder", False)) or (kind in causal and kind not in masked)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers from reporting what is meant: weights of the head that are left out."""
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
