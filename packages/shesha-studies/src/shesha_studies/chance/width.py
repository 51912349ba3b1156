"""Do wide representations look similar even if they are unrelated?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha.studies.facts import (
    Fact,
    Facts,
    absolute,
    as_facts,
    difference,
    group_means,
    largest,
    over_draws,
    smallest,
    steps,
)
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import panels
from shesha.studies.study_decorator import grid_of, study
from shesha_studies.synthetic_data import noise

ALPHA = 0.05
_PAIR = ["kind", "n", "ratio", "seed"]
_KERNELS = ("CKA", "CKA(kernel=rbf)", "RV")
_NAMES = {"CKA": "linear CKA", "CKA(kernel=rbf)": "RBF CKA", "DistCorr": "distance correlation"}
_LOCAL = ("mutual kNN", "CKNNA", "cycle kNN")
_FEWEST = 128
"""Smallest number of features in the paper."""
_FLAT = ("RSA", "SVCCA(components=10)")


def make_facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the facts by which the claims are judged."""
    gaussian = rows[(rows.kind == "Gaussian") & (rows.n == 128)]
    raw = gaussian.pivot_table(index="measure", columns="ratio", values="raw")
    return as_facts(
        {
            **_calibrated(rows),
            **_rises(raw),
            **_kernel_steps(gaussian),
            **_ranges(gaussian),
            **_gap(rows[rows.kind == "Gaussian"]),
            **_lines(raw),
            **_formulas(rows),
            **_tails(rows),
            **_widest_scores(rows),
        }
    )


def _calibrated(rows: pd.DataFrame) -> dict[str, Any]:
    """Raw and calibrated scores of independent data at the smallest and the largest width."""
    known = rows.dropna(subset="p_value")
    cka = known[(known.measure == "CKA") & (known.kind == "Gaussian") & (known.n == 128)]
    tails = known[known.kind != "Gaussian"]
    widest = rows[(rows.measure == "CKA") & (rows.kind != "Gaussian") & (rows.ratio == rows.ratio.max())]
    facts = {
        "narrow": over_draws(cka[cka.ratio == cka.ratio.min()].raw),
        "wide": over_draws(cka[cka.ratio == cka.ratio.max()].raw),
        "calibrated": _largest_mean(known),
        "rate": _rate_of_pairs(known),
        **{"draws": len(known), "pairs": known.groupby(_PAIR).ngroups},
    }
    if len(tails):
        facts |= {"tails_rate": _rate_of_pairs(tails), "tails_draws": len(tails)}
        facts["tails_pairs"] = tails.groupby(_PAIR).ngroups
        facts["tails_calibrated"] = _largest_mean(tails)
        facts["tails_wide"] = smallest(group_means(widest, ["kind"], "raw"))
    return facts


def _rate_of_pairs(rows: pd.DataFrame) -> Fact:
    """Share of significant scores; pairs are the units, because all measures are applied to the same pairs."""
    hits = (rows.p_value <= ALPHA).groupby([rows[name] for name in _PAIR]).agg(["sum", "size"])
    total = hits["sum"].sum() / hits["size"].sum()
    # A ratio of two sums, whose error is that of the mean deviation of the pairs.
    return over_draws(total + (hits["sum"] - total * hits["size"]) / hits["size"].mean())


def _largest_mean(rows: pd.DataFrame) -> Fact:
    """Largest mean calibrated score of a measure at a width."""
    return largest(group_means(rows, ["measure", "ratio"], "score"))


def _rises(raw: pd.DataFrame) -> dict[str, Any]:
    """Facts on the raw scores that rise with the width, and by how much."""
    rise, end = raw.max(axis=1) - raw.min(axis=1), raw.iloc[:, -1]
    kernels = [name for name in _KERNELS if name in raw.index]
    facts = {
        "kernels in words": ", ".join(f"{_NAMES.get(name, name)} rises by {rise[name]:.2f}" for name in kernels),
        **{"cka": end["CKA"], "knn": end["mutual kNN"]},
    }
    if set(_LOCAL) <= set(raw.index):
        facts["local in words"] = ", ".join(f"{name} moves by {rise[name]:.3f}" for name in _LOCAL)
    return facts


def _minus(fact: Fact, other: Fact) -> Fact:
    """Difference of two numbers; the limits combine the ends of both intervals."""
    return Fact(fact.value - other.value, fact.limits[0] - other.limits[1], fact.limits[1] - other.limits[0])


