"""Which published claims of invariance hold: the checks of the study of that name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shesha.studies.checks import DIFFERS
from shesha.studies.published import Found, claim
from shesha_studies.score._changes import NOISES

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
EXACT, SPLIT = 1e-6, 0.01
"""How far invariant scores may move: similarities by rounding, the split by what other partitions change on average."""


def found_of(rows: pd.DataFrame, printed: pd.DataFrame) -> dict[str, Found]:
    """Judge each line of the published table.

    Parameters
    ----------
    rows : DataFrame
        Columns `data`, `change`, `before`, `after`, and `moved_` of each measure.
    printed : DataFrame
        The line of the printed counterexample.
    """
    return _deltas(rows) | _table(rows) | _example(rows, printed)


def _deltas(rows: pd.DataFrame) -> dict[str, Found]:
    moved = (rows.after - rows.before).abs()

    def largest(change: str, data: str | None = None) -> float:
        chosen = (rows.change == change) & ((rows.data == data) if data else True)
        return float(moved[chosen].max())

    turned = (rows.after - rows.before)[rows.change == "rotation"].groupby(rows.data).mean()
    worst = float(turned.iloc[int(np.argmax(np.abs(turned.to_numpy())))])
    isotropic = largest("rotation", "isotropic")
    number, vector = largest("shift by a number"), largest("shift by a vector")
    falls = rows[rows.change.str.startswith("noise")].groupby(["data", "change"]).after.mean().unstack()
    falls = falls[[f"noise {level:g}" for level in NOISES]]
    steps = falls.diff(axis=1).iloc[:, 1:]
    rotated = (
        f"Holds of isotropic data only, up to what other partitions change ({isotropic:.4f} at most over our draws); "
        f"where axes differ the score moves by up to {worst:+.2f}. The journal version is right."
    )
    return {
        "rotation": claim(abs(worst) < 0.003, f"{isotropic:.4f} isotropic; {worst:+.3f} otherwise", rotated),
        "long": claim(abs(worst) < SPLIT, f"{worst:+.3f}", rotated),
        "journal": claim(abs(worst) > SPLIT, f"{worst:+.3f}", "It does not change."),
        "scaling": claim(largest("scaling") < 0.002, largest("scaling"), "It changes."),
        "shift": claim(
            vector < 0.001,
            f"{number:.1e} by one number, {vector:.3f} by a vector",
            "True of one number added to all features, which correlation distance removes from every row; a shift of "
            "the mean row is part of every correlation of rows and changes the score.",
        ),
        "noise": claim(
            bool((steps.to_numpy() < SPLIT).all()),
            f"largest step up {max(0.0, float(steps.to_numpy().max())):.4f}",
            "Where the split starts at 0, as with signal in a few axes, noise cannot lower it.",
        ),
    }


def _table(rows: pd.DataFrame) -> dict[str, Found]:
    found = {}
    for column, change in COLUMNS.items():
        own = rows[rows.change == change]
        # A monotone function of the distances in both halves leaves ranks, and so the split, as they are.
        split = (
            0.0
            if change == "monotonic distance"
            else float((own.after - own.before).groupby(own.data).mean().abs().max())
        )
        found[f"table/feature split/{column}"] = _mark("feature split", column, split, SPLIT)
        for name, key in MEASURES.items():
            found[f"table/{name}/{column}"] = _mark(name, column, float(own[f"moved_{key}"].abs().max()), EXACT)
    return found


_MARKS = {"feature split": "ynyyy", "linear CKA": "yyyny", "Procrustes": "yyyny", "PWCCA": "nnnny"}
"""The printed table: is a score (line) invariant to a change (column)?"""
_WHY = {
    "scale": "Multiplied by one number nothing changes: canonical directions have unit length and weights are shares. "
    "The table's own last column says the same of the same change. Read as a factor per feature, the marks of the "
    "three other rows would be wrong instead.",
    "feature permutation": "The weights are sums over features, which have no order.",
}


def _mark(name: str, column: str, moved: float, allowed: float) -> Found:
    """Compare invariance as found with the printed mark."""
    printed = _MARKS[name][list(COLUMNS).index(column)] == "y"
    invariant = moved <= allowed
    why = _WHY.get(column, "Found otherwise.")
    return claim(invariant == printed, f"{'yes' if invariant else 'no'} (moves by {moved:.2g})", why, DIFFERS)


def _example(rows: pd.DataFrame, printed: pd.DataFrame) -> dict[str, Found]:
    redundant = rows[(rows.data == "redundant axes") & (rows.change == "principal components")]
    before, after = redundant.before.mean(), redundant.after.mean()
    said = f"{before:.2f} to {after:.2f}, CKA {redundant.cka.mean():.3f}"
    found = {
        "idea": claim(bool(after < before - 0.1), said, "It does not fall."),
        "compression": claim(bool(after < before - 0.1 and redundant.cka.mean() > 0.9), said, "It does not fall."),
    }
    if len(printed):
        one = printed.iloc[0]
        found["printed"] = claim(
            bool(one.lowest > 0.99),
            f"{one.lowest:.2f} in one of {one.splits_before:.0f} splits",
            "Two of the three splits agree (1 and 1), the third gives -0.5.",
            DIFFERS,
        )
        found["printed rotated"] = claim(
            bool(one.splits_after > 0 and one.after < one.before),
            f"{one.splits_after:.0f} of 3 splits have a score",
            "The matrix has rank 2, so the rotation leaves zero rows in a half of every split, which have no cosine "
            "distance. The idea holds on more rows.",
            DIFFERS,
        )
    return found
