"""Which changes leave stability alone?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr

from shesha.measures import cka, procrustes_similarity, pwcca
from shesha.stability import basis_averaged_split, feature_split
from shesha.support.types import Matrix, Vector
from shesha_studies.framework.facts import Fact, Facts, absolute, as_facts, largest, over_draws, steps
from shesha_studies.framework.page import Page
from shesha_studies.framework.study_decorator import grid_of, study
from shesha_studies.synthetic_data import D, N, mixture, principal_component_scores

NOISES = (0.25, 0.5, 1.0, 2.0, 4.0)


def _rotation(X: Matrix, rng: np.random.Generator) -> Matrix:
    d = X.shape[1]
    return np.asarray(X @ np.linalg.qr(rng.standard_normal((d, d)))[0])


def _monotone(X: Matrix, rng: np.random.Generator) -> Matrix:
    """Return rows whose Euclidean distances are the square roots of the given ones."""
    n = len(X)
    centre = np.eye(n) - 1 / n
    values, axes = np.linalg.eigh(-0.5 * centre @ squareform(pdist(X)) @ centre)
    keep = min(X.shape[1], n - 1)
    return np.asarray((axes * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, :keep])


def _principal(X: Matrix, rng: np.random.Generator) -> Matrix:
    """Return the scores of the leading quarter of the principal components."""
    return principal_component_scores(X)[:, : X.shape[1] // 4]


def _onto_principal(X: Matrix, rng: np.random.Generator) -> Matrix:
    """Return all rows rotated onto the principal axes, which keeps every distance."""
    return np.asarray(X @ np.linalg.svd(X - X.mean(axis=0))[2].T)


def _noisy(level: float) -> Callable[[Matrix, np.random.Generator], Matrix]:
    return lambda X, rng: np.asarray(X + level * X.std() * rng.standard_normal(X.shape))


CHANGES: dict[str, Callable[[Matrix, np.random.Generator], Matrix]] = {
    "rotation": _rotation,
    "scaling": lambda X, rng: np.asarray(7.3 * X),
    "scaling of each feature": lambda X, rng: np.asarray(X * rng.uniform(0.1, 10, X.shape[1])),
    "feature permutation": lambda X, rng: np.asarray(X[:, rng.permutation(X.shape[1])]),
    "monotonic distance": _monotone,
    "shift by a number": lambda X, rng: np.asarray(X + X.std()),
    "shift by a vector": lambda X, rng: np.asarray(X + X.std() * rng.standard_normal(X.shape[1])),
    "principal components": _principal,
    **{f"noise {level:g}": _noisy(level) for level in NOISES},
    "onto principal components": _onto_principal,
}


def printed_example() -> dict[str, float]:
    """Return the agreement of each split into two pairs, for the counterexample of the journal version (A.2).

    Columns 3 and 4 are rotated by 45 degrees into columns 1 and 2. Rows are compared by cosine distance within a half.
    If a half has a row of zeros, its split has no agreement. `before` and `after` are means of the splits that have an
    agreement both before and after.
    """
    X = np.array([[1.0, 1, 1, 1], [1, -1, 1, -1], [-1, 1, -1, 1]])
    rotation = np.kron([[1.0, -1.0], [1.0, 1.0]], np.eye(2)) / np.sqrt(2)
    before, after = (_agreements(rows.round(12)) for rows in (X, X @ rotation))
    both = np.isfinite(before) & np.isfinite(after)
    return {
        "before": float(before[both].mean()),
        "lowest": float(before.min()),
        "splits_before": float(len(before)),
        "splits_after": float(both.sum()),
        "after": float(after[both].mean()),
    }


def _agreements(X: Matrix) -> Vector:
    """Rank correlation of the distances of both halves, for each of three splits; NaN if a row is zero in a half."""
    halves = (((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2)))
    distances = ([pdist(X[:, half], "cosine").round(9) for half in split] for split in halves)
    return np.array([spearmanr(one, two).statistic for one, two in distances])


DATA = ("isotropic", "redundant axes", "one-sided axes")
NARROW = 16
SIMILARITIES: dict[str, Callable[[Matrix, Matrix], float]] = {
    "cka": cka,
    "procrustes": procrustes_similarity,
    "pwcca": pwcca,
}
PRINTED = {"data": "3 x 4 as printed", "change": "rotation into two axes", "seed": 0}
TABLE_1 = {
    "scale": "scaling",
    "orthogonal rotation": "rotation",
    "feature permutation": "feature permutation",
    "monotonic distance": "monotonic distance",
    "isotropic scale": "scaling",
}
"""Our transformation for each column of the journal version's Table 1."""
MEASURES = {"linear CKA": "cka", "Procrustes": "procrustes", "PWCCA": "pwcca"}
_grid = grid_of("data", "change", "seed")


