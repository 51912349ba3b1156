"""Measure false alarm rates of stream monitors if only the mix of rows changes, and detection delays for other changes.

    python scripts/make_expected_shift_table.py [--streams 2000]

The script replaces the last section of docs/monitoring_rates.md.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from shesha.drift import DriftMonitor, conformal_stream
from shesha.report import markdown_table
from shesha.support.files import write_text

PAGE = Path(__file__).parents[1] / "docs" / "monitoring_rates.md"
HEADING = "## New inputs of a changing mix"
ALPHA, N_FEATURES, WIDER = 0.05, 8, 1.5
SIZES = {"update": (200, 300), "conformal_stream": (200, 300), "groups": (200, 300)}
MIXES = {
    "stays": lambda n: np.full(n, 0.1),
    "drifts from 10 to 90 %": lambda n: np.linspace(0.1, 0.9, n),
    "moves once to 60 %": lambda n: np.full(n, 0.6),
}
CHANGES = {
    "nothing": lambda n: np.ones(n),
    "spread grows slowly by 20 %": lambda n: np.linspace(1, 1.2, n),
    "spread grows slowly by 40 %": lambda n: np.linspace(1, 1.4, n),
    "spread 15 % wider from the first row": lambda n: np.full(n, 1.15),
    "spread 30 % wider in the middle third": lambda n: np.where(abs(np.arange(n) - n / 2) < n / 6, 1.3, 1.0),
}
NULLS = [
    *(("stays", how) for how in SIZES),
    *(("drifts from 10 to 90 %", how) for how in ("update", "conformal_stream", "groups")),
    *(("moves once to 60 %", how) for how in SIZES),
]
FOUND = [
    *(("stays", change, how) for change in list(CHANGES)[1:] for how in ("update", "conformal_stream")),
    *(("drifts from 10 to 90 %", change, "groups") for change in list(CHANGES)[1:]),
]
_SHARE = "share of the kind with the wider spread"


def first_alarm(mix: str, change: str, how: str, seed: int) -> int:
    """Return the number of the row that raises the alarm; 0 without an alarm."""
    rng, (n_reference, n_new) = np.random.default_rng([17, seed]), SIZES[how]
    chances = np.r_[np.full(n_reference, 0.1), MIXES[mix](n_new)]
    kinds = (rng.random(len(chances)) < chances).astype(int)
    spread = np.where(kinds == 1, WIDER, 1.0) * np.r_[np.ones(n_reference), CHANGES[change](n_new)]
    rows = rng.standard_normal((len(kinds), N_FEATURES)) * spread[:, None]
    held, new = rows[:n_reference], rows[n_reference:]
    if how == "update":
        return DriftMonitor(held, false_alarm=ALPHA, seed=seed).update(new).alarm_since
    options = {"groups": kinds} if how == "groups" else {}
    return conformal_stream(held, new, alpha=ALPHA, seed=seed, **options).alarm_since


def alarms(pool: ProcessPoolExecutor, mix: str, change: str, how: str, n: int) -> np.ndarray:
    return np.array(list(pool.map(partial(first_alarm, mix, change, how), range(n), chunksize=50)))


def rate(found: np.ndarray) -> str:
    limits = binomtest(int((found > 0).sum()), len(found)).proportion_ci(0.95, "exact")
    return f"{(found > 0).mean():.3f} ({limits.low:.3f}, {limits.high:.3f})"


def section(n_streams: int) -> str:
    with ProcessPoolExecutor(2) as pool:
        nulls = [[mix, LABELS[how], rate(alarms(pool, mix, "nothing", how, n_streams))] for mix, how in NULLS]
        later = []
        for mix, change, how in FOUND:
            found = alarms(pool, mix, change, how, n_streams // 5)
            row = f"{np.median(found[found > 0]):.0f}" if (found > 0).any() else ""
            later.append([mix, change, LABELS[how], rate(found), row])
    head = [_SHARE, "change of all rows", "alarm", "share with an alarm", "median row of the alarm"]
    return TEXT.format(
        n=f"{n_streams:,}",
        fewer=f"{n_streams // 5:,}",
        nulls=markdown_table([_SHARE, "alarm", f"any alarm at {ALPHA:g}"], nulls, numbers=1),
        later=markdown_table(head, later, numbers=2),
    )


LABELS = {
    "update": "`DriftMonitor.update`",
    "conformal_stream": "`conformal_stream`",
    "groups": "`conformal_stream`, `groups=`",
}
TEXT = (
    HEADING
    + """

`python scripts/make_expected_shift_table.py` makes the tables of this section. The data are simulated rows with 8
features, of two kinds. The spread of one kind is 1.5 times that of the other. The reference has 200 rows, of which 10 %
are of the wider kind, and there are 300 new rows. In the first
table, only the shares of the two kinds change ({n} streams per line):

{nulls}

`update` treats a changing mix as a change, which is correct if you expect the mix to stay the same. With `groups=`,
the rate is below 0.05. In the second table, the spread of all rows changes as well ({fewer} streams per line):

{later}

The composite jumper of `conformal_stream` detects slow changes about as often as the simple jumper of `update`. The
advantage of `conformal_stream` is not speed: it allows a changing mix.
"""
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=2000)
    before = PAGE.read_text(encoding="utf-8").split(HEADING)[0].rstrip()
    write_text(PAGE, f"{before}\n\n{section(parser.parse_args().streams)}")


if __name__ == "__main__":
    main()
