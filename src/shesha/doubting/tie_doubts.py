"""Doubts about ties between distances."""

from __future__ import annotations

import numpy as np

from shesha.doubting._registry import doubt
from shesha.doubting.doubt_input import Subject
from shesha.results import Doubt
from shesha.support.types import Index
from shesha.views import Representation

_CONSTANT = "Check how the data were made. Similarity, stability and neighbours are undefined for constant data"
_N_NEAREST = 10
"""Number of nearest neighbours whose ties are checked."""
_DECIDED = 0.2
"""Ties are reported if their treatment determines at least this share of the ranks or neighbours."""


@doubt("ties")
def ties(subject: Subject) -> Doubt | None:
    """Check whether so many distances are equal that the treatment of ties determines ranks or neighbours."""
    distances, tolerance = Representation.build(subject.sample).condensed_distances(subject.metric, squared=True)
    known = np.sort(distances[np.isfinite(distances)])
    if len(known) < 2:
        return None
    starts = np.flatnonzero(np.concatenate([[True], np.diff(known) > tolerance]))
    if len(starts) == 1:
        return Doubt("no variation", 1.0, None, "all distances are equal, so there is no geometry to score", _CONSTANT)
    sizes = np.diff([*starts, len(known)]).astype(np.float64)
    # Share of the variance of the ranks that ties remove (Kendall and Gibbons 1990).
    of_ranks = float(np.sum(sizes**3 - sizes) / (float(len(known)) ** 3 - len(known)))
    of_neighbours = _tied_share(
        np.searchsorted(known[starts], distances + tolerance, side="right"), len(subject.sample)
    )
    effect = max(of_ranks, of_neighbours)
    if effect < _DECIDED:
        return None
    text = (
        "rows have few distinct values or share no nonzero entries, so many distances are equal. The treatment of ties "
        f"determines {100 * of_ranks:.0f} % of the variance of the distance ranks and {100 * of_neighbours:.0f} % of "
        f"the {_N_NEAREST} nearest neighbours"
    )
    which = "distance ranks or neighbours" if of_ranks >= _DECIDED else "neighbours"
    advice = f"Use a measure of features (such as CKA) instead of a measure of {which}, or use more features"
    return Doubt("ties", effect, None, text, advice)


def _tied_share(levels: Index, n: int) -> float:
    """Return the mean share of the nearest neighbours that depends on the order of equal distances."""
    k = min(_N_NEAREST, n - 1)
    square = np.full((n, n), np.iinfo(np.intp).max)
    i, j = np.triu_indices(n, k=1)
    square[i, j] = square[j, i] = levels
    last = np.partition(square, k - 1, axis=1)[:, k - 1, None]
    n_free = k - np.count_nonzero(square < last, axis=1)
    n_equal = np.count_nonzero(square == last, axis=1)
    return float(np.mean(n_free / k * (1 - n_free / n_equal)))
