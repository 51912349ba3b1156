"""Facts of the study `invariance`: by how much changes of the data change the scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.studies.facts import Fact, Facts, as_facts, largest, over_draws, steps

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
        Columns `data`, `change`, `before`, `after`, and `moved_` of each measure.
    printed : DataFrame
        The line of the printed counterexample.
    """
    turned = rows[rows.change == "rotation"]
    moved = {name: over_draws((group.after - group.before).abs()) for name, group in turned.groupby("data")}
    axes = max((fact for name, fact in moved.items() if name != "isotropic"), key=lambda fact: fact.value)
    averaged = (turned.averaged_after - turned.averaged_before).abs()
    means = {f"rotated {name}": (group.after - group.before).mean() for name, group in turned.groupby("data")}
    parts = {**means, **_largest(rows), **_table(rows), **_example(rows, printed)}
    facts = {"isotropic": moved["isotropic"], "axes": axes, "averaged": over_draws(averaged)}
    return as_facts({**facts, "averaged_most": averaged.max(), **parts})


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
    redundant = rows[(rows.data == "redundant axes") & (rows.change == "principal components")]
    before, after = redundant.before.mean(), redundant.after.mean()
    facts: dict[str, Any] = {
        "compressed_before": before,
        "compressed_after": after,
        "compressed_cka": redundant.cka.mean(),
    }
    facts["fall"] = over_draws(redundant.before - redundant.after)
    if len(printed):
        line = printed.iloc[0]
        facts |= {"printed_lowest": line.lowest, "printed_splits": line.splits_before, "scored": line.splits_after}
        facts |= {"printed_before": line.before, "printed_after": line.after, "printed_fall": line.before - line.after}
    return facts
