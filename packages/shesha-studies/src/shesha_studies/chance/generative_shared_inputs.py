"""Does sharing inputs make unrelated networks similar?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha.support.types import Matrix
from shesha_studies.framework.facts import Fact, difference, group_means, largest, over_draws, smallest
from shesha_studies.framework.page import Page
from shesha_studies.framework.study_decorator import study

N, HIDDEN = 256, 256
MAPS = ("noise", "linear", "MLP")
_CASE = ["map_of", "inputs"]


@study(
    "generative",
    paper="Null calibration, robustness to the generative process",
    version=1,
    full={"map_of": MAPS, "inputs": [8, 64, 512, 4096], "d": [32, 64, 128, 256, 512, 1024], "seed": range(8)},
    quick={"map_of": MAPS, "inputs": [8, 512], "d": [32, 128, 512], "seed": range(6)},
    published="generative.csv",
)
def generative(map_of: str, inputs: int, d: int, seed: int) -> dict[str, float]:
    """Do independent random networks of the same inputs look similar, and does calibration correct this?

    256 Gaussian inputs of the given dimension pass through two random linear maps or two random networks with one
    hidden layer. Alternatively, both representations are noise. The measure is linear CKA, with 200 permutations.
    """
    rng = np.random.default_rng([seed, d, inputs, MAPS.index(map_of)])
    rows = rng.standard_normal((N, inputs))
    X, Y = (_apply_map(map_of, rows, d, rng) for _ in range(2))
    result = calibrate(X, Y, "CKA", n_permutations=200, seed=seed)
    return {"raw": result.value, "score": result.calibrated, "p_value": result.p_value}


def _apply_map(map_of: str, rows: Matrix, d: int, rng: np.random.Generator) -> Matrix:
    if map_of == "noise":
        return rng.standard_normal((len(rows), d))
    if map_of == "linear":
        return np.asarray(rows @ rng.standard_normal((rows.shape[1], d)))
    hidden = np.maximum(0.0, rows @ rng.standard_normal((rows.shape[1], HIDDEN)) / np.sqrt(rows.shape[1]))
    return np.asarray(hidden @ rng.standard_normal((HIDDEN, d)))


@generative.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Return a page without tables, because rules judge all lines."""
    return Page()


@generative.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> dict[str, Any]:
    """Return calibrated CKA of the widest unrelated maps, for few and many inputs, and its rise with the width."""
    maps = rows[rows.map_of != "noise"]
    widest = maps[maps.d == maps.d.max()]
    few, many = (widest[widest.inputs == end] for end in (maps.inputs.min(), maps.inputs.max()))
    rises = _rises(maps, "score")
    return {
        "raw_rise": smallest(_rises(maps, "raw")),
        "cases": len(rises),
        "score_rise": _any_reading(rises),
        "score_rise_least": smallest(rises).value,
        "score_rise_most": largest(rises).value,
        "any_inputs": _any_reading(group_means(widest, _CASE, "score")),
        "noise": rows[rows.map_of == "noise"].groupby(["inputs", "d"]).score.mean().max(),
        "few": few.inputs.max(),
        "few_inputs": over_draws(few.score),
        "many": many.inputs.max(),
        **{f"many, {name}": over_draws(group.score) for name, group in many.groupby("map_of")},
    }


def _rises(rows: pd.DataFrame, name: str) -> list[Fact]:
    """Differences between the widest and the narrowest maps, for each map and dimension of the inputs."""
    ends = ([group[group.d == end][name] for end in (group.d.max(), group.d.min())] for _, group in rows.groupby(_CASE))
    return [difference(wide, narrow) for wide, narrow in ends]


def _any_reading(rises: list[Fact]) -> Fact:
    """Mean over maps and dimensions of the inputs; the limits span all of them, because the paper names none."""
    return Fact(sum(rise.value for rise in rises) / len(rises), smallest(rises).low, largest(rises).high)
