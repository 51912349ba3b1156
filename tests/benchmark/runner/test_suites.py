"""Suites, the plan of a run, your own parts, and the commands."""

from __future__ import annotations

import re

import numpy as np
import pytest

from shesha_bench import suites
from shesha_bench.catalogue import Model, Outcome, Setting, count_of_share
from shesha_bench.domains import hash_arrays
from shesha_bench.measure_entries import entries, entry_version
from shesha_bench.suites import Task, plan_chunks, required_models, setting_groups, suite, trials

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
    monkeypatch.setattr(suites, "_SECONDS", float(rng.choice([0.05, 0.5, 10])))
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
    monkeypatch.setattr(suites, "_SECONDS", 0.4)
    chosen = trials(toy.tasks, ["shortcut"])
    keys = {model: model.key("data") for model in required_models(chosen)}
    (trial,) = chosen
    chunks = list(plan_chunks(trial, MEASURES, keys, N_LAYERS, set()))
    assert len(chunks) > len(MEASURES)
    for chunk in chunks:
        assert chunk.n_cells > 0
        assert len({(measure.view_key, measure.view.folding) for measure in chunk.measures}) == 1
        (cost,) = {suites._cost(measure) for measure in chunk.measures}
        # Cut evenly, a piece may be a pair longer.
        assert cost * chunk.n_cells < 2 * 0.4 or chunk.n_cells == len(chunk.measures)
        assert chunk.models <= set(keys.values())


def test_trials_are_each_test_through_each_pooling(toy):
    assert [(trial.test, trial.pooling) for trial in trials(toy.tasks)] == [
        (test, "")
        for test in ("accuracy", "output", "label_randomization", "shortcut", "augmentation", "layer_monotonicity")
    ]
    assert [trial.test for trial in trials(toy.tasks, ["shortcut", "accuracy"])] == ["accuracy", "shortcut"]
    double = Task("toy_domain", "D", "A", {}, setting_groups(label_randomization=(0, 1)), poolings=("cls", "mean"))
    assert len(trials([double])) == 2 * 4


def degrees(task, test):
    return [one.degree for one in task.groups[test]]


def by_place(name):
    return {(task.dataset, task.architecture): task for task in suite(name).tasks}


def n_models(task):
    return len(required_models(trials([task])))


def test_no_disturbance_is_the_standard_training_but_for_shortcuts():
    task = by_place("small")["Cora", "GCN"]
    assert task.groups["label_randomization"][0] == task.groups["augmentation"][0] == Setting()
    assert task.groups["shortcut"][0] == Setting("shortcut", 0)
    assert list(task.models("label_randomization")) == ["standard", "labels 0.25", "labels 1"]


@pytest.mark.parametrize(
    ("name", "place", "number"),
    [
        # Ten standard models, two more groups of labels, three of shortcuts, two of augmentation, the deep ones.
        ("paper", ("Cora", "GCN"), 10 + 2 * 5 + 3 * 5 + 2 * 5 + 5),
        ("paper", ("Cora", "PGNN"), 10 + 2 * 5 + 3 * 5 + 5),
        # No group of vision's augmentation is the standard one, and the layers are those of the standard models.
        ("paper", ("IN100", "RNet18"), 10 + 2 * 5 + 3 * 5 + 3 * 5),
        ("paper", ("MNLI", "BERT"), 10 + 2 * 5 + 3 * 5 + 2 * 5),
        ("paper", ("SST2", "BERT"), 10 + 2 * 5 + 3 * 5 + 1 * 5),
        ("paper", ("SST2", "SmolLM2"), 10 + 1 * 5 + 3 * 5),
    ],
)
def test_models_are_shared_by_tests(name, place, number):
    assert n_models(by_place(name)[place]) == number


@pytest.mark.parametrize("name", ["small", "paper"])
def test_tasks_have_the_models_that_their_numbers_say(name):
    for task in suite(name).tasks:
        own = {one for test, some in task.groups.items() for one in some if one != Setting()}
        deep = task.n_layered if task.layers == Setting("deep") else 0
        assert n_models(task) == task.n_models + task.n_per_group * len(own) + deep
        for test in ("label_randomization", "shortcut", "augmentation"):
            if test in task.groups:
                assert {len(some) for some in task.models(test).values()} == {task.n_per_group}
        assert [len(some) for some in task.models("accuracy").values()] == [task.n_models]
        assert [len(some) for some in task.models("layer_monotonicity").values()] == [task.n_layered]
        assert task.n_layered <= task.n_models


