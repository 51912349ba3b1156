"""Distances between rows, given instead of features."""

import re

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import shesha.measures as measures
from shesha import NotEstimableWarning
from shesha.views import Rdm, Representation

X = np.random.default_rng(0).standard_normal((26, 5)) + 0.3
Y = X @ np.random.default_rng(1).standard_normal((5, 7)) + np.random.default_rng(2).standard_normal((26, 7))

FROM_DISTANCES = {
    "RSA": {"metric": "euclidean"},
    "RDM drift": {"metric": "euclidean"},
    "DistCorr": {},
    "RSMDiff": {},
    "Jaccard": {"metric": "euclidean", "k": 4},
    "RankSim": {"metric": "euclidean", "k": 4},
    "mutual kNN": {"metric": "euclidean", "k": 4},
    "cycle kNN": {"metric": "euclidean", "k": 4},
    "2nd-Cos": {"k": 4},
    "IMD": {"k": 4},
    "RTD": {},
    "TSI": {},
    "QSI": {},
    "information imbalance": {"k": 2},
}
"""Options under which the features give what their Euclidean distances give."""


@pytest.mark.parametrize("name", [name for name in FROM_DISTANCES if name != "2nd-Cos"])
def test_distances_give_what_the_features_give(small, name):
    measure = small(name).with_options(**FROM_DISTANCES[name])
    expected = pytest.approx(measure.score(X, Y), rel=1e-9)
    condensed, square = Rdm(pdist(X)), Rdm(squareform(pdist(X)))
    for given in (condensed, square, Rdm(squareform(pdist(X)).tolist())):
        assert measure.score(given, Rdm(pdist(Y))) == expected
        assert measure.score(given, Y) == expected
        assert measure.score(X, Rdm(squareform(pdist(Y)))) == expected


def test_second_order_cosine_of_given_cosine_distances(small):
    measure = small("2nd-Cos")
    given = [Rdm(pdist(side, "cosine")) for side in (X, Y)]
    assert measure.score(*given) == pytest.approx(measure.score(X, Y), rel=1e-9)


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_rsa_takes_distances_as_they_are(metric):
    given = [Rdm(pdist(side, metric)) for side in (X, Y)]
    assert measures.rsa(*given) == pytest.approx(measures.rsa(X, Y, metric=metric), rel=1e-9)


def test_kernel_alignment_of_given_distances_needs_a_kernel_of_distances():
    given = [Rdm(pdist(side)) for side in (X, Y)]
    expected = measures.cka(X, Y, kernel="rbf")
    assert measures.cka(*given, kernel="rbf") == pytest.approx(expected, rel=1e-9)
    assert measures.cka(*given, kernel="rbf", bandwidth=1.3) == pytest.approx(
        measures.cka(X, Y, kernel="rbf", bandwidth=1.3), rel=1e-9
    )


def test_measures_of_features_say_that_they_need_them(measure, function_of):
    if measure.takes_distances:
        assert measure.name.split("(")[0] in FROM_DISTANCES
        return
    given = Rdm(pdist(X))
    for one, other in ((given, Y), (Y, given), (given, given)):
        with pytest.warns(NotEstimableWarning, match="needs the features, got distances between rows"):
            assert np.isnan(function_of(measure)(one, other, **measure.options))


@pytest.mark.parametrize("measure", list(FROM_DISTANCES), indirect=True)
def test_a_permuted_view_of_distances_is_the_view_of_permuted_distances(measure, rng):
    order, square = rng.permutation(26), squareform(pdist(Y))
    a, b = (measure.look(Representation.build(Rdm(pdist(side)))) for side in (X, Y))
    expected = measure.score(Rdm(pdist(X)), Rdm(square[np.ix_(order, order)]))
    assert measure.compare_views(a, b.permute(order)) == pytest.approx(expected, rel=1e-12)


def test_numbers_of_rows_must_agree():
    with pytest.raises(ValueError, match=r"Y must have as many rows as X \(26\), got 20"):
        measures.rsa(Rdm(pdist(X)), Y[:20])


def test_representation_of_distances_is_short():
    assert repr(Rdm(pdist(X))) == "Rdm(26 rows)"


SQUARE = squareform(pdist(X))
ASYMMETRIC, DIAGONAL, NEGATIVE, MISSING = (SQUARE.copy() for _ in range(4))
ASYMMETRIC[2, 5] += 0.1
DIAGONAL[3, 3] = 0.1
NEGATIVE[1, 2] = NEGATIVE[2, 1] = -0.5
MISSING[4, 7] = MISSING[7, 4] = np.nan
NO_DISTANCES = {
    "asymmetric": (ASYMMETRIC, ValueError, "D must be symmetric with a zero diagonal"),
    "diagonal": (DIAGONAL, ValueError, "D must be symmetric with a zero diagonal"),
    "similarities": (1 - SQUARE / SQUARE.max(), ValueError, "D must be symmetric with a zero diagonal"),
    "negative": (
        NEGATIVE,
        ValueError,
        "D must not contain negative distances, got -0.5; convert similarities to distances first",
    ),
    "negative, condensed": (-pdist(X), ValueError, "D must not contain negative distances"),
    "NaN": (MISSING, ValueError, "D must be finite, got NaN or infinity"),
    "infinite": (np.full(3, np.inf), ValueError, "D must be finite, got NaN or infinity"),
    "not square": (SQUARE[:, :-1], ValueError, "D must be a square matrix or its condensed triangle, got shape"),
    "no triangle": (
        np.ones(11),
        ValueError,
        "D must be a square matrix or its condensed triangle, got shape (11,)",
    ),
    "two rows": (np.ones(1), ValueError, "D must contain the distances of at least 3 rows, got 2"),
    "text": (
        np.array([["0", "a"], ["a", "0"]]),
        TypeError,
        "D must contain distances as real numbers, got an array of dtype",
    ),
}


@pytest.mark.parametrize("kind", NO_DISTANCES)
def test_what_are_no_distances_is_refused(kind):
    wrong, error, message = NO_DISTANCES[kind]
    with pytest.raises(error, match=re.escape(message)):
        Rdm(wrong)


def test_rounding_of_stored_distances_is_forgiven():
    stored = Rdm(SQUARE.astype(np.float32) + np.random.default_rng(0).random(SQUARE.shape) * 1e-7)
    assert measures.rsa(stored, X, metric="euclidean") == pytest.approx(1, abs=1e-5)
