"""Does the correction for chance follow the width of real networks?"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from shesha.calibration import calibrate
from shesha.descriptors import participation_ratio
from shesha.studies.facts import Fact, Facts, as_facts, over_draws, rank_correlation
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha.studies.study_decorator import study
from shesha_studies.networks.images import IMAGES, as_rows
from shesha_studies.networks.perceptrons import network

N = 1024
WIDTHS = (32, 64, 128, 256, 512, 1024)
_ERROR_OF_QUANTILE = 0.149
"""Standard error of a normal 95 % quantile from 200 draws, sqrt(0.05 * 0.95 / 200) / 0.103 standard deviations."""
AS_TRAINED, COPIED = "as trained", "every feature four times"


def _grid(data: str, epochs: int, variant: str) -> list[dict[str, Any]]:
    return [
        {"data": data, "epochs": epochs, "first": first, "second": second, "variant": variant}
        for first, second in combinations_with_replacement(WIDTHS, 2)
    ]


@study(
    "width-real",
    paper="Null calibration, width confounder under genuine signal on real networks",
    version=1,
    full=[
        *(cell for data in IMAGES for cell in _grid(data, 6, AS_TRAINED)),
        *(cell for data in IMAGES for cell in _grid(data, 6, COPIED) if cell["second"] <= 128),
        *(cell for data in IMAGES for cell in _grid(data, 0, AS_TRAINED)),
    ],
    quick=[
        cell for variant in (AS_TRAINED, COPIED) for cell in _grid("Fashion-MNIST", 6, variant) if cell["second"] <= 128
    ],
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
        "raw": calibrated.observed,
        "score": calibrated.score,
        "threshold": calibrated.threshold,
        "chance": calibrated.null_mean,
        "effective": float(np.sqrt(ratios[0] * ratios[1])),
        "accuracy": nets[0].accuracy(rows, labels),
    }


@width_real.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Draw the threshold against the width, and against the effective dimension."""
    rows = rows.assign(trained=np.where(rows.epochs > 0, "trained", "untrained"))
    groups = rows[rows.variant == AS_TRAINED].groupby(["data", "trained"], sort=False)
    columns = {"total_width": "total width", "effective": "root of the participation ratios"}
    lines = [(*key, *df[list(columns)].corrwith(df.threshold)) for key, df in groups]
    names = [f"correlation of the threshold with {name}" for name in ("width", "effective dimension")]
    table = pd.DataFrame(lines, columns=["data", "trained", *names])
    fig, axes = figure(2)
    for ax, (column, label) in zip(axes, columns.items(), strict=True):
        for (data, kind), group in groups:
            ax.scatter(group[column], group.threshold, s=14, label=f"{data}, {kind}")
        ax.set(xlabel=label, ylabel="threshold of CKA (n = 1,024)")
    axes[0].legend(frameon=False, fontsize="x-small")
    shows = "Null threshold against the total width, and against the effective dimension"
    return Page("", (("Correlations", table),), (Picture("width_real", fig, shows),))


@width_real.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Correlation of the threshold with width and with effective dimension."""
    plain = rows[rows.variant == AS_TRAINED]
    groups = [df for _, df in plain.groupby(["data", plain.epochs > 0])]
    values: dict[str, Any] = {}
    for name in ("total_width", "effective"):
        correlations = [df[name].corr(df.threshold) for df in groups]
        values |= {f"{name}_min": min(correlations), f"{name}_max": max(correlations)}
    return as_facts(
        {
            **values,
            "highest_threshold": rows.threshold.max(),
            "width": min((_correlation_of_width(df) for df in groups), key=lambda fact: fact.value),
            "width_given_effective": min(
                (_partial_correlation_of_width(df) for df in groups), key=lambda fact: fact.value
            ),
            **_same_width(plain[plain["first"] == plain.second]),
            "copied": _ratio_by_copies(rows[rows.epochs > 0]),
        }
    )


def _n_networks(table: pd.DataFrame) -> int:
    """Number of networks, by which intervals are computed: pairs that share a network are not independent."""
    return int(table["first"].nunique() + table.second.nunique())


def _correlation_of_width(table: pd.DataFrame) -> Fact:
    return rank_correlation(float(table.total_width.corr(table.threshold)), _n_networks(table))


def _partial_correlation_of_width(table: pd.DataFrame) -> Fact:
    """Partial correlation of threshold and width, controlling for effective dimension."""
    width, other = (table[name].corr(table.threshold) for name in ("total_width", "effective"))
    both = table.total_width.corr(table.effective)
    partial = (width - other * both) / np.sqrt((1 - other**2) * (1 - both**2))
    return rank_correlation(float(partial), _n_networks(table), 1)


def _ratio_by_copies(rows: pd.DataFrame) -> Fact:
    """Mean ratio of the thresholds with and without copied features; pairs of networks are draws."""
    thresholds = rows.pivot_table(index=["data", "first", "second"], columns="variant", values="threshold").dropna()
    return over_draws(thresholds[COPIED] / thresholds[AS_TRAINED])


def _same_width(table: pd.DataFrame) -> dict[str, Fact]:
    """Difference between the thresholds of trained and untrained networks of one width, also in permutation errors."""
    # Standard error of the 95 % quantile of a normal null from 200 permutations, as a share of the threshold.
    table = table.assign(error=_ERROR_OF_QUANTILE * (1 - table.chance / table.threshold) / norm.ppf(0.95))
    bare, trained = (table[table.epochs == epochs].set_index(["data", "first"]) for epochs in (0, 6))
    difference = np.abs(np.log(trained.threshold / bare.threshold))
    return {
        "same_width": over_draws(np.exp(difference)),
        "same_width_in_errors": over_draws(difference / np.hypot(bare.error, trained.error)),
    }
