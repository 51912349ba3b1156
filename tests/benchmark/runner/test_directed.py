"""Rows without a direction are left out of the pairs and measures that they concern, and of nothing else."""

from itertools import combinations

import numpy as np
import pytest

from shesha.comparison import engine as engine
from shesha.views import Rdm, Representation
from shesha_bench import zero_rows
from shesha_bench.measure_entries import entries, entry_version
from shesha_bench.zero_rows import compare_directed, required_metric

N_ROWS = 40
ZERO = {"a": [], "b": [3, 17], "c": [17, 30, 31]}
"""The zero rows of each made-up representation."""
LEFT_OUT = {("a", "b"): 2, ("a", "c"): 3, ("b", "c"): 4}
CONCERNED = (
    *("RSA", "RDM drift", "Jaccard", "RankSim", "2nd-Cos", "ConcDiff", "calibrated RSA", "cycle kNN(metric=cosine)"),
    *("mutual kNN(metric=correlation)", "stability difference(n_splits=3)"),
)


@pytest.fixture
def arrays(rng):
    shared = rng.standard_normal((N_ROWS, 16))
    found = {name: shared + 0.5 * rng.standard_normal(shared.shape) for name in ZERO}
    for name, rows in ZERO.items():
        found[name][rows] = 0
    return found


def scores(measure, arrays, pairs=None):
    (measure,) = entries([measure]) if isinstance(measure, str) else [measure]
    sources = {name: Representation.build(array) for name, array in arrays.items()}
    group = engine.Group((measure,), (tuple(pairs or combinations(arrays, 2)),))
    return {(one.pair.first, one.pair.second): one for one in compare_directed(group, sources, {})}


def value(measure, X, Y):
    return entries([measure])[0].score(X, Y)


@pytest.mark.parametrize("measure", CONCERNED)
def test_a_pair_is_compared_by_the_rows_that_have_a_direction_in_both(arrays, measure):
    found = scores(measure, arrays)
    assert {pair: one.rows_left_out for pair, one in found.items()} == LEFT_OUT
    for (a, b), one in found.items():
        kept = np.setdiff1d(np.arange(N_ROWS), ZERO[a] + ZERO[b])
        assert one.pair.score.reason == ""
        assert one.pair.score.value == pytest.approx(value(measure, arrays[a][kept], arrays[b][kept]), abs=1e-12)


@pytest.mark.parametrize("measure", ["CKA", "mutual kNN(metric=dot)", "LinReg", "MagDiff", "RSA(metric=euclidean)"])
def test_measures_that_need_no_direction_see_all_rows(arrays, measure):
    for (a, b), one in scores(measure, arrays).items():
        assert one.rows_left_out == 0
        assert one.pair.score.value == pytest.approx(value(measure, arrays[a], arrays[b]), abs=1e-12)


def test_constant_rows_have_no_correlation_but_a_cosine(arrays):
    arrays["b"][[3, 17]] = 1.0
    assert {pair: one.rows_left_out for pair, one in scores("RSA", arrays).items()} == LEFT_OUT
    assert scores("Jaccard", arrays)["a", "b"].rows_left_out == 0


@pytest.mark.parametrize("row", [np.zeros(16), np.full(16, 2.0)])
def test_no_measure_loses_its_value_to_a_row_without_a_direction(arrays, row):
    arrays["a"][5] = row
    for measure in entries():
        reason = scores(measure, {name: arrays[name] for name in "ac"})["a", "c"].pair.score.reason
        assert "zero rows" not in reason, measure.name
        assert "constant rows" not in reason, measure.name


