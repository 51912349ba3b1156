"""Find the axis of a layer's output that numbers the inputs, by running batches of two sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

N_FIRST = 3
"""Number of inputs in the first of the two batches; the second batch lacks its first input."""
_SAME, _SAME_IN_HALF = 1e-2, 1e-1
"""Mean relative difference up to which outputs are equal. Batches of other sizes round differently."""


@dataclass(frozen=True)
class InputAxis:
    """Where the inputs of a batch are in an output.

    Attributes
    ----------
    axis : int
        The axis that numbers the inputs.
    parts : int
        Number of entries of each input along this axis, such as time steps or windows that were folded into it.
    interleaved : bool
        Whether the entries of one input are `n` places apart rather than next to each other.

    Examples
    --------
    >>> steps_first = torch.arange(6).reshape(3, 2)
    >>> InputAxis(1).inputs_first(steps_first, 2)
    tensor([[0, 2, 4],
            [1, 3, 5]])
    >>> InputAxis(0, 3).inputs_first(torch.arange(6), 2)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """

    axis: int = 0
    parts: int = 1
    interleaved: bool = False

    def inputs_first(self, output: Tensor, n: int) -> Tensor:
        """Return the output with one entry per input along the first axis, and its parts along the second."""
        if self.axis >= output.ndim or output.shape[self.axis] != n * self.parts:
            raise ValueError(
                f"outputs must have {self.parts} entries for each of the {n} inputs along axis {self.axis}, got shape "
                f"{tuple(output.shape)}; choose other layers, or pass a callable as pool"
            )
        moved = output.movedim(self.axis, 0)
        if self.parts == 1:
            return moved
        rest = moved.shape[1:]
        if self.interleaved:
            return moved.reshape(self.parts, n, *rest).movedim(1, 0)
        return moved.reshape(n, self.parts, *rest)

    @property
    def text(self) -> str:
        """The decision in words; empty for inputs along the first axis."""
        if self.parts > 1:
            return f"axis {self.axis} holds {self.parts} entries of each input"
        return f"axis {self.axis} numbers the inputs" if self.axis else ""


FIRST = InputAxis()


def find_input_axis(output: Tensor, without_first: Tensor, *, compared: bool = True) -> InputAxis | None:
    """Return where the inputs are; None if no axis numbers them.

    The axis must have as many entries per input in both batches, and the outputs of the inputs that both batches
    contain must be equal. Otherwise, the layer mixes its inputs.

    Parameters
    ----------
    output : Tensor
        Output for a batch of `N_FIRST` inputs.
    without_first : Tensor
        Output for the same batch without its first input.
    compared : bool
        Whether to compare the values; False for models that draw random numbers.

    Raises
    ------
    ValueError
        If an axis has the right lengths, but the outputs of one input depend on the other inputs.
    """
    possible = list(_possible_axes(output, without_first))
    if not possible:
        return None
    if not compared:
        return possible[0]
    fitting = [axis for axis in possible if _agrees(axis, output, without_first)]
    if not fitting:
        raise ValueError("rows depend on the other inputs of the batch")
    # Several fit only if the output is the same for all inputs or parts.
    return fitting[0]


def _possible_axes(output: Tensor, without_first: Tensor) -> Iterator[InputAxis]:
    if output.ndim != without_first.ndim:
        return
    for axis in range(output.ndim):
        before, after = output.shape[axis], without_first.shape[axis]
        parts = before // N_FIRST
        others = [
            size for place, size in enumerate(zip(output.shape, without_first.shape, strict=True)) if place != axis
        ]
        if not parts or before != parts * N_FIRST or after != parts * (N_FIRST - 1) or any(a != b for a, b in others):
            continue
        yield InputAxis(axis, parts)
        if parts > 1:
            yield InputAxis(axis, parts, interleaved=True)


def _agrees(axis: InputAxis, output: Tensor, without_first: Tensor) -> bool:
    before = axis.inputs_first(output, N_FIRST)[1:].reshape(N_FIRST - 1, -1).double()
    after = axis.inputs_first(without_first, N_FIRST - 1).reshape(N_FIRST - 1, -1).double()
    before, after = torch.nan_to_num(before), torch.nan_to_num(after)
    scale = torch.linalg.vector_norm(before, dim=1) + torch.linalg.vector_norm(after, dim=1)
    differences = 2 * torch.linalg.vector_norm(before - after, dim=1) / scale.clamp_min(torch.finfo(torch.float64).tiny)
    limit = _SAME if output.dtype in (torch.float32, torch.float64) else _SAME_IN_HALF
    return bool(differences.mean() <= limit)
