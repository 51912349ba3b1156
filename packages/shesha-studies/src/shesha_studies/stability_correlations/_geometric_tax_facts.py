"""Facts of the study `geometric-tax`, from our networks, also at equal width, and from the paper's tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import mannwhitneyu, t

from shesha.support.types import Vector
from shesha_studies.framework.facts import NAN, Fact, Facts, as_facts, mean_correlation, rank_correlation
from shesha_studies.framework.published_checks import lines_of, number, printed_table

TARGETS = ("clothes", "photographs", "digits")
_STABILITIES = {
    "stability": "feature split",
    "centred": "feature split, centred",
    "equal": "feature split of 64 features",
    "averaged": "basis-averaged",
}
_TRANSFERS = {"logme": "LogME", "accuracy": "accuracy of a linear probe", "leep": "LEEP", "variance": "variance ratio"}
_DRAWS = 999
_MODELS = 93
"""Number of models that all image sets of Table 28 have in common."""
_GROUPS = (("objective", "contrastive", ("autoencoder", "rotation")), ("shape", "hierarchical", ("columnar",)))


class Rank(NamedTuple):
    """A rank correlation with its p-value from permuted networks; permuted within widths if ranks are."""

    value: float
    p: float

    def __str__(self) -> str:
        """Return both, as in the tables of the page."""
        return f"{self.value:+.2f} (p {self.p:.3f})"


@dataclass(frozen=True)
class Findings:
    """One line per network, and the statistics computed from them."""

    rows: pd.DataFrame

    def rank_correlation(self, first: str, second: str, *, same_width: bool = False) -> Rank:
        """Correlate two columns over networks, or their ranks within widths."""
        table = self.rows.dropna(subset=[first, second])
        groups = table.width.to_numpy() if same_width else np.zeros(len(table))
        ranks = (table.groupby(groups)[name].rank() for name in (first, second))
        x, y = (np.asarray(rank - rank.groupby(groups).transform("mean"), dtype=np.float64) for rank in ranks)
        return _shuffled_correlation(x, y, groups)

    def mean_score_of_widest(self, name: str) -> float:
        """Mean of a score over the widest networks and over targets."""
        rows = self.rows[self.rows.width == self.rows.width.max()]
        return float(rows[[f"{name} {target}" for target in TARGETS]].mean().mean())

    def correlate_with_width(self, name: str) -> list[float]:
        """Rank correlation of a score with the number of features, one per target."""
        width = self.rows.width.astype(float)
        return [float(self.rows[f"{name} {target}"].corr(width, method="spearman")) for target in TARGETS]

    @cached_property
    def trade(self) -> dict[tuple[str, str, str, bool], Rank]:
        """Correlations of stability with transfer, by (stability, transfer, target, same width)."""
        return {
            (stability, transfer, target, same): self.rank_correlation(
                f"{stability} {target}", f"{transfer} {target}", same_width=same
            )
            for stability in _STABILITIES
            for transfer in _TRANSFERS
            for target in TARGETS
            for same in (False, True)
        }


def _shuffled_correlation(x: Vector, y: Vector, groups: Vector) -> Rank:
    """Pearson's correlation of ranks, with a p-value from permutations of networks within groups."""
    if len(x) < 4 or not x.any() or not y.any():
        return Rank(NAN, NAN)
    rng = np.random.default_rng(320)
    by_group = np.argsort(groups, kind="stable")
    size, drawn = np.sqrt((x @ x) * (y @ y)), np.empty(_DRAWS)
    for draw in range(_DRAWS):
        # Both index arrays sort by group, so values are permuted only within groups.
        shuffled = np.empty_like(y)
        shuffled[by_group] = y[np.lexsort((rng.random(len(x)), groups))]
        drawn[draw] = x @ shuffled / size
    value = float(x @ y / size)
    return Rank(value, float((1 + (np.abs(drawn) >= abs(value) - 1e-12).sum()) / (_DRAWS + 1)))


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
    exact, code = (findings.mean_score_of_widest(name) for name in ("few logme", "few published logme"))
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
    """Correlations of scores with the number of features."""
    rhos = {name: findings.correlate_with_width(name) for name in ("logme", "accuracy", "stability", "equal")}
    n = len(findings.rows)
    return {
        **{f"{name} with width": rank_correlation(min(rhos[name]), n) for name in ("logme", "stability")},
        **{f"{name} with width in words": _name_signed(values) for name, values in rhos.items()},
    }


