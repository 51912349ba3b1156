"""Does calibration find what a formula takes off?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.calibration import calibrate
from shesha.measures import sampled_cka, unbiased_cka
from shesha.studies.definition import study
from shesha.studies.facts import Fact, Facts
from shesha.studies.page import Page, Picture, yes_if
from shesha.studies.pictures import figure, lines, logarithmic
from shesha.studies.published import Answers, against, claim
from shesha_studies.data import shared

if TYPE_CHECKING:
    import pandas as pd

RATIOS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4)


def _grid(strengths: Sequence[float], n: int, seeds: int) -> list[dict[str, Any]]:
    names = ("strength", "n", "ratio", "seed")
    return [dict(zip(names, one, strict=True)) for one in product(strengths, (n,), RATIOS, range(seeds))]


@study(
    "analytical-debiasing",
    paper="Null calibration, comparison with analytical debiasing",
    version=2,
    full=[
        *_grid((0.0, 0.5, 1.0), 256, 10),
        # The published size.
        *_grid((0.0, 1.0), 1024, 3),
    ],
    quick={"strength": [0.0, 1.0], "n": [256], "ratio": RATIOS, "seed": range(5)},
    published="analytical-debiasing.csv",
)
def analytical_debiasing(strength: float, n: int, ratio: float, seed: int) -> dict[str, float]:
    """Does permuting, which knows nothing of CKA, agree with the unbiased estimator that was derived for it?

    n rows, ratio n features of unit noise, a shared signal of rank 5 and the given strength; 200 permutations.
    """
    rng = np.random.default_rng([seed, n, round(1000 * ratio), round(10 * strength)])
    X, Y = shared(strength, max(12, round(ratio * n)), n, 5, rng)
    found = calibrate(X, Y, "CKA", n_permutations=200, seed=seed)
    return {
        "raw": found.observed,
        "gated": found.score,
        "adjusted": found.adjusted,
        "unbiased": float(unbiased_cka(X, Y)),
        "over_columns": float(sampled_cka(X, Y)),
    }


@analytical_debiasing.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Draw the differences of both corrections from the unbiased estimator, and the estimator of all columns."""
    assert published is not None
    rows = rows.assign(adjusted_off=rows.adjusted - rows.unbiased, gated_off=rows.gated - rows.unbiased)
    columns = ["raw", "unbiased", "adjusted", "gated", "over_columns", "adjusted_off", "gated_off"]
    table = rows.groupby(["strength", "n", "ratio"])[columns].mean().reset_index()
    spread = rows[rows.strength == 0].groupby("n").over_columns.std()
    made, axes = figure(3)
    for ax, name in zip(axes, ("adjusted_off", "gated_off", "over_columns"), strict=True):
        lines(ax, rows[rows.n == rows.n.max()], "ratio", name, "strength")
        ax.axhline(0, color="0.7", linewidth=0.8)
        ax.set(xlabel=f"features per row, d / n (n = {rows.n.max()})", ylabel="difference of CKA")
        logarithmic(ax, rows.ratio)
    span = max(table.adjusted_off.abs().max(), table.gated_off.abs().max()) * 1.3
    for ax, title in zip(
        axes, ("adjusted less unbiased", "gated less unbiased", "corrected for columns too"), strict=True
    ):
        ax.set_title(title)
    for ax in axes[:2]:
        ax.set_ylim(-span, span)
    axes[2].set(ylabel="CKA (no line: no value)", ylim=(-0.1, 1.15))
    axes[0].legend(frameon=False, fontsize="small", title="strength")
    largest = table.adjusted_off.abs().max()
    bias = (table.raw - table.unbiased).abs().max()
    answer = (
        f"{yes_if(bool(largest < 0.05))}: "
        f"chance-adjusted and unbiased CKA differ by {largest:.1g} at most on average, where raw CKA is off by up "
        f"to {bias:.2f}. The gated score, the paper's, lies a little lower (by up to {-table.gated_off.min():.3f}): it "
        "starts from the threshold, not from the mean of the null."
    )
    notes = (
        "The estimator that corrects for columns as well as rows is our `sampled CKA` (arXiv "
        "2502.15104); it estimates the "
        "similarity of all features from those at hand, so that with a signal it is near 1, "
        "as published. Without one the "
        f"ratio of two numbers near zero has a spread of {spread.max():.1f}, or no value.",
    )
    picture = Picture(
        "analytical_debiasing", made, "Two corrections by permutation, less the unbiased estimator; a third"
    )
    return Page(answer, (("Means", table),), (picture,), notes, against(published, _answer_claims(rows, table)))


def _answer_claims(rows: pd.DataFrame, table: pd.DataFrame) -> Answers:
    answers: Answers = {}
    n = table.n.max()
    own = table[table.n == n]
    signal, none = own[own.strength == own.strength.max()], own[own.strength == 0]
    for key, part in (("matches", signal), ("matches_null", none)):
        off = part.gated_off.abs().max()
        answers[key] = claim(
            bool(off < 0.05),
            f"{off:.3f} apart at most (n = {n}; raw: {(part.raw - part.unbiased).max():.2f})",
            "they differ",
        )
    least, others = signal.over_columns.min(), signal[["unbiased", "gated"]].max(axis=None)
    answers["columns"] = claim(
        bool(least > 0.9 and least > others),
        f"{least:.2f} and more; the others {signal[['unbiased', 'gated']].min(axis=None):.2f} to {others:.2f}",
        "The others come near it where features per row are many: the signal of rank 5 grows "
        "with the width, noise does not.",
    )
    values = rows[(rows.strength == 0)].over_columns
    spread = values.std()
    answers["columns_null"] = claim(
        bool(values.isna().any() or spread > 3 * rows[rows.strength == 0].unbiased.std()),
        f"spread {spread:.2f} (unbiased CKA: {rows[rows.strength == 0].unbiased.std():.3f}); "
        f"no value in {100 * values.isna().mean():.0f} % of draws",
        "it does not",
    )
    return answers


@analytical_debiasing.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Largest mean difference of calibrated and unbiased CKA, and that of raw CKA."""
    own = rows[rows.n == rows.n.max()]
    means = own.groupby(["strength", "ratio"])[["raw", "unbiased", "gated"]].mean()
    return {
        "apart": Fact(float((means.gated - means.unbiased).abs().max())),
        "raw_apart": Fact(float((means.raw - means.unbiased).abs().max())),
    }
