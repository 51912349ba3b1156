"""Measure the peak memory of every verb at four shapes, above imports and data, under one memory budget.

    python benchmarks/peaks.py [--budget 300M] [--verbs compare diff] [--shapes 20000x300] [--limit 600]

Each call runs in its own process. A small call comes first, so that late imports do not count; then Linux's record of
the highest resident memory starts anew. A call that is stopped after the time limit has the peak that it had by then.
Few resamples and permutations are drawn, because their number does not change the peak. The last column counts the
measures that were left out, or gives the error.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from shesha.report import markdown_table

VERBS = ("compare", "compare_layers", "calibrate", "diff", "audit", "consensus", "rank", "monitor")
SHAPES = ("2000x300", "20000x300", "3000x5000", "200x50000", "100000x64")
CALL = """
import re, sys, time, warnings
import numpy as np
import shesha
from shesha.drift import DriftMonitor

warnings.simplefilter("ignore")
verb, n, d = sys.argv[1], *map(int, sys.argv[2].split("x"))


def rows(n, d):
    rng = np.random.default_rng(0)
    first = rng.standard_normal((n, d))
    second = rng.standard_normal((n, d))
    second += first
    return first, second


CALLS = {
    "compare": lambda X, Y: shesha.compare(X, Y),
    "compare_layers": lambda X, Y: shesha.compare_layers({"1": X, "2": Y}, {"1": Y, "2": X}),
    "calibrate": lambda X, Y: shesha.calibrate(X, Y, n_permutations=19, seed=0),
    "diff": lambda X, Y: shesha.diff(X, Y),
    "audit": lambda X, Y: shesha.audit(X, n_bootstrap=2, n_permutations=19),
    "consensus": lambda X, Y: shesha.consensus({"1": X, "2": Y, "3": X[::-1]}),
    "rank": lambda X, Y: shesha.rank_models(Y, {"1": X, "2": X[:, ::2]}, n_resamples=20),
    "monitor": lambda X, Y: DriftMonitor(X, n_resamples=19, false_alarm=0.05).check(Y),
}


def kilobytes(field):
    return int(re.search(field + r":\\s+(\\d+)", open("/proc/self/status").read())[1])


small, large = rows(60, 20), rows(n, d)
CALLS[verb](*small)  # What is imported late is not the call's.
open("/proc/self/clear_refs", "w").write("5")  # The highest mark starts anew.
print(kilobytes("VmRSS"), flush=True)
try:
    found = CALLS[verb](*large)
    scores = getattr(found, "scores", ())
    left_out = [score for score in scores if "needs " in str(getattr(score, "reason", ""))]
    note = f"{len(left_out)} of {len(scores)} measures" if left_out else ""
except Exception as error:
    note = f"{type(error).__name__}: {error}"
print(kilobytes("VmHWM"), note, sep="|")
"""


def measure(verb: str, shape: str, budget: str, limit: float) -> list[str]:
    """Return the peak in MiB, the seconds, and what was left out of one call."""
    environment = {**os.environ, "SHESHA_MEMORY": budget}
    start, command = time.monotonic(), [sys.executable, "-c", CALL, verb, shape]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        before = peak = int(child.stdout.readline() or 0)
        while child.poll() is None and time.monotonic() < start + limit:
            time.sleep(0.1)
            if found := re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{child.pid}/status").read_text()):
                peak = int(found[1])
        seconds, note = time.monotonic() - start, "stopped"
        if child.poll() is None:
            child.kill()
        else:
            last, _, note = child.stdout.read().strip().partition("|")
            peak = int(last or peak)
    return [f"{(peak - before) // 1024:,}", f"{seconds:.0f}", note]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", default="300M")
    parser.add_argument("--verbs", nargs="+", default=VERBS, choices=VERBS)
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds until a call is stopped")
    asked = parser.parse_args()
    rows = []
    for verb in asked.verbs:
        for shape in asked.shapes:
            rows.append([verb, shape.replace("x", " x "), *measure(verb, shape, asked.budget, asked.limit)])
            print(rows[-1], flush=True)
    print(markdown_table(["verb", "rows x features", "peak, MiB", "s", "left out"], rows))


if __name__ == "__main__":
    main()
