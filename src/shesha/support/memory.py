"""The memory budget, and errors for work that would exceed it."""

from __future__ import annotations

import ctypes
import errno
import math
import os
import re
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


class MemoryBudgetError(ValueError):
    """The exact result would need more memory than the budget allows; the message names a remedy."""


def memory_budget() -> int:
    """Return the budget in bytes: SHESHA_MEMORY (such as 2G), or a quarter of what this process may use."""
    setting = os.environ.get("SHESHA_MEMORY", "")
    if not setting:
        return int(min(_machine_memory(), _process_limit())) // 4
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", setting.strip().lower())
    if not match:
        raise ValueError(f"SHESHA_MEMORY must be a number of bytes such as 2G or 500M, got {setting!r}")
    return int(float(match[1]) * _UNITS[match[2]])


@cache
def _machine_memory() -> int:
    """Return the memory of the machine, or the limit of the container if that is less."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**33
    for limit in _CONTAINER:
        # The file contains "max" if there is no limit.
        if limit.is_file() and (text := limit.read_text().strip()).isdecimal():
            memory = min(memory, int(text))
    return memory


_CONTAINER = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Files with the limit of a container, by the version of control groups."""


def _process_limit() -> float:
    """Return the limit of this process, as `ulimit -v` sets it."""
    if sys.platform == "win32":
        return math.inf
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return math.inf if limit == resource.RLIM_INFINITY else limit


def is_memory_error(error: BaseException) -> bool:
    """Return whether an error means that memory could not be had; the system reports this for files as well."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)


def shortage(text: str) -> str:
    """Return the message of a lack of memory, with what to do."""
    return (
        f"{text or 'out of memory'}; pass fewer rows or features, free memory, or set SHESHA_MEMORY to less than the "
        f"{format_bytes(memory_budget())} of now, so that less is held at a time"
    )


_SMALL, _OFTEN = 1 << 30, 0.1
"""Budget in bytes below which freed memory is given back, and the seconds between two times."""
_given_back = 0.0


def give_back() -> None:
    """With a small budget, return freed memory to the system, of which the C library keeps some for each thread."""
    global _given_back
    if time.monotonic() - _given_back < _OFTEN or memory_budget() >= _SMALL:
        return
    _trim()(0)
    _given_back = time.monotonic()


@cache
def _trim() -> Any:
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    return getattr(library, "malloc_trim", lambda keep: None)


def format_bytes(n_bytes: float) -> str:
    """Format a number of bytes for readers."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.{1 if unit == 2**30 else 0}f} {name}"
    return f"{n_bytes / 2**10:.0f} KiB"


def require(n_bytes: float, what: str, instead: str) -> None:
    """Raise an error before starting work that would exceed the budget."""
    budget = memory_budget()
    if n_bytes > budget:
        raise MemoryBudgetError(
            f"{what} must fit the memory budget of {format_bytes(budget)}, got {format_bytes(n_bytes)}: "
            f"{instead}, or raise SHESHA_MEMORY"
        )
