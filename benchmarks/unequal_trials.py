"""Measure false positives and power of the split of trials if conditions have unequal numbers of trials.

    python benchmarks/unequal_trials.py [RUNS]

Each run has 200 trials of 8 conditions with random frequencies (Dirichlet distribution), and Poisson counts of 20
neurons.
"""

from __future__ import annotations

import sys

import numpy as np

from shesha.neuro import trial_split


def significant(seed: int, spread: float) -> dict[str, bool]:
    """Return whether a recording is above chance with equal numbers of trials, and with all; spread is of log rates."""
    rng = np.random.default_rng([seed, 5])
    shown = rng.choice(8, size=200, p=rng.dirichlet(np.ones(8)))
    X = rng.poisson(2 * np.exp(spread * rng.standard_normal((8, 20)))[shown])
    options = {"n_splits": 10, "n_permutations": 99, "seed": seed}
    return {use: trial_split(X, shown, trials_per_half=use, **options).significant for use in ("equal", "all")}


def main(n_runs: int) -> None:
    """Print the share of runs above chance at 5 %."""
    for spread in (0.0, 0.2, 0.4):
        found = [significant(seed, spread) for seed in range(n_runs)]
        rates = {use: np.mean([one[use] for one in found]) for use in found[0]}
        print(spread, {use: f"{rate:.3f}" for use, rate in rates.items()})


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