@pytest.mark.parametrize(("n", "estimated"), [(N_ROWS // 2, True), (N_ROWS // 2 + 1, False)])
def test_where_most_rows_lack_a_direction_there_is_a_reason_instead_of_a_value(arrays, n, estimated):
    arrays["a"][:n] = 0
    arrays = {"a": arrays["a"], "b": np.abs(arrays["b"]) + 1, "c": np.abs(arrays["c"]) + 1}
    found = scores("Jaccard", arrays)
    assert found["a", "b"].pair.score.has_value is estimated
    assert found["a", "b"].rows_left_out == (n if estimated else 0)
    assert found["b", "c"].pair.score.has_value
    if not estimated:
        expected = (
            "more than half of the rows are zero in at least one of the two representations and have no cosine "
            "distance: 21 of 40"
        )
        assert found["a", "b"].pair.score.reason == expected


def test_both_orders_of_a_pair_leave_out_the_same_rows(arrays, rng):
    arrays["c"][:] = rng.standard_normal(arrays["c"].shape)
    arrays["c"][ZERO["c"]] = 0
    measure = "cycle kNN(k=3, metric=cosine)"
    both = scores(measure, arrays, [("b", "c"), ("c", "b")])
    assert [one.rows_left_out for one in both.values()] == [4, 4]
    kept = np.setdiff1d(np.arange(N_ROWS), ZERO["b"] + ZERO["c"])
    forth, back = (value(measure, arrays[a][kept], arrays[b][kept]) for a, b in both)
    assert forth != back
    assert [one.pair.score.value for one in both.values()] == [forth, back]


def test_positions_of_feature_maps_are_rows_or_columns_as_the_measure_has_them(rng):
    maps = {name: rng.standard_normal((20, 6, 3, 3)) for name in "ab"}
    maps["a"][4, :, 1, 1] = 0
    maps["b"][7] = 0
    # Neighbours are among positions, distances between inputs.
    assert scores("Jaccard", maps)["a", "b"].rows_left_out == 1 + 9
    assert scores("RSA", maps)["a", "b"].rows_left_out == 1
    kept = np.setdiff1d(np.arange(20), [7])
    expected = value("RSA", *(maps[name][kept].reshape(19, -1) for name in "ab"))
    assert scores("RSA", maps)["a", "b"].pair.score.value == pytest.approx(expected, abs=1e-12)


def test_rows_that_do_not_correspond_and_given_distances_are_left_to_the_measure(arrays, rng):
    tokens = {"a": rng.standard_normal((10, 4, 6)), "b": rng.standard_normal((10, 5, 6))}
    tokens["a"][2, 1] = 0
    one = scores("Jaccard", tokens)["a", "b"]
    assert one.pair.score.reason == "rows do not correspond: 40 and 50 rows after folding"
    distances = np.abs(arrays["b"][:, :1] - arrays["b"][:, :1].T)
    given = scores("RSA", {"a": arrays["b"], "b": Rdm(distances)})["a", "b"]
    assert given.rows_left_out == 0
    assert "constant rows have no correlation distance" in given.pair.score.reason


def test_what_is_skipped_stays_so(arrays):
    (measure,) = entries(["Jaccard"])
    sources = {name: Representation.build(array) for name, array in arrays.items()}
    pairs = tuple(combinations(arrays, 2))
    skipped = {("Jaccard", ("b", "c")): "needs 3 GB"}
    found = list(compare_directed(engine.Group((measure,), (pairs,)), sources, skipped))
    reasons = {(one.pair.first, one.pair.second): one.pair.score.reason for one in found}
    assert reasons == {("a", "b"): "", ("a", "c"): "", ("b", "c"): "needs 3 GB"}


def test_measures_of_one_view_may_compare_different_pairs(arrays):
    measures = tuple(entries(["Jaccard", "RankSim"]))
    sources = {name: Representation.build(array) for name, array in arrays.items()}
    pairs = ((("a", "b"), ("b", "c")), (("b", "c"),))
    found = [
        (one.pair.score.measure, one.pair.first, one.pair.second, one.rows_left_out)
        for one in compare_directed(engine.Group(measures, pairs), sources, {})
    ]
    assert sorted(found) == [("Jaccard", "a", "b", 2), ("Jaccard", "b", "c", 4), ("RankSim", "b", "c", 4)]


def test_the_rule_is_part_of_the_version_of_the_measures_that_it_concerns(monkeypatch):
    before = {measure.name: entry_version(measure) for measure in entries(["all"])}
    monkeypatch.setattr("shesha_bench.measure_entries.RULE", zero_rows.RULE + 1)
    after = {measure.name: entry_version(measure) for measure in entries(["all"])}
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {measure.name for measure in entries(["all"]) if required_metric(measure) is not None}
    assert changed == {
        *("Jaccard", "RankSim", "2nd-Cos", "RSA", "calibrated RSA", "RDM drift", "ConcDiff", "stability difference"),
        *("mutual kNN", "calibrated mutual kNN"),
    }
