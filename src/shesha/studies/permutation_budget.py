"""How many permutations are enough?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shesha.calibration import calibrate
from shesha.studies._page import Page, Picture
from shesha.studies._pictures import figure, lines, logarithmic
from shesha.studies._study import study

if TYPE_CHECKING:
    import pandas as pd

BUDGETS = (19, 49, 99, 199, 499, 999)


@study(
    "permutation-budget",
    paper="Null calibration, permutation budget analysis",
    version=1,
    full={"measure": ["CKA", "RSA", "mutual kNN"], "budget": BUDGETS, "seed": range(50)},
    quick={"measure": ["CKA", "mutual kNN"], "budget": BUDGETS[:5], "seed": range(15)},
)
def permutation_budget(measure: str, budget: int, seed: int) -> dict[str, float]:
    """From how many permutations on do threshold and calibrated score stop moving?

    One pair of unrelated representations, 128 x 128 of Gaussian noise; only the permutations differ between seeds.
    """
    X, Y = np.random.default_rng(0).standard_normal((2, 128, 128))
    found = calibrate(X, Y, measure, n_permutations=budget, seed=seed)
    return {"threshold": found.threshold, "score": found.score, "null_sd": found.null_sd}


@permutation_budget.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Draw the threshold's spread over seeds, in units of the null's spread."""
    columns = ["threshold", "score", "null_sd"]
    grouped = rows.groupby(["measure", "budget"], sort=False)[columns].agg(["mean", "std"])
    grouped.columns = ["_".join(one) for one in grouped.columns]
    table = grouped.reset_index().drop(columns=["null_sd_std"])
    table["threshold_error"] = table.threshold_std / table.null_sd_mean
    made, axes = figure(2)
    for name, own in table.groupby("measure", sort=False):
        axes[0].plot(own.budget, own.threshold_error, "o-", markersize=3.5, label=name)
    axes[0].set(xlabel="permutations", ylabel="error of the threshold / spread of the null")
    logarithmic(axes[0], rows.budget)
    axes[0].legend(frameon=False, fontsize="small")
    lines(axes[1], rows, "budget", "score", "measure")
    axes[1].set(xlabel="permutations", ylabel="calibrated score of unrelated data")
    logarithmic(axes[1], rows.budget)
    error = table.groupby("budget").threshold_error.mean()
    answer = (
        "The threshold's error falls as one over the root of the number, without a knee: "
        + ", ".join(f"{value:.2f} at {budget}" for budget, value in error.items())
        + " standard deviations of the null. The published advice, 200 or more, leaves about that of 199."
    )
    note = (
        "The published curves look level from 50 permutations on because they are drawn over the range of the score; "
        "in units of the null's own spread they are not. A p-value near the level needs more."
    )
    picture = Picture("permutation_budget", made, "Error of the threshold, and calibrated scores, by permutations")
    return Page(answer, (("Threshold and score over seeds", table),), (picture,), (note,))
