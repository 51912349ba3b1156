"""How often does calibration call unrelated data similar?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shesha.calibration import calibrate
from shesha.studies._data import noise
from shesha.studies._page import Page, Picture
from shesha.studies._pictures import figure
from shesha.studies._rates import binomial_limits
from shesha.studies._study import study

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05


@study(
    "type-1",
    paper="Null calibration, 6.1, statistical guarantees, left",
    version=1,
    full={
        "measure": ["CKA", "CKA(kernel=rbf)", "RSA", "DistCorr", "OrthProc", "mutual kNN"],
        "kind": ["Gaussian", "Student's t"],
        "n": [64, 256],
        "ratio": [0.25, 1, 4],
        "seed": range(200),
    },
    quick={"measure": ["CKA", "mutual kNN"], "kind": ["Gaussian"], "n": [64], "ratio": [0.25, 4], "seed": range(60)},
)
def type_1(measure: str, kind: str, n: int, ratio: float, seed: int) -> dict[str, float]:
    """Does the share of unrelated pairs that are called similar stay at the level asked for?

    n rows, ratio n independent features, 99 permutations, level 0.05.
    """
    rng = np.random.default_rng([seed, n, round(1000 * ratio), len(kind)])
    X, Y = noise(kind, (2, n, max(8, round(ratio * n))), rng)
    return {"p_value": calibrate(X, Y, measure, n_permutations=99, seed=seed).p_value}


@type_1.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Count rejections per configuration, with the limits of chance."""
    keys = ["measure", "kind", "n", "ratio"]
    table = rows.assign(hit=rows.p_value <= ALPHA).groupby(keys, sort=False).hit.agg(["mean", "size"]).reset_index()
    table = table.rename(columns={"mean": "rate", "size": "draws"})
    low, high = binomial_limits(ALPHA, int(table.draws.min()))
    overall = (rows.p_value <= ALPHA).mean()
    outside = int(((table.rate < low) | (table.rate > high)).sum())
    made, (ax,) = figure(width=5.0)
    for place, (_, own) in enumerate(table.groupby("measure", sort=False)):
        ax.scatter(np.full(len(own), place), own.rate, s=16)
    ax.axhspan(low, high, color="0.9", zorder=0)
    ax.axhline(ALPHA, color="0.5", linewidth=0.8, linestyle="--")
    ax.set(ylabel="share with p <= 0.05", ylim=(0, max(0.2, table.rate.max() * 1.1)))
    ax.set_xticks(range(table.measure.nunique()), table.measure.unique(), rotation=30, ha="right", fontsize="small")
    answer = (
        f"Yes: {100 * overall:.1f} % of {len(rows):,} unrelated pairs reach p <= 0.05. Of {len(table)} configurations "
        f"{outside} lie outside {100 * low:.1f} to {100 * high:.1f} %, where 95 % of such rates lie by chance."
    )
    picture = Picture("type_1", made, "Share of unrelated pairs called similar, one dot per configuration")
    return Page(answer, (("Rates", table),), (picture,))
