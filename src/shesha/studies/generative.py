"""Does sharing inputs make unrelated networks similar?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shesha._types import Matrix
from shesha.calibration import calibrate
from shesha.studies._page import Page, Picture
from shesha.studies._pictures import figure, lines, logarithmic
from shesha.studies._study import study

if TYPE_CHECKING:
    import pandas as pd

N, HIDDEN = 256, 256
MAPS = ("noise", "linear", "MLP")


@study(
    "generative",
    paper="Null calibration, robustness to the generative process",
    version=1,
    full={"map_of": MAPS, "inputs": [8, 64, 512], "d": [32, 64, 128, 256, 512, 1024], "seed": range(15)},
    quick={"map_of": MAPS, "inputs": [8, 512], "d": [32, 128, 512], "seed": range(6)},
)
def generative(map_of: str, inputs: int, d: int, seed: int) -> dict[str, float]:
    """Do independent random networks of the same inputs look similar, and does calibration take that away?

    256 Gaussian inputs of the given dimension go through two random linear maps, or two random networks of one hidden
    layer; or both sides are noise. Linear CKA, 200 permutations.
    """
    rng = np.random.default_rng([seed, d, inputs, MAPS.index(map_of)])
    rows = rng.standard_normal((N, inputs))
    X, Y = (_mapped(map_of, rows, d, rng) for _ in range(2))
    found = calibrate(X, Y, "CKA", n_permutations=200, seed=seed)
    return {"raw": found.observed, "score": found.score, "p_value": found.p_value}


def _mapped(map_of: str, rows: Matrix, d: int, rng: np.random.Generator) -> Matrix:
    if map_of == "noise":
        return rng.standard_normal((len(rows), d))
    if map_of == "linear":
        return np.asarray(rows @ rng.standard_normal((rows.shape[1], d)))
    hidden = np.maximum(0.0, rows @ rng.standard_normal((rows.shape[1], HIDDEN)) / np.sqrt(rows.shape[1]))
    return np.asarray(hidden @ rng.standard_normal((HIDDEN, d)))


@generative.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Draw raw and calibrated CKA against the width, for each map and dimension of the inputs."""
    rows = rows.assign(what=rows.map_of + ", " + rows.inputs.astype(str) + " inputs")
    rows.loc[rows.map_of == "noise", "what"] = "noise"
    table = rows.groupby(["map_of", "inputs", "d"], sort=False)[["raw", "score"]].mean().reset_index()
    made, axes = figure(2, sharey=True)
    for ax, name, title in zip(axes, ("raw", "score"), ("raw CKA", "calibrated CKA"), strict=True):
        lines(ax, rows, "d", name, "what")
        ax.set(xlabel="features", title=title)
        logarithmic(ax, rows.d)
    axes[0].legend(frameon=False, fontsize="x-small")
    widest = table[table.d == table.d.max()]
    of_maps = widest[widest.map_of != "noise"]
    few, many = (of_maps[of_maps.inputs == wanted].score.mean() for wanted in (rows.inputs.min(), rows.inputs.max()))
    answer = (
        f"Not as published: raw CKA rises with the width in every case, but calibrated CKA is {few:.2f} for maps of "
        f"{rows.inputs.min()} inputs and {many:.2f} for maps of {rows.inputs.max()}, and zero only for noise."
        if few > 0.05
        else f"As published: raw CKA rises with the width, calibrated CKA stays at {max(few, many):.2f} at most."
    )
    note = (
        "A wide random map keeps the distances of its inputs (Johnson and Lindenstrauss), so two of them agree with "
        "each other, truly: what they share is the geometry of the inputs. A permutation null rightly does not take "
        "that away; what is small for many inputs is that geometry itself, since Gaussian points in many dimensions "
        "lie equally far from one another. To ask for agreement beyond the inputs, give them as covariates."
    )
    picture = Picture("generative", made, "Raw and calibrated CKA of unrelated random maps of the same inputs")
    return Page(answer, (("Means", table),), (picture,), (note,))
