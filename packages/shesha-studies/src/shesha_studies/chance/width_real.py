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
    plain = rows[rows.variant == AS_TRAINED]
    groups = plain.groupby(["data", "trained"], sort=False)
    columns = {"width": "total_width", "effective dimension": "effective"}
    correlations = {key: group[list(columns.values())].corrwith(group.threshold) for key, group in groups}
    table = (
        pd.DataFrame(correlations)
        .T.rename_axis(index=["data", "trained"])
        .rename(columns={value: f"correlation of the threshold with {key}" for key, value in columns.items()})
    )
    fig, axes = figure(2)
    for (data, kind), group in groups:
        axes[0].scatter(group.total_width, group.threshold, s=14, label=f"{data}, {kind}")
        axes[1].scatter(group.effective, group.threshold, s=14)
    axes[0].set(xlabel="total width", ylabel="threshold of CKA (n = 1,024)")
    axes[1].set(xlabel="root of the participation ratios", ylabel="threshold of CKA (n = 1,024)")
    axes[0].legend(frameon=False, fontsize="x-small")
    picture = Picture("width_real", fig, "Null threshold against the total width, and against the effective dimension")
    return Page("", (("Correlations", table.reset_index()),), (picture,))


def _partial_correlation_of_width(table: pd.DataFrame) -> Fact:
    """Partial correlation of threshold and width, controlling for effective dimension; networks are resampled."""
    width, other = (table[name].corr(table.threshold) for name in ("total_width", "effective"))
    both = table.total_width.corr(table.effective)
    partial = (width - other * both) / np.sqrt((1 - other**2) * (1 - both**2))
    return rank_correlation(float(partial), table["first"].nunique() + table["second"].nunique(), 1)


@width_real.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Correlation of the threshold with width and with effective dimension."""
    plain = rows[rows.variant == AS_TRAINED]
    groups = list(plain.groupby(["data", plain.epochs > 0]))
    # The interval counts networks, because pairs that share a network are not independent.
    lowest = min(
        (
            rank_correlation(float(df.total_width.corr(df.threshold)), df["first"].nunique() + df.second.nunique())
            for _, df in groups
        ),
        key=lambda fact: fact.value,
    )
    partial = min((_partial_correlation_of_width(df) for _, df in groups), key=lambda fact: fact.value)
    ranges = {name: [df[name].corr(df.threshold) for _, df in groups] for name in ("total_width", "effective")}
    extremes = {f"{name}_{end.__name__}": end(values) for name, values in ranges.items() for end in (min, max)}
    return as_facts(
        extremes
        | {"highest_threshold": rows.threshold.max(), "width": lowest, "width_given_effective": partial}
        | _same_width(plain)
    )


def _same_width(plain: pd.DataFrame) -> dict[str, Fact]:
    """Difference between the thresholds of trained and untrained networks of one width, also in permutation errors."""
    table = plain[plain["first"] == plain.second].pivot_table(
        index=["data", "first"], columns="epochs", values=["threshold", "chance"]
    )
    if table["threshold"].shape[1] < 2:
        return {}
    thresholds: Any = table["threshold"]
    # Standard error of the 95 % quantile of a normal null from 200 permutations, as a share of the threshold.
    errors = _ERROR_OF_QUANTILE * (1 - table["chance"] / thresholds) / norm.ppf(0.95)
    apart = np.log(thresholds).diff(axis=1).iloc[:, -1].abs() / np.sqrt(np.square(errors).sum(axis=1))
    return {
        "same_width": over_draws(thresholds.max(axis=1) / thresholds.min(axis=1)),
        "same_width_in_errors": over_draws(apart),
    }
