"""Time complete audits, and compare them with an earlier version of the library.

    python benchmarks/audits.py [--before CHECKOUT] [--repeats 3] [--large]

Each run is a separate process, so that its peak memory can be measured. Both versions run in alternation. CHECKOUT is a
folder with the `src` of another version (`git worktree add`), including its compiled library if there is one. If
`SHESHA_DATA` names the folder of data sets, the layers of a sentence encoder are also audited.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from shesha.report import markdown_table

_HERE = Path(__file__).parents[1]
_TIMED = """
import json, resource, sys, time
import numpy as np
import shesha
name, labelled = sys.argv[1], sys.argv[2] == "labels"
rng = np.random.default_rng(0)
if name == "minilm":
    from pathlib import Path
    import os
    folder = Path(os.environ["SHESHA_DATA"]) / "minilm_sst2"
    found = dict(np.load(next(folder.glob("*.npz"))))
    stack = next(v for v in found.values() if v.ndim == 3)
    axis = int(np.argmin(stack.shape))
    data = {f"layer {k}": np.ascontiguousarray(np.take(stack, k, axis)) for k in range(stack.shape[axis])}
    y = next((v for v in found.values() if v.ndim == 1 and len(v) == 872 and len(set(v.tolist())) == 2), None)
    y = rng.integers(0, 2, 872) if y is None else y
else:
    n, d = map(int, name.split("x"))
    rank = min(20, d)
    y = rng.integers(0, 10, n)
    data = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + rng.standard_normal((n, d))
    data += rng.standard_normal((10, d))[y]
start, used = time.perf_counter(), time.process_time()
shesha.audit(data, y if labelled else None, seed=0)
seconds, cpu = time.perf_counter() - start, time.process_time() - used
print(json.dumps([seconds, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20]))
"""
CASES = (("900x96", "labels", 3), ("minilm", "labels", 12))
LARGE = (("20000x384", "none", 20), ("20000x384", "labels", 20))


def timed(checkout: Path, case: tuple[str, str, float]) -> tuple[float, float, float]:
    """Seconds, processor seconds and peak GiB of one audit by the version in a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, "-c", _TIMED, case[0], case[1]]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    seconds, cpu, peak = json.loads(done.stdout.splitlines()[-1])
    return seconds, cpu, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--large", action="store_true", help="20,000 rows as well; the earlier version once")
    asked = parser.parse_args()
    sides = {"now": _HERE, **({} if asked.before is None else {"before": asked.before.resolve()})}
    rows = []
    chosen = [case for case in CASES if case[0] != "minilm" or "SHESHA_DATA" in os.environ]
    for case in (*chosen, *(LARGE if asked.large else ())):
        runs: dict[str, list[tuple[float, float, float]]] = {side: [] for side in sides}
        for repeat in range(asked.repeats):
            for side, checkout in sides.items():
                if side == "now" or repeat == 0 or case in CASES:
                    runs[side].append(timed(checkout, case))
        middle = {
            side: [statistics.median(column) for column in zip(*found, strict=True)] for side, found in runs.items()
        }
        cells = [f"{one[0]:.2f} ({one[1]:.1f}, {one[2]:.2f})" for one in middle.values()]
        rows.append([f"{case[0]}, {case[1]}", *cells, f"<= {case[2]}"])
        print(rows[-1], flush=True)
    heads = ["audit", *(f"{side}, s (processor s, peak GiB)" for side in sides), "bar, s"]
    print(markdown_table(heads, rows))


if __name__ == "__main__":
    main()
