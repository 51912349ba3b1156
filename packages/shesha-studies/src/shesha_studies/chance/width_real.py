"""Does the correction for chance follow the width of real networks?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha.descriptors import participation_ratio
from shesha_studies.framework.facts import over_draws, rank_correlation, smallest
from shesha_studies.framework.page import Page
from shesha_studies.framework.study_decorator import study
from shesha_studies.networks.images import IMAGES, as_rows
from shesha_studies.networks.perceptrons import network

N = 1024
WIDTHS = (32, 64, 128, 256, 512, 1024)
AS_TRAINED, COPIED = "as trained", "every feature four times"
LABELS = {"total_width": "total width", "effective": "root of the participation ratios"}


def _grid(data: Sequence[str], epochs: int, variant: str, widths: Sequence[int] = WIDTHS) -> list[dict[str, Any]]:
    return [
        {"data": name, "epochs": epochs, "first": first, "second": second, "variant": variant}
        for name in data
        for first, second in combinations_with_replacement(widths, 2)
    ]


@study(
    "width-real",
    paper="Null calibration, width confounder under genuine signal on real networks",
    version=1,
    full=[*_grid(IMAGES, 6, AS_TRAINED), *_grid(IMAGES, 6, COPIED, WIDTHS[:3]), *_grid(IMAGES, 0, AS_TRAINED)],
    quick=[cell for variant in (AS_TRAINED, COPIED) for cell in _grid(IMAGES[:1], 6, variant, WIDTHS[:3])],
    published="width-real.csv",
    stand_ins="perceptrons of 32 to 1,024 units replace the published vision transformers",
)
def width_real(data: str, epochs: int, first: int, second: int, variant: str) -> dict[str, float]:
    """At a fixed number of rows, does the null threshold grow with the width of trained networks?

    The data are the last hidden layers of two networks for 1,024 test images. Both networks are trained on the same
    images in the same way, but from different initial weights. The measure is linear CKA, with 200 permutations.
    """
    rows, labels = as_rows(data, "all", "test")
    nets = [network(data, "all", width, epochs, seed) for seed, width in enumerate((first, second))]
    X, Y = (net.layers(rows[:N])[-1] for net in nets)
    if variant == COPIED:
        X = np.repeat(X, 4, axis=1)
    calibrated = calibrate(X, Y, "CKA", n_permutations=200, seed=0)
    ratios = [float(participation_ratio(side)) for side in (X, Y)]
    return {
        "total_width": X.shape[1] + Y.shape[1],
        "raw": calibrated.value,
        "score": calibrated.calibrated,
        "threshold": calibrated.threshold,
        "chance": calibrated.chance,
        "effective": float(np.sqrt(ratios[0] * ratios[1])),
        "accuracy": nets[0].accuracy(rows, labels),
    }


def _correlations(rows: pd.DataFrame) -> pd.DataFrame:
    """Correlate the threshold with the width and with the effective dimension, for each data set and training."""
    lines = []
    for key, group in rows.groupby(["data", "training"], sort=False):
        width, effective = (group[name].corr(group.threshold) for name in LABELS)
        between = group.total_width.corr(group.effective)
        partial = (width - effective * between) / np.sqrt((1 - effective**2) * (1 - between**2))
        lines.append([*key, width, effective, partial])
    return pd.DataFrame(lines, columns=["data", "training", *LABELS, "partial"])


def _as_trained(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows without copied features, and whether their networks are trained."""
    rows = rows[rows.variant == AS_TRAINED]
    return rows.assign(training=np.where(rows.epochs > 0, "trained", "untrained"))


@width_real.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Return a page without tables, because rules judge all lines."""
    return Page()


@width_real.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> dict[str, Any]:
    """Correlation of the threshold with width and with effective dimension."""
    plain, trained = _as_trained(rows), rows[rows.epochs > 0]
    table = _correlations(plain)
    # Pairs that share a network are not independent, so intervals are those of the number of networks.
    networks = plain["first"].nunique() + plain.second.nunique()
    copies = trained.pivot(index=["data", "first", "second"], columns="variant", values="threshold")
    same = plain[plain["first"] == plain.second].pivot(index=["data", "first"], columns="training", values="threshold")
    same = same.reindex(columns=["trained", "untrained"])
    return {
        **{f"{name}_{end}": table[name].agg(end) for name in LABELS for end in ("min", "max")},
        "width": smallest(rank_correlation(rho, networks) for rho in table.total_width),
        "width_given_effective": smallest(rank_correlation(rho, networks, 1) for rho in table.partial),
        "same_width": over_draws(np.exp(np.abs(np.log(same.trained / same.untrained)))),
        "copied": over_draws(copies[COPIED] / copies[AS_TRAINED]),
    }
