"""How often do intervals contain the mean over samples of the same size?"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha_studies.chance import _interval_coverage as coverage
from shesha_studies.framework.page import Page, Picture
from shesha_studies.framework.pictures import figure
from shesha_studies.framework.rates import rate_interval
from shesha_studies.framework.study_decorator import study

RUNS, BATCHES = 10, 20
SIMILARITIES = [
    ("similarities", data, n, d, "-", "all")
    for data, n, d in (
        ("independent", 60, 30),
        ("weak", 60, 6),
        ("weak", 60, 30),
        ("strong", 60, 30),
        ("strong", 60, 44),
        ("strong", 60, 120),
        ("weak, t(3)", 60, 30),
        ("clusters", 60, 6),
        ("weak", 150, 15),
        ("strong", 150, 75),
        ("strong, t(3)", 150, 75),
        ("strong", 300, 30),
    )
]
SPLIT, LABELS = "feature_split", "label scores"
SCORES = [
    *(("scores", "Gaussian", n, 12, "-", SPLIT) for n in (40, 300, 20_000)),
    *(("scores", "Gaussian", n, 24, "-", SPLIT) for n in (40, 20_000)),
    *(("scores", "Gaussian", n, 200, "-", SPLIT) for n in (40, 300)),
    *(("scores", data, 100, 24, "-", SPLIT) for data in ("clusters", "t(3)", "unequal scales")),
    *(("scores", "each row twice", 100, 24, declared, SPLIT) for declared in ("groups=", "-")),
    *(("scores", "10 donors", 200, 24, declared, SPLIT) for declared in ("groups=", "-")),
    ("scores", "30 donors", 300, 24, "groups=", SPLIT),
    ("scores", "Gaussian", 100, 24, "-", "basis_averaged_split"),
    ("scores", "random classes", 100, 12, "-", LABELS),
    ("scores", "fixed classes", 100, 12, "blocks=", LABELS),
    ("scores", "random classes", 200, 24, "-", LABELS),
    ("scores", "fixed classes", 200, 24, "blocks=", LABELS),
]
BY = ["part", "data", "n", "d", "declared", "score"]
FULL: list[dict[str, Any]] = [
    {**dict(zip(BY, case, strict=True)), "batch": batch}
    for cases in (SCORES, SIMILARITIES)
    for batch in range(BATCHES)
    for case in cases
]
_FEW = {("Gaussian", 40, 12), ("10 donors", 200, 24), ("weak", 60, 6)}
QUICK = [one for one in FULL if one["batch"] < 2 and (one["data"], one["n"], one["d"]) in _FEW]


@study("intervals", paper="new", version=1, full=FULL, quick=QUICK)
def intervals(part: str, data: str, n: int, d: int, declared: str, score: str, batch: int) -> dict[str, float | int]:
    """Do intervals contain the mean value over samples of the same size as often as they should?

    A batch has ten samples. It gives the number of samples with an interval for each score. It also gives the shares of
    90 % and 95 % intervals that contain the mean.
    """
    runs = range(batch * RUNS, (batch + 1) * RUNS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if part == "similarities":
            truth = coverage.similarity_truth(data, n, d)
            run_ends = [coverage.similarity_ends(data, n, d, run) for run in runs]
        else:
            truth = coverage.score_truth(data, n, d, declared, score)
            run_ends = [coverage.score_ends(data, n, d, declared, score, run) for run in runs]
    row: dict[str, float | int] = {}
    for name, value in truth.items():
        known = [ends[name] for ends in run_ends if name in ends]
        row[f"{name} runs"] = len(known)
        for place, level in enumerate(coverage.LEVELS):
            inside = [ends[place][0] <= value <= ends[place][1] for ends in known]
            row[f"{name} {level:.0%}"] = sum(inside) / len(known) if known else float("nan")
    return row


ASKED = 0.95


@intervals.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Coverage of similarities and of scores, with the limits of its rates."""
    lines = pool_coverage(rows)
    lines = lines.assign(cell=_cells(lines))
    similarities, scores = (lines[lines.part == part] for part in ("similarities", "scores"))
    tables = (("Similarities", _wide(similarities)), ("Scores of one representation", _long(scores)))
    return Page("", tables, (_picture(lines),))


