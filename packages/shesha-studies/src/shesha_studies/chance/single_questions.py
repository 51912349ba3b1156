"""How often are the answers of functions for single questions wrong, and how often do they detect an effect?"""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd

from shesha.charts import PALETTE
from shesha_studies.chance._single_question_data import CONDITIONS, LEVEL, Row
from shesha_studies.framework.facts import Fact, over_draws, rate
from shesha_studies.framework.page import Page, Picture
from shesha_studies.framework.pictures import figure
from shesha_studies.framework.study_decorator import study

FULL = [
    {"question": question, "data": data, "seed": seed}
    for (question, data), (_, n_seeds, _) in CONDITIONS.items()
    for seed in range(n_seeds)
]
QUICK = [one for one in FULL if one["seed"] < 10 and "Leiden" not in one["question"] and "clustree" not in one["data"]]
AREAS = {
    "Clusters": "bio.cluster_stability",
    "E-distances": "bio.e_distances",
    "Recordings": "neuro.",
    "Flexible models": "rank_models",
    "Vectors": ("drift.", "changes."),
}
"""Heading of each table of the page, and how the questions in it begin."""


@study("single-questions", paper="new", version=1, full=FULL, quick=QUICK)
def single_questions(question: str, data: str, seed: int) -> Row:
    """How often do the functions for single questions find an effect where there is none, and where there is one?

    A cell is one simulated data set. It gives the share of results that are significant at 5 % after correction. For
    functions with an interval, it also gives the value and its interval. For clusters, it gives the share of intervals
    that contain the mean over 60 further subsamples of the same cells.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CONDITIONS[question, data][2](seed)


def pool(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one line per question and kind of data: rates of significant results, and coverage of intervals."""
    lines = []
    for (question, data), found in rows.groupby(["question", "data"], sort=False):
        effect = CONDITIONS[question, data][0]
        line: dict[str, Any] = {"question": question, "data": data, "effect": effect, "runs": len(found)}
        known = found.significant.dropna() if "significant" in found else []
        if len(known):
            # Without an effect, a single significant result is a false positive.
            line["significant"] = over_draws(known) if effect else rate(int((known > 0).sum()), len(known))
        lines.append({**line, "covered": _coverage(found), "covered for other data": _coverage_of_mean(found)})
    return pd.DataFrame(lines)


def _coverage(found: pd.DataFrame) -> Fact | None:
    """Share of intervals that contain the mean for the same data; None without such means."""
    known = found.covered.dropna() if "covered" in found else []
    return over_draws(known) if len(known) else None


def _coverage_of_mean(found: pd.DataFrame) -> Fact | None:
    """Share of intervals that contain the mean value over all data sets; None without intervals."""
    known = found[["value", "low", "high"]].dropna() if "value" in found else found.iloc[:0]
    if len(known) < len(found) / 2:
        return None
    mean = known.value.mean()
    return rate(int(((known.low <= mean) & (mean <= known.high)).sum()), len(known))


@single_questions.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """One table per area, and a picture of all rates of false positives."""
    lines = pool(rows)
    tables = tuple(
        (heading, _shown(part)) for heading, start in AREAS.items() if len(part := lines[_begins(lines, start)])
    )
    return Page("", tables, (_picture(lines[~lines.effect]),))


def _begins(lines: pd.DataFrame, start: str | tuple[str, ...]) -> pd.Series[bool]:
    return lines.question.str.startswith(start)


def _shown(lines: pd.DataFrame) -> pd.DataFrame:
    columns = ["significant", "covered", "covered for other data"]
    shown = lines.assign(**{column: [_cell(fact) for fact in lines[column]] for column in columns})
    used = [column for column in columns if (shown[column] != "").any()]
    return shown.assign(effect=["yes" if effect else "no" for effect in lines.effect])[
        ["question", "data", "effect", *used, "runs"]
    ]


def _cell(fact: Fact | None) -> str:
    return f"{fact:.1%}" if isinstance(fact, Fact) else ""


@single_questions.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> dict[str, Any]:
    """Rates of false positives and coverage, pooled and by question."""
    lines = pool(rows)
    none = lines[~lines.effect]
    facts: dict[str, Any] = {"conditions": len(none)}
    for _, line in lines.iterrows():
        for column in ("significant", "covered", "covered for other data"):
            if isinstance(line[column], Fact):
                facts[f"{line.question} | {line.data} | {column}"] = line[column]
    above = [line.question + ", " + line.data for _, line in none.iterrows() if line.significant.low > LEVEL]
    return {**facts, "above": len(above), "above in words": "; ".join(above)}


def _picture(lines: pd.DataFrame) -> Picture:
    fig, (ax,) = figure(width=7.5, height=0.22 * len(lines) + 1)
    places = range(len(lines))[::-1]
    for place, fact in zip(places, lines.significant, strict=True):
        colour = PALETTE[4] if fact.low > LEVEL else PALETTE[0]
        ax.plot([100 * fact.low, 100 * fact.high], [place, place], color=colour, linewidth=1.5)
        ax.plot(100 * fact.value, place, "o", markersize=4, color=colour)
    ax.axvline(100 * LEVEL, color="0.5", linewidth=0.8, linestyle="--")
    ax.set_yticks(places, [f"{question}: {data}" for question, data in zip(lines.question, lines.data, strict=True)])
    ax.tick_params(labelsize=7)
    ax.set(xlabel="significant at 5 % without an effect, per cent of data sets", xlim=(-2, 102))
    return Picture("false_positives", fig, "False positives with exact 95 % limits; orange rates are above 5 %")
