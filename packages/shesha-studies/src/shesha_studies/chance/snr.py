"""At which ratios of signal to noise is a signal detected?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha.studies.facts import (
    Fact,
    Facts,
    as_facts,
    group_means,
    largest,
    resampled_groups,
    smallest,
    steps,
)
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import grid, heat
from shesha.studies.study_decorator import grid_of, study

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
    return {"raw": result.observed, "score": result.score, "adjusted": result.adjusted, "p_value": result.p_value}


@snr.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Draw both heat maps per rank, and find the edge of detection under both readings of the signal's size."""
    ranks = sorted(rows["rank"].unique())
    planes = _planes(rows[rows.power == rows.power.iloc[0]])
    fig, axes = grid(2, len(ranks), width=3.1, height=2.3)
    for column, rank in enumerate(ranks):
        for line, name in enumerate(("raw", "score")):
            heat(
                axes[line][column], planes[rank, name], title=f"{'raw' if name == 'raw' else 'calibrated'}, rank {rank}"
            )
    edges = _edges(rows)
    table = edges.rename("noise / strength at which the mean score falls below 0.1").reset_index()
    shows = f"Raw and calibrated CKA against noise and strength, by rank; factors of unit variance {rows.power.iloc[0]}"
    tables = (("Edges of detection", table),)
    return Page("", tables, (Picture("snr", fig, shows),))


def _planes(rows: pd.DataFrame) -> dict[tuple[int, str], pd.DataFrame]:
    """Table of mean scores with strengths in rows and noise in columns."""
    planes = {}
    for rank in sorted(rows["rank"].unique()):
        for name in ("raw", "score"):
            plane = rows[rows["rank"] == rank].pivot_table(index="strength", columns="noise", values=name)
            planes[int(rank), name] = plane.sort_index(ascending=False)
    return planes


def _edge(rows: pd.DataFrame) -> float:
    """Ratio of noise to strength at which the mean calibrated score falls below 0.1, by interpolation."""
    means = rows.assign(ratio=rows.noise / rows.strength).groupby("ratio").score.mean()
    below = int(np.argmax(means.to_numpy() < LOST)) if (means < LOST).any() else len(means) - 1
    if below == 0:
        return float(means.index[0])
    x, y = np.log(means.index.to_numpy()[below - 1 : below + 1]), means.to_numpy()[below - 1 : below + 1]
    return float(np.exp(x[0] + (y[0] - LOST) / (y[0] - y[1]) * (x[1] - x[0])))


def _edges(rows: pd.DataFrame) -> pd.Series[float]:
    edges = pd.Series({key: _edge(group) for key, group in rows.groupby(["power", "rank"], sort=False)})
    edges.index.names = ["power", "rank"]
    return edges


_CELL = ["rank", "strength", "noise"]
_OPEN_RATIOS = (1 / 4, 4)
"""Values of d / n that the paper leaves open; raw CKA without a signal is d / (n + d)."""


@snr.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Raw and calibrated scores over the plane of signal and noise, and the edge of detection by rank."""
    edges, plain = _edges(rows), rows[rows.power == PER_FACTOR]
    means = plain.groupby(["rank", "strength", "noise"])[["raw", "score"]].mean().reset_index()
    end = means[means.noise == means.noise.max()].groupby("strength").score.max()
    values: dict[str, Any] = {
        "lowest_raw": smallest(group_means(plain, _CELL, "raw")),
        # The limits are those of the widths that the paper leaves open.
        "raw_floor": Fact(means.raw.min(), *(ratio / (1 + ratio) for ratio in _OPEN_RATIOS)),
        "loud": smallest(group_means(plain[plain.noise <= plain.strength / 4], _CELL, "score")),
        "drowned": largest(group_means(plain[plain.noise >= 32 * plain.strength], _CELL, "score")),
        "largest_rise": largest(
            step for _, group in plain.groupby(["rank", "strength"]) for step in steps(group, "noise", "score")
        ),
        **{"loudest noise": means.noise.max(), "left of strongest": end.iloc[-1], "strongest": end.index[-1]},
        "edges in words": "; ".join(
            f"unit variance {power} " + ", ".join(f"{value:.3g} (rank {rank})" for rank, value in edges[power].items())
            for power in rows.power.unique()
        ),
    }
    return as_facts(values | (_widths(rows) if PER_ENTRY in set(rows.power) else {}))


def _edge_rise(rows: pd.DataFrame) -> float:
    """Smallest rise of the edge of detection from one rank to the next."""
    return float(np.diff(_edges(rows)).min())


def _doublings(rows: pd.DataFrame) -> list[float]:
    """Number of doublings of the noise by which the score falls from 0.9 to 0.1, by rank."""
    rows, doublings = rows.assign(ratio=rows.noise / rows.strength), []
    for rank in RANKS:
        means = rows[rows["rank"] == rank].groupby("ratio").score.mean()
        high, low = (np.interp(-level, -means.to_numpy(), np.log2(means.index.to_numpy())) for level in (0.9, 0.1))
        doublings.append(float(low - high))
    return doublings


def _more_doublings(rows: pd.DataFrame) -> float:
    """Smallest number of doublings that a higher rank needs in addition to those of rank 1."""
    first, *others = _doublings(rows)
    return min(others) - first


def _widths(rows: pd.DataFrame) -> dict[str, Any]:
    """Facts on how fast the score falls, and on whether the edge rises at equal power."""
    factor, entry = (rows[rows.power == power] for power in (PER_FACTOR, PER_ENTRY))
    phrases = (f"{value:.2f} (rank {rank})" for rank, value in zip(RANKS, _doublings(factor), strict=True))
    rises = [resampled_groups(_edge_rise, table, "seed", draws=100) for table in (entry, factor)]
    return {
        **dict(zip(("edge_rise", "edge_rise_per_factor"), rises, strict=True)),
        # The limits span both scalings, because the paper does not print its own.
        "edge_rise_any": Fact(sum(rise.value for rise in rises) / 2, smallest(rises).low, largest(rises).high),
        "more_gradual": smallest(
            resampled_groups(_more_doublings, table, "seed", draws=100) for table in (factor, entry)
        ),
        "doublings in words": ", ".join(phrases),
    }
