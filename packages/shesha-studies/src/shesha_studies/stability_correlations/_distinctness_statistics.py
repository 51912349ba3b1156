"""Correlations of stability with similarity: pooled as published, and within domains, bases and kinds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from shesha.support.types import Vector
from shesha_studies.framework.facts import Fact
from shesha_studies.perturbation_tables.random_intercept import random_intercept
from shesha_studies.stability_correlations._bootstrap_correlations import Correlation, correlation, round_as_stored
from shesha_studies.stability_correlations._distinctness_representations import KINDS, RANDOM

DOMAINS = {
    "Language": ("language",),
    "Vision": ("clothes", "photographs"),
    "Neuroscience": ("neurons",),
    "Protein": ("proteins",),
    "Molecular": ("blood cells", "brain cells"),
}
"""Domains of the paper and of this study."""
NETWORKS = ("language", "clothes", "photographs")
LEVELS: dict[str, list[str]] = {
    "as published: all pooled": [],
    "ranks within domains": ["domain"],
    "ranks within bases": ["domain", "base"],
    "ranks within kinds": ["kind"],
    "ranks within variants, between bases": ["variant"],
    "ranks within bases and kinds": ["domain", "base", "kind"],
}
PAIRS = (
    ("stability", "cka"),
    ("stability", "adjusted"),
    ("stability", "unbiased"),
    ("averaged", "cka"),
    ("averaged", "adjusted"),
)
TITLES = {
    "stability": "feature split",
    "averaged": "basis-averaged",
    "cka": "CKA",
    "adjusted": "CKA above chance",
    "unbiased": "unbiased CKA",
    "pwcka": "PWCKA",
    "procrustes": "Procrustes",
}


@dataclass(frozen=True)
class Findings:
    """The rows of the page, and statistics of them."""

    rows: pd.DataFrame
    """Rows of the published size; if there are none, as in the quick grid, those of the small size."""

    @classmethod
    def build(cls, rows: pd.DataFrame) -> Findings:
        """Choose the rows, and compute CKA above chance."""
        rows = round_as_stored(rows)
        rows = rows.assign(group=rows.domain + " " + rows.base, adjusted=(rows.cka - rows.chance) / (1 - rows.chance))
        full = rows[rows["size"] == "published"]
        return cls(rows if full.empty else full)

    @cached_property
    def distinct(self) -> pd.DataFrame:
        """Return the rows without principal components that repeat others because of the cap."""
        return self.rows[self.rows.repeat == 0]

    @cached_property
    def correlations(self) -> dict[str, Correlation]:
        """Correlations of the published domains, kinds and subsets, with repeated rows, as published."""
        domain, kind = self.rows.domain, self.rows.kind
        subsets = {
            **{name: domain.isin(members) for name, members in DOMAINS.items()},
            "Aggregate": domain != "",
            "Full dataset": domain != "",
            "Excluding Neuroscience": domain != "neurons",
            "Excluding Protein": domain != "proteins",
            "Only transformer domains": domain.isin(NETWORKS),
            "Only biological domains": ~domain.isin(NETWORKS),
            "Protein without PCA": (domain == "proteins") & (kind != "PCA"),
            "random transformations": kind.isin(RANDOM),
            **{name: kind == name for name in KINDS},
        }
        return {name: score_correlation(self.rows[subset]) for name, subset in subsets.items() if subset.any()}

    @cached_property
    def by_kind(self) -> dict[tuple[str, str], Correlation]:
        """Correlations of each kind, of ranks within bases ("group") and of ranks within variants ("variant")."""
        kinds = {kind: self.distinct[self.distinct.kind == kind] for kind in KINDS}
        return {
            (kind, by): score_correlation(rows, by=[by], n_draws=10)
            for kind, rows in kinds.items()
            for by in ("group", "variant")
        }

    @cached_property
    def levels(self) -> dict[tuple[str, str, str], Correlation]:
        """Correlations by level of ranking and by pair of scores."""
        return {
            (level, *pair): score_correlation(self.distinct if by else self.rows, *pair, by=by, n_draws=10)
            for level, by in LEVELS.items()
            for pair in PAIRS
        }

    @cached_property
    def mixed_model(self) -> tuple[Fact, float]:
        """Slope and intraclass correlation of the published model: stability = slope x CKA + an intercept of the base.

        The intraclass correlation is the share of the residual variance that bases explain.
        """
        there = self.rows.dropna(subset=["stability", "cka"])
        design = np.column_stack([np.ones(len(there)), there.cka])
        fit = random_intercept(design, there.stability.to_numpy(), pd.factorize(there.group, sort=True)[0])
        slope, half = float(fit.betas[1]), 1.96 * float(fit.errors[1])
        return Fact(slope, slope - half, slope + half), fit.between / (fit.between + fit.residual)

    @cached_property
    def explained_variance(self) -> float:
        """Share of the variance of ranks within bases that a linear model of kind and CKA explains."""
        rows = self.distinct.dropna(subset=["stability"])
        y, x = (ranks_within_groups(rows, name, ["group"]) for name in ("stability", "cka"))
        kinds = (rows.kind.to_numpy()[:, None] == np.array(KINDS)).astype(np.float64)
        design = np.column_stack([kinds, kinds * x[:, None]])
        residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
        return float(1 - (residual**2).sum() / ((y - y.mean()) ** 2).sum())

    @cached_property
    def alternatives(self) -> dict[tuple[str, str], Correlation]:
        """Correlations with other measures, for language only, over all rows and by kind."""
        table = self.rows[self.rows.domain == "language"]
        subsets = {"all": table, **{kind: table[table.kind == kind] for kind in KINDS[:-1]}} if len(table) else {}
        return {
            (TITLES[measure], kind): score_correlation(rows, "stability", measure, n_draws=2000)
            for measure in ("cka", "pwcka", "procrustes")
            for kind, rows in subsets.items()
        }


def score_correlation(
    rows: pd.DataFrame,
    stability: str = "stability",
    similarity: str = "cka",
    *,
    by: list[str] | None = None,
    n_draws: int = 10_000,
) -> Correlation:
    """Correlate two scores, or their ranks within groups, with both bootstraps."""
    x, y = (ranks_within_groups(rows, name, by) if by else rows[name].to_numpy() for name in (stability, similarity))
    return correlation(x, y, rows.group.to_numpy(), n_draws)


def ranks_within_groups(rows: pd.DataFrame, name: str, by: list[str]) -> Vector:
    """Ranks within groups, from -1/2 to 1/2."""
    grouped = rows.groupby(by)[name]
    return np.asarray((grouped.rank() - 0.5) / grouped.transform("count") - 0.5, dtype=np.float64)
