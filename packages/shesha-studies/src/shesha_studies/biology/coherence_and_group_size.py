"""How much of the coherence of perturbations is due to the size of their groups?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from shesha.coherence import coherence_by_group, expected_mean_cosine
from shesha.studies.checks import Check, judge_number
from shesha.studies.facts import (
    Fact,
    Facts,
    absolute,
    as_facts,
    difference,
    largest,
    over_draws,
    rank_correlation,
    share,
)
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import panels
from shesha.studies.published_checks import against
from shesha.studies.study_decorator import study

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
        "chance": result.null_mean,
        "unbiased": result.unbiased,
        "magnitude": result.magnitude,
        "unbiased_magnitude": result.unbiased_magnitude,
        "p_value": result.p_value,
    }


@coherence_and_size.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Draw both scores against the size, with and without an effect."""
    rows = rows.assign(hit=(rows.p_value <= 0.05).astype(float))
    numbers = ["coherence", "chance", "unbiased", "magnitude", "unbiased_magnitude", "hit"]
    table = rows.groupby(["spectrum", "effect", "n"], sort=False)[numbers].mean().reset_index()
    equal = table.spectrum == "equal"
    table["closed_form"] = np.where(equal, [expected_mean_cosine(int(n), 50, 2000) for n in table.n], np.nan)
    table.loc[table.effect > 0, "closed_form"] = np.nan
    cells = rows[rows.spectrum == "as cells"]
    titles = {"coherence": "coherence", "unbiased": "pairwise coherence"}
    fig, axes = panels(cells, "n", "effect", titles, label="cells of the group")
    axes[0].legend(frameon=False, fontsize="small", title="effect")
    checks = (*_formula_checks(rows), *against(published, {}))
    picture = Picture(
        "coherence_and_size", fig, "Coherence and pairwise coherence against the number of cells of the group"
    )
    return Page("", (("Means", table),), (picture,), checks=checks)


def _formula_checks(rows: pd.DataFrame) -> Iterator[Check]:
    """Compare groups without an effect with the closed form."""
    equal = rows[(rows.effect == 0) & (rows.spectrum == "equal")]
    for n in sorted(set(equal.n)):
        group = equal[equal.n == n]
        yield judge_number(
            "new, closed form",
            f"mean cosine of {n} unmoved cells, equal variances",
            expected_mean_cosine(int(n), 50, 2000),
            float(np.mean(group.coherence)),
            error=float(np.std(group.coherence) / np.sqrt(len(group))),
            why="The closed form does not describe our draws.",
        )


@coherence_and_size.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the scores of groups with and without an effect, by their size."""
    still, moved = (rows[(rows.effect > 0) == flag] for flag in (False, True))
    means, cells = still.groupby("n").coherence.mean(), still[still.spectrum == "as cells"].groupby("n")
    rho = still.groupby("spectrum")[["coherence", "magnitude"]].corr(method="spearman").min().min()
    few, most = (over_draws(still[still.n == end].coherence) for end in (means.index[0], means.index[-1]))
    pairs = still.groupby(["spectrum", "n"]).unbiased.agg(["mean", "sem"])
    sizes = moved.groupby(["spectrum", "n"]).coherence.mean().groupby("spectrum")
    return as_facts(
        {
            **{"fewest": means.index[0], "most": means.index[-1]},
            **{"coherence_fewest": means.iloc[0], "coherence_most": means.iloc[-1]},
            "coherence_ratio": Fact(few.value / most.value, few.low / most.high, few.high / most.low),
            "sizes in words": ", ".join(f"{n:.0f}" for n in cells.groups),
            "coherences in words": ", ".join(f"{value:.2f}" for value in cells.coherence.mean()),
            "pairwise of cells": cells.unbiased.mean().abs().max(),
            "rho_without_shift": rank_correlation(rho, len(still) / still.spectrum.nunique()),
            "pairwise_in_errors": (pairs["mean"] / pairs["sem"]).abs().max(),
            "pairwise in words": _extremes_in_words(pairs),
            "pairwise_range": largest(_changes(moved)),
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


def _changes(moved: pd.DataFrame) -> Iterator[Fact]:
    """Return the difference between the pairwise score of each size and that of the largest groups."""
    for _, group in moved.groupby("spectrum"):
        for n in sorted(set(group.n))[:-1]:
            yield absolute(difference(*(group[group.n == size].unbiased for size in (n, group.n.max()))))
