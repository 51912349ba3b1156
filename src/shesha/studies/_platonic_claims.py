"""The claims about convergence, judged by stand-ins, and the published numbers, which need the published models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.studies._checks import Check
from shesha.studies._sides import trends
from shesha.studies._verdicts import Verdicts

if TYPE_CHECKING:
    import pandas as pd

MODELS_MISSING = "The published models' layers of WIT are not at hand"
_VIDEO_MISSING = "VideoMAE, the language models and the PVD videos are not at hand."
RISE, FALL = 0.5, 0.3
"""Mean correlation that counts as a trend, and loss of it that counts as one."""


def mean_trends(rows: pd.DataFrame) -> pd.DataFrame:
    """Correlate scores with capability and with width within each set of models, and average over sets."""
    free = rows[(rows.null == "free") & (rows.epochs > 0)]
    found = trends(free, ["raw", "score"]).rename(columns={"raw": "before", "score": "after"})
    wide = trends(free.assign(capability=free.width), ["raw", "score"])
    found["before, with width"], found["after, with width"] = wide["raw"], wide["score"]
    return found


def judged_platonic(rows: pd.DataFrame, measures: dict[str, list[str]], published: pd.DataFrame) -> tuple[Check, ...]:
    """Judge every line; `measures` are the library's names of the global and of the local ones."""
    verdicts = Verdicts(published)
    found = mean_trends(rows)
    means = found.groupby("measure")[["before", "after"]].mean()
    _numbers(verdicts, means, measures)
    enough = set(measures["global"]) <= set(means.index)
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
    before, after = (means.loc[kernels, column] for column in ("before", "after"))
    verdicts.claim(
        "raw",
        bool(before.min() > RISE),
        f"correlation with capability {before.min():+.2f} to {before.max():+.2f}",
        (
            "Raw scores of the stand-ins do not rise with capability on average over sets of models; they rise "
            "with the width where rows are few beside it."
        ),
    )
    verdicts.claim(
        "calibrated",
        bool(after.max() < RISE),
        (
            f"correlation with capability {after.min():+.2f} to {after.max():+.2f} ({before.min():+.2f} to "
            f"{before.max():+.2f} raw)"
        ),
        "On the stand-ins calibrated CKA keeps its trend.",
    )
    others = [name for name in measures["global"] if name not in (*kernels, "unbiased CKA")]
    lost = means.loc[others].before - means.loc[others].after
    verdicts.claim("global", bool(lost.min() > FALL), said(others), "On the stand-ins calibration leaves these trends.")
    own = means.loc["unbiased CKA"]
    verdicts.claim(
        "unbiased",
        bool(own.before > RISE and own.after < own.before - FALL),
        f"{own.before:+.2f} raw, {own.after:+.2f} calibrated",
        (
            "Unbiased CKA has no width to be corrected for: calibration subtracts a threshold near zero and "
            "leaves its trend. A loss of 0.66, as published, cannot come from the width."
        ),
    )
    local = means.loc[measures["local"]]
    moved = float((local.before - local.after).abs().max())
    verdicts.claim("local", moved < 0.1, f"moves by {moved:.2f} at most ({said(measures['local'][:1])})", "they change")
    gap = float(lost.mean() - (local.before - local.after).mean())
    verdicts.claim(
        "collapse",
        gap > FALL,
        f"loss of correlation {lost.mean():+.2f} (global), {(local.before - local.after).mean():+.2f} (local)",
        "On the stand-ins no collapse: what calibration takes off global scores is small beside what the models share.",
    )
    per_set = found[found.measure.isin(measures["local"])].groupby(["data", "partner"]).after.mean()
    verdicts.claim(
        "families",
        bool((per_set > RISE).all()),
        ", ".join(f"{value:+.2f} ({data}, {partner})" for (data, partner), value in per_set.items()),
        "Trends of neighbourhoods differ between sets of models.",
    )


def _strengths(verdicts: Verdicts, rows: pd.DataFrame, measures: dict[str, list[str]]) -> None:
    """Significance and size of global and local scores."""
    free = rows[(rows.null == "free") & (rows.epochs > 0)]
    shares = [float((free[free.measure.isin(measures[kind])].p_value <= 0.05).mean()) for kind in ("global", "local")]
    verdicts.claim(
        "effect",
        min(shares) > 0.9,
        (
            f"{100 * shares[0]:.0f} % of global and {100 * shares[1]:.0f} % of local scores of the stand-ins "
            "reach p <= 0.05"
        ),
        "Significance differs, too.",
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
        (
            f"correlation of calibrated scores with capability: {after['CKA']:+.2f} (CKA), "
            f"{after['mutual kNN(k=10)']:+.2f} (mutual kNN). {said}"
        ),
        (
            "On the stand-ins the trends of calibrated global and local scores do not part that far, and "
            "untrained networks share much of both."
        ),
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
