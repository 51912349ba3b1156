"""Which changes leave stability alone?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from shesha.measures import cka, procrustes_similarity, pwcca
from shesha.stability import basis_averaged_split, feature_split
from shesha.studies.facts import Fact, Facts, absolute, as_facts, largest, over_draws, steps
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha.studies.study_decorator import grid_of, study
from shesha.support.types import Matrix
from shesha_studies.stability._invariance_transformations import CHANGES, apply_change, printed_example
from shesha_studies.synthetic_data import D, N, mixture

DATA = ("isotropic", "redundant axes", "one-sided axes")
NARROW = 16
SIMILARITIES: dict[str, Callable[[Matrix, Matrix], float]] = {
    "cka": cka,
    "procrustes": procrustes_similarity,
    "pwcca": pwcca,
}
PRINTED = {"data": "3 x 4 as printed", "change": "rotation into two axes", "seed": 0}


_grid = grid_of("data", "change", "seed")


@study(
    "invariance",
    paper="Geometric Stability, 7.1.5; journal version, Table 1 and A.2",
    version=3,
    full=[*_grid(DATA, CHANGES, range(4)), PRINTED],
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
    Y = apply_change(X, change, rng)
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
    """Change of similarities to a third representation, with few features because CCA is 1 for 200 rows of 256
    features."""
    other = X @ rng.standard_normal((NARROW, NARROW)) + X.std() * 3 * rng.standard_normal(X.shape)
    Y = apply_change(X, change, rng)
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
    """Make the page: mean changes of the score, and similarities of the rows before and after."""
    rows = rows[rows.data != PRINTED["data"]]
    rows = rows.assign(
        change_of_score=rows.after - rows.before, change_averaged=rows.averaged_after - rows.averaged_before
    )
    columns = [
        "before",
        "after",
        "change_of_score",
        "change_averaged",
        "cka",
        *(f"moved_{name}" for name in SIMILARITIES),
    ]
    table = rows.groupby(["data", "change"], sort=False)[columns].mean().reset_index()
    picture = Picture(
        "invariance",
        _draw(rows),
        "Change of the feature split and of the basis-averaged split under rotation, for three kinds of data",
    )
    return Page("", (("Mean scores before and after a transformation", table),), (picture,))


def _draw(rows: pd.DataFrame) -> Any:
    fig, (ax,) = figure(width=5.2)
    turned = rows[rows.change == "rotation"]
    for place, name in enumerate(DATA):
        group = turned[turned.data == name]
        ax.scatter(np.full(len(group), place - 0.1), group.change_of_score, s=14, color="#0072b2")
        ax.scatter(np.full(len(group), place + 0.1), group.change_averaged, s=14, color="#e69f00")
    ax.axhline(0, color="0.7", linewidth=0.8)
    ax.set(xticks=range(len(DATA)), xticklabels=DATA, ylabel="score after rotation minus score before")
    ax.scatter([], [], s=14, color="#0072b2", label="feature split")
    ax.scatter([], [], s=14, color="#e69f00", label="averaged over bases")
    ax.legend(frameon=False, fontsize="small")
    return fig


@invariance.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the change of the score by a rotation, for each kind of data."""
    example = rows.data == PRINTED["data"]
    return make_facts(rows[~example], rows[example])


COLUMNS = {
    "scale": "scaling",
    "orthogonal rotation": "rotation",
    "feature permutation": "feature permutation",
    "monotonic distance": "monotonic distance",
    "isotropic scale": "scaling",
}
MEASURES = {"linear CKA": "cka", "Procrustes": "procrustes", "PWCCA": "pwcca"}


def make_facts(rows: pd.DataFrame, printed: pd.DataFrame) -> Facts:
    """Return the facts by which the claims are judged.

    Parameters
    ----------
    rows : DataFrame
        Columns `data`, `change`, `before`, `after`, and one column `moved_...` per measure.
    printed : DataFrame
        The line of the printed counterexample.
    """
    turned = rows[rows.change == "rotation"]
    moved = _mean_changes(turned)
    averaged = (turned.averaged_after - turned.averaged_before).abs()
    means = {f"rotated {name}": fact.value for name, fact in moved.items()}
    parts = {**means, **_largest(rows), **_table(rows), **_example(rows, printed)}
    facts = {"isotropic mean": moved["isotropic"], "axes": largest(map(absolute, moved.values()))}
    return as_facts({**facts, "averaged_most": averaged.max(), "draws": rows.seed.nunique(), **parts})


def _mean_changes(rows: pd.DataFrame) -> dict[str, Fact]:
    """Mean change of the score for each kind of data."""
    return {str(name): over_draws(group.after - group.before) for name, group in rows.groupby("data")}


def _largest(rows: pd.DataFrame) -> dict[str, Any]:
    moved = (rows.after - rows.before).abs()
    turned = (rows.after - rows.before)[rows.change == "rotation"].groupby(rows.data).mean()
    return {
        "rotated_most": turned.abs().max(),
        "scaled": moved[rows.change == "scaling"].max(),
        "shifted": largest(map(absolute, _mean_changes(rows[rows.change == "shift by a vector"]).values())),
        "shifted_by_number": moved[rows.change == "shift by a number"].max(),
        "step_up": largest(_noise_steps(rows)),
    }


def _noise_steps(rows: pd.DataFrame) -> list[Fact]:
    """Differences of the score between consecutive levels of noise, for each kind of data."""
    noisy = rows[rows.change.str.startswith("noise")]
    noisy = noisy.assign(level=noisy.change.str.removeprefix("noise ").astype(float))
    return [step for _, group in noisy.groupby("data") for step in steps(group, "level", "after")]


def _table(rows: pd.DataFrame) -> dict[str, Any]:
    """Change of each score by each transformation; the split is averaged over draws of the partitions."""
    facts = {}
    for column, change in COLUMNS.items():
        group = rows[rows.change == change]
        facts[f"feature split/{column}"] = (group.after - group.before).groupby(group.data).mean().abs().max()
        for name, key in MEASURES.items():
            facts[f"{name}/{column}"] = group[f"moved_{key}"].abs().max()
    return facts


def _example(rows: pd.DataFrame, printed: pd.DataFrame) -> dict[str, Any]:
    redundant, rotated = (
        rows[(rows.data == "redundant axes") & (rows.change == change)]
        for change in ("principal components", "onto principal components")
    )
    before, after = redundant.before.mean(), redundant.after.mean()
    facts: dict[str, Any] = {
        "compressed_before": before,
        "compressed_after": after,
        "lost_cka": over_draws(1 - redundant.cka),
        "rotated_cka": rotated.cka.mean(),
        "fall by rotation": over_draws(rotated.before - rotated.after),
    }
    facts["fall"] = over_draws(redundant.before - redundant.after)
    if len(printed):
        line = printed.iloc[0]
        facts |= {"printed_lowest": line.lowest, "printed_splits": line.splits_before, "scored": line.splits_after}
        facts["undefined"] = line.splits_before - line.splits_after
        facts |= {"printed_before": line.before, "printed_after": line.after, "printed_fall": line.before - line.after}
    return facts
