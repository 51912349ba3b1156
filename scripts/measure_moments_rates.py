"""Measure the coverage of intervals from moments, and the rate of p <= 0.05 for unrelated data.

    python scripts/measure_moments_rates.py [--runs 400]

The script prints the tables of docs/any_size.md. The mean value is over all runs of one condition. Measures such as CCA
are biased for finite rows, and an interval describes variation over samples, not bias. A second table therefore uses
the value for two million rows. It contains the coverage of the intervals, the coverage of intervals around the
bias-corrected jackknife value, and how often the result notes a bias.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

import shesha
from shesha.comparison import moment_scores
from shesha.measures import choose
from shesha.moments import merge_all
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


def draw_samples(runs: int, n: int, kind: str, strength: float) -> Iterator[shesha.Moments]:
    """Draw many samples of one condition."""
    rng = np.random.default_rng([n, len(kind), int(100 * strength)])
    return (shesha.Moments.of(*draw(rng, n, kind, strength)) for _ in range(runs))


def compare_samples(runs: int, n: int, kind: str, strength: float, n_draws: int) -> list[shesha.results.Comparison]:
    """Compare many samples of one condition."""
    samples = draw_samples(runs, n, kind, strength)
    return [
        shesha.compare(moments, MEASURES, calibrate=True, n_permutations=n_draws, seed=seed)
        for seed, moments in enumerate(samples)
    ]


def coverage_row(found: list[shesha.results.Comparison]) -> list[str]:
    """Share of the intervals that contain the mean value, by measure."""
    cells = []
    for name in MEASURES:
        mean = float(np.mean([one[name].value for one in found]))
        cells.append(np.mean([one[name].low <= mean <= one[name].high for one in found]))
    return [f"{cell:.1%}" for cell in cells]


def limit_values(kind: str) -> dict[str, float]:
    """Values for two million rows."""
    rng, moments = np.random.default_rng(99), shesha.Moments()
    for _ in range(20):
        moments.update(*draw(rng, 100_000, kind, 0.5))
    return {score.name: score.value for score in shesha.compare(moments, MEASURES)}


def limit_row(
    found: list[shesha.results.Comparison], corrected: list[dict[str, float]], limits: dict[str, float]
) -> list[str]:
    """Share of the intervals, raw and corrected, that contain the value for many rows, and share with a note."""
    cells = []
    for name in MEASURES:
        scores = [one[name] for one in found]
        moves = [one[name] - score.value for one, score in zip(corrected, scores, strict=True)]
        ends = [(score.low, score.high) for score in scores]
        plain = np.mean([low <= limits[name] <= high for low, high in ends])
        moved = np.mean([a <= limits[name] - move <= b for (a, b), move in zip(ends, moves, strict=True)])
        noted = np.mean(["bias" in score.notes for score in scores])
        cells.append(f"{plain:.0%}, {moved:.0%}, {noted:.0%}")
    return cells


def jackknife_means(moments: shesha.Moments) -> dict[str, float]:
    """Values less the bias that the jackknife estimates, by measure."""
    parts, measures = moments.parts(), choose(MEASURES)
    views_of = moment_scores.views_of_moments(moments)
    sizes = np.array([part.n_rows for part in parts])
    without = moment_scores.values_without_parts(views_of, parts, measures)
    values = moment_scores.values_or_nan(measures, views_of(merge_all(parts)))
    return {
        measure.name: moment_scores.jackknife_mean(value, row, sizes)
        for measure, value, row in zip(measures, values, without, strict=True)
    }


def level_row(found: list[shesha.results.Comparison]) -> list[str]:
    """Share of p-values of at most 0.05, by measure."""
    return [f"{np.mean([one[name].p_value <= 0.05 for one in found]):.1%}" for name in MEASURES]


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    runs = parser.parse_args().runs
    coverage, of_limits, false_positives = [], [], []
    limits = {kind: limit_values(kind) for kind in ("normal", "Student t, 5 degrees")}
    for kind, n in ((kind, n) for kind in ("normal", "Student t, 5 degrees") for n in SIZES):
        found = compare_samples(runs, n, kind, 0.5, 1)
        corrected = [jackknife_means(moments) for moments in draw_samples(runs, n, kind, 0.5)]
        coverage.append([kind, f"{n:,}", *coverage_row(found)])
        of_limits.append([kind, f"{n:,}", *limit_row(found, corrected, limits[kind])])
        false_positives.append([kind, f"{n:,}", *level_row(compare_samples(runs, n, kind, 0.0, 199))])
    for table in (coverage, of_limits, false_positives):
        print(markdown_table(["noise", "rows", *MEASURES], table), end="\n\n")


if __name__ == "__main__":
    main()
