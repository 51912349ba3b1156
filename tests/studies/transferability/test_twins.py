"""Scores are what their definitions give, written out as loops over rows and classes."""

import itertools
from math import exp, log

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from shesha.kernels.distances import PANEL
from shesha_studies import transferability as transfer


def test_leep_is_the_log_of_the_expected_empirical_predictor(rng):
    P, y = rng.dirichlet(np.ones(4), 30), rng.integers(0, 3, 30)
    P[:, 3] = 0
    P /= P.sum(axis=1, keepdims=True)
    scores = []
    for row, label in zip(P, y, strict=True):
        scores.append(log(sum(row[z] * P[y == label, z].sum() / P[:, z].sum() for z in range(3))))
    assert transfer.leep(P, y) == pytest.approx(np.mean(scores), abs=1e-13)


def test_leep_scales_rows_that_miss_one_by_rounding(rng):
    P, y = rng.dirichlet(np.ones(4), 30), rng.integers(0, 3, 30)
    assert transfer.leep(P * 1.0005, y) == pytest.approx(transfer.leep(P, y), abs=1e-13)


def test_nce_is_minus_the_conditional_entropy(rng):
    z, y = rng.integers(0, 5, 40), rng.integers(0, 3, 40)
    expected = 0.0
    for source, target in itertools.product(range(5), range(3)):
        both, given = np.mean((z == source) & (y == target)), np.mean(z == source)
        expected += both * log(both / given) if both else 0.0
    assert transfer.nce(z, y) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("d", [5, 60])
def test_h_score_is_the_trace_of_one_covariance_in_units_of_the_other(rng, make, d):
    X, y = make(rng, d=d)
    M = np.array([X[y == label].mean(axis=0) for label in y])
    expected = np.trace(np.linalg.pinv(np.cov(X.T), rcond=1e-10) @ np.cov(M.T))
    assert transfer.h_score(X, y) == pytest.approx(expected, abs=1e-9)


def test_fisher_discriminant_is_scatter_between_over_within(rng, make):
    X, y = make(rng)
    between = within = 0.0
    for label in set(y):
        own = X[y == label]
        between += len(own) * ((own.mean(axis=0) - X.mean(axis=0)) ** 2).sum()
        within += ((own - own.mean(axis=0)) ** 2).sum()
    assert transfer.fisher_discriminant(X, y) == pytest.approx(between / within, rel=1e-12)


def covariance_of(own, kind):
    S = np.atleast_2d(np.cov(own.T, bias=True))
    if kind == "spherical":
        return np.trace(S) / len(S) * np.eye(len(S))
    return np.diag(np.diag(S)) if kind == "diagonal" else S


def pair_distances(X, y, kind):
    for i, j in itertools.combinations(sorted(set(y)), 2):
        a, b = X[y == i], X[y == j]
        A, B, gap = covariance_of(a, kind), covariance_of(b, kind), a.mean(axis=0) - b.mean(axis=0)
        determinants = np.linalg.det((A + B) / 2) / np.sqrt(np.linalg.det(A) * np.linalg.det(B))
        yield gap @ np.linalg.inv((A + B) / 2) @ gap / 8 + log(determinants) / 2


@pytest.mark.parametrize("kind", ["spherical", "diagonal", "full"])
def test_bhattacharyya_and_gbc_are_mean_distance_and_summed_overlap(rng, make, kind):
    X, y = make(rng, n=80, d=3, k=4)
    distances = list(pair_distances(X, y, kind))
    assert transfer.bhattacharyya(X, y, covariance=kind) == pytest.approx(np.mean(distances), rel=1e-10)
    assert transfer.gbc(X, y, covariance=kind) == pytest.approx(-2 * sum(map(exp, -np.array(distances))), rel=1e-10)


@pytest.mark.parametrize("kind", ["spherical", "diagonal", "full"])
def test_principal_components_come_first(rng, make, kind):
    X, y = make(rng, n=80, d=6)
    centred = X - X.mean(axis=0)
    kept = centred @ np.linalg.svd(centred)[2][:2].T
    for score in (transfer.bhattacharyya, transfer.gbc):
        expected = score(kept, y, covariance=kind)
        assert score(X, y, covariance=kind, n_components=2) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", ["spherical", "diagonal"])
