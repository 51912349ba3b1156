"""Conditional nulls, which preserve the scale of each row or some other given quantity."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.nulls.design_builder import match_by_quantity
from shesha.stability.request import Request
from shesha.support.seeds import generator
from shesha.support.types import Matrix, Seed, Vector
from shesha.views import Rows

ROW_SCALE = "row scale"
_ENTRIES = 1 << 22
_VARIES = 1e-9
"""A quantity counts as constant if its spread, divided by its mean, is at most this ratio."""


def conditional_requests(request: Request, keep: str | ArrayLike, blocks: ArrayLike | None = None) -> list[Request]:
    """Return one request for each quantity that the null preserves.

    Several quantities describe the scale of a row, and it depends on the data which of them the two halves share.
    Random scales about an offset affect a row's distance from the mean row; count depth affects the norm and the number
    of nonzero features. A score that reflects more than the scale must exceed the null of every quantity.

    Parameters
    ----------
    request : Request
        Request that has no exchange design.
    keep : 'row scale' or array of shape (n_rows,)
        Quantity that the null preserves.
    blocks : array of shape (n_rows,), optional
        Block of each row; rows are permuted only within their block. Default: no blocks.

    Raises
    ------
    ValueError
        If `keep` is another name, does not fit the rows, or is the same for all rows.
    """
    designs = [match_by_quantity(kept, name, blocks) for name, kept in _quantities(request, keep)]
    seeds = _repeat_seed(request.seed, len(designs))
    return [replace(request, design=design, seed=seed) for design, seed in zip(designs, seeds, strict=True)]


def _quantities(request: Request, keep: str | ArrayLike) -> Iterator[tuple[str, ArrayLike]]:
    if not isinstance(keep, str):
        check.labels(keep, request.n_rows, "keep", min_classes=2)
        yield "given values", keep
        return
    check.choice(keep, (ROW_SCALE,), "keep")
    if not isinstance(request.source, Rows):
        raise ValueError(f"keep must be an array if only distances between rows are known, got {keep!r}")
    quantities = scales(request.source, within_rows=request.options.get("metric") == "correlation")
    varying = {name: kept for name, kept in quantities.items() if kept.std() > _VARIES * kept.mean()}
    if not varying:
        raise ValueError(f"keep must differ between rows, got {keep!r}, but all rows have equal scale")
    yield from varying.items()


def scales(rows: Rows, *, within_rows: bool = False) -> dict[str, Vector]:
    """Return the quantities that describe the scale of each row, by name.

    Parameters
    ----------
    rows : Rows
        The rows, which are read in parts.
    within_rows : bool
        Whether to subtract each row's mean from its values first.

    Examples
    --------
    >>> found = scales(Rows([[3.0, 4.0], [0.0, 0.0], [6.0, 8.0], [3.0, 4.0]]))
    >>> {name: kept.tolist() for name, kept in found.items()}["norm"]
    [5.0, 0.0, 10.0, 5.0]
    """
    unit = max((float(np.abs(part).max(initial=0.0)) for _, part in _parts(rows)), default=1.0) or 1.0
    total = np.zeros(rows.shape[1])
    for _, part in _parts(rows, unit, within_rows):
        total += part.sum(axis=0)
    mean = total / len(rows)
    norm, distance, detected = (np.empty(len(rows)) for _ in range(3))
    for start, part in _parts(rows, unit, within_rows):
        span = slice(start, start + len(part))
        norm[span], distance[span] = np.linalg.norm(part, axis=1), np.linalg.norm(part - mean, axis=1)
    for start, part in _parts(rows):
        detected[start : start + len(part)] = np.count_nonzero(part, axis=1)
    return {"norm": norm * unit, "distance from the mean row": distance * unit, "number of features detected": detected}


def _parts(rows: Rows, unit: float = 1.0, within_rows: bool = False) -> Iterator[tuple[int, Matrix]]:
    for start, part in rows.blocks(_ENTRIES):
        block = check.finite(part, rows.name, first_row=start) / unit
        yield start, block - block.mean(axis=1, keepdims=True) if within_rows else block


def _repeat_seed(seed: Seed, n: int) -> list[int | np.random.Generator | None]:
    """Return n seeds that all give the same partitions, because all nulls belong to the same score."""
    if isinstance(seed, int):
        return [seed] * n
    rng = generator(seed)
    return [*(deepcopy(rng) for _ in range(n - 1)), rng]
