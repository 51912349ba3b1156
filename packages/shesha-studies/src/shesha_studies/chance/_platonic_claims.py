"""The claims about convergence, judged by stand-ins, and the published numbers, which need the published models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.studies.checks import DIFFERS
from shesha.studies.published import Answers, Found, claim, unreachable
from shesha_studies.chance._sides import NO_COLLAPSE, RISE, trends

if TYPE_CHECKING:
    import pandas as pd

MODELS_MISSING = "The published models' layers of WIT are not at hand"
MISSING = {
    "video": "VideoMAE, the language models and the PVD videos are not at hand.",
    "bpb": "Bits per byte of the published language models are not at hand.",
    **dict.fromkeys(("significant", "most p"), f"{MODELS_MISSING}."),
}
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


def judged_platonic(rows: pd.DataFrame, measures: dict[str, list[str]], keys: list[str]) -> Answers:
    """Judge every line; `measures` are the library's names of the global and of the local ones."""
    answers: Answers = {}
    found = mean_trends(rows)
    means = found.groupby("measure")[["before", "after", *ON_WIDTH]].mean()
    answers |= _numbers(means, measures, keys)
    there = set(means.dropna().index)
    for needed, judge in (
        ({"CKA", "CKA(kernel=rbf)"}, _kernels),
        (set(measures["global"]), _other_global),
        ({"CKA", "mutual kNN(k=10)", "CKNNA(k=10)"}, _local),
    ):
        if needed <= there:
            answers |= judge(rows, means, found, measures)
    return answers


def _numbers(means: pd.DataFrame, measures: dict[str, list[str]], keys: list[str]) -> Answers:
    """Numbers of the published models; beside them, in the reason, those of the stand-ins."""
    answers: Answers = {}
    names = measures["names"]
    for key in (one for one in keys if one.startswith(("table", "text"))):
        place = key.split(" ", 1)[1].removesuffix(" before").removesuffix(" after")
        measure = next((own for own, name in zip(measures["all"], names, strict=True) if name == place), None)
        column = "after" if key.endswith("after") else "before"
        known = dict(zip(means.index, means[column].to_numpy(dtype=float), strict=True))
        ours = f"; on the stand-ins {known[measure]:+.2f}" if measure in known else ""
        answers[key] = unreachable(f"{MODELS_MISSING}{ours}.")
    answers["least p"] = Found(1 / 501, decimals=3)
    return answers


def _kernels(rows: pd.DataFrame, means: pd.DataFrame, found: pd.DataFrame, measures: dict[str, list[str]]) -> Answers:
    """Whether linear and RBF CKA rise with capability or width, before and after."""
    answers: Answers = {}
    kernels = ["CKA", "CKA(kernel=rbf)"]
    for key, own in (("raw", ["before", ON_WIDTH[0]]), ("calibrated", ["after", ON_WIDTH[1]])):
        part = means.loc[kernels, own].to_numpy(dtype=float)
        text = (
            f"correlation {part[:, 0].min():+.2f} to {part[:, 0].max():+.2f} with capability, "
            f"{part[:, 1].min():+.2f} to {part[:, 1].max():+.2f} with width"
        )
        if key == "raw":
            holds, why = bool(part[:, 1].min() > RISE), "Raw scores of the stand-ins do not rise."
        else:
            holds, why = bool(part.max() < RISE), NO_COLLAPSE
        answers[key] = claim(holds, text, why, DIFFERS)
    return answers


def _other_global(
    rows: pd.DataFrame, means: pd.DataFrame, found: pd.DataFrame, measures: dict[str, list[str]]
) -> Answers:
    """The rest of the global measures."""
    answers: Answers = {}
    others = [name for name in measures["global"] if name not in ("CKA", "CKA(kernel=rbf)", "unbiased CKA")]
    lost = means.loc[others].before - means.loc[others].after
    said = ", ".join(f"{name} {means.before[name]:+.2f} to {means.after[name]:+.2f}" for name in others)
    answers["global"] = claim(bool(lost.min() > FALL), said, NO_COLLAPSE, DIFFERS)
    own = means.loc["unbiased CKA"]
    answers["unbiased"] = claim(
        bool(own.before > RISE and own.after < own.before - FALL),
        f"{own.before:+.2f} raw, {own.after:+.2f} calibrated",
        "Unbiased CKA has no width to be corrected for: calibration subtracts a threshold near zero and "
        "leaves its trend.",
        DIFFERS,
    )
    return answers


def _local(rows: pd.DataFrame, means: pd.DataFrame, found: pd.DataFrame, measures: dict[str, list[str]]) -> Answers:
    """Neighbourhoods, and whether they part from global scores."""
    answers: Answers = {}
    names = [name for name in measures["local"] if name in means.dropna().index]
    local = means.loc[names]
    moved = float((local.before - local.after).abs().max())
    said = ", ".join(f"{name} {means.before[name]:+.2f} to {means.after[name]:+.2f}" for name in names)
    flat = [name for name in names if local.before[name] < FALL]
    if flat and len(flat) < len(names):
        said += f"; no trend to keep here: {', '.join(flat)}"
    why = "they change" if moved >= 0.1 else "On the stand-ins they have no trend to keep."
    answers["local"] = claim(moved < 0.1 and len(flat) < len(names), said, why, DIFFERS)
    per_set = found[found.measure.isin(names)].groupby("data").after.mean()
    answers["families"] = claim(
        bool((per_set > RISE).all()),
        ", ".join(f"{value:+.2f} ({data})" for data, value in per_set.items()),
        "Trends of neighbourhoods differ between sets of models.",
        DIFFERS,
    )
    free = rows[(rows.null == "free") & (rows.epochs > 0)]
    hits = [free[free.measure.isin(measures[kind])].p_value <= 0.05 for kind in ("global", "local")]
    shares = [100 * float(one.mean()) for one in hits]
    text = f"{shares[0]:.0f} % of global and {shares[1]:.0f} % of local scores of the stand-ins reach p <= 0.05"
    lost = means.before["CKA"] - means.after["CKA"] - float((local.before - local.after).mean())
    answers["effect"] = claim(
        bool(min(shares) > 90 and lost > FALL),
        f"{text}; CKA loses {lost:+.2f} more of its trend than local scores",
        "Trends do not part on the stand-ins." if min(shares) > 90 else "Significance differs, too.",
        DIFFERS,
    )
    return answers


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
