"""A whole run in two worker processes: everything is there, right, and never done again."""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shesha_bench import tests as own
from shesha_bench._markdown_report import report
from shesha_bench.measure_ranks import rank
from shesha_bench.pairs_and_scores import pairs_groups, pairs_layers, pairs_prediction
from shesha_bench.run_plan import Trial, trials
from shesha_bench.run_status import status
from shesha_bench.run_suite import run
from shesha_bench.store import Store
from shesha_bench.stored_results import COLUMNS, accuracies, comparisons, list_trials, results, runtimes
from shesha_bench.trained_models import Archive

RTD = "RTD(n_subsets=2, subset_size=30)"
MEASURES = ("CKA", "RSA", "LinReg", "MagDiff", RTD, "calibrated CKA", "toy_measures:logged")
ASYMMETRIC = {"LinReg", "logged"}
NAMES = (*MEASURES[:-1], "logged")
QUALITIES = {
    "accuracy": {"spearman"},
    "jsd": {"spearman"},
    "disagreement": {"spearman"},
    "label_randomization": {"auprc", "conformity"},
    "shortcut": {"auprc", "conformity"},
    "augmentation": {"auprc", "conformity"},
    "layer_monotonicity": {"conformity", "spearman", "spearman_pooled"},
}


@dataclass(frozen=True)
class Ran:
    """A complete run and what it left."""

    store: Path
    found: Any
    trained: Path
    calls: Path


