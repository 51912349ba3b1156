"""Facts of the study `platonic`: correlations of scores with capability and width, before and after calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from shesha.studies.checks import Found
from shesha.studies.facts import (
    Fact,
    Facts,
    absolute,
    as_facts,
    largest,
    over_correlations,
    over_draws,
    rank_correlation,
    share,
    smallest,
)
from shesha.studies.published_checks import Answers, unreachable
from shesha_studies.chance._two_modality_models import trends

MODELS_MISSING = "We do not have layers of the published models for the WIT images"
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


def untrained_scores(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the scores of untrained networks by width."""
    bare = rows[rows.epochs == 0]
    return bare.groupby(["measure", "data", "width"], sort=False)[["raw", "chance", "score"]].mean().reset_index()


_KERNELS = ["CKA", "CKA(kernel=rbf)"]


def make_facts(rows: pd.DataFrame, measures: Mapping[str, Sequence[str]], called: Mapping[str, str]) -> Facts:
    """Return the facts for the claims; `measures` has the library's names of the global and the local measures."""
    table = mean_trends(rows).assign(lost=lambda frame: frame.before - frame.after)
    means = table.groupby("measure")[["before", "after", *ON_WIDTH]].mean()
    facts: dict[str, Any] = {}
    for name, measure in (("cka", "CKA"), ("knn", "mutual kNN(k=10)")):
        facts |= {f"{name}_{when}": _over_sets(table, measure, when) for when in ("before", "after")}
    facts["cka_lost"] = _over_sets(table, "CKA", "lost")
    named = ("CKA", "CKA(kernel=rbf)", "mutual kNN(k=10)", "CKNNA(k=10)")
    ends = {
        name: [_over_sets(table, name, end) for end in ("before", "after")] for name in named if name in means.index
    }
    texts = (f"{called[name]} {before:+.2f} before and {after:+.2f} after" for name, (before, after) in ends.items())
    facts["trends in words"] = ", ".join(texts)
    there = set(means.dropna().index)
    if set(_KERNELS) <= there:
        facts |= _kernels(table)
    if set(measures["global"]) <= there:
        facts |= _other_global(table, measures["global"], called)
    if {"CKA", "mutual kNN(k=10)", "CKNNA(k=10)"} <= there:
        facts |= _local(rows, means, table, measures, called)
    return as_facts(facts | _untrained_scores(rows))


def _moves(table: pd.DataFrame, names: Sequence[str], called: Mapping[str, str]) -> str:
    ends = {name: [_over_sets(table, name, end) for end in ("before", "after")] for name in names}
    return ", ".join(f"{called[name]} {before:+.2f} to {after:+.2f}" for name, (before, after) in ends.items())


def _over_sets(table: pd.DataFrame, measure: str, column: str) -> Fact:
    """Mean over data sets, of correlations or of their decrease; sets of models of the same data share networks."""
    group = table[table.measure == measure]
    if column == "lost":
        return over_draws(group.lost.groupby(group.data).mean())
    return over_correlations(np.tanh(np.arctanh(group[column]).groupby(group.data).mean()))


def _kernels(table: pd.DataFrame) -> dict[str, Any]:
    """Whether linear and RBF CKA rise with capability or width, before and after; data sets are the units."""
    facts: dict[str, Any] = {}
    for key, columns in (("raw", ["before", ON_WIDTH[0]]), ("calibrated", ["after", ON_WIDTH[1]])):
        for axis, column in zip(("capability", "width"), columns, strict=True):
            part = [_over_sets(table, name, column) for name in _KERNELS]
            facts |= {f"{key}, {axis}, lowest": smallest(part), f"{key}, {axis}, highest": largest(part)}
    facts["calibrated, highest"] = largest(facts[f"calibrated, {axis}, highest"] for axis in ("capability", "width"))
    return facts


def _other_global(table: pd.DataFrame, names: Sequence[str], called: Mapping[str, str]) -> dict[str, Any]:
    """Facts on the remaining global measures."""
    others = [name for name in names if name not in (*_KERNELS, "unbiased CKA")]
    return {
        "global in words": _moves(table, others, called),
        "global_before": smallest(_over_sets(table, name, "before") for name in others),
        "global_lost": smallest(_over_sets(table, name, "lost") for name in others),
        **{f"unbiased_{name}": _over_sets(table, "unbiased CKA", name) for name in ("before", "after", "lost")},
    }


def _local(
    rows: pd.DataFrame,
    means: pd.DataFrame,
    table: pd.DataFrame,
    measures: Mapping[str, Sequence[str]],
    called: Mapping[str, str],
) -> dict[str, Any]:
    """Facts on neighbourhood measures, and whether their trends differ from those of global measures."""
    names = [name for name in measures["local"] if name in means.dropna().index]
    per_set = table[table.measure.isin(names)].groupby("data").after.mean()
    free = rows[(rows.null == "free") & (rows.epochs > 0)]
    models = free.groupby(["data", "epochs", "width"]).ngroups / free.data.nunique()
    hits = {kind: share(free[free.measure.isin(measures[kind])].p_value <= 0.05) for kind in ("global", "local")}
    parted = table[table.measure == "CKA"].groupby("data").lost.mean()
    parted = parted - table[table.measure.isin(names)].groupby("data").lost.mean()
    return {
        "local in words": _moves(table, names, called),
        "local_moved": largest(absolute(_over_sets(table, name, "lost")) for name in names),
        "local_before": smallest(_over_sets(table, name, "before") for name in names),
        "sets in words": ", ".join(f"{value:+.2f} ({data})" for data, value in per_set.items()),
        "lowest_set": smallest(rank_correlation(value, models) for value in per_set),
        **{f"hits, {kind}": hit for kind, hit in hits.items()},
        "fewest_hits": smallest(hits.values()),
        "lost_more": over_draws(parted),
    }


def _untrained_scores(rows: pd.DataFrame) -> dict[str, Any]:
    """Calibrated scores of the narrowest and the widest untrained networks, and the part of the rise due to
    training."""
    bare = untrained_scores(rows)
    if bare.empty:
        return {}
    ends = {"narrow": bare[bare.width == bare.width.min()], "wide": bare[bare.width == bare.width.max()]}
    scores = {end: group.groupby("measure").score.mean() for end, group in ends.items()}
    facts = {
        f"untrained {name}, {end}": means[name]
        for end, means in scores.items()
        for name in ("CKA", "mutual kNN(k=10)")
        if name in means
    }
    knn = rows[(rows.measure == "mutual kNN(k=10)") & (rows.null == "free") & (rows.partner == 512)]
    after, before = (
        trends(knn[part], ["score"], "width").set_index("data").score for part in (knn.epochs > 0, knn.epochs == 0)
    )
    return {**facts, "training_adds": over_draws(after - before)}
