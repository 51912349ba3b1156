"""The claims about convergence, judged by stand-ins, and the published numbers, which need the published models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.studies._checks import DIFFERS, Check
from shesha.studies._sides import NO_COLLAPSE, RISE, trends
from shesha.studies._verdicts import Verdicts

if TYPE_CHECKING:
    import pandas as pd

MODELS_MISSING = "The published models' layers of WIT are not at hand"
_VIDEO_MISSING = "VideoMAE, the language models and the PVD videos are not at hand."
ON_WIDTH = ["before, with width", "after, with width"]
FALL = 0.3
"""Loss of correlation that counts as one."""


def mean_trends(rows: pd.DataFrame) -> pd.DataFrame:
    """Correlate scores with capability and with width within each set of models, and average over sets."""
    free = rows[(rows.null == "free") & (rows.epochs > 0)]
    found = trends(free, ["raw", "score"]).rename(columns={"raw": "before", "score": "after"})
    wide = trends(free, ["raw", "score"], "width")
    found["before, with width"], found["after, with width"] = wide["raw"], wide["score"]
    return found


def judged_platonic(rows: pd.DataFrame, measures: dict[str, list[str]], published: pd.DataFrame) -> tuple[Check, ...]:
    """Judge every line; `measures` are the library's names of the global and of the local ones."""
    verdicts = Verdicts(published)
    found = mean_trends(rows)
    means = found.groupby("measure")[["before", "after", *ON_WIDTH]].mean()
    _numbers(verdicts, means, measures)
    enough = {*measures["global"], *measures["local"]} <= set(means.dropna().index) and bool((rows.epochs == 0).any())
    keys = ("raw", "calibrated", "global", "unbiased", "local", "collapse", "effect", "families", "aristotle")
    if not enough:
        for key in keys:
            verdicts.claim(key, None, None)
    else:
        _trends(verdicts, means, found, measures)
        _strengths(verdicts, rows, measures)
        _conclusion(verdicts, rows, means, measures)
    for key in verdicts.keys_from("video"):
        verdicts.unreachable(key, _VIDEO_MISSING)
    verdicts.unreachable("bpb", "Bits per byte of the published language models are not at hand.")
    return verdicts.checks()


def _numbers(verdicts: Verdicts, means: pd.DataFrame, measures: dict[str, list[str]]) -> None:
    """Numbers of the published models; beside them, in the reason, those of the stand-ins."""
    names = measures["names"]
    for key in (*verdicts.keys_from("table"), *verdicts.keys_from("text")):
        place = key.split(" ", 1)[1].removesuffix(" before").removesuffix(" after")
        measure = next((own for own, name in zip(measures["all"], names, strict=True) if name == place), None)
        column = "after" if key.endswith("after") else "before"
        ours = f"; on the stand-ins {means[column][measure]:+.2f}" if measure in means.index else ""
        verdicts.unreachable(key, f"{MODELS_MISSING}{ours}.")
    for key in ("significant", "most p"):
        verdicts.unreachable(key, f"{MODELS_MISSING}.")
    verdicts.number("least p", 1 / 501, decimals=3)


