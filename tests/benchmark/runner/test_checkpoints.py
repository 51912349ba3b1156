"""Weights that lie beside a store: used where they fit, told with their file where they do not."""

import pytest

from shesha_bench import run_suite
from shesha_bench.run_plan import trials
from shesha_bench.run_suite import run
from shesha_bench.stored_results import accuracies

from .reading import key_of


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
