"""What cannot be compared gives NaN with the reason; what is no representation, or no option, is refused."""

import re
import warnings

import numpy as np
import pytest

import shesha.measures as measures
from shesha import NotEstimableWarning, Rdm

N = 24
X, Y = np.random.default_rng(0).standard_normal((2, N, 5)) + 0.3
EQUAL = np.tile(X[:1], (N, 1))
ZERO = np.zeros((N, 5))
TWINS = np.repeat(X[:4], 6, axis=0)
ZERO_ROW, CONSTANT_ROW = X.copy(), X.copy()
ZERO_ROW[[3, 5]] = 0.0
CONSTANT_ROW[[3, 5]] = 2.0

NO_SPREAD = "all rows are equal|all distances between rows are equal|rows that equal all|no positive"
NO_SPREAD += "|all distances are equal|all entries are zero|mean row is zero|no row is nonzero|quantile|90 % of"
NO_SPREAD += "|different features are unrelated|zero rows have no cosine|constant rows have no|median distance"


def test_equal_rows(measure, function_of):
    """Either they have a value, or there is a reason."""
    for one, other in ((EQUAL, Y), (X, EQUAL), (EQUAL, EQUAL), (ZERO, Y), (X, ZERO), (ZERO, ZERO)):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = function_of(measure)(one, other, **measure.options)
        low, high = measure.bounds
        if np.isnan(found):
            assert [one.category for one in told] == [NotEstimableWarning]
            assert re.search(NO_SPREAD, str(told[0].message))
        else:
            assert low <= found <= high


CALLS = {
    "CCA, n - 1 columns": (lambda: measures.cca(X[:6], Y[:6]), "canonical correlations are all 1 .* all 5 dimensions"),
    "CCA, other side": (lambda: measures.cca(X[:6, :2], Y[:6]), "canonical correlations are all 1 .* all 5 dimensions"),
    "PWCCA": (lambda: measures.pwcca(X[:5], Y[:5]), "canonical correlations are all 1 .* all 4 dimensions"),
    "SVCCA": (lambda: measures.svcca(X[:5], Y[:5], components=1.0), "canonical correlations are all 1"),
    "CCA, equal rows": (lambda: measures.cca(EQUAL, Y), "all rows are equal"),
    "CKA, equal rows": (lambda: measures.cka(X, EQUAL), "all rows are equal"),
    "CKA, rbf": (lambda: measures.cka(X, EQUAL, kernel="rbf"), "median distance between rows is zero"),
    "unbiased CKA, narrow": (
        lambda: measures.unbiased_cka(X, Y, kernel="rbf", bandwidth=1e-3),
        "equally similar",
    ),
    "DistCorr": (lambda: measures.distance_correlation(EQUAL, Y), "all distances between rows are equal"),
    "EOS": (lambda: measures.eigenspace_overlap(ZERO, Y), "all entries are zero"),
    "RSA, regular": (lambda: measures.rsa(np.eye(5), Y[:5], metric="euclidean"), "all distances .* are equal"),
    "RSA, constant row": (lambda: measures.rsa(CONSTANT_ROW, Y), "constant rows have no correlation .*: rows 3, 5"),
    "RDM drift, zero row": (lambda: measures.rdm_drift(X, ZERO_ROW), "zero rows have no cosine .*: rows 3, 5"),
    "Jaccard, zero row": (lambda: measures.jaccard(ZERO_ROW, Y), "zero rows have no cosine .*: rows 3, 5"),
    "2nd-Cos, zero row": (lambda: measures.second_order_cosine(X, ZERO_ROW), "zero rows .*: rows 3, 5"),
    "2nd-Cos, twins": (lambda: measures.second_order_cosine(TWINS, TWINS, k=2), "equal all their neighbours"),
    "ConcDiff, zero row": (lambda: measures.concentricity_difference(ZERO_ROW, Y), "zero rows .*: rows 3, 5"),
    "ConcDiff, no mean": (
        lambda: measures.concentricity_difference(np.vstack([X, -X]), np.vstack([Y, Y])),
        "mean row is zero",
    ),
    "HardCorr": (lambda: measures.hard_correlation_match(EQUAL, Y), "all rows are equal"),
    "SoftCorr": (lambda: measures.soft_correlation_match(X, ZERO), "all rows are equal"),
    "Jaccard, k = n": (lambda: measures.jaccard(X, Y, k=N), "24 nearest neighbours need more than 24 rows, got 24"),
    "Jaccard, parallel rows": (
        lambda: measures.jaccard(X, np.outer(np.arange(1, N + 1), Y[0])),
        "all rows are equal, so nearest neighbours are undefined",
    ),
    "cycle kNN, equal distances": (
        lambda: measures.cycle_knn(Rdm(1 - np.eye(N)), Rdm(np.abs(np.subtract.outer(X[:, 0], X[:, 0])))),
        "all distances between rows are equal, so nearest neighbours are undefined",
    ),
    "mutual kNN": (lambda: measures.mutual_knn(X[:5], Y[:5]), "10 nearest neighbours need more than 10 rows, got 5"),
    "IMD": (lambda: measures.imd(X[:5], Y[:5]), "5 nearest neighbours need more than 5 rows, got 5"),
    "CKNNA": (lambda: measures.cknna(X, Y, k=99), "99 nearest neighbours need more than 99 rows, got 24"),
    "subspace overlap": (lambda: measures.subspace_overlap(X, Y), "10 leading directions need that rank, got 5"),
    "widths, MMD": (lambda: measures.mmd(X, Y[:, :3]), "needs equal widths, got 5 and 3 features"),
    "widths, Wasserstein": (lambda: measures.sliced_wasserstein(X, Y[:, 1:]), "needs equal widths, got 5 and 4"),
    "MMD, equal rows": (lambda: measures.mmd(EQUAL, EQUAL), "median distance between rows is zero"),
    "AngShape": (lambda: measures.angular_shape(EQUAL, Y), "all rows are equal"),
    "AlignCos": (lambda: measures.aligned_cosine(ZERO, Y), "no row is nonzero in both representations"),
    "stability difference": (lambda: measures.stability_difference(X[:, :3], Y), "at least 4 features, got 3"),
    "Procrustes": (lambda: measures.procrustes_similarity(ZERO, Y, center=False), "all entries are zero"),
    "spectrum": (lambda: measures.eigenspectrum_similarity(EQUAL, Y), "all rows are equal"),
}


