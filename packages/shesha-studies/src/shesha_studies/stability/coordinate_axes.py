"""How much of stability belongs to the coordinate axes?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.stability import basis_averaged_split, chance, feature_split
from shesha.studies.facts import Facts, as_facts
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha.studies.study_decorator import study
from shesha_studies.causal_lm_embeddings import CAUSAL, SINK
from shesha_studies.stability._coordinate_axes_representations import STANDARDISED, every, read_rows

_CHEAP = ("synthetic", "digits", "cells", "neurons")


@study(
    "axes",
    paper="new",
    version=1,
    full=every(range(2)),
    quick=[cell for cell in every(range(1)) if cell["family"] in _CHEAP],
)
def axes(family: str, name: str, state: str, seed: int) -> dict[str, float]:
    """Which share of a feature split is a property of the coordinate axes, before and after training?

    The score is computed on the given axes, averaged over random bases, and after one random rotation, which must give
    the average. Columns are also centred, because a common mean row raises the score on any axes. There are at most 300
    rows.
    """
    X = read_rows(family, name, state, seed)
    centred = X - X.mean(axis=0)
    turn = np.linalg.qr(np.random.default_rng([seed, 1]).standard_normal((X.shape[1], X.shape[1])))[0]
    return {
        "rows": len(X),
        "features": X.shape[1],
        "split": feature_split(X, seed=320),
        "averaged": basis_averaged_split(X, seed=320),
        "split_centred": feature_split(centred, seed=320),
        "averaged_centred": basis_averaged_split(centred, seed=320),
        "turned_centred": feature_split(centred @ turn, seed=320),
        "chance": chance(centred, variant="feature_split", n_permutations=19, seed=seed).level,
    }


@axes.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Compare scores on the given axes with those averaged over bases."""
    rows = rows.assign(of_axes=rows.split_centred - rows.averaged_centred)
    scores = ["split", "averaged", "split_centred", "averaged_centred", "turned_centred", "chance", "of_axes"]
    table = rows.groupby(["family", "name", "state"], sort=False)[["features", *scores]].mean().reset_index()
    notes = (SINK,) if CAUSAL in set(rows.family) else ()
    fig, (ax,) = figure(width=4.8)
    kinds = rows.family.where(~rows["name"].str.endswith(STANDARDISED), f"{CAUSAL}, standardised")
    for colour, (family, part) in zip(PALETTE, rows.groupby(kinds, sort=False), strict=False):
        ax.scatter(part.averaged_centred, part.split_centred, s=16, color=colour, label=str(family))
    ax.plot([-0.1, 1], [-0.1, 1], color="0.7", linewidth=0.8)
    ax.set(xlabel="averaged over bases", ylabel="feature split on the given axes")
    ax.legend(frameon=False, fontsize="small", loc="upper left")
    picture = Picture("axes", fig, "Feature split on the given axes against the basis-averaged split")
    return Page("", (("Scores", table),), (picture,), notes)


@axes.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the effect of the axes on scores of networks, components, recordings and a causal model."""
    rows = rows.assign(of_axes=rows.split_centred - rows.averaged_centred)
    learned = rows[rows.family.isin(("digits", "MiniLM", "network"))]
    far: Any = learned.iloc[int(learned.of_axes.abs().argmax())]
    by_state = learned.groupby("state").of_axes.mean()
    components = rows[rows.name.str.contains("principal")]
    return as_facts(
        {
            # Mean absolute effect of the axes, as a share of the score.
            "share": (learned.of_axes.abs() / learned.split_centred.abs().clip(lower=0.05)).mean(),
            # Share of the variance of scores that the basis-averaged score explains as it is, without a fit.
            "variance_share": 1 - (learned.of_axes**2).mean() / learned.split_centred.var(ddof=0),
            "largest": -far.of_axes,
            "largest in words": f"{far['name']}, {far.state}",
            "untrained": by_state["untrained"],
            "trained": by_state["trained"],
            "single_rotation": (rows.turned_centred - rows.averaged_centred).abs().max(),
            "highest_chance": rows.chance.abs().max(),
            "mean_row": (rows.averaged - rows.averaged_centred).mean(),
            "components": components.split_centred.mean(),
            "components_averaged": components.averaged_centred.mean(),
            **_recorded_facts(rows),
            **_causal_facts(rows[rows.family == CAUSAL]),
        }
    )


_SCORES = {"": "split_centred", "_averaged": "averaged_centred"}


def _recorded_facts(rows: pd.DataFrame) -> dict[str, float]:
    """Mean scores of genes and of neurons."""
    groups = {"genes": rows[rows["name"] == "genes"], "neurons": rows[rows.family == "neurons"]}
    return {
        f"{label}{suffix}": group[column].mean()
        for label, group in groups.items()
        if len(group)
        for suffix, column in _SCORES.items()
    }


def _causal_facts(rows: pd.DataFrame) -> dict[str, float]:
    """Ranges for the causal model, as it is and with columns of equal variance; empty if it was not run."""
    if rows.empty:
        return {}
    standardised = rows["name"].str.endswith(STANDARDISED)
    ranges = {
        f"{label}{suffix}_{end}": rows.loc[chosen, column].agg(extreme)
        for label, chosen in (("causal", ~standardised), ("standardised", standardised))
        for suffix, column in _SCORES.items()
        for end, extreme in (("lowest", "min"), ("highest", "max"))
    }
    return ranges | {"standardised_difference": rows[standardised].of_axes.abs().max()}