def pool_coverage(rows: pd.DataFrame) -> pd.DataFrame:
    """Pool batches into one line per condition and score with enough runs: rates with 95 % limits."""
    names = [column.removesuffix(" runs") for column in rows.columns if column.endswith(" runs")]
    lines = []
    for key, group in rows.groupby(BY, sort=False):
        for name in names:
            known = np.stack([group[f"{name} {column}"].to_numpy() for column in ("runs", "90%", "95%")], axis=1)
            known = known[np.isfinite(known).all(axis=1)]
            runs = int(known[:, 0].sum())
            if runs >= 20:
                at_90, at_95 = (round(float(inside)) for inside in known[:, 0] @ known[:, 1:])
                low, high = rate_interval(at_95, runs)
                rates = {"at 90": at_90 / runs, "at 95": at_95 / runs, "from": low, "to": high}
                lines.append({**dict(zip(BY, key, strict=True)), "score": name, "runs": runs, **rates})
    table = pd.DataFrame(lines)
    return table.assign(label=table.data + table.n.map(", {:,} x ".format) + table.d.astype(str))


def _cells(lines: pd.DataFrame) -> list[str]:
    """Format the coverage at both levels; it is bold if significantly below 95 %."""
    shown = [f"{100 * line['at 90']:.0f} / {100 * line['at 95']:.0f}" for _, line in lines.iterrows()]
    return [f"**{cell}**" if high < ASKED else cell for cell, high in zip(shown, lines["to"], strict=True)]


def _wide(lines: pd.DataFrame) -> pd.DataFrame:
    """One line per measure, one column per kind of data."""
    most = lines.groupby("label").runs.transform("max")
    lines = lines.assign(column=lines.label + " (" + most.astype(str) + ")")
    wide = lines.pivot(index="score", columns="column", values="cell")
    wide = wide.loc[lines.score.unique(), lines.column.unique()].fillna("-")
    return wide.rename_axis(index="measure", columns=None).reset_index()


def _long(lines: pd.DataFrame) -> pd.DataFrame:
    limits = [f"{100 * low:.0f} to {100 * high:.0f}" for low, high in zip(lines["from"], lines["to"], strict=True)]
    declared = ["" if declared == "-" else f"`{declared}`" for declared in lines.declared]
    table = lines.assign(declared=declared, limits=limits)
    return table[["label", "declared", "score", "cell", "limits", "runs"]]


@intervals.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> dict[str, Any]:
    """Coverage of similarities and of scores: median, worst case, and how often it is too low."""
    lines = pool_coverage(rows)
    facts: dict[str, Any] = {"narrow": (lines["to"] < ASKED).mean()}
    for part in ("similarities", "scores"):
        subset = lines[lines.part == part]
        worst = subset.iloc[int(subset["at 95"].to_numpy().argmin())]
        facts |= {
            f"{part}, cases": len(subset),
            f"{part}, too low": (subset["to"] < ASKED).sum(),
            f"{part}, median": subset["at 95"].median(),
            f"{part}, worst": worst["at 95"],
            f"{part}, worst in words": f'{worst.score} on data "{worst.label}"'
            + ("" if worst.declared == "-" else f", {worst.declared}"),
        }
    return facts


def _picture(lines: pd.DataFrame) -> Picture:
    fig, axes = figure(2, width=4.6, height=5.2)
    for ax, part in zip(axes, ("similarities", "scores"), strict=True):
        points = lines[lines.part == part]
        names = list(dict.fromkeys(points.score))[::-1]
        places, low = points.score.map(names.index), points["to"] < ASKED
        ax.plot(
            points["at 95"], places, "o", markersize=4, color=PALETTE[0], alpha=0.6, label="not significantly below"
        )
        ax.plot(points["at 95"][low], places[low], "o", markersize=5, color=PALETTE[4], label="significantly below")
        ax.axvline(ASKED, color="0.5", linewidth=0.8, linestyle="--", label="95 %")
        ax.set_yticks(range(len(names)), names, fontsize=7)
        ax.set(xlabel="share of 95 % intervals that contain the mean", xlim=(-0.03, 1.03), title=part)
    handles = axes[0].get_legend_handles_labels()
    fig.legend(*handles, frameon=False, fontsize="small", loc="outside lower center", ncols=3)
    shows = "Coverage of 95 % intervals, with one dot per kind of data; orange dots are significantly below 95 %"
    return Picture("coverage", fig, shows)
