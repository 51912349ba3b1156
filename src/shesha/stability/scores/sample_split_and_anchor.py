"""Two documented scores that estimate no well-defined quantity and are kept with a warning."""

from __future__ import annotations

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels import ranks
from shesha.kernels.distances import Metric
from shesha.stability.registry import stability
from shesha.support.seeds import generator
from shesha.support.types import Matrix, Seed
from shesha.support.warnings import NotEstimable, NotIdentifiableWarning, warn
from shesha.views import Standard

_SHRINK = 0.9
_FEWEST_ANCHORS, _FEWEST_PROBES = 10, 20


@stability(
    view=Standard,
    title="Sample-split score",
    bounds=(-1, 1),
    means="A score of the paper, kept as documented.",
    means_not="The score does not measure stability: it correlates distances of different pairs of rows, so the "
    "expected value is about 0.",
    reference="Raju 2026, section 3.2",
    invariant=("scaling", "orthogonal"),
    estimand=False,
)
def sample_split(
    rows: Standard,
    n_splits: int = 30,
    subsample_fraction: float = 0.4,
    metric: Metric = "cosine",
    seed: Seed = None,
    max_samples: int | None = 1500,
) -> float:
    """Sample-split Shesha, as documented; it warns because it does not measure stability.

    The distances within two random subsamples are rank-correlated *by position*. Entry k belongs to different pairs of
    rows in the two subsamples, so the expected value is about 0 for any data. (Distances between rows that are in both
    subsamples would agree perfectly for any encoder.) Use `replicate_stability` with two replicates of the same rows
    instead.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 4 rows and finite values.
    n_splits : int
        Number of pairs of subsamples.
    subsample_fraction : float
        Share of the rows in each subsample, in (0, 1].
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows.
    seed : int, Generator or None
        Seed for the random subsamples, which are drawn as in the public package.
    max_samples : int or None
        Maximum number of rows. If there are more, a random subset of this size is used; None uses all rows.

    Returns
    -------
    float
        Mean Spearman correlation, in [-1, 1]; NaN, with a warning, if a subsample would have fewer than 5 rows.

    Warns
    -----
    NotIdentifiableWarning
        Always.

    Examples
    --------
    >>> import numpy as np, warnings
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     abs(sample_split(X, seed=0)) < 0.1
    True
    """
    _warn("sample_split", "replicate_stability (two replicates of the same rows)")
    n_splits = check.count(n_splits, "n_splits")
    share = check.fraction(subsample_fraction, "subsample_fraction")
    rng = generator(seed)
    size = int(rows.n_rows * share)
    if rows.n_rows < 10 or size < 5:
        raise NotEstimable(f"at least 10 rows and 5 per subsample are needed, got {rows.n_rows} and {size}")
    tolerance = rows.level
    scores = []
    for _ in range(n_splits):
        first, second = (rng.choice(rows.n_rows, size, replace=False) for _ in range(2))
        a, b = (rows.permute(idx).squared() for idx in (first, second))
        scores.append(ranks.spearman(a, b, (tolerance, tolerance)))
    return _mean(scores)