@pytest.mark.parametrize("name", ["small", "paper"])
def test_hyperparameters_are_plain_and_those_of_one_suite(name):
    for task in suite(name).tasks:
        assert task.hyper
        for key, value in task.hyper.items():
            assert isinstance(key, str)
            assert value is None or type(value) in (str, int, float, bool), (str(task), key, value)


def test_a_suite_can_be_cut_down():
    small = suite("small")
    assert len(small.choose_tasks()) == 14
    assert {task.dataset for task in small.choose_tasks(domains=["graphs"])} == {"Cora"}
    assert [str(task) for task in small.choose_tasks(["vision"], ["cifar10"], ["vit"])] == ["ViT on CIFAR10"]
    assert len(small.choose_tasks(architectures=["GCN", "VGG"])) == 3
    assert small.choose_tasks(domains=["language"], architectures=["GCN"]) == ()


MODEL = Model("graph", "Cora", "GCN", Setting("labels", 0.5), 3, {"rate": 0.1, "layers": 2})


def changed(**some):
    own = {name: getattr(MODEL, name) for name in ("domain", "dataset", "architecture", "setting", "seed", "hyper")}
    return Model(**(own | some))


OTHERS = {
    "domain": changed(domain="vision"),
    "dataset": changed(dataset="Flickr"),
    "architecture": changed(architecture="GAT"),
    "kind": changed(setting=Setting("shortcut", 0.5)),
    "degree": changed(setting=Setting("labels", 0.25)),
    "seed": changed(seed=4),
    "a value": changed(hyper={"rate": 0.2, "layers": 2}),
    "the type of a value": changed(hyper={"rate": 0.1, "layers": 2.0}),
    "one more value": changed(hyper={"rate": 0.1, "layers": 2, "dropout": 0.0}),
    "one less": changed(hyper={"rate": 0.1}),
}


def test_keys_change_with_everything_that_matters():
    keys = {what: model.key("data") for what, model in OTHERS.items()}
    keys |= {"nothing": MODEL.key("data"), "data": MODEL.key("other data")}
    assert len(set(keys.values())) == len(keys), keys
    assert all(re.fullmatch("[0-9a-f]{20}", key) for key in keys.values())


def test_keys_do_not_change_with_what_does_not_matter():
    assert changed(hyper={"layers": 2, "rate": 0.1}).key("data") == MODEL.key("data")
    # Files of earlier runs are found by it.
    assert MODEL.key("data") == "35f6166fae4b88cd88af"


def test_models_of_a_suite_differ_in_their_keys():
    for name in ("small", "paper"):
        models = required_models(trials(suite(name).tasks))
        assert len({model.key("data") for model in models}) == len(models)


def test_fingerprints_tell_data_apart():
    one = np.arange(6.0)
    different = [
        (one,),
        (one.reshape(2, 3),),
        (one.astype(np.float32),),
        (one + 1,),
        (one, one),
        (one, "text"),
        ("text",),
        (np.empty(0),),
    ]
    assert len({hash_arrays(*some) for some in different}) == len(different)
    assert hash_arrays(one.copy()) == hash_arrays(one)
    assert hash_arrays(np.asfortranarray(one.reshape(2, 3))) == hash_arrays(one.reshape(2, 3))
    assert hash_arrays("text") == hash_arrays(b"text")


def outcome(**some):
    own = {
        "representations": {"": (np.ones((4, 2)),)},
        "probabilities": np.full((4, 2), 0.5),
        "labels": np.arange(4) % 2,
    }
    return Outcome(**(own | some))


@pytest.mark.parametrize(
    ("some", "expected"),
    [
        ({"representations": {}}, "representations must contain at least one layer of one pooling, got none"),
        ({"representations": {"cls": ()}}, "representations must contain at least one layer"),
        ({"representations": {"cls": (np.ones((4, 2)), np.ones((3, 2)))}}, r"layer 1 of pooling 'cls' .*\(4\), got 3"),
        ({"probabilities": np.ones(4)}, r"probabilities must have shape \(4, n_classes\), got \(4,\)"),
        ({"probabilities": np.ones((3, 2))}, r"probabilities must have shape \(4, n_classes\), got \(3, 2\)"),
    ],
)
def test_outcomes_have_rows_that_belong_together(some, expected):
    with pytest.raises(ValueError, match=expected):
        outcome(**some)


@pytest.mark.parametrize(
    ("share", "n", "number"), [(0.29, 100, 29), (1 - 0.9, 10, 1), (0.25, 10, 2), (1.0, 7, 7), (0.0, 7, 0)]
)
def test_shares_are_whole_numbers_whatever_the_rounding(share, n, number):
    assert count_of_share(share, n) == number
