"""Does calibration work for heavy-tailed noise?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha_studies.framework.checks import INCONCLUSIVE, Found
from shesha_studies.framework.facts import Fact, group_means, largest, smallest
from shesha_studies.framework.page import Page
from shesha_studies.framework.study_decorator import study
from shesha_studies.synthetic_data import noise

N, RANK = 128, 5
KINDS = ("Gaussian", "Student's t", "Laplace", "mixture")
RATIOS = (0.25, 0.5, 1.0, 2.0, 4.0)
SIGMAS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


@study(
    "phase-diagrams",
    paper="Null calibration, phase diagrams across different noise distributions",
    version=1,
    full={"kind": KINDS, "ratio": RATIOS, "sigma": SIGMAS, "seed": range(6)},
    quick={"kind": ["Gaussian", "Student's t"], "ratio": [0.25, 1.0, 4.0], "sigma": SIGMAS, "seed": range(2)},
    published="phase-diagrams.csv",
)
def phase_diagrams(kind: str, ratio: float, sigma: float, seed: int) -> dict[str, float]:
    """For every kind of noise, does calibrated CKA fall to zero where noise hides the signal, while raw CKA stays high?

    The data have 128 rows, ratio times as many features, and a shared signal of rank 5 and unit variance plus sigma
    times noise. The measure is linear CKA, with 200 permutations. The noise "mixture" consists of two normal
    distributions with means of -3 and 3 standard deviations.
    """
    rng = np.random.default_rng([seed, KINDS.index(kind), round(100 * ratio), round(100 * sigma)])
    d = round(ratio * N)
    latent = rng.standard_normal((N, RANK)) / np.sqrt(RANK)
    X, Y = (latent @ rng.standard_normal((RANK, d)) + sigma * noise(kind, (N, d), rng) for _ in range(2))
    result = calibrate(X, Y, "CKA", n_permutations=200, seed=seed)
    return {
        "raw": result.value,
        "score": result.calibrated,
        "adjusted": result.adjusted,
        "threshold": result.threshold,
        "p_value": result.p_value,
    }


@phase_diagrams.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Return our answers to the published lines."""
    by_ratio = rows[rows.sigma == rows.sigma.max()].groupby("ratio").raw.mean()
    ends = {"raw_low": by_ratio.min(), "raw_high": by_ratio.max()}
    answers = {key: Found(float(value), decimals=1, verdict=INCONCLUSIVE) for key, value in ends.items()}
    return Page(answers=answers)


@phase_diagrams.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> dict[str, Any]:
    """Return scores at the smallest and at the largest ratio of noise to signal, by kind of noise."""
    quiet, drowned = rows[rows.sigma == rows.sigma.min()], rows[rows.sigma == rows.sigma.max()]
    means, by_ratio = quiet.groupby(["kind", "ratio"])[["raw", "score"]].mean(), drowned.groupby("ratio").raw.mean()
    values: dict[str, Any] = {
        "sigma": rows.sigma.max(),
        "draws": rows.seed.nunique(),
        **{f"quiet_{name}_{end}": means[name].agg(end) for name in ("raw", "score") for end in ("min", "max")},
        "narrowest": by_ratio.index[0],
        "widest": by_ratio.index[-1],
        "raw_narrowest": by_ratio.iloc[0],
        "raw_widest": by_ratio.iloc[-1],
    }
    for kind in rows.kind.unique():
        values[f"quiet, {kind}"] = _smallest_mean(quiet[quiet.kind == kind])
        part = drowned[drowned.kind == kind]
        found = largest(group_means(part, ["ratio"], "score"))
        values[f"left, {kind}"] = found if part.score.any() else Fact(0.0, words="0 in every draw")
    left = largest(group_means(drowned, ["kind", "ratio"], "score"))
    return values | {"quiet": _smallest_mean(quiet), "left": left}


def _smallest_mean(rows: pd.DataFrame) -> Fact:
    """Smallest mean of a raw or calibrated score."""
    return smallest(mean for name in ("raw", "score") for mean in group_means(rows, ["kind", "ratio"], name))
