"""How much of the coherence of perturbations is due to the size of their groups?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.coherence import coherence_by_group, expected_mean_cosine
from shesha_studies.framework.checks import judge_number
from shesha_studies.framework.facts import (
    Fact,
    Facts,
    absolute,
    as_facts,
    difference,
    largest,
    over_draws,
    share,
)
from shesha_studies.framework.page import Page
from shesha_studies.framework.published_checks import against
from shesha_studies.framework.study_decorator import study

SIZES = (10, 25, 50, 100, 200, 400)
SPECTRA = ("equal", "as cells")


@study(
    "coherence-and-size",
    paper="new; Geometric Stability, 12.4 and 12.8",
    version=2,
    full={"seed": range(100), "spectrum": SPECTRA, "n": SIZES, "effect": [0.0, 1.0]},
    quick={"seed": range(20), "spectrum": SPECTRA, "n": SIZES, "effect": [0.0, 1.0]},
    published="coherence_and_size.csv",
)
def coherence_and_size(spectrum: str, n: int, effect: float, seed: int) -> dict[str, float]:
    """Is the coherence of a perturbation insensitive to the number of its cells, as the paper says?

    A group of n cells is compared with 2,000 controls in 50 components. The variances are equal, or fall as one over
    the component. The effect shifts the cells along the third component, in units of its standard deviation; 0 means no
    effect.
    """
    rng = np.random.default_rng([seed, n, round(10 * effect), SPECTRA.index(spectrum)])
    scale = np.ones(50) if spectrum == "equal" else 1 / np.sqrt(np.arange(1, 51))
    X = rng.standard_normal((2000 + n, 50)) * scale
    X[2000:, 2] += effect * scale[2]
    labels = np.repeat(["control", "group"], [2000, n])
    result = coherence_by_group(X, labels, "control", n_draws=99, seed=seed).groups[0]
    return {
        "coherence": result.coherence,
        "chance": result.coherence_chance,
        "unbiased": result.value,
        "magnitude": result.magnitude,
        "unbiased_magnitude": result.unbiased_magnitude,
        "p_value": result.coherence_p_value,
    }


@coherence_and_size.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Return our answers to the published lines."""
    rows = rows.assign(hit=(rows.p_value <= 0.05).astype(float))
    expected = {n: expected_mean_cosine(n, 50, 2000) for n in SIZES}
    isotropic: Any = rows[(rows.effect == 0) & (rows.spectrum == "equal")].groupby("n").coherence
    checks = [
        judge_number(
            "new, closed form",
            f"mean cosine of {n} unmoved cells, equal variances",
            expected[n],
            group.mean(),
            error=group.sem(ddof=0),
            why="The closed form does not describe our draws.",
        )
        for n, group in isotropic
    ]
    return Page(checks=(*checks, *against(published, {})))


@coherence_and_size.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the scores of groups with and without an effect, by their size."""
    still, moved = (rows[(rows.effect > 0) == flag] for flag in (False, True))
    cells = still[still.spectrum == "as cells"].groupby("n")
    few, most = (over_draws(still[still.n == n].coherence) for n in (SIZES[0], SIZES[-1]))
    pairs = still.groupby(["spectrum", "n"]).unbiased.agg(["mean", "sem"])
    sizes = moved.groupby(["spectrum", "n"]).coherence.mean().groupby("spectrum")
    scores = {key: group.unbiased for key, group in moved.groupby(["spectrum", "n"])}
    changes = (difference(scores[kind, n], scores[kind, SIZES[-1]]) for kind in SPECTRA for n in SIZES[:-1])
    return as_facts(
        {
            **{"fewest": SIZES[0], "most": SIZES[-1], "coherence_fewest": few.value, "coherence_most": most.value},
            "coherence_ratio": Fact(few.value / most.value, few.low / most.high, few.high / most.low),
            "sizes in words": ", ".join(map(str, SIZES)),
            "coherences in words": ", ".join(f"{value:.2f}" for value in cells.coherence.mean()),
            "pairwise of cells": cells.unbiased.mean().abs().max(),
            "pairwise_in_errors": (pairs["mean"] / pairs["sem"]).abs().max(),
            "pairwise in words": _extremes_in_words(pairs),
            "pairwise_range": largest(map(absolute, changes)),
            "coherence_range": (sizes.max() - sizes.min()).max(),
            "level": share(still.p_value <= 0.05),
        }
    )


def _extremes_in_words(pairs: pd.DataFrame) -> str:
    """State the mean that is farthest from 0 in standard errors, and the largest mean."""
    cells = pairs.reset_index().assign(errors=lambda table: (table["mean"] / table["sem"]).abs())
    phrases = (
        f"{cell['mean']:+.4f} at {cell['n']} cells ({cell['spectrum']}), {cell['errors']:.1f} standard errors"
        for cell in (cells.loc[values.argmax()] for values in (cells["errors"], cells["mean"].abs()))
    )
    return "farthest {}; largest {}".format(*phrases)
