"""How often do intervals contain the mean over samples of the same size?"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.studies.facts import Facts, as_facts
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha.studies.rates import rate_interval
from shesha.studies.study_decorator import study
from shesha_studies.chance import _interval_coverage as coverage
from shesha_studies.chance._interval_coverage import LEVELS

RUNS, BATCHES = 10, 20
SPLIT = "feature_split"
SIMILARITIES = (
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
SCORES = (
    ("Gaussian", 40, 12, "-", SPLIT),
    ("Gaussian", 300, 12, "-", SPLIT),
    ("Gaussian", 20_000, 12, "-", SPLIT),
    ("Gaussian", 40, 24, "-", SPLIT),
    ("Gaussian", 20_000, 24, "-", SPLIT),
    ("Gaussian", 40, 200, "-", SPLIT),
    ("Gaussian", 300, 200, "-", SPLIT),
    ("clusters", 100, 24, "-", SPLIT),
    ("t(3)", 100, 24, "-", SPLIT),
    ("unequal scales", 100, 24, "-", SPLIT),
    ("each row twice", 100, 24, "groups=", SPLIT),
    ("each row twice", 100, 24, "-", SPLIT),
    ("10 donors", 200, 24, "groups=", SPLIT),
    ("10 donors", 200, 24, "-", SPLIT),
    ("30 donors", 300, 24, "groups=", SPLIT),
    ("Gaussian", 100, 24, "-", "basis_averaged_split"),
    ("random classes", 100, 12, "-", "label scores"),
    ("fixed classes", 100, 12, "blocks=", "label scores"),
    ("random classes", 200, 24, "-", "label scores"),
    ("fixed classes", 200, 24, "blocks=", "label scores"),
)


def _cells() -> Iterator[dict[str, Any]]:
    names = ("part", "data", "n", "d", "told", "score", "batch")
    for batch in range(BATCHES):
        for data, n, d in SIMILARITIES:
            yield dict(zip(names, ("similarities", data, n, d, "-", "all", batch), strict=True))
        for case in SCORES:
            yield dict(zip(names, ("scores", *case, batch), strict=True))


FULL = sorted(_cells(), key=lambda one: one["part"])
QUICK = [
    one
    for one in FULL
    if one["batch"] < 2 and (one["data"], one["n"], one["d"]) in {("Gaussian", 40, 12), ("10 donors", 200, 24)}
] + [one for one in FULL if one["batch"] == 0 and (one["data"], one["d"]) == ("weak", 6)]


@study("intervals", paper="new", version=1, full=FULL, quick=QUICK)
def intervals(part: str, data: str, n: int, d: int, told: str, score: str, batch: int) -> dict[str, float | int]:
    """Do intervals contain the mean value over samples of the same size as often as they should?

    A batch has ten samples. It gives the number of samples with an interval for each score. It also gives the shares of
    90 % and 95 % intervals that contain the mean.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if part == "similarities":
            truth = coverage.similarity_truth(data, n, d)
        else:
            truth = coverage.score_truth(data, n, d, told, score)
        run_ends = [_ends(part, data, n, d, told, score, batch * RUNS + run) for run in range(RUNS)]
    row: dict[str, float | int] = {}
    for name, value in truth.items():
        pairs = [ends[name] for ends in run_ends if name in ends]
        row[f"{name} runs"] = len(pairs)
        for place, level in enumerate(coverage.LEVELS):
            inside = [ends[place][0] <= value <= ends[place][1] for ends in pairs]
            row[f"{name} {level:.0%}"] = sum(inside) / len(pairs) if pairs else float("nan")
    return row


def _ends(part: str, data: str, n: int, d: int, grouping: str, score: str, run: int) -> coverage.Ends:
    if part == "similarities":
        return coverage.similarity_ends(data, n, d, run)
    return coverage.score_ends(data, n, d, grouping, score, run)


BY = ["part", "data", "n", "d", "told", "score"]
FEWEST = 20
"""Smallest number of runs with which a line is shown."""
ASKED = LEVELS[1]
FAILING = (
    (
        "60 x 44",
        ("LinReg", "GULP", "EOS"),
        "If there are only a few more rows than features (60 x 44), regression fits any four fifths of the rows "
        "almost perfectly, so its values vary too little.",
    ),
    (
        "t(3)",
        ("RSMDiff", "ProcDist", "eigenspectrum similarity", "LinReg"),
        "If some rows are far from the others (t(3)), a sample without such rows cannot show their effect. Measures "
        "of size are affected most.",
    ),
    ("", ("RSMDiff",), "RSMDiff grows with the number of rows, so its standard deviation on fewer rows is too small."),
    (
        "",
        ("UnifDiff",),
        "UnifDiff of unscaled rows with many features depends on the single nearest pair of rows, and its mean on "
        "the single sample with the nearest pair (60 x 30: values from 1e-27 to 1e-12 over 200 samples). No "
        "interval can contain such a mean. Comparisons report a note about such rows.",
    ),
)
"""Kinds of data and measures whose intervals are too narrow, with the reason, which is reported if the rows confirm
it."""


