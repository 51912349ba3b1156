"""How far apart classes are, and how stable the geometry of their centroids is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels.class_statistics import (
    ClassSums,
    agreements,
    class_sums,
    class_variance_share,
    class_variance_shares,
    half_counts,
    mean_separation,
    mean_separations,
    random_halves,
    ratios_of_pairs,
    separation_sums,
    separations_of_shuffles,
    sums_of_groups,
    variance_shares_of_shuffles,
)
from shesha.kernels.distances import METRICS, PANEL, Metric, n_pairs
from shesha.kernels.rounding_and_scaling import safe_unit
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.nulls.group_halves import draw_class_halves
from shesha.stability import label_scores
from shesha.stability.label_scores import estimate_by_counts
from shesha.stability.registry import RESAMPLING, THINNING, Classes, Request, ScoreDraws, mean_score, stability
from shesha.stability.row_matching import count_group_pairs_once, group_codes, group_pairs
from shesha.support import memory
from shesha.support.progress import track
from shesha.support.seeds import generator, spawn
from shesha.support.types import Index, Mask, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Plain, Standard

_ALL_PAIRS = 4096
"""Most rows for which the interval uses all pairs of rows, and number of random pairs if there are more rows."""
_SOME_PAIRS = 1_000_000
_NO_SEPARATION = "no class has two members that differ from the other rows"


def estimate_separation(request: Request) -> ScoreDraws:
    """Estimate 'class_separation_ratio' from all rows instead of subsamples."""
    rows: Standard = request.variant.look(request.source, request.options)
    y, n = request.labels, rows.n_rows
    counts = np.ones((n, 1))
    if request.n_bootstrap and n <= _ALL_PAIRS:
        counts = np.hstack([counts, request.resamples()])
    ratios = _sums(rows, y, counts).subtract(_copies(rows, request, counts)).ratios
    if np.isnan(ratios[0]):
        return ScoreDraws(float("nan"), null=request.empty_null, reason="no class has two distinct rows")
    resampled: Vector = ratios[1:]
    notes: tuple[str, ...] = ()
    if request.n_bootstrap and n > _ALL_PAIRS:
        resampled, notes = _score_resamples(rows, request, float(ratios[0]))
    labels = label_scores.shuffle_labels(request)
    return ScoreDraws(
        float(ratios[0]),
        resampled=resampled,
        null=_null(rows, labels),
        n_pairs=n_pairs(n),
        notes=(*notes, *labels.notes),
    )


def _null(rows: Standard, labels: label_scores.Shuffled) -> Vector:
    """Return the scores for shuffled labels."""
    if not len(labels.codes):
        return np.empty(0)
    chosen = rows if labels.rows is None else rows.permute(labels.rows)
    sums = _sums(chosen, labels.classes, np.ones((chosen.n_rows, 1)))
    within = class_sums(chosen.panel, PANEL, labels.codes, labels.classes.n_classes)
    every = [np.broadcast_to(term, within.shape) for term in (sums.total, sums.n_total, sums.n_within)]
    return ClassSums(every[0], within, every[1], every[2]).ratios


def _score_resamples(rows: Standard, request: Request, value: float) -> tuple[Vector, tuple[str, ...]]:
    """Return scores of resamples from random pairs, shifted so that the data themselves get the value."""
    rng = spawn(request.seed, THINNING)
    n = rows.n_rows
    i = rng.integers(n, size=_SOME_PAIRS)
    j = rng.integers(n - 1, size=_SOME_PAIRS)
    j += j >= i
    distances = _distances(rows, i, j)
    differ = request.labels.codes[i] != request.labels.codes[j]
    (i, j), counts = count_group_pairs_once(request.design, (i, j), np.hstack([np.ones((n, 1)), request.resamples()]))
    scores = ratios_of_pairs(distances, differ, counts, i, j)
    note = f"the value uses all pairs; the interval uses {_SOME_PAIRS:,} random pairs"
    return value + scores[1:] - scores[0], (note,)


def _copies(rows: Standard, request: Request, counts: Matrix) -> ClassSums:
    """Return the sums over pairs of copies of the same group, which are pairs only in a resample."""
    group = group_codes(request.design)
    if group is None or counts.shape[1] == 1:
        return ClassSums(*(np.zeros(counts.shape[1]),) * 4)
    i, j = group_pairs(group)
    codes = request.labels.codes
    _, firsts, index = np.unique(group, return_index=True, return_inverse=True)
    drawn = counts[firsts]
    return sums_of_groups(_distances(rows, i, j), codes[i] == codes[j], index[i], drawn**2 - drawn)


def _distances(rows: Standard, i: Index, j: Index) -> Vector:
    distances = rows.squared_distances_between(i, j)
    return np.sqrt(distances, out=distances) if rows.squares else distances


def _sums(rows: Standard, y: Classes, counts: Matrix) -> ClassSums:
    order = np.argsort(y.codes, kind="stable")
    return separation_sums(rows.permute(order).panel, y.codes[order], counts[order])


@stability(
    needs="labels",
    view=Standard,
    title="Class separation",
    bounds=(0, float("inf")),
    means="Mean distance between classes divided by mean distance within classes; 1 means no separation.",
    means_not="With many features, the ratio is close to 1 even for well-separated classes.",
    reference="Raju 2026, section 3.3",
    invariant=("scaling", "translation", "orthogonal"),
    estimator=estimate_separation,
    settings={"metric": "euclidean"},
    audited=True,
    place=13,
)
def class_separation_ratio(
    rows: Standard,
    y: Classes,
    n_bootstrap: int = 50,
    subsample_frac: float = 0.5,
    metric: Metric = "euclidean",
    seed: Seed = None,
) -> float:
    """Ratio of the mean distance between classes to that within classes, averaged over subsamples.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 4 rows and finite values.
    y : array of shape (n_samples,)
        Class labels, with at least two classes.
    n_bootstrap : int
        Number of random subsamples, which are drawn without replacement, as in the public package.
    subsample_frac : float
        Share of the rows that each subsample contains, in (0, 1].
    metric : {'euclidean', 'cosine', 'correlation'}
        Distance between rows.
    seed : int, Generator or None
        Seed for the random subsamples.

    Returns
    -------
    float
        At least 0; 1 means no separation, and larger values mean more. NaN, with a warning, if no subsample contains
        two classes, of which one has two distinct rows.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.repeat([0, 1], 50)
    >>> X = np.random.default_rng(0).standard_normal((100, 10))
    >>> class_separation_ratio(X + 5 * y[:, None], y, seed=0) > 3
    True
    """
    n_bootstrap = check.count(n_bootstrap, "n_bootstrap")
    share = check.fraction(subsample_frac, "subsample_frac")
    rng = generator(seed)
    size = int(rows.n_rows * share)
    memory.require(
        8 * rows.n_rows * n_bootstrap, f"{n_bootstrap:,} subsamples of {rows.n_rows:,} rows", "reduce n_bootstrap"
    )
    chosen = np.zeros((rows.n_rows, n_bootstrap))
    for draw in range(n_bootstrap):
        chosen[rng.choice(rows.n_rows, size, replace=False), draw] = 1.0
    scores = _sums(rows, y, chosen).ratios
    return mean_score(scores, "no subsample contains two classes of which one has two distinct rows")


@stability(
    needs="labels",
    view=Plain,
    title="Variance between classes",
    bounds=(0, 1),
    means="Share of the variance that the labels explain.",
    means_not="Random labels give about (classes - 1) / (rows - 1), not 0.",
    reference="Raju 2026, section 3.3",
    invariant=("scaling", "translation", "orthogonal"),
    estimator=partial(
        estimate_by_counts,
        value=lambda X, y: class_variance_share(X, y.codes),
        resampled=class_variance_shares,
        shuffled=variance_shares_of_shuffles,
        reason="all rows are equal",
    ),
    audited=True,
    place=12,
    alias="variance",
)
def variance_ratio(data: Plain, y: Classes) -> float:
    """Share of the total variance that lies between classes.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 4 rows and finite values.
    y : array of shape (n_samples,)
        Class labels, with at least two classes.

    Returns
    -------
    float
        R-squared of predicting the features from the class, in [0, 1]. Random labels give about
        (n_classes - 1) / (n_samples - 1), not 0. NaN, with a warning, if all rows are equal.

    Examples
    --------
    >>> variance_ratio([[0.0], [0.0], [1.0], [1.0]], ["a", "a", "b", "b"])
    1.0
    """
    value = class_variance_share(data.rows, y.codes)
    if np.isnan(value):
        raise NotEstimable("all rows are equal, so there is no variance to divide")
    return value


@stability(
    needs="labels",
    view=Plain,
    title="Distance from other classes",
    bounds=(-1, 1),
    means="Relative difference of distances to the own class mean and to the mean of other rows; 0 means no "
    "separation.",
    means_not="Random labels give slightly more than 0, especially for small classes.",
    reference="Raju 2026, journal version, A.1",
    invariant=("scaling", "translation", "orthogonal"),
    estimator=partial(
        estimate_by_counts,
        value=lambda X, y: mean_separation(X, y.members),
        resampled=mean_separations,
        shuffled=separations_of_shuffles,
        reason=_NO_SEPARATION,
    ),
    audited=True,
    place=14,
)
def zscore_separation(data: Plain, y: Classes) -> float:
    """Mean over classes of (inter - intra) / (inter + intra), from Euclidean distances.

    For each class with at least two rows, `intra` is the mean distance between its rows and their mean. `inter` is the
    mean distance between its rows and the mean of all rows of other classes.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 4 rows and finite values.
    y : array of shape (n_samples,)
        Class labels, with at least two classes.

    Returns
    -------
    float
        Separation, in [-1, 1]. Random labels give slightly more than 0: about 1 / (4 m) + 1 / (4 (n - m)) for classes
        of m among n rows. NaN, with a warning, if no class has two rows, or all rows are equal.

    Examples
    --------
    >>> zscore_separation([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1])
    0.8181818181818182
    """
    value = mean_separation(data.rows, y.members)
    if np.isnan(value):
        raise NotEstimable(_NO_SEPARATION)
    return value


_MIN_CLASSES = 3
"""Fewest classes; two classes have only one distance, which cannot be correlated."""
_TOGETHER = 8
"""Most resamples that are in memory at once."""
_ENTRIES = 1 << 18
"""Most centroid values (centroids x features) that are in memory at once."""
_FEWEST = 2
"""Fewest rows of a class that can be divided."""
_NOTHING = "all distances between centroids are equal, or a class has one row"


def estimate_label_conditioned(request: Request) -> ScoreDraws:
    """Estimate 'label_conditioned_split', with resampled rows and a null distribution of shuffled labels."""
    data: Plain = request.variant.look(request.source, request.options)
    splits = _Splits(data.rows, request.options["n_draws"], request.options["metric"], _groups(request))
    y = request.labels
    splits.require_groups(y)
    draws = splits.scores(y, [np.arange(len(rows)) for rows in y.members], generator(request.seed))
    if np.isnan(draws).all():
        return ScoreDraws(float("nan"), draws, null=request.empty_null, reason=_NOTHING)
    rng = spawn(request.seed, RESAMPLING)
    resampled = splits.score_resamples(y, lambda: _resample_positions(request, rng), request.n_bootstrap, rng)
    labels = label_scores.shuffle_labels(request)
    return ScoreDraws(
        mean_score(draws),
        draws,
        resampled=resampled,
        redrawn=True,
        null=splits.null(labels, generator(request.seed)) if len(labels.codes) else np.empty(0),
        notes=labels.notes,
    )


def _groups(request: Request) -> Index | None:
    """Return the group or stretch of each row, which must stay whole; None if rows are independent."""
    clusters = request.exchange.clusters
    return clusters if int(clusters.max()) + 1 < len(clusters) else None


def _resample_positions(request: Request, rng: np.random.Generator) -> list[Index]:
    """For each class, return which of its rows occupies each position in a resample."""
    y, rows = request.labels, request.resample_rows(rng)
    return [np.searchsorted(members, rows[y.codes[rows] == code]) for code, members in enumerate(y.members)]


def _require_splittable(y: Classes) -> None:
    """Raise an error if there are classes that cannot be divided."""
    few = y.names[[len(rows) < _FEWEST for rows in y.members]]
    if len(few):
        raise ValueError(f"y must give each class at least 2 rows, got one row of {check.join_items(few)}")


@stability(
    needs="labels",
    view=Plain,
    title="Stability of class centroids",
    bounds=(-1, 1),
    means="Do two halves of the rows agree on which classes are close?",
    means_not="The score does not describe single rows, and it is imprecise for few classes.",
    reference="Raju 2026, section 3.3",
    invariant=("scaling", "orthogonal"),
    estimator=estimate_label_conditioned,
    settings={"metric": "cosine", "n_draws": 30},
    min_classes=_MIN_CLASSES,
    require_classes=_require_splittable,
    audited=True,
    place=15,
)
def label_conditioned_split(
    data: Plain, y: Classes, n_splits: int = 30, metric: Metric = "cosine", seed: Seed = None
) -> float:
    """Agreement between class-balanced halves of the rows on the geometry of the class centroids.

    The rows of each class are divided at random into two halves; if their number is odd, the second half has one row
    more. In each half, the distances between class centroids are computed, and both sets of distances are
    rank-correlated. With `groups=` (in `estimate`, `chance` and `audit`), each group stays within one half, so that the
    effects of a donor or a session on its classes do not count as stability.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with finite values.
    y : array of shape (n_samples,)
        Class labels, with at least 3 classes of at least 2 rows each.
    n_splits : int
        Number of random splits of the rows.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between centroids.
    seed : int, Generator or None
        Seed for the random splits.

    Returns
    -------
    float
        Mean Spearman correlation, in [-1, 1]. NaN, with a warning, if in every split all centroids are equally far
        apart or have no direction under the metric.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(np.arange(6), 20)
    >>> round(label_conditioned_split(rng.standard_normal((6, 16))[y] + rng.standard_normal((120, 16)), y, seed=0), 2)
    0.74
    """
    n_splits = check.count(n_splits, "n_splits")
    check.choice(metric, METRICS, "metric")
    places = [np.arange(len(rows)) for rows in y.members]
    scores = _Splits(data.rows, n_splits, metric).scores(y, places, generator(seed))
    return mean_score(scores, "in every split, all distances between centroids are equal, or a centroid is zero")


def _centroids(rows: Matrix, masks: Sequence[Mask | Matrix]) -> tuple[Matrix, Matrix]:
    """Return the centroids of both halves of rows sorted by class, each (n_splits, n_classes, n_features)."""
    shape = len(masks[0]), len(masks), rows.shape[1]
    first, second, start = np.empty(shape), np.empty(shape), 0
    for label, mask in enumerate(masks):
        size = mask.shape[1]
        members = rows[start : start + size]
        first[:, label] = mask.astype(np.float64, copy=False) @ members
        second[:, label] = members.sum(axis=0) - first[:, label]
        in_first = mask.sum(axis=1, keepdims=True)
        first[:, label] /= in_first
        second[:, label] /= size - in_first
        start += size
    return first, second


_Drawn = tuple[list[Index], list[Mask]]
"""The row at each position of each class, and which positions belong to the first half in each split."""


class _Splits:
    """Random class-balanced splits of the rows or of resampled rows."""

    def __init__(self, X: Matrix, n_splits: int, metric: Metric, groups: Index | None = None) -> None:
        # The unit is 1 unless sums over rows could overflow; the agreement does not depend on it.
        unit = safe_unit(X)
        self._X, self._n_splits, self._metric, self._groups = X if unit == 1 else X / unit, n_splits, metric, groups

    def require_groups(self, y: Classes) -> None:
        """Raise an error if a class has only one group, which cannot be divided into two halves."""
        if self._groups is None:
            return
        alone = [len(np.unique(self._groups[rows])) < _FEWEST for rows in y.members]
        if any(alone):
            raise ValueError(
                f"groups must divide every class into at least 2 groups, one for each half, got 1 group for "
                f"{check.join_items(y.names[alone])}"
            )

    def draw(self, y: Classes, places: list[Index], rng: np.random.Generator) -> _Drawn | None:
        """Draw the halves of each split; None if a class cannot be divided."""
        if min(map(len, places)) < _FEWEST:
            return None
        if self._groups is None:
            return places, random_halves([len(positions) for positions in places], self._n_splits, rng)
        rows = [members[here] for members, here in zip(y.members, places, strict=True)]
        halves = draw_class_halves(rows, self._groups, self._n_splits, rng)
        return None if halves is None else (places, halves)

    def scores(self, y: Classes, places: list[Index], rng: np.random.Generator) -> Vector:
        """Return how well the centroids agree in each split; `places` has the row at each position of a class."""
        return self.build(self.members(y), self.draw(y, places, rng))

    def members(self, y: Classes) -> list[Matrix]:
        """Return the feature values of the rows of each class."""
        return [self._X[rows] for rows in y.members]

    def build(self, members: list[Matrix], drawn: _Drawn | None) -> Vector:
        """Return how well the centroids agree in each split that was drawn."""
        if drawn is None:
            return np.full(self._n_splits, np.nan)
        shape = self._n_splits, len(members), self._X.shape[1]
        first, second = np.empty(shape), np.empty(shape)
        for label, (rows, places, mask) in enumerate(zip(members, *drawn, strict=True)):
            counts, rest = half_counts(mask, places, len(rows))
            with single_threaded_blas():
                first[:, label] = counts @ rows
                np.subtract((counts[0] + rest[0]) @ rows, first[:, label], out=second[:, label])
            first[:, label] /= counts.sum(axis=1, keepdims=True)
            second[:, label] /= rest.sum(axis=1, keepdims=True)
        return agreements(first, second, self._metric)

    def null(self, labels: label_scores.Shuffled, rng: np.random.Generator) -> Vector:
        """Return the mean agreement for each shuffle; all use the same splits unless groups must stay whole."""
        X = self._X if labels.rows is None else self._X[labels.rows]
        sizes = [len(rows) for rows in labels.classes.members]
        orders = np.argsort(labels.codes, axis=1, kind="stable")
        masks = self._null_masks(labels, orders, rng)
        if masks is None:
            return np.full(len(labels.codes), np.nan)
        together = max(1, _ENTRIES // (self._n_splits * len(sizes) * X.shape[1]))

        def some(start: int) -> list[float]:
            chosen = range(start, min(start + together, len(orders)))
            centroids = [_centroids(X[orders[index]], masks[index % len(masks)]) for index in chosen]
            halves = [np.concatenate(side) for side in zip(*centroids, strict=True)]
            scores = agreements(halves[0], halves[1], self._metric)
            return [mean_score(row) for row in scores.reshape(len(chosen), -1)]

        starts = range(0, len(labels.codes), together)
        parts = track(parallel(some, starts), len(starts), "matchings")
        return np.array([score for part in parts for score in part])

    def _null_masks(
        self, labels: label_scores.Shuffled, orders: Index, rng: np.random.Generator
    ) -> Sequence[Sequence[Mask | Matrix]] | None:
        """Return the halves, which all shuffles share; if groups stay whole, each shuffle has its own."""
        sizes = [len(rows) for rows in labels.classes.members]
        if self._groups is None:
            return [[mask.astype(np.float64) for mask in random_halves(sizes, self._n_splits, rng)]]
        groups = self._groups if labels.rows is None else self._groups[labels.rows]
        masks: list[list[Mask]] = []
        for order in orders:
            halves = draw_class_halves(np.split(order, np.cumsum(sizes)[:-1]), groups, self._n_splits, rng)
            if halves is None:
                return None
            masks.append(halves)
        return masks

    def score_resamples(
        self, y: Classes, draw: Callable[[], list[Index]], count: int, rng: np.random.Generator
    ) -> Vector:
        """Return the mean agreement for each resample; resamples are drawn one by one and scored together."""
        members = self.members(y)
        scores: list[float] = []
        for start in track(range(0, count, _TOGETHER), -(-count // _TOGETHER), "resamples"):
            drawn = [self.draw(y, draw(), rng) for _ in range(min(_TOGETHER, count - start))]
            scores += list(parallel(lambda resample: mean_score(self.build(members, resample)), drawn))
        return np.array(scores)
