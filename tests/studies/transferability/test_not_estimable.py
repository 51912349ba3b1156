"""A score that the data cannot give is NaN with a stated reason, never infinite and never luck."""

from functools import partial

import numpy as np
import pytest

import shesha
from shesha_studies import transferability as transfer

N = 24
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 5))
EQUAL = np.tile(X[:1] / 3 + 1e5, (N, 1))
TWO = np.arange(N) % 2
ALONE = np.arange(N)
ONE_ALONE = np.where(np.arange(N) == 0, 2, TWO)
# Equal rows within each class, up to the rounding of a product that need not be the same in every row.
ROTATED = np.eye(5)[TWO] @ np.linalg.qr(X[:5])[0] + 1e-16 * RNG.standard_normal((N, 5))
DEAD = np.where((TWO == 1)[:, None] & (np.arange(5) == 2), 0.0, X)
EXACT = "the evidence has no maximum, because the features predict target 0, 1 exactly"
LABELLED = ["bhattacharyya", "centroid_softmax", "fisher_discriminant", "gbc", "h_score", "logme", "margin_score"]
diagonal = partial(transfer.bhattacharyya, covariance="diagonal")
full = partial(transfer.bhattacharyya, covariance="full")

CASES = {
    **{f"{name}, equal": (partial(getattr(transfer, name), EQUAL, TWO), "all rows .*are equal") for name in LABELLED},
    "anisotropy, equal": (lambda: transfer.anisotropy(EQUAL), "all rows are equal"),
    "h_score, rounding": (lambda: transfer.h_score(1 + 1e-16 * X, TWO), "all rows are equal"),
    "published logme, equal": (lambda: transfer.logme(EQUAL, TWO, published=True), "all rows of X are equal"),
    "published logme, scale": (
        lambda: transfer.logme(RNG.standard_normal((N, 90)) * 1e12, TWO, published=True),
        "iteration overflows",
    ),
    "logme, exact": (lambda: transfer.logme(np.eye(2)[TWO], TWO), EXACT),
    "logme, exact and rotated": (lambda: transfer.logme(ROTATED * 1e-5, TWO), EXACT),
    "logme, exact in single precision": (lambda: transfer.logme(ROTATED.astype(np.float32), TWO), EXACT),
    "logme, equal rows": (lambda: transfer.logme(np.tile(RNG.standard_normal((2, 90)), (12, 1)), TWO), EXACT),
    "logme_regression, equal": (lambda: transfer.logme_regression(EQUAL, X), "all rows of X are equal"),
    "logme_regression, exact": (lambda: transfer.logme_regression(X, X @ X[:5, :1]), "predict target 0 exactly"),
    "logme_regression, constant": (
        lambda: transfer.logme_regression(X, np.column_stack([X[:, 0], np.ones((N, 2))])),
        "the targets in columns 1, 2 of Y are constant",
    ),
    "fisher_discriminant, alone": (lambda: transfer.fisher_discriminant(X, ALONE), "no row differs from the mean"),
    "fisher_discriminant, rotated": (lambda: transfer.fisher_discriminant(ROTATED, TWO), "no row differs"),
    "margin_score, alone": (lambda: transfer.margin_score(X, ALONE), "every class has only one row"),
    "centroid_softmax, alone": (lambda: transfer.centroid_softmax(X, ALONE), "every class has only one row"),
    "centroid_softmax, rotated": (
        lambda: transfer.centroid_softmax(ROTATED, TWO),
        "no row differs from the other rows",
    ),
    "bhattacharyya, one alone": (lambda: transfer.bhattacharyya(X, ONE_ALONE), "no variance within class 2"),
    "bhattacharyya, alone": (lambda: transfer.bhattacharyya(X, ALONE), "class 0, 1, 2, 3, 4 and 19 more"),
    "bhattacharyya, rotated": (lambda: transfer.bhattacharyya(ROTATED, TWO), "no variance within class 0, 1"),
    "bhattacharyya, dead": (lambda: diagonal(DEAD, TWO), "no variance in some feature within class 1"),
    "bhattacharyya, dead, full": (lambda: full(DEAD, TWO), "no variance in some direction within class 1"),
    "bhattacharyya, full, few": (lambda: full(X, np.arange(N) % 6), "in some direction within class 0, 1, 2, 3, 4"),
    "gbc, one alone": (lambda: transfer.gbc(X, ONE_ALONE), "no variance within class 2"),
    "gbc, diagonal": (lambda: transfer.gbc(DEAD, TWO, covariance="diagonal"), "no variance in some feature"),
    "silhouette, equal": (lambda: transfer.silhouette(EQUAL, TWO), "all distances are 0"),
    "silhouette, parallel": (
        lambda: transfer.silhouette(np.outer(np.arange(1, N + 1) / 7, X[0]), TWO, metric="cosine"),
        "all distances are 0",
    ),
    "silhouette, alone": (lambda: transfer.silhouette(X, ALONE), "every class has only one row"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_reason_is_given(case):
    score, reason = CASES[case]
    with pytest.warns(shesha.NotEstimableWarning, match=f"^not estimable: .*{reason}"):
        assert np.isnan(score())


@pytest.mark.filterwarnings("ignore::shesha.NotEstimableWarning")
@pytest.mark.parametrize("score", [transfer.h_score, full])
def test_rows_about_as_different_as_rounding_never_score_zero(score):
    for size in np.geomspace(1e-16, 1e-14, 60):
        assert score(1 + size * X, TWO) != 0


def test_the_warning_points_at_the_caller():
    with pytest.warns(shesha.NotEstimableWarning) as caught:
        transfer.h_score(EQUAL, TWO)
    assert caught[0].filename == __file__


def test_classes_without_spread_are_separable_where_no_spread_is_needed():
    assert transfer.margin_score(ROTATED, TWO) == pytest.approx(1)
    assert transfer.silhouette(ROTATED, TWO) == pytest.approx(1)
    assert transfer.h_score(ROTATED, TWO) == pytest.approx(1)


def test_a_published_floor_gives_a_number_without_variance():
    assert transfer.gbc(ROTATED, TWO, published=True) == pytest.approx(-2 * np.exp(-2 / 8 / 1e-4))
    assert transfer.gbc(X * 1e-200, TWO, published=True) == pytest.approx(-2)


def test_a_dead_feature_leaves_other_covariances_alone():
    assert transfer.bhattacharyya(DEAD, TWO) > 0
    assert full(DEAD, TWO, n_components=2) > 0


def test_equal_rows_of_two_classes_have_no_margin():
    # Classes 0 and 1 lie on one point, class 2 on another.
    rows, y = np.repeat(X[:2], [16, 8], axis=0), np.repeat([0, 1, 2], 8)
    assert transfer.margin_score(rows, y) == pytest.approx(1 / 3)
    assert transfer.silhouette(rows, y) == pytest.approx(1 / 3)
