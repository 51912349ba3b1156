"""Representations with meaningful or arbitrary coordinate axes: networks, sentences, cells and neurons."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shesha.data import digits_network
from shesha.kernels.standardisation import is_constant
from shesha.support.types import Matrix
from shesha_studies.causal_lm_embeddings import CAUSAL, POOLINGS, encoder_rows
from shesha_studies.external_data import opened
from shesha_studies.networks.images import IMAGES
from shesha_studies.networks.networks_by_architecture import EPOCHS, trained
from shesha_studies.sentence_encoders import encoded
from shesha_studies.synthetic_data import mixture, noise

N_ROWS = 300
SYNTHETIC = ("isotropic signal", "noise", "its principal components")
SESSIONS = ("session01", "session05", "session09")
CELLS = {
    "genes": ("pbmc68k_reduced", "lognorm"),
    "principal components": ("pbmc68k_reduced", "pca50"),
    "principal components, knockouts": ("papalexi2021", "pca50"),
}
NETWORKS = tuple(f"{data}, {architecture}" for architecture in ("dense", "plain") for data in IMAGES)
LAYERS = (0, 2, 4, 6)
STANDARDISED = ", columns standardised"
CAUSAL_LAYERS = tuple(
    f"{pooling}, layer {layer}{how}" for how in ("", STANDARDISED) for pooling in POOLINGS[:2] for layer in (6, 18, 30)
)
Cells = list[dict[str, object]]


def every(seeds: range) -> Cells:
    """Yield all representations by source, state of training and seed."""
    return [
        *_cells("synthetic", SYNTHETIC, ("-",), seeds),
        *_cells("digits", (f"layer{layer}" for layer in (1, 2, 3)), ("untrained", "trained")),
        *_cells("cells", CELLS, ("-",)),
        *_cells("neurons", SESSIONS, ("-",)),
        *_cells("MiniLM", (f"layer {layer}" for layer in LAYERS), ("untrained", "trained")),
        *_cells(CAUSAL, CAUSAL_LAYERS, ("trained",)),
        *(cell for seed in seeds for cell in _cells("network", NETWORKS, _epochs(), range(seed, seed + 1))),
    ]


def _epochs() -> tuple[str, ...]:
    return ("untrained", *(f"epoch {epoch}" for epoch in range(1, EPOCHS)), "trained")


def _cells(family: str, names: object, states: tuple[str, ...], seeds: range = range(1)) -> Cells:
    return [
        {"family": family, "name": name, "state": state, "seed": seed}
        for seed in seeds
        for name in names  # type: ignore[attr-defined]
        for state in states
    ]


def read_rows(family: str, name: str, state: str, seed: int) -> Matrix:
    """Return at most 300 rows of a representation, which are the same for all states of training.

    Raises
    ------
    Unreachable
        If data, weights or libraries are missing.
    """
    X = _FAMILIES[family](name, state, seed)
    order = np.random.default_rng(seed).permutation(len(X))[:N_ROWS]
    X = X[order]
    # Constant features contain no information on distances, so they are removed before splitting.
    return np.asarray(X[:, ~is_constant(X)])


def _synthetic(name: str, state: str, seed: int) -> Matrix:
    rng = np.random.default_rng([seed, 7])
    if name == "noise":
        return noise("Gaussian", (200, 128), rng)
    X = mixture(0.9, rng)
    if name == "isotropic signal":
        return X
    vectors, sizes, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return np.asarray((vectors * sizes)[:, :-1])


def _digits(name: str, state: str, seed: int) -> Matrix:
    kind = "init" if state == "untrained" else "trained"
    return np.asarray(digits_network()[0][f"{kind}_{name}"], dtype=np.float64)


def _single_cells(name: str, state: str, seed: int) -> Matrix:
    folder, array = CELLS[name]
    return np.asarray(opened(folder, f"{folder}.npz")[array], dtype=np.float64)


def _neurons(name: str, state: str, seed: int) -> Matrix:
    """Return the spikes of each neuron in each trial, summed over windows."""
    return np.asarray(opened("steinmetz2019", f"{name}.npz")["counts"].sum(axis=2), dtype=np.float64)


def _sentences(name: str, state: str, seed: int) -> Matrix:
    kind = "MiniLM" if state == "trained" else "untrained"
    return encoded("SST-2", f"{kind}, mean: {name}")


def _causal(name: str, state: str, seed: int) -> Matrix:
    X = encoder_rows("SST-2", f"{CAUSAL}, {name.removesuffix(STANDARDISED).replace(', layer', ': layer')}")
    return X / X.std(axis=0) if name.endswith(STANDARDISED) else X


def _network(name: str, state: str, seed: int) -> Matrix:
    data, architecture = name.split(", ")
    return trained(data, architecture, seed)[_epochs().index(state)].features


_FAMILIES: dict[str, Callable[[str, str, int], Matrix]] = {
    "synthetic": _synthetic,
    "digits": _digits,
    "cells": _single_cells,
    "neurons": _neurons,
    "MiniLM": _sentences,
    CAUSAL: _causal,
    "network": _network,
}
