"""Do conclusions from calibrated scores depend on the significance level?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.comparison import compare_layers
from shesha.nulls.null_summary import summarise
from shesha_studies.chance._two_modality_models import DATA, WIDTHS, sides, trends
from shesha_studies.framework.facts import largest, over_correlations, over_draws
from shesha_studies.framework.page import Page
from shesha_studies.framework.study_decorator import study
from shesha_studies.measures_of_stored_rows import measure_of_stored_rows

LEVELS = (0.01, 0.05, 0.1)
NAMES = [f"score_{level:g}" for level in LEVELS]
COLUMNS = ["raw", *NAMES]


@study(
    "alpha",
    paper="Null calibration, sensitivity to significance level",
    version=1,
    full={"data": DATA, "epochs": [2, 6], "width": WIDTHS, "measure": ["CKA", "CKA(kernel=rbf)", "mutual kNN(k=10)"]},
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
    result = compare_layers(
        pair.first, pair.second, measure_of_stored_rows(measure), calibrate=True, n_permutations=500, seed=0
    )
    null = np.array(result.null)
    at_levels = (summarise(result.value, null, result.closer, level, result.best) for level in LEVELS)
    scores = {name: summary.calibrated for name, summary in zip(NAMES, at_levels, strict=True)}
    return {"capability": pair.capability, "raw": result.value, **scores, "p_value": result.p_value}


@alpha.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Return a page without tables, because rules judge all lines."""
    return Page()


@alpha.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> dict[str, Any]:
    """Return correlations with capability and with width at the three levels, and their differences."""
    tables = {axis: trends(rows, COLUMNS, axis).groupby("measure") for axis in ("capability", "width")}
    sets = {str(name): group for name, group in tables["capability"]}
    cka_by_width, knn = tables["width"].get_group("CKA"), sets["mutual kNN(k=10)"]
    values: dict[str, Any] = {
        "largest_gap": (rows["score_0.1"] - rows["score_0.01"]).max(),
        "pairs": len(rows),
        "moved": largest(over_draws(group[NAMES].max(axis=1) - group[NAMES].min(axis=1)) for group in sets.values()),
        "width, CKA, raw": over_correlations(cka_by_width.raw),
        "width, CKA, score_005": over_correlations(cka_by_width["score_0.05"]),
        "lost, mutual kNN(k=10)": largest(over_draws(knn.raw - knn[name]) for name in NAMES),
    }
    for measure, group in sets.items():
        values |= {
            f"{measure} in words": "; ".join(
                f"correlation with {axis} {_in_words(table.get_group(measure))}" for axis, table in tables.items()
            ),
            f"raw trend, {measure}": over_correlations(group.raw),
            f"trend, {measure}": largest(over_correlations(group[name]) for name in NAMES),
        }
    return values


def _in_words(sets: pd.DataFrame) -> str:
    levels = (f"{over_correlations(sets[name]):+.2f} (level {name.removeprefix('score_')})" for name in NAMES)
    return f"{over_correlations(sets.raw):+.2f} (raw), " + ", ".join(levels)
