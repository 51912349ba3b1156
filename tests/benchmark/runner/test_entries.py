"""Measures that take part: names, versions, and rows without a direction."""

from __future__ import annotations

import importlib
import linecache
import pickle
import sys
from itertools import combinations

import numpy as np
import pytest

import shesha
import shesha.measures as measures
from shesha.comparison import engine as engine
from shesha.measures import choose
from shesha.views import Rdm, Representation
from shesha_bench import measure_entries
from shesha_bench.measure_entries import (
    N_PERMUTATIONS,
    PlainMeasure,
    _orders,
    calibrated,
    compare_directed,
    entries,
    entry_version,
    make_entry,
    required_metric,
)
from shesha_bench.ranks import rank
from shesha_bench.run_suite import failures, run
from shesha_bench.store import Entry, Store
from shesha_bench.stored_results import runtimes
from shesha_bench.suites import suite


@pytest.fixture(scope="module")
def pair(patch):
    draw = np.random.default_rng(4)
    shared = draw.standard_normal((40, 5))
    return shared + draw.standard_normal((40, 5)), shared @ draw.standard_normal((5, 7))


def names(*chosen, options=None):
    return [measure.name for measure in entries(chosen, options)]


@pytest.mark.parametrize("name", ["CKA", "RSA", "mutual kNN", "mutual kNN(k=4)", "ProcDist"])
def test_calibrated_values_are_those_of_calibrate_with_the_same_permutations(pair, name):
    base = choose(name)[0]
    permutations = np.array(_orders(40))
    assert permutations.shape == (N_PERMUTATIONS, 40)
    expected = shesha.calibrate(*pair, base, permutations=permutations).calibrated
    assert calibrated(base).score(*pair) == pytest.approx(expected, abs=1e-12)
    assert 0 < expected < 1


def test_permutations_are_the_same_in_every_process():
    # Drawn anew, as another process would.
    again = _orders.__wrapped__(40)
    np.testing.assert_array_equal(again, _orders(40))
    assert len({tuple(order) for order in again}) == N_PERMUTATIONS


def test_calibrated_measures_are_measures_of_their_own():
    (found,) = entries(["calibrated CKA"])
    cka = choose("CKA")[0]
    assert (found.name, found.closer, found.bounds, found.symmetric) == ("calibrated CKA", "higher", (0, 1), True)
    assert found.view_key == cka.view_key
    assert make_entry(found) == Entry("calibrated CKA", entry_version(found), "higher", True)
    assert names("calibrated RSA", "RSA", "calibrated mutual_knn(k=5)") == [
        "calibrated RSA",
        "RSA",
        "calibrated mutual kNN(k=5)",
    ]


@pytest.mark.parametrize("name", ["MagDiff", "IMD"])
def test_what_has_no_best_value_cannot_be_calibrated(name):
    with pytest.raises(
        ValueError, match=f"measure must compare rows and have a best possible value to be calibrated, got {name}"
    ):
        entries([f"calibrated {name}"])


@pytest.mark.parametrize(
    "name",
    ["CKA", "RTD(n_subsets=2)", "calibrated CKA", "calibrated mutual kNN(k=5)", "toy_measures:logged", "LinReg", "RTD"],
)
def test_measures_come_back_from_other_processes_as_they_were(pair, name):
    (measure,) = entries([name])
    again = pickle.loads(pickle.dumps(measure))
    assert again == measure
    assert type(again) is type(measure)
    assert again.score(*pair) == measure.score(*pair)
    assert entry_version(again) == entry_version(measure)


def test_all_is_every_registered_measure_and_three_calibrated_ones():
    found = names("all")
    assert found == [*(one.name for one in choose("all")), "calibrated CKA", "calibrated RSA", "calibrated mutual kNN"]
    assert len(found) == len(set(found)) > 27
    assert names() == []
    assert names("ReSi") == [one.name for one in choose("ReSi")]
    assert names("all", "CKA") == found


def test_measures_draw_the_same_in_every_run(pair):
    first, second = entries(["RTD"]), entries(["RTD"])
    assert first == second
    assert first[0].parameters["seed"] is not None
    assert first[0].score(*pair) == second[0].score(*pair)


def test_options_of_a_suite_hold_unless_others_are_chosen():
    small = suite("small").options
    assert names("RTD", options=small) == ["RTD(n_subsets=2)"]
    assert "RTD(n_subsets=2)" in names("all", options=small)
    assert "RTD" not in names("all", options=small)
    assert names("RTD(n_subsets=3)", options=small) == ["RTD(n_subsets=3)"]
    assert names("RTD(subset_size=50)", options=small) == ["RTD(subset_size=50)"]
    assert names("RTD", options=suite("paper").options) == ["RTD"]


MARKED = '''
from shesha.measures import measure
from shesha.views import Features

@measure("Toy width", view=Features, closer="lower", bounds=(0, float("inf")), symmetric=True, invariant=("scaling",),
         family="statistics", cost="n d", formula="|p - q|", reference="none", paired=False)
def toy_width(a: Features, b: Features, *, weight: float = 1.0) -> float:
    """Difference of widths."""
    return weight
'''


