"""Does calibration keep the power to detect a shared signal?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha_studies.framework.facts import Fact, group_means, largest, rate, resampled_groups, share
from shesha_studies.framework.page import Page
from shesha_studies.framework.study_decorator import grid_of, study
from shesha_studies.measures_of_stored_rows import measure_of_stored_rows
from shesha_studies.synthetic_data import shared

ALPHA, _POINT = 0.05, 1.645
"""Significance level, and the corresponding one-sided quantile of the normal distribution."""
STRONG = 0.6
_PAIR = ["rank", "strength", "seed"]
"""Columns that identify a pair of representations, to which all measures are applied."""
MEASURES = ("CKA", "CKA(kernel=rbf)", "RSA", "DistCorr", "mutual kNN")
STRENGTHS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2)

_grid = grid_of("measure", "rank", "strength", "seed")


@study(
    "power",
    paper="Null calibration, 6.1, statistical guarantees, right; SNR heat maps",
    version=1,
    full=[
        *_grid(MEASURES, (1, 5, 10), STRENGTHS, range(20)),
        # Unrelated pairs give the false positive rate and the true null distribution.
        *_grid(MEASURES, (1,), (0.0,), range(20, 120)),
    ],
    quick={"measure": ["CKA", "mutual kNN"], "rank": [5], "strength": STRENGTHS, "seed": range(12)},
    published="power.csv",
)
def power(measure: str, rank: int, strength: float, seed: int) -> dict[str, float]:
    """How strong must a shared signal be to be detected, and does calibration cost sensitivity?

    Both representations have 128 rows and 128 features with unit noise, and share a signal of the given rank and
    standard deviation.
    """
    X, Y = shared(strength, 128, 128, rank, np.random.default_rng([seed, rank, round(100 * strength)]))
    result = calibrate(X, Y, measure_of_stored_rows(measure), n_permutations=99, seed=seed)
    return {"raw": result.value, "score": result.calibrated, "p_value": result.p_value}


@power.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Return a page without tables, because rules judge all lines."""
    return Page()


def _add_hits(rows: pd.DataFrame) -> pd.DataFrame:
    """Add detection by calibration, and by the 95 % quantile of a normal distribution fitted to unrelated pairs."""
    null = rows[rows.strength == 0].groupby("measure").raw.agg(["mean", "std"])
    limits = rows.measure.map(null["mean"] + _POINT * null["std"])
    return rows.assign(hit=(rows.p_value <= ALPHA).astype(float), hit_known=(rows.raw > limits).astype(float))


@power.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> dict[str, Any]:
    """Return the shares of pairs with a signal that calibration and a threshold from the true null detect."""
    rows, cell = _add_hits(rows), ["measure", "rank", "strength"]
    signal, strong = rows[rows.strength > 0], rows[rows.strength >= STRONG]
    none = rows[(rows.strength == 0) & (rows.measure == rows.measure.iloc[0])]
    means = rows.groupby(cell, sort=False)[["raw", "score", "hit"]].mean().reset_index()
    least = means[means.hit >= 0.9].groupby(["measure", "rank"], sort=False).strength.min()
    pairs = signal.groupby(_PAIR).ngroups
    rates: dict[Any, Fact] = {strength: _rate_of_pairs(group) for strength, group in signal.groupby("strength")}
    return {
        "found": _rate_of_pairs(signal),
        "found_by_known_null": _rate_of_pairs(signal, "hit_known"),
        "lost": largest(resampled_groups(_lost, df, _PAIR, draws=200) for _, df in rows.groupby("measure")),
        "none": share(none.hit),
        "least strengths in words": ", ".join(
            f"{strength:g} ({name})" for name, strength in least.groupby("measure", sort=False).max().items()
        ),
        "rates in words": ", ".join(f"{hit:.0%} at {strength:g}" for strength, hit in rates.items()),
        "signal_pairs": pairs / len(rates),
        "pairs": pairs,
        "rate_of_strong": _rate_of_pairs(strong),
        "rate_at_04": rates[0.4],
        "alike": resampled_groups(_smallest_correlation, strong, "seed"),
        "apart": (means.raw - means.score)[means.strength >= STRONG].abs().max(),
        "weak": largest(group_means(rows[rows.strength <= 0.1], cell, "score")),
    }


def _rate_of_pairs(rows: pd.DataFrame, column: str = "hit") -> Fact:
    """Share of hits; the interval counts pairs, because all measures are applied to the same pairs."""
    pairs, mean = rows.groupby(_PAIR).ngroups, float(rows[column].mean())
    return Fact(mean, *rate(round(mean * pairs), pairs).limits)


def _lost(rows: pd.DataFrame) -> float:
    """Share of a measure's pairs with a signal that the true null detects, minus the share that calibration detects."""
    raw, p_value = (rows[name].to_numpy() for name in ("raw", "p_value"))
    signal, null = (rows.strength > 0).to_numpy(), raw[(rows.strength == 0).to_numpy()]
    limit = null.mean() + _POINT * null.std(ddof=1)
    return float((raw[signal] > limit).mean() - (p_value[signal] <= ALPHA).mean())


def _smallest_correlation(strong: pd.DataFrame) -> float:
    """Smallest correlation of mean raw and calibrated scores of a measure, over ranks and strengths."""
    cells = strong[["measure", "rank", "strength", "raw", "score"]]
    means = cells.groupby(["measure", "rank", "strength"])[["raw", "score"]].mean()
    measures, values = means.index.get_level_values("measure").to_numpy(), means.to_numpy()
    return min(float(np.corrcoef(values[measures == one].T)[0, 1]) for one in np.unique(measures))
