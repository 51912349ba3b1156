"""How far apart classes are, relative to the distances within them."""

from __future__ import annotations

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels.class_separation import Sums, ratios_of_pairs, separation_sums, sums_of_groups
from shesha.kernels.class_statistics import class_variance_share, mean_separation
from shesha.kernels.distances import PANEL, Metric, n_pairs
from shesha.kernels.shuffled_class_statistics import class_sums
from shesha.stability.estimators.label_scores import estimate_variance_ratio, estimate_zscore
from shesha.stability.estimators.sampled_pairs import count_group_pairs_once, group_codes, group_pairs
from shesha.stability.nulls import label_permutations
from shesha.stability.registry import Classes, stability
from shesha.stability.request import THINNING, Evidence, Request
from shesha.support import memory
from shesha.support.seeds import generator, spawn
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Plain, Standard

_ALL_PAIRS = 4096
"""Most rows for which the interval uses all pairs of rows, and number of random pairs if there are more rows."""
_SOME_PAIRS = 1_000_000


def estimate_separation(request: Request) -> Evidence:
    """Estimate 'class_separation_ratio' from all rows instead of subsamples."""
    rows: Standard = request.variant.look(request.source, request.options)
    y, n = request.labels, rows.n_rows
    counts = np.ones((n, 1))
    if request.n_bootstrap and n <= _ALL_PAIRS:
        counts = np.hstack([counts, request.resamples()])
    ratios = _sums(rows, y, counts).subtract(_copies(rows, request, counts)).ratios
    if np.isnan(ratios[0]):
        nothing = np.full(request.n_permutations, np.nan)
        return Evidence(float("nan"), null=nothing, reason="no class has two distinct rows")
    resampled: Vector = ratios[1:]
    notes: tuple[str, ...] = ()
    if request.n_bootstrap and n > _ALL_PAIRS:
        resampled, notes = _score_resamples(rows, request, float(ratios[0]))
    labels = label_permutations.shuffle_labels(request)
    return Evidence(
        float(ratios[0]),
        resampled=resampled,
        null=_null(rows, labels),
        n_pairs=n_pairs(n),
        notes=(*notes, *labels.notes),
    )


def _null(rows: Standard, labels: label_permutations.Shuffled) -> Vector:
    """Return the scores for shuffled labels."""
    if not len(labels.codes):
        return np.empty(0)
    chosen = rows if labels.rows is None else rows.permute(labels.rows)
    sums = _sums(chosen, labels.classes, np.ones((chosen.n_rows, 1)))
    within = class_sums(chosen.panel, PANEL, labels.codes, labels.classes.n_classes)
    every = [np.broadcast_to(term, within.shape) for term in (sums.total, sums.n_total, sums.n_within)]
    return Sums(every[0], within, every[1], every[2]).ratios


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


def _copies(rows: Standard, request: Request, counts: Matrix) -> Sums:
    """Return the sums over pairs of copies of the same group, which are pairs only in a resample."""
    group = group_codes(request.design)
    if group is None or counts.shape[1] == 1:
        return Sums(*(np.zeros(counts.shape[1]),) * 4)
    i, j = group_pairs(group)
    codes = request.labels.codes
    _, firsts, index = np.unique(group, return_index=True, return_inverse=True)
    drawn = counts[firsts]
    return sums_of_groups(_distances(rows, i, j), codes[i] == codes[j], index[i], drawn**2 - drawn)


def _distances(rows: Standard, i: Index, j: Index) -> Vector:
    distances = rows.squared_distances_between(i, j)
    return np.sqrt(distances, out=distances) if rows.squares else distances


def ratios(rows: Standard, y: Classes, counts: Matrix) -> Vector:
    """Return the separation ratio for each column of `counts`, which says how often each row occurs."""
    return _sums(rows, y, counts).ratios


def _sums(rows: Standard, y: Classes, counts: Matrix) -> Sums:
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
    scores = ratios(rows, y, chosen)
    if np.isnan(scores).all():
        raise NotEstimable("no subsample contains two classes of which one has two distinct rows")
    return float(np.nanmean(scores))


@stability(
    needs="labels",
    view=Plain,
    title="Variance between classes",
    bounds=(0, 1),
    means="Share of the variance that the labels explain.",
    means_not="Random labels give about (classes - 1) / (rows - 1), not 0.",
    reference="Raju 2026, section 3.3",
    invariant=("scaling", "translation", "orthogonal"),
    estimator=estimate_variance_ratio,
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
    estimator=estimate_zscore,
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
        raise NotEstimable("no class has two members that differ from the other rows")
    return value