@pytest.fixture
def module(tmp_path, monkeypatch, patch):
    """Write a module of one's own, and import it anew each time."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text, name="own_measures"):
        (tmp_path / f"{name}.py").write_text(text)
        sys.modules.pop(name, None)
        linecache.clearcache()
        importlib.invalidate_caches()
        return name

    yield write
    sys.modules.pop("own_measures", None)


def test_a_marked_function_is_taken_as_it_is_declared(module):
    from shesha.measures import registry

    before = dict(registry.MEASURES.known), dict(registry.MEASURES.aliases)
    try:
        (found,) = entries([f"{module(MARKED)}:toy_width"])
        assert (found.name, found.closer, found.symmetric, found.paired) == ("Toy width", "lower", True, False)
        assert not isinstance(found, PlainMeasure)
        assert len(entry_version(found)) == 12
        assert pickle.loads(pickle.dumps(found)) == found
    finally:
        for known, old in zip((registry.MEASURES.known, registry.MEASURES.aliases), before, strict=True):
            known.clear()
            known.update(old)


def test_versions_are_those_of_what_computes(module):
    assert entry_version(choose("LinReg")[0]) == measures.code_version(choose("LinReg")[0])
    one, two = "def f(X, Y):\n    return 1.0\n", "def f(X, Y):\n    return 2.0\n"
    first, second, third = (entry_version(entries([f"{module(text)}:f"])[0]) for text in (one, two, one))
    assert first == third != second


def test_a_calibrated_measure_has_a_version_of_its_own(monkeypatch):
    (plain,), (found,) = entries(["CKA"]), entries(["calibrated CKA"])
    before = entry_version(found)
    assert before != entry_version(plain)
    monkeypatch.setattr(importlib.import_module("shesha_bench.measure_entries"), "N_PERMUTATIONS", N_PERMUTATIONS + 1)
    assert entry_version(found) != before


def test_a_changed_function_is_compared_again_and_its_latest_version_counts(here, toy, module):
    options = {"store": "a.sqlite", "measures": ["own_measures:f", "CKA"], "tests": ["shortcut"]}
    module("def f(X, Y):\n    return -abs(float(X.sum() - Y.sum()))\n")
    first = run(toy, **options)
    module("def f(X, Y):\n    return abs(float(X.sum() - Y.sum()))\n")
    second = run(toy, **options)
    assert len(first) == len(second) == 4
    a, b = (found[found["measure"] == "f"]["value"].to_numpy() for found in (first, second))
    assert (a != b).all()
    assert sorted(rank(second)["measure"]) == ["CKA", "f"]
    assert sorted(runtimes("a.sqlite").index) == ["CKA", "f"]
    module("def f(X, Y):\n    return -abs(float(X.sum() - Y.sum()))\n")
    third = run(toy, **options)
    assert third.equals(first)


def test_reasons_are_those_of_the_latest_version(here, toy, module):
    options = {"store": "a.sqlite", "measures": ["own_measures:f"], "tests": ["shortcut"]}
    module("def f(X, Y):\n    return float('nan')\n")
    run(toy, **options)
    with Store("a.sqlite", create=False) as opened:
        assert failures(opened) == "- A on D: the measure returned nan without a reason: f (63)"
    module("def f(X, Y):\n    return 1.0\n")
    run(toy, **options)
    with Store("a.sqlite", create=False) as opened:
        assert failures(opened) == ""


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
        assert one.pair.reason == ""
        assert one.pair.value == pytest.approx(value(measure, arrays[a][kept], arrays[b][kept]), abs=1e-12)


@pytest.mark.parametrize("measure", ["CKA", "mutual kNN(metric=dot)", "LinReg", "MagDiff", "RSA(metric=euclidean)"])
def test_measures_that_need_no_direction_see_all_rows(arrays, measure):
    for (a, b), one in scores(measure, arrays).items():
        assert one.rows_left_out == 0
        assert one.pair.value == pytest.approx(value(measure, arrays[a], arrays[b]), abs=1e-12)


def test_constant_rows_have_no_correlation_but_a_cosine(arrays):
    arrays["b"][[3, 17]] = 1.0
    assert {pair: one.rows_left_out for pair, one in scores("RSA", arrays).items()} == LEFT_OUT
    assert scores("Jaccard", arrays)["a", "b"].rows_left_out == 0


@pytest.mark.parametrize("row", [np.zeros(16), np.full(16, 2.0)])
def test_no_measure_loses_its_value_to_a_row_without_a_direction(arrays, row):
    arrays["a"][5] = row
    for measure in entries():
        reason = scores(measure, {name: arrays[name] for name in "ac"})["a", "c"].pair.reason
        assert "zero rows" not in reason, measure.name
        assert "constant rows" not in reason, measure.name


@pytest.mark.parametrize(("n", "estimated"), [(N_ROWS // 2, True), (N_ROWS // 2 + 1, False)])
def test_where_most_rows_lack_a_direction_there_is_a_reason_instead_of_a_value(arrays, n, estimated):
    arrays["a"][:n] = 0
    arrays = {"a": arrays["a"], "b": np.abs(arrays["b"]) + 1, "c": np.abs(arrays["c"]) + 1}
    found = scores("Jaccard", arrays)
    assert found["a", "b"].pair.has_value is estimated
    assert found["a", "b"].rows_left_out == (n if estimated else 0)
    assert found["b", "c"].pair.has_value
    if not estimated:
        expected = (
            "more than half of the rows are zero in at least one of the two representations and have no cosine "
            "distance: 21 of 40"
        )
        assert found["a", "b"].pair.reason == expected


def test_both_orders_of_a_pair_leave_out_the_same_rows(arrays, rng):
    arrays["c"][:] = rng.standard_normal(arrays["c"].shape)
    arrays["c"][ZERO["c"]] = 0
    measure = "cycle kNN(k=3, metric=cosine)"
    both = scores(measure, arrays, [("b", "c"), ("c", "b")])
    assert [one.rows_left_out for one in both.values()] == [4, 4]
    kept = np.setdiff1d(np.arange(N_ROWS), ZERO["b"] + ZERO["c"])
    forth, back = (value(measure, arrays[a][kept], arrays[b][kept]) for a, b in both)
    assert forth != back
    assert [one.pair.value for one in both.values()] == [forth, back]


def test_positions_of_feature_maps_are_rows_or_columns_as_the_measure_has_them(rng):
    maps = {name: rng.standard_normal((20, 6, 3, 3)) for name in "ab"}
    maps["a"][4, :, 1, 1] = 0
    maps["b"][7] = 0
    # Neighbours are among positions, distances between inputs.
    assert scores("Jaccard", maps)["a", "b"].rows_left_out == 1 + 9
    assert scores("RSA", maps)["a", "b"].rows_left_out == 1
    kept = np.setdiff1d(np.arange(20), [7])
    expected = value("RSA", *(maps[name][kept].reshape(19, -1) for name in "ab"))
    assert scores("RSA", maps)["a", "b"].pair.value == pytest.approx(expected, abs=1e-12)


def test_rows_that_do_not_correspond_and_given_distances_are_left_to_the_measure(arrays, rng):
    tokens = {"a": rng.standard_normal((10, 4, 6)), "b": rng.standard_normal((10, 5, 6))}
    tokens["a"][2, 1] = 0
    one = scores("Jaccard", tokens)["a", "b"]
    assert one.pair.reason == "rows do not correspond: 40 and 50 rows after folding"
    distances = np.abs(arrays["b"][:, :1] - arrays["b"][:, :1].T)
    given = scores("RSA", {"a": arrays["b"], "b": Rdm(distances)})["a", "b"]
    assert given.rows_left_out == 0
    assert "constant rows have no correlation distance" in given.pair.reason


def test_what_is_skipped_stays_so(arrays):
    (measure,) = entries(["Jaccard"])
    sources = {name: Representation.build(array) for name, array in arrays.items()}
    pairs = tuple(combinations(arrays, 2))
    skipped = {("Jaccard", ("b", "c")): "needs 3 GB"}
    found = list(compare_directed(engine.Group((measure,), (pairs,)), sources, skipped))
    reasons = {(one.pair.first, one.pair.second): one.pair.reason for one in found}
    assert reasons == {("a", "b"): "", ("a", "c"): "", ("b", "c"): "needs 3 GB"}


def test_measures_of_one_view_may_compare_different_pairs(arrays):
    measures = tuple(entries(["Jaccard", "RankSim"]))
    sources = {name: Representation.build(array) for name, array in arrays.items()}
    pairs = ((("a", "b"), ("b", "c")), (("b", "c"),))
    found = [
        (one.pair.name, one.pair.first, one.pair.second, one.rows_left_out)
        for one in compare_directed(engine.Group(measures, pairs), sources, {})
    ]
    assert sorted(found) == [("Jaccard", "a", "b", 2), ("Jaccard", "b", "c", 4), ("RankSim", "b", "c", 4)]


def test_the_rule_is_part_of_the_version_of_the_measures_that_it_concerns(monkeypatch):
    before = {measure.name: entry_version(measure) for measure in entries(["all"])}
    monkeypatch.setattr("shesha_bench.measure_entries.RULE", measure_entries.RULE + 1)
    after = {measure.name: entry_version(measure) for measure in entries(["all"])}
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {measure.name for measure in entries(["all"]) if required_metric(measure) is not None}
    assert changed == {
        *("Jaccard", "RankSim", "2nd-Cos", "RSA", "calibrated RSA", "RDM drift", "ConcDiff", "stability difference"),
        *("mutual kNN", "calibrated mutual kNN"),
    }
