"""Chunks hold exactly what the tests need: nothing twice, nothing that is done, nothing missing."""

import numpy as np
import pytest

from shesha_bench import run_plan
from shesha_bench.measure_entries import entries, entry_version
from shesha_bench.model_descriptions import Setting
from shesha_bench.run_plan import plan_chunks, required_models, trials
from shesha_bench.suite_tasks import Task
from shesha_bench.suites import setting_groups

MEASURES = entries(["CKA", "RSA", "LinReg", "MagDiff", "RTD", "calibrated CKA", "ProcDist"])
VERSION = {measure.name: entry_version(measure) for measure in MEASURES}
SYMMETRIC = {measure.name: measure.symmetric for measure in MEASURES}
N_LAYERS = 4


def random_tasks(rng):
    """Return one or two small tasks with groups, sizes and poolings drawn."""

    def degrees():
        some = np.round(np.sort(rng.choice(np.arange(11) / 10, rng.integers(2, 4), replace=False)), 1)
        return tuple(map(float, some)) if rng.random() < 0.8 else ()

    return [
        Task(
            "toy_domain",
            "D",
            f"A{number}",
            {},
            setting_groups(label_randomization=degrees(), shortcut=degrees(), augmentation=degrees()),
            poolings=("",) if rng.random() < 0.5 else ("cls", "mean"),
            layers=Setting("deep") if rng.random() < 0.5 else Setting(),
            n_models=int(rng.integers(2, 6)),
            n_per_group=int(rng.integers(1, 4)),
            n_layered=int(rng.integers(1, 3)),
        )
        for number in range(rng.integers(1, 3))
    ]


def cells_of(chunks):
    return [
        (*pair, measure.name, VERSION[measure.name])
        for chunk in chunks
        for measure, pairs in zip(chunk.measures, chunk.pairs, strict=True)
        for pair in pairs
    ]


def either_order(cells):
    """Let the order of a pair count for asymmetric measures alone."""
    return [(frozenset(cell[:2]) if SYMMETRIC[cell[2]] else cell[:2], *cell[2:]) for cell in cells]


def needed(chosen, keys):
    return {
        (*pair, measure.name, VERSION[measure.name])
        for trial in chosen
        for measure in MEASURES
        for pair in trial.pairs(measure.symmetric, keys, N_LAYERS)
    }


@pytest.fixture(params=range(15))
def drawn(request):
    rng = np.random.default_rng(request.param)
    chosen = trials(random_tasks(rng))
    keys = {model: model.key("data") for model in required_models(chosen)}
    return rng, chosen, keys


def test_chunks_hold_what_the_tests_need_once(drawn, monkeypatch):
    rng, chosen, keys = drawn
    monkeypatch.setattr(run_plan, "_SECONDS", float(rng.choice([0.05, 0.5, 10])))
    planned = set()
    chunks = [chunk for trial in chosen for chunk in plan_chunks(trial, MEASURES, keys, N_LAYERS, planned)]
    cells = either_order(cells_of(chunks))
    assert len(cells) == len(set(cells))
    assert set(cells) == set(either_order(needed(chosen, keys)))
    assert set(either_order(planned)) == set(cells)
    assert sum(chunk.n_cells for chunk in chunks) == len(cells)


def test_what_is_done_is_not_planned_in_either_order(drawn):
    rng, chosen, keys = drawn
    everything = sorted(needed(chosen, keys))
    done = {cell for cell in everything if rng.random() < 0.5}
    turned = {
        (second, first, *rest) if SYMMETRIC[rest[0]] and rng.random() < 0.5 else (first, second, *rest)
        for first, second, *rest in done
    }
    planned = set(turned)
    chunks = [chunk for trial in chosen for chunk in plan_chunks(trial, MEASURES, keys, N_LAYERS, planned)]
    cells = either_order(cells_of(chunks))
    assert len(cells) == len(set(cells))
    assert set(cells) == set(either_order(everything)) - set(either_order(done))


def test_cells_of_another_version_do_not_count(drawn):
    _, chosen, keys = drawn
    old = {(*cell[:3], "another") for cell in needed(chosen, keys)}
    chunks = [chunk for trial in chosen for chunk in plan_chunks(trial, MEASURES, keys, N_LAYERS, old)]
    assert set(either_order(cells_of(chunks))) == set(either_order(needed(chosen, keys)))


def test_chunks_are_of_one_view_and_take_about_as_long(toy, monkeypatch):
    monkeypatch.setattr(run_plan, "_SECONDS", 0.4)
    chosen = trials(toy.tasks, ["shortcut"])
    keys = {model: model.key("data") for model in required_models(chosen)}
    (trial,) = chosen
    chunks = list(plan_chunks(trial, MEASURES, keys, N_LAYERS, set()))
    assert len(chunks) > len(MEASURES)
    for chunk in chunks:
        assert chunk.n_cells > 0
        assert len({(measure.view_key, measure.view.folding) for measure in chunk.measures}) == 1
        (cost,) = {run_plan._cost(measure) for measure in chunk.measures}
        # Cut evenly, a piece may be a pair longer.
        assert cost * chunk.n_cells < 2 * 0.4 or chunk.n_cells == len(chunk.measures)
        assert chunk.models <= set(keys.values())


def test_costly_and_calibrated_measures_are_cut_finer():
    cka, rtd, calibrated = entries(["CKA", "RTD", "calibrated CKA"])
    assert run_plan._cost(cka) < run_plan._cost(calibrated) < run_plan._cost(rtd)


def test_trials_are_each_test_through_each_pooling(toy):
    assert [(trial.test, trial.pooling) for trial in trials(toy.tasks)] == [
        (test, "")
        for test in ("accuracy", "output", "label_randomization", "shortcut", "augmentation", "layer_monotonicity")
    ]
    assert [trial.test for trial in trials(toy.tasks, ["shortcut", "accuracy"])] == ["accuracy", "shortcut"]
    double = Task("toy_domain", "D", "A", {}, setting_groups(label_randomization=(0, 1)), poolings=("cls", "mean"))
    assert len(trials([double])) == 2 * 4


def test_models_are_listed_once(toy):
    models = required_models(trials(toy.tasks))
    assert len(models) == len(set(models)) == 6 + 2 * 3 + 3 * 3 + 2 * 3
