"""How much of stability belongs to the coordinate axes?"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from shesha.data import digits_network
from shesha.kernels.rounding_and_scaling import is_constant
from shesha.stability import basis_averaged_split, estimate, feature_split
from shesha.support.types import Matrix
from shesha_studies.causal_lm_embeddings import CAUSAL, POOLINGS, SINK, encoder_rows
from shesha_studies.external_data import read_arrays
from shesha_studies.framework.facts import Facts, as_facts
from shesha_studies.framework.page import Page, Picture
from shesha_studies.framework.pictures import figure
from shesha_studies.framework.study_decorator import grid_of, study
from shesha_studies.networks.images import IMAGES
from shesha_studies.networks.networks_by_architecture import EPOCHS, train_network
from shesha_studies.sentence_encoders import encode_sentences
from shesha_studies.synthetic_data import mixture, noise, principal_component_scores

N_ROWS = 300
SYNTHETIC = ("isotropic signal", "noise", "its principal components")
SESSIONS = ("session01", "session05", "session09")
CELLS = {
    "genes": ("pbmc68k_reduced", "lognorm"),
    "principal components": ("pbmc68k_reduced", "pca50"),
    "principal components, knockouts": ("papalexi2021", "pca50"),
}
NETWORKS = tuple(f"{data}, {architecture}" for architecture in ("dense", "plain") for data in IMAGES)
STANDARDISED = ", columns standardised"
CAUSAL_LAYERS = tuple(
    f"{pooling}, layer {layer}{how}" for how in ("", STANDARDISED) for pooling in POOLINGS[:2] for layer in (6, 18, 30)
)
EPOCH_STATES = ("untrained", *(f"epoch {epoch}" for epoch in range(1, EPOCHS)), "trained")
_grid = grid_of("family", "name", "state", "seed")


def every(seeds: range) -> list[dict[str, object]]:
    """Return all representations by source, state of training and seed."""
    both = ("untrained", "trained")
    return [
        *sorted(_grid(["synthetic"], SYNTHETIC, "-", seeds), key=itemgetter("seed")),
        *_grid(["digits"], [f"layer{layer}" for layer in (1, 2, 3)], both, [0]),
        *_grid(["cells"], CELLS, "-", [0]),
        *_grid(["neurons"], SESSIONS, "-", [0]),
        *_grid(["MiniLM"], [f"layer {layer}" for layer in (0, 2, 4, 6)], both, [0]),
        *_grid([CAUSAL], CAUSAL_LAYERS, ["trained"], [0]),
        *sorted(_grid(["network"], NETWORKS, EPOCH_STATES, seeds), key=itemgetter("seed")),
    ]


def _synthetic(name: str, state: str, seed: int) -> Matrix:
    rng = np.random.default_rng([seed, 7])
    if name == "noise":
        return noise("Gaussian", (200, 128), rng)
    X = mixture(0.9, rng)
    return X if name == "isotropic signal" else principal_component_scores(X)[:, :-1]


def _causal(name: str, state: str, seed: int) -> Matrix:
    X = encoder_rows("SST-2", f"{CAUSAL}, {name.removesuffix(STANDARDISED).replace(', layer', ': layer')}")
    return X / X.std(axis=0) if name.endswith(STANDARDISED) else X


_ENCODERS = {"trained": "MiniLM", "untrained": "untrained"}
_LOADERS: dict[str, Callable[[str, str, int], Any]] = {
    "synthetic": _synthetic,
    "digits": lambda name, state, seed: digits_network()[0][f"{'init' if state == 'untrained' else state}_{name}"],
    "cells": lambda name, state, seed: read_arrays(CELLS[name][0], f"{CELLS[name][0]}.npz")[CELLS[name][1]],
    # Spikes of each neuron in each trial, summed over windows.
    "neurons": lambda name, state, seed: read_arrays("steinmetz2019", f"{name}.npz")["counts"].sum(axis=2),
    "MiniLM": lambda name, state, seed: encode_sentences("SST-2", f"{_ENCODERS[state]}, mean: {name}"),
    CAUSAL: _causal,
    "network": lambda name, state, seed: train_network(*name.split(", "), seed)[EPOCH_STATES.index(state)],
}
_CHEAP = ("synthetic", "digits", "cells", "neurons")


@study(
    "axes",
    paper="new",
    version=2,
    full=every(range(2)),
    quick=[cell for cell in every(range(1)) if cell["family"] in _CHEAP],
)
def axes(family: str, name: str, state: str, seed: int) -> dict[str, float]:
    """Which share of a feature split is a property of the coordinate axes, before and after training?

    The score is computed on the given axes, averaged over random bases, and after one random rotation, which must give
    the average. Columns are also centred, because a common mean row raises the score on any axes. There are at most 300
    rows.
    """
    X = np.asarray(_LOADERS[family](name, state, seed), dtype=np.float64)
    X = X[np.random.default_rng(seed).permutation(len(X))[:N_ROWS]]
    # Constant features contain no information on distances, so they are removed before splitting.
    X = X[:, ~is_constant(X)]
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
        "chance": estimate(centred, n_bootstrap=0, n_permutations=19, seed=seed).chance,
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
    for family, part in rows.groupby(kinds, sort=False):
        ax.scatter(part.averaged_centred, part.split_centred, s=16, label=str(family))
    ax.plot([-0.1, 1], [-0.1, 1], color="0.7", linewidth=0.8, label="equal")
    ax.set(xlabel="feature split averaged over bases", ylabel="feature split on the given axes")
    ax.legend(frameon=False, fontsize="small", loc="upper left")
    picture = Picture("axes", fig, "Feature split on the given axes against the basis-averaged split")
    return Page("", (("Scores", table),), (picture,), notes)


@axes.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the effect of the axes on scores of networks, components, recordings and a causal model."""
    rows = rows.assign(of_axes=rows.split_centred - rows.averaged_centred)
    learned = rows[rows.family.isin(("digits", "MiniLM", "network"))]
    far: Any = learned.iloc[int(learned.of_axes.abs().argmax())]
    unequal = rows[rows.family.isin(("neurons", CAUSAL)) & ~rows["name"].str.endswith(STANDARDISED)]
    by_state = learned.groupby("state").of_axes.mean()
    components = rows[rows["name"].str.contains("principal")]
    genes, neurons = rows[rows["name"] == "genes"], rows[rows.family == "neurons"]
    return as_facts(
        {
            # Mean absolute effect of the axes, as a share of the score.
            "share": (learned.of_axes.abs() / learned.split_centred.abs().clip(lower=0.05)).mean(),
            # Share of the variance of scores that the basis-averaged score explains as it is, without a fit.
            # Neurons, and columns of a causal model as they are, differ much in variance.
            "unequal_largest": unequal.groupby(["family", "name"]).of_axes.mean().abs().max(),
            "variance_share": 1 - (learned.of_axes**2).mean() / learned.split_centred.var(ddof=0),
            "largest": -far.of_axes,
            "largest in words": f"{far['name']}, {far.state}",
            "untrained": by_state["untrained"],
            "trained": by_state["trained"],
            "single_rotation": (rows.turned_centred - rows.averaged_centred).abs().max(),
            "highest_chance": rows.chance.abs().max(),
            "mean_row": (rows.averaged - rows.averaged_centred).mean(),
            **{
                f"{name}{suffix}": part[column].mean()
                for name, part in (("components", components), ("genes", genes), ("neurons", neurons))
                for suffix, column in _SCORES.items()
            },
            **_causal_facts(rows[rows.family == CAUSAL]),
        }
    )


_SCORES = {"": "split_centred", "_averaged": "averaged_centred"}


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
