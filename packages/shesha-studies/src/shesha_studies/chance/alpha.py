"""Does the level of the threshold decide what one concludes?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shesha.calibration import calibrate_layers
from shesha.nulls.summary import summarise
from shesha.studies.checks import DIFFERS
from shesha.studies.definition import study
from shesha.studies.page import Page, Picture, yes_if
from shesha.studies.pictures import figure
from shesha.studies.published import Answers, against, claim
from shesha_studies.chance._sides import DATA, NO_COLLAPSE, RISE, STAND_IN, WIDTHS, sides, trends

if TYPE_CHECKING:
    import pandas as pd

LEVELS = (0.01, 0.05, 0.1)
NAMES = [f"score_{level:g}" for level in LEVELS]


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
    stand_ins="networks of 32 to 1,024 units on two halves of images, and of words beside a sentence encoder, for the "
    "published language and vision models",
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
    table, wide = trends(rows, ["raw", *NAMES]), trends(rows, ["raw", *NAMES], "width")
    measures = list(rows.measure.unique())
    made, axes = figure(len(measures), width=3.6, sharey=True)
    own = rows[rows.data == rows.data.iloc[0]].sort_values("capability")
    for ax, measure in zip(axes, measures, strict=True):
        found = own[own.measure == measure]
        for name, style in zip(["raw", *NAMES], (":", "-", "--", "-."), strict=True):
            ax.plot(
                found.capability, found[name], style, marker="o", markersize=2.5, label=name.replace("_", ", level ")
            )
        ax.set(xlabel=f"accuracy of the first model ({own.data.iloc[0]})", title=measure)
    axes[0].set_ylabel("best of the layers")
    axes[0].legend(frameon=False, fontsize="x-small")
    gaps = (rows[NAMES[2]] - rows[NAMES[0]]).max()
    moved = float((table[NAMES].max(axis=1) - table[NAMES].min(axis=1)).max())
    on_width = wide[wide.measure == "CKA"][["raw", NAMES[1]]].mean()
    answer = (
        f"{yes_if(max(gaps, moved) > 0.1)}: "
        f"from level 0.01 to 0.10 no calibrated score rises by more than {gaps:.3f}, and no correlation "
        f"with capability moves by more than {moved:.2f}. What does not survive on the stand-ins is that no "
        f"trend is left: calibrated CKA is correlated with the width by {on_width[NAMES[1]]:+.2f} (raw: "
        f"{on_width['raw']:+.2f}) at any level."
    )
    notes = (STAND_IN, "At level 0.01 the threshold is the sixth largest of 501 scores.")
    picture = Picture(
        "alpha", made, "Raw and calibrated scores at three levels against the capability of the first model"
    )
    return Page(
        answer,
        (("Correlation with capability", table), ("Correlation with width", wide)),
        (picture,),
        notes,
        against(published, _answer_claims(rows, table, wide)),
    )


def _answer_claims(rows: pd.DataFrame, table: pd.DataFrame, wide: pd.DataFrame) -> Answers:
    answers: Answers = {}
    for key in ("CKA", "CKA(kernel=rbf)", "mutual kNN(k=10)"):
        found, others = (one[one.measure == key] for one in (table, wide))
        if found.empty:
            continue
        means, on_width = (one[["raw", *NAMES]].mean() for one in (found, others))
        said = "; ".join(
            f"correlation with {axis}: {one['raw']:+.2f} raw, " + ", ".join(f"{one[name]:+.2f}" for name in NAMES)
            for axis, one in (("capability", means), ("width", on_width))
        )
        if key.startswith("CKA"):
            trend = max(means[NAMES].max(), on_width[NAMES].max())
            answers[key] = claim(bool(trend < RISE), said, NO_COLLAPSE, DIFFERS)
        else:
            kept = (means[NAMES] > means["raw"] - 0.1).all() and (on_width[NAMES] > on_width["raw"] - 0.1).all()
            answers[key] = claim(bool(kept), said, "a trend is lost at some level")
    ordered = (rows[NAMES].diff(axis=1).iloc[:, 1:] >= -1e-12).all(axis=None)
    answers["order"] = claim(bool(ordered), f"by {(rows[NAMES[2]] - rows[NAMES[0]]).max():.4f} at most", "not in order")
    moved = float((table[NAMES].max(axis=1) - table[NAMES].min(axis=1)).max())
    answers["invariant"] = claim(moved < 0.1, f"correlations with capability move by {moved:.2f} at most", "they move")
    return answers
