"""Do heavy tails fool calibration?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shesha.calibration import calibrate
from shesha.studies.definition import study
from shesha.studies.page import Page, Picture, yes_if
from shesha.studies.pictures import grid, heat
from shesha.studies.published import Answers, Found, against, claim
from shesha_studies.data import noise

if TYPE_CHECKING:
    import pandas as pd

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
    """Whatever the noise, does calibrated CKA fall to zero where the noise drowns the signal, while raw CKA stays high?

    128 rows, ratio times as many features; a shared signal of rank 5 and unit variance plus sigma times noise, linear
    CKA, 200 permutations. "mixture": two normal distributions, three deviations to either side.
    """
    rng = np.random.default_rng([seed, KINDS.index(kind), round(100 * ratio), round(100 * sigma)])
    d = round(ratio * N)
    latent = rng.standard_normal((N, RANK)) / np.sqrt(RANK)
    X, Y = (latent @ rng.standard_normal((RANK, d)) + sigma * noise(kind, (N, d), rng) for _ in range(2))
    found = calibrate(X, Y, "CKA", n_permutations=200, seed=seed)
    return {
        "raw": found.observed,
        "score": found.score,
        "adjusted": found.adjusted,
        "threshold": found.threshold,
        "p_value": found.p_value,
    }


@phase_diagrams.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Draw both planes per kind of noise."""
    assert published is not None
    kinds = list(rows.kind.unique())
    made, axes = grid(2, len(kinds), width=2.9, height=2.3)
    for column, kind in enumerate(kinds):
        for line, name in enumerate(("raw", "score")):
            plane = rows[rows.kind == kind].pivot_table(index="sigma", columns="ratio", values=name)
            plane = plane.rename_axis(index="noise (sigma)", columns="d / n")
            heat(axes[line][column], plane, title=f"{'raw' if name == 'raw' else 'calibrated'}, {kind}")
    table = rows.groupby(["kind", "ratio", "sigma"], sort=False)[["raw", "score", "threshold"]].mean().reset_index()
    drowned = rows[rows.sigma == rows.sigma.max()]
    by_ratio = drowned.groupby("ratio").raw.mean()
    answer = (
        f"{yes_if(drowned.groupby('kind').score.mean().max() < 0.05)}: "
        f"where the noise is {rows.sigma.max():g} times the signal calibrated CKA is "
        f"{drowned.groupby('kind').score.mean().max():.3f} at most on average. Raw CKA there (published: 0.4 "
        f"to 0.6) follows the width, d / (n + d): {by_ratio.iloc[0]:.2f} at d / n = "
        f"{by_ratio.index[0]:g}, {by_ratio.iloc[-1]:.2f} at {by_ratio.index[-1]:g}."
    )
    notes = (
        (
            "The paper prints neither n, d, the rank of the signal nor the mixture; its 0.4 to 0.6 is the "
            "range of d / n from about 0.7 to 1.5, or the colour of the middle of its planes."
        ),
    )
    picture = Picture("phase_diagrams", made, "Raw and calibrated CKA against d / n and noise, by kind of noise")
    return Page(answer, (("Means", table),), (picture,), notes, against(published, _answer_claims(rows)))


def _answer_claims(rows: pd.DataFrame) -> Answers:
    answers: Answers = {}
    quiet, drowned = rows[rows.sigma == rows.sigma.min()], rows[rows.sigma == rows.sigma.max()]
    means = quiet.groupby(["kind", "ratio"])[["raw", "score"]].mean()
    answers["signal"] = claim(
        bool(means.min(axis=None) > 0.75),
        f"{means.raw.min():.2f} to {means.raw.max():.2f} raw, {means.score.min():.2f} to "
        f"{means.score.max():.2f} calibrated",
        "low in some configuration",
    )
    by_ratio = drowned.groupby("ratio").raw.mean()
    for key, value in (("raw_low", by_ratio.min()), ("raw_high", by_ratio.max())):
        answers[key] = Found(
            float(value),
            decimals=1,
            why=f"Drowned scores are d / (n + d), whatever the noise: {by_ratio.iloc[0]:.2f} to "
            f"{by_ratio.iloc[-1]:.2f} for d / n of {by_ratio.index[0]:g} to {by_ratio.index[-1]:g}. The "
            "published d / n are not printed.",
        )
    left = drowned.groupby(["kind", "ratio"]).score.mean()
    answers["zero"] = claim(bool(left.max() < 0.03), f"at most {left.max():.3f} on average", "more is left")
    for kind in KINDS:
        if kind not in rows.kind.unique():
            continue
        own = left[kind].max()
        answers[kind] = claim(
            bool(own < 0.03 and means.loc[kind].min(axis=None) > 0.75),
            f"{means.loc[kind].score.min():.2f} and more, then at most {own:.3f}",
            "not for this noise",
        )
    return answers
