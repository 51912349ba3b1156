"""Do wide representations look similar even if they are unrelated?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha_studies.framework.facts import (
    NAN,
    Fact,
    absolute,
    as_facts,
    difference,
    group_means,
    largest,
    over_draws,
    smallest,
    steps,
)
from shesha_studies.framework.page import Page, Picture
from shesha_studies.framework.pictures import panels
from shesha_studies.framework.study_decorator import grid_of, study
from shesha_studies.measures_of_stored_rows import measure_of_stored_rows
from shesha_studies.synthetic_data import noise

KERNELS = ("CKA", "CKA(kernel=rbf)", "RV")
LOCAL = ("mutual kNN", "CKNNA", "cycle kNN")
SVCCA = "SVCCA(components=10)"
CHEAP = (*KERNELS, "DistCorr", SVCCA, "RSA", "mutual kNN", "cycle kNN", "CKNNA")
CANONICAL, PROCRUSTES = ("CCA", "PWCCA"), ("Procrustes similarity", "Procrustes similarity(published=True)")
RATIOS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4)
KINDS = ("Gaussian", "Student's t", "Laplace")
_PAIR = ["kind", "n", "ratio", "seed"]
"""Columns that identify a pair of representations, to which all measures are applied."""
_NAMES = {"CKA": "linear CKA", "CKA(kernel=rbf)": "RBF CKA", "DistCorr": "distance correlation"}

_grid = grid_of("measure", "kind", "n", "ratio", "seed")


@study(
    "width",
    paper="Null calibration, 6.1, Figure 3, and the full null drift results",
    version=1,
    full=[
        *_grid(CHEAP, KINDS, [128], RATIOS, range(6)),
        # Positive scores of cycle kNN are rare and large, so the mean needs more draws.
        *_grid(["cycle kNN"], KINDS, [128], RATIOS, range(6, 30)),
        *_grid(CANONICAL + PROCRUSTES, KINDS, [128], RATIOS[:4], range(3)),
        *_grid(PROCRUSTES, KINDS, [128], RATIOS[4:], range(2)),
        *_grid(CHEAP, KINDS[:1], [512], RATIOS, range(2)),
        *_grid(["CKA", "RSA", "mutual kNN"], KINDS[:1], [1024], RATIOS[:5], range(1)),
        *_grid(["CKA", "mutual kNN"], KINDS[:1], [2048], RATIOS[:3], range(1)),
        *_grid(["CKA", "mutual kNN"], KINDS[:1], [4096], RATIOS[1:3], range(1)),
    ],
    quick=_grid(["CKA", "RSA", "mutual kNN"], KINDS[:1], [128], RATIOS, range(6)),
    published="width.csv",
)
def width(measure: str, kind: str, n: int, ratio: float, seed: int) -> dict[str, float]:
    """Do raw scores of independent representations rise with their width, while calibrated scores do not?

    The data have n rows and d = ratio x n independent features. There are 200 permutations.
    """
    rng = np.random.default_rng([seed, n, round(1000 * ratio), KINDS.index(kind)])
    X, Y = noise(kind, (2, n, max(12, round(ratio * n))), rng)
    result = calibrate(X, Y, measure_of_stored_rows(measure), n_permutations=200, seed=seed)
    numbers = ("threshold", "p_value", "centred", "z", "adjusted")
    scores = {"raw": result.value, "score": result.calibrated}
    return scores | {name: float(getattr(result, name)) for name in numbers}


@width.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Draw raw and calibrated scores against the width."""
    subset = _picture_rows(rows)
    label, titles = f"features per row, d / n (n = {subset.n.max()})", {"raw": "raw", "score": "calibrated"}
    fig, axes = panels(subset, "ratio", "measure", titles, label=label, dashed=True, sharey=False)
    axes[0].set_ylabel("score of independent data")
    axes[1].set_ylabel("score of independent data (own scale)")
    axes[1].legend(handles=axes[0].lines, frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    by, columns = ["measure", "kind", "n", "ratio"], ["raw", "score", "adjusted", "z"]
    table = rows.groupby(by, sort=False)[columns].mean().reset_index()
    shows = "Raw and calibrated scores of independent data against the number of features per row (d / n)"
    return Page("", (("Means", table),), (Picture("width", fig, shows),))


def _picture_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the Gaussian rows with 512 rows of data, or with the fewest if there are none."""
    n = 512 if (rows.n == 512).any() else rows.n.min()
    return rows[(rows.kind == "Gaussian") & (rows.n == n)]


@width.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> dict[str, Any]:
    """Raw and calibrated scores of independent data by width, and how much raw scores rise."""
    known, small, shown = rows.dropna(subset="p_value"), rows[rows.n == 128], _picture_rows(rows)
    tails = known[known.kind != "Gaussian"]
    widest_tails = tails[(tails.measure == "CKA") & (tails.ratio == tails.ratio.max())]
    raw = shown[shown.ratio == shown.ratio.max()].groupby("measure").raw.mean()
    named = [name for name in (*KERNELS[:2], "DistCorr", "RSA", "mutual kNN") if name in raw]
    return {
        **_calibrated(known),
        **as_facts(_calibrated(tails), "tails_"),
        "tails_wide": smallest(group_means(widest_tails, ["kind"], "raw")),
        "n shown": shown.n.max(),
        "ratio shown": shown.ratio.max(),
        "raw in words": ", ".join(f"{raw[name]:.2f} ({_NAMES.get(name, name)})" for name in named),
        **_rises(small[small.kind == "Gaussian"].sort_values("ratio", kind="stable")),
        **_gap(rows[(rows.kind == "Gaussian") & (rows.n * rows.ratio >= 128)]),
        **_formulas(rows),
        **_tails(small),
    }


def _calibrated(rows: pd.DataFrame) -> dict[str, Any]:
    """Largest mean calibrated score, and share of significant scores.

    All measures are applied to the same pairs, which are the units. The share is a ratio of two sums, whose error is
    that of the mean deviation of the pairs.
    """
    hits = (rows.p_value <= 0.05).groupby([rows[name] for name in _PAIR]).agg(["sum", "size"])
    total = hits["sum"].sum() / hits["size"].sum()
    return {
        "calibrated": largest(group_means(rows, ["measure", "ratio"], "score")),
        "rate": over_draws(total + (hits["sum"] - total * hits["size"]) / hits["size"].mean()),
        "draws": len(rows),
        "pairs": len(hits),
    }


def _minus(fact: Fact, other: Fact) -> Fact:
    """Difference of two numbers; the limits combine the ends of both intervals."""
    return Fact(fact.value - other.value, fact.limits[0] - other.limits[1], fact.limits[1] - other.limits[0])


def _rises(gaussian: pd.DataFrame) -> dict[str, Any]:
    """Raw scores of the narrowest and the widest data, and the range of their means over widths."""
    scores = {str(name): group for name, group in gaussian.dropna(subset="raw").groupby("measure")}
    means = {name: group_means(group, ["ratio"], "raw") for name, group in scores.items()}
    rise = {name: _minus(largest(part), smallest(part)) for name, part in means.items()}
    ends = {"svcca": SVCCA, "rsa": "RSA", "procrustes": PROCRUSTES[1], "scaled": PROCRUSTES[0]}
    kernels, local, others = (
        [rise[name] for name in names if name in rise] for names in (KERNELS, LOCAL, set(rise) - {*LOCAL, SVCCA, "RSA"})
    )
    # If the features span the space of centred rows, canonical correlations are 1, and are missing from the rows.
    canonical = largest(_minus(Fact(1.0, 1.0, 1.0), smallest(means[name])) for name in CANONICAL if name in means)
    cca = gaussian[gaussian.measure == "CCA"].groupby("ratio").raw.mean()
    cca_in_words = (f"{value:.2f} at d / n = {ratio:g}" for ratio, value in cca.dropna().items())
    return {
        "narrow": means["CKA"][0],
        "wide": means["CKA"][-1],
        "cka": means["CKA"][-1].value,
        "knn": means["mutual kNN"][-1].value,
        **{f"{key}_first": means[name][0].value for key, name in ends.items() if name in means},
        **{f"{key}_last": means[name][-1].value for key, name in ends.items() if name in means},
        "kernels in words": _phrases(KERNELS, rise, "rises by {:.2f}"),
        "local in words": _phrases(LOCAL, rise, "moves by {:.3f}"),
        "kernels_step": smallest(
            step for name in KERNELS if name in scores for step in steps(scores[name], "ratio", "raw")
        ),
        "canonical_rise": canonical,
        "kernels_spectral": _minus(smallest(kernels), canonical),
        "local_less": _minus(smallest(others), largest(local)),
        "svcca_range": rise.get(SVCCA, NAN),
        "procrustes_rise": largest(_minus(means[name][-1], means[name][0]) for name in PROCRUSTES[1:] if name in means),
        "rsa_most": largest(map(absolute, means["RSA"])),
        "CCA in words": ", ".join([*cca_in_words, "1 from d = n - 1 on"]),
        "CCA_decay": cca.fillna(1.0).max() - cca.fillna(1.0).iloc[-1:].max(),
    }


def _phrases(names: Iterable[str], rise: dict[str, Fact], text: str) -> str:
    return ", ".join(f"{_NAMES.get(name, name)} {text.format(rise[name].value)}" for name in names if name in rise)


def _gap(rows: pd.DataFrame) -> dict[str, Any]:
    """Raw CKA divided by raw mutual kNN, at the sizes of the paper, which has 128 or more rows and features."""
    ratios = []
    for _, cell in rows.groupby(["n", "ratio"]):
        # Two draws are too few for an interval.
        scores = (cell[cell.measure == name].raw for name in ("CKA", "mutual kNN"))
        cka, knn = (over_draws(raw) if len(raw) > 2 else Fact(raw.mean()) for raw in scores)
        low, high = cka.limits[0] / knn.limits[1], cka.limits[1] / knn.limits[0]
        ratios.append(Fact(cka.value / knn.value, low, high))
    return {"gap": smallest(ratios), "gap_cells": len(ratios), "gap_most": largest(ratios).value}


def _formulas(rows: pd.DataFrame) -> dict[str, Any]:
    """CKA of noise is d / (n + d), which is d / n for narrow data only; neighbours are k / (n - 1)."""
    cka = rows[(rows.measure == "CKA") & (rows.kind == "Gaussian")]
    formula = cka.ratio / (1 + cka.ratio)
    cka = cka.assign(off=cka.raw - formula, share_off=cka.raw / formula - 1)
    knn = rows[rows.measure == "mutual kNN"]
    knn = knn.assign(off=knn.raw * (knn.n - 1) / 10 - 1)
    return {
        "off_baseline": largest(map(absolute, group_means(cka, ["n", "ratio"], "off"))),
        "off_baseline_share": largest(map(absolute, group_means(cka, ["ratio"], "share_off"))),
        "off_neighbours": largest(map(absolute, group_means(knn, ["ratio"], "off"))),
    }


def _tails(rows: pd.DataFrame) -> dict[str, Any]:
    """Changes of raw scores by heavy tails, at single widths and on average; seeds are draws."""
    if "Student's t" not in set(rows.kind):
        return {}
    means = rows.pivot_table(index=["measure", "ratio"], columns="kind", values="raw")
    change = means["Student's t"] - means["Gaussian"]
    by_seed = rows[rows.measure.isin(KERNELS)].pivot_table(index="seed", columns="kind", values="raw")
    return {
        **{f"t_spectral_{end}": change[list(KERNELS)].agg(how) for end, how in (("lowest", "min"), ("highest", "max"))},
        **{f"t_{end}": change.agg(how) for end, how in (("lowest", "min"), ("highest", "max"))},
        "t_mean": over_draws(by_seed["Student's t"] - by_seed["Gaussian"]),
        "t_most": largest(_mean_change(group) for _, group in rows.groupby("measure")),
    }


def _mean_change(rows: pd.DataFrame) -> Fact:
    """Change of a raw score by heavy tails, as the mean over the widths with all draws, without its sign."""
    wide: Any = rows.pivot_table(index="seed", columns=["kind", "ratio"], values="raw").dropna(axis=1)
    heavy, light = wide["Student's t"], wide["Gaussian"]
    both = heavy.columns.intersection(light.columns)
    return absolute(difference(heavy[both].mean(axis=1), light[both].mean(axis=1)))
