"""Threads may check and update one monitor; every event is kept once."""

import contextlib
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from shesha.drift import DriftMonitor, TrainingPath
from shesha.drift.history import MemoryHistory


def test_changes_of_a_history_in_memory_follow_one_another():
    history = MemoryHistory()

    def count(_: int) -> None:
        with history.open_for_writing() as writer:
            n = int(writer.state("n") or 0)
            time.sleep(0.001)
            writer.add("check", {}, {"n": str(n + 1)})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count, range(40)))
    assert history.state("n") == "40"
    assert pickle.loads(pickle.dumps(history)).state("n") == "40"


def test_rows_of_eight_threads_are_all_in_the_stream():
    rows = np.random.default_rng(0).standard_normal((400, 6))
    monitor = DriftMonitor(rows[:80], n_resamples=99)
    with ThreadPoolExecutor(8) as pool:
        verdicts = list(pool.map(lambda start: monitor.update(rows[start : start + 10]), range(80, 400, 10)))
    assert sorted(verdict.n_seen for verdict in verdicts) == list(range(10, 330, 10))
    assert len(monitor.history("update")) == 32


def test_steps_of_eight_threads_follow_one_another_in_a_path():
    rng = np.random.default_rng(0)
    walk = rng.standard_normal((41, 12, 4)).cumsum(axis=0)
    path = TrainingPath()

    def record(step: int) -> bool:
        with contextlib.suppress(ValueError):
            return bool(path.record(step, walk[step]))
        return False

    with ThreadPoolExecutor(8) as pool:
        n_recorded = sum(pool.map(record, range(41)))
    steps = [one.step for one in path.checkpoints]
    assert len(steps) == n_recorded and steps == sorted(set(steps))
    alone = TrainingPath()
    assert path.checkpoints == [alone.record(step, walk[step]) for step in steps]
    assert pickle.loads(pickle.dumps(path)).record(41, walk[0]).step == 41
