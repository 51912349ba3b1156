"""Are the published formulas for the effects of chance and width on scores right?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha.measures import cka, mutual_knn
from shesha.support.types import Matrix
from shesha_studies.framework.facts import over_draws, smallest, steps
from shesha_studies.framework.page import Page
from shesha_studies.framework.study_decorator import study

N, K, RHO = 64, 5, 0.5
DRAWS = 100
WIDTHS = (16, 64, 256, 1024, 4096)


@study(
    "null-baselines",
    paper="Null calibration, propositions",
    version=1,
    full={"d": WIDTHS, "seed": range(4)},
    quick={"d": WIDTHS[:4], "seed": [0]},
    published="null-baselines.csv",
)
def null_baselines(d: int, seed: int) -> dict[str, float]:
    """Do cross-covariance, neighbours and CKA of Gaussian data take the values that the propositions state?

    There are 64 rows, five neighbours, and 100 draws of independent data (20 for the two largest widths). Other draws
    have a shared signal with rho = 0.5.
    """
    rng = np.random.default_rng([seed, d])
    n_draws = DRAWS if d <= WIDTHS[2] else DRAWS // 5
    pairs = [tuple(rng.standard_normal((2, N, d))) for _ in range(n_draws)]
    energy = [np.sum(((X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0)) / (N - 1)) ** 2) for X, Y in pairs]
    overlaps = np.array([mutual_knn(X, Y, k=K, metric="euclidean") for X, Y in pairs])
    common = np.concatenate([_common(X, Y) for X, Y in pairs])
    X, Y = pairs[0]
    # A strictly increasing function of CKA has the same p-value.
    kernels = (cka, lambda X, Y: float(np.exp(5 * cka(X, Y))))
    p_values = [calibrate(X, Y, measure, n_permutations=99, seed=seed).p_value for measure in kernels]
    return {
        "energy": float(np.mean(energy)) / (d * d / (N - 1)),
        "energy_error": float(np.std(energy) / np.sqrt(n_draws)) / (d * d / (N - 1)),
        "overlap": float(overlaps.mean()),
        "overlap_variance": float(overlaps.var(ddof=1)),
        "common_variance": float(common.var(ddof=1)),
        "p_value": p_values[0],
        "p_of_exponential": p_values[1],
        **_related_scores(d, seed),
    }


def _common(X: Matrix, Y: Matrix) -> Matrix:
    """Count the common neighbours of each row by brute force."""
    nearest = []
    for side in (X, Y):
        squares = np.sum(side * side, axis=1)
        distances = squares[:, None] + squares[None] - 2 * side @ side.T
        np.fill_diagonal(distances, np.inf)
        nearest.append(np.argsort(distances, axis=1)[:, :K])
    return np.array([len(np.intersect1d(a, b)) for a, b in zip(*nearest, strict=True)])


def _related_scores(d: int, seed: int) -> dict[str, float]:
    """Raw and calibrated CKA of two representations that share the part rho of their variance."""
    rng = np.random.default_rng([1, seed, d])
    U, V, W = rng.standard_normal((3, N, d))
    X, Y = (np.sqrt(RHO) * U + np.sqrt(1 - RHO) * noise for noise in (V, W))
    result = calibrate(X, Y, "CKA", n_permutations=200, seed=seed)
    return {"related_raw": result.value, "related_adjusted": result.adjusted, "related_gated": result.calibrated}


@null_baselines.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Return a page without tables, because rules judge all lines."""
    return Page()


@null_baselines.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> dict[str, Any]:
    """Means and variances in units of their formulas, and CKA of related data against the width."""
    variance_of_row = K**2 * (N - 1 - K) ** 2 / ((N - 1) ** 2 * (N - 2))
    overlap, anchor = rows.overlap * (N - 1) / K, rows.common_variance / variance_of_row
    narrowest, widest = (rows[rows.d == end] for end in (rows.d.min(), rows.d.max()))
    return {
        "energy": rows.energy.mean(),
        "cells": len(rows),
        "draws": len(widest),
        "overlap": overlap.mean(),
        "anchor": anchor.mean(),
        "energy_off": over_draws(rows.energy - 1),
        "overlap_off": over_draws(overlap - 1),
        "anchor_off": over_draws(anchor - 1),
        "spread": over_draws(rows.overlap_variance / (variance_of_row / (N * K * K))),
        "narrowest": rows.d.min(),
        "widest": rows.d.max(),
        "raw_narrowest": narrowest.related_raw.mean(),
        "raw_widest": over_draws(widest.related_raw),
        "smallest_step": smallest(steps(rows, "d", "related_raw")),
        "adjusted": widest.related_adjusted.mean(),
        "gated": widest.related_gated.mean(),
        "population": RHO**2,
        "gap": over_draws(widest.related_adjusted - RHO**2),
        "gap_gated": over_draws(widest.related_gated - RHO**2),
    }
