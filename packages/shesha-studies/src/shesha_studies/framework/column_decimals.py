"""Numbers of decimals in a table, equal for all numbers of one column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

_WIDER = 2
"""Largest number of extra decimals that are added so that the smallest number is not printed as zero."""
_FEW = 1 / 3
"""If this share of the numbers or more would be printed as zero, each cell is formatted separately."""
_EXACT = 1e-9
"""Largest relative error at which a decimal still counts as an exact representation of a number."""


def column_cells(values: Sequence[Any]) -> list[str]:
    """Format the cells of a column.

    The largest number determines how many decimals are printed, so that it has four digits or three decimals. Fewer
    decimals are used if all numbers are exact with fewer, and more if the smallest number would be printed as zero. A
    much smaller number is written with a power of ten. If this applies to a third of the numbers or more, or if the
    column also contains words, each cell is formatted separately with four digits.

    Examples
    --------
    >>> column_cells([0.9, 0.873, float("nan")])
    ['0.900', '0.873', '-']
    >>> column_cells([8.0, 0.02]), column_cells([128.0, 64.0]), column_cells([3e-7, 0.5])
    (['8.00', '0.02'], ['128', '64'], ['3e-07', '0.5'])
    """
    numbers = [float(value) for value in values if _is_number(value) and math.isfinite(value)]
    is_numeric = all(value is None or _is_number(value) for value in values)
    decimals = _decimals(numbers) if is_numeric else None
    return [_cell(value, decimals) for value in values]


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _decimals(numbers: Sequence[float]) -> int | None:
    """Return the common number of decimals; None if no number is suitable."""
    sizes = sorted(abs(value) for value in numbers if value)
    if not sizes:
        return 0
    exponent = math.floor(math.log10(sizes[-1]))
    enough = max(0, (3 if exponent >= 0 else 2) - exponent)
    counts = [max(enough, -math.floor(math.log10(size))) for size in sizes]
    possible = [count for count in counts if count <= enough + _WIDER]
    if len(counts) - len(possible) >= _FEW * len(counts):
        return None
    wanted = max(possible)
    return next(n for n in range(wanted + 1) if n == wanted or _exact(numbers, n, sizes[-1]))


def _exact(numbers: Sequence[float], decimals: int, largest: float) -> bool:
    return all(abs(value - round(value, decimals)) <= _EXACT * largest for value in numbers)


def _cell(value: Any, decimals: int | None) -> str:
    if value is None or value != value:
        return "-"
    if not _is_number(value) or math.isinf(value) or (decimals is None and isinstance(value, Integral)):
        return str(value)
    if decimals is None:
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    # Adding 0.0 turns -0.0 into 0.0.
    written = f"{value + 0.0:.{decimals}f}"
    return written if float(written) or not value else f"{value:.3g}"
