"""How much of the coherence of perturbations is the size of their groups?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shesha.coherence import coherence_by_group, expected_mean_cosine
from shesha.studies._page import Page, Picture
from shesha.studies._pictures import figure, lines, logarithmic
from shesha.studies._study import study

if TYPE_CHECKING:
    import pandas as pd

SIZES = (10, 25, 50, 100, 200, 400)
SPECTRA = ("equal", "as cells")


@study(
    "coherence-and-size",
    paper="new; Geometric Stability, 12.4 and 12.8",
    version=1,
    full={"spectrum": SPECTRA, "n": SIZES, "effect": [0.0, 1.0], "seed": range(100)},
    quick={"spectrum": SPECTRA, "n": SIZES, "effect": [0.0, 1.0], "seed": range(20)},
)
def coherence_and_size(spectrum: str, n: int, effect: float, seed: int) -> dict[str, float]:
    """Is the coherence of a perturbation insensitive to the number of its cells, as the paper has it?

    n cells among 2,000 controls in 50 components, of equal variance or falling as one over the component; a step of the
    given size along the third, in units of that component, or none.
    """
    rng = np.random.default_rng([seed, n, round(10 * effect), SPECTRA.index(spectrum)])
    scale = np.ones(50) if spectrum == "equal" else 1 / np.sqrt(np.arange(1, 51))
    X = rng.standard_normal((2000 + n, 50)) * scale
    X[2000:, 2] += effect * scale[2]
    labels = np.repeat(["control", "group"], [2000, n])
    found = coherence_by_group(X, labels, "control", n_draws=99, seed=seed).groups[0]
    return {
        "coherence": found.coherence,
        "chance": found.null_mean,
        "unbiased": found.unbiased,
        "magnitude": found.magnitude,
        "unbiased_magnitude": found.unbiased_magnitude,
        "p_value": found.p_value,
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
    made, axes = figure(2)
    cells = rows[rows.spectrum == "as cells"]
    for ax, name in zip(axes, ("coherence", "unbiased"), strict=True):
        lines(ax, cells, "n", name, "effect")
        ax.set(xlabel="cells of the group", ylabel=name + (" (pairs)" if name == "unbiased" else ""))
        logarithmic(ax, rows.n)
    axes[0].legend(frameon=False, fontsize="small", title="effect")
    still = table[(table.spectrum == "as cells") & (table.effect == 0)]
    fake = rows[rows.effect == 0].groupby("spectrum")[["coherence", "magnitude"]].corr(method="spearman").min().min()
    answer = (
        "No: without any effect the coherence of groups of "
        + ", ".join(f"{int(n)}" for n in still.n)
        + " cells is "
        + ", ".join(f"{value:.2f}" for value in still.coherence)
        + f" (pairwise: {still.unbiased.abs().max():.3f} at most). {100 * rows[rows.effect == 0].hit.mean():.0f} % of "
        "these groups are significant beside groups of their size."
    )
    notes = (
        f"Without an effect, magnitude and coherence correlate at {fake:.2f} or more over groups of these sizes: most "
        "of the published correlation of 0.99 needs no biology. `docs/studies` has the same on real cells.",
        "`closed_form` is what isotropic noise gives, from the mean of a correlation of Gaussian pairs.",
    )
    picture = Picture("coherence_and_size", made, "Coherence and pairwise coherence against the size of the group")
    return Page(answer, (("Means", table),), (picture,), notes)
