"""Is the best of many layer pairs high because there are many?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shesha.calibration import calibrate, calibrate_layers
from shesha.studies._page import Page, Picture
from shesha.studies._pictures import figure, logarithmic
from shesha.studies._study import study

if TYPE_CHECKING:
    import pandas as pd

N = 64


@study(
    "depth",
    paper="Null calibration, 6.2, Figure 5",
    version=1,
    full={"layers": [2, 4, 8, 16, 32, 64], "ratio": [8.0], "seed": range(40)},
    quick={"layers": [2, 4, 8, 16], "ratio": [1.0], "seed": range(12)},
)
def depth(layers: int, ratio: float, seed: int) -> dict[str, float]:
    """Does the maximum over layer pairs of two unrelated models rise with their depth, and does calibration undo it?

    64 rows, d = ratio times as many features, CKA, 99 permutations of all layers together.
    """
    rng = np.random.default_rng([seed, layers, round(ratio * 8)])
    a, b = rng.standard_normal((2, layers, N, round(ratio * N)))
    found = calibrate_layers(list(a), list(b), "CKA", n_permutations=99, seed=seed)
    i, j = (int(name) for name in found.best)
    alone = calibrate(a[i], b[j], "CKA", n_permutations=99, seed=seed)
    return {
        "raw": found.observed,
        "calibrated": found.score,
        "p_value": found.p_value,
        "best_alone": alone.score,
        "best_alone_p": alone.p_value,
    }


@depth.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Draw the three maxima, and how often each is called significant."""
    rows = rows.assign(hit=rows.p_value <= 0.05, hit_alone=rows.best_alone_p <= 0.05)
    table = rows.groupby("layers")[["raw", "best_alone", "calibrated", "hit_alone", "hit"]].mean().reset_index()
    made, axes = figure(2)
    first = table.raw.iloc[0]
    axes[0].plot(table.layers, table.raw - first, "o-", label="raw maximum, from its start")
    axes[0].plot(table.layers, table.best_alone, "o-", label="best pair, calibrated alone")
    axes[0].plot(table.layers, table.calibrated, "o-", label="maximum, calibrated")
    axes[1].plot(table.layers, table.hit_alone, "o-", color="C1", label="best pair alone")
    axes[1].plot(table.layers, table.hit, "o-", color="C2", label="maximum")
    axes[1].axhline(0.05, color="0.6", linewidth=0.8, linestyle="--")
    axes[0].set(xlabel="layers of each model", ylabel="score")
    logarithmic(axes[0], rows.layers)
    axes[1].set(xlabel="layers of each model", ylabel="share with p <= 0.05", ylim=(-0.02, 1.02))
    logarithmic(axes[1], rows.layers)
    for ax in axes:
        ax.legend(frameon=False, fontsize="x-small", loc="upper left")
    last = table.iloc[-1]
    answer = (
        f"Yes: the raw maximum rises by {last.raw - first:.3f} from {table.layers.iloc[0]} to {int(last.layers)} "
        f"layers; the best pair calibrated on its own is significant in {100 * last.hit_alone:.0f} % of unrelated "
        f"models, the calibrated maximum in {100 * last.hit:.0f} %."
    )
    picture = Picture("depth", made, "Maxima over layer pairs of unrelated models against depth, and false positives")
    return Page(answer, (("Means", table),), (picture,))
