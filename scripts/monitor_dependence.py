"""Measure how often monitors of new inputs alarm, and warn, if rows depend on their neighbours.

Run `python scripts/monitor_dependence.py [RUNS]`; docs/monitoring.md has the table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shesha.drift import DriftMonitor

N_REFERENCE, N_NEW, BATCH, WIDTH, PARTS = 900, 400, 50, 16, 5
Rows = NDArray[np.float64]
Rng = np.random.Generator


def series(n: int, rng: Rng, memory: float) -> Rows:
    """Return an autoregressive series, with unit variance."""
    rows = rng.standard_normal((n, WIDTH))
    for row in range(1, n):
        rows[row] = memory * rows[row - 1] + np.sqrt(1 - memory**2) * rows[row]
    return rows


def chunks(n: int, rng: Rng) -> Rows:
    """Return documents of five chunks each."""
    documents = rng.standard_normal((n // PARTS, WIDTH))
    return np.repeat(documents, PARTS, axis=0) + 0.5 * rng.standard_normal((n, WIDTH))


def changed(n: int, rng: Rng) -> Rows:
    """Return independent rows that spread more from the middle of the stream on."""
    late = np.arange(n) >= N_REFERENCE + N_NEW // 2
    return rng.standard_normal((n, WIDTH)) * np.where(late, 1.5, 1.0)[:, None]


KINDS: dict[str, tuple[Callable[[int, Rng], Rows], int]] = {
    "independent rows": (lambda n, rng: rng.standard_normal((n, WIDTH)), 1),
    "independent rows, heavy tails": (lambda n, rng: rng.standard_t(3, (n, WIDTH)), 1),
    "independent rows that change": (changed, 1),
    "series, autocorrelation 0.5": (lambda n, rng: series(n, rng, 0.5), 1),
    "the same, one row in 5": (lambda n, rng: series(n * 5, rng, 0.5)[::5], 1),
    "series, autocorrelation 0.9": (lambda n, rng: series(n, rng, 0.9), 1),
    "the same, one row in 30": (lambda n, rng: series(n * 30, rng, 0.9)[::30], 1),
    "documents of 5 chunks": (chunks, 1),
    "the same, with groups=": (chunks, PARTS),
}


def rates(kind: str, runs: int) -> tuple[float, float, float]:
    """Return the shares of streams with evidence beyond the threshold, with an alert, and with a warning."""
    make, part = KINDS[kind]
    crossed = alerts = warned = 0
    for run in range(runs):
        rows = make(N_REFERENCE + N_NEW, np.random.default_rng(run))
        groups = np.arange(len(rows)) // part
        known = part > 1
        monitor = DriftMonitor(rows[:N_REFERENCE], groups=groups[:N_REFERENCE] if known else None)
        verdicts = [
            monitor.update(rows[start : start + BATCH], groups=groups[start : start + BATCH] if known else None)
            for start in range(N_REFERENCE, len(rows), BATCH)
        ]
        crossed += verdicts[-1].alarm_since > 0
        alerts += any(verdict.state == "alert" for verdict in verdicts)
        warned += bool(verdicts[-1].dependence)
    return crossed / runs, alerts / runs, warned / runs


def main() -> None:
    """Print the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print("| rows | evidence beyond the threshold | alert | warning at the last update |")
    print("| --- | ---: | ---: | ---: |")
    for kind in KINDS:
        print(f"| {kind} | " + " | ".join(f"{100 * rate:.1f} %" for rate in rates(kind, runs)) + " |")


if __name__ == "__main__":
    main()
