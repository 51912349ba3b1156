"""Every pair beside one null: the numbers of `calibrate`, corrected over pairs, kept in stores."""

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha import CalibrationWarning, compare_all
from shesha.comparison import resumable_pairs
from shesha.comparison.input_manifest import fingerprint
from shesha.nulls import exchange
from shesha.nulls.null_summary import max_statistic_p_values
from shesha.nulls.permutations import RepresentationPermutations
from shesha.views import Representation

NAMES = ["CKA", "RSA", "mutual kNN(k=4)", "OrthProc", "LinReg"]
N, DRAWS = 40, 39
LABELS = {
    "blocks": {"blocks": np.arange(N) % 4},
    "groups": {"groups": np.arange(N) // 2},
    "groups within blocks": {"groups": np.arange(N) // 2, "blocks": np.arange(N) // 20},
    "within": {"within": np.random.default_rng(9).random(N)},
    "shift": {"shift": True},
    "stretches": {"block_length": 5},
}


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((N, 3))
    found = {name: latent @ rng.standard_normal((3, 6)) + rng.standard_normal((N, 6)) for name in ("a", "b")}
    return {**found, "c": rng.standard_normal((N, 5)), "d": rng.standard_normal((N, 6))}


def test_a_pair_that_needs_fewer_draws_says_with_which_risk(arrays):
    """With alpha = 0.005, one of two pairs needs 399 permutations: the pair at chance does not."""
    pairs = {"related": (arrays["a"], arrays["b"]), "unrelated": (arrays["c"], arrays["d"])}
    found = compare_all(pairs, "CKA", calibrate=True, alpha=0.005)
    assert [score.n_draws for score in found.scores] == [399, 200]
    assert found.scores[0].notes == ()
    (note,) = found.scores[1].notes
    assert note.startswith("p from 200 of 399 draws; with all draws, its test is decided otherwise")


def _orders(design, X, Y, seed=0):
    joint = RepresentationPermutations(exchange(N, **design), DRAWS, seed)
    return np.array(joint.pair_orders(*(fingerprint(Representation.build(one, "X")) for one in (X, Y))))


def _alone(arrays, pair, design, name):
    X, Y = (arrays[one] for one in pair)
    return shesha.calibrate(X, Y, name, permutations=_orders(design, X, Y), seed=0)


def table(found):
    return found.to_frame(full=True).drop(columns="seconds")


@pytest.mark.filterwarnings("ignore::shesha.CalibrationWarning")
@pytest.mark.parametrize("design", [{}, *LABELS.values()], ids=["none", *LABELS])
def test_each_pair_has_the_numbers_of_calibrate_with_the_composed_permutations(arrays, design):
    names = NAMES if not design else NAMES[:2]
    found = compare_all(arrays, names, calibrate=True, n_permutations=DRAWS, **design)
    for name in names:
        pairs = [(one.first, one.second, one) for one in found.scores if one.name == name]
        alone = [_alone(arrays, pair[:2], design, name) for pair in pairs]
        for (*_, score), one in zip(pairs, alone, strict=True):
            assert score.p_value == one.p_value
            expected = (one.value, one.threshold, one.calibrated)
            assert (score.value, score.threshold, score.calibrated) == pytest.approx(expected, rel=1e-12)
        draws = [np.r_[one.value, one.null] for one in alone]
        corrected = max_statistic_p_values(draws, [one.closer for one in alone])
        assert [score.corrected_p_value for *_, score in pairs] == corrected.tolist()
    assert found.exchanged == exchange(N, **design).text


@pytest.mark.parametrize("design", LABELS.values(), ids=LABELS)
def test_composed_permutations_keep_the_design(arrays, design):
    allowed = exchange(N, **design)
    for order in _orders(design, arrays["a"], arrays["b"]):
        assert sorted(order) == list(range(N))
        assert (allowed.block[order] == allowed.block).all()
        if allowed.shift:
            assert len(set((order - np.arange(N)) % N)) == 1
        if allowed.group is not None:
            # Rows of a group go to one group, in their order.
            units = pd.Series(allowed.group[order]).groupby(allowed.group).nunique()
            assert units.max() == 1


def test_composed_permutations_are_uniform(arrays):
    """All 24 orders of four rows, as often as chance says: chi-square with 23 degrees of freedom, at 1e-6."""
    orders = RepresentationPermutations(exchange(4), 4800, 0).pair_orders("ab", "cd")
    counts = np.unique(np.array(orders) @ [64, 16, 4, 1], return_counts=True)[1]
    assert len(counts) == 24
    assert ((counts - 200) ** 2 / 200).sum() < 75


def test_related_pairs_stand_out_and_copies_are_related(arrays):
    found = compare_all({**arrays, "copy": arrays["a"]}, "RSA", calibrate=True, n_permutations=DRAWS)
    p = found.matrix("RSA", "corrected_p_value")
    assert p.loc["a", "b"] == p.loc["b", "a"] == p.loc["a", "copy"] == 1 / (DRAWS + 1)
    assert p.loc["c", "d"] > 0.05
    assert np.isnan(np.diagonal(p)).all()
    assert (found.matrix("RSA", "calibrated") > 0).loc["a", "b"]


def test_a_representation_with_itself_has_a_value_and_no_null(arrays, mark):
    @mark("changes", self_value=None)
    def changes(a, b):
        """Not the same for every representation and itself."""
        return float((a.rows[:, 0] * b.rows[:, 0]).sum())

    found = compare_all(arrays, changes, calibrate=True, n_permutations=DRAWS)
    own = [one for one in found.scores if one.first == one.second]
    assert len(own) == 4
    assert all(score.has_value and not score.has_null for score in own)


@pytest.mark.parametrize("related", [False, True])
def test_some_pair_of_unrelated_ones_is_above_chance_in_no_more_than_alpha(related):
    """Five representations of which two may be related; the limit is four standard errors above 5 %."""
    n, hits, raw, found_pair = 60, 0, 0, 0
    for run in range(n):
        rng = np.random.default_rng([3, run])
        arrays = {name: rng.standard_normal((16, 3)) for name in "abcde"}
        if related:
            arrays["b"] = arrays["a"] + 0.3 * rng.standard_normal((16, 3))
        frame = compare_all(arrays, "CKA", calibrate=True, n_permutations=39, seed=run).to_frame()
        true = (frame["first"] == "a") & (frame["second"] == "b") & related
        hits += (frame["corrected_p_value"][~true] <= 0.05).any()
        raw += (frame["p_value"][~true] <= 0.05).any()
        found_pair += (frame["corrected_p_value"][true] <= 0.05).any()
    assert hits / n <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / n)
    assert raw / n > 0.2
    assert found_pair == (n if related else 0)


def test_intervals_are_those_of_compare_and_only_where_asked_for(arrays):
    found = compare_all(arrays, ["CKA", "MagDiff"], calibrate=True, confidence=0.9, n_permutations=19, seed=3)
    alone = shesha.compare(
        arrays["a"], arrays["c"], ["CKA", "MagDiff"], calibrate=True, confidence=0.9, n_permutations=19, seed=3
    )
    for one in found.scores:
        if (one.first, one.second) == ("a", "c"):
            expected = alone[one.name]
            assert (one.low, one.high) == (expected.low, expected.high)
            assert one.has_null == expected.has_null
    without = compare_all(arrays, "CKA", calibrate=True, n_permutations=19, seed=3)
    assert not any(one.has_interval or one.notes for one in without.scores)
    assert without.matrix("CKA", "p_value").equals(found.matrix("CKA", "p_value"))


def test_a_stored_run_goes_on_with_the_same_null(arrays, tmp_path, monkeypatch):
    store, asked = tmp_path / "a.sqlite", {"calibrate": True, "n_permutations": DRAWS, "confidence": 0.95}
    whole = compare_all(arrays, NAMES, **asked)
    compare_all({name: arrays[name] for name in "ab"}, NAMES, store=store, **asked)
    assert table(compare_all(arrays, NAMES, store=store, **asked)).equals(table(whole))
    monkeypatch.setattr(resumable_pairs, "compare_block", None)  # Nothing is left to do.
    renamed = {name.upper(): arrays[name] for name in "abcd"}
    again = compare_all(renamed, NAMES, store=store, **asked)
    assert again.matrix("CKA", "corrected_p_value").to_numpy()[0, 1] == 1 / (DRAWS + 1)
    told = ["first", "second"]
    assert table(again).drop(columns=told).equals(table(whole).drop(columns=told))


def test_other_draws_seeds_and_designs_are_kept_apart(arrays, tmp_path):
    store, base = tmp_path / "a.sqlite", {"calibrate": True, "n_permutations": DRAWS}
    for other in ({}, {"seed": 1}, {"n_permutations": 19}, {"block_length": 5}, {"confidence": 0.9}, {"alpha": 0.1}):
        expected = compare_all(arrays, "CKA", **{**base, **other})
        assert table(compare_all(arrays, "CKA", store=store, **{**base, **other})).equals(table(expected))
    assert table(compare_all(arrays, "CKA", store=store)).equals(table(compare_all(arrays, "CKA")))


def test_workers_and_files_give_the_same(arrays, tmp_path):
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    asked = {"calibrate": True, "n_permutations": 19}
    expected = table(compare_all(arrays, ["CKA", "RSA"], **asked))
    assert table(compare_all(tmp_path, ["CKA", "RSA"], **asked)).equals(expected)
    assert table(compare_all(arrays, ["CKA", "RSA"], workers=2, **asked)).equals(expected)


def test_designs_follow_the_names_of_the_rows(arrays):
    order = np.random.default_rng(4).permutation(N)
    names = np.array([f"row {i}" for i in range(N)])
    blocks = pd.Series(np.arange(N) % 4, index=names)
    frames = {name: pd.DataFrame(array, index=names) for name, array in arrays.items()}
    moved = {**frames, "d": frames["d"].iloc[order]}
    with pytest.warns(shesha.RowNamesWarning):
        found = compare_all(moved, "CKA", calibrate=True, n_permutations=19, blocks=blocks.iloc[order[::-1]])
    plain = compare_all(frames, "CKA", calibrate=True, n_permutations=19, blocks=blocks)
    kept = found.to_frame()["second"] != "d"
    # What was moved has another content, so other draws.
    assert found.to_frame()["p_value"][kept].equals(plain.to_frame()["p_value"][kept])
    assert found.to_frame()["value"].tolist() == pytest.approx(plain.to_frame()["value"].tolist())


def test_dependent_rows_are_told_unless_a_design_was_given(arrays):
    series = {name: np.cumsum(array, axis=0) for name, array in arrays.items()}
    with pytest.warns(CalibrationWarning, match="permuting all rows may give too many false positives"):
        compare_all(series, "CKA", calibrate=True, n_permutations=19)


def test_measures_that_chance_saturates_are_told():
    rng = np.random.default_rng(6)
    arrays = {name: rng.standard_normal((20, 40_000)) for name in "ab"}
    with pytest.warns(CalibrationWarning, match="CKA is saturated for a and b: unrelated data"):
        found = compare_all(arrays, "CKA", calibrate=True, n_permutations=19)
    assert "the pair is not above chance at 0.05" in str(found)