@pytest.mark.parametrize("equal", [EQUAL, ZERO, np.full((N, 5), 0.1)])
@pytest.mark.parametrize("metric", ["dot", "cosine", "correlation", "euclidean"])
def test_equal_rows_have_no_neighbours(metric, equal, function_of):
    """Whatever else is wrong with them is told instead: zero rows have no cosine."""
    for measure in measures.choose("neighbours"):
        options = {"k": 3} | ({"metric": metric} if "metric" in measure.parameters else {})
        for pair in ((X, equal), (equal, X), (equal, equal)):
            with pytest.warns(
                NotEstimableWarning, match="all rows are equal, so nearest|(zero|constant) rows have no "
            ):
                assert np.isnan(function_of(measure)(*pair, **options))


@pytest.mark.parametrize("name", CALLS)
def test_nan_comes_with_its_reason(name):
    call, reason = CALLS[name]
    with pytest.warns(NotEstimableWarning, match=f"not estimable: .*({reason})"):
        assert np.isnan(call())


def test_rows_at_the_origin_are_left_out_of_aligned_cosines():
    kept = np.delete(np.arange(N), [3, 5])
    found = measures.aligned_cosine(ZERO_ROW, Y)
    left, _, right = np.linalg.svd(ZERO_ROW.T @ Y)
    turned = ZERO_ROW @ left @ right
    cosines = [turned[i] @ Y[i] / np.linalg.norm(turned[i]) / np.linalg.norm(Y[i]) for i in kept]
    assert found == pytest.approx(np.mean(cosines), rel=1e-12)


def spoilt(row, what):
    changed = X.copy()
    changed[row, 2] = what
    return changed


