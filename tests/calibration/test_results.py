"""What calibration returns becomes plain values, tables, text and pictures; many pairs are corrected."""

import json
import pickle
from dataclasses import FrozenInstanceError, asdict, replace

import matplotlib
import numpy as np
import pytest

import shesha.measures as measures
from shesha import (
    CalibrationWarning,
    NotEstimableWarning,
    benjamini_hochberg,
    calibrate,
    calibrate_layers,
    compare,
    compare_all,
    holm,
)

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


@pytest.fixture
def silent(pair):
    with pytest.warns(NotEstimableWarning):
        return calibrate(pair[0], np.ones((40, 3)), "CKA", n_permutations=K, seed=7)


@pytest.fixture(params=["one", "grid", "many", "silent"])
def result(request):
    return request.getfixturevalue(request.param)


def equal_if_nan_is(first, second):
    return json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def test_every_result_becomes_plain_values(result):
    found = result.to_dict()
    assert equal_if_nan_is(json.loads(json.dumps(found)), found)


def test_no_result_can_be_changed(result):
    with pytest.raises(FrozenInstanceError):
        result.seed = 3


def test_every_result_pickles(result):
    assert equal_if_nan_is(pickle.loads(pickle.dumps(result)).to_dict(), result.to_dict())


@pytest.mark.parametrize("options", [{"k": np.int64(3)}, {"k": 3, "alpha": np.float32(0.1)}], ids=["option", "alpha"])
def test_numbers_of_numpy_become_plain_as_well(pair, options):
    found = calibrate(*pair, "Jaccard", n_permutations=K, seed=0, **options)
    assert json.loads(json.dumps(found.to_dict()))["options"] == {"k": 3}


def test_measures_with_and_without_options_tell_them(pair):
    assert calibrate(*pair, "Jaccard", n_permutations=K, seed=0).options == {}
    found = calibrate(*pair, "Jaccard", n_permutations=K, seed=0, k=3)
    assert (found.name, found.options) == ("Jaccard(k=3)", {"k": 3})
    assert calibrate(*pair, "Jaccard(k=3)", n_permutations=K, seed=0).value == found.value
    assert calibrate(*pair, measures.jaccard, n_permutations=K, seed=0, k=3).null == found.null
    assert calibrate(*pair, measures.get("Jaccard"), n_permutations=K, seed=0, k=3).null == found.null


def test_one_pair_says_what_it_rests_on(one, pair):
    assert (one.name, one.closer, one.best, one.alpha) == ("CKA", "higher", 1.0, 0.05)
    assert (one.n_draws, one.n_rows, one.exchanged) == (K, 40, "all rows")
    assert (one.seed, one.interrupted, one.reason, one.n_lost) == (7, False, "", 0)
    assert one.value == pytest.approx(measures.cka(*pair), abs=1e-12)
    assert len(one.null) == K
    assert one.significant == (one.p_value <= one.alpha)


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


def test_one_pair_prints_direction_chance_and_p(one):
    assert str(one) == (
        f"CKA {one.value:.4g}, above chance at 0.05 (p = 0.025)\n  chance {one.chance:.4g} (39 draws, all rows)\n"
        f"  calibrated {one.calibrated:.4g}, threshold {one.threshold:.4g}, null sd {one.chance_sd:.2g}"
    )


def test_what_is_not_above_chance_says_so(unrelated):
    found = str(calibrate(*unrelated, "OrthProc", n_permutations=K, seed=0))
    assert found.startswith("OrthProc ")
    assert "(lower is closer), not above chance" in found
    assert "not above chance at 0.05" in found


def test_an_excess_is_not_called_calibrated(pair):
    found = str(calibrate(*pair, lambda a, b: measures.cka(a, b), n_permutations=K, seed=0))
    assert found.startswith("<lambda> ")
    assert "excess over the threshold" in found
    assert "calibrated" not in found


def test_one_pair_is_a_table_of_one_row(one):
    frame = one.to_frame()
    assert len(frame) == 1
    assert list(frame.columns) == ["name", "value", "chance", "p_value", "verdict"]
    assert frame.loc[0, "p_value"] == one.p_value
    full = one.to_frame(full=True)
    assert len(full) == 1
    assert set(asdict(one)) - {"inputs", "null", "doubts"} | {"significant"} == set(full.columns)
    assert full.loc[0, "calibrated"] == one.calibrated


def pictures(result):
    axes = result.plot()
    assert isinstance(axes, matplotlib.axes.Axes)
    axes.figure.canvas.draw()
    return axes