@stability(
    view=Standard,
    title="Anchor score",
    bounds=(-1, 1),
    means="A score of the paper, kept as documented.",
    means_not="The score does not measure stability: it correlates distances of different pairs of rows, so the "
    "expected value is about 0.",
    reference="Raju 2026, section 3.2",
    invariant=("scaling", "orthogonal"),
    estimand=False,
    alias="anchor",
)
def anchor_stability(
    rows: Standard,
    n_splits: int = 30,
    n_anchors: int = 100,
    n_per_split: int = 200,
    metric: Metric = "cosine",
    rank_normalize: bool = True,
    seed: Seed = None,
    max_samples: int | None = 1500,
) -> float:
    """Anchor-based Shesha, as documented; it warns because it does not measure stability.

    The distances from fixed anchors to two disjoint sets of rows are correlated by position. Position k is a different
    row in each set, and ranking the distances does not make the rows match. Use `anchor_profile_stability` with two
    replicates of the same rows instead.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with finite values.
    n_splits : int
        Number of pairs of disjoint sets.
    n_anchors, n_per_split : int
        Number of anchors, and number of rows in each set. If there are too few rows, both numbers are reduced in
        proportion.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows.
    rank_normalize : bool
        Whether to rank the distances of each anchor before they are correlated.
    seed : int, Generator or None
        Seed for the random anchors and sets, which are drawn as in the public package.
    max_samples : int or None
        Maximum number of rows. If there are more, a random subset of this size is used; None uses all rows.

    Returns
    -------
    float
        Mean Spearman correlation, in [-1, 1]; NaN, with a warning, if there are too few rows for the smallest sizes.

    Warns
    -----
    NotIdentifiableWarning
        Always.

    Examples
    --------
    >>> import numpy as np, warnings
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     abs(anchor_stability(X, seed=0)) < 0.1
    True
    """
    check.boolean(rank_normalize, "rank_normalize")
    _warn("anchor_stability", "anchor_profile_stability (two replicates of the same rows)")
    n_splits = check.count(n_splits, "n_splits")
    sizes = check.count(n_anchors, "n_anchors"), check.count(n_per_split, "n_per_split")
    rng, n = generator(seed), rows.n_rows
    anchors, per_split = _shrink_sizes(n, *sizes)
    if n < anchors + 2 * per_split:
        raise NotEstimable(f"{anchors} anchors and two sets of {per_split} rows are needed, got {n} rows")
    anchor_ids = rng.choice(n, anchors, replace=False)
    others = np.setdiff1d(np.arange(n), anchor_ids)
    drawn = np.array([rng.permutation(others)[: 2 * per_split] for _ in range(n_splits)])
    used, places = np.unique(drawn, return_inverse=True)
    i, j = (ids.ravel() for ids in np.meshgrid(anchor_ids, used, indexing="ij"))
    distances = rows.squared_distances_between(i, j).reshape(len(anchor_ids), len(used))
    scores = []
    for both in places.reshape(n_splits, 2, per_split):
        profiles = [distances[:, probes] for probes in both]
        if rank_normalize:
            scores.append(_rank_correlation(*(_rank_rows(profile, rows.level) for profile in profiles)))
        else:
            scores.append(ranks.spearman(profiles[0].ravel(), profiles[1].ravel(), (rows.level, rows.level)))
    return _mean(scores)


def _rank_correlation(first: Matrix, second: Matrix) -> float:
    """Return the rank correlation over all rows of values that are already ranks within each row."""
    n = first.shape[1]
    centred = [matrix - (n - 1) / 2 for matrix in (first, second)]
    variance = len(first) * (n**3 - n) / 12
    # Without ties, each row contains every rank once, so ranking all values again would only rescale them. With ties,
    # the sum of squares is smaller, so that the following condition is false.
    if all(np.vdot(matrix, matrix) == variance for matrix in centred):
        return float(np.vdot(*centred) / variance)
    return ranks.spearman(first.ravel(), second.ravel())


def _rank_rows(values: Matrix, level: float) -> Matrix:
    """Rank the values of each row; values that differ by at most the level share their mean rank."""
    order = np.argsort(values, axis=1)
    table = np.empty(values.shape)
    np.put_along_axis(table, order, np.arange(values.shape[1], dtype=np.float64)[None], axis=1)
    gaps = np.diff(np.take_along_axis(values, order, axis=1), axis=1)
    for row in np.flatnonzero((gaps <= level).any(axis=1)):
        table[row] = ranks.midranks(values[row].copy(), level)[0]
    return table


def _shrink_sizes(n: int, n_anchors: int, n_per_split: int) -> tuple[int, int]:
    """Reduce both numbers in proportion if there are too few rows, as the public package does."""
    needed = n_anchors + 2 * n_per_split
    if n >= needed:
        return n_anchors, n_per_split
    scale = n / needed * _SHRINK
    return max(_FEWEST_ANCHORS, int(n_anchors * scale)), max(_FEWEST_PROBES, int(n_per_split * scale))


def _mean(scores: list[float]) -> float:
    if np.isnan(scores).all():
        raise NotEstimable("all distances are equal, so the correlation is undefined")
    return float(np.nanmean(scores))


def _warn(name: str, instead: str) -> None:
    warn(
        f"{name} correlates distances of different pairs of rows, so it does not measure stability. Use {instead}",
        NotIdentifiableWarning,
    )
