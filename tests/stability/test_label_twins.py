"""Scores against labels are what their definitions give, written out as loops."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import spearmanr

import shesha
from shesha.kernels.distances import PANEL
from shesha.stability.registry import Classes
from shesha.stability.scores.class_separation import _sums
from shesha.views import Representation, Standard


def classes(rng, n=45, d=6, k=3, gap=1.0):
    """Rows of classes of unequal size, in random order."""
    y = rng.integers(0, k, n) * rng.integers(0, 2, n)
    y[:k] = range(k)
    return rng.standard_normal((n, d)) + gap * rng.standard_normal((k, d))[y] + 0.3, y


def test_variance_ratio_is_between_over_total(rng):
    X, y = classes(rng)
    between = sum((y == label).sum() * ((X[y == label].mean(axis=0) - X.mean(axis=0)) ** 2).sum() for label in set(y))
    expected = between / ((X - X.mean(axis=0)) ** 2).sum()
    for scale in (1e-200, 1.0, 1e200):
        assert shesha.variance_ratio(X * scale, y) == pytest.approx(expected, abs=1e-12)


def test_supervised_alignment_correlates_distances_with_different_labels(rng, metric):
    X, y = classes(rng)
    different = pdist(y[:, None], "hamming")
    expected = spearmanr(pdist(X - X.mean(axis=0), metric), different).statistic
    assert shesha.supervised_alignment(X, y, metric) == pytest.approx(expected, abs=1e-12)


def test_supervised_alignment_of_more_rows_than_the_limit_uses_a_subset(rng):
    X, y = classes(rng)
    kept = np.random.default_rng(4).choice(45, 20, replace=False)
    expected = shesha.supervised_alignment(X[kept], y[kept])
    assert shesha.supervised_alignment(X, y, seed=4, max_samples=20) == expected


def test_zscore_separation_is_the_mean_over_classes_of_at_least_two(rng):
    X, y = classes(rng)
    y[0] = 7
    scores = []
    for label in sorted(set(y) - {7}):
        own, rest = X[y == label], X[y != label]
        inter, intra = (cdist(own, [part.mean(axis=0)]).mean() for part in (rest, own))
        scores.append((inter - intra) / (inter + intra))
    assert shesha.zscore_separation(X, y) == pytest.approx(np.mean(scores), abs=1e-12)


def ratio_by_hand(distances, y, counts):
    """Mean distance between classes over that within, pair by pair."""
    sums = {True: [0.0, 0.0], False: [0.0, 0.0]}
    for i, j in itertools.combinations(range(len(y)), 2):
        for at, value in enumerate((distances[i, j], 1.0)):
            sums[bool(y[i] == y[j])][at] += counts[i] * counts[j] * value
    means = {same: total / number for same, (total, number) in sums.items()}
    return means[False] / means[True]


def test_class_separation_ratio_is_the_mean_over_subsamples(rng, metric):
    X, y = classes(rng)
    draw, distances = np.random.default_rng(9), squareform(pdist(X, metric))
    expected = []
    for _ in range(4):
        kept = np.zeros(45)
        kept[draw.choice(45, 18, replace=False)] = 1
        expected.append(ratio_by_hand(distances, y, kept))
    assert shesha.class_separation_ratio(X, y, 4, 0.4, metric, seed=9) == pytest.approx(np.mean(expected), rel=1e-12)


def test_separation_ratios_of_repeated_rows_never_count_a_row_with_itself(rng, metric):
    X, y = classes(rng, n=PANEL + 40)
    counts = rng.integers(0, 4, (len(X), 3)) * 1.0
    found = _sums(Standard.build(Representation.build(X), metric=metric), Classes(y, np.unique(y)), counts).ratios
    distances, same = squareform(pdist(X, metric)), y[:, None] == y
    pairs = np.triu(np.ones_like(distances), k=1)
    for column, ratio in zip(counts.T, found, strict=True):
        weights = pairs * np.outer(column, column)
        between, within = ((weights * distances)[mask].sum() / weights[mask].sum() for mask in (~same, same))
        assert ratio == pytest.approx(between / within, rel=1e-12)


def discriminant(X, y, ridge=1e-6):
    """Directions of a linear discriminant analysis with an absolute ridge, one per class but the first."""
    means = np.array([X[y == label].mean(axis=0) for label in sorted(set(y))])
    centred = X - means[np.searchsorted(sorted(set(y)), y)]
    covariance = centred.T @ centred / len(X) + ridge * np.eye(X.shape[1])
    return np.linalg.solve(covariance, (means[1:] - means[0]).T)


@pytest.mark.parametrize(("n", "d", "k"), [(60, 5, 2), (60, 5, 4), (60, 2, 4), (40, 60, 3)])
def test_lda_subspace_stability_is_the_mean_cosine_of_principal_angles(rng, n, d, k):
    X, y = rng.standard_normal((n, d)), np.arange(n) % k
    X[:, :2] += y[:, None] * [1.0, -0.5] + (y == 1)[:, None]
    X /= np.sqrt(X.var(axis=0).mean())
    draw, full = np.random.default_rng(2), discriminant(X, y)
    expected = []
    for _ in range(3):
        rows = np.concatenate([draw.choice(np.flatnonzero(y == label), int(n * 0.6) // k) for label in range(k)])
        expected.append(np.cos(subspace_angles(full, discriminant(X[rows], y[rows])))[: min(d, k - 1)].mean())
    found = shesha.lda_subspace_stability(X, y, 3, 0.6, seed=2)
    assert found == pytest.approx(np.mean(expected), abs=1e-6)
    if k == 2:
        assert shesha.lda_stability(X, y, 3, 0.6, seed=2) == pytest.approx(found, abs=1e-12)


def every_halving(y):
    """All ways to cut each class in two halves, the second with the odd row."""
    members = [np.flatnonzero(y == label) for label in np.unique(y)]
    return itertools.product(*(itertools.combinations(rows, len(rows) // 2) for rows in members))


def test_label_conditioned_split_is_the_mean_over_balanced_halves(rng, metric):
    y = rng.permutation([0, 0, 1, 1, 1, 2, 2, 3, 3])
    X = rng.standard_normal((9, 5)) + 0.7 * rng.standard_normal((4, 5))[y]
    scores = []
    for parts in every_halving(y):
        first = np.isin(np.arange(9), np.concatenate(parts))
        halves = [[X[side & (y == label)].mean(axis=0) for label in range(4)] for side in (first, ~first)]
        scores.append(spearmanr(*(pdist(half, metric) for half in halves)).statistic)
    assert len(scores) == 2**3 * 3
    n_splits = 3000
    found = shesha.label_conditioned_split(X, y, n_splits, metric, seed=0)
    assert abs(found - np.mean(scores)) < 4 * np.std(scores) / np.sqrt(n_splits)


def test_names_of_labels_do_not_matter(rng):
    X, y = classes(rng, n=60)
    named = np.array(["z", "m", "a"])[y]
    for function in (shesha.variance_ratio, shesha.zscore_separation, shesha.supervised_alignment):
        values = [function(X, labels) for labels in (y, named, list(named), named.astype(object), y + 0.5)]
        assert_allclose(values, values[0], atol=1e-14)
    value = shesha.class_separation_ratio(X, y, seed=0)
    assert shesha.class_separation_ratio(X, named, seed=0) == pytest.approx(value, abs=1e-12)


UNPAIRED = [one.name for one in shesha.stability.list_variants().values() if one.needs != "replicates"]
SHORT_NAMES = {"anchor": "anchor_stability", "variance": "variance_ratio", "supervised": "supervised_alignment"}


@pytest.mark.filterwarnings("ignore::shesha.NotIdentifiableWarning")
@pytest.mark.parametrize("variant", [*UNPAIRED, *SHORT_NAMES])
def test_the_unified_interface_calls_the_function_of_that_name(rng, variant):
    X, y = rng.standard_normal((70, 6)), np.arange(70) % 3
    if variant == "lda_stability":
        y = y % 2
    function = getattr(shesha, SHORT_NAMES.get(variant, variant))
    options = {"seed": 3} if "seed" in shesha.stability.evaluation.variant_named(variant).options else {}
    supervised = shesha.stability.evaluation.variant_named(variant).needs_labels
    expected = function(X, y, **options) if supervised else function(X, **options)
    assert shesha.shesha(X, y, variant=variant, **options) == expected
