"""Distances between rows, given instead of features."""

import re

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from scipy.stats import pearsonr, spearmanr

import shesha
import shesha.measures as measures
from shesha import CalibrationWarning, NotEstimableWarning
from shesha.support.provenance import collect_statements
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


SQUARE = squareform(pdist(X))
ASYMMETRIC, DIAGONAL, LOPSIDED = (SQUARE.copy() for _ in range(3))
ASYMMETRIC[2, 5] += 0.1
DIAGONAL[3, 3] = 0.1
LOPSIDED[4, 7] = np.nan


@pytest.mark.parametrize("triangle", [np.tril, np.triu])
@pytest.mark.parametrize("empty", [0.0, np.nan])
def test_a_triangle_in_a_square_is_mirrored(triangle, empty):
    given = np.where(triangle(np.ones_like(SQUARE)) > 0, SQUARE, empty)
    with collect_statements() as statements:
        assert np.array_equal(Rdm(given, "D").condensed, Rdm(SQUARE).condensed)
    word = "lower" if triangle is np.tril else "upper"
    assert list(statements) == [f"D: only the {word} triangle has distances, which were mirrored"]


RUNS = [X + 0.3 * np.random.default_rng(run).standard_normal(X.shape) for run in (1, 2)]
BETWEEN_RUNS = np.linalg.norm(RUNS[0][:, None] - RUNS[1], axis=2)


def test_distances_between_two_runs_are_averaged():
    with collect_statements() as statements, pytest.warns(CalibrationWarning, match="both triangles were averaged"):
        found = Rdm(BETWEEN_RUNS, "D").condensed
    assert found == pytest.approx(squareform((BETWEEN_RUNS + BETWEEN_RUNS.T) / 2, checks=False))
    assert len(list(statements)) == 1 and "both triangles were averaged" in next(iter(statements))