def _ranges(gaussian: pd.DataFrame) -> dict[str, Any]:
    """Facts on the rise of raw scores with the width, compared between measures."""
    known = gaussian.dropna(subset="raw")
    means = {
        str(name): group_means(group.sort_values("ratio"), ["ratio"], "raw") for name, group in known.groupby("measure")
    }
    rise = {name: _minus(largest(part), smallest(part)) for name, part in means.items()}
    facts: dict[str, Any] = {}
    # If the features span the space of centred rows, canonical correlations are 1, and are missing from the rows.
    if family := [_minus(Fact(1.0, 1.0, 1.0), smallest(means[name])) for name in ("CCA", "PWCCA") if name in means]:
        kernels = [rise[name] for name in _KERNELS if name in rise]
        facts |= {
            "canonical_rise": largest(family),
            "kernels_spectral": _minus(smallest(kernels), largest(family)),
        }
    if set(_LOCAL) <= set(rise):
        spectral = [fact for name, fact in rise.items() if name not in (*_LOCAL, *_FLAT)]
        facts["local_less"] = _minus(smallest(spectral), largest(rise[name] for name in _LOCAL))
    for key, name in (("svcca", _FLAT[1]), ("procrustes", DEAR[-1])):
        if name in means:
            facts |= {f"{key}_rise": _minus(means[name][-1], means[name][0]), f"{key}_range": rise[name]}
    return facts | ({"rsa_most": largest(map(absolute, means["RSA"]))} if "RSA" in means else {})


def _gap(gaussian: pd.DataFrame) -> dict[str, Any]:
    """Raw CKA divided by raw mutual kNN, at the sizes of the paper, which has 128 or more rows and features."""
    ratios = []
    for _, cell in gaussian[gaussian.n * gaussian.ratio >= _FEWEST].groupby(["n", "ratio"]):
        # Two draws are too few for an interval.
        scores = (cell[cell.measure == name].raw for name in ("CKA", "mutual kNN"))
        cka, knn = (over_draws(raw) if len(raw) > 2 else Fact(raw.mean()) for raw in scores)
        low, high = cka.limits[0] / knn.limits[1], cka.limits[1] / knn.limits[0]
        ratios.append(Fact(cka.value / knn.value, low, high))
    return {"gap": smallest(ratios), "gap_cells": len(ratios), "gap_most": largest(ratios).value}


def _kernel_steps(gaussian: pd.DataFrame) -> dict[str, Any]:
    """Smallest step of raw CKA and RV from one width to the next."""
    groups = [rows for name, rows in gaussian.groupby("measure") if name in _KERNELS]
    return {"kernels_step": smallest(step for rows in groups for step in steps(rows, "ratio", "raw"))}


def _lines(raw: pd.DataFrame) -> dict[str, Any]:
    """Facts on single measures by width; canonical correlations exist only below d = n - 1."""
    facts: dict[str, Any] = {}
    scaled = ("scaled", "Procrustes similarity")
    for key, name in (("svcca", _FLAT[1]), ("rsa", "RSA"), ("procrustes", DEAR[-1]), scaled):
        if name in raw.index:
            values = raw.loc[name].dropna().to_numpy()
            facts |= {f"{key}_first": values[0], f"{key}_last": values[-1]}
    if "CCA" in raw.index:
        line: Any = raw.loc["CCA"]
        phrases = (f"{value:.2f} at d / n = {ratio:g}" for ratio, value in line.dropna().items())
        facts["CCA in words"] = f"{', '.join(phrases)}, 1 from d = n - 1 on"
        # A missing value means a canonical correlation of 1.
        facts["CCA_decay"] = line.fillna(1.0).max() - line.fillna(1.0).iloc[-1]
    return facts


def _formulas(rows: pd.DataFrame) -> dict[str, Any]:
    """CKA of noise is d / (n + d), which is d / n for narrow data only; neighbours are k / (n - 1)."""
    cka = rows[(rows.measure == "CKA") & (rows.kind == "Gaussian")]
    formula = cka.ratio / (1 + cka.ratio)
    cka = cka.assign(off=cka.raw - formula, share_off=cka.raw / formula - 1)
    knn_rows = rows[rows.measure == "mutual kNN"]
    knn = knn_rows.assign(off=knn_rows.raw * (knn_rows.n - 1) / 10 - 1)
    return {
        "off_baseline": largest(map(absolute, group_means(cka, ["n", "ratio"], "off"))),
        "off_baseline_share": largest(map(absolute, group_means(cka, ["ratio"], "share_off"))),
        "off_neighbours": largest(map(absolute, group_means(knn, ["ratio"], "off"))),
    }


def _mean_change(rows: pd.DataFrame) -> Fact:
    """Change of a raw score by heavy tails, as the mean over widths, without its sign; seeds are draws."""
    wide: Any = rows.pivot_table(index="seed", columns=["kind", "ratio"], values="raw")
    heavy, light = (wide[kind].dropna(axis=1) for kind in ("Student's t", "Gaussian"))
    both = heavy.columns.intersection(light.columns)
    return absolute(difference(heavy[both].mean(axis=1), light[both].mean(axis=1)))


def _spectral_mean(rows: pd.DataFrame) -> Fact:
    """Mean decrease of raw scores by heavy tails, over spectral measures and widths; draws are paired."""
    wide = rows.pivot_table(index="seed", columns=["kind", "measure", "ratio"], values="raw")
    return over_draws((wide["Student's t"] - wide["Gaussian"]).to_numpy().mean(axis=1))


