"""Correlations of stability with similarity: pooled as published, and within domains, bases and kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from shesha.bio.analysis.random_intercept import random_intercept as fit_random_intercept
from shesha.support.types import Vector
from shesha_studies.stability_correlations._bootstrap_correlations import Correlation, correlation, round_as_stored
from shesha_studies.stability_correlations._distinctness_transformations import KINDS


@dataclass(frozen=True)
class MixedModel:
    """y = intercept of its group + slope x + noise."""

    slope: float
    error: float
    shared: float
    """Intraclass correlation, the share of the residual variance explained by groups."""


def random_intercept(x: Vector, y: Vector, groups: ArrayLike) -> MixedModel:
    """Fit a random intercept by restricted maximum likelihood over the ratio of the two variances."""
    _, codes = np.unique(np.asarray(groups), return_inverse=True)
    fit = fit_random_intercept(np.column_stack([np.ones(len(x)), x]), y, codes.astype(np.intp))
    shared = fit.between / (fit.between + fit.residual)
    return MixedModel(float(fit.betas[1]), float(fit.errors[1]), shared)


DOMAINS = {
    "Language": ("language",),
    "Vision": ("clothes", "photographs"),
    "Neuroscience": ("neurons",),
    "Protein": ("proteins",),
    "Molecular": ("blood cells", "brain cells"),
}
"""Domains of the paper and of this study."""


NETWORKS = ("language", "clothes", "photographs")


RANDOM = ("random features", "random projection", "noise")


LEVELS: Mapping[str, tuple[str, ...]] = {
    "as published: all pooled": (),
    "ranks within domains": ("domain",),
    "ranks within bases": ("domain", "base"),
    "ranks within kinds": ("kind",),
    "ranks within variants, between bases": ("variant",),
    "ranks within bases and kinds": ("domain", "base", "kind"),
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
    """The rows of the page, those of both sizes, and statistics of them."""

    rows: pd.DataFrame
    """Rows of each base, of the published size if these are complete, otherwise of the small size."""
    smaller: pd.DataFrame
    larger: pd.DataFrame

    @classmethod
    def build(cls, rows: pd.DataFrame) -> Findings:
        """Divide the rows of a run by size, and compute the statistics of the page."""
        rows = round_as_stored(rows)
        rows = rows.assign(group=rows.domain + " " + rows.base, adjusted=(rows.cka - rows.chance) / (1 - rows.chance))
        small, large = rows[rows["size"] == "small"], rows[rows["size"] != "small"]
        wanted = small.groupby("group").size()
        groups = [group for group, n in large.groupby("group").size().items() if n >= wanted.get(group, 0)]
        table = pd.concat([large[large.group.isin(groups)], small[~small.group.isin(groups)]])
        return cls(table, small, large)

    @cached_property
    def distinct(self) -> pd.DataFrame:
        """Return the rows without principal components that repeat others because of the cap."""
        return self.rows[self.rows.repeat == 0]

    @cached_property
    def kinds(self) -> dict[str, Correlation]:
        """Correlations by kind of transformation, with repeated rows, as published."""
        return {kind: score_correlation(self.rows[self.rows.kind == kind]) for kind in KINDS}

    @cached_property
    def domains(self) -> dict[str, Correlation]:
        """Correlations by domain of the paper, and over all rows."""
        results = {
            name: score_correlation(self.rows[self.rows.domain.isin(members)])
            for name, members in DOMAINS.items()
            if self.rows.domain.isin(members).any()
        }
        return {**results, "Aggregate": score_correlation(self.rows)}

    @cached_property
    def subsets(self) -> dict[str, Correlation]:
        """Correlations of the published subsets, and of the random transformations."""
        rows = self.rows
        chosen = {
            "Excluding Neuroscience": rows[rows.domain != "neurons"],
            "Excluding Protein": rows[rows.domain != "proteins"],
            "Only transformer domains": rows[rows.domain.isin(NETWORKS)],
            "Only biological domains": rows[~rows.domain.isin(NETWORKS)],
            "Protein without PCA": rows[(rows.domain == "proteins") & (rows.kind != "PCA")],
            "random transformations": rows[rows.kind.isin(RANDOM)],
        }
        return {
            "Full dataset": self.domains["Aggregate"],
            **{name: score_correlation(subset) for name, subset in chosen.items()},
        }

    @cached_property
    def levels(self) -> dict[tuple[str, str, str], Correlation]:
        """Correlations by level of ranking and by pair of scores."""
        results = {}
        for level, keys in LEVELS.items():
            rows = self.distinct if keys else self.rows
            for pair in PAIRS:
                results[(level, *pair)] = score_correlation(rows, *pair, by=keys, n_draws=10)
        return results

    @cached_property
    def mixed_model(self) -> MixedModel:
        """Fit the published model: stability = slope x CKA + an intercept of the base."""
        there = self.rows.dropna(subset=["stability", "cka"])
        return random_intercept(there.cka.to_numpy(), there.stability.to_numpy(), there.group.to_numpy())

    @cached_property
    def explained_variance(self) -> dict[str, float]:
        """Share of the variance of ranks within bases that a linear model explains."""
        rows = self.distinct.dropna(subset=["stability"])
        y, x = (ranks_within_groups(rows, name, ("group",)) for name in ("stability", "cka"))
        kinds = (rows.kind.to_numpy()[:, None] == np.array(KINDS)).astype(np.float64)
        designs = {
            "CKA": np.column_stack([np.ones(len(x)), x]),
            "kind": kinds,
            "kind and CKA": np.column_stack([kinds, kinds * x[:, None]]),
        }
        return {name: _share(design, y) for name, design in designs.items()}

    @cached_property
    def alternatives(self) -> dict[tuple[str, str], Correlation]:
        """Correlations with other measures, for language only, over all rows and by kind."""
        table = self.rows[self.rows.domain == "language"]
        results = {}
        if len(table):
            for measure in ("cka", "pwcka", "procrustes"):
                for kind in ("all", *KINDS[:-1]):
                    chosen = table if kind == "all" else table[table.kind == kind]
                    results[TITLES[measure], kind] = score_correlation(chosen, "stability", measure, n_draws=2000)
        return results


def score_correlation(
    rows: pd.DataFrame,
    stability: str = "stability",
    similarity: str = "cka",
    *,
    by: tuple[str, ...] = (),
    n_draws: int = 10_000,
    n_group_draws: int = 1000,
) -> Correlation:
    """Correlate two scores, or their ranks within groups, with both bootstraps."""
    x, y = (ranks_within_groups(rows, name, by) if by else rows[name].to_numpy() for name in (stability, similarity))
    return correlation(x, y, rows.group.to_numpy(), n_draws, n_group_draws)


def ranks_within_groups(rows: pd.DataFrame, name: str, by: tuple[str, ...]) -> Vector:
    """Ranks within groups, from -1/2 to 1/2."""
    grouped = rows.groupby(list(by))[name]
    return np.asarray((grouped.rank() - 0.5) / grouped.transform("count") - 0.5, dtype=np.float64)


def _share(design: np.ndarray, y: Vector) -> float:
    fitted = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(1 - ((y - fitted) ** 2).sum() / ((y - y.mean()) ** 2).sum())
