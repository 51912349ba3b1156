"""Work over threads comes back in order, fails as it would alone, and leaves the BLAS as it was."""

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from shesha.kernels.threads import n_threads, parallel, single_threaded_blas


@pytest.fixture(params=["1", "2", "7"])
def threads(request, monkeypatch):
    monkeypatch.setenv("SHESHA_THREADS", request.param)


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_results_come_in_the_order_of_the_items(threads):
    def slow_first(item):
        time.sleep(0.02 if item == 0 else 0.0)
        return item * item

    assert list(parallel(slow_first, range(20))) == [item * item for item in range(20)]


def test_the_first_failure_reaches_the_caller(threads):
    def work(item):
        if item >= 3:
            raise KeyError(item)
        return item

    found = []
    with pytest.raises(KeyError, match="3"):
        found.extend(parallel(work, range(10)))
    before = blas_threads()
    assert list(parallel(abs, [-1])) == [1]
    assert blas_threads() == before


def test_few_results_are_under_way_at_once(monkeypatch):
    monkeypatch.setenv("SHESHA_THREADS", "2")
    started = []
    results = parallel(started.append, range(100))
    next(results)
    time.sleep(0.05)
    assert len(started) <= 6
    results.close()


def test_work_runs_in_as_many_threads_as_asked(monkeypatch):
    monkeypatch.setenv("SHESHA_THREADS", "3")
    together = threading.Barrier(3, timeout=10)
    assert len(list(parallel(lambda _: together.wait(), range(3)))) == 3


def test_parallel_work_within_parallel_work_starts_no_threads(monkeypatch):
    monkeypatch.setenv("SHESHA_THREADS", "2")

    def outer(_):
        return {threading.get_ident(), *parallel(lambda _: threading.get_ident(), range(4))}

    assert [len(threads) for threads in parallel(outer, range(4))] == [1, 1, 1, 1]


def test_blas_has_one_thread_inside_and_its_own_setting_after(threads):
    before = blas_threads()
    inside = list(parallel(lambda _: blas_threads(), range(4)))
    assert all(set(found) == {1} for found in inside)
    assert blas_threads() == before
    with pytest.raises(ZeroDivisionError), single_threaded_blas():
        raise ZeroDivisionError
    assert blas_threads() == before


def test_matrix_products_do_not_depend_on_the_number_of_threads(rng, with_threads):
    X = rng.standard_normal((300, 300))

    def products():
        return np.array(list(parallel(lambda start: X[start : start + 50] @ X, range(0, 300, 50))))

    assert np.array_equal(with_threads(1, products), with_threads(2, products))


def test_without_a_setting_the_cores_of_this_process_are_used(monkeypatch):
    monkeypatch.delenv("SHESHA_THREADS", raising=False)
    assert n_threads() >= 1
    monkeypatch.setenv("SHESHA_THREADS", "")
    assert n_threads() >= 1


def test_work_runs_ahead_of_the_results_by_two_items_per_thread(monkeypatch):
    """So that memory stays flat however many items there are."""
    monkeypatch.setenv("SHESHA_THREADS", "2")
    begun = []
    for n_seen, _ in enumerate(parallel(begun.append, range(80)), start=1):
        time.sleep(0.001)
        assert len(begun) <= n_seen + 4
    assert sorted(begun) == list(range(80))
