"""Measure how often the sentences of `shesha.diff` are wrong or undecided: a table of start/fine_tuned.md.

$ python scripts/measure_diff_headlines.py [RUNS]
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import shesha

D, RANK, CLASSES = 16, 6, 4
Rows = NDArray[np.float64]
Case = tuple[Rows, Rows, dict[str, object]]


def rows(rng: np.random.Generator, n: int, codes: Rows, distance: float = 1.0) -> Rows:
    """Draw anisotropic rows with classes at some distance from each other."""
    centres = distance * rng.standard_normal((CLASSES, RANK))
    latent = centres[codes] + rng.standard_normal((n, RANK))
    return np.asarray(latent @ rng.standard_normal((RANK, D)) + 0.3 * rng.standard_normal((n, D)))


def noise(X: Rows, rng: np.random.Generator, share: float) -> Rows:
    """Draw noise, as a share of the standard deviation of each feature."""
    return np.asarray(share * X.std(axis=0) * rng.standard_normal(X.shape))


def nothing(X: Rows, rng: np.random.Generator, codes: Rows) -> Rows:
    """Return the rows with noise of 0.5 %, which the simulated noise floor of 1 % covers."""
    return X + noise(X, rng, 0.005)


def rotated(X: Rows, rng: np.random.Generator, codes: Rows) -> Rows:
    """Return the rows in a rotated space."""
    return np.asarray(nothing(X, rng, codes) @ np.linalg.qr(rng.standard_normal((D, D)))[0])


def shifted(X: Rows, rng: np.random.Generator, codes: Rows) -> Rows:
    """Return the rows with a common offset of three standard deviations."""
    return nothing(X, rng, codes) + 3 * X.std() * rng.standard_normal(D)


def rescaled(X: Rows, rng: np.random.Generator, codes: Rows) -> Rows:
    """Return the rows with another scale of each feature."""
    return np.asarray(nothing(X, rng, codes) * np.exp(rng.normal(0, 0.7, D)))


def one_class(X: Rows, rng: np.random.Generator, codes: Rows) -> Rows:
    """Return the rows, of which one class moved."""
    return np.asarray(nothing(X, rng, codes) + 1.5 * X.std() * (codes == CLASSES - 1)[:, None] * rng.standard_normal(D))


def unrelated_with_offset(X: Rows, rng: np.random.Generator, codes: Rows) -> Rows:
    """Return the rows with a change of 30 % of the signal; both sides have an offset of 30 standard deviations."""
    X += 30 * X.std() * rng.standard_normal(D)
    return X + noise(X, rng, 0.3)


def donors(X: Rows, rng: np.random.Generator, codes: Rows) -> Rows:
    """Return the rows with shifts of donors that have nothing to do with classes."""
    donor = np.arange(len(X)) % 12
    return X + 0.7 * X.std() * rng.standard_normal((12, D))[donor]


def unrelated(X: Rows, rng: np.random.Generator, codes: Rows) -> Rows:
    """Return rows of another model."""
    return rng.standard_normal(X.shape)


SPECIFIC = {"rescaling", "row rescaling", "offset", "feature scaling", "rotation", "collapse"}
CASES: dict[str, tuple[Callable[[Rows, np.random.Generator, Rows], Rows], dict[str, set[str]]]] = {
    "noise within the floor": (
        nothing,
        {"verdict": {"unchanged", "within noise"}, "kind": {"none"}, "classes": {"still"}, "index": {"keep"}},
    ),
    "rotation": (
        rotated,
        {"verdict": {"unchanged", "within noise"}, "kind": {"rotation"}, "classes": {"still"}, "index": {"map"}},
    ),
    "offset of all rows": (shifted, {"verdict": {"changed", "replaced"}, "kind": {"offset"}, "classes": {"still"}}),
    "scaling of each feature": (
        rescaled,
        {"verdict": {"changed", "replaced"}, "kind": {"feature scaling"}},
    ),
    "one class of four moved": (one_class, {"verdict": {"changed", "replaced"}, "classes": {"still", "moved"}}),
    "30 % change at an offset of 30 sd": (unrelated_with_offset, {"verdict": {"changed", "replaced"}}),
    "shifts of 12 donors, with groups": (donors, {"classes": {"still"}, "accuracy": {"same"}}),
    "another model": (unrelated, {"verdict": {"replaced"}, "kind": {"new structure"}, "index": {"re-embed"}}),
}
UNDECIDED = {"cannot decide", "untested", "refused", "undecided", "none", "new structure", "not tested"}


def answers(X: Rows, Y: Rows, codes: Rows, groups: object, seed: int) -> dict[str, str]:
    """Return what a diff says: the verdict, the kind of change, whether unmoved classes moved, and the advice."""
    labels = np.array(list("abcd"))[codes]
    options = {"labels": labels, "groups": groups, "measures": "RDM drift", "seed": seed, "k": 3}
    result = shesha.diff(X, Y, **options)
    layer = result["representation"]
    moved = {
        pair
        for pair in result.classes
        if getattr(pair, "significant", pair.corrected_p_value <= 0.05) and pair.corrected_p_value <= 0.05
    }
    classes = "moved wrongly" if any("d" not in (pair.first, pair.second) for pair in moved) else "moved"
    structure, accuracy = result.structure, result.separation
    found = {
        "verdict": layer.verdict,
        "kind": structure.kind if structure else "none",
        "classes": (classes if moved else "still") if result.classes else "not tested",
        "accuracy": "same" if accuracy is None or not (accuracy.low > 0 or accuracy.high < 0) else "other",
    }
    try:
        index = shesha.diff(X, Y, measures="RDM drift", seed=seed, k=10, index=True).index
        found["index"] = index.advice
    except ValueError:
        found["index"] = "refused"
    return found


def main(runs: int = 100, sizes: tuple[int, ...] = (20, 40, 200)) -> None:
    """Print a line per case and number of rows: the share of wrong and of undecided answers."""
    warnings.simplefilter("ignore")
    print("| truth | rows | verdict | kind of change | classes | accuracy | index |\n" + "| --- " * 7 + "|")
    for truth, (change, right) in CASES.items():
        for n in sizes:
            counts = {name: [0, 0] for name in ("verdict", "kind", "classes", "accuracy", "index")}
            for run in range(runs):
                rng = np.random.default_rng([run, n])
                codes = np.arange(n) % CLASSES
                if change is donors:
                    codes = (np.arange(n) % 12) % 2
                # Shifts of donors would really bring separate classes closer to each other.
                X = rows(rng, n, codes, 0.0 if change is donors else 1.0)
                Y = change(X, rng, codes)
                groups = np.arange(n) % 12 if change is donors else None
                found = answers(X, Y, codes, groups, run)
                for name, allowed in right.items():
                    answer = found[name]
                    counts[name][0] += answer not in allowed and answer not in UNDECIDED
                    counts[name][1] += answer not in allowed and answer in UNDECIDED
            cells = [
                f"{counts[name][0] / runs:.0%} ({counts[name][1] / runs:.0%})" if name in right else ""
                for name in counts
            ]
            print(f"| {truth} | {n} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
