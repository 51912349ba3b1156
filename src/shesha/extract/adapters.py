"""Load adapters (PEFT), such as those of LoRA, with the base model that they change."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha.extract.pretrained import ADAPTER, Source, find_source, load_network, quiet
from shesha.support.provenance import state
from shesha.support.regular_files import read_json

if TYPE_CHECKING:
    from torch import nn

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
        merged = _merged(source, folder, auto_class)
        if merged is not None:
            kind = str(config.get("peft_type") or "adapter")
            state(f"{folder.name}: {kind} adapter on {Path(base).name}")
            # Later steps find the tokenizer and the pooling of the adapter by this name.
            merged.config._name_or_path = str(folder)
            loaded: nn.Module = merged
            return loaded
    raise ValueError(f"{_merge_advice(folder, base)}: its weights do not fit the layers of the base model")


def _merged(source: Source, folder: Path, auto_class: str) -> Any:
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
