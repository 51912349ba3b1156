"""Do conclusions from calibrated scores depend on the significance level?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate_layers
from shesha.nulls.null_summary import summarise
from shesha.studies.facts import Facts, as_facts, group_means, largest, over_correlations, over_draws
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha.studies.study_decorator import study
from shesha_studies.chance._two_modality_models import DATA, STAND_IN, WIDTHS, sides, trends

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
    stand_ins="networks of 32 to 1,024 units on two halves of images, and networks of word counts with a sentence "
    "encoder, replace the published language and vision models",
)
def alpha(data: str, epochs: int, width: int, measure: str) -> dict[str, float]:
    """Do calibrated scores and their trends depend on the level, 0.01, 0.05 or 0.10?

    Pairs of stand-ins are as in `platonic` (the partner has 512 units, or is the sentence encoder). There are 256 rows
    and 500 permutations, each applied to all layers.
    """
    pair = sides(data, epochs, width, 512)
    result = calibrate_layers(pair.first, pair.second, measure, n_permutations=500, seed=0)
    null = np.array(result.null)
    levels = {
        f"score_{level:g}": summarise(result.observed, null, result.closer, level, result.maximum).score
        for level in LEVELS
    }
    return {"capability": pair.capability, "raw": result.observed, **levels, "p_value": result.p_value}


@alpha.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Draw scores at the three levels, and correlate each with capability."""
    table, wide = trends(rows, ["raw", *NAMES]), trends(rows, ["raw", *NAMES], "width")
    measures = list(rows.measure.unique())
    fig, axes = figure(len(measures), width=3.6, sharey=True)
    group = rows[rows.data == rows.data.iloc[0]].sort_values("capability")
    for ax, measure in zip(axes, measures, strict=True):
        points = group[group.measure == measure]
        for name, style in zip(["raw", *NAMES], (":", "-", "--", "-."), strict=True):
            ax.plot(
                points.capability, points[name], style, marker="o", markersize=2.5, label=name.replace("_", ", level ")
            )
        ax.set(xlabel=f"accuracy of the first model ({group.data.iloc[0]})", title=measure)
    axes[0].set_ylabel("best of the layers")
    axes[0].legend(frameon=False, fontsize="x-small")
    notes = (STAND_IN,)
    picture = Picture(
        "alpha", fig, "Raw scores, and calibrated scores at three levels, against the capability of the first model"
    )
    return Page(
        "",
        (("Correlation with capability", table), ("Correlation with width", wide)),
        (picture,),
        notes,
    )


@alpha.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return correlations with capability and with width at the three levels, and their differences."""
    tables = {"capability": trends(rows, ["raw", *NAMES]), "width": trends(rows, ["raw", *NAMES], "width")}
    moved = tables["capability"].assign(moved=lambda frame: frame[NAMES].max(axis=1) - frame[NAMES].min(axis=1))
    values: dict[str, Any] = {
        "largest_gap": (rows[NAMES[2]] - rows[NAMES[0]]).max(),
        "pairs": len(rows),
        "moved": largest(group_means(moved, ["measure"], "moved")),
    }
    for measure in rows.measure.unique():
        sets = {axis: table[table.measure == measure] for axis, table in tables.items()}
        means = {axis: {name: over_correlations(part[name]) for name in ("raw", *NAMES)} for axis, part in sets.items()}
        texts = (
            f"correlation with {axis} {mean['raw']:+.2f} (raw), "
            + ", ".join(f"{mean[name]:+.2f} (level {name.removeprefix('score_')})" for name in NAMES)
            for axis, mean in means.items()
        )
        values |= {f"{axis}, {measure}, {name}": fact for axis, mean in means.items() for name, fact in mean.items()}
        values |= {
            f"{measure} in words": "; ".join(texts),
            f"raw trend, {measure}": means["capability"]["raw"],
            f"trend, {measure}": largest(means["capability"][name] for name in NAMES),
            f"lost, {measure}": largest(
                over_draws(sets["capability"].raw - sets["capability"][name]) for name in NAMES
            ),
        }
    return as_facts({name.replace("0.", "0"): value for name, value in values.items()})
