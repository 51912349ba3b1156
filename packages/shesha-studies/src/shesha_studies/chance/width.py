"""Do wide representations look similar even if they are unrelated?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure, lines, logarithmic
from shesha.studies.published_checks import against
from shesha.studies.study_definition import study
from shesha_studies.chance._width_facts import make_facts
from shesha_studies.synthetic_data import noise

GLOBAL = ("CKA", "CKA(kernel=rbf)", "RV", "DistCorr")
LOCAL = ("mutual kNN", "cycle kNN", "CKNNA")
CHEAP = (*GLOBAL, "SVCCA(components=10)", "RSA", *LOCAL)
DEAR = ("CCA", "PWCCA", "Procrustes similarity", "Procrustes similarity(published=True)")
RATIOS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4)
KINDS = ("Gaussian", "Student's t", "Laplace")


def _grid(
    measures: Sequence[str], n: int, ratios: Sequence[float], seeds: int, kinds: Sequence[str] = KINDS, first: int = 0
) -> list[dict[str, Any]]:
    names, drawn = ("measure", "kind", "n", "ratio", "seed"), range(first, first + seeds)
    return [dict(zip(names, cell, strict=True)) for cell in product(measures, kinds, (n,), ratios, drawn)]


FULL = [
    *_grid(CHEAP, 128, RATIOS, 6),
    # A score above zero of cycle kNN is large, so its mean needs more draws.
    *_grid(("cycle kNN",), 128, RATIOS, 24, first=6),
    *_grid(DEAR, 128, RATIOS[:4], 3),
    *_grid(DEAR[2:], 128, RATIOS[4:], 2),
    *_grid(CHEAP, 512, RATIOS, 2, KINDS[:1]),
    *_grid(("CKA", "RSA", "mutual kNN"), 1024, RATIOS[:5], 1, KINDS[:1]),
    *_grid(("CKA", "mutual kNN"), 2048, RATIOS[:3], 1, KINDS[:1]),
    *_grid(("CKA", "mutual kNN"), 4096, RATIOS[1:3], 1, KINDS[:1]),
]


@study(
    "width",
    paper="Null calibration, 6.1, Figure 3, and the full null drift results",
    version=1,
    full=FULL,
    quick={
        "measure": ["CKA", "RSA", "mutual kNN"],
        "kind": ["Gaussian"],
        "n": [128],
        "ratio": RATIOS,
        "seed": range(6),
    },
    published="width.csv",
)
def width(measure: str, kind: str, n: int, ratio: float, seed: int) -> dict[str, float]:
    """Do raw scores of independent representations rise with their width, while calibrated scores do not?

    n rows of d = ratio n independent features; 200 permutations.
    """
    rng = np.random.default_rng([seed, n, round(1000 * ratio), KINDS.index(kind)])
    X, Y = noise(kind, (2, n, max(12, round(ratio * n))), rng)
    result = calibrate(X, Y, measure, n_permutations=200, seed=seed)
    numbers = ("score", "threshold", "p_value", "centred", "z", "adjusted")
    return {"raw": result.observed, **{name: float(getattr(result, name)) for name in numbers}}


@width.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Draw raw and calibrated scores, count what calibration calls significant, and judge each description."""
    n = 512 if (rows.n == 512).any() else rows.n.min()
    gaussian = rows[(rows.kind == "Gaussian") & (rows.n == n)]
    fig, axes = figure(2, sharey=True)
    for ax, name, title in zip(axes, ("raw", "score"), ("raw", "calibrated"), strict=True):
        lines(ax, gaussian, "ratio", name, "measure", dashed=True)
        ax.set(xlabel=f"features per row, d / n (n = {n})", title=title)
        logarithmic(ax, rows.ratio)
    axes[0].set_ylabel("score of independent data")
    axes[1].legend(handles=axes[0].lines, frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    table = (
        rows.groupby(["measure", "kind", "n", "ratio"], sort=False)[["raw", "score", "adjusted", "z"]]
        .mean()
        .reset_index()
    )
    notes = (
        "The paper prints no numbers for these figures, so we judge its descriptions one by one.",
        (
            "If the features span all n - 1 dimensions of centred rows, all canonical correlations are 1. CCA then "
            "has no score, and PWCCA is 1. The published peak and decay can be explained by a ridge added to the "
            "covariances, which damps more directions for larger d."
        ),
        "With representations scaled to norm 1, the Procrustes similarity of noise rises with the width, like the "
        "spectral measures. The published variant, 1 - d / ||Y||, is negative for noise.",
        "We ran the paper's larger sizes, n = 2,048 and 4,096, for CKA and mutual kNN only.",
    )
    picture = Picture(
        "width", fig, ("Raw and calibrated scores of independent data against the number of features per row (d / n)")
    )
    return Page("", (("Means", table),), (picture,), notes, against(published, {}))


width.facts(make_facts)
