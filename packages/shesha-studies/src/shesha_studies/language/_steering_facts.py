"""Facts of the study `steering`: correlations with max drop over encoders, and over the layers of a causal model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from shesha.studies.facts import (
    Fact,
    Facts,
    absolute,
    as_facts,
    largest,
    mean_correlation,
    rank_correlation,
    resampled,
    smallest,
)
from shesha.support.types import Index
from shesha_studies.language._steering_page import Tables, correlations, networks
from shesha_studies.sentences import SETS

_AT = "supervised_alignment"


AT_CHANCE = 0.05
"""Largest excess of a probe's accuracy over the share of the larger class at which its direction is meaningless."""


def make_facts(tables: Tables, causal: Tables) -> Facts:
    """Return correlations over encoders, treated as independent, and effects of steering by shuffled labels."""
    results = {name: correlations(table, "max_drop") for name, table in tables.items()}
    small = {name: correlations(table, "small_drop") for name, table in causal.items()}
    by_network = {name: correlations(table, "max_drop", whole=True) for name, table in tables.items()}
    facts = (
        _averages(tables, causal, results)
        | as_facts(_set_facts(tables, results))
        | as_facts(_partial_p_values(results, by_network))
    )
    if not causal:
        return facts
    rhos = {name: correlations(table, "max_drop") for name, table in causal.items()}
    return facts | as_facts(_set_facts(causal, rhos), "SmolLM2 ") | as_facts(_in_lengths(causal, small), "SmolLM2 ")


def _averages(tables: Tables, causal: Tables, results: Mapping[str, Any]) -> dict[str, Fact]:
    n = min(len(table) for table in tables.values())
    raw, partial = ([getattr(result[_AT], name) for result in results.values()] for name in ("raw", "partial"))
    split = [result["feature_split"].raw for name, result in results.items() if name != "Synthetic"]
    read = [[t for t in some.values() if t.largest_drop.mean() > AT_CHANCE] for some in (tables, causal)]
    facts = {
        "alignment": mean_correlation(raw, n),
        "alignment_given_separability": mean_correlation(partial, n, 2),
        "lowest_alignment": rank_correlation(min(raw), n),
        "lowest_given_separability": rank_correlation(min(partial), n, 2),
        "split": mean_correlation(split, n),
        "ratio_to_random": smallest(_over_networks(t, _ratio) for t in (*tables.values(), *causal.values())),
    }
    ends = {
        f"read_by_{who}": [_over_networks(t, _beyond) for t in group]
        for who, group in zip(("encoders", "causal"), read, strict=True)
    }
    facts |= {name: smallest(part) for name, part in ends.items() if part}
    facts["beyond_shuffled"] = smallest(fact for part in ends.values() for fact in part)
    return facts


def _networks(table: pd.DataFrame) -> int | list[Index]:
    """Return the rows by network, because layers of one network are dependent; for a single network, by layer."""
    names = networks(table)
    groups = [np.flatnonzero(names == name) for name in dict.fromkeys(names)]
    return groups if len(groups) > 1 else len(table)


def _over_networks(table: pd.DataFrame, statistic: Callable[[pd.DataFrame], float]) -> Fact:
    """Return a statistic of encoders; networks are resampled with all their layers."""
    return resampled(lambda rows: statistic(table.iloc[rows]), _networks(table))


def _ratio(table: pd.DataFrame) -> float:
    random = float(table.random_drop.mean())
    return float(table.max_drop.mean()) / random if random else math.nan


def _beyond(table: pd.DataFrame) -> float:
    return float(table.max_drop.mean() - table.max_drop_chance.mean())


def _rho(table: pd.DataFrame, name: str) -> float:
    first, second = (rankdata(table[column]) for column in (name, "max_drop"))
    return float(np.corrcoef(first, second)[0, 1]) if np.ptp(first) and np.ptp(second) else float("nan")


def _over_sets(tables: Tables, statistic: Callable[[list[pd.DataFrame]], float]) -> Fact:
    """Return a statistic of all sets of sentences; the same networks are drawn for each."""
    shortest = min(tables.values(), key=len)
    return resampled(lambda rows: statistic([tables[name].iloc[rows] for name in SETS]), _networks(shortest))


def _set_facts(tables: Tables, results: Mapping[str, Any]) -> dict[str, Any]:
    """Facts on any collection of encoders, for each set of sentences and over the sets."""
    facts: dict[str, Any] = {}
    for name, table in tables.items():
        result, n = results[name], len(table)
        facts |= {
            f"raw {name}": rank_correlation(result[_AT].raw, n),
            f"Fisher {name}": rank_correlation(result["fisher"].raw, n),
            f"beyond Fisher {name}": _over_networks(table, lambda frame: _rho(frame, _AT) - _rho(frame, "fisher")),
            f"best {name}": rank_correlation(max(result[_AT].raw, result["fisher"].raw), n),
            f"partial {name}": rank_correlation(result[_AT].partial, n, 2),
            f"split {name}": _over_networks(table, lambda frame: _rho(frame, "feature_split")),
            f"anisotropy {name}": result["anisotropy"].raw,
            f"accuracy {name}": rank_correlation(float(table.accuracy.corr(table.max_drop, "spearman")), n),
            f"full {name}": int((table.max_drop >= 0.95 * table.largest_drop - 1e-6).sum()),
            f"share {name}": float((table.max_drop / table.largest_drop).mean()),
            f"ratio {name}": float(table.max_drop.mean() / table.random_drop.mean()),
            f"flips {name}": float(table.to_target.mean()),
            f"flips, shuffled {name}": float(table.to_target_chance.mean()),
            f"best accuracy {name}": float(table.accuracy.max()),
        }
    if set(tables) != set(SETS):
        return facts

    def of(what: str) -> list[float]:
        return [float(getattr(facts[f"{what} {name}"], "value", facts[f"{what} {name}"])) for name in SETS]

    return facts | {
        "encoders": min(map(len, tables.values())),
        "layers": min(int((table.family != "words").sum()) for table in tables.values()),
        "largest accuracy": largest(absolute(facts[f"accuracy {name}"]) for name in SETS),
        "range of anisotropy": _over_sets(tables, lambda some: float(np.ptp([_rho(t, "anisotropy") for t in some]))),
        "smallest fall": _over_sets(tables, lambda some: -float(np.diff([_ratio(t) for t in some]).max())),
        "flips beyond": min(np.subtract(of("flips"), of("flips, shuffled"))),
        "split of real tasks": max((facts[f"split {name}"] for name in SETS[1:]), key=lambda fact: abs(fact.value)),
    }


def _partial_p_values(results: Mapping[str, Any], by_network: Mapping[str, Any]) -> dict[str, float]:
    """Partial p-values given Fisher and silhouette, with layers of a network permuted together."""
    p_values = {name: float(result[_AT].partial_p) for name, result in by_network.items()}
    positive = {name: results[name][_AT].partial > 0 for name in results}
    return {
        **{f"whole {name}_p": p for name, p in p_values.items()},
        "unique_p": max(p if positive[name] else 1.0 for name, p in p_values.items()),
        "unique sets": sum(p < 0.05 and positive[name] for name, p in p_values.items()),
    }


def _in_lengths(tables: Tables, small: Mapping[str, Any]) -> dict[str, float]:
    """Facts on the lengths of rows, and correlations with strengths in units of this length."""
    lengths = [end for table in tables.values() for end in (table.length.min(), table.length.max())]
    values = {"shortest row": min(lengths), "longest row": max(lengths)}
    for name, result in small.items():
        values |= {f"in lengths {name}": result[_AT].raw, f"in lengths, partial {name}": result[_AT].partial}
    return values
