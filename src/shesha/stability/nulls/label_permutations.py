"""Permutations of labels for scores that need labels; only a subset of rows is used if there are many."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shesha.stability.registry import Classes
from shesha.stability.request import SHUFFLING, Request
from shesha.support.seeds import spawn
from shesha.support.types import Index

ALL_ROWS = 4096
"""Most rows whose labels are all shuffled if the cost of a score grows quickly with the number of rows."""
NULL_ROWS = 2048
"""Number of rows whose labels are shuffled if there are more than ALL_ROWS. The null is then wider, never narrower."""
_FEWEST = 2


@dataclass(frozen=True)
class Shuffled:
    """The shuffled labels of all rows or of a subset of rows."""

    rows: Index | None
    """Numbers of the rows in the subset; None for all rows."""
    classes: Classes
    """The true labels of these rows."""
    codes: Index
    """The shuffled labels, with one line for each shuffle."""

    @property
    def notes(self) -> tuple[str, ...]:
        """A note if the null uses fewer rows than the value; otherwise empty."""
        if self.rows is None or not len(self.codes):
            return ()
        return (f"the null uses the labels of {len(self.rows):,} random rows, so the null is wider than with all rows",)


def shuffle_labels(request: Request, *, always_all: bool = False) -> Shuffled:
    """Shuffle the labels of all rows, or of a subset if there are many rows."""
    y = request.labels
    enough = always_all or request.n_rows <= ALL_ROWS or not request.n_permutations
    rows = None if enough else _some(request, NULL_ROWS)
    if rows is not None:
        y = y.take(rows)
        request = replace(request, classes=y, design=request.exchange.take(rows))
    codes = np.array([y.codes[order] for order in request.orders()], dtype=np.intp)
    return Shuffled(rows, y, codes.reshape(-1, len(y.codes)))


def _some(request: Request, most: int) -> Index | None:
    """Choose random rows, whole groups or a stretch; None if a class would keep hardly any rows."""
    rng, design, codes = spawn(request.seed, SHUFFLING), request.exchange, request.labels.codes
    n = design.n_rows
    if design.shift or design.block_length:
        start = int(rng.integers(n - most + 1))
        rows = np.arange(start, start + most)
    else:
        sizes = np.bincount(design.clusters)
        order = rng.permutation(len(sizes))
        n_groups = max(2, int(np.searchsorted(np.cumsum(sizes[order]), most, side="right")))
        rows = np.flatnonzero(np.isin(design.clusters, order[:n_groups]))
    here, all_of = np.bincount(codes[rows]), np.bincount(codes)
    here = np.pad(here, (0, len(all_of) - len(here)))
    return rows if (here >= np.minimum(all_of, _FEWEST)).all() else None
