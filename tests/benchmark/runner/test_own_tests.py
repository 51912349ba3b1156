"""A test of one's own is one file and one line: own models, runs, tables, ranks and reports pick it up."""

import importlib
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from shesha.support.warnings import MeasureWarning
from shesha_bench import rank, table, tests
from shesha_bench.catalogue import Setting, _known_kinds
from shesha_bench.jobs import Archive
from shesha_bench.ranks import QUALITY_OF
from shesha_bench.report_page import report
from shesha_bench.run_suite import run, status
from shesha_bench.scores import rank_correlation
from shesha_bench.store import Store
from shesha_bench.stored_results import list_trials, results
from shesha_bench.suites import Suite, setting_groups
from shesha_bench.tests import BenchmarkTest, registry
from shesha_bench.tests.kinds import ScoreRow

MEASURES = ["CKA", "LinReg", "MagDiff"]


@pytest.fixture
def own(patch, monkeypatch):
    """The module with the tests of one's own; what it registers is forgotten afterwards."""
    monkeypatch.setattr(registry, "_known", dict(registry._known))
    monkeypatch.setattr("shesha_bench.catalogue._known_kinds", list(_known_kinds))
    return importlib.import_module("toy_tests")


def test_it_takes_models_of_ones_own(own, rng):
    shares = np.linspace(0.05, 0.45, 5)
    X, Z = rng.standard_normal((2, 60, 5))
    probabilities = [np.column_stack([np.full(60, 1 - share), np.full(60, share)]) for share in shares]
    models = [(1 - share) * X + share * Z for share in shares]
    found = own.SURENESS.score_arrays(models, probabilities, MEASURES)
    assert list(found["test"]) == ["sureness"] * 3 and list(found["measure"]) == MEASURES
    assert list(found["n"]) == [10, 20, 10]
    assert found["value"].iloc[0] > 0.7
    groups = {"narrow": models[:2], "wide": models[2:4]}
    expected = tests.augmentation(groups, MEASURES).assign(test="width")
    assert own.WIDTH.score_arrays(groups, MEASURES).equals(expected)


def test_it_runs_and_is_read_like_the_others(own, here, toy):
    found = run(toy, store="a.sqlite", measures=MEASURES, tests=["toy_tests:SURENESS", "accuracy"])
    # The outputs' other differences are known as well, of the same pairs.
    assert set(found["test"]) == {"sureness", "accuracy", "jsd", "disagreement"}
    assert results("a.sqlite", toy).equals(found)
    with Store("a.sqlite", create=False) as store:
        (trial,), keys = list_trials(store, toy)[0][-1:], list_trials(store, toy)[1]
        cells = store.cells("CKA", next(one.version for one in store.entries() if one.name == "CKA"))
    archive = Archive(Path("a.sqlite.models"))
    sure = [archive.outputs(keys[model])[0].max(axis=1).mean() for model in trial.models]
    pairs = list(combinations(range(6), 2))
    names = trial.cast(keys, 0).names
    values = np.array([-cells[names[a], names[b]].value for a, b in pairs])
    differences = np.array([abs(sure[a] - sure[b]) for a, b in pairs])
    scored = found.set_index(["test", "measure"]).loc[("sureness", "CKA")]
    assert scored["value"] == pytest.approx(rank_correlation(values, differences), rel=1e-12)
    assert 0 < scored["p_value"] <= 1
    far = status("a.sqlite", toy).set_index("test")
    assert far.loc["sureness", "compared"] == far.loc["sureness", "comparisons"] == 15 + 30 + 15
    assert "sureness" in table(found).columns.get_level_values("test")
    assert set(rank(found)["n"]) == {3}
    assert "## Sureness correlation\n\nModels are the less similar" in report("a.sqlite", of=toy)


