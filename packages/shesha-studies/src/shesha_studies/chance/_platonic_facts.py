"""Facts of the study `platonic`: correlations of scores with capability and width, before and after calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.studies.facts import (
    Fact,
    Facts,
    absolute,
    as_facts,
    largest,
    over_correlations,
    over_draws,
    rank_correlation,
    rate,
    smallest,
)
from shesha_studies.chance._platonic_statistics import ON_WIDTH, mean_trends, untrained_scores
from shesha_studies.chance._two_modality_models import trends

if TYPE_CHECKING:
    import pandas as pd

_KERNELS = ["CKA", "CKA(kernel=rbf)"]


def make_facts(rows: pd.DataFrame, measures: Mapping[str, Sequence[str]], called: Mapping[str, str]) -> Facts:
    """Return what decides the claims; `measures` are the library's names of the global and of the local ones."""
    found = mean_trends(rows).assign(lost=lambda one: one.before - one.after)
    means = found.groupby("measure")[["before", "after", *ON_WIDTH]].mean()
    made: dict[str, Any] = {}
    for name, measure in (("cka", "CKA"), ("knn", "mutual kNN(k=10)")):
        made |= {f"{name}_{when}": _over_sets(found, measure, when) for when in ("before", "after", "lost")}
    named = ("CKA", "CKA(kernel=rbf)", "mutual kNN(k=10)", "CKNNA(k=10)")
    ends = {
        name: [_over_sets(found, name, end) for end in ("before", "after")] for name in named if name in means.index
    }
    told = (f"{called[name]} {before:+.2f} before and {after:+.2f} after" for name, (before, after) in ends.items())
    made["trends in words"] = ", ".join(told)
    there = set(means.dropna().index)
    if set(_KERNELS) <= there:
        made |= _kernels(found)
    if set(measures["global"]) <= there:
        made |= _other_global(means, found, measures["global"])
    if {"CKA", "mutual kNN(k=10)", "CKNNA(k=10)"} <= there:
        made |= _local(rows, means, found, measures)
    return as_facts(made | _untrained_scores(rows))


def _moves(found: pd.DataFrame, names: Sequence[str]) -> str:
    ends = {name: [_over_sets(found, name, end) for end in ("before", "after")] for name in names}
    return ", ".join(f"{name} {before:+.2f} to {after.value:+.2f}" for name, (before, after) in ends.items())


def _over_sets(found: pd.DataFrame, measure: str, column: str) -> Fact:
    """Mean over data sets, of correlations or of what they lose; sets of models of the same data share networks."""
    own = found[found.measure == measure]
    if column == "lost":
        return over_draws(own.lost.groupby(own.data).mean())
    return over_correlations(np.tanh(np.arctanh(own[column]).groupby(own.data).mean()))


def _kernels(found: pd.DataFrame) -> dict[str, Any]:
    """Whether linear and RBF CKA rise with capability or width, before and after; data sets are the units."""
    made: dict[str, Any] = {}
    for key, columns in (("raw", ["before", ON_WIDTH[0]]), ("calibrated", ["after", ON_WIDTH[1]])):
        for axis, column in zip(("capability", "width"), columns, strict=True):
            part = [_over_sets(found, name, column) for name in _KERNELS]
            made |= {f"{key}, {axis}, lowest": smallest(part), f"{key}, {axis}, highest": largest(part)}
        made[f"{key}, highest"] = largest(made[f"{key}, {axis}, highest"] for axis in ("capability", "width"))
    return made


def _other_global(means: pd.DataFrame, found: pd.DataFrame, names: Sequence[str]) -> dict[str, Any]:
    """The rest of the global measures."""
    others = [name for name in names if name not in (*_KERNELS, "unbiased CKA")]
    return {
        "global in words": _moves(found, others),
        "global_before": smallest(_over_sets(found, name, "before") for name in others),
        "global_lost": smallest(_over_sets(found, name, "lost") for name in others),
        **{f"unbiased_{name}": _over_sets(found, "unbiased CKA", name) for name in ("before", "after", "lost")},
    }


def _local(
    rows: pd.DataFrame, means: pd.DataFrame, found: pd.DataFrame, measures: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Neighbourhoods, and whether they part from global scores."""
    names = [name for name in measures["local"] if name in means.dropna().index]
    per_set = found[found.measure.isin(names)].groupby("data").after.mean()
    free = rows[(rows.null == "free") & (rows.epochs > 0)]
    models = free.groupby(["data", "epochs", "width"]).ngroups / free.data.nunique()
    chosen = {kind: free[free.measure.isin(measures[kind])].p_value <= 0.05 for kind in ("global", "local")}
    hits = {kind: rate(int(own.sum()), len(own)) for kind, own in chosen.items()}
    parted = found[found.measure == "CKA"].groupby("data").lost.mean()
    parted = parted - found[found.measure.isin(names)].groupby("data").lost.mean()
    return {
        "local in words": _moves(found, names),
        "local_moved": largest(absolute(_over_sets(found, name, "lost")) for name in names),
        "local_before": smallest(_over_sets(found, name, "before") for name in names),
        "sets in words": ", ".join(f"{value:+.2f} ({data})" for data, value in per_set.items()),
        "lowest_set": smallest(rank_correlation(value, models) for value in per_set),
        **{f"hits, {kind}": share for kind, share in hits.items()},
        "fewest_hits": smallest(hits.values()),
        "lost_more": over_draws(parted),
    }


def _untrained_scores(rows: pd.DataFrame) -> dict[str, Any]:
    """Calibrated scores of the narrowest and the widest untrained networks, and what training adds to the rise."""
    bare = untrained_scores(rows)
    if bare.empty:
        return {}
    ends = {"narrow": bare[bare.width == bare.width.min()], "wide": bare[bare.width == bare.width.max()]}
    scores = {end: own.groupby("measure").score.mean() for end, own in ends.items()}
    told = {
        f"untrained {name}, {end}": one[name]
        for end, one in scores.items()
        for name in ("CKA", "mutual kNN(k=10)")
        if name in one
    }
    own = rows[(rows.measure == "mutual kNN(k=10)") & (rows.null == "free") & (rows.partner == 512)]
    after, before = (
        trends(own[part], ["score"], "width").set_index("data").score for part in (own.epochs > 0, own.epochs == 0)
    )
    return {**told, "training_adds": over_draws(after - before)}