def test_published_gbc_floors_variances_and_counts_a_spherical_logarithm_once(rng, make, kind):
    X, y = make(rng, d=4, gap=0.3)
    X[:, 3] *= 1e-3
    expected = 0.0
    for i, j in itertools.permutations(sorted(set(y)), 2):
        a, b = (np.maximum(X[y == label].var(axis=0), 1e-4) for label in (i, j))
        if kind == "spherical":
            a, b = a.mean(), b.mean()
        gap = X[y == i].mean(axis=0) - X[y == j].mean(axis=0)
        shape = np.sum(np.log((a + b) / 2)) - np.sum(np.log(a)) / 2 - np.sum(np.log(b)) / 2
        expected -= exp(-np.sum(gap**2 / ((a + b) / 2)) / 8 - shape / 2)
    assert transfer.gbc(X, y, covariance=kind, published=True) == pytest.approx(expected, rel=1e-10)


def centroid_distances(X, y):
    """For each row with company: distance to the others of its class, distances to the other classes."""
    for i, label in enumerate(y):
        own = (y == label) & (np.arange(len(y)) != i)
        if own.any():
            others = [X[y == other].mean(axis=0) for other in set(y) - {label}]
            yield np.linalg.norm(X[i] - X[own].mean(axis=0)), [np.linalg.norm(X[i] - other) for other in others]


@pytest.fixture(params=[0, 2], ids=["all in company", "two alone"])
def rows(request, rng, make):
    X, y = make(rng, k=4)
    y[: request.param] = range(10, 10 + request.param)
    return X, y


def test_margin_score_is_the_mean_of_relative_margins(rows):
    scores = [(min(others) - own) / (min(others) + own) for own, others in centroid_distances(*rows)]
    assert transfer.margin_score(*rows) == pytest.approx(np.mean(scores), abs=1e-12)


def test_centroid_softmax_is_the_mean_log_probability_of_the_own_class(rows):
    distances = list(centroid_distances(*rows))
    unit = np.mean([own**2 for own, _ in distances])
    scores = []
    for own, others in distances:
        weights = [exp(-(distance**2) / unit) for distance in (own, *others)]
        scores.append(log(weights[0] / sum(weights)))
    assert transfer.centroid_softmax(*rows) == pytest.approx(np.mean(scores), abs=1e-12)


def silhouette_by_hand(D, y):
    scores = []
    for i, label in enumerate(y):
        own = (y == label) & (np.arange(len(y)) != i)
        if not own.any():
            scores.append(0.0)
            continue
        a, b = D[i, own].mean(), min(D[i, y == other].mean() for other in set(y) - {label})
        scores.append((b - a) / max(a, b) if max(a, b) > 0 else 0.0)
    return np.mean(scores)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation"])
def test_silhouette_compares_mean_distances(rows, metric):
    X, y = rows
    assert transfer.silhouette(X, y, metric=metric) == pytest.approx(
        silhouette_by_hand(cdist(X, X, metric), y), abs=1e-12
    )


@pytest.mark.parametrize("k", [2, 40])
def test_silhouette_of_many_panels_is_the_same(rng, make, with_threads, k):
    X, y = make(rng, n=2 * PANEL + 30, k=k)
    found = {n: with_threads(n, lambda: transfer.silhouette(X, y)) for n in (1, 3)}
    assert found[1] == found[3] == pytest.approx(silhouette_by_hand(cdist(X, X), y), abs=1e-12)


def test_silhouette_of_equal_rows_in_two_classes_counts_as_zero(rng):
    X, y = rng.standard_normal((12, 3)), np.repeat([0, 1, 2], 4)
    X[:8] = X[0]
    assert transfer.silhouette(X, y) == pytest.approx(silhouette_by_hand(cdist(X, X), y), abs=1e-12)


def test_anisotropy_is_the_leading_share_of_the_variance(rng):
    X = rng.standard_normal((30, 4)) * [3, 2, 1, 1] + 5
    eigenvalues = np.linalg.eigvalsh(np.cov(X.T))
    assert transfer.anisotropy(X) == pytest.approx(eigenvalues[-1] / eigenvalues.sum(), abs=1e-13)
