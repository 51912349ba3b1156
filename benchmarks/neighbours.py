"""Time nearest neighbours: exact lists with and without single-precision candidates, and sampled query rows.

    python benchmarks/neighbours.py [--rows 100000] [--features 256] [--markdown FILE]

Lists of neighbours are computed with both methods on the same data, and must be equal. Queries search for 1,000 rows of
memory-mapped files among all rows. For the smaller files, the result is compared with the value of all rows. Processor
seconds are also printed, because other processes affect them less.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from shesha import measures
from shesha.comparison.sampled_scores import Sampling, sampled_scores
from shesha.kernels import neighbours
from shesha.report import markdown_line, markdown_table
from shesha.support.files import write_text
from shesha.views.representation import RowSource

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
    """Time exact lists of all rows, with single-precision candidates and with double precision alone."""
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


def queries(n: int, d: int) -> list[str]:
    """Search 1,000 query rows among all rows of mapped files, and compare with the value of all rows."""
    table = [markdown_table(["measure", "rows", "1,000 queries, s (processor s)", "value", "error", "all rows"], [])]
    with TemporaryDirectory() as folder:
        for rows in (20_000, n):
            sides = []
            for seed in (1, 2):
                path = Path(folder) / f"{rows}-{seed}.npy"
                np.save(path, related_rows(rows, d, seed))
                sides.append(np.load(path, mmap_mode="r"))
            for name in ("mutual kNN(metric=cosine)", "Jaccard"):
                found, seconds, used = clocked(lambda name=name, sides=sides: sampled(name, sides))
                exact = f"{measures.get(name).score(*sides):.4f}" if rows <= 20_000 else "-"
                times = f"{seconds:.1f} ({used:.1f})"
                cells = [name, f"{rows:,} x {d}", times, f"{found.value:.4f}", f"{found.sampling_error:.4f}", exact]
                table.append(markdown_line(cells))
                print(table[-1], flush=True)
    return table


def related_rows(n: int, d: int, seed: int) -> np.ndarray:
    common = np.random.default_rng(0).standard_normal((n, 32), dtype=np.float32)
    rng = np.random.default_rng(seed)
    return common @ rng.standard_normal((32, d), dtype=np.float32) + rng.standard_normal((n, d), dtype=np.float32)


def sampled(name: str, sides: list[np.ndarray]) -> Any:
    X, Y = (RowSource(side, label) for side, label in zip(sides, "XY", strict=True))
    return next(sampled_scores([measures.get(name)], X, Y, Sampling(queries=1000)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=256)
    parser.add_argument("--markdown", type=Path)
    asked = parser.parse_args()
    parts = [queries(200_000, asked.features), lists(asked.rows, asked.features)]
    if asked.markdown:
        write_text(asked.markdown, "\n\n".join("\n".join(part) for part in parts) + "\n")


if __name__ == "__main__":
    main()
