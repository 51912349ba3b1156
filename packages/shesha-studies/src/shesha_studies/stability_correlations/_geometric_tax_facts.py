"""Facts of the study `geometric-tax`, from our networks at equal width and from the paper's tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t

from shesha.studies.facts import NAN, Fact, Facts, as_facts, mean_correlation, rank_correlation
from shesha.studies.published_checks import lines_of, number
from shesha.support.types import Vector
from shesha_studies.stability_correlations._geometric_tax_statistics import TARGETS, Findings

_MODELS = 93
"""Number of models that all image sets of Table 28 have in common."""
_GROUPS = (("objective", "contrastive", ("autoencoder", "rotation")), ("shape", "hierarchical", ("columnar",)))


def make_facts(findings: Findings, published: pd.DataFrame) -> Facts:
    """Return the facts by which the claims are judged."""
    of_networks, of_tables = (_trade, _scores, _width_facts, _groups), (_dino, _correlations, _p_values, _family_ranks)
    parts = (*(part(findings) for part in of_networks), *(part(published) for part in of_tables))
    return as_facts({name: value for part in parts for name, value in part.items()})


def _join_signed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:+.2f}" for value in values)


def _name_signed(values: Iterable[float], names: Iterable[str] = TARGETS) -> str:
    """Numbers with a sign, each with the name of its images."""
    return ", ".join(f"{value:+.2f} ({name})" for value, name in zip(values, names, strict=True))


def _trade(findings: Findings) -> Mapping[str, Any]:
    """Facts on stability against LogME, and on every pair of scores at equal width."""
    plain, equal = (
        [findings.trade["stability", "logme", target, flag] for target in TARGETS] for flag in (False, True)
    )
    every = [rho for (_, _, _, same), rho in findings.trade.items() if same]
    return {
        "networks": len(findings.rows),
        "equal_width": mean_correlation([rho.value for rho in equal], len(findings.rows)),
        "cells_negative": sum(rho.value < 0 and rho.p < 0.05 for rho in every),
        "cells_positive": sum(rho.value > 0 and rho.p < 0.05 for rho in every),
        "trade in words": _name_signed(rho.value for rho in plain),
        "trade at equal width in words": _name_signed(rho.value for rho in equal),
        "negative at equal width": sum(rho.value < 0 and rho.p < 0.05 for rho in equal),
    }


def _scores(findings: Findings) -> Mapping[str, Any]:
    """Facts on LogME of few rows of the widest networks, agreement of ranks, and effects of rotations."""
    exact, code = (findings.mean_score(name, widest=True) for name in ("few logme", "few published logme"))
    pairs = [(f"stability {first}", f"stability {second}") for first, second in combinations(TARGETS, 2)]
    plain, equal = (
        [findings.rank_correlation(*pair, same_width=flag).value for pair in pairs] for flag in (False, True)
    )
    ranks = [findings.rank_correlation(f"stability {target}", f"averaged {target}").value for target in TARGETS]
    return {
        "few_rows": code,
        "few_rows_exact": exact,
        "few_rows_apart": abs(code - exact),
        "ranks across in words": _name_signed(plain, map(" and ".join, combinations(TARGETS, 2))),
        "ranks across at equal width in words": _join_signed(equal),
        "ranks across": rank_correlation(min(equal), len(findings.rows)),
        "ranks after rotation in words": _name_signed(ranks),
    }


def _width_facts(findings: Findings) -> Mapping[str, Any]:
    """Mean scores, and correlations with the number of features."""
    rhos = {name: findings.with_width(name) for name in ("logme", "accuracy", "stability", "equal")}
    means = ("shuffled", "stability", "repeated stability", "logme", "repeated logme")
    n = len(findings.rows)
    return {
        **{f"mean {name}": findings.mean_score(name) for name in means},
        **{f"{name} with width": rank_correlation(min(rhos[name]), n) for name in ("logme", "stability")},
        **{f"{name} with width in words": _name_signed(values) for name, values in rhos.items()},
    }


def _groups(findings: Findings) -> Mapping[str, Any]:
    """Facts on objectives and architectures by Mann-Whitney tests; differences in two of three sets decide.

    The limits of the number of sets are the sets that show the difference and the sets that do not show the opposite.
    """
    facts: dict[str, Any] = {}
    for column, group, others in _GROUPS:
        tests = {target: findings.compared(target, column, group, others) for target in TARGETS}
        higher, lower = (
            sum(sign * difference > 0 and p < 0.05 for difference, p in tests.values()) for sign in (1, -1)
        )
        known = not np.isnan([p for _, p in tests.values()]).any()
        sizes = [findings.rows[column].isin(names).sum() for names in ((group,), others)]
        lines = [
            f"{difference:+.3f} ({target}, {'p < 0.001' if p < 0.001 else f'p = {p:.3f}'})"
            for target, (difference, p) in tests.items()
        ]
        facts |= {
            f"{group} sets": Fact(higher if known else NAN, higher, len(TARGETS) - lower),
            f"{group} networks": " and ".join(map(str, sizes)),
            f"{group} in words": ", ".join(lines),
        }
    return facts


def _column(published: pd.DataFrame, table: str, name: str) -> pd.Series[str]:
    """Return a column of a published table, by row."""
    lines = lines_of(published, table)
    column: pd.Series[str] = lines[lines.number == name].set_index("row").published.astype(str)
    return column


def _scores_of(published: pd.DataFrame, table: int) -> pd.DataFrame:
    """Return a published table of families and image sets."""
    wide = lines_of(published, f"Table {table}").pivot(index="row", columns="number", values="published")
    scores: pd.DataFrame = wide.drop(columns="mean", errors="ignore").astype(float)
    return scores


def _dino(published: pd.DataFrame) -> Mapping[str, Any]:
    """Facts on the ranks of DINOv2: by stability, except on EuroSAT, and by LogME."""
    ranks = _column(published, "Table 25", "FS rank").drop("EuroSAT")
    rank, families = (ranks.str.split("/").str[part].astype(int) for part in (0, 1))
    first = _column(published, "Table 25", "LogME rank").str.startswith("1/").sum()
    # Twice the standard error over its four models, whose stability is printed only for CIFAR-100.
    models = _column(published, "Table 36", "CIFAR-100 FS").astype(float).filter(like="dinov2")
    error = 2 * models.std() / np.sqrt(len(models))
    below = (families - rank).max()
    fewest, most = (_most_below_dino(published, sign * error) for sign in (-1, 1))
    return {
        "dino_below": Fact(below, min(fewest, below), max(most, below)),
        "dino_error": error,
        "dino_last": (rank == families).sum(),
        "dino_not_last": (rank < families).sum(),
        "dino_best": ", ".join(f"{text} ({name})" for name, text in ranks[rank < families].items()),
        "dino_first": first,
        "dino_first_off": abs(first - 4),
    }


def _most_below_dino(published: pd.DataFrame, moved: float) -> int:
    """Largest number of families of Table 29 below a shifted DINOv2 score, on any set of images except EuroSAT."""
    scores = _scores_of(published, 29).drop(columns="EuroSAT")
    return int((scores.drop("DINOv2") < scores.loc["DINOv2"] + moved).sum().max())


def _correlations(published: pd.DataFrame) -> Mapping[str, Any]:
    """Facts on the correlations of Tables 23 and 28, and on the families of Tables 29 and 41."""
    table = lines_of(published, "Table 23")
    table = table[table.row == "LogME vs Shesha-FS"].set_index("number").published.astype(float)
    freedom = _MODELS - 2
    p = 2 * t.sf(np.abs(table) * np.sqrt(freedom / (1 - table**2)), freedom)
    stability, logme = _scores_of(published, 29).align(_scores_of(published, 41), join="inner")
    n_families = (stability.notna() & logme.notna()).sum().min()
    domain, pairs = _column(published, "Table 22", "domain"), lines_of(published, "Table 28")
    values, same_domain = pairs.published.astype(float), pairs.row.map(domain) == pairs.number.map(domain)
    across = values[~same_domain]
    return {
        "Oxford Pets": table["Oxford Pets"],
        "above the most negative": table["Oxford Pets"] - table.min(),
        "Table 23 in words": _join_signed(table),
        "published negative": ((table < 0) & (p < 0.05)).sum(),
        "families": mean_correlation(stability.corrwith(logme, method="spearman"), n_families),
        "number of families": n_families,
        "textures and pets": number(published, "Table 28", "DTD", "Oxford Pets"),
        "flowers and pets": number(published, "Table 28", "Flowers-102", "Oxford Pets"),
        "within beyond across": _less(
            rank_correlation(values[same_domain].min(), _MODELS), rank_correlation(across.max(), _MODELS)
        ),
        "lowest across": rank_correlation(across.min(), _MODELS),
    }


def _less(first: Fact, second: Fact) -> Fact:
    """Difference of two numbers, with the widest limits that their intervals allow."""
    return Fact(first.value - second.value, first.low - second.high, first.high - second.low)


def _p_values(published: pd.DataFrame) -> Mapping[str, float]:
    """Facts on the smallest p-values that 3 and 10 models allow, and on how many of six are below 0.05."""
    smallest = 1 / comb(13, 3)
    journal = published[published["where"] == "Geometric Stability (journal), Table 7"]
    long, short = (table[table.number == "p"].published for table in (lines_of(published, "Table 27"), journal))
    return {
        "smallest": smallest,
        "smallest_two_sided": 2 * smallest,
        "too small": smallest - number(published, "Table 26", "CIFAR-10", "p"),
        "significant": _count_significant(long),
        "significant in the journal": _count_significant(short),
    }


def _count_significant(p_values: Iterable[str]) -> int:
    return sum(text.startswith("<") or float(text) < 0.05 for text in p_values)


def _family_ranks(published: pd.DataFrame) -> Mapping[str, float]:
    """Count the ranks of families that match their scores, and the pairs of families in opposite orders."""
    positions = _scores_of(published, 29).rank(ascending=False, method="min")
    positions, ranks = positions.align(_scores_of(published, 40), join="inner")
    opposite = sum(_opposite_pairs(positions[name].to_numpy(), ranks[name].to_numpy()) for name in ranks)
    return {"ranks that follow": (positions == ranks).sum().sum(), "pairs turned": opposite}


def _opposite_pairs(first: Vector, second: Vector) -> int:
    """Count the pairs that two rankings of the same families put in opposite orders."""
    a, b = (np.sign(np.subtract.outer(ranks, ranks)) for ranks in (first, second))
    return int((a * b < 0).sum()) // 2
