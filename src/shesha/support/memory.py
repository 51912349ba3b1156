"""The memory budget, and errors for work that would exceed it."""

from __future__ import annotations

import os
import re

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


class MemoryBudgetError(ValueError):
    """The exact result would need more memory than the budget allows; the message names a remedy."""


def memory_budget() -> int:
    """Return the budget in bytes: SHESHA_MEMORY (such as 2G), or a quarter of the machine's memory."""
    setting = os.environ.get("SHESHA_MEMORY", "")
    if not setting:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4 if hasattr(os, "sysconf") else 2**31
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", setting.strip().lower())
    if not match:
        raise ValueError(f"SHESHA_MEMORY must be a number of bytes such as 2G or 500M, got {setting!r}")
    return int(float(match[1]) * _UNITS[match[2]])


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
