"""How many permutations are enough?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha_studies.framework.facts import Fact, group_means, largest, over_draws, resampled, share
from shesha_studies.framework.page import Page
from shesha_studies.framework.study_decorator import grid_of, study
from shesha_studies.measures_of_stored_rows import measure_of_stored_rows

MEASURES = ("CKA", "RSA", "mutual kNN")
BUDGETS = (19, 49, 99, 199, 499, 999)
ONE, NEW = "one pair", "a pair per seed"

_grid = grid_of("measure", "budget", "pairs", "seed")


@study(
    "permutation-budget",
    paper="Null calibration, permutation budget analysis",
    version=1,
    full=[*_grid(MEASURES, BUDGETS, [ONE], range(50)), *_grid(MEASURES, BUDGETS[:4], [NEW], range(50))],
    quick=[cell for kind in (ONE, NEW) for cell in _grid(MEASURES[::2], BUDGETS[:4], [kind], range(15))],
    published="permutation-budget.csv",
)
def permutation_budget(measure: str, budget: int, pairs: str, seed: int) -> dict[str, float]:
    """How many permutations are needed for a stable threshold and a stable calibrated score?

    The representations are unrelated Gaussian noise with 128 rows and 128 features. Seeds use the same pair with
    different permutations, or a new pair each.
    """
    X, Y = np.random.default_rng(0 if pairs == ONE else [1, seed]).standard_normal((2, 128, 128))
    result = calibrate(X, Y, measure_of_stored_rows(measure), n_permutations=budget, seed=seed)
    return {"threshold": result.threshold, "score": result.calibrated, "null_sd": result.chance_sd}


@permutation_budget.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Return a page without tables, because rules judge all lines."""
    return Page()


def _threshold_errors(rows: pd.DataFrame) -> pd.DataFrame:
    """Standard deviation of the threshold of one pair over seeds, in standard deviations of its null."""
    grouped = rows[rows.pairs == ONE].groupby(["measure", "budget"], sort=False)
    table = grouped.agg(
        threshold_mean=("threshold", "mean"), threshold_std=("threshold", "std"), null_sd_mean=("null_sd", "mean")
    )
    return table.assign(threshold_error=table.threshold_std / table.null_sd_mean).reset_index()


@permutation_budget.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> dict[str, Any]:
    """Error of the threshold by the number of permutations, in standard deviations of the null."""
    one, new = (rows[rows.pairs == kind] for kind in (ONE, NEW))
    few, many = new[new.budget < 50], new[new.budget >= 99]
    errors = _threshold_errors(rows).groupby("budget").threshold_error.mean()
    hits: dict[Any, Fact] = {budget: share(group.score > 0) for budget, group in new.groupby("budget")}
    at_50, of_score = _over_seeds(one, 49), _over_seeds(one.assign(null_sd=1.0), 49)
    # Errors that count as stable are 0.25 standard deviations of the null, and 0.02 on the scale of the scores.
    bars = (at_50.value / 0.25, of_score.value / 0.02)
    return {
        "mean_shift": _largest_shift(one, 49, 999),
        "at_50": at_50,
        "at_200": _over_seeds(one, 199),
        "error_of_score": of_score,
        # The paper does not say what is stable, so the limits span both bars.
        "unstable": Fact(bars[0], min(bars), max(bars)),
        "errors in words": ", ".join(f"{value:.2f} at {budget}" for budget, value in errors.items()),
        "above in words": ", ".join(f"{hit:.0%} ({budget})" for budget, hit in hits.items()),
        "seeds": new.seed.nunique(),
        "largest_few": few.score.max(),
        "largest_many": many.score.max(),
        "spikes": _spikes(few, many),
        "left": largest(group_means(many, ["measure", "budget"], "score")),
        "converges": over_draws(few.groupby("seed").score.mean() - many.groupby("seed").score.mean()),
    }


def _largest_shift(rows: pd.DataFrame, few: int, many: int) -> Fact:
    """Largest difference of mean thresholds of any measure, in standard deviations of its null distribution."""
    groups = rows.groupby(["budget", "measure"])
    tables = groups.threshold.mean(), groups.threshold.sem(), groups.null_sd.mean()
    mean, error, unit = (table.unstack().reindex([few, many]) for table in tables)
    shifts = (mean.loc[few] - mean.loc[many]) / unit.loc[many]
    halves = 1.96 * np.hypot(error.loc[few], error.loc[many]) / unit.loc[many]
    facts = (Fact(shift, shift - half, shift + half) for shift, half in zip(shifts, halves, strict=True))
    return max(facts, key=lambda fact: abs(fact.value))


def _over_seeds(rows: pd.DataFrame, budget: int) -> Fact:
    """Error of the threshold with its interval; seeds are resampled."""
    subset = rows[rows.budget == budget]
    wide, unit = (
        subset.pivot(index="seed", columns="measure", values="threshold"),
        subset.groupby("measure").null_sd.mean(),
    )
    return resampled(lambda seeds: float((wide.iloc[seeds].std() / unit).mean()), len(wide))


def _spikes(few: pd.DataFrame, many: pd.DataFrame) -> Fact:
    """Largest score with fewer than 50 permutations divided by that with 99 or more; seeds are resampled."""
    low, high = (table.groupby("seed").score.max().to_numpy() for table in (few, many))

    def ratio(seeds: Any) -> float:
        return float(low[seeds].max() / high[seeds].max()) if high[seeds].any() else float("nan")

    return resampled(ratio, len(low))
