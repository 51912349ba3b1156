"""Does stability itself rise with the number of features?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from shesha.stability import estimate
from shesha_studies.framework.facts import Facts, as_facts, over_draws, share
from shesha_studies.framework.page import Page
from shesha_studies.framework.study_decorator import study

WIDTHS = (8, 16, 32, 64, 128, 256, 512)


@study(
    "stability-and-width",
    paper="new",
    version=1,
    full={"signal": [0.0, 0.3, 1.0], "n": [50, 200], "d": [*WIDTHS, 1024], "seed": range(8)},
    quick={"signal": [0.0, 0.3], "n": [50], "d": WIDTHS, "seed": range(6)},
)
def stability_and_width(signal: float, n: int, d: int, seed: int) -> dict[str, float]:
    """Is a wide representation more stable because of its width, and does correction for chance change this?

    The data have n rows and d features. Every feature contains a signal of 5 factors with the given standard deviation,
    and noise of unit variance. The information per feature does not depend on d. The score is the feature split, with
    99 permutations.
    """
    rng = np.random.default_rng([seed, n, d, round(10 * signal)])
    X = signal * rng.standard_normal((n, 5)) @ rng.standard_normal((5, d)) / np.sqrt(5) + rng.standard_normal((n, d))
    result = estimate(X, variant="feature_split", n_permutations=99, seed=seed, n_bootstrap=0)
    return {"raw": result.value, "level": result.chance, "corrected": result.calibrated, "p_value": result.p_value}


@stability_and_width.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Return a page without tables, because rules judge all lines."""
    return Page()


@stability_and_width.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the scores of noise, and of a weak signal in few and in many features."""
    none, weak = rows[rows.signal == 0], rows[(rows.signal == 0.3) & (rows.n == rows.n.max())]
    means = weak.groupby("d")[["raw", "corrected"]].mean()
    few, many = means.iloc[0], means.iloc[-1]
    return as_facts(
        {"fewest": means.index[0], "most": means.index[-1], "raw_gain": many.raw - few.raw}
        | {**few.add_prefix("few "), **many.add_prefix("many ")}
        | {"noise": over_draws(none.groupby(["n", "d"]).raw.mean()), "rate": share(none.p_value <= 0.05)}
    )
