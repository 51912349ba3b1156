"""Expected times of exact values: on a typical machine, which decide about samples, and on this machine."""

from __future__ import annotations

import json
import platform
import time
from contextlib import suppress
from functools import cache

import numpy as np

from shesha.kernels.ranks import spearman
from shesha.kernels.threads import n_threads, single_threaded_blas
from shesha.measures.registry import Measure, SampledRows
from shesha.support.files import cache_folder, read_json, write_text

MINUTE = 60.0
"""Seconds that an exact default may take on a typical machine; a sample answers if it would take longer."""
_CORES, _PRODUCT, _SORT = 2, 4e-11, 1e-7
"""A typical machine: cores, and seconds of a core per multiplication of a matrix product and per number that is sorted.

They are fixed, so that the same data give the same numbers on every machine.
"""
_SEARCH, _CANDIDATE = 0.5, 0.01
"""Cost of finding neighbours: of an entry and feature, in multiplications (single precision), and per entry, in sorts.
"""
_DISTANCE, _RANK, _MATCH = 1.0, 0.6, 0.01
"""Cost of distances between all pairs: of a pair and feature, in multiplications, and of ranking a pair and of matching
it with another in a permutation, in sorts."""
_WIDTH, _RANKED, _REPEATS = 700, 200_000, 5
"""The work that is timed once on each machine, in less than a second."""


def sum_seconds(n_rows: int, widths: tuple[int, int]) -> float:
    """Return about how many seconds the products of all features of two sides take on a typical machine."""
    first, second = widths
    return n_rows * (first**2 + first * second + second**2) * _PRODUCT / _CORES


def exact_seconds(measure: Measure, n_rows: int, widths: tuple[int, int], *, n_draws: int = 0) -> float:
    """Return about how many seconds the exact value takes on a typical machine; 0 if no sample can replace it.

    With `n_draws`, permutations of the rows are included; for lists of neighbours, they take little time.
    """
    if measure.sample is None:
        return 0.0
    if isinstance(measure.sample, SampledRows):
        return sum(search_seconds(n_rows, n_rows, width) for width in widths)
    pairs = n_rows * ((n_rows - 1) // 2)
    seconds = sum(pairs * (width * _DISTANCE * _PRODUCT + _RANK * _SORT) for width in widths)
    return (seconds + n_draws * pairs * _MATCH * _SORT) / _CORES


def search_seconds(n_queries: int, n_rows: int, width: int) -> float:
    """Return about how many seconds the search for the neighbours of queries takes on a typical machine."""
    return n_queries * n_rows * (width * _SEARCH * _PRODUCT + _CANDIDATE * _SORT) / _CORES


def seconds_here(seconds: float) -> float:
    """Return the seconds on this machine for work of a typical one. They are only announced, and decide nothing."""
    return seconds * _core_factor() * _CORES / n_threads()


@cache
def _core_factor() -> float:
    """Return how many times as long work takes on a core of this machine; it is measured once, and kept in a file."""
    try:
        path = cache_folder() / f"speed-{platform.node()}.json"
        if path.exists() and 0 < (known := float(read_json(path)["factor"])) < np.inf:
            return known
    except (OSError, RuntimeError, ValueError, TypeError, KeyError):
        pass  # The file is damaged, or there is no home folder.
    rng, seconds = np.random.default_rng(0), []
    square = rng.random((_WIDTH, _WIDTH))
    with single_threaded_blas():
        for _ in range(_REPEATS):
            first, second = rng.random((2, _RANKED))
            # Processor time, because other programs may run.
            start = time.thread_time()
            square @ square
            spearman(first, second)
            seconds.append(time.thread_time() - start)
    factor = max(min(seconds), 1e-9) / (_WIDTH**3 * _PRODUCT + 2 * _RANKED * _RANK * _SORT)
    with suppress(OSError, RuntimeError, ValueError):
        cache_folder().mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps({"factor": factor}))
    return factor
