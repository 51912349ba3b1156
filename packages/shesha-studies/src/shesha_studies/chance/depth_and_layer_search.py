"""Does the maximum over layer pairs rise with the number of pairs?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha.charts import PALETTE
from shesha.comparison import compare_layers
from shesha.support.types import Matrix
from shesha_studies.framework.facts import (
    Fact,
    difference,
    group_means,
    largest,
    over_draws,
    resampled,
    share,
    smallest,
    steps,
)
from shesha_studies.framework.page import Page, Picture
from shesha_studies.framework.pictures import draw_with_intervals, figure, logarithmic
from shesha_studies.framework.study_decorator import grid_of, study

N, RATIO = 64, 8
ALPHA = 0.05
LAYERS = (2, 4, 8, 16, 32, 64, 128)
_AGGREGATES = {"row_max": "best partner of each layer", "top_k": "ten best pairs"}

_grid = grid_of("layers", "aggregate", "kinship", "seed")


@study(
    "depth",
    paper="Null calibration, 6.2 and the depth confounder",
    version=2,
    full=[
        *_grid(LAYERS[:5], ["max"], [0.0], range(40)),
        *_grid(LAYERS[5:6], ["max"], [0.0], range(12)),
        *_grid(LAYERS[6:], ["max"], [0.0], range(4)),
        *_grid(LAYERS[:4], ["row_max", "top_k"], [0.0], range(20)),
        *_grid(LAYERS[:5], ["max"], [0.9], range(20)),
    ],
    quick=_grid(LAYERS[:4], ["max"], [0.0], range(12)),
    published="depth.csv",
)
def depth(layers: int, aggregate: str, kinship: float, seed: int) -> dict[str, float]:
    """Does the maximum over layer pairs of two unrelated models rise with their depth, and does calibration prevent it?

    The models have 64 rows and 512 features, and are compared by CKA with 99 permutations, each applied to all layers.
    Neighbouring layers share the given part of their variance.
    """
    rng = np.random.default_rng([seed, layers, round(100 * kinship)])
    a, b = (_model(layers, kinship, rng) for _ in range(2))
    result = compare_layers(a, b, "CKA", calibrate=True, aggregate=aggregate, n_permutations=99, seed=seed)
    grid = result.matrix().to_numpy()
    i, j = int(result.closest.first), int(result.closest.second)
    alone = calibrate(a[i], b[j], "CKA", n_permutations=99, seed=seed)
    return {
        "raw": result.value,
        "calibrated": result.calibrated,
        "p_value": result.p_value,
        "best_alone": alone.calibrated,
        "best_alone_p": alone.p_value,
        "pair_mean": float(grid.mean()),
        "pair_sd": float(grid.std(ddof=1)),
    }


def _model(layers: int, kinship: float, rng: np.random.Generator) -> list[Matrix]:
    """Draw layers of unit variance, each a mixture of the previous layer and independent noise."""
    matrices = [rng.standard_normal((N, RATIO * N))]
    while len(matrices) < layers:
        matrices.append(np.sqrt(kinship) * matrices[-1] + np.sqrt(1 - kinship) * rng.standard_normal((N, RATIO * N)))
    return matrices


@depth.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Draw three maxima, and how often each is called significant."""
    rows = rows.assign(hit=rows.p_value <= ALPHA, hit_alone=rows.best_alone_p <= ALPHA)
    columns = ["raw", "best_alone", "calibrated", "hit_alone", "hit", "pair_mean", "pair_sd"]
    table = rows.groupby(["aggregate", "kinship", "layers"], sort=False)[columns].mean().reset_index()
    fig, axes = figure(3, width=3.8)
    plain = _plain(rows)
    for ax, column, summary, name, colour in (
        (axes[0], "raw", over_draws, "raw maximum", PALETTE[0]),
        (axes[1], "best_alone", over_draws, "best pair alone", PALETTE[1]),
        (axes[1], "calibrated", over_draws, "maximum", PALETTE[2]),
        (axes[2], "hit_alone", share, "best pair alone", PALETTE[1]),
        (axes[2], "hit", share, "maximum", PALETTE[2]),
    ):
        means = plain.groupby("layers")[column].apply(summary)
        draw_with_intervals(ax, means.index, means, fmt="o-", color=colour, label=name)
    axes[2].axhline(ALPHA, color="0.6", linewidth=0.8, linestyle="--", label=f"level, {ALPHA:g}")
    for ax, label in zip(axes, ("raw CKA", "calibrated CKA", "share with p <= 0.05"), strict=True):
        logarithmic(ax, plain.layers)
        ax.set(xlabel="layers of each model", ylabel=label)
        ax.legend(frameon=False, fontsize="small")
    axes[2].set_ylim(-0.02, 1.02)
    shows = (
        "Maximum over layer pairs of unrelated models, and rate of false positives, against depth, with 95 % intervals"
    )
    return Page("", (("Means", table),), (Picture("depth", fig, shows),))


