"""Neighbours: exact lists with and without candidates of single precision, in one process.

    python benchmarks/neighbours.py [--rows 100000] [--features 256] [--markdown FILE]

Both sides take turns on the same data and must give the same lists. Processor seconds are told beside seconds, because
other work on the machine changes them less.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from shesha.kernels import neighbours
from shesha.report import markdown_line, markdown_table
from shesha.support.atomic_files import write_text

K = 10


def clocked(function: Callable[[], Any]) -> tuple[Any, float, float]:
    start, used = time.perf_counter(), time.process_time()
    found = function()
    return found, time.perf_counter() - start, time.process_time() - used


def unit_rows(n: int, d: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((n, 32)) @ rng.standard_normal((32, d)) + rng.standard_normal((n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def lists(n: int, d: int) -> list[str]:
    """Exact lists of all rows: candidates first, and double precision alone."""
    head = ["exact lists", "now, s (processor s)", "double precision, s (processor s)", "ratio", "same lists"]
    table = [markdown_table(head, [])]
    rows, usual = unit_rows(n, d), neighbours._FILTERED
    neighbours.nearest_by_distance(rows[:5000], K)
    now, seconds, used = clocked(lambda: neighbours.nearest_by_distance(rows, K))
    neighbours._FILTERED = n + 1
    before, whole, spent = clocked(lambda: neighbours.nearest_by_distance(rows, K))
    neighbours._FILTERED = usual
    same = np.array_equal(now.lists, before.lists) and now.tied == before.tied
    sides = f"{seconds:.1f} ({used:.1f})", f"{whole:.1f} ({spent:.1f})"
    table.append(markdown_line([f"{n:,} x {d}", *sides, f"{spent / used:.1f}", "yes" if same else "no"]))
    print(table[-1], flush=True)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=256)
    parser.add_argument("--markdown", type=Path)
    asked = parser.parse_args()
    parts = [lists(asked.rows, asked.features)]
    if asked.markdown:
        write_text(asked.markdown, "\n\n".join("\n".join(part) for part in parts) + "\n")


if __name__ == "__main__":
    main()