def _groups(findings: Findings) -> Mapping[str, Any]:
    """Facts on objectives and architectures by Mann-Whitney tests; differences in two of three sets decide.

    The limits of the number of sets are the sets that show the difference and the sets that do not show the opposite.
    """
    facts: dict[str, Any] = {}
    columns = [f"stability {target}" for target in TARGETS]
    for column, group, others in _GROUPS:
        one, other = (findings.rows[findings.rows[column].isin(names)][columns] for names in ((group,), others))
        if other.empty:
            continue
        differences = (one.mean() - other.mean()).to_numpy()
        p_values = np.asarray(mannwhitneyu(one, other).pvalue)
        higher, lower = (((sign * differences > 0) & (p_values < 0.05)).sum() for sign in (1, -1))
        lines = [
            f"{difference:+.3f} ({target}, {'p < 0.001' if p < 0.001 else f'p = {p:.3f}'})"
            for target, difference, p in zip(TARGETS, differences, p_values, strict=True)
        ]
        facts |= {
            f"{group} sets": Fact(higher, higher, len(TARGETS) - lower),
            f"{group} networks": f"{len(one)} and {len(other)}",
            f"{group} in words": ", ".join(lines),
        }
    return facts


def _table_scores(published: pd.DataFrame, table: int) -> pd.DataFrame:
    """Return a published table of families and image sets."""
    scores: pd.DataFrame = printed_table(published, f"Table {table}").drop(columns="mean", errors="ignore")
    return scores.astype(float)


def _dino(published: pd.DataFrame) -> Mapping[str, Any]:
    """Facts on the ranks of DINOv2: by stability, except on EuroSAT, and by LogME."""
    table = printed_table(published, "Table 25")
    ranks = table["FS rank"].drop("EuroSAT")
    rank, families = (ranks.str.split("/").str[part].astype(int) for part in (0, 1))
    first = table["LogME rank"].str.startswith("1/").sum()
    return {
        "dino_last": (rank == families).sum(),
        "dino_not_last": (rank < families).sum(),
        "dino_quarter": ((families - rank) / families).max(),
        "dino_best": ", ".join(f"{text} ({name})" for name, text in ranks[rank < families].items()),
        "dino_first": first,
        "dino_first_off": abs(first - 4),
    }


def _correlations(published: pd.DataFrame) -> Mapping[str, Any]:
    """Facts on the correlations of Tables 23 and 28, and on the families of Tables 29 and 41."""
    table = lines_of(published, "Table 23")
    table = table[table.row == "LogME vs Shesha-FS"].set_index("number").published.astype(float)
    freedom = _MODELS - 2
    p = 2 * t.sf(np.abs(table) * np.sqrt(freedom / (1 - table**2)), freedom)
    stability, logme = _table_scores(published, 29).align(_table_scores(published, 41), join="inner")
    n_families = (stability.notna() & logme.notna()).sum().min()
    domain, pairs = printed_table(published, "Table 22").domain, lines_of(published, "Table 28")
    values, same_domain = pairs.published.astype(float), pairs.row.map(domain) == pairs.number.map(domain)
    within, lowest, highest = (
        rank_correlation(rho, _MODELS)
        for rho in (values[same_domain].min(), values[~same_domain].min(), values[~same_domain].max())
    )
    return {
        "Oxford Pets": table["Oxford Pets"],
        "above the most negative": table["Oxford Pets"] - table.min(),
        "Table 23 highest": rank_correlation(table.max(), _MODELS),
        "Table 23 in words": _join_signed(table),
        "published negative": ((table < 0) & (p < 0.05)).sum(),
        "families": mean_correlation(stability.corrwith(logme, method="spearman"), n_families),
        "textures and pets": number(published, "Table 28", "DTD", "Oxford Pets"),
        "flowers and pets": number(published, "Table 28", "Flowers-102", "Oxford Pets"),
        # The difference has the widest limits that both intervals allow.
        "within beyond across": Fact(
            within.value - highest.value, within.low - highest.high, within.high - highest.low
        ),
        "lowest across": lowest,
    }


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
    positions = _table_scores(published, 29).rank(ascending=False, method="min")
    positions, ranks = positions.align(_table_scores(published, 40), join="inner")
    # Signs of the differences between all pairs of families, in both directions.
    a, b = (np.sign(table.to_numpy()[:, None] - table.to_numpy()) for table in (positions, ranks))
    return {"ranks that follow": (positions == ranks).sum().sum(), "pairs turned": (a * b < 0).sum() / 2}