NOT_DATA = {
    "NaN": (spoilt([2, 7], np.nan), ValueError, "must be finite, got NaN or infinity in rows 2, 7"),
    "infinity": (spoilt([0], -np.inf), ValueError, "must be finite, got NaN or infinity in rows 0"),
    "1-D": (X[0], ValueError, "must be 2-D (n_samples, n_features), got shape (5,)"),
    "condensed": (
        X.ravel()[:10],
        ValueError,
        "must be 2-D (n_samples, n_features), got shape (10,); if these are the distances between 5 rows, pass ",
    ),
    "5-D": (X[None, None, None], ValueError, "must be 2-D (n_samples, n_features), got shape (1, 1, 1, 24, 5)"),
    "text": (X.astype(str), TypeError, "must be a matrix of real numbers, got an array of dtype <U32"),
    "one word": ("CKA", TypeError, "must be an array or a table, got 'CKA'"),
    "complex": (X + 1j, TypeError, "must be a matrix of real numbers, got an array of dtype complex128"),
    "objects": (X.astype(object), TypeError, "must be a matrix of real numbers, got an array of dtype object"),
    "none": (None, TypeError, "must be a matrix of real numbers, got an array of dtype object"),
    "no rows": (X[:0], ValueError, "must have at least 4 rows, got 0"),
    "three rows": (X[:3], ValueError, "must have at least 4 rows, got 3"),
    "no columns": (X[:, :0], ValueError, "must have at least 1 column, got 0"),
    "empty tokens": (np.zeros((24, 0, 5)), ValueError, "must not be empty, got shape (24, 0, 5)"),
}


def test_what_is_no_representation_is_refused(measure, function_of):
    for wrong, error, message in NOT_DATA.values():
        with pytest.raises(error, match=re.escape(f"X {message}")):
            function_of(measure)(wrong, Y, **measure.options)
        with pytest.raises(error, match=re.escape(f"Y {message}")):
            function_of(measure)(X, wrong, **measure.options)


BAD_OPTIONS = {
    "kernel": (lambda: measures.cka(X, Y, kernel="poly"), ValueError, "kernel must be one of 'linear', 'rbf'"),
    "bandwidth, MMD": (lambda: measures.mmd(X, Y, bandwidth=-1.0), ValueError, "bandwidth must be positive and finite"),
    "variance": (lambda: measures.pwcka(X, Y, variance=1.5), ValueError, r"variance must be in \(0, 1\], got 1.5"),
    "components, word": (lambda: measures.svcca(X, Y, components="all"), ValueError, "components must be one of"),
    "weights": (lambda: measures.pwcca(X, Y, weights="l2"), ValueError, "weights must be one of 'projection', 'l1'"),
    "k": (lambda: measures.jaccard(X, Y, k=0), ValueError, "k must be at least 1, got 0"),
    "metric, RSA": (
        lambda: measures.rsa(X, Y, metric="l1"),
        ValueError,
        "metric must be one of 'cosine', 'correlation', 'euclidean', got 'l1'",
    ),
    "method": (lambda: measures.rsa(X, Y, method="kendall"), ValueError, "method must be one of 'spearman', 'pearson'"),
    "norm": (lambda: measures.rsm_norm_difference(X, Y, norm="nuclear"), ValueError, "norm must be one of 'spectral'"),
    "product": (lambda: measures.cknna(X, Y, product="dot"), ValueError, "product must be one of 'frobenius', 'trace'"),
    "ridge": (lambda: measures.gulp(X, Y, ridge=-1.0), ValueError, "ridge must be finite and at least 0, got -1.0"),
    "subset_size": (lambda: measures.rtd(X, Y, subset_size=2), ValueError, "subset_size must be at least 3, got 2"),
    "unknown": (
        lambda: measures.cka(X, Y, colour=1),
        ValueError,
        "options of CKA must be among kernel, .*, got colour",
    ),
}


@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_what_is_no_option_is_refused(name):
    call, error, message = BAD_OPTIONS[name]
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("bandwidth", [1e-200, 1e-3, 1e12])
def test_a_bandwidth_that_makes_all_pairs_alike_gives_no_value(bandwidth):
    with pytest.warns(NotEstimableWarning, match="equally similar|does not vary|kernel matrix is zero"):
        assert np.isnan(measures.cka(X, Y, kernel="rbf", bandwidth=bandwidth))


def test_the_procrustes_distance_from_equal_rows_is_the_size_of_the_other_side():
    X = np.random.default_rng(0).standard_normal((20, 3))
    size = np.linalg.norm(X - X.mean(axis=0))
    equal = np.ones((20, 2))
    for sides, expected in (((X, equal), size), ((equal, X), size), ((equal, 3 * equal), 0.0)):
        assert measures.procrustes_size_and_shape(*sides) == pytest.approx(expected, rel=1e-14)
