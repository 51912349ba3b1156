"""The embedding of a sentence encoder: pooling, layers after it and prompts, as its folder declares them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from shesha.extract.pretrained import Source, module_list, read_source_json as read_json
from shesha.support.optional import load_tensors

if TYPE_CHECKING:
    from torch import Tensor

    from shesha.extract.pooling import Pooled

Step = Callable[["Tensor"], "Tensor"]
POOLING_KEYS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "last",
}
"""Pooling modes of sentence-transformers in the order of their concatenation, with their names here."""
_NEWER = {"mean_sqrt_len_tokens": "mean_sqrt_len", "lasttoken": "last"}
"""Names in newer configurations that differ from ours."""
_OWN_CONFIGS = (
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
)
_ACTIVATIONS = frozenset(
    (
        *("Identity", "ReLU", "ReLU6", "Tanh", "Sigmoid", "GELU", "SiLU", "Mish", "ELU", "CELU", "SELU", "LeakyReLU"),
        *("Softplus", "Softsign", "LogSigmoid", "Hardtanh", "Hardsigmoid", "Hardswish", "Hardshrink", "Softshrink"),
    )
)
"""Activations of torch without parameters."""
_WEIGHTS, _PICKLED_WEIGHTS = "model.safetensors", "pytorch_model.bin"


@dataclass(frozen=True)
class SentenceEncoder:
    """What a sentence encoder does to texts before, and to tokens after, its network.

    Attributes
    ----------
    pool : str
        Names of the poolings whose results are concatenated, joined by ``+``.
    steps : tuple of functions
        Layers after the pooling, which `labels` describe.
    prompts : mapping of str to str
        Texts that can precede each input.
    prompt_name : str or None
        The prompt that the encoder uses by default.
    prompt_pooled : bool
        Whether the tokens of the prompt are pooled.
    problem : str
        Why the embedding cannot be computed; empty if it can.
    """

    pool: str
    steps: tuple[Step, ...] = ()
    labels: tuple[str, ...] = ()
    prompts: Mapping[str, str] = field(default_factory=dict)
    prompt_name: str | None = None
    prompt_pooled: bool = True
    max_tokens: int | None = None
    lower_case: bool = False
    problem: str = ""

    def prompt(self, name: str | None) -> tuple[str | None, str]:
        """Return the name and the text of a prompt; None means the default prompt, and '' means none."""
        chosen = self.prompt_name if name is None else name or None
        if chosen is None:
            return None, ""
        if chosen not in self.prompts:
            known = ", ".join(map(repr, self.prompts)) or "no prompts"
            raise ValueError(f"prompt must be a prompt of the model ({known}) or '', got {chosen!r}")
        return chosen, self.prompts[chosen]

    def embed(self, pooled: Pooled) -> Pooled:
        """Return a function that pools tokens and applies the layers after the pooling."""

        def embedding(states: Tensor, mask: Tensor | None) -> Tensor:
            rows = pooled(states, mask)
            for step in self.steps:
                rows = step(rows)
            return rows

        return embedding


def read_sentence_encoder(source: Source | None) -> SentenceEncoder | None:
    """Read the files of a sentence encoder; None if the model is not one."""
    own: dict[str, Any] = next((found for name in _OWN_CONFIGS if (found := read_json(source, name))), {})
    settings: dict[str, Any] = {"max_tokens": own.get("max_seq_length"), "lower_case": bool(own.get("do_lower_case"))}
    listed = module_list(source)
    if not listed:
        # Without the list of modules, only a folder of the pooling says that the model encodes sentences.
        pooling_config = read_json(source, "1_Pooling", "config.json")
        if not pooling_config:
            return None
        listed = [("Pooling", "1_Pooling", pooling_config)]
    shared = read_json(source, "config_sentence_transformers.json", of_list=True)
    prompts = {str(name): str(text) for name, text in (shared.get("prompts") or {}).items()}
    settings |= {"prompts": prompts, "prompt_name": shared.get("default_prompt_name")}
    pools, steps, labels = [], [], []
    try:
        for kind, path, config in listed:
            if kind == "Pooling":
                pools.append(_pooling_modes(config))
                settings["prompt_pooled"] = bool(config.get("include_prompt", True))
            elif kind in ("Transformer", "Dropout"):
                continue
            elif kind in _STEPS and pools:
                step, label = _STEPS[kind](source, path, config)
                steps.append(step)
                labels.append(label)
            else:
                raise ValueError(f"{kind}{'' if pools else ' before the pooling'} in modules.json")
        if len(pools) > 1:
            raise ValueError(f"{len(pools)} poolings in modules.json")
        if dimension := shared.get("truncate_dim"):
            steps.append(_first_features(int(dimension)))
            labels.append(f"first {dimension} features")
    except ValueError as error:
        settings["problem"] = str(error)
    return SentenceEncoder(pools[0] if pools else "mean", tuple(steps), tuple(labels), **settings)


def sentence_encoder_parts(model: Any) -> tuple[Any, Any, SentenceEncoder] | None:
    """Return the network, the tokenizer and the settings of a loaded SentenceTransformer; None for other objects."""
    if not any(kind.__module__.startswith("sentence_transformers.") for kind in type(model).__mro__):
        return None
    first, *others = model.children()
    network = getattr(first, "auto_model", None)
    kinds = ", ".join(type(module).__name__ for module in (first, *others))
    if network is None or [type(module).__name__ for module in others].count("Pooling") != 1:
        raise ValueError(f"model must be a Transformer with one Pooling, got a {type(model).__name__} of {kinds}")
    place = [type(module).__name__ for module in others].index("Pooling")
    pooling, later = others[place], others[place + 1 :]
    if place or any(getattr(module, "module_input_name", None) == "token_embeddings" for module in later):
        raise ValueError(f"model must have its Pooling after the Transformer, got {kinds}")
    config, dimension = pooling.get_config_dict(), getattr(model, "truncate_dim", None)
    cut = () if dimension is None else (_first_features(dimension),)
    return (
        network,
        model.tokenizer,
        SentenceEncoder(
            _pooling_modes(config),
            (*map(_module_step, later), *cut),
            (*(type(module).__name__ for module in later), *(f"first {dimension} features" for _ in cut)),
            prompts=dict(getattr(model, "prompts", None) or {}),
            prompt_name=getattr(model, "default_prompt_name", None),
            prompt_pooled=bool(config.get("include_prompt", True)),
            max_tokens=first.max_seq_length,
            lower_case=bool(getattr(first, "do_lower_case", False)),
        ),
    )


def _module_step(module: Any) -> Step:
    def apply(rows: Tensor) -> Tensor:
        weight = next(module.parameters(), None)
        moved = rows if weight is None else rows.to(weight)
        output: Tensor = module({"sentence_embedding": moved})["sentence_embedding"]
        return output

    return apply


def _pooling_modes(config: Mapping[str, Any]) -> str:
    """Return the names of the poolings that are concatenated, joined by ``+``."""
    newer = config.get("pooling_mode")
    if newer:
        names = [newer] if isinstance(newer, str) else list(newer)
        modes = [_NEWER.get(name, name) for name in names]
    else:
        modes = [mode for key, mode in POOLING_KEYS.items() if config.get(key)] or ["mean"]
    if unknown := [mode for mode in modes if mode not in POOLING_KEYS.values()]:
        raise ValueError(f"pooling {unknown[0]!r} in the configuration of the pooling")
    return "+".join(modes)


def _dense(source: Source, path: str, config: Mapping[str, Any]) -> tuple[Step, str]:
    import torch

    _require_sentence_features("Dense", config)
    weights = _read_weights(source, path)
    name = str(config.get("activation_function") or "torch.nn.modules.linear.Identity")
    place, _, kind = name.rpartition(".")
    if kind not in _ACTIVATIONS or place not in ("torch.nn", "torch.nn.modules.activation", "torch.nn.modules.linear"):
        raise ValueError(f"activation {name} in {path}")
    activation: Any = getattr(torch.nn, kind)()
    residual = bool(config.get("use_residual"))
    weight, bias, shortcut = (weights.get(key) for key in ("linear.weight", "linear.bias", "residual.weight"))
    if weight is None:
        raise ValueError(f"no linear.weight in {path}")

    def dense(rows: Tensor) -> Tensor:
        wide = rows.to(torch.float64 if rows.dtype == torch.float64 else torch.float32)
        moved = {key: None if value is None else value.to(wide) for key, value in (("b", bias), ("s", shortcut))}
        mapped: Tensor = activation(torch.nn.functional.linear(wide, weight.to(wide), moved["b"]))
        if not residual:
            return mapped
        return mapped + (wide if moved["s"] is None else torch.nn.functional.linear(wide, moved["s"]))

    return dense, f"Dense {weight.shape[1]} to {weight.shape[0]} with {type(activation).__name__}"


def _layer_norm(source: Source, path: str, config: Mapping[str, Any]) -> tuple[Step, str]:
    import torch

    weights = _read_weights(source, path)
    weight, bias = weights["norm.weight"], weights["norm.bias"]
    return lambda rows: torch.nn.functional.layer_norm(
        rows, rows.shape[-1:], weight.to(rows), bias.to(rows)
    ), "LayerNorm"


def _normalize(source: Source, path: str, config: Mapping[str, Any]) -> tuple[Step, str]:
    import torch

    _require_sentence_features("Normalize", config)
    return lambda rows: torch.nn.functional.normalize(rows, dim=-1), "Normalize"


def _first_features(dimension: int) -> Step:
    return lambda rows: rows[:, :dimension]


def _require_sentence_features(kind: str, config: Mapping[str, Any]) -> None:
    for key in ("module_input_name", "module_output_name"):
        if (config.get(key) or "sentence_embedding") != "sentence_embedding":
            raise ValueError(f"{kind} of {config[key]} in modules.json")


_STEPS: dict[str, Callable[[Any, str, Mapping[str, Any]], tuple[Step, str]]] = {
    "Dense": _dense,
    "LayerNorm": _layer_norm,
    "Normalize": _normalize,
}


def _read_weights(source: Source, path: str) -> dict[str, Tensor]:
    """Read the weights of a module after the pooling, without unpickling code."""
    import pickle

    from safetensors.torch import load_file

    folder = PurePosixPath(path)
    if (file := source.file(str(folder / _WEIGHTS), of_list=True)) is not None:
        return load_file(file)
    if (file := source.file(str(folder / _PICKLED_WEIGHTS), of_list=True)) is None:
        raise ValueError(f"no {_WEIGHTS} in {path}")
    try:
        loaded = load_tensors(file)
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        raise ValueError(f"{_PICKLED_WEIGHTS} in {path}, which contains more than tensors") from error
    if not isinstance(loaded, Mapping):
        raise ValueError(f"{_PICKLED_WEIGHTS} in {path}, which contains no weights by name")
    return {str(name): tensor for name, tensor in loaded.items()}
