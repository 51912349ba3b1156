"""Correlations with max drop over encoders and over layers of a causal model: facts, and published p-values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log10, nan, sqrt
from typing import Any

import numpy as np
import pandas as pd

from shesha.support.types import Index, Vector
from shesha_studies.causal_lm_embeddings import CAUSAL
from shesha_studies.framework.checks import AGREES, DIFFERS, Found
from shesha_studies.framework.facts import (
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
from shesha_studies.framework.published_checks import Answers
from shesha_studies.framework.tolerance import correlation_p
from shesha_studies.sentences import SETS
from shesha_studies.steering_predictors import partial_correlations

Tables = Mapping[str, pd.DataFrame]
Columns = Mapping[str, Vector]
ALIGNMENT = "supervised_alignment"
PREDICTORS = (ALIGNMENT, "feature_split", "procrustes", "fisher", "silhouette", "anisotropy")
AT_CHANCE = 0.05
"""Largest excess of a probe's accuracy over the share of the larger class at which its direction is meaningless."""
SHUFFLED = 0.0045 * sqrt(1 / 19 + 1 / 15)
"""Standard error of the difference: the alignment of one shuffle varies by 0.0045, and all encoders share our 19
shuffles and the paper's 15."""
N_SEEDS = 15
"""Published number of seeds."""


def encoder_tables(rows: pd.DataFrame) -> tuple[Tables, Tables]:
    """Return one table per set of sentences, with one line per encoder; and the same for layers of the causal model."""
    of_causal = rows.encoder.str.startswith(CAUSAL)
    return _average_seeds(rows[~of_causal]), _average_seeds(rows[of_causal])


def _average_seeds(rows: pd.DataFrame) -> Tables:
    """Return means over seeds, by set of sentences."""
    numbers = [name for name in rows.columns if name not in ("sentences", "encoder", "seed")]
    tables = {}
    for name, group in rows.groupby("sentences", sort=False):
        # Drops are shares of rows, so smaller differences are rounding errors, and must be ties.
        table = group.groupby("encoder", sort=False)[numbers].mean().round(5).reset_index()
        family = table.encoder.str.partition(":")[0]
        # Each encoder that counts words is treated as a network.
        network = family.str.partition(",")[0].where(family != "words", table.encoder)
        tables[str(name)] = table.assign(family=family, network=network)
    return tables


def correlations(table: pd.DataFrame, target: str, *, whole: bool = False) -> Any:
    """Rank correlations with the target, raw and given Fisher and silhouette, with chance.

    The layers of a network are not independent. If `whole` is True, networks are permuted together with all their
    layers.
    """
    columns = {name: table[name].to_numpy() for name in (*PREDICTORS, target)}
    groups = table.network.to_numpy() if whole else None
    return partial_correlations(columns, target, groups=groups, n_draws=499, seed=0)


def make_facts(tables: Tables, causal: Tables) -> Facts:
    """Return correlations over encoders, treated as independent, and effects of steering by shuffled labels."""
    if not set(tables) == set(causal) == set(SETS):
        return {}
    results = {name: correlations(table, "max_drop") for name, table in tables.items()}
    layers = {name: correlations(table, "max_drop") for name, table in causal.items()}
    facts = {**_averages(tables, results), **_drops(tables, causal), **_all_sets(tables, results)}
    facts |= _p_values_of_networks(tables, results)
    return as_facts(facts) | as_facts({**_all_sets(causal, layers), **_in_lengths(causal)}, f"{CAUSAL} ")


def _averages(tables: Tables, results: Mapping[str, Any]) -> dict[str, Fact]:
    n = min(len(table) for table in tables.values())
    partial = [result[ALIGNMENT].value for result in results.values()]
    raw = [result[ALIGNMENT].raw.value for result in results.values()]
    return {
        "alignment": mean_correlation(raw, n),
        "lowest_alignment": rank_correlation(min(raw), n),
        "lowest_given_separability": rank_correlation(min(partial), n, 2),
    }


def _drops(tables: Tables, causal: Tables) -> dict[str, Fact]:
    """Max drop against random directions, and against shuffled labels where probes read the labels."""
    beyond = {
        f"read_by_{who}": [_over_networks(t, _beyond) for t in some.values() if t.largest_drop.mean() > AT_CHANCE]
        for who, some in (("encoders", tables), ("causal", causal))
    }
    return {
        "ratio_to_random": smallest(_over_networks(t, _ratio) for t in (*tables.values(), *causal.values())),
        **{name: smallest(facts) for name, facts in beyond.items()},
        "beyond_shuffled": smallest(fact for facts in beyond.values() for fact in facts),
    }


def _networks(table: pd.DataFrame) -> int | list[Index]:
    """Return the rows by network, because layers of one network are dependent; for a single network, by layer."""
    groups = [np.flatnonzero(table.network == name) for name in table.network.unique()]
    return groups if len(groups) > 1 else len(table)


def _over_networks(table: pd.DataFrame, statistic: Callable[[Columns], float]) -> Fact:
    """Return a statistic of encoders; networks are resampled with all their layers."""
    columns = _columns(table)
    return resampled(lambda rows: statistic(_lines(columns, rows)), _networks(table))


def _over_sets(tables: Tables, statistic: Callable[[list[Columns]], float]) -> Fact:
    """Return a statistic of all sets of sentences; the same networks are drawn for each."""
    shortest, sets = min(tables.values(), key=len), [_columns(tables[name]) for name in SETS]
    return resampled(lambda rows: statistic([_lines(columns, rows) for columns in sets]), _networks(shortest))


