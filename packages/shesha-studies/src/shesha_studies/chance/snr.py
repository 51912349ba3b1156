"""At which ratios of signal to noise is a signal detected?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha_studies.framework.facts import Fact, group_means, largest, resampled_groups, smallest, steps
from shesha_studies.framework.page import Page
from shesha_studies.framework.study_decorator import grid_of, study

N, D = 128, 256
LOST = 0.1
"""Calibrated score below which a signal counts as undetected."""
STRENGTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
NOISES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
RANKS = (1, 5, 10)
PER_FACTOR, PER_ENTRY = "per factor", "in all"

_grid = grid_of("power", "rank", "strength", "noise", "seed")


@study(
    "snr",
    paper="Null calibration, SNR heatmaps",
    version=1,
    full=[
        *_grid([PER_FACTOR], RANKS, STRENGTHS, NOISES, range(10)),
        *_grid([PER_ENTRY], RANKS, STRENGTHS, NOISES, range(5)),
    ],
    quick={"power": [PER_FACTOR], "rank": [1, 10], "strength": [1.0], "noise": NOISES, "seed": range(3)},
    published="snr.csv",
)
def snr(power: str, rank: int, strength: float, noise: float, seed: int) -> dict[str, float]:
    """Where in the plane of signal and noise does calibrated CKA rise, and does the rank of the signal move the edge?

    The data have 128 rows and 256 features. The measure is linear CKA, with 200 permutations. Either each factor of the
    signal has unit variance ("per factor"), or all factors together have ("in all").
    """
    rng = np.random.default_rng([seed, rank, round(100 * strength), round(100 * noise), len(power)])
    latent = rng.standard_normal((N, rank)) * (1.0 if power == PER_FACTOR else rank**-0.5)
    X, Y = (strength * latent @ rng.standard_normal((rank, D)) + noise * rng.standard_normal((N, D)) for _ in range(2))
    result = calibrate(X, Y, "CKA", n_permutations=200, seed=seed)
    return {"raw": result.value, "score": result.calibrated, "adjusted": result.adjusted, "p_value": result.p_value}


@snr.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Return a page without tables, because rules judge all lines."""
    return Page()


def _crossing(rows: pd.DataFrame, level: float) -> float:
    """Logarithm (base 2) of the ratio of noise to strength at which the mean calibrated score falls below a level."""
    ratios, group = np.unique(np.log2(rows.noise.to_numpy() / rows.strength.to_numpy()), return_inverse=True)
    means = np.bincount(group, rows.score.to_numpy()) / np.bincount(group)
    below = int(np.argmax(means < level))
    (x, x_below), (y, y_below) = (values[below - 1 : below + 1].tolist() for values in (ratios, means))
    return float(x + (y - level) / (y - y_below) * (x_below - x))


def _edges(rows: pd.DataFrame) -> pd.Series[float]:
    """Ratio of noise to strength at which the mean calibrated score falls below 0.1."""
    groups = rows.groupby(["power", "rank"], sort=False)
    return pd.Series({key: 2 ** _crossing(df, LOST) for key, df in groups}).rename_axis(["power", "rank"])


def _edge_rise(rows: pd.DataFrame) -> float:
    """Smallest rise of the edge of detection from one rank to the next."""
    return float(np.diff(_edges(rows)).min())


def _doublings(rows: pd.DataFrame) -> dict[Any, float]:
    """Number of doublings of the noise by which the score falls from 0.9 to 0.1, by rank."""
    return {rank: _crossing(df, LOST) - _crossing(df, 0.9) for rank, df in rows.groupby("rank")}


def _more_doublings(rows: pd.DataFrame) -> float:
    """Smallest number of doublings that a higher rank needs in addition to those of rank 1."""
    first, *others = _doublings(rows).values()
    return min(others) - first


_CELL = ["rank", "strength", "noise"]


@snr.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> dict[str, Any]:
    """Raw and calibrated scores over the plane of signal and noise, and the edge of detection by rank."""
    edges, factor, entry = _edges(rows), rows[rows.power == PER_FACTOR], rows[rows.power == PER_ENTRY]
    means = factor.groupby(_CELL)[["raw", "score"]].mean()
    end = means.xs(rows.noise.max(), level="noise").groupby("strength").score.max()
    rises = [resampled_groups(_edge_rise, table, "seed", draws=100) for table in (entry, factor)]
    return {
        "lowest_raw": smallest(group_means(factor, _CELL, "raw")),
        # Raw CKA without a signal is d / (n + d). The paper leaves d / n open; the limits are those of 1/4 and 4.
        "raw_floor": Fact(means.raw.min(), 0.2, 0.8),
        "loud": smallest(group_means(factor[factor.noise <= factor.strength / 4], _CELL, "score")),
        "drowned": largest(group_means(factor[factor.noise >= 32 * factor.strength], _CELL, "score")),
        "largest_rise": largest(
            step for _, group in factor.groupby(["rank", "strength"]) for step in steps(group, "noise", "score")
        ),
        "loudest noise": rows.noise.max(),
        "left of strongest": end.iloc[-1],
        "strongest": end.index[-1],
        "edges in words": "; ".join(
            f"unit variance {power} " + ", ".join(f"{edge:.3g} (rank {rank})" for rank, edge in edges[power].items())
            for power in rows.power.unique()
        ),
        "edge_rise": rises[0],
        "edge_rise_per_factor": rises[1],
        # The limits span both scalings, because the paper does not print its own.
        "edge_rise_any": Fact(sum(rise.value for rise in rises) / 2, smallest(rises).low, largest(rises).high),
        "more_gradual": smallest(
            resampled_groups(_more_doublings, table, "seed", draws=100) for table in (factor, entry)
        ),
        "doublings in words": ", ".join(f"{n:.2f} (rank {rank})" for rank, n in _doublings(factor).items()),
    }
