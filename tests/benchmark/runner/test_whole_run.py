"""A whole run: numbers, progress, checkpoints and what a report says."""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from shesha.cli._app import app
from shesha_bench import run_suite, suites, tests as own
from shesha_bench.jobs import Archive
from shesha_bench.ranks import rank
from shesha_bench.run_suite import general, run, status
from shesha_bench.store import Store
from shesha_bench.stored_results import COLUMNS, accuracies, list_trials
from shesha_bench.suites import Trial, trials
from shesha_bench.tests.kinds import pairs_groups, pairs_layers, pairs_prediction

from .reading import key_of


def layers(store, toy):
    return status(store, toy).set_index("test").loc["layer_monotonicity"]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("0123456789abcdef0123//last: all rows are equal", "all rows are equal"),
        ("zero rows have no cosine distance: rows 3, 17 and 6 more", "zero rows have no cosine distance: rows"),
        ("needs equal widths, got 16 and 32 features", "needs equal widths, got 16 and 32 features"),
        ("more than half of the rows are zero in either: 21 of 40", "more than half of the rows are zero in either"),
    ],
)
def test_reasons_are_told_without_models_and_rows(reason, expected):
    assert general(reason) == expected


def test_a_checkpoint_of_another_network_is_told_with_its_file(here, toy):
    import torch

    path = _checkpoint_before_the_run(here, toy)
    torch.save({"other": torch.zeros(2)}, path)
    run(toy, store="a.sqlite", measures=["CKA"], tests=["shortcut"])
    reason = accuracies("a.sqlite").set_index(["degree", "seed"]).loc[(0.5, 1), "reason"]
    assert "weights must contain w of shape (12, 8), got ['other']" in reason
    assert f"(checkpoint {path}: remove it to train again)" in reason
    assert len(accuracies("a.sqlite").query("reason == ''")) == 8


def test_a_checkpoint_that_fits_is_used_instead_of_training(here, toy, monkeypatch):
    import torch

    path = _checkpoint_before_the_run(here, toy)
    torch.save({"w": torch.zeros(12, 8, dtype=torch.float64)}, path)
    monkeypatch.setenv("TOY_LOG", str(here / "log"))
    run(toy, store="a.sqlite", measures=["MagDiff"], tests=["shortcut"])
    trained = (here / "log").read_text().splitlines()
    assert len(trained) == 8
    assert "shortcut 0.5 1" not in trained


class Malicious:
    """Leaves a trace when it is unpickled."""

    def __reduce__(self):
        return open, ("executed", "w")


@pytest.mark.parametrize("keep", [False, True])
def test_a_training_that_diverged_leaves_no_hint_and_no_weights_that_serve_nobody(here, toy, faults, keep):
    faults({"shortcut 0.5 1": "outputs nothing"})
    options = {"store": "a.sqlite", "measures": ["CKA"], "tests": ["shortcut"]}
    run(toy, **options, keep_checkpoints=keep)
    reason = accuracies("a.sqlite").set_index(["degree", "seed"]).loc[(0.5, 1), "reason"]
    assert reason == "DivergedError: probabilities must be finite, got NaN or infinity because the training diverged"
    path = here / "a.sqlite.models" / f"{key_of('shortcut', 0.5, 1)}.pt"
    assert path.exists() is keep
    faults({})
    again = run(toy, **options, retry_failed=True)
    assert again["dropped"].tolist() == [0, 0]


def test_weights_of_an_earlier_run_that_say_nothing_are_told_with_their_file(here, toy, faults):
    faults({"shortcut 0.5 1": "outputs nothing"})
    options = {"store": "a.sqlite", "measures": ["CKA"], "tests": ["shortcut"]}
    run(toy, **options, keep_checkpoints=True)
    run(toy, **options, retry_failed=True)
    reason = accuracies("a.sqlite").set_index(["degree", "seed"]).loc[(0.5, 1), "reason"]
    path = here / "a.sqlite.models" / f"{key_of('shortcut', 0.5, 1)}.pt"
    said = "ValueError: probabilities must be finite, got NaN or infinity because the training diverged"
    assert reason == f"{said} (checkpoint {path}: remove it to train again)"


def test_a_pickle_is_refused_and_not_executed(here, toy):
    import torch

    path = _checkpoint_before_the_run(here, toy)
    torch.save({"w": Malicious()}, path)
    run(toy, store="a.sqlite", measures=["CKA"], tests=["shortcut"])
    reason = accuracies("a.sqlite").set_index(["degree", "seed"]).loc[(0.5, 1), "reason"]
    assert reason.startswith(f"ValueError: checkpoint must be a file of tensors, got {path}")
    assert "remove it to train again" in reason
    assert not (here / "executed").exists()


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04"])
def test_a_damaged_checkpoint_is_told_with_its_file(here, toy, content):
    path = _checkpoint_before_the_run(here, toy)
    path.write_bytes(content)
    run(toy, store="a.sqlite", measures=["CKA"], tests=["shortcut"])
    reason = accuracies("a.sqlite").set_index(["degree", "seed"]).loc[(0.5, 1), "reason"]
    assert path.name in reason
    assert "remove it to train again" in reason


def _checkpoint_before_the_run(here, toy):
    """Return where the checkpoint of a model goes."""
    (trial,) = trials(toy.tasks, ["shortcut"])
    keys = run_suite._keys(trial.models)
    (key,) = [key for model, key in keys.items() if (model.setting.degree, model.seed) == (0.5, 1)]
    (here / "a.sqlite.models").mkdir()
    return here / "a.sqlite.models" / f"{key}.pt"


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


def test_ranks_count_every_test_once(ran):
    found = rank(ran.found)
    assert sorted(found["measure"]) == sorted(NAMES)
    assert (found["n"] == 6).all()


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


@pytest.fixture
def known(toy, monkeypatch):
    """The toy suite has a name that commands know."""
    monkeypatch.setitem(suites._SUITES, "toy", lambda: toy.tasks)
    monkeypatch.setitem(suites._OPTIONS, "toy", {})
    return toy


def said(*words):
    ended = CliRunner().invoke(app, ["bench", *words])
    return ended.exit_code, ended.output