def test_its_differences_are_computed_once_per_version(own, here, toy, monkeypatch):
    first = run(toy, store="a.sqlite", measures="CKA", tests=own.SURENESS)
    assert set(first["test"]) == {"sureness"} and first["value"].notna().all()
    calls = []

    def counted(a, b):
        calls.append(1)
        return 0.0

    counted.__module__ = own.SURENESS.differences["sureness"].__module__
    again = replace(own.SURENESS, differences={"sureness": counted})
    assert run(toy, store="a.sqlite", measures="CKA", tests=again).equals(first)
    assert not calls
    counted.__module__ = __name__
    changed = run(toy, store="a.sqlite", measures="CKA", tests=again)
    assert len(calls) == 15
    assert changed["value"].isna().all()


def test_a_difference_that_fails_costs_its_own_test_alone(own, here, toy, caplog):
    def failing(a, b):
        raise ArithmeticError("cannot be done")

    broken = replace(own.SURENESS, differences={"sureness": failing})
    found = run(toy, store="a.sqlite", measures="CKA", tests=["accuracy", broken])
    assert set(found["test"]) == {"accuracy", "jsd", "disagreement"}
    assert (
        "the difference sureness has no value, so tests that need it have no scores: ArithmeticError: cannot"
        in caplog.text
    )
    mended = run(toy, store="a.sqlite", measures="CKA", tests=own.SURENESS)
    assert mended.query("test == 'sureness'")["value"].notna().all()


def test_other_packages_bring_tests(own, monkeypatch):
    point = EntryPoint("sureness", "toy_tests:SURENESS", "shesha.benchmark.tests")
    broken = EntryPoint("broken", "toy_tests:_sureness", "shesha.benchmark.tests")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [broken, point])
    registry.load_entry_points.cache_clear()
    with pytest.warns(MeasureWarning, match="test broken of toy_tests:_sureness could not be loaded: TypeError"):
        assert tests.all_tests()[-1] is own.SURENESS
    assert tests.find("Sureness") is own.SURENESS


def test_groups_by_a_kind_of_setting_of_its_own(own, here, make_task, monkeypatch):
    with pytest.raises(ValueError, match=r"kind must be one of standard, .*, got 'width'"):
        Setting("width", 0.5)
    tests.register(own.WIDTH)
    monkeypatch.setattr("toy_domain.KINDS", ("standard", "labels", "shortcut", "augmentation", "deep", "width"))
    suite = Suite("toy", (replace(make_task(), groups=setting_groups(width=(0, 0.5, 1))),))
    assert suite.tasks[0].tests == ("accuracy", "output", "layer_monotonicity", "width")
    found = run(suite, store="a.sqlite", measures=MEASURES, tests="width")
    assert list(zip(found["test"], found["quality"], strict=True)) == [("width", "auprc"), ("width", "conformity")] * 3
    assert found["n"].tolist() == [36, 36, 63, 63, 36, 36]


@dataclass(frozen=True, kw_only=True)
class Twins(BenchmarkTest):
    """A class of one's own: models of neighbouring seeds; the score is the mean of their values."""

    def models(self, task):
        return {"twins": tuple(task.model(Setting(), seed) for seed in range(4))}

    def pairs(self, cast, symmetric):
        return [(cast.names[0], cast.names[1]), (cast.names[2], cast.names[3])]

    def score(self, measure, values, cast, differences, seed=0):
        mean = sum(values.values()) / 2
        return [ScoreRow(self.name, "mean", measure.name, mean, float("nan"), 2, 0, "")]


TWINS = Twins(
    name="twins",
    title="Twins",
    claim="Models of neighbouring seeds are similar.",
    grounding="design",
    rows=("twins",),
    qualities=("mean",),
    counts={"twins": "mean"},
)


def test_a_class_of_ones_own_says_which_models_and_pairs(own, here, toy):
    found = run(toy, store="a.sqlite", measures="CKA", tests=TWINS)
    with Store("a.sqlite", create=False) as store:
        values = [value for (value,) in store.query("SELECT value FROM cell")]
        assert len(store.models()) == 4
    assert len(values) == 2 and found["value"].tolist() == [pytest.approx(sum(values) / 2)]


def test_the_benchmarks_tests_count_as_the_paper_counts():
    assert QUALITY_OF == {
        "accuracy": "spearman",
        "disagreement": "spearman",
        "label_randomization": "auprc",
        "shortcut": "auprc",
        "augmentation": "auprc",
        "layer_monotonicity": "conformity",
    }