def _columns(table: pd.DataFrame) -> Columns:
    """Return the numbers by column: taking lines of a table thousands of times would take most of the time."""
    return {str(name): table[name].to_numpy() for name in table.select_dtypes("number")}


def _lines(columns: Columns, rows: Index) -> Columns:
    return {name: column[rows] for name, column in columns.items()}


def _ratio(table: Columns) -> float:
    random = float(table["random_drop"].mean())
    return float(table["max_drop"].mean()) / random if random else nan


def _beyond(table: Columns) -> float:
    return float(table["max_drop"].mean() - table["max_drop_chance"].mean())


def _rho(table: Columns, name: str) -> float:
    values = np.array([table[name], table["max_drop"]])
    # Mean ranks by counts, since calls of rankdata for thousands of small samples take most of the time.
    ranks = (values[:, :, None] > values[:, None]).sum(axis=2) + (values[:, :, None] == values[:, None]).sum(axis=2) / 2
    return float(np.corrcoef(ranks)[0, 1]) if np.ptp(ranks, axis=1).all() else nan


def _all_sets(tables: Tables, results: Mapping[str, Any]) -> dict[str, Fact | float]:
    """Facts on any collection of encoders, for each set of sentences and over the sets."""
    by_set = {name: _one_set(table, results[name]) for name, table in tables.items()}
    return {
        **{f"{fact} {name}": value for name, facts in by_set.items() for fact, value in facts.items()},
        "encoders": min(map(len, tables.values())),
        "layers": min(int((table.family != "words").sum()) for table in tables.values()),
        "largest accuracy": largest(absolute(by_set[name]["accuracy"]) for name in SETS),
        "range of anisotropy": _over_sets(tables, lambda some: float(np.ptp([_rho(t, "anisotropy") for t in some]))),
        "smallest fall": _over_sets(tables, lambda some: -float(np.diff([_ratio(t) for t in some]).max())),
        "split of real tasks": max((by_set[name]["split"] for name in SETS[1:]), key=lambda fact: abs(fact.value)),
    }


def _one_set(table: pd.DataFrame, result: Mapping[str, Any]) -> dict[str, Any]:
    n, alignment, fisher = len(table), result[ALIGNMENT], result["fisher"]
    return {
        "raw": rank_correlation(alignment.raw.value, n),
        "Fisher": rank_correlation(fisher.raw.value, n),
        "beyond Fisher": _over_networks(table, lambda frame: _rho(frame, ALIGNMENT) - _rho(frame, "fisher")),
        "best": rank_correlation(max(alignment.raw.value, fisher.raw.value), n),
        "partial": rank_correlation(alignment.value, n, 2),
        "split": _over_networks(table, lambda frame: _rho(frame, "feature_split")),
        "anisotropy": result["anisotropy"].raw.value,
        "accuracy": rank_correlation(float(table.accuracy.corr(table.max_drop, "spearman")), n),
        "full": (table.max_drop >= 0.95 * table.largest_drop - 1e-6).sum(),
        "share": (table.max_drop / table.largest_drop).mean(),
        "ratio": _ratio(_columns(table)),
        "flips": table.to_target.mean(),
        "flips, shuffled": table.to_target_chance.mean(),
    }


def _p_values_of_networks(tables: Tables, results: Mapping[str, Any]) -> dict[str, float]:
    """Partial p-values given Fisher and silhouette, with layers of a network permuted together."""
    p_values = {name: correlations(table, "max_drop", whole=True)[ALIGNMENT].p_value for name, table in tables.items()}
    one_sided = [p if results[name][ALIGNMENT].value > 0 else 1.0 for name, p in p_values.items()]
    return {
        **{f"whole {name}_p": p for name, p in p_values.items()},
        "unique_p": max(one_sided),
        "unique sets": sum(p < 0.05 for p in one_sided),
    }


def _in_lengths(tables: Tables) -> dict[str, float]:
    """Facts on the lengths of rows, and correlations with strengths in units of this length."""
    small = {name: correlations(table, "small_drop")[ALIGNMENT] for name, table in tables.items()}
    return {
        "shortest row": min(table.length.min() for table in tables.values()),
        "longest row": max(table.length.max() for table in tables.values()),
        **{f"in lengths {name}": estimate.raw.value for name, estimate in small.items()},
        **{f"in lengths, partial {name}": estimate.value for name, estimate in small.items()},
    }


def published_numbers(tables: Tables, published: pd.DataFrame) -> Answers:
    """Return our alignment for shuffled labels, products, and p-values that follow from published correlations."""
    printed = dict(zip(published.key.astype(str), published.published.astype(str), strict=True))
    answers = {
        f"shuffled/{name}": Found(float(table.alignment_chance.mean()), SHUFFLED) for name, table in tables.items()
    }
    answers |= {f"observations/{n}": Found(float(n * N_SEEDS)) for n in (35, 69)}
    for key, value in printed.items():
        if key.startswith("p/"):
            _, n, name = key.split("/", 2)
            rho = float(printed[name])
            p = correlation_p(rho, int(n), 2 if "partial" in name else 0)
            why = f"A correlation of {abs(rho):g} over {n} encoders has p = {p:.2g}."
            answers[key] = Found(p, why=why, verdict=AGREES if _p_value_fits(p, value) else DIFFERS)
    return answers


def _p_value_fits(p: float, value: str) -> bool:
    """Return whether a p-value is as stated: below a bound (to a power of ten), near a number, or not significant."""
    if value == "n.s.":
        return p > 0.05
    bound = log10(float(value.removeprefix("<")))
    return round(log10(p)) <= round(bound) if value.startswith("<") else abs(log10(p) - bound) < log10(1.5)
