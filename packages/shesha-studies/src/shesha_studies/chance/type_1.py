"""How often does calibration call unrelated data similar?"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha.charts import PALETTE
from shesha.support.types import Matrix
from shesha.support.warnings import CalibrationWarning
from shesha_studies.framework.facts import over_draws, share
from shesha_studies.framework.page import Page, Picture
from shesha_studies.framework.pictures import figure
from shesha_studies.framework.rates import binomial_limits
from shesha_studies.framework.study_decorator import grid_of, study
from shesha_studies.measures_of_stored_rows import measure_of_stored_rows
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


_grid = grid_of(*_CONFIGURATION, "seed")
_PAIR = [*_CONFIGURATION[1:], "seed"]
"""Columns that identify a pair of representations, to which all measures are applied."""


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
        return {"p_value": calibrate(X, Y, measure_of_stored_rows(measure), n_permutations=99, seed=seed).p_value}
    # The seed does not depend on the design, so that all designs are applied to the same pairs.
    rng = np.random.default_rng([seed, n, round(1000 * ratio), kind.startswith("clusters")])
    X, Y = (_dependent(kind, shape, rng) for _ in range(2))
    option, eighths = DEPENDENT[kind], np.arange(n) // (n // _CLUSTERS)
    design: dict[str, Any] = {option: True if option == "shift" else eighths} if option else {}
    with warnings.catch_warnings():
        # The rows are dependent on purpose, so the warning is expected.
        warnings.simplefilter("ignore", CalibrationWarning)
        return {
            "p_value": calibrate(X, Y, measure_of_stored_rows(measure), n_permutations=99, seed=seed, **design).p_value
        }


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
    groups = rows.assign(hit=rows.p_value <= ALPHA).groupby(_CONFIGURATION, sort=False)
    table = groups.agg(rate=("hit", "mean"), draws=("hit", "size")).reset_index()
    free, bound = table[~table.kind.isin(DEPENDENT)], table[table.kind.isin(DEPENDENT)]
    fig, axes = figure(2, width=4.8)
    for place, (_, group) in enumerate(free.groupby("measure", sort=False)):
        axes[0].plot(place + np.linspace(-0.35, 0.35, len(group)), group.rate, "o", markersize=3)
    axes[0].set_xticks(range(free.measure.nunique()), free.measure.unique())
    axes[0].axhspan(
        *binomial_limits(ALPHA, int(free.draws.min())), color="0.9", zorder=0, label="95 % of rates by chance"
    )
    axes[0].axhline(ALPHA, color="0.5", linewidth=0.8, linestyle="--", label=f"level, {ALPHA:g}")
    axes[0].legend(frameon=False, fontsize="small", loc="upper right")
    axes[0].set(ylabel="share with p <= 0.05", ylim=(-0.005, max(0.2, free.rate.max() * 1.1)), title="independent rows")
    axes[0].tick_params(axis="x", labelsize="x-small")
    axes[1].barh(bound.kind, bound.rate, color=PALETTE[0])
    axes[1].invert_yaxis()
    axes[1].axvline(ALPHA, color="0.5", linewidth=0.8, linestyle="--")
    axes[1].set(xlabel="share with p <= 0.05", xlim=(0, 1), title="rows that depend on one another")
    shows = (
        "Share of unrelated pairs with p <= 0.05: independent rows, with one dot per configuration, and dependent rows"
    )
    return Page("", (("Rates", table),), (Picture("type_1", fig, shows),))


@type_1.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> dict[str, Any]:
    """Return the shares of unrelated pairs that are called similar, for independent and for dependent rows."""
    hits, free = rows.p_value <= ALPHA, ~rows.kind.isin(DEPENDENT)
    # Pairs are the units, because all measures are applied to the same pairs.
    rates = hits[free].groupby([rows[name] for name in _PAIR]).mean()
    single = [share(part) for _, part in hits[free].groupby([rows[key] for key in _CONFIGURATION])]
    by_kind = {kind: share(hits[rows.kind == kind]) for kind in DEPENDENT}
    both = (by_kind["clusters, free"], by_kind["series, free"])
    return {
        "rate": over_draws(rates),
        "pairs": len(rates),
        "clustered": (rows.kind == "clusters, free").sum(),
        "configurations": len(single),
        "configurations_above": sum(fact.low > ALPHA for fact in single),
        **{kind.replace(", ", "_").replace(" ", "_"): rate for kind, rate in by_kind.items()},
        "dependent_free": min(both, key=lambda fact: fact.value),
    }
