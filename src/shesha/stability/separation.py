"""Distances between classes over distances within: one distance matrix for all subsamples."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha import _validate as check
from shesha._random import Seed, generator
from shesha.kernels.distances import METRICS, PANEL, Metric, panel
from shesha.kernels.threads import parallel
from shesha.stability.feature import directed

Matrix = NDArray[np.float64]
Codes = NDArray[np.intp]


def class_separation_ratio(
    X: ArrayLike,
    y: ArrayLike,
    n_bootstrap: int = 50,
    subsample_frac: float = 0.5,
    metric: Metric = "euclidean",
    seed: Seed = None,
) -> float:
    """Mean distance between classes over mean distance within, averaged over random subsamples.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows, finite.
    y : array of shape (n_samples,)
        Class labels, at least two classes.
    n_bootstrap : int
        Number of subsamples, drawn without replacement as the public package draws them.
    subsample_frac : float
        Share of the rows in each subsample, in (0, 1].
    metric : {'euclidean', 'cosine', 'correlation'}
        Distance between rows.
    seed : int, Generator or None
        For the subsamples.

    Returns
    -------
    float
        At least 0; 1 without separation, larger with more. NaN, with a warning, if no subsample holds
        two classes and a class with two different members.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.repeat([0, 1], 50)
    >>> X = np.random.default_rng(0).standard_normal((100, 10))
    >>> class_separation_ratio(X + 5 * y[:, None], y, seed=0) > 3
    True
    """
    check.choice(metric, METRICS, "metric")
    check.count(n_bootstrap, "n_bootstrap")
    share = check.fraction(subsample_frac, "subsample_frac")
    matrix = check.matrix(X)
    codes, _ = check.labels(y, len(matrix))
    rows = directed(matrix, metric)
    rng = generator(seed)
    size = int(len(rows) * share)
    chosen = np.zeros((len(rows), n_bootstrap))
    for draw in range(n_bootstrap):
        chosen[rng.choice(len(rows), size, replace=False), draw] = 1.0
    ratios = separation_ratios(rows, codes, metric, chosen)
    if np.isnan(ratios).all():
        return check.not_estimable("no subsample holds two classes and a class with two different members")
    return float(np.nanmean(ratios))


def separation_ratios(rows: Matrix, codes: Codes, metric: Metric, counts: Matrix) -> NDArray[np.float64]:
    """Separation ratio for each column of row counts; pairs of a row with itself never count.

    Sums of distances over pairs are quadratic forms in the counts, so each panel of distances
    serves all columns in one matrix product and no distance is computed twice.
    """
    order = np.argsort(codes, kind="stable")
    rows, codes, counts = rows[order], codes[order], counts[order]

    def sums(start: int) -> tuple[Matrix, Matrix]:
        distances = panel(rows, metric, start)
        width = len(distances)
        distances[np.tril_indices(width)] = 0.0  # Pairs i < j only.
        if metric == "euclidean":
            np.sqrt(distances, out=distances)
        own = codes[start : start + width]
        here = counts[start : start + width]
        total = np.einsum("ib,ib->b", here, distances @ counts[start:])
        # Rows are sorted by class: from the panel's first row, its classes form one stretch.
        stop = int(np.searchsorted(codes, own[-1], side="right"))
        distances[:, : stop - start] *= own[:, None] == codes[start:stop]
        within = np.einsum("ib,ib->b", here, distances[:, : stop - start] @ counts[start:stop])
        return total, within

    parts = list(parallel(sums, range(0, len(rows), PANEL)))
    total, within = (np.sum([part[k] for part in parts], axis=0) for k in (0, 1))
    n_total, n_within = _pair_counts(codes, counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = ((total - within) / (n_total - n_within)) / (within / n_within)
    return np.where(np.isfinite(ratio), ratio, np.nan)


def _pair_counts(codes: Codes, counts: Matrix) -> tuple[Matrix, Matrix]:
    """Number of pairs of different rows, in all and within classes, for each column of counts."""
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    per_class = np.add.reduceat(counts, starts, axis=0)
    own = (counts**2).sum(axis=0)
    return (counts.sum(axis=0) ** 2 - own) / 2, ((per_class**2).sum(axis=0) - own) / 2
