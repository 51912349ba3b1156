"""Measure how often groups without an effect look coherent, and how often intervals contain the mean score.

    python scripts/make_coherence_table.py [--runs 400] [--out docs/coherence_rates.md]

Each line of the table is a kind of noise, a group size (with 200 controls), and a method for chance levels and shifts.
For a true rate of 5 %, the binomial limits are 3.1 to 7.4 % for 400 runs and 2.4 to 9 % for 200 runs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from shesha.coherence import coherence_by_group
from shesha.support.files import write_text
from shesha.support.progress import track

N_CONTROLS, N_FEATURES, DRAWS = 200, 10, 99
SIZES = (15, 40, 100, 180)
NOISE = {
    "Gaussian": lambda rng, n: rng.normal(size=(n, N_FEATURES)),
    "Student's t, 3 degrees": lambda rng, n: rng.standard_t(3, size=(n, N_FEATURES)),
    "exponential": lambda rng, n: rng.exponential(size=(n, N_FEATURES)),
    "rows and features of unequal scale": lambda rng, n: (
        rng.normal(size=(n, N_FEATURES)) * np.exp(rng.normal(size=(n, 1))) * np.linspace(0.2, 3, N_FEATURES)
    ),
}
HEAD = """# How far to trust coherence

Coherence measures how much the rows of a group shift in a common direction. This page reports the false positive rate
of its test and the coverage of its intervals. Use it to judge the p-value or the interval of a group.

The columns *unbiased* and *magnitude* give the percentage of {runs} groups without an effect that have p <= 0.05
({controls} controls, {features} features, {draws} draws). *Mean* is the mean of the published coherence of these
groups, and *chance level* is its mean over null groups. *Interval* gives the percentage of 95 % intervals that contain
the mean unbiased coherence. The intervals are from {runs} groups with an effect (a step of 1 in one feature). `python
scripts/make_coherence_table.py --runs {runs}` makes the table.
"""
READ = """\
- False positive rates are about 5 % or lower. (At a true rate of 5 %, values from 2.4 to 9 % are expected in 200 runs.)
- By default, each group is compared with null groups, which are sets of controls that are scored like the group. Groups
  with more rows than 15 % of the controls are compared with shuffled labels instead, because null groups would leave
  too few controls. In simulations with several kinds of controls, null groups of 450 and 486 controls led to a false
  positive in 62 of 600 runs (10 %), and shuffled labels in 36 of 600 runs (6 %).
- If the controls are matched by nearest neighbours, null groups are used for large groups as well. The tests of large
  groups are then conservative.
- Without matching by nearest neighbours, 95 % intervals contain the mean score in 91 to 100 % of runs. With matching,
  rows share controls, and the coverage can be as low as 60 % for groups with many rows. Use the p-value in this
  case."""
WAYS = {
    "controls": {},
    "shuffled labels": {"null": "pooled"},
    "controls, whitened": {"method": "whitened"},
    "nearest 20 controls": {"method": "knn", "k": 20},
}


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--runs", type=int, default=400)
    given.add_argument("--out", type=Path, default=Path("docs/coherence_rates.md"))
    given = given.parse_args()
    cases = [(way, noise, n) for way in WAYS for noise in NOISE for n in SIZES]
    lines = [line(*case, given.runs) for case in track(cases, len(cases), "cases")]
    head = HEAD.format(runs=given.runs, controls=N_CONTROLS, features=N_FEATURES, draws=DRAWS)
    table = [
        "| null | noise | rows of the group | unbiased | magnitude | mean | chance level | interval |",
        "| --- " * 8 + "|",
    ]
    write_text(given.out, "\n".join([head, *table, *lines, "", READ]) + "\n")


def line(way: str, noise: str, n: int, runs: int) -> str:
    still = [one(way, noise, n, seed, 0.0) for seed in range(runs)]
    moved = [one(way, noise, n, seed, 1.0, n_draws=0) for seed in range(runs)]
    rates = [np.mean([getattr(found, name) <= 0.05 for found in still]) for name in ("p_value", "magnitude_p")]
    means = [np.mean([getattr(found, name) for found in still]) for name in ("coherence", "coherence_chance")]
    centre = np.mean([found.value for found in moved])
    held = np.mean([found.low <= centre <= found.high for found in moved])
    cells = [*(f"{100 * rate:.1f}" for rate in rates), *(f"{mean:.3f}" for mean in means), f"{100 * held:.0f}"]
    return f"| {way} | {noise} | {n} | " + " | ".join(cells) + " |"


def one(way, noise, n, seed, step, n_draws=DRAWS):
    X = NOISE[noise](np.random.default_rng([seed, n]), N_CONTROLS + n)
    X[N_CONTROLS:, 0] += step
    labels = np.repeat(["control", "group"], [N_CONTROLS, n])
    return coherence_by_group(X, labels, "control", n_draws=n_draws, seed=seed, **WAYS[way]).groups[0]


if __name__ == "__main__":
    main()
