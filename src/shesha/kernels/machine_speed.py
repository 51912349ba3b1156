"""How fast this machine multiplies and sorts, measured once and kept in the user's cache folder."""

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

from shesha.kernels.threads import single_threaded_blas
from shesha.support.atomic_files import write_text

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
