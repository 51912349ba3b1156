"""Jobs on workers that may die."""

import errno
import os
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import pytest

from shesha.runs import ATTEMPTS, Here, Job, LocalProcesses, Meter, disk_is_full, failure_reason, run, search_paths
from shesha.support.warnings import NotEstimable


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("rows differ\nin many lines"), "ValueError: rows differ"),
        (MemoryError(), "MemoryError"),
        (NotEstimable("all rows are equal"), "all rows are equal"),
    ],
)
def test_reasons_are_one_line(error, reason):
    assert failure_reason(error) == reason


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (OSError(errno.ENOSPC, "full"), True),
        (OSError(errno.EDQUOT, "quota"), True),
        (OSError(errno.EACCES, "denied"), False),
        (RuntimeError("the loss is not finite"), False),
    ],
)
def test_only_a_full_disk_counts_as_one(error, full):
    assert disk_is_full(error) is full


class Numbers:
    """A plan of jobs that double numbers; what it keeps is in `found`."""

    def __init__(self, numbers, work=lambda n: 2 * n):
        self.left, self.work = list(numbers), work
        self.found, self.lost = {}, {}

    def ready(self):
        if not self.left:
            return None
        number = self.left.pop(0)
        return Job(str(number), "doubling", 1, self.work, (number,))

    def keep_result(self, job, result):
        self.found[job.key] = result
        return 0.5

    def record_failure(self, job, reason):
        self.lost[job.key] = reason


def test_jobs_are_done_and_the_meter_told():
    meter = Meter(1)
    meter.expect("doubling", 3)
    plan = Numbers([1, 2, 3])
    run(plan, Here(), meter)
    assert (plan.found, plan.lost) == ({"1": 2, "2": 4, "3": 6}, {})
    assert meter.seconds_left() == (0, False)
    assert meter.text() == "3/3 pieces, about 0 s left"


def test_what_is_done_here_is_kept_before_more_is_begun():
    order = []

    class Told(Numbers):
        def keep_result(self, job, result):
            order.append(f"kept {job.key}")
            return super().keep_result(job, result)

    run(Told([1, 2, 3], lambda n: order.append(f"began {n}")), Here())
    assert order == ["began 1", "kept 1", "began 2", "kept 2", "began 3", "kept 3"]


def test_a_job_that_raises_is_given_up_at_once_and_the_others_go_on():
    plan = Numbers([2, 0, 1], lambda n: 6 // n)
    run(plan, Here())
    assert plan.found == {"2": 3, "1": 6}
    assert plan.lost == {"0": "ZeroDivisionError: integer division or modulo by zero"}


@pytest.mark.parametrize(("deaths", "lost"), [(1, {}), (2, {}), (3, {"5": "the worker died 3 times (out of memory?)"})])
def test_a_job_that_kills_its_worker_is_given_up_after_three_times(deaths, lost):
    class OneByOne(Here):
        n_workers = 2
        left = deaths
        renewed = 0

        def submit(self, work, number):
            if number != 5 or not self.left:
                return super().submit(work, number)
            self.left -= 1
            ended = Future()
            ended.set_exception(BrokenProcessPool("a process was terminated abruptly"))
            return ended

        def renew(self):
            self.renewed += 1

        def close(self, *, now):
            self.ended_early = now

    executor, plan = OneByOne(), Numbers(range(9))
    run(plan, executor)
    assert plan.lost == lost
    assert plan.found == {str(n): 2 * n for n in range(9) if str(n) not in lost}
    assert executor.renewed == deaths
    assert not executor.ended_early


def test_what_was_under_way_with_a_death_is_tried_again_alone():
    class Pool:
        """Two workers: whatever is under way when 3 is submitted dies with it."""

        n_workers = 2

        def __init__(self):
            self.open, self.alone = {}, []
            self.broken = False

        def submit(self, work, number):
            if self.broken:
                raise BrokenProcessPool("the pool is not usable anymore")
            future = Future()
            self.open[future] = (work, number)
            if number == 3:
                self.alone.append(len(self.open) == 1)
                self.broken = True
                for one in self.open:
                    one.set_exception(BrokenProcessPool("a process was terminated abruptly"))
            elif len(self.open) == 4 or plan.left == [] or self.alone:
                for one, (own, n) in self.open.items():
                    if not one.done():
                        one.set_result(own(n))
                self.open.clear()
            return future

        def renew(self):
            self.broken = False
            self.open.clear()

        def close(self, *, now):
            self.ended_early = now

    plan, pool = Numbers(range(6)), Pool()
    run(plan, pool)
    assert plan.found == {str(n): 2 * n for n in range(6) if n != 3}
    assert plan.lost == {"3": "the worker died 3 times (out of memory?)"}
    assert pool.alone == [False, True, True]


def test_work_that_a_cluster_loses_is_tried_again():
    class KilledWorker(Exception):
        """As a cluster names it."""

    calls = []

    def lost_twice(n):
        calls.append(n)
        if len(calls) < 3:
            raise KilledWorker("lost")
        return n

    plan = Numbers([7], lost_twice)
    run(plan, Here())
    assert plan.found == {"7": 7}
    calls.clear()
    always = Numbers([7], lambda n: calls.append(n) or lost_always())

    def lost_always():
        raise KilledWorker("lost")

    run(always, Here())
    assert (calls, always.lost) == ([7] * ATTEMPTS, {"7": "KilledWorker: lost"})


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_ctrl_c_and_a_full_disk_end_the_run_and_keep_what_is_done(error):
    class Closed(Here):
        ended_early = None

        def close(self, *, now):
            self.ended_early = now

    def work(n):
        if n == 3:
            raise error
        return n

    plan, executor = Numbers([1, 2, 3, 4], work), Closed()
    with pytest.raises(type(error)):
        run(plan, executor)
    assert plan.found == {"1": 1, "2": 2}
    assert executor.ended_early


def test_processes_do_what_is_done_here():
    plan = Numbers(range(5), abs)
    run(plan, LocalProcesses(1, search_paths()))
    assert plan.found == {str(n): n for n in range(5)}


def test_a_process_that_dies_costs_its_job_alone():
    plan = Numbers([0], os._exit)
    run(plan, LocalProcesses(1, search_paths()))
    assert plan.lost == {"0": "the worker died 3 times (out of memory?)"}
