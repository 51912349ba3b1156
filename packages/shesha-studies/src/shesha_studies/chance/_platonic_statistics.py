"""Trends of scores with capability for stand-ins, and published numbers, which need the published models."""

from __future__ import annotations

import pandas as pd

from shesha.studies.published_checks import Answers, Found, unreachable
from shesha_studies.chance._two_modality_models import trends

MODELS_MISSING = "We do not have layers of the published models for the WIT images"
MISSING = {
    "video": "We do not have VideoMAE, the language models or the PVD videos.",
    "bpb": "We do not have the bits per byte of the published language models.",
    **dict.fromkeys(("significant", "most p"), f"{MODELS_MISSING}."),
}
ON_WIDTH = ["before, with width", "after, with width"]


def mean_trends(rows: pd.DataFrame) -> pd.DataFrame:
    """Correlate scores with capability and with width within each set of models, and average over sets."""
    free = rows[(rows.null == "free") & (rows.epochs > 0)]
    table = trends(free, ["raw", "score"]).rename(columns={"raw": "before", "score": "after"})
    wide = trends(free, ["raw", "score"], "width")
    table["before, with width"], table["after, with width"] = wide["raw"], wide["score"]
    return table


def published_numbers(rows: pd.DataFrame, measures: dict[str, list[str]], keys: list[str]) -> Answers:
    """Answer numbers of the published models, which are not available; `measures` are the library's names."""
    table = mean_trends(rows)
    means = table.groupby("measure")[["before", "after", *ON_WIDTH]].mean()
    return _numbers(means, measures, keys)


def _numbers(means: pd.DataFrame, measures: dict[str, list[str]], keys: list[str]) -> Answers:
    """Yield checks for numbers of the published models; the reason gives the numbers of the stand-ins."""
    answers: Answers = {}
    names = measures["names"]
    for key in (label for label in keys if label.startswith(("table", "text"))):
        place = key.split(" ", 1)[1].removesuffix(" before").removesuffix(" after")
        measure = next((spec for spec, name in zip(measures["all"], names, strict=True) if name == place), None)
        column = "after" if key.endswith("after") else "before"
        known = dict(zip(means.index, means[column].to_numpy(dtype=float), strict=True))
        suffix = f"; our stand-ins have {known[measure]:+.2f}" if measure in known else ""
        answers[key] = unreachable(f"{MODELS_MISSING}{suffix}.")
    answers["least p"] = Found(1 / 501, decimals=3)
    return answers


def class_scores(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate scores that are calibrated by permuting rows within classes."""
    chosen = rows[rows.epochs > 0]
    keys = ["measure", "data"]
    both = chosen.pivot_table(index=[*keys, "epochs", "width", "partner"], columns="null", values="score").dropna()
    return both.groupby(keys).mean().reset_index() if both.shape[1] == 2 else both.reset_index()


def untrained_scores(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the scores of untrained networks by width."""
    bare = rows[rows.epochs == 0]
    return bare.groupby(["measure", "data", "width"], sort=False)[["raw", "chance", "score"]].mean().reset_index()
