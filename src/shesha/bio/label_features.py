"""Features that alone tell which label a cell has, as counts of guides and tags do."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.support.types import Index, Mask

_MOST_LABELS, _FEWEST_LABELS = 20, 3
"""Numbers of labels that are looked at."""
_MOST_CELLS, _FEWEST_CELLS = 50, 10
"""Numbers of cells of each label that are looked at."""
_GAP = 0.6
"""Smallest distance of high values from those of other cells, relative to that from their median, if a feature is a
count of a guide or tag; genes vary more."""
_CANDIDATES = 50
"""Number of features, those whose means differ most, that are looked at for each label."""
_ELSEWHERE, _NEARLY_ALL, _LEAST = 0.01, 0.95, 0.1
"""Largest share of other cells in which a feature is as high, and smallest shares of the cells of a label in which one
of its features, and each of them, is high."""
_MOST_FEATURES, _AS_OFTEN = 6, 0.5
"""Largest number of features of a label, such as its guides, and share of their frequency from which on others count.

Labels that change the cells have many such features."""
_MOST = 2 / 3
"""Smallest share of the labels that have such features, if labels were made from features."""


def choose_cells(labels: NDArray[Any]) -> Index:
    """Return the places of a few cells of each of the most frequent labels; none if there are few such labels."""
    known, sizes = np.unique(labels.astype(str), return_counts=True)
    frequent = known[np.argsort(-sizes, kind="stable")][: min(_MOST_LABELS, np.count_nonzero(sizes >= _FEWEST_CELLS))]
    if len(frequent) < _FEWEST_LABELS:
        return np.empty(0, dtype=np.intp)
    rng = np.random.default_rng(0)
    return np.sort(np.concatenate([rng.permutation(np.flatnonzero(labels == one))[:_MOST_CELLS] for one in frequent]))


def features_of_labels(values: Any, labels: NDArray[Any]) -> dict[str, Index]:
    """Return, by label, the few features of which one is high in nearly all of its cells, and in hardly any other.

    The result is empty unless most labels have such features, since labels were then made from them: counts of guides
    or tags. A knock-down of the target gene separates cells only in part, and an effect changes many features.

    Parameters
    ----------
    values : array or sparse matrix of shape (n_cells, n_features)
    labels : array of shape (n_cells,)
        At least two labels.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["A", "B", "NT"], 40)
    >>> guides = rng.poisson(30, (120, 3)) * (labels[:, None] == np.unique(labels))
    >>> found = features_of_labels(np.hstack([rng.poisson(1, (120, 20)), guides]), labels)
    >>> {label: features.tolist() for label, features in found.items()}
    {'A': [20], 'B': [21], 'NT': [22]}
    """
    known = np.unique(labels.astype(str))
    own = labels.astype(str) == known[:, None]
    found = {}
    for label, inside, columns in zip(known.tolist(), own, _highest_differences(values, own), strict=True):
        some = values[:, columns]
        candidates = np.nan_to_num(np.asarray(some.toarray() if hasattr(some, "toarray") else some, dtype=np.float64))
        middle, limit = np.quantile(candidates[~inside], [0.5, 1 - _ELSEWHERE], axis=0)
        is_high = candidates[inside] > limit
        # The median of the high values of each feature; a feature without any has no gap.
        n_low, high = (~is_high).sum(axis=0), np.sort(np.where(is_high, candidates[inside], -np.inf), axis=0)
        height = high[(n_low + len(high) - 1) // 2, np.arange(len(columns))]
        has_gap = (n_low < len(high)) & (height - limit > _GAP * (height - middle))
        if len(chosen := _few_that_cover(is_high, has_gap)):
            found[label] = columns[chosen]
    return found if len(found) >= _MOST * len(known) else {}


def _highest_differences(values: Any, own: Mask) -> list[Index]:
    """Return, for each label, the features whose mean in its cells exceeds that in others most, in units of spread."""
    squared = values.multiply(values) if hasattr(values, "multiply") else np.square(values)
    weights = own.astype(np.float64)
    sums, squares = (np.nan_to_num(np.asarray(weights @ part)) for part in (values, squared))
    sizes = weights.sum(axis=1, keepdims=True)
    means, others = sums / sizes, (sums.sum(axis=0) - sums) / (sizes.sum() - sizes)
    spread = squares / sizes - means**2 + (squares.sum(axis=0) - squares) / (sizes.sum() - sizes) - others**2
    differences = (means - others) / np.sqrt(np.maximum(spread, np.finfo(float).tiny))
    return list(np.argsort(-differences, axis=1, kind="stable")[:, :_CANDIDATES])


def _few_that_cover(is_high: Mask, has_gap: Mask) -> Index:
    """Return a few features of which one is high in nearly every cell; none if further ones are high as often."""
    covered = np.zeros(len(is_high), dtype=bool)
    chosen: list[int] = []
    while covered.mean() < _NEARLY_ALL and len(chosen) < _MOST_FEATURES:
        gains = (is_high & ~covered[:, None] & has_gap).mean(axis=0)
        if gains.max() < _LEAST:
            break
        chosen.append(int(gains.argmax()))
        covered |= is_high[:, chosen[-1]]
    how_often = is_high.mean(axis=0)
    if covered.mean() < _NEARLY_ALL or (how_often >= _AS_OFTEN * how_often[chosen].min()).sum() > _MOST_FEATURES:
        return np.empty(0, dtype=np.intp)
    return np.array(chosen, dtype=np.intp)