@pytest.fixture(scope="module")
def ran(patch, toy, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    patch.setenv("TOY_LOG", str(folder / "trained"))
    patch.setenv("TOY_CALLS", str(folder / "calls"))
    store = folder / "toy.sqlite"
    return Ran(store, run(toy, store=store, measures=MEASURES, workers=2), folder / "trained", folder / "calls")


@pytest.fixture
def opened(ran):
    with Store(ran.store, create=False) as store:
        yield store


def numbers(path):
    """Return every comparison with its number, as the file holds it."""
    connection = sqlite3.connect(path)
    found = connection.execute("SELECT first, second, measure, version, value, seconds FROM cell").fetchall()
    connection.close()
    return sorted(found)


def trial_of(opened, toy, test) -> tuple[Trial, Any]:
    chosen, keys = list_trials(opened, toy)
    return next(one for one in chosen if one.test == test), keys


def test_the_table_has_the_documented_columns_and_a_row_for_each_score(ran):
    assert list(ran.found.columns) == [*COLUMNS, "p_value", "n", "dropped", "reason"]
    there = Counter(zip(ran.found["test"], ran.found["quality"], ran.found["measure"], strict=True))
    wanted = [(test, quality, measure) for test, some in QUALITIES.items() for quality in some for measure in NAMES]
    assert there == Counter(wanted)
    assert ran.found["value"].notna().all()
    assert (ran.found["dropped"] == 0).all()
    assert (ran.found["reason"] == "").all()
    places = ran.found[["domain", "dataset", "architecture", "pooling"]].drop_duplicates()
    assert places.to_numpy().tolist() == [["toy_domain", "D", "A", ""]]
    assert ran.found["p_value"].notna().equals(ran.found["test"].isin(["accuracy", "jsd", "disagreement"]))


def test_numbers_of_pairs_are_those_of_the_tests(ran):
    n = ran.found.groupby(["test", "measure"])["n"].unique()
    for test, both, one in (("accuracy", 30, 15), ("jsd", 30, 15), ("shortcut", 63, 36), ("augmentation", 63, 36)):
        for measure in NAMES:
            assert n[test, measure].tolist() == [both if measure in ASYMMETRIC else one], (test, measure)
    assert {count for found in n["layer_monotonicity"] for count in found} == {3}


@pytest.fixture(scope="module")
def direct(ran, toy):
    """What the tests for models of one's own say of the same representations."""
    registered = [name for name in MEASURES if name not in ("calibrated CKA", "toy_measures:logged", RTD)]
    archive = Archive(Path(f"{ran.store}.models"))
    with Store(ran.store, create=False) as opened:
        chosen, keys = list_trials(opened, toy)
    by_test = {trial.test: trial for trial in chosen}
    found = []
    for name, function in (
        ("label_randomization", own.label_randomization),
        ("shortcut", own.shortcut_affinity),
        ("augmentation", own.augmentation),
    ):
        groups = {
            group: [archive.layer(reference) for reference in names]
            for group, names in by_test[name].cast(keys, 0).last.items()
        }
        found.append(function(groups, registered))
    standard = [keys[model] for model in by_test["accuracy"].models]
    last = [archive.layer(f"{key}//last") for key in standard]
    probabilities = [archive.outputs(key)[0] for key in standard]
    labels = archive.outputs(standard[0])[1]
    found.append(own.accuracy_correlation(last, probabilities, labels, registered))
    found.append(own.output_correlation(last, probabilities, registered))
    layers = [
        [archive.layer(f"{keys[model]}//{at}") for at in range(4)] for model in by_test["layer_monotonicity"].models
    ]
    found.append(own.layer_monotonicity(layers, registered))
    return {
        (row.test, row.quality, row.measure): (row.value, row.p_value, row.n)
        for frame in found
        for row in frame.itertuples()
    }


def test_every_score_is_what_the_tests_say_of_the_archived_representations(ran, direct):
    assert len(direct) == 12 * 4
    for row in ran.found.itertuples():
        known = direct.get((row.test, row.quality, row.measure))
        if known is not None:
            np.testing.assert_allclose((row.value, row.p_value, row.n), known, rtol=1e-12, err_msg=str(row))


def test_cells_are_the_union_of_the_pairs_that_the_tests_need(ran, opened, toy):
    def pairs(symmetric):
        wanted = set()
        for test in ("accuracy", "output"):
            trial, keys = trial_of(opened, toy, test)
            wanted |= set(pairs_prediction(trial.cast(keys, 0).last["standard"], symmetric))
        for test in ("label_randomization", "shortcut", "augmentation"):
            trial, keys = trial_of(opened, toy, test)
            wanted |= set(pairs_groups(trial.cast(keys, 0).last, symmetric))
        trial, keys = trial_of(opened, toy, "layer_monotonicity")
        wanted |= set(pairs_layers(trial.cast(keys, 4).models, symmetric))
        return wanted

    there = {measure: set() for measure in NAMES}
    for first, second, measure, *_ in numbers(ran.store):
        there[measure].add((first, second))
    for measure, found in there.items():
        wanted = pairs(measure not in ASYMMETRIC)
        if measure not in ASYMMETRIC:
            found, wanted = ({frozenset(pair) for pair in some} for some in (found, wanted))
        assert found == wanted, measure
    # Six models 15 pairs; three of them are a group of two more tests; three layered models of 4 layers.
    assert len(there["CKA"]) == 15 + 3 * 36 - 2 * 3 + 3 * 6


def test_every_pair_is_compared_once(ran):
    calls = ran.calls.read_text().splitlines()
    assert len(calls) == len(set(calls)) == sum(row[2] == "logged" for row in numbers(ran.store))
    trained = ran.trained.read_text().splitlines()
    assert len(trained) == len(set(trained)) == 6 + 2 * 3 + 3 * 3 + 2 * 3


def test_a_second_run_trains_and_compares_nothing(ran, toy):
    before = numbers(ran.store), ran.trained.read_text(), ran.calls.read_text()
    files = {path.name: path.stat().st_mtime_ns for path in Path(f"{ran.store}.models").iterdir()}
    again = run(toy, store=ran.store, measures=MEASURES, workers=2)
    assert again.equals(ran.found)
    assert (numbers(ran.store), ran.trained.read_text(), ran.calls.read_text()) == before
    assert {path.name: path.stat().st_mtime_ns for path in Path(f"{ran.store}.models").iterdir()} == files


def test_weights_are_removed_once_they_are_of_no_use(ran):
    assert {path.suffix for path in Path(f"{ran.store}.models").iterdir()} == {".npz"}


def test_accuracies_are_those_of_the_stored_outputs(ran, opened):
    found = accuracies(opened)
    assert len(found) == 27
    archive = Archive(opened.models_folder)
    for row in found.itertuples():
        key = opened.keys()[row.domain, row.dataset, row.architecture, row.kind, row.degree, row.seed]
        probabilities, labels, seconds = archive.outputs(key)
        assert row.accuracy == np.mean(probabilities.argmax(axis=1) == labels)
        assert row.seconds == seconds > 0
        assert row.reason == ""


def test_status_counts_models_and_comparisons(ran, toy):
    far = status(ran.store, toy).set_index("test")
    n_models = {"accuracy": 6, "output": 6, "layer_monotonicity": 3} | dict.fromkeys(
        ("label_randomization", "shortcut", "augmentation"), 9
    )
    assert far["models"].to_dict() == far["trained"].to_dict() == n_models
    assert (far[["models failed", "without value"]] == 0).all(axis=None)
    symmetric = len(NAMES) - len(ASYMMETRIC)
    n_pairs = {"accuracy": (15, 30), "output": (15, 30), "layer_monotonicity": (18, 36)} | dict.fromkeys(
        ("label_randomization", "shortcut", "augmentation"), (36, 63)
    )
    expected = {test: symmetric * one + len(ASYMMETRIC) * both for test, (one, both) in n_pairs.items()}
    assert far["comparisons"].to_dict() == far["compared"].to_dict() == expected


def test_runtimes_are_means_over_the_comparisons(ran):
    found = runtimes(ran.store)
    assert sorted(found.index) == sorted(NAMES)
    seconds = [row[5] for row in numbers(ran.store) if row[2] == "RSA"]
    assert found.loc["RSA"].tolist() == pytest.approx([np.mean(seconds)])
    assert found.loc[RTD].iloc[0] > found.loc["RSA"].iloc[0]


def test_comparisons_are_the_cells_with_their_models(ran):
    found = comparisons(ran.store)
    assert len(found) == len(numbers(ran.store))
    assert sorted(found["value"]) == sorted(row[4] for row in numbers(ran.store))
    layered = found[found["layer_a"] != "last"]
    assert set(layered["layer_a"]) == set("0123")
    assert (layered["seed_a"] == layered["seed_b"]).all()
    shortcut = found[(found["kind_a"] == "shortcut") & (found["measure"] == "logged")]
    assert len(shortcut) == 63


def test_the_report_is_markdown_with_every_test(ran, toy):
    text = report(ran.store, title="A toy", of=toy)
    assert text.startswith("# A toy\n")
    for one in own.TESTS:
        assert f"\n## {one.title}" in text, one.title
    assert text.endswith("comparisons have a value.\n")
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")


def test_ranks_count_every_test_once(ran):
    found = rank(ran.found)
    assert sorted(found["measure"]) == sorted(NAMES)
    assert (found["n"] == 6).all()


def test_results_can_be_read_while_the_store_is_open(ran, toy, opened):
    assert results(opened, toy).equals(ran.found)


# Last, because it adds to what the tests above count.
def test_another_measure_is_all_that_is_compared(ran, toy):
    before, trained = numbers(ran.store), ran.trained.read_text()
    calls = ran.calls.read_text().splitlines()
    found = run(toy, store=ran.store, measures=[*MEASURES, "toy_measures:one_more"], workers=1)
    after = numbers(ran.store)
    assert [row for row in after if row[2] != "one_more"] == before
    new = ran.calls.read_text().splitlines()[len(calls) :]
    assert {line.split()[0] for line in new} == {"one_more"}
    assert len(new) == len(set(new)) == len(after) - len(before) == 30 + 3 * 63 - 2 * 3 + 3 * 12
    assert ran.trained.read_text() == trained
    assert set(found["measure"]) == {*NAMES, "one_more"}
    assert len(trials(toy.tasks)) == 6