@intervals.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Coverage of similarities and of scores, with the limits of its rates."""
    lines = pool_coverage(rows)
    tables = (
        ("Similarities", _wide(lines[lines.part == "similarities"])),
        ("Scores of one representation", _long(lines[lines.part == "scores"])),
    )
    return Page(
        "",
        tuple((title, table) for title, table in tables if len(table)),
        (_picture(lines),),
        _failing(lines),
    )


def _failing(lines: pd.DataFrame) -> tuple[str, ...]:
    """State where intervals of similarities contain the mean too rarely, with the reason if the rows confirm it."""
    low = lines[(lines.part == "similarities") & (lines["to"] < ASKED)]
    labels = [_label(line) for _, line in low.iterrows()]
    reasons = [
        why
        for data, measures, why in FAILING
        if any(data in label and measure in measures for label, measure in zip(labels, low.score, strict=True))
    ]
    return (f"Intervals of similarities are too narrow in these cases. {' '.join(reasons)}",) if reasons else ()


def pool_coverage(rows: pd.DataFrame) -> pd.DataFrame:
    """Pool batches into one line per condition and score with enough runs: rates with 95 % limits."""
    return pd.DataFrame(list(_pool_rows(rows)))


def _pool_rows(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    names = [column.removesuffix(" runs") for column in rows.columns if column.endswith(" runs")]
    for key, group in rows.groupby(BY, sort=False):
        for name in names:
            known = group[group[f"{name} runs"] > 0]
            runs = int(known[f"{name} runs"].sum())
            if runs < FEWEST:
                continue
            inside = [round(float((known[f"{name} {level:.0%}"] * known[f"{name} runs"]).sum())) for level in LEVELS]
            low, high = rate_interval(inside[1], runs)
            row = dict(zip(BY, key, strict=True)) | {"score": name, "runs": runs}
            yield row | {"at 90": inside[0] / runs, "at 95": inside[1] / runs, "from": low, "to": high}


def _label(line: Any) -> str:
    return f"{line.data}, {line.n:,} x {line.d}"


def _wide(lines: pd.DataFrame) -> pd.DataFrame:
    """One line per measure, one column per kind of data."""
    table = pd.DataFrame({"measure": lines.score.unique()})
    for _, group in lines.groupby(["data", "n", "d"], sort=False):
        cells = {line.score: _cell(line) for _, line in group.iterrows()}
        table[f"{_label(group.iloc[0])} ({group.runs.max()})"] = table.measure.map(cells).fillna("-")
    return table


def _cell(line: Any) -> str:
    shown = f"{100 * line['at 90']:.0f} / {100 * line['at 95']:.0f}"
    return f"**{shown}**" if line["to"] < ASKED else shown


def _long(lines: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "rows": _label(line),
                "told": "" if line.told == "-" else f"`{line.told}`",
                "score": line.score,
                "90 / 95": _cell(line),
                "limits at 95": f"{100 * line['from']:.0f} to {100 * line['to']:.0f}",
                "runs": line.runs,
            }
            for _, line in lines.iterrows()
        ]
    )


@intervals.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Coverage of similarities and of scores: median, worst case, and how often it is too low."""
    lines = pool_coverage(rows)
    facts: dict[str, Any] = {"narrow": (lines["to"] < ASKED).mean()}
    for part in ("similarities", "scores"):
        subset = lines[lines.part == part]
        if not len(subset):
            continue
        worst = subset.iloc[int(subset["at 95"].to_numpy().argmin())]
        suffix = "" if worst.told == "-" else f", {worst.told}"
        facts |= {
            f"{part}, cases": len(subset),
            f"{part}, too low": int((subset["to"] < ASKED).sum()),
            f"{part}, median": subset["at 95"].median(),
            f"{part}, worst": worst["at 95"],
            f"{part}, worst in words": f'{worst.score} on data "{_label(worst)}"{suffix}',
        }
    return as_facts(facts)


def _picture(lines: pd.DataFrame) -> Picture:
    fig, axes = figure(2, width=4.6, height=5.2)
    for ax, part in zip(axes, ("similarities", "scores"), strict=True):
        group = lines[lines.part == part]
        names = list(dict.fromkeys(group.score))
        for place, name in enumerate(reversed(names)):
            points = group[group.score == name]
            low = points["to"] < ASKED
            ax.plot(points["at 95"], np.full(len(points), place), "o", markersize=4, color=PALETTE[0], alpha=0.6)
            ax.plot(points["at 95"][low], np.full(int(low.sum()), place), "o", markersize=5, color=PALETTE[4])
        ax.axvline(ASKED, color="0.5", linewidth=0.8, linestyle="--")
        ax.set_yticks(range(len(names)), names[::-1], fontsize=7)
        ax.set(xlabel="share of 95 % intervals that contain the mean", xlim=(-0.03, 1.03), title=part)
    return Picture(
        "coverage",
        fig,
        "Coverage of 95 % intervals, with one dot per kind of data; orange dots are significantly below 95 %",
    )
