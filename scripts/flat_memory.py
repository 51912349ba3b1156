"""Update a saved monitor ten thousand times, and check that its memory does not grow.

python scripts/flat_memory.py [--updates 10000] [--in-directory 10000]
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np

from shesha.drift import DriftMonitor


def resident() -> float:
    """Return the resident memory of this process in MB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=10_000)
    parser.add_argument("--in-directory", type=int, default=10_000)
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    folder = Path(tempfile.mkdtemp()) / "monitor"
    DriftMonitor(rng.standard_normal((200, 32))).save(folder, keep_rows=True)
    for name, monitor, n_updates in (
        ("in memory", DriftMonitor(rng.standard_normal((200, 32))), asked.updates),
        ("in a directory", DriftMonitor.load(folder), asked.in_directory),
    ):
        for number in range(n_updates + 1):
            monitor.update(rng.standard_normal((10, 32)))
            if number == n_updates // 5:
                gc.collect()
                tracemalloc.start()
                before, begun = resident(), tracemalloc.get_traced_memory()[0]
        gc.collect()
        grown = (tracemalloc.get_traced_memory()[0] - begun) / 1e6
        tracemalloc.stop()
        told = f"{before:.1f} MB after a fifth, {resident():.1f} MB after {n_updates:,}"
        print(f"{name}: {told}; Python's own {grown:+.2f} MB")


if __name__ == "__main__":
    main()
