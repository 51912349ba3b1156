"""Facts of the study `invariance`: how far changes of the data move scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.studies.facts import Fact, Facts, as_facts, largest, over_draws, steps

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = {
    "scale": "scaling",
    "orthogonal rotation": "rotation",
    "feature permutation": "feature permutation",
    "monotonic distance": "monotonic distance",
    "isotropic scale": "scaling",
}
MEASURES = {"linear CKA": "cka", "Procrustes": "procrustes", "PWCCA": "pwcca"}


def make_facts(rows: pd.DataFrame, printed: pd.DataFrame) -> Facts:
    """Return what decides the claims.

    Parameters
    ----------
    rows : DataFrame
        Columns `data`, `change`, `before`, `after`, and `moved_` of each measure.
    printed : DataFrame
        The line of the printed counterexample.
    """
    turned = rows[rows.change == "rotation"]
    moved = {name: over_draws((own.after - own.before).abs()) for name, own in turned.groupby("data")}
    axes = max((one for name, one in moved.items() if name != "isotropic"), key=lambda one: one.value)
    averaged = (turned.averaged_after - turned.averaged_before).abs()
    means = {f"rotated {name}": (own.after - own.before).mean() for name, own in turned.groupby("data")}
    parts = {**means, **_largest(rows), **_table(rows), **_example(rows, printed)}
    found = {"isotropic": moved["isotropic"], "axes": axes, "averaged": over_draws(averaged)}
    return as_facts({**found, "averaged_most": averaged.max(), **parts})


def _largest(rows: pd.DataFrame) -> dict[str, Any]:
    moved = (rows.after - rows.before).abs()
    turned = (rows.after - rows.before)[rows.change == "rotation"].groupby(rows.data).mean()
    return {
        "rotated_worst": turned.iloc[int(np.argmax(np.abs(turned.to_numpy())))],
        "rotated_most": turned.abs().max(),
        "isotropic_most": moved[(rows.change == "rotation") & (rows.data == "isotropic")].max(),
        "scaled": moved[rows.change == "scaling"].max(),
        "shifted": moved[rows.change == "shift by a vector"].max(),
        "shifted_by_number": moved[rows.change == "shift by a number"].max(),
        "step_up": largest(_noise_steps(rows)),
    }


def _noise_steps(rows: pd.DataFrame) -> list[Fact]:
    """Steps of the score from one level of noise to the next, for each kind of data."""
    noisy = rows[rows.change.str.startswith("noise")]
    noisy = noisy.assign(level=noisy.change.str.removeprefix("noise ").astype(float))
    return [one for _, own in noisy.groupby("data") for one in steps(own, "level", "after")]


def _table(rows: pd.DataFrame) -> dict[str, Any]:
    """How far each change moves each score; the split on average over draws, as other partitions change it too."""
    found = {}
    for column, change in COLUMNS.items():
        own = rows[rows.change == change]
        found[f"feature split/{column}"] = (own.after - own.before).groupby(own.data).mean().abs().max()
        for name, key in MEASURES.items():
            found[f"{name}/{column}"] = own[f"moved_{key}"].abs().max()
    return found


def _example(rows: pd.DataFrame, printed: pd.DataFrame) -> dict[str, Any]:
    redundant = rows[(rows.data == "redundant axes") & (rows.change == "principal components")]
    before, after = redundant.before.mean(), redundant.after.mean()
    found: dict[str, Any] = {
        "compressed_before": before,
        "compressed_after": after,
        "compressed_cka": redundant.cka.mean(),
    }
    found["fall"] = over_draws(redundant.before - redundant.after)
    if len(printed):
        one = printed.iloc[0]
        found |= {"printed_lowest": one.lowest, "printed_splits": one.splits_before, "scored": one.splits_after}
        found["printed_fall"] = one.before - one.after if one.splits_after > 0 else -1.0
    return found