def _plain(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the maximum over independent layers."""
    return rows[(rows["aggregate"] == "max") & (rows.kinship == 0)]


def _ends(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the rows with the fewest and with the most layers."""
    return [rows[rows.layers == end] for end in (rows.layers.min(), rows.layers.max())]


@depth.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> dict[str, Any]:
    """Return the rise of the raw maximum with depth, and how often the best pair and the maximum are significant."""
    table = _plain(rows)
    (few, many), deep = _ends(table), table[table.layers >= 16]
    others, kin = rows[rows["aggregate"] != "max"], rows[rows.kinship > 0]
    ends = {str(name): [df.raw for df in _ends(group)] for name, group in others.groupby("aggregate")}
    (kin_few, kin_many), free = _ends(kin), table[table.layers == kin.layers.max()]
    return {
        "rise": difference(many.raw, few.raw),
        "calibrated_rise": difference(many.calibrated, few.calibrated),
        "calibrated": largest(group_means(table, ["layers"], "calibrated")),
        "rise_share": _rise_share(table),
        "rate": share(table.p_value <= ALPHA),
        "models": len(table),
        "alone_rate": share(deep.best_alone_p <= ALPHA),
        "fewest": table.layers.min(),
        "most": table.layers.max(),
        "pair_mean": few.pair_mean.mean(),
        "alone_fewest": few.best_alone.mean(),
        "alone_most": many.best_alone.mean(),
        "alone_rise": difference(many.best_alone, few.best_alone),
        "aggregates in words": ", ".join(
            f"{_AGGREGATES[name]}: {a.mean():.4f} to {b.mean():.4f}" for name, (a, b) in ends.items()
        ),
        "aggregates_rise": smallest(difference(b, a) for a, b in ends.values()),
        "aggregates_share": largest(_rise_share(group) for _, group in others.groupby("aggregate")),
        "aggregates_calibrated": largest(group_means(others, ["aggregate", "layers"], "calibrated")),
        "kin_fewest": kin_few.raw.mean(),
        "kin_most": kin_many.raw.mean(),
        "free_most": free.raw.mean(),
        "kin_rise": difference(kin_many.raw, kin_few.raw),
        "kin_step": smallest(steps(kin, "layers", "raw")),
        "kin_slower": difference(free.raw, kin_many.raw),
        **_extremes(table),
    }


def _rise_share(table: pd.DataFrame) -> Fact:
    """Rise of calibrated maxima with the logarithm of the depth, as a share of the raw rise; models are resampled."""
    values = np.array([np.log(table.layers), table.calibrated, table.raw])

    def ratio(models: Any) -> float:
        covariances = np.cov(values[:, models])[0]
        return float(covariances[1] / covariances[2])

    return resampled(ratio, len(table))


def _extremes(table: pd.DataFrame) -> dict[str, Any]:
    """Compare maxima with Proposition 6 and the mean of extremes of Gaussian scores, in standard deviations."""
    logs = np.log(table.layers.astype(float) ** 2)
    above = (table.raw - table.pair_mean) / table.pair_sd
    expected = np.sqrt(2 * logs) - (np.log(logs) + np.log(4 * np.pi)) / (2 * np.sqrt(2 * logs))
    table = table.assign(in_bounds=above / np.sqrt(logs), beyond=above - expected)
    deepest = [(str(layers), values) for layers, values in table.groupby("layers").beyond][-3:]
    shallower = [f"{over_draws(values):+.2f|} at L = {layers}" for layers, values in deepest[:-1]]
    return {
        "in_bounds": largest(group_means(table, ["layers"], "in_bounds")),
        "beyond in words": f"{', '.join(shallower)} and {over_draws(deepest[-1][1]):+.2f} at L = {deepest[-1][0]}",
    }