def test_one_pair_is_a_picture(one):
    axes = pictures(one)
    assert axes.get_xlabel() == "CKA (higher is closer)"
    assert {line.get_xdata()[0] for line in axes.lines} == {one.value, one.threshold}
    assert sum(patch.get_height() for patch in axes.patches) == K
    matplotlib.pyplot.close("all")


def test_a_picture_can_be_drawn_where_it_is_wanted(one, grid):
    for result in (one, grid):
        axes = matplotlib.pyplot.figure().add_subplot()
        assert result.plot(axes) is axes
    matplotlib.pyplot.close("all")


def test_pictures_of_what_is_missing(one, silent, pair, scripted):
    for n_lost in (3, K):
        values = [0.9, *[0.1] * (K - n_lost), *[np.nan] * n_lost]
        pictures(calibrate(*pair, scripted(values), n_permutations=K))
    pictures(silent)
    matplotlib.pyplot.close("all")


def test_layers_say_what_they_rest_on(grid, pair):
    assert (grid.name, grid.closer, grid.aggregate, grid.best) == ("CKA", "higher", "max", 1.0)
    assert (grid.rows, grid.columns, grid.closest.pair()) == (("early", "late"), ("noise", "wide"), "late and wide")
    assert grid.value == pytest.approx(measures.cka(*pair), abs=1e-12)
    assert grid.value == grid.matrix().to_numpy().max()
    assert (grid.n_draws, grid.n_rows, grid.seed, grid.interrupted) == (K, 40, 7, False)
    assert grid.significant


def test_layers_print_the_answer_its_chance_level_and_the_grid(grid):
    text = " ".join(str(grid).split())
    assert text.startswith(
        f"The closest layers are late and wide: CKA {grid.value:.3g}, above chance (p = 0.025 for the closest of 4 "
        f"pairs). Random matchings of the rows give {grid.chance:.3g} +- "
        f"{grid.chance_sd:.2g}, and at most 5% of them are closer than {grid.threshold:.3g}. The calibrated value is "
        f"{grid.calibrated:.3g}."
    )
    assert "39 permutations of all rows." in text
    assert "for pairs chosen in advance" in text
    shown = {tuple(line.split()) for line in str(grid).split("\n")}
    assert ("late", *(f"{value:.2f}" for value in grid.matrix().loc["late"])) in shown


def test_layers_count_the_pairs_above_chance_and_frame_the_partners_among_them(grid):
    n = int((grid.matrix("corrected_p_value") <= 0.05).to_numpy().sum())
    assert f"{n} of 4 pairs {'is' if n == 1 else 'are'} above chance at 0.05, corrected" in " ".join(str(grid).split())
    assert set(grid.framed_cells) == {
        (grid.rows.index(pair.first), grid.columns.index(pair.second)) for pair in grid.partners if pair.significant
    }
    scores = [replace(pair, corrected_p_value=p) for pair, p in zip(grid.scores, (0.5, 0.5, 0.5, 0.06), strict=True)]
    few = replace(grid, scores=tuple(scores))
    assert "0 of 4 pairs are above chance at 0.05, corrected" in str(few)
    assert "The smallest corrected p-value is 0.06." in " ".join(str(few).split())
    assert few.framed_cells == ((1, 1),)


def test_another_aggregate_is_named(grid):
    assert "CKA, the mean over layers of the closest match: " in str(replace(grid, aggregate="row_max"))
    assert "CKA, median: " in str(replace(grid, aggregate="median"))


def test_layers_are_tables(grid):
    assert grid.matrix().loc["late", "wide"] == grid.value
    assert grid.matrix("p_value").loc["late", "wide"] == 1 / (K + 1)
    frame = grid.to_frame()
    assert list(frame.columns) == [
        *("first", "second", "name", "value", "chance", "p_value", "corrected_p_value", "verdict", "partner")
    ]
    assert frame["value"].to_list() == grid.matrix().to_numpy().ravel().tolist()
    assert list(zip(frame["first"], frame["second"], strict=True)) == [(a, b) for a in grid.rows for b in grid.columns]


def test_layers_are_a_picture(grid):
    axes = pictures(grid)
    assert "CKA: max" in axes.get_title()
    matplotlib.pyplot.close("all")


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


def test_named_pairs_print_their_table(many):
    answer, table, *_ = str(many).split("\n\n")
    assert answer.startswith("CKA: 2 of 3 pairs are above chance at 0.05, corrected for the number of pairs.")
    _, columns, *lines = table.split("\n")
    assert columns.split() == ["value", "chance", "calibrated", "p", "corrected", "p"]
    assert [line.split()[0] for line in lines] == ["kin", "strangers", "self"]


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
