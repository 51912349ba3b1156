"""Where work is done: each process has its share of the cores and finds the modules of the process that asks."""

import os
import socket
import sys

import pytest

from shesha.runs import LocalProcesses, prepare, runner


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
    monkeypatch.setattr(runner, "ProcessPoolExecutor", lambda *args: started.append(args))
    LocalProcesses(n_workers, ("/somewhere",))
    ((number, _, setup, arguments),) = started
    assert (number, arguments) == (n_workers, (share, ("/somewhere",)))
    assert setup is runner._start


def test_workers_are_counted_and_never_given_with_a_cluster():
    pytest.importorskip("distributed")
    runner.require_workers(None, None)
    runner.require_workers(1, None)
    with pytest.raises(ValueError, match="workers must be at least 1, got 0"):
        runner.require_workers(0, None)
    with pytest.raises(ValueError, match="workers must not be given with a scheduler"):
        runner.require_workers(2, "tcp://127.0.0.1:8786")


@pytest.mark.parametrize("form", ["tcp://127.0.0.1:{}", "127.0.0.1:{}", "inproc://anything"])
def test_where_something_listens_an_address_is_taken(form):
    pytest.importorskip("distributed")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = form.format(server.getsockname()[1])
        runner.require_workers(None, address)
    if "{}" in form:
        with pytest.raises(ConnectionError, match="scheduler must be the address of a Dask scheduler"):
            runner.require_workers(None, address)
