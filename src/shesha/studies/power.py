"""Does calibration still see what is shared?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shesha.calibration import calibrate
from shesha.studies._data import shared
from shesha.studies._page import Page, Picture
from shesha.studies._pictures import figure
from shesha.studies._study import study

if TYPE_CHECKING:
    import pandas as pd

STRENGTHS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2)


@study(
    "power",
    paper="Null calibration, 6.1, statistical guarantees, right; SNR heat maps",
    version=1,
    full={
        "measure": ["CKA", "CKA(kernel=rbf)", "RSA", "DistCorr", "mutual kNN"],
        "rank": [1, 5, 10],
        "strength": STRENGTHS,
        "seed": range(60),
    },
    quick={"measure": ["CKA", "mutual kNN"], "rank": [5], "strength": STRENGTHS, "seed": range(12)},
)
def power(measure: str, rank: int, strength: float, seed: int) -> dict[str, float]:
    """How strong must a shared signal be to be found, and does calibration cost sensitivity?

    128 rows, 128 features of unit noise each, a shared signal of the given rank and standard deviation.
    """
    X, Y = shared(strength, 128, 128, rank, np.random.default_rng([seed, rank, round(100 * strength)]))
    found = calibrate(X, Y, measure, n_permutations=99, seed=seed)
    return {"raw": found.observed, "score": found.score, "p_value": found.p_value}


@power.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Draw detection rates and scores against the strength."""
    rows = rows.assign(hit=(rows.p_value <= 0.05).astype(float))
    table = rows.groupby(["measure", "rank", "strength"], sort=False)[["raw", "score", "hit"]].mean().reset_index()
    middle = rows[rows["rank"] == sorted(rows["rank"].unique())[len(rows["rank"].unique()) // 2]]
    made, axes = figure(3)
    for ax, name in zip(axes, ("hit", "raw", "score"), strict=True):
        for measure, own in middle.groupby("measure", sort=False):
            found = own.groupby("strength")[name].mean()
            ax.plot(found.index, found, "o-", markersize=3.5, label=measure)
        ax.set(xlabel="strength of the shared signal")
    for ax, title in zip(axes, ("share with p <= 0.05", "raw score", "calibrated score"), strict=True):
        ax.set_ylabel(title)
    axes[0].legend(frameon=False, fontsize="small")
    found = {}
    for measure, own in table.groupby("measure", sort=False):
        strong = own[own.hit >= 0.9].groupby("rank").strength.min()
        found[measure] = f"{strong.max():g}" if len(strong) == own["rank"].nunique() else "not within the grid"
    none = rows[rows.strength == 0].hit.mean()
    answer = (
        "Nine in ten pairs are found from a strength of "
        + ", ".join(f"{least} ({name})" for name, least in found.items())
        + f" on (the weakest over ranks; noise has 1); without a signal {100 * none:.0f} % are."
    )
    picture = Picture("power", made, "Detection rate, raw and calibrated score against the strength of a shared signal")
    return Page(answer, (("Means", table),), (picture,))