def _tails(rows: pd.DataFrame) -> dict[str, Any]:
    both = rows[rows.n == 128].pivot_table(index=["measure", "ratio"], columns="kind", values="raw")
    if "Student's t" not in both:
        return {}
    less = (both["Student's t"] - both["Gaussian"]).dropna()
    spectral = less[less.index.get_level_values("measure").isin(_KERNELS)]
    return {
        **{"t_spectral_lowest": spectral.min(), "t_spectral_highest": spectral.max()},
        "t_mean": _spectral_mean(rows[(rows.n == 128) & rows.measure.isin(_KERNELS)]),
        **{"t_lowest": less.min(), "t_highest": less.max()},
        "t_most": largest(_mean_change(group) for _, group in rows[rows.n == 128].groupby("measure")),
    }


def _widest_scores(rows: pd.DataFrame) -> dict[str, Any]:
    """Raw scores of the widest data, with the number of rows of the picture."""
    n = 512 if (rows.n == 512).any() else rows.n.min()
    group = rows[(rows.kind == "Gaussian") & (rows.n == n)]
    raw = group[group.ratio == group.ratio.max()].groupby("measure").raw.mean()
    named = [name for name in ("CKA", "CKA(kernel=rbf)", "DistCorr", "RSA", "mutual kNN") if name in raw]
    text = ", ".join(f"{raw[name]:.2f} ({_NAMES.get(name, name)})" for name in named)
    return {"n shown": n, "ratio shown": group.ratio.max(), "raw in words": text}


GLOBAL = ("CKA", "CKA(kernel=rbf)", "RV", "DistCorr")
LOCAL = ("mutual kNN", "cycle kNN", "CKNNA")
CHEAP = (*GLOBAL, "SVCCA(components=10)", "RSA", *LOCAL)
DEAR = ("CCA", "PWCCA", "Procrustes similarity", "Procrustes similarity(published=True)")
RATIOS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4)
KINDS = ("Gaussian", "Student's t", "Laplace")


_grid = grid_of("measure", "kind", "n", "ratio", "seed")
FULL = [
    *_grid(CHEAP, KINDS, [128], RATIOS, range(6)),
    # Positive scores of cycle kNN are rare and large, so the mean needs more draws.
    *_grid(["cycle kNN"], KINDS, [128], RATIOS, range(6, 30)),
    *_grid(DEAR, KINDS, [128], RATIOS[:4], range(3)),
    *_grid(DEAR[2:], KINDS, [128], RATIOS[4:], range(2)),
    *_grid(CHEAP, KINDS[:1], [512], RATIOS, range(2)),
    *_grid(["CKA", "RSA", "mutual kNN"], KINDS[:1], [1024], RATIOS[:5], range(1)),
    *_grid(["CKA", "mutual kNN"], KINDS[:1], [2048], RATIOS[:3], range(1)),
    *_grid(["CKA", "mutual kNN"], KINDS[:1], [4096], RATIOS[1:3], range(1)),
]


@study(
    "width",
    paper="Null calibration, 6.1, Figure 3, and the full null drift results",
    version=1,
    full=FULL,
    quick=_grid(["CKA", "RSA", "mutual kNN"], KINDS[:1], [128], RATIOS, range(6)),
    published="width.csv",
)
def width(measure: str, kind: str, n: int, ratio: float, seed: int) -> dict[str, float]:
    """Do raw scores of independent representations rise with their width, while calibrated scores do not?

    The data have n rows and d = ratio x n independent features. There are 200 permutations.
    """
    rng = np.random.default_rng([seed, n, round(1000 * ratio), KINDS.index(kind)])
    X, Y = noise(kind, (2, n, max(12, round(ratio * n))), rng)
    result = calibrate(X, Y, measure, n_permutations=200, seed=seed)
    numbers = ("score", "threshold", "p_value", "centred", "z", "adjusted")
    return {"raw": result.observed, **{name: float(getattr(result, name)) for name in numbers}}


@width.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Draw raw and calibrated scores, count what calibration calls significant, and judge each description."""
    n = 512 if (rows.n == 512).any() else rows.n.min()
    gaussian = rows[(rows.kind == "Gaussian") & (rows.n == n)]
    label, titles = f"features per row, d / n (n = {n})", {"raw": "raw", "score": "calibrated"}
    fig, axes = panels(gaussian, "ratio", "measure", titles, label=label, dashed=True)
    axes[0].set_ylabel("score of independent data")
    axes[1].legend(handles=axes[0].lines, frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    table = (
        rows.groupby(["measure", "kind", "n", "ratio"], sort=False)[["raw", "score", "adjusted", "z"]]
        .mean()
        .reset_index()
    )
    picture = Picture(
        "width", fig, "Raw and calibrated scores of independent data against the number of features per row (d / n)"
    )
    return Page("", (("Means", table),), (picture,))


width.facts(make_facts)
