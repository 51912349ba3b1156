"""Addition of a vector to the output of a module, for the duration of a with block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from shesha.support import spelling
from shesha.support.types import Vector
from shesha.support.warnings import MeasureWarning, warn

_CLOSE = 3


def module_named(model: Any, layer: str) -> Any:
    """Return the module with this name; the error for an unknown name suggests similar names."""
    if not hasattr(model, "named_modules"):
        raise TypeError(f"model must be a torch module, got {type(model).__name__}")
    if not isinstance(layer, str):
        raise TypeError(f"layer must be the name of a module, got {layer!r}")
    known = dict(model.named_modules())
    if layer in known and layer:
        return known[layer]
    names = [name for name in known if name]
    raise ValueError(f"layer must be the name of a module of the model, got {layer!r}{_suggest_names(layer, names)}")


def _suggest_names(layer: str, names: list[str]) -> str:
    """Suggest names with similar spelling or the same ending, because wrapper modules add prefixes."""
    ending = [name for name in names if name == layer.strip(".") or name.endswith("." + layer.strip("."))]
    close = list(dict.fromkeys([*ending, *spelling.close_names(layer, names, n=_CLOSE, cutoff=0.5)]))[:_CLOSE]
    if close:
        return spelling.did_you_mean(close)
    return f"; known names are {', '.join(map(repr, names[:_CLOSE]))}{' and more' if len(names) > _CLOSE else ''}"


@contextmanager
def add_shift(model: Any, layer: str, shift: Vector) -> Iterator[Any]:
    """Add a shift to the last axis of a module's output; the model is restored when the block ends.

    Yields
    ------
    module
        The module whose output is shifted.
    """
    module, runs = module_named(model, layer), [0]

    def add(_: Any, __: Any, output: Any) -> Any:
        runs[0] += 1
        return _shift_output(output, shift, layer)

    handle = module.register_forward_hook(add)
    try:
        yield module
    finally:
        handle.remove()
    if not runs[0]:
        warn(
            f"{layer!r} did not run while it was hooked, so the model was not steered. Check that the forward pass "
            "uses this layer",
            MeasureWarning,
        )


def _shift_output(output: Any, shift: Vector, layer: str) -> Any:
    """Return the shifted output with its type unchanged; of several outputs, only the first is shifted."""
    if isinstance(output, tuple | list) and len(output):
        first = _shift_output(output[0], shift, layer)
        # Named tuples are built from separate fields, other types from a single sequence.
        make: Callable[..., Any] = type(output)
        return make(first, *output[1:]) if hasattr(output, "_fields") else make((first, *output[1:]))
    if not (hasattr(output, "shape") and hasattr(output, "is_floating_point") and output.is_floating_point()):
        raise TypeError(
            f"the output of {layer!r} must be a tensor of real numbers, or a tuple that begins with one, got "
            f"{type(output).__name__}"
        )
    if not len(output.shape) or output.shape[-1] != len(shift):
        raise ValueError(
            f"the output of {layer!r} must have {len(shift)} features, like the vector, got shape {tuple(output.shape)}"
        )
    # Adding in place would change a tensor that other modules may still use.
    return output + output.new_tensor(np.asarray(shift))
