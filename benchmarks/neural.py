"""Time cross-validated distances of shesha and of rsatoolbox: 92 conditions, 1,000 channels, 12 runs.

    python benchmarks/neural.py

Both sides receive the same arrays, in alternation in one process. Processor time is the sum over all threads. Peak
memory is measured by tracemalloc. Values must agree.
"""

from __future__ import annotations

import resource
import time
import tracemalloc
import warnings
from collections.abc import Callable

import numpy as np
from rsatoolbox.data import Dataset
from rsatoolbox.data.noise import prec_from_measurements
from rsatoolbox.rdm import calc_rdm

from shesha.neuro import crossnobis

CONDITIONS, CHANNELS, RUNS, TURNS = 92, 1000, 12, 5
Call = Callable[[], np.ndarray]


def seconds(call: Call) -> tuple[float, float]:
    """Elapsed and processor time."""
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    call()
    elapsed, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    return elapsed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def megabytes(call: Call) -> float:
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def told(name: str, theirs: Call, ours: Call) -> None:
    worst = float(np.abs(theirs() - ours()).max())
    times = np.array([[seconds(theirs), seconds(ours)] for _ in range(TURNS)]).min(axis=0)
    memory = megabytes(theirs), megabytes(ours)
    elapsed, cpu = times[0] / times[1]
    print(f"{name:<22}{times[0, 0]:>9.3f}{times[1, 0]:>9.3f}{elapsed:>7.1f}{cpu:>9.1f}", end="")
    print(f"{memory[0]:>9.1f}{memory[1]:>7.1f}{memory[0] / memory[1]:>7.1f}{worst:>10.1g}")


def main() -> None:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((CONDITIONS * RUNS, CHANNELS))
    shown, runs = np.tile(np.arange(CONDITIONS), RUNS), np.repeat(np.arange(RUNS), CONDITIONS)
    mixed = rng.standard_normal((CHANNELS, 2 * CHANNELS))
    precision = np.linalg.inv(mixed @ mixed.T / CHANNELS)
    data = Dataset(X, obs_descriptors={"shown": shown, "run": runs})
    upper = np.triu_indices(CONDITIONS, k=1)

    def theirs(noise: np.ndarray | None) -> np.ndarray:
        return calc_rdm(data, "crossnobis", "shown", noise=noise, cv_descriptor="run").dissimilarities[0]

    def theirs_whole() -> np.ndarray:
        free = CONDITIONS * (RUNS - 1)
        return theirs(prec_from_measurements(data, "shown", dof=free, method="shrinkage_eye"))

    def ours(noise: np.ndarray | str | None) -> np.ndarray:
        return crossnobis(X, shown, runs, noise=noise)[upper]

    print(f"{CONDITIONS} conditions x {CHANNELS} channels x {RUNS} runs; minima of {TURNS}")
    print(
        f"{'noise':<22}{'theirs s':>9}{'ours s':>9}{'ratio':>7}{'cpu':>9}{'MB':>9}{'ours':>7}{'ratio':>7}{'apart':>10}"
    )
    told("none", lambda: theirs(None), lambda: ours(None))
    told("a given precision", lambda: theirs(precision), lambda: ours(precision))
    told("estimated, shrunk", theirs_whole, lambda: ours("ledoit-wolf"))


if __name__ == "__main__":
    main()
