"""How many permutations are enough?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha.studies.facts import Fact, Facts, as_facts, group_means, largest, over_draws, resampled, share
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import curves, figure, logarithmic
from shesha.studies.study_decorator import grid_of, study

MEASURES = ("CKA", "RSA", "mutual kNN")
BUDGETS = (19, 49, 99, 199, 499, 999)
ONE, NEW = "one pair", "a pair per seed"
_STABLE, _STABLE_SCORE = 0.25, 0.02
"""Errors that count as stable: in standard deviations of the null, and on the scale of the scores."""


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
    result = calibrate(X, Y, measure, n_permutations=budget, seed=seed)
    return {"threshold": result.threshold, "score": result.score, "null_sd": result.null_sd}


@permutation_budget.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Draw the error of the threshold over seeds, and calibrated scores of unrelated pairs."""
    one_pair, new = (rows[rows.pairs == kind] for kind in (ONE, NEW))
    table = _spreads(one_pair)
    fig, axes = figure(2)
    scores = _remaining_scores(new)
    for ax, lines, column, label in (
        (axes[0], table, "threshold_error", "error of the threshold / spread of the null"),
        (axes[1], scores, "largest", "largest calibrated score of unrelated pairs"),
    ):
        names = {name: name for name in lines.measure.unique()}
        curves(ax, lines.pivot(index="budget", columns="measure", values=column), names)
        ax.set(xlabel="permutations", ylabel=label, ylim=(0, None))
    axes[0].legend(frameon=False, fontsize="small")
    for ax in axes:
        logarithmic(ax, rows.budget)
    picture = Picture(
        "permutation_budget",
        fig,
        "Error of the threshold, and largest calibrated score of unrelated pairs, against the number of permutations",
    )
    tables = (("Threshold of one pair over seeds", table), ("Calibrated scores of unrelated pairs", scores))
    return Page("", tables, (picture,))


def _spreads(rows: pd.DataFrame) -> pd.DataFrame:
    grouped = rows.groupby(["measure", "budget"], sort=False)[["threshold", "null_sd"]].agg(["mean", "std"])
    grouped.columns = ["_".join(column) for column in grouped.columns]
    table = grouped.reset_index().drop(columns=["null_sd_std"])
    table["threshold_error"] = table.threshold_std / table.null_sd_mean
    return table


def _largest_shift(rows: pd.DataFrame, few: int, many: int) -> Fact:
    """Largest difference of mean thresholds of any measure, in standard deviations of its null distribution."""
    grouped = rows.groupby(["budget", "measure"])
    mean, error, unit = grouped.threshold.mean(), grouped.threshold.sem(), grouped.null_sd.mean().loc[many]
    shift = (mean.loc[few] - mean.loc[many]) / unit
    largest = shift.abs().idxmax()
    half = 1.96 * float((np.hypot(error.loc[few], error.loc[many]) / unit)[largest])
    return Fact(float(shift[largest]), float(shift[largest]) - half, float(shift[largest]) + half)


def _remaining_scores(new: pd.DataFrame) -> pd.DataFrame:
    """Calibrated scores of unrelated pairs."""
    grouped = new.assign(above=new.score > 0).groupby(["measure", "budget"], sort=False)
    return grouped.agg(mean=("score", "mean"), largest=("score", "max"), above=("above", "mean")).reset_index()


@permutation_budget.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Error of the threshold by the number of permutations, in standard deviations of the null."""
    one_pair, scores = rows[rows.pairs == ONE], _remaining_scores(rows[rows.pairs == NEW])
    error, new = _spreads(one_pair).groupby("budget").threshold_error.mean(), rows[rows.pairs == NEW]
    few, many = scores[scores.budget < 50], scores[scores.budget >= 99]
    values = {
        "mean_shift": _largest_shift(one_pair, 49, 999),
        **{"at_50": _over_seeds(one_pair, 49), "at_200": _over_seeds(one_pair, 199)},
        **_by_both_bars(one_pair),
        "errors in words": ", ".join(f"{value:.2f} at {budget}" for budget, value in error.items()),
    }
    if few.empty or many.empty:
        return as_facts(values)
    return as_facts(
        {
            **values,
            "above in words": ", ".join(
                f"{share(df.score > 0):.0%} ({budget})" for budget, df in new.groupby("budget")
            ),
            "seeds": new.seed.nunique(),
            **{"largest_few": few.largest.max(), "largest_many": many.largest.max()},
            "spikes": _spikes(new),
            "left": largest(group_means(new[new.budget >= 99], ["measure", "budget"], "score")),
            "converges": over_draws(_seed_means(new[new.budget < 50]) - _seed_means(new[new.budget >= 99])),
        }
    )


def _seed_means(rows: pd.DataFrame) -> pd.Series[float]:
    return rows.groupby("seed").score.mean()


def _over_seeds(rows: pd.DataFrame, budget: int) -> Fact:
    """Error of the threshold with its interval; seeds are resampled."""
    wide = rows.pivot_table(index="seed", columns=["budget", "measure"], values="threshold")
    units = rows.groupby(["budget", "measure"]).null_sd.mean()

    def error(rows: Any) -> float:
        return float((wide[budget].iloc[rows].std() / units[budget]).mean())

    return resampled(error, len(wide))


def _by_both_bars(one_pair: pd.DataFrame) -> dict[str, Fact]:
    """Error of one threshold at 49 permutations, divided by two bars; the paper does not say what is stable."""
    error = _over_seeds(one_pair, 49)
    of_score = _over_seeds(one_pair.assign(null_sd=1.0), 49)
    low, high = sorted((error.value / _STABLE, of_score.value / _STABLE_SCORE))
    return {"error_of_score": of_score, "unstable": Fact(error.value / _STABLE, low, high)}


def _spikes(new: pd.DataFrame) -> Fact:
    """Largest score with fewer than 50 permutations divided by that with 99 or more; seeds are resampled."""
    wide = new.pivot_table(index="seed", columns=["budget", "measure"], values="score")
    budgets = wide.columns.get_level_values("budget")
    few, many = (wide.loc[:, some].max(axis=1).to_numpy() for some in (budgets < 50, budgets >= 99))

    def ratio(rows: Any) -> float:
        return float(few[rows].max() / many[rows].max()) if many[rows].any() else float("nan")

    return resampled(ratio, len(wide))
