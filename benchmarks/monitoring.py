"""Time checks and updates of a drift monitor: minima of user CPU time and of wall time over several runs.

python benchmarks/monitoring.py [--rows 1000] [--features 768] [--nulls 200]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from shesha.drift import DriftMonitor


def least(call: Callable[[], object], n: int = 7) -> tuple[float, float]:
    found = []
    for _ in range(n):
        begun, start = resource.getrusage(resource.RUSAGE_SELF).ru_utime, time.perf_counter()
        call()
        found.append((resource.getrusage(resource.RUSAGE_SELF).ru_utime - begun, time.perf_counter() - start))
    return min(cpu for cpu, _ in found), min(wall for _, wall in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("rows", 1000), ("features", 768), ("nulls", 200), ("earlier", 10_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((asked.rows, asked.features))
    again = (X + 1e-3 * rng.standard_normal(X.shape) for _ in range(asked.nulls))
    start = time.process_time()
    monitor = DriftMonitor(X, nulls=again)
    print(f"init, {asked.nulls} re-encodings: {time.process_time() - start:.1f} s of CPU")
    folder = Path(tempfile.mkdtemp())
    monitor.save(folder / "check")
    loaded = DriftMonitor.load(folder / "check")
    current = X + 1e-3 * rng.standard_normal(X.shape)
    cpu, wall = least(lambda: loaded.check(current))
    print(f"check of {asked.rows:,} x {asked.features}: {cpu:.3f} s user, {wall:.3f} s wall (below 0.5)")
    DriftMonitor(rng.standard_normal((asked.earlier, asked.features))).save(folder / "update", keep_rows=True)
    stream = DriftMonitor.load(folder / "update")
    batch = rng.standard_normal((100, asked.features))
    stream.update(batch)
    cpu, wall = least(lambda: stream.update(batch), 20)
    print(
        f"update of 100 rows against {asked.earlier:,}: {1000 * cpu:.1f} ms user, {1000 * wall:.1f} ms wall (below 50)"
    )


if __name__ == "__main__":
    main()
