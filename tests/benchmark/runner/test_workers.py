"""Work in other processes: a measure or a training that kills its worker costs that piece of work alone."""

import importlib
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import pytest

from shesha.runs import LocalProcesses, search_paths
from shesha.views import Representation
from shesha_bench import run_plan, run_suite
from shesha_bench.run_suite import run
from shesha_bench.trained_models import Archive

from .reading import cells

DIED = "worker died"


def test_a_measure_that_kills_its_worker_costs_its_chunk_alone(here, toy, monkeypatch, patch):
    toy_measures = importlib.import_module("toy_measures")
    options = {"store": "a.sqlite", "tests": ["shortcut"]}
    # Models are trained here, so that workers need not import torch.
    run(toy, **options, measures=["toy_measures:one_more"])
    archive = Archive(here / "a.sqlite.models")
    (first, second, *_) = next(row for row in cells("a.sqlite"))
    rows = [Representation.build(archive.layer(name)).rows for name in (first, second)]
    monkeypatch.setenv("TOY_VICTIM", toy_measures._print_of(*rows))
    monkeypatch.setattr(run_plan, "_SECONDS", 10 * run_plan._PLAIN)
    monkeypatch.setattr(run_suite, "_executor", lambda *_: LocalProcesses(2, search_paths()))
    found = run(toy, **options, measures=["toy_measures:killing", "CKA"])
    own = [row for row in cells("a.sqlite") if row[2] == "killing"]
    lost = [row for row in own if row[3] is None]
    assert len(own) == 63
    assert (first, second) in {row[:2] for row in lost}
    assert 1 <= len(lost) <= 10
    assert all(DIED in row[4] for row in lost)
    assert [row[3] is None for row in cells("a.sqlite") if row[2] == "CKA"] == [False] * 36
    assert found[found["measure"] == "killing"]["dropped"].tolist() == [len(lost)] * 2


class Dies:
    """Loses its workers over some work, always, and whatever is under way with it."""

    n_workers = 2

    def __init__(self, inner, deadly):
        self._inner, self._deadly = inner, deadly
        self.tries = 0

    def submit(self, work, *args):
        if not self._deadly(args[0]):
            return self._inner.submit(work, *args)
        self.tries += 1
        ended = Future()
        ended.set_exception(BrokenProcessPool("a process was terminated abruptly"))
        return ended

    def renew(self):
        """New workers are as mortal."""

    def close(self, *, now):
        self.ended_early = now


def test_a_training_that_kills_its_worker_is_given_up_after_three_times(here, toy, monkeypatch):
    executor = Dies(run_suite._executor(None, None), lambda one: str(one) == "A on D, shortcut 0.5, seed 1")
    monkeypatch.setattr(run_suite, "_executor", lambda *_: executor)
    found = run(toy, store="a.sqlite", measures=["CKA"], tests=["shortcut", "augmentation"])
    assert executor.tries == 3
    assert not executor.ended_early
    lost = [row for row in cells("a.sqlite") if row[3] is None]
    assert len(lost) == 8
    assert {row[4] for row in lost} == {"no model: the worker died 3 times (out of memory?)"}
    assert found.set_index("test")["dropped"].to_dict() == {"shortcut": 8, "augmentation": 0}


def test_workers_are_a_whole_number(here, toy, monkeypatch):
    monkeypatch.undo()
    monkeypatch.chdir(here)
    with pytest.raises(ValueError, match="workers must be"):
        run(toy, store="a.sqlite", measures=["CKA"], workers=0)
    with pytest.raises(ValueError, match="workers must not be given with a scheduler"):
        run(toy, store="a.sqlite", measures=["CKA"], workers=2, scheduler="tcp://127.0.0.1:1")
    assert list(here.iterdir()) == []