SYMMETRIC_ONLY = "got an asymmetric matrix or a nonzero diagonal"
NO_DISTANCES = {
    "asymmetric": (ASYMMETRIC, ValueError, f"{SYMMETRIC_ONLY}; if both triangles are measured distances"),
    "similarities between runs": (2 - BETWEEN_RUNS, ValueError, f"{SYMMETRIC_ONLY}; if it contains similarities betwe"),
    "rows in another order": (SQUARE[::-1], ValueError, SYMMETRIC_ONLY),
    "unrelated": (np.random.default_rng(1).random((12, 12)), ValueError, SYMMETRIC_ONLY),
    "diagonal": (DIAGONAL, ValueError, "D must be symmetric with a zero diagonal"),
    "similarities": (1 - SQUARE / SQUARE.max(), ValueError, "D must be symmetric with a zero diagonal"),
    "negative, condensed": (-pdist(X), ValueError, "D must contain distances, got no positive number; convert"),
    "missing on one side": (LOPSIDED, ValueError, "D must be symmetric with a zero diagonal"),
    "all missing": (np.full(3, np.nan), ValueError, "D must contain distances, got only NaN"),
    "infinite": (np.full(3, np.inf), ValueError, "D must be finite, or NaN for missing distances, got infinity"),
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


def test_negative_distances_keep_their_order():
    """Cross-validated distances: as the ranks and values of SciPy, not of their squares; kernels have no value."""
    signed = pdist(X) - np.median(pdist(X))
    assert measures.rsa(Rdm(signed), Rdm(pdist(Y))) == pytest.approx(spearmanr(signed, pdist(Y)).statistic)
    assert measures.rsa(Rdm(signed), Rdm(pdist(Y)), method="pearson") == pytest.approx(pearsonr(signed, pdist(Y))[0])
    with pytest.warns(shesha.NotEstimableWarning, match="negative, so they have no kernel"):
        assert np.isnan(measures.distance_correlation(Rdm(signed), Rdm(pdist(Y))))


@pytest.mark.parametrize("method", ["spearman", "pearson"])
def test_missing_distances_are_left_out_in_pairs(method):
    """Over the pairs that both know; a row that one side lacks altogether counts nowhere."""
    first, second = (squareform(pdist(side)) for side in (X, Y))
    first[3], first[:, 3] = np.nan, np.nan
    second[5, 7] = second[7, 5] = np.nan
    upper = np.triu_indices(len(X), k=1)
    known = ~np.isnan(first[upper]) & ~np.isnan(second[upper])
    expected = {"spearman": spearmanr, "pearson": pearsonr}[method](first[upper][known], second[upper][known])[0]
    assert measures.rsa(Rdm(first), Rdm(second), method=method) == pytest.approx(expected)
    compared = shesha.compare(Rdm(first), Rdm(second), "RSA")
    assert compared["RSA"].value == pytest.approx(spearmanr(first[upper][known], second[upper][known])[0])
    assert compared.inputs == (f"{known.sum()} of {len(known)} pairs of rows have a distance on both sides",)
    assert repr(Rdm(second)) == "Rdm(26 rows, 1 of 325 distances missing)"
    with pytest.warns(shesha.NotEstimableWarning, match="25 distances are missing"):
        assert np.isnan(measures.mutual_knn(Rdm(first), Rdm(second)))


def test_rounding_of_stored_distances_is_forgiven():
    stored = Rdm(SQUARE.astype(np.float32) + np.random.default_rng(0).random(SQUARE.shape) * 1e-7)
    assert measures.rsa(stored, X, metric="euclidean") == pytest.approx(1, abs=1e-5)


def test_missing_distances_pass_through_all_comparisons_of_several():
    rng = np.random.default_rng(0)
    distances = [pdist(rng.standard_normal((9, 4))) for _ in range(3)]
    square = squareform(distances[1])
    square[3] = square[:, 3] = np.nan
    np.fill_diagonal(square, 0)
    sides = {"a": shesha.Rdm(distances[0]), "lacking": shesha.Rdm(square), "c": shesha.Rdm(distances[2])}
    found = shesha.compare_all(sides, "RSA").to_frame().set_index(["first", "second"])["value"]
    known = np.delete(np.arange(9), 3)
    parts = [squareform(one)[np.ix_(known, known)][np.triu_indices(8, 1)] for one in distances[:2]]
    assert found["a", "lacking"] == pytest.approx(spearmanr(*parts)[0])
    # Conditions without distances are left out everywhere on request.
    dropped = shesha.compare(sides["c"], sides["lacking"], "RSA", missing="drop")
    assert any("8 of 9 rows used: 1 with NaN in Y left out" in one for one in dropped.inputs)
    assert sides["lacking"].rows_without_distances.tolist() == [k == 3 for k in range(9)]


POINTS = np.random.default_rng(7).standard_normal((20, 3))
DISTANCES = pdist(POINTS)
ZEROS = {
    "pairs that were never seen": (np.where(np.random.default_rng(8).random(190) < 0.3, 0, DISTANCES), True),
    "a model of classes": (pdist(np.arange(20)[:, None] % 3, "hamming"), False),
    "graded classes": (pdist(np.repeat(POINTS[:5], 4, axis=0)), False),
    "no zeros": (DISTANCES, False),
}


@pytest.mark.parametrize("code", [1e10, -1.0, 5.0, 1.0])
@pytest.mark.parametrize("unknown", ["rows", "pairs"])
def test_codes_for_missing_distances_are_doubted(code, unknown):
    filled = np.isin(np.arange(20), (3, 9, 12))[:, None] if unknown == "rows" else squareform(DISTANCES) < 1
    rows = squareform(np.where(filled | filled.T, code, squareform(DISTANCES / DISTANCES.max())), checks=False)
    with collect_statements() as statements:
        Rdm(rows)
    # A code among pairs that is near the other distances may be their largest value.
    assert any("like a code for missing distances" in text for text in statements) == (
        unknown == "rows" or code == 1e10
    ), statements


@pytest.mark.parametrize("kind", ZEROS)
def test_zeros_that_contradict_other_distances_are_doubted(kind):
    distances, doubted = ZEROS[kind]
    with collect_statements() as statements:
        Rdm(distances)
    assert any("many distances are exactly 0" in text for text in statements) == doubted
