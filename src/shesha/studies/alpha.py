"""Does the level of the threshold decide what one concludes?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shesha.calibration import calibrate_layers
from shesha.nulls.summary import summarise
from shesha.studies._checks import Check
from shesha.studies._page import Page, Picture
from shesha.studies._pictures import figure
from shesha.studies._sides import DATA, NO_COLLAPSE, STAND_IN, WIDTHS, sides, trends
from shesha.studies._study import study
from shesha.studies._verdicts import Verdicts

if TYPE_CHECKING:
    import pandas as pd

LEVELS = (0.01, 0.05, 0.1)


@study(
    "alpha",
    paper="Null calibration, sensitivity to significance level",
    version=1,
    full={
        "data": DATA,
        "epochs": [2, 6],
        "width": WIDTHS,
        "measure": ["CKA", "CKA(kernel=rbf)", "mutual kNN(k=10)"],
    },
    quick={"data": DATA[:1], "epochs": [6], "width": WIDTHS[:5], "measure": ["CKA", "mutual kNN(k=10)"]},
    published="alpha.csv",
)
def alpha(data: str, epochs: int, width: int, measure: str) -> dict[str, float]:
    """Do calibrated scores and their trends depend on the level, 0.01, 0.05 or 0.10?

    Pairs of stand-ins as in `platonic` (partner of 512 units, or the sentence encoder), 256 rows, 500 permutations of
    all layers together.
    """
    pair = sides(data, epochs, width, 512)
    found = calibrate_layers(pair.first, pair.second, measure, n_permutations=500, seed=0)
    null = np.array(found.null)
    levels = {
        f"score_{level:g}": summarise(found.observed, null, found.closer, level, found.maximum).score
        for level in LEVELS
    }
    return {"capability": pair.capability, "raw": found.observed, **levels, "p_value": found.p_value}


@alpha.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Draw scores at the three levels, and correlate each with capability."""
    assert published is not None
    names = [f"score_{level:g}" for level in LEVELS]
    table = trends(rows, ["raw", *names])
    measures = list(rows.measure.unique())
    made, axes = figure(len(measures), width=3.6, sharey=True)
    own = rows[rows.data == rows.data.iloc[0]].sort_values("capability")
    for ax, measure in zip(axes, measures, strict=True):
        found = own[own.measure == measure]
        for name, style in zip(["raw", *names], (":", "-", "--", "-."), strict=True):
            ax.plot(
                found.capability, found[name], style, marker="o", markersize=2.5, label=name.replace("_", ", level ")
            )
        ax.set(xlabel=f"accuracy of the first model ({own.data.iloc[0]})", title=measure)
    axes[0].set_ylabel("best of the layers")
    axes[0].legend(frameon=False, fontsize="x-small")
    gaps = (rows[names[2]] - rows[names[0]]).max()
    moved = float((table[names].max(axis=1) - table[names].min(axis=1)).max())
    answer = (
        f"No: from level 0.01 to 0.10 no calibrated score rises by more than {gaps:.3f}, and no correlation "
        f"with capability moves by more than {moved:.2f}. What survives is that the level does not matter; "
        "whether there is a trend is another question (`platonic`), and calibration does not decide it "
        "here."
    )
    notes = (STAND_IN, "At level 0.01 the threshold is the sixth largest of 501 scores.")
    picture = Picture(
        "alpha", made, "Raw and calibrated scores at three levels against the capability of the first model"
    )
    return Page(answer, (("Correlation with capability", table),), (picture,), notes, _judged(rows, table, published))


def _judged(rows: pd.DataFrame, table: pd.DataFrame, published: pd.DataFrame) -> tuple[Check, ...]:
    verdicts = Verdicts(published)
    names = [f"score_{level:g}" for level in LEVELS]
    for key in ("CKA", "CKA(kernel=rbf)", "mutual kNN(k=10)"):
        found = table[table.measure == key]
        if found.empty:
            verdicts.claim(key, None, None)
            continue
        said = "; ".join(
            f"{line['data']}: {line['raw']:+.2f} raw, " + ", ".join(f"{line[name]:+.2f}" for name in names)
            for _, line in found.iterrows()
        )
        trend = found[names].min(axis=1) > 0.5
        if key.startswith("CKA"):
            verdicts.claim(key, not bool(trend.any()), said, NO_COLLAPSE)
        else:
            verdicts.claim(
                key, bool((found[names].min(axis=1) > found.raw - 0.2).all()), said, "a trend is lost at some level"
            )
    ordered = (rows[names].diff(axis=1).iloc[:, 1:] >= -1e-12).all(axis=None)
    verdicts.claim("order", bool(ordered), f"by {(rows[names[2]] - rows[names[0]]).max():.4f} at most", "not in order")
    moved = float((table[names].max(axis=1) - table[names].min(axis=1)).max())
    verdicts.claim("invariant", moved < 0.1, f"correlations with capability move by {moved:.2f} at most", "they move")
    return verdicts.checks()
