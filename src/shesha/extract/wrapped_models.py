"""Take the model out of the wrappers of compilation, parallel training and adapters."""

from __future__ import annotations

from typing import Any

from torch import nn

from shesha.support.provenance import state


def unwrap_model(model: nn.Module) -> tuple[nn.Module, str]:
    """Return the model inside its wrappers, and the prefix of its names in the outermost wrapper.

    The wrappers are those of `torch.compile` (``_orig_mod``), of data-parallel training (``module``) and of PEFT
    (``base_model.model``). The layers of the model inside compute the same, with the adapter.

    Examples
    --------
    >>> unwrap_model(nn.DataParallel(nn.Linear(2, 2)))
    (Linear(in_features=2, out_features=2, bias=True), 'module.')
    """
    prefix = ""
    while (inside := _inside(model)) is not None:
        model, prefix = inside[0], f"{prefix}{inside[1]}."
    if prefix:
        state(f"names of layers without {prefix.rstrip('.')}")
    return model, prefix


def _inside(model: Any) -> tuple[nn.Module, str] | None:
    if hasattr(model, "_orig_mod"):
        return model._orig_mod, "_orig_mod"
    if isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
        return model.module, "module"
    configs = getattr(model, "peft_config", None)
    if isinstance(configs, dict) and hasattr(model, "get_base_model"):
        if any(getattr(config, "is_prompt_learning", False) for config in configs.values()):
            raise ValueError(
                "model must be a model whose adapter changes its layers, got one that learns prompts, which are lost "
                "without its wrapper; pass activations that the wrapped model computes"
            )
        return model.get_base_model(), "base_model.model"
    return None
