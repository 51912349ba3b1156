"""Describe how the lengths of rows changed, which cosine distances do not show."""

from __future__ import annotations

import numpy as np

from shesha.kernels.rounding_and_scaling import safe_unit
from shesha.support.types import Matrix, Vector

_MATERIAL = 0.05
"""Smallest relative change of the lengths that is described; rounding to half precision changes less."""
_EQUAL = 0.02
"""Relative spread below which lengths, or their changes, are the same for all rows."""


def _spread(lengths: Vector) -> float:
    """Return half the range of the middle 90 % of positive numbers, relative to their median."""
    low, middle, high = np.quantile(lengths, [0.05, 0.5, 0.95])
    return float((high - low) / middle / 2)


def _range(lengths: Vector) -> str:
    if _spread(lengths) < _EQUAL:
        return f"{np.median(lengths):.3g} in all rows"
    low, middle, high = np.quantile(lengths, [0.05, 0.5, 0.95])
    return f"{middle:.3g} in the median ({low:.3g} to {high:.3g} in 90 % of rows)"


def describe_lengths(before: Matrix, after: Matrix, *, paired: bool) -> str:
    """Describe the lengths of rows before and after if they differ; empty if they do not, or if a row is zero.

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((50, 8))
    >>> describe_lengths(rows, 5 * rows, paired=True)
    'all rows are 5 times as long as before'
    >>> describe_lengths(rows, rows[:, ::-1], paired=True)
    ''
    >>> unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    >>> describe_lengths(rows, unit, paired=False)
    'row lengths are 1 in all rows, and were 2.64 in the median (1.82 to 3.76 in 90 % of rows)'
    """
    unit = safe_unit(before, after)
    # Lengths beyond the largest number count as the largest.
    norms = (
        np.minimum(np.linalg.norm(rows / unit, axis=1), np.finfo(float).max / max(unit, 1.0))
        for rows in (before, after)
    )
    return describe_changes(*(unit * lengths for lengths in norms), paired=paired)


def describe_changes(first: Vector, second: Vector, *, paired: bool) -> str:
    """Describe the lengths of rows before and after if they differ, from these lengths."""
    if not (first.all() and second.all()):
        return ""
    one, other = (lengths if paired else np.median(lengths, keepdims=True) for lengths in (first, second))
    # The ratio of a large and a subnormal length could overflow.
    ratios = np.exp(np.clip(np.log(other) - np.log(one), -700, 700))
    is_changed = float(np.median(np.abs(np.log(ratios)))) > np.log1p(_MATERIAL)
    if not is_changed and (paired or _is_unit(first) == _is_unit(second)):
        return ""
    if paired and _spread(ratios) < _EQUAL:
        return f"all rows are {np.median(ratios):.3g} times as long as before"
    return f"row lengths are {_range(second)}, and were {_range(first)}"


def _is_unit(lengths: Vector) -> bool:
    return _spread(lengths) < _EQUAL
