"""What takes part: registered measures, calibrated ones, and functions of one's own."""

import importlib
import linecache
import pickle
import sys

import numpy as np
import pytest

import shesha
import shesha.measures as measures
from shesha.measures import choose
from shesha_bench.calibrated_measure import _orders, calibrated
from shesha_bench.measure_entries import N_PERMUTATIONS, PlainMeasure, entries, entry_version, make_entry
from shesha_bench.measure_ranks import rank
from shesha_bench.run_status import failures
from shesha_bench.run_suite import run
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
    expected = shesha.calibrate(*pair, base, permutations=permutations).score
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


def test_a_plain_function_gets_two_matrices(pair):
    (measure,) = entries(["toy_measures:logged"])
    assert isinstance(measure, PlainMeasure)
    assert measure.name == "logged"
    assert not measure.symmetric
    assert measure.closer == "higher"
    expected = np.linalg.norm(pair[0]) - np.abs(pair[1]).sum()
    assert measure.score(*pair) == pytest.approx(expected)


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

    before = dict(registry._measures), dict(registry._aliases)
    try:
        (found,) = entries([f"{module(MARKED)}:toy_width"])
        assert (found.name, found.closer, found.symmetric, found.paired) == ("Toy width", "lower", True, False)
        assert not isinstance(found, PlainMeasure)
        assert len(entry_version(found)) == 12
        assert pickle.loads(pickle.dumps(found)) == found
    finally:
        for known, old in zip((registry._measures, registry._aliases), before, strict=True):
            known.clear()
            known.update(old)


@pytest.mark.parametrize(
    ("chosen", "error", "expected"),
    [
        (
            "nowhere_at_all:f",
            ValueError,
            "measure must be importable as module:name, got 'nowhere_at_all:f': No module",
        ),
        ("toy_measures:f", ValueError, "got 'toy_measures:f': module 'toy_measures' has no attribute 'f'"),
        (":f", ValueError, "measure must be importable as module:name, got ':f'$"),
        ("toy_measures:", ValueError, "measure must be importable as module:name, got 'toy_measures:'$"),
        ("os:sep", TypeError, "measure must be a function of two matrices, got 'os:sep', which is str"),
        ("CKAA", ValueError, "measure must be one of the names .*, got 'CKAA'; did you mean CKA"),
        ("calibrated CKAA", ValueError, "measure must be one of the names .*, got 'CKAA'; did you mean CKA"),
        ("RTD(subsets=2)", ValueError, "options of RTD must be among"),
        (3, TypeError, "measures must be names or functions, got 3"),
    ],
)
def test_what_is_no_measure_is_told(pair, chosen, error, expected):
    with pytest.raises(error, match=expected):
        entries([chosen])


def test_two_functions_of_one_name_are_refused(module):
    module("def logged(X, Y):\n    return 1.0\n")
    with pytest.raises(ValueError, match="measures must have distinct names, got 'logged' twice"):
        entries(["toy_measures:logged", "own_measures:logged"])


def test_versions_are_those_of_what_computes(module):
    assert entry_version(choose("LinReg")[0]) == measures.code_version(choose("LinReg")[0])
    one, two = "def f(X, Y):\n    return 1.0\n", "def f(X, Y):\n    return 2.0\n"
    first, second, third = (entry_version(entries([f"{module(text)}:f"])[0]) for text in (one, two, one))
    assert first == third != second


def test_a_calibrated_measure_has_a_version_of_its_own(monkeypatch):
    (plain,), (found,) = entries(["CKA"]), entries(["calibrated CKA"])
    before = entry_version(found)
    assert before.split("+")[0] != entry_version(plain)
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
