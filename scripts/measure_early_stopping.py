"""Measure how often corrected tests that end early are decided otherwise than with all draws.

    python scripts/measure_early_stopping.py [--runs 200]

The numbers of extreme draws are simulated from the true p-values: uniform for tests without an effect, and those of
normal statistics with a mean of 1 to 6 for tests with an effect.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import norm

from shesha.calibration import benjamini_hochberg, holm
from shesha.nulls.null_summary import draw_stages, open_tests
from shesha.support.seeds import default_draws
from shesha.support.types import Mask, Vector

ALPHA = 0.05
CORRECTIONS = {"Benjamini and Hochberg": (benjamini_hochberg, 999), "Holm": (holm, 200)}


def decide(truth: Vector, correction: str, rng: np.random.Generator) -> tuple[Mask, Mask, Vector]:
    """Return which tests are rejected with early ends and with all draws, and the number of draws of each test."""
    correct, fewest = CORRECTIONS[correction]
    stages = draw_stages(fewest, default_draws(len(truth), ALPHA, fewest))
    totals = np.cumsum([rng.binomial(more, truth) for more in np.diff([0, *stages])], axis=0)
    drawn, extreme, active = np.zeros(len(truth)), np.zeros(len(truth)), np.ones(len(truth), dtype=bool)
    most = np.full(len(truth), stages[-1])
    for stage, total in zip(stages, totals, strict=True):
        drawn[active], extreme[active] = stage, total[active]
        active &= open_tests((1 + extreme) / (1 + drawn), drawn, most, correct, ALPHA, len(stages))
    early, full = ((1 + extreme) / (1 + drawn), (1 + totals[-1]) / (1 + stages[-1]))
    return correct(early) <= ALPHA, correct(full) <= ALPHA, drawn


def main() -> None:
    """Print one line for each number of tests, share of effects and correction."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    rng = np.random.default_rng(0)
    for correction in CORRECTIONS:
        for n_tests in (50, 200, 500):
            for share in (0.0, 0.02, 0.1, 0.4):
                differing, draws, power = 0, 0.0, np.zeros(2)
                for _ in range(runs):
                    effect = rng.random(n_tests) < share
                    truth = norm.sf(rng.standard_normal(n_tests) + effect * rng.uniform(1, 6, n_tests))
                    early, full, drawn = decide(truth, correction, rng)
                    differing += int((early != full).sum())
                    draws += float(drawn.mean()) / runs
                    power += np.array([(early & effect).sum(), (full & effect).sum()]) / max(1, effect.sum()) / runs
                print(
                    f"{correction}, {n_tests} tests, {100 * share:.0f} % effects: {draws:,.0f} draws per test, "
                    f"{differing} of {runs * n_tests:,} decisions differ, power {power[0]:.4f} and {power[1]:.4f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
