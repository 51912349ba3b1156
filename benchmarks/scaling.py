"""Measure seconds and peak memory of every verb against the number of rows, and mark unexpected increases.

    python benchmarks/scaling.py [--largest 32000] [--features 128] [--limit 60] [--plot scaling.png]

Each call runs in a separate process, after a small call that triggers late imports. From one size to the next, the time
may grow by three times the square of the ratio of the sizes (the number of pairs of rows). Larger increases are marked.
If a verb takes longer than `--limit` seconds, larger sizes are skipped.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from shesha.report import markdown_table

SIZES = (500, 1000, 1414, 2000, 3000, 4000, 8000, 12_000, 16_000, 32_000)
_ALLOWED = 3.0
"""Largest expected increase in time, as a multiple of the squared ratio of the numbers of rows."""
_LEAST = 0.2
"""Seconds below which increases are ignored, because they may result from threads and imports."""
CALLS = {
    "audit": "shesha.audit(X)",
    "audit, quick": "shesha.audit(X, n_bootstrap=39, n_permutations=39, pairs=100_000)",
    "audit, labels": "shesha.audit(X, y)",
    "doubts": "shesha.doubts(X)",
    "compare": "shesha.compare(X, Y, ['unbiased CKA', 'RSA', 'mutual kNN'])",
    "calibrate CKA": "shesha.calibrate(X, Y, 'CKA')",
    "calibrate RSA": "shesha.calibrate(X, Y, 'RSA')",
    "calibrate mutual kNN": "shesha.calibrate(X, Y, 'mutual kNN')",
    "diff": "shesha.diff({'layer': X}, {'layer': Y})",
    "rank_models": "shesha.rank_models(Y, {'near': X, 'noise': X - Y})",
    "consensus": "shesha.consensus({'first': X, 'second': Y, 'third': X - Y})",
    "compare_all": "shesha.compare_all({'first': X, 'second': Y, 'third': X - Y})",
}
_TIMED = """
import json, resource, sys, time, warnings
import numpy as np
import shesha

warnings.simplefilter("ignore")

def make(n, d):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 8)) @ rng.standard_normal((8, d)) + rng.standard_normal((n, d))
    return X, X + rng.standard_normal((n, d)), rng.integers(0, 5, n)

def call(X, Y, y):
    {call}

call(*make(100, 8))
data = make(int(sys.argv[1]), int(sys.argv[2]))
start = time.perf_counter()
try:
    call(*data)
except ValueError:
    print(json.dumps(["refused", 0.0]))
else:
    print(json.dumps([time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20]))
"""


def timed(call: str, n: int, d: int) -> tuple[float | str, float]:
    """Seconds (or "refused") and peak GiB of one call."""
    command = [sys.executable, "-c", _TIMED.replace("{call}", call), str(n), str(d)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, peak = json.loads(done.stdout.splitlines()[-1])
    return seconds, peak


def measured(call: str, sizes: list[int], d: int, limit: float) -> dict[int, tuple[float | str, float]]:
    """Time a verb for growing numbers of rows, until it takes too long."""
    found: dict[int, tuple[float | str, float]] = {}
    for n in sizes:
        found[n] = timed(call, n, d)
        if isinstance(found[n][0], str) or float(found[n][0]) > limit:
            break
    return found


def unexplained(found: dict[int, tuple[float | str, float]]) -> set[int]:
    """Sizes whose time increases by far more than the number of pairs of rows."""
    steps = set()
    known = [(n, seconds) for n, (seconds, _) in found.items() if not isinstance(seconds, str)]
    for (fewer, before), (more, after) in pairwise(known):
        if after > _LEAST and after > _ALLOWED * (more / fewer) ** 2 * max(before, _LEAST / 4):
            steps.add(more)
    return steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=32_000)
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--only", choices=list(CALLS), action="append")
    parser.add_argument("--plot", type=Path)
    asked = parser.parse_args()
    sizes = [n for n in SIZES if n <= asked.largest]
    table, lines = [], {}
    for name in asked.only or CALLS:
        found = lines[name] = measured(CALLS[name], sizes, asked.features, asked.limit)
        steps = unexplained(found)
        table.append([name, *(cell(found.get(n), n in steps) for n in sizes)])
        print(table[-1], flush=True)
    print(markdown_table(["s (peak GiB)", *(f"{n:,}" for n in sizes)], table))
    if asked.plot is not None:
        draw(lines, asked.plot)


def cell(found: tuple[float | str, float] | None, marked: bool) -> str:
    """Format seconds and peak memory; unexpected increases are bold."""
    if found is None or isinstance(found[0], str):
        return "-" if found is None else "refused"
    text = f"{found[0]:.2f} ({found[1]:.1f})"
    return f"**{text}**" if marked else text


def draw(lines: dict[str, dict[int, tuple[float | str, float]]], path: Path) -> None:
    """Draw seconds against rows, both on logarithmic axes."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    for name, found in lines.items():
        known = [(n, seconds) for n, (seconds, _) in found.items() if not isinstance(seconds, str)]
        ax.plot(*zip(*known, strict=True), marker="o", markersize=3, label=name)
    ax.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds")
    ax.legend(frameon=False, fontsize="small")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
