"""How often does calibration call unrelated data similar?"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha.charts import PALETTE
from shesha.studies.facts import Fact, Facts, over_draws, share
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha.studies.rates import binomial_limits
from shesha.studies.study_decorator import grid_of, study
from shesha.support.types import Matrix
from shesha.support.warnings import CalibrationWarning
from shesha_studies.synthetic_data import noise

ALPHA = 0.05
NOISES = ("Gaussian", "Student's t")
_CLUSTERS, _MEMORY = 8, 0.9
DEPENDENT = {
    "clusters, free": None,
    "clusters, within blocks": "blocks",
    "clusters, whole blocks": "groups",
    "series, free": None,
    "series, within blocks": "blocks",
    "series, whole blocks": "groups",
    "series, shifted": "shift",
}
"""Dependent rows (eight clusters with separate offsets, or AR(0.9)) and their permutation; values are design
arguments."""
_CONFIGURATION = ["measure", "kind", "n", "ratio"]
_PAIR = [*_CONFIGURATION[1:], "seed"]
"""Columns that identify a pair of representations, to which all measures are applied."""


_grid = grid_of(*_CONFIGURATION, "seed")


@study(
    "type-1",
    paper="Null calibration, 6.1, statistical guarantees, left",
    version=2,
    full=[
        *_grid(["CKA", "SVCCA(components=10)", "RSA", "mutual kNN"], NOISES, [64, 128], [0.25, 1, 4], range(60)),
        *_grid(["CKA"], list(DEPENDENT), [128], [0.125], range(400)),
    ],
    quick={"measure": ["CKA", "mutual kNN"], "kind": ["Gaussian"], "n": [64], "ratio": [0.25, 4], "seed": range(60)},
    published="type-1.csv",
)
def type_1(measure: str, kind: str, n: int, ratio: float, seed: int) -> dict[str, float]:
    """Does the share of unrelated pairs that are called similar stay at the nominal level?

    The data have n rows and ratio x n independent features. There are 99 permutations, and the level is 0.05.
    """
    shape = (n, max(8, round(ratio * n)))
    if kind not in DEPENDENT:
        rng = np.random.default_rng([seed, n, round(1000 * ratio), len(kind)])
        X, Y = noise(kind, (2, *shape), rng)
        return {"p_value": calibrate(X, Y, measure, n_permutations=99, seed=seed).p_value}
    # The seed does not depend on the design, so that all designs are applied to the same pairs.
    rng = np.random.default_rng([seed, n, round(1000 * ratio), kind.startswith("clusters")])
    X, Y = (_dependent(kind, shape, rng) for _ in range(2))
    eighths = np.arange(n) // (n // _CLUSTERS)
    designs: dict[str | None, dict[str, Any]] = {
        None: {},
        "blocks": {"blocks": eighths},
        "groups": {"groups": eighths},
        "shift": {"shift": True},
    }
    with warnings.catch_warnings():
        # The rows are dependent on purpose, so the warning is expected.
        warnings.simplefilter("ignore", CalibrationWarning)
        return {"p_value": calibrate(X, Y, measure, n_permutations=99, seed=seed, **designs[DEPENDENT[kind]]).p_value}


def _dependent(kind: str, shape: tuple[int, int], rng: np.random.Generator) -> Matrix:
    """Draw eight consecutive clusters with offsets as large as the noise, or a stationary series."""
    steps = rng.standard_normal(shape)
    if kind.startswith("clusters"):
        return np.asarray(steps + np.repeat(rng.standard_normal((_CLUSTERS, shape[1])), shape[0] // _CLUSTERS, axis=0))
    rows = [steps[0]]
    for step in steps[1:]:
        rows.append(_MEMORY * rows[-1] + np.sqrt(1 - _MEMORY**2) * step)
    return np.array(rows)


@type_1.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Count rejections per configuration, with the limits of chance."""
    table = (
        rows.assign(hit=rows.p_value <= ALPHA)
        .groupby(_CONFIGURATION, sort=False)
        .hit.agg(["mean", "size"])
        .reset_index()
    )
    table = table.rename(columns={"mean": "rate", "size": "draws"})
    free = table[~table.kind.isin(DEPENDENT)]
    low, high = binomial_limits(ALPHA, int(free.draws.min()))
    fig, axes = figure(2, width=4.8)
    for place, (_, group) in enumerate(free.groupby("measure", sort=False)):
        axes[0].scatter(np.full(len(group), place), group.rate, s=16)
    axes[0].axhspan(low, high, color="0.9", zorder=0)
    axes[0].set(ylabel="share with p <= 0.05", ylim=(0, max(0.2, free.rate.max() * 1.1)), title="independent rows")
    axes[0].set_xticks(range(free.measure.nunique()), free.measure.unique(), rotation=20, ha="right", fontsize="small")
    bound = table[table.kind.isin(DEPENDENT)]
    axes[1].barh(bound.kind, bound.rate, color=PALETTE[0])
    axes[1].invert_yaxis()
    axes[1].set(xlabel="share with p <= 0.05", xlim=(0, 1), title="rows that depend on one another")
    axes[0].axhline(ALPHA, color="0.5", linewidth=0.8, linestyle="--")
    axes[1].axvline(ALPHA, color="0.5", linewidth=0.8, linestyle="--")
    picture = Picture(
        "type_1",
        fig,
        "Share of unrelated pairs with p <= 0.05: independent rows, with one dot per configuration, and dependent rows",
    )
    return Page("", (("Rates", table),), (picture,))


@type_1.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the shares of unrelated pairs that are called similar, for independent and for dependent rows."""
    hits = rows.p_value <= ALPHA
    free = ~rows.kind.isin(DEPENDENT)
    single = [share(part) for _, part in hits[free].groupby([rows[key] for key in _CONFIGURATION])]
    values = {
        "rate": _rate_of_pairs(rows[free]),
        "pairs": Fact(float(rows[free].groupby(_PAIR).ngroups)),
        "clustered": Fact(float((rows.kind == next(iter(DEPENDENT))).sum())),
        "configurations": Fact(float(len(single))),
        "configurations_above": Fact(float(sum(fact.low > ALPHA for fact in single))),
    }
    for kind in DEPENDENT:
        mask = rows.kind == kind
        if mask.any():
            values[kind.replace(", ", "_").replace(" ", "_")] = share(hits[mask])
    both = [values[name] for name in ("clusters_free", "series_free") if name in values]
    return values | ({"dependent_free": min(both, key=lambda fact: fact.value)} if both else {})


def _rate_of_pairs(rows: pd.DataFrame) -> Fact:
    """Share of significant scores; pairs are the units, because all measures are applied to the same pairs."""
    return over_draws((rows.p_value <= ALPHA).groupby([rows[name] for name in _PAIR]).mean())
