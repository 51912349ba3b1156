"""Facts of the study `platonic`: correlations of scores with capability and width, before and after calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shesha.studies.facts import Facts, as_facts, over_draws
from shesha_studies.chance._platonic_numbers import ON_WIDTH, mean_trends, untrained_scores

if TYPE_CHECKING:
    import pandas as pd

_KERNELS = ["CKA", "CKA(kernel=rbf)"]
_NO_TREND = 0.3


def make_facts(rows: pd.DataFrame, measures: Mapping[str, Sequence[str]], called: Mapping[str, str]) -> Facts:
    """Return what decides the claims; `measures` are the library's names of the global and of the local ones."""
    trends = mean_trends(rows)
    means = trends.groupby("measure")[["before", "after", *ON_WIDTH]].mean()
    made: dict[str, Any] = {}
    for name, measure in (("cka", "CKA"), ("knn", "mutual kNN(k=10)")):
        own = trends[trends.measure == measure]
        made |= {f"{name}_{when}": over_draws(own[when]) for when in ("before", "after")}
        made[f"{name}_lost"] = over_draws(own.before - own.after)
    told = (
        f"{called[name]} {means.before[name]:+.2f} before and {means.after[name]:+.2f} after"
        for name in ("CKA", "CKA(kernel=rbf)", "mutual kNN(k=10)", "CKNNA(k=10)")
        if name in means.index
    )
    made["trends in words"] = ", ".join(told)
    there = set(means.dropna().index)
    if set(_KERNELS) <= there:
        made |= _kernels(means)
    if set(measures["global"]) <= there:
        made |= _other_global(means, measures["global"])
    if {"CKA", "mutual kNN(k=10)", "CKNNA(k=10)"} <= there:
        made |= _local(rows, means, trends, measures)
    return as_facts(made | _untrained_scores(rows))


def _moves(means: pd.DataFrame, names: Sequence[str]) -> str:
    return ", ".join(f"{name} {means.before[name]:+.2f} to {means.after[name]:+.2f}" for name in names)


def _kernels(means: pd.DataFrame) -> dict[str, Any]:
    """Whether linear and RBF CKA rise with capability or width, before and after."""
    made: dict[str, Any] = {}
    for key, columns in (("raw", ["before", ON_WIDTH[0]]), ("calibrated", ["after", ON_WIDTH[1]])):
        for axis, column in zip(("capability", "width"), columns, strict=True):
            part = means.loc[_KERNELS, column]
            made |= {f"{key}, {axis}, lowest": part.min(), f"{key}, {axis}, highest": part.max()}
        made[f"{key}, highest"] = means.loc[_KERNELS, columns].max(axis=None)
    return made


def _other_global(means: pd.DataFrame, names: Sequence[str]) -> dict[str, Any]:
    """The rest of the global measures."""
    others = [name for name in names if name not in (*_KERNELS, "unbiased CKA")]
    own = means.loc["unbiased CKA"]
    return {
        "global in words": _moves(means, others),
        "global_lost": (means.loc[others].before - means.loc[others].after).min(),
        **{"unbiased_before": own.before, "unbiased_after": own.after, "unbiased_lost": own.before - own.after},
    }


def _local(
    rows: pd.DataFrame, means: pd.DataFrame, found: pd.DataFrame, measures: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Neighbourhoods, and whether they part from global scores."""
    names = [name for name in measures["local"] if name in means.dropna().index]
    local = means.loc[names]
    per_set = found[found.measure.isin(names)].groupby("data").after.mean()
    free = rows[(rows.null == "free") & (rows.epochs > 0)]
    hits = {kind: (free[free.measure.isin(measures[kind])].p_value <= 0.05).mean() for kind in ("global", "local")}
    flat = [name for name in names if local.before[name] < _NO_TREND]
    return {
        **{"local in words": _moves(means, names), "flat in words": ", ".join(flat)},
        **{"local_moved": (local.before - local.after).abs().max(), "local_with_trend": len(names) - len(flat)},
        "sets in words": ", ".join(f"{value:+.2f} ({data})" for data, value in per_set.items()),
        "lowest_set": per_set.min(),
        **{f"hits, {kind}": share for kind, share in hits.items()},
        "fewest_hits": min(hits.values()),
        "lost_more": means.before["CKA"] - means.after["CKA"] - (local.before - local.after).mean(),
    }


def _untrained_scores(rows: pd.DataFrame) -> dict[str, float]:
    """Calibrated scores of the narrowest and the widest untrained networks."""
    bare = untrained_scores(rows)
    if bare.empty:
        return {}
    ends = {"narrow": bare[bare.width == bare.width.min()], "wide": bare[bare.width == bare.width.max()]}
    scores = {end: own.groupby("measure").score.mean() for end, own in ends.items()}
    return {
        f"untrained {name}, {end}": one[name]
        for end, one in scores.items()
        for name in ("CKA", "mutual kNN(k=10)")
        if name in one
    }
