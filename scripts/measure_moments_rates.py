"""How often intervals of moments hold the population's value, and how often unrelated data get p <= 0.05.

    python scripts/measure_moments_rates.py [--runs 400]

Prints the two tables of docs/any_size.md. The population's value is that of two million rows.
"""

from __future__ import annotations

import argparse

import numpy as np

import shesha
from shesha.report import markdown_table
from shesha.support.types import Matrix

MEASURES = ("CKA", "unbiased CKA", "CCA", "OrthProc", "LinReg")
SIZES = (500, 2_000, 10_000)


def draw(rng: np.random.Generator, n: int, kind: str, strength: float) -> tuple[Matrix, Matrix]:
    """Two representations of 8 and 6 features that share 3 latent variables, scaled by the strength."""
    mix = np.random.default_rng(7)
    first, second = mix.standard_normal((3, 8)), mix.standard_normal((3, 6))
    latent = rng.standard_normal((n, 3))
    noise = (
        (rng.standard_normal((n, 8)), rng.standard_normal((n, 6)))
        if kind == "normal"
        else (rng.standard_t(5, (n, 8)), rng.standard_t(5, (n, 6)))
    )
    return strength * latent @ first + noise[0], strength * latent @ second + noise[1]


def rates(runs: int, n: int, kind: str, strength: float) -> tuple[dict[str, float], dict[str, float]]:
    """Share of intervals that hold the population's value, and share of p-values of at most 0.05."""
    rng = np.random.default_rng([n, len(kind), int(100 * strength)])
    truth = shesha.compare(shesha.Moments.of(*draw(np.random.default_rng(1), 2_000_000, kind, strength)), MEASURES)
    held, small = dict.fromkeys(MEASURES, 0), dict.fromkeys(MEASURES, 0)
    for seed in range(runs):
        moments = shesha.Moments.of(*draw(rng, n, kind, strength))
        found = shesha.compare(moments, MEASURES, calibrate=True, n_permutations=199, seed=seed)
        for name in MEASURES:
            held[name] += found[name].interval_low <= truth[name].value <= found[name].interval_high
            small[name] += found[name].p_value <= 0.05
    return {name: count / runs for name, count in held.items()}, {name: count / runs for name, count in small.items()}


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    runs = parser.parse_args().runs
    coverage, false_positives = [], []
    for kind, n in ((kind, n) for kind in ("normal", "Student t, 5 degrees") for n in SIZES):
        held, _ = rates(runs, n, kind, 0.5)
        _, small = rates(runs, n, kind, 0.0)
        coverage.append([kind, f"{n:,}", *(f"{held[name]:.1%}" for name in MEASURES)])
        false_positives.append([kind, f"{n:,}", *(f"{small[name]:.1%}" for name in MEASURES)])
    for table in (coverage, false_positives):
        print(markdown_table(["noise", "rows", *MEASURES], table), end="\n\n")


if __name__ == "__main__":
    main()