@study(
    "invariance",
    paper="Geometric Stability, 7.1.5; journal version, Table 1 and A.2",
    version=3,
    # The published change by rotation is small, so its mean needs many draws.
    full=[*_grid(DATA, CHANGES, range(4)), *_grid(DATA[:1], ["rotation"], range(4, 100)), PRINTED],
    quick=[*_grid(DATA, CHANGES, range(1)), PRINTED],
    published="invariance.csv",
)
def invariance(data: str, change: str, seed: int) -> dict[str, float]:
    """Is the feature split invariant to rotation, as the long version says, or not, as the journal version proves?

    There are three kinds of data: isotropic (a mixture of random directions), features that are noisy copies of a few,
    and a signal in a few features only. The metric is correlation distance, as published. Similarities of the rows
    before and after the change are also computed.
    """
    if data == PRINTED["data"]:
        return printed_example()
    rng = np.random.default_rng([seed, DATA.index(data), list(CHANGES).index(change)])
    X = _rows(data, rng)
    Y = CHANGES[change](X, rng)
    split = partial(feature_split, n_splits=50, metric="correlation", seed=320)
    averaged = "rotation" in change
    return {
        "before": split(X),
        "after": split(Y),
        # Averaging over bases takes longer than all other steps together, so it is done for rotations only.
        "averaged_before": basis_averaged_split(X, seed=320) if averaged else float("nan"),
        "averaged_after": basis_averaged_split(Y, seed=320) if averaged else float("nan"),
        "cka": float(cka(X, Y)),
        **_similarity_moves(X[:, :: D // NARROW], change, rng),
    }


def _similarity_moves(X: Matrix, change: str, rng: np.random.Generator) -> dict[str, float]:
    """Changes of similarities to another representation, with few features, because else CCA would always be 1."""
    other = X @ rng.standard_normal((NARROW, NARROW)) + X.std() * 3 * rng.standard_normal(X.shape)
    Y = CHANGES[change](X, rng)
    return {f"moved_{name}": float(measure(Y, other) - measure(X, other)) for name, measure in SIMILARITIES.items()}


def _rows(data: str, rng: np.random.Generator) -> Matrix:
    if data == "isotropic":
        return mixture(0.9, rng)
    if data == "redundant axes":
        return np.repeat(rng.standard_normal((N, 8)), D // 8, axis=1) + rng.standard_normal((N, D))
    X = rng.standard_normal((N, D))
    X[:, : D // 32] *= 8
    return X


@invariance.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Return a page without tables, because rules judge all lines."""
    return Page()


@invariance.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the change of the score by each transformation, and the numbers of the printed counterexample."""
    is_printed = rows.data == PRINTED["data"]
    printed, rows = rows[is_printed].iloc[0], rows[~is_printed].assign(moved=rows.after - rows.before)
    by_change: dict[Any, pd.DataFrame] = dict(list(rows.groupby("change")))
    turned = by_change["rotation"]
    means = _mean_changes(turned)
    noisy = rows[rows.change.str.startswith("noise")]
    noisy = noisy.assign(level=noisy.change.str.removeprefix("noise ").astype(float))
    return as_facts(
        {
            "isotropic mean": means["isotropic"],
            "axes": largest(map(absolute, means.values())),
            "rotated_most": max(abs(mean.value) for mean in means.values()),
            "averaged_most": (turned.averaged_after - turned.averaged_before).abs().max(),
            "draws": by_change["scaling"].seed.nunique(),
            "rotations": turned[turned.data == "isotropic"].seed.nunique(),
            **{f"rotated {name}": mean.value for name, mean in means.items()},
            "scaled": by_change["scaling"].moved.abs().max(),
            "shifted": largest(map(absolute, _mean_changes(by_change["shift by a vector"]).values())),
            "shifted_by_number": by_change["shift by a number"].moved.abs().max(),
            "step_up": largest(step for _, group in noisy.groupby("data") for step in steps(group, "level", "after")),
            **_changes_by_score(by_change),
            **_on_redundant_axes(by_change),
            "printed_lowest": printed.lowest,
            "printed_splits": printed.splits_before,
            "scored": printed.splits_after,
            "undefined": printed.splits_before - printed.splits_after,
            "printed_before": printed.before,
            "printed_after": printed.after,
            "printed_fall": printed.before - printed.after,
        }
    )


def _mean_changes(rows: pd.DataFrame) -> dict[str, Fact]:
    """Mean change of the score for each kind of data."""
    return {str(name): over_draws(group.moved) for name, group in rows.groupby("data")}


def _changes_by_score(by_change: dict[Any, pd.DataFrame]) -> dict[str, Any]:
    """Change of each score by each transformation; the split is averaged over draws of the partitions."""
    facts = {}
    for column, change in TABLE_1.items():
        group = by_change[change]
        facts[f"feature split/{column}"] = group.groupby("data").moved.mean().abs().max()
        facts |= {f"{name}/{column}": group[f"moved_{key}"].abs().max() for name, key in MEASURES.items()}
    return facts


def _on_redundant_axes(by_change: dict[Any, pd.DataFrame]) -> dict[str, Any]:
    """Facts on the compression to a quarter of the principal components, and on the rotation onto all of them."""
    groups = (by_change[change] for change in ("principal components", "onto principal components"))
    compressed, rotated = (group[group.data == "redundant axes"] for group in groups)
    return {
        "compressed_before": compressed.before.mean(),
        "compressed_after": compressed.after.mean(),
        "lost_cka": over_draws(1 - compressed.cka),
        "rotated_cka": rotated.cka.mean(),
        "fall by rotation": over_draws(-rotated.moved),
        "fall": over_draws(-compressed.moved),
    }
