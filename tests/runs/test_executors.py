"""Where work is done: each process has its share of the cores and finds the modules of the process that asks."""

from __future__ import annotations

import os
import sys

import pytest

from shesha.runs import LocalProcesses, executors, prepare, search_paths


@pytest.fixture
def unchanged(monkeypatch):
    """Environment and search path return after the test."""
    for name in ("SHESHA_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "7")
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return monkeypatch


def test_a_process_gets_its_share_of_the_cores_and_the_paths(unchanged):
    unchanged.delitem(sys.modules, "torch", raising=False)
    prepare(3, ("/somewhere", sys.path[0]))
    assert os.environ["SHESHA_THREADS"] == os.environ["OMP_NUM_THREADS"] == "3"
    assert sys.path.count("/somewhere") == 1
    assert sys.path.count(sys.path[0]) == 1


def test_a_limit_of_the_users_own_stays(unchanged):
    unchanged.delitem(sys.modules, "torch", raising=False)
    unchanged.setenv("OMP_NUM_THREADS", "1")
    prepare(3, ())
    assert os.environ["OMP_NUM_THREADS"] == "1"


def test_torch_that_is_imported_already_is_told(unchanged):
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    try:
        prepare(before + 1, ())
        assert torch.get_num_threads() == before + 1
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(("cores", "n_workers", "share"), [(8, 2, 4), (8, 3, 2), (2, 4, 1)])
def test_workers_share_the_cores(monkeypatch, cores, n_workers, share):
    started = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    monkeypatch.setattr(executors, "ProcessPoolExecutor", lambda *args: started.append(args))
    LocalProcesses(n_workers, ("/somewhere",))
    ((number, _, setup, arguments),) = started
    assert (number, arguments) == (n_workers, (share, ("/somewhere",)))
    assert setup is executors._start


def test_search_paths_are_folders_that_other_processes_find():
    assert "" not in search_paths()
    assert set(search_paths()) == set(sys.path) - {""}
