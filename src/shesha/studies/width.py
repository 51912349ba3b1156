"""Do wide representations look similar whatever they hold?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shesha.calibration import calibrate
from shesha.studies._data import noise
from shesha.studies._page import Page, Picture
from shesha.studies._pictures import figure, lines, logarithmic
from shesha.studies._study import study

if TYPE_CHECKING:
    import pandas as pd

MEASURES = ("CKA", "CKA(kernel=rbf)", "SVCCA(components=10)", "RSA", "DistCorr", "OrthProc", "mutual kNN")
RATIOS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4)
KINDS = ("Gaussian", "Student's t", "Laplace")


@study(
    "width",
    paper="Null calibration, 6.1, Figure 3, and the full null drift results",
    version=1,
    full={"measure": MEASURES, "kind": KINDS, "n": [128, 512], "ratio": RATIOS, "seed": range(20)},
    quick={
        "measure": ["CKA", "RSA", "mutual kNN"],
        "kind": ["Gaussian"],
        "n": [128],
        "ratio": RATIOS,
        "seed": range(8),
    },
)
def width(measure: str, kind: str, n: int, ratio: float, seed: int) -> dict[str, float]:
    """Do raw scores of independent representations rise with their width, and calibrated ones not?

    n rows of d = ratio n independent features; 200 permutations.
    """
    rng = np.random.default_rng([seed, n, round(1000 * ratio), KINDS.index(kind)])
    X, Y = noise(kind, (2, n, max(12, round(ratio * n))), rng)
    found = calibrate(X, Y, measure, n_permutations=200, seed=seed)
    numbers = ("score", "threshold", "p_value", "centred", "z", "adjusted")
    return {"raw": found.observed, **{name: float(getattr(found, name)) for name in numbers}}


@width.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Draw raw and calibrated scores, and count what calibration calls significant."""
    gaussian = rows[(rows.kind == "Gaussian") & (rows.n == rows.n.max())]
    made, axes = figure(2, sharey=True)
    for ax, name, title in zip(axes, ("raw", "score"), ("raw", "calibrated"), strict=True):
        lines(ax, gaussian, "ratio", name, "measure")
        ax.set(xlabel="features per row, d / n", title=title)
        logarithmic(ax, rows.ratio)
    axes[0].set_ylabel("score of independent data")
    axes[0].legend(frameon=False, fontsize="small")
    table = (
        rows.groupby(["measure", "kind", "n", "ratio"], sort=False)[["raw", "score", "adjusted", "z"]]
        .mean()
        .reset_index()
    )
    wide = gaussian[gaussian.ratio == gaussian.ratio.max()].groupby("measure", sort=False)
    raw, calibrated = wide.raw.mean(), wide.score.mean()
    rates = rows.assign(hit=rows.p_value <= 0.05).groupby("measure").hit.mean()
    answer = (
        f"Yes: at d / n = {gaussian.ratio.max():g} raw scores of unrelated data are "
        + ", ".join(f"{raw[name]:.2f} ({name})" for name in raw.index)
        + f"; calibrated, all are {calibrated.abs().max():.3f} at most on average. {100 * rates.mean():.1f} % of all "
        f"cells reach p <= 0.05 (n = {len(rows):,})."
    )
    notes = (
        "The paper gives no numbers for these figures, only curves: CKA rises to about 0.8, neighbourhoods hardly. The "
        "same holds here. Distances (OrthProc) are lower the more similar; their calibrated score runs the same way as "
        "the others'.",
    )
    picture = Picture("width", made, "Raw and calibrated scores of independent data against features per row")
    return Page(answer, (("Means", table),), (picture,), notes)