def _trends(verdicts: Verdicts, means: pd.DataFrame, found: pd.DataFrame, measures: dict[str, list[str]]) -> None:
    """Who rises with capability, before and after."""

    def said(names: list[str]) -> str:
        return ", ".join(f"{name} {means.before[name]:+.2f} to {means.after[name]:+.2f}" for name in names)

    kernels = ["CKA", "CKA(kernel=rbf)"]
    before, after = means.loc[kernels, ["before", ON_WIDTH[0]]], means.loc[kernels, ["after", ON_WIDTH[1]]]
    for key, part in (("raw", before), ("calibrated", after)):
        text = (
            f"correlation {part.iloc[:, 0].min():+.2f} to {part.iloc[:, 0].max():+.2f} with capability, "
            f"{part.iloc[:, 1].min():+.2f} to {part.iloc[:, 1].max():+.2f} with width"
        )
        if key == "raw":
            verdicts.claim(
                key, bool(part.iloc[:, 1].min() > RISE), text, "Raw scores of the stand-ins do not rise.", DIFFERS
            )
        else:
            verdicts.claim(key, bool(part.max(axis=None) < RISE), text, NO_COLLAPSE, DIFFERS)
    others = [name for name in measures["global"] if name not in (*kernels, "unbiased CKA")]
    lost = means.loc[others].before - means.loc[others].after
    verdicts.claim("global", bool(lost.min() > FALL), said(others), NO_COLLAPSE, DIFFERS)
    own = means.loc["unbiased CKA"]
    verdicts.claim(
        "unbiased",
        bool(own.before > RISE and own.after < own.before - FALL),
        f"{own.before:+.2f} raw, {own.after:+.2f} calibrated",
        "Unbiased CKA has no width to be corrected for: calibration subtracts a threshold near zero and "
        "leaves its trend. A loss of 0.66, as published, cannot come from the width.",
        DIFFERS,
    )
    local = means.loc[measures["local"]]
    moved = float((local.before - local.after).abs().max())
    verdicts.claim(
        "local", moved < 0.1, f"moves by {moved:.2f} at most ({said(measures['local'][:1])})", "they change", DIFFERS
    )
    gap = float(lost.mean() - (local.before - local.after).mean())
    verdicts.claim(
        "collapse",
        gap > FALL,
        f"loss of correlation {lost.mean():+.2f} (global), {(local.before - local.after).mean():+.2f} (local)",
        "On the stand-ins no collapse: what calibration takes off global scores is small beside what the models share.",
        DIFFERS,
    )
    per_set = found[found.measure.isin(measures["local"])].groupby(["data", "partner"]).after.mean()
    verdicts.claim(
        "families",
        bool((per_set > RISE).all()),
        ", ".join(f"{value:+.2f} ({data}, {partner})" for (data, partner), value in per_set.items()),
        "Trends of neighbourhoods differ between sets of models.",
        DIFFERS,
    )


def _strengths(verdicts: Verdicts, rows: pd.DataFrame, measures: dict[str, list[str]]) -> None:
    """Significance and size of global and local scores."""
    free = rows[(rows.null == "free") & (rows.epochs > 0)]
    shares = [float((free[free.measure.isin(measures[kind])].p_value <= 0.05).mean()) for kind in ("global", "local")]
    verdicts.claim(
        "effect",
        min(shares) > 0.9,
        f"{100 * shares[0]:.0f} % of global and {100 * shares[1]:.0f} % of local scores of the stand-ins "
        "reach p <= 0.05",
        "Significance differs, too.",
        DIFFERS,
    )


def _conclusion(verdicts: Verdicts, rows: pd.DataFrame, means: pd.DataFrame, measures: dict[str, list[str]]) -> None:
    """Neighbourhoods only? Global scores of the same models, and neighbourhoods of untrained ones."""
    bare = rows[(rows.epochs == 0) & (rows.null == "free")].groupby("measure").score.mean()
    trained = rows[(rows.epochs > 0) & (rows.null == "free")].groupby("measure").score.mean()
    shared = [name for name in ("CKA", "mutual kNN(k=10)") if name in bare.index]
    said = "; ".join(f"{name}: untrained {bare[name]:.2f}, trained {trained[name]:.2f}" for name in shared)
    after = means.after
    verdicts.claim(
        "aristotle",
        bool(after["mutual kNN(k=10)"] > RISE and after["CKA"] < after["mutual kNN(k=10)"] - FALL),
        f"correlation of calibrated scores with capability: {after['CKA']:+.2f} (CKA), "
        f"{after['mutual kNN(k=10)']:+.2f} (mutual kNN). {said}",
        "On the stand-ins the trends of calibrated global and local scores do not part that far, and "
        "untrained networks share much of both.",
        DIFFERS,
    )


def within(rows: pd.DataFrame) -> pd.DataFrame:
    """What is left where rows are permuted among those of one class only."""
    chosen = rows[rows.epochs > 0]
    keys = ["measure", "data"]
    both = chosen.pivot_table(index=[*keys, "epochs", "width", "partner"], columns="null", values="score").dropna()
    return both.groupby(keys).mean().reset_index() if both.shape[1] == 2 else both.reset_index()


def untrained(rows: pd.DataFrame) -> pd.DataFrame:
    """Scores of networks as they were made, against their width."""
    bare = rows[rows.epochs == 0]
    return bare.groupby(["measure", "data", "width"], sort=False)[["raw", "chance", "score"]].mean().reset_index()
