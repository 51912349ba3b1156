"""How long the exact value of a measure takes on this machine, whose speed is measured once."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from shesha.kernels.threads import n_threads, single_threaded_blas
from shesha.measures.registry import Measure, SampledRows
from shesha.support.files import write_text

_SIDE, _SORTED, _REPEATS = 256, 1 << 18, 5


@dataclass(frozen=True)
class MachineSpeed:
    """Seconds that one core needs per multiplication of a matrix product, and per number that it sorts."""

    product: float
    sort: float


SLOWEST = MachineSpeed(product=1e-9, sort=1e-6)
"""Speed that every machine exceeds. Work that is quick at this speed needs no measurement."""


def cache_folder() -> Path:
    """Return the folder for files that can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shesha"


@lru_cache(maxsize=1)
def machine_speed() -> MachineSpeed:
    """Return the speed of this machine, measured in a fifth of a second on the first call of all processes."""
    # Home folders are often shared by machines, so the name of the machine is part of the name of the file.
    place = cache_folder() / f"speed-{platform.node()}.json"
    with suppress(OSError, ValueError, TypeError):
        known = MachineSpeed(**json.loads(place.read_text(encoding="utf-8")))
        if 0 < known.product <= SLOWEST.product and 0 < known.sort <= SLOWEST.sort:
            return known
    speed = _measured_speed()
    # Without a writable home folder, each process measures for itself.
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        write_text(place, json.dumps(asdict(speed)))
    return speed


def _measured_speed() -> MachineSpeed:
    rng = np.random.default_rng(0)
    square, numbers = rng.standard_normal((_SIDE, _SIDE)), rng.standard_normal(_SORTED)
    with single_threaded_blas():
        product = _quickest(lambda: square @ square) / _SIDE**3
    sort = _quickest(lambda: np.argsort(numbers)) / _SORTED
    return MachineSpeed(min(product, SLOWEST.product), min(sort, SLOWEST.sort))


def _quickest(work: Callable[[], object]) -> float:
    """Return the shortest of a few times, which other programs disturb least."""
    times = []
    for _ in range(_REPEATS + 1):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return max(min(times[1:]), 1e-9)


MINUTE = 60.0
"""Seconds that an exact default may take; a sample answers if it would take longer."""
_SEARCH, _CANDIDATE = 0.5, 0.01
"""Cost of finding neighbours: of an entry and feature, in multiplications (single precision), and per entry, in sorts.
"""
_DISTANCE, _RANK, _MATCH = 1.0, 0.6, 0.01
"""Cost of distances between all pairs: of a pair and feature, in multiplications, and of ranking a pair and of matching
it with another in a permutation, in sorts."""


def exact_seconds(measure: Measure, n_rows: int, widths: tuple[int, int], *, n_draws: int = 0) -> float:
    """Return about how many seconds the exact value takes on this machine; 0 if no sample can replace it.

    With `n_draws`, permutations of the rows are included; for lists of neighbours, they take little time. The speed of
    the machine is measured only if the work could take more than a minute.
    """
    if measure.sample is None:
        return 0.0
    finds_neighbours = isinstance(measure.sample, SampledRows)
    entries = n_rows * (n_rows if finds_neighbours else (n_rows - 1) // 2)
    per_feature, per_entry = (_SEARCH, _CANDIDATE) if finds_neighbours else (_DISTANCE, _RANK)

    def seconds(speed: MachineSpeed) -> float:
        once = sum(entries * (width * per_feature * speed.product + per_entry * speed.sort) for width in widths)
        return once + (0 if finds_neighbours else n_draws * entries * _MATCH * speed.sort)

    slowest = seconds(SLOWEST)
    return slowest if slowest <= MINUTE else seconds(machine_speed()) / n_threads()
