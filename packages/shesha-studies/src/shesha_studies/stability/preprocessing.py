"""After principal components are removed, do the scores depend on preprocessing?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.measures import unbiased_cka
from shesha.stability import feature_split
from shesha.support.types import Matrix
from shesha_studies.framework.checks import Found
from shesha_studies.framework.facts import Fact, Facts, absolute, as_facts, over_draws, rank_correlations, smallest
from shesha_studies.framework.page import Page
from shesha_studies.framework.published_checks import derived_answers, draws, lines_of
from shesha_studies.framework.study_decorator import grid_of, study
from shesha_studies.framework.tolerance import correlation_p
from shesha_studies.synthetic_data import power_law, remove_top_components

SHRINKAGE = 0.1
SCORES = {"shesha": "feature split", "unbiased_cka": "unbiased CKA"}
CONDITIONS = ("raw", "centred", "normalised", "whitened", "whitened to scale")
_CURVES = ("raw", "whitened")
"""Conditions of the two curves of Figure 5, with scores at every second number of components."""
EVERY = range(0, 51, 2)
FEW = (0, 2, 6, 10, 20, 30, 50)

_grid = grid_of("condition", "k", "seed")


@study(
    "preprocessing",
    paper="Geometric Stability, 7.1.3, Table 12 and Figure 5",
    version=1,
    full=[
        cell
        for condition in CONDITIONS
        for cell in _grid([condition], EVERY if condition in _CURVES else FEW, range(4))
    ],
    quick=_grid(CONDITIONS, FEW, range(2)),
    published="preprocessing.csv",
)
def preprocessing(condition: str, k: int, seed: int) -> dict[str, float]:
    """After principal components are removed, do the scores depend on centring, normalising and whitening?

    The data are those of `spectral`. After components are removed, rows are centred, scaled to unit length, or whitened
    (ZCA). For whitening, the covariance is shrunk by 0.1 to the identity, or to the identity times its mean variance.
    """
    X = power_law(np.random.default_rng(seed))
    remainder = remove_top_components(X, k)
    return {
        "shesha": feature_split(_preprocess(remainder, condition), n_splits=50, metric="correlation", seed=320),
        "unbiased_cka": float(unbiased_cka(_preprocess(X, condition), _preprocess(remainder, condition))),
    }


def _preprocess(X: Matrix, condition: str) -> Matrix:
    if condition == "raw":
        return X
    rows: Matrix = np.asarray(X - X.mean(axis=0))
    if condition == "centred":
        return rows
    if condition == "normalised":
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    covariance = rows.T @ rows / (len(rows) - 1)
    scale = 1.0 if condition == "whitened" else np.trace(covariance) / len(covariance)
    values, axes = np.linalg.eigh((1 - SHRINKAGE) * covariance + SHRINKAGE * scale * np.eye(len(covariance)))
    return np.asarray(rows @ (axes / np.sqrt(values)) @ axes.T)


@preprocessing.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Return our answers to the published lines."""
    return Page(answers=published_numbers(rows, published))


def published_numbers(rows: pd.DataFrame, published: pd.DataFrame) -> dict[str, Found]:
    """Return our value for every number of Table 12, and the correlation of the plain and the whitened curve."""
    both = rows.pivot_table(index=["seed", "k"], columns="condition", values="shesha").reset_index()
    note = (
        "It follows from a correlation of 0.9995, which is printed as 1.000, over 0 to 50 deletions. A correlation "
        "between two falling curves shows only that both fall."
    )
    # Table 12 also has the differences between its two rounded columns.
    lines = lines_of(published, "Table 12").set_index("key").published.astype(float)
    cells = [key.removeprefix("difference/") for key in lines.index if key.startswith("difference/")]
    return {
        **{
            f"{name}/{condition}/{k}": draws(group[name])
            for (condition, k), group in rows[rows.k.isin((0, 30))].groupby(["condition", "k"])
            for name in SCORES
        },
        **derived_answers(
            {f"difference/{cell}": lines[f"shesha/{cell}"] - lines[f"unbiased_cka/{cell}"] for cell in cells}
        ),
        "rho": draws(pd.Series(rank_correlations(both, *_CURVES))),
        "p": Found(correlation_p(0.9995, 51), why=note, note=note),
    }


@preprocessing.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the scores without the first components by condition, and the effect of whitening."""
    # Tables with conditions in rows, and components and draws in columns.
    tables: Any = (rows.pivot_table(index="condition", columns=["k", "seed"], values=name) for name in SCORES)
    split, cka = tables
    whitened = cka.loc["whitened"].groupby(level="k").mean().loc[2:30]
    cells = (("raw", 0), ("raw", 6), ("raw", 30), ("centred", 30), ("whitened", 0), ("whitened", 6))
    gaps = [(split - cka).loc[condition, 30] for condition in ("raw", "centred", "normalised")]
    return as_facts(
        {
            "cka raw 2": over_draws(cka.loc["raw", 2]),
            "cka raw 30": cka.loc["raw", 30].mean(),
            **{f"cka whitened {k}": over_draws(cka.loc["whitened", k]) for k in (2, 30)},
            # The limits are the lowest and the highest mean for up to 30 components.
            "cka whitened": Fact(whitened.mean(), whitened.min(), whitened.max()),
            "last recovered": max(whitened.index[whitened > 0.5], default=0),
            "first negative": min(whitened.index[whitened < 0], default=0),
            **{f"split {condition} {k}": split.loc[condition, k].mean() for condition, k in cells},
            "split whitened 0": over_draws(split.loc["whitened", 0]),
            "draws": rows.seed.nunique(),
            "smallest_divergence": smallest(map(over_draws, gaps)),
            "centring": absolute(over_draws(split.loc["raw", 30] - split.loc["centred", 30])),
        }
    )
