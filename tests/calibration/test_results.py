"""What calibration returns becomes plain values, tables, text and pictures; many pairs are corrected."""

from dataclasses import replace

import matplotlib
import numpy as np
import pytest

from shesha import CalibrationWarning, NotEstimableWarning, calibrate, calibrate_layers, compare, compare_all
from shesha.calibration import benjamini_hochberg, holm

matplotlib.use("Agg")


K = 39


def drawn(n, count=K):
    rng = np.random.default_rng(n)
    return np.array([rng.permutation(n) for _ in range(count)])


@pytest.fixture
def one(pair):
    return calibrate(*pair, "CKA", n_permutations=K, seed=7)


@pytest.fixture
def grid(pair):
    """Two models of which the late layer of one is the wide one of the other, nearly."""
    X, Y = pair
    rng = np.random.default_rng(8)
    a = {"early": rng.standard_normal((40, 3)), "late": X}
    return calibrate_layers(a, {"noise": rng.standard_normal((40, 4)), "wide": Y}, "CKA", n_permutations=K, seed=7)


@pytest.fixture
def many(pair, unrelated):
    pairs = {"kin": pair, "strangers": unrelated, "self": (pair[0], 2 * pair[0])}
    return compare_all(pairs, "CKA", calibrate=True, n_permutations=K, seed=7)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "all rows"),
        ({"blocks": np.arange(40) // 20}, "within blocks"),
        ({"groups": np.arange(40) // 2}, "whole groups"),
        ({"blocks": np.arange(40) // 20, "groups": np.arange(40) // 2}, "within blocks, whole groups"),
        ({"permutations": drawn(40)}, "as given"),
    ],
)
def test_one_pair_says_what_was_exchanged(pair, options, said):
    found = calibrate(*pair, n_permutations=K, seed=0, **options)
    assert found.exchanged == said
    assert f"({K} draws, {said})" in str(found)


def test_layers_count_the_pairs_above_chance_and_frame_the_partners_among_them(grid):
    n = int((grid.matrix("corrected_p_value") <= 0.05).to_numpy().sum())
    assert f"{n} of 4 pairs {'is' if n == 1 else 'are'} above chance at 0.05, corrected" in " ".join(str(grid).split())
    assert set(grid.cells_to_frame) == {
        (grid.rows.index(pair.first), grid.columns.index(pair.second)) for pair in grid.partners if pair.significant
    }
    scores = [replace(pair, corrected_p_value=p) for pair, p in zip(grid.scores, (0.5, 0.5, 0.5, 0.06), strict=True)]
    few = replace(grid, scores=tuple(scores))
    assert "0 of 4 pairs are above chance at 0.05, corrected" in str(few)
    assert "The smallest corrected p-value is 0.06." in " ".join(str(few).split())
    assert few.cells_to_frame == ((1, 1),)


def test_named_pairs_have_corrected_p_values(many, pair, unrelated):
    p_values = [one.p_value for one in many.scores]
    assert [one.corrected_p_value for one in many.scores] == pytest.approx(benjamini_hochberg(p_values))
    frame = many.to_frame()
    assert list(frame.columns) == ["pair", "name", "value", "chance", "p_value", "corrected_p_value", "verdict"]
    assert frame["pair"].to_list() == ["kin", "strangers", "self"]
    assert frame["p_value"].to_list() == p_values
    assert frame["verdict"].to_list() == ["above chance", "not above chance", "above chance"]
    assert many.to_frame(full=True)["significant"].to_list() == [True, False, True]


def test_the_chosen_correction_decides(pair):
    options = {"calibrate": True, "n_permutations": K}
    pairs = dict.fromkeys("abcd", pair)
    lenient = compare_all(pairs, "CKA", **options)
    told = "with 39 permutations, no single pair of 4 can be significant at 0.05 .*; use n_permutations=79"
    with pytest.warns(CalibrationWarning, match=told):
        strict = compare_all(pairs, "CKA", correction="holm", **options)
    # Four times 1 / 40 is above 0.05; four equal p-values keep their false discovery rate.
    assert not any(one.significant for one in strict.scores)
    assert all(one.significant for one in lenient.scores)
    assert "cannot be decided with 39 permutations: at least 79" in " ".join(str(strict).split())
    assert [one.corrected_p_value for one in strict.scores] == pytest.approx(holm([1 / 40] * 4))


def test_several_measures_of_named_pairs_are_corrected_one_by_one(pair, unrelated):
    pairs = {"kin": pair, "strangers": unrelated}
    both, *alone = (
        compare_all(pairs, chosen, calibrate=True, n_permutations=K) for chosen in (["CKA", "RSA"], "CKA", "RSA")
    )
    assert both.scores == tuple(one for found in alone for one in found.scores)
    assert both["kin", "RSA"] == alone[1]["kin"]


def test_named_pairs_without_calibration_have_the_values_of_compare(pair, unrelated):
    found = compare_all({"kin": pair, "strangers": unrelated}, ["CKA", "RSA"])
    for name, sides in {"kin": pair, "strangers": unrelated}.items():
        for measure in ("CKA", "RSA"):
            assert found[name, measure].value == compare(*sides, measure)[measure].value
    assert "strangers" in str(found) and found["kin"].verdict == "not tested"


def test_pairs_are_found_by_name(many, pair):
    assert many["strangers"] is many.scores[1]
    assert many["strangers", "CKA"] is many.scores[1]
    with pytest.raises(KeyError, match="pair must be one of kin; strangers; self, got friends"):
        many["friends"]
    with pytest.raises(ValueError, match="a matrix needs all pairs of several representations, got named pairs"):
        many.matrix("CKA")
    every = compare_all(dict(zip("ab", pair, strict=True)), "CKA")
    assert every["a", "b"] is every["b", "a"] is every["a", "b", "CKA"] is every.scores[0]


def test_a_pair_without_a_score_is_no_test(pair, unrelated):
    pairs = {"kin": pair, "flat": (pair[0], np.ones((40, 2))), "strangers": unrelated}
    with pytest.warns(NotEstimableWarning, match="all rows are equal"):
        found = compare_all(pairs, "CKA", calibrate=True, correction="holm", n_permutations=79)
    assert np.isnan(found["flat"].corrected_p_value)
    known = found["kin"], found["strangers"]
    assert [one.corrected_p_value for one in known] == pytest.approx(holm([one.p_value for one in known]))
    assert found.to_frame()["verdict"].to_list() == ["above chance", "no value", "not above chance"]
    frame = found.to_frame(full=True)
    assert frame["significant"].to_list() == [True, False, False]
    assert frame["reason"].to_list() == ["", "all rows are equal", ""]


def test_pairs_may_have_their_own_rows(pair):
    X, Y = pair
    found = compare_all({"all": pair, "half": (X[:20], Y[:20])}, "RSA(method=pearson)", calibrate=True)
    assert [one.n_rows for one in found.scores] == [40, 20]
