"""Measure the false positive rate and the power of `shesha.diff`: the tables of start/fine_tuned.md.

$ python scripts/measure_diff_rates.py [RUNS]
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import shesha

N, D, RANK = 120, 24, 6
Draw = Callable[[np.random.Generator], dict[str, object]]
Rows = NDArray[np.float64]


def rows(rng: np.random.Generator) -> Rows:
    """Draw anisotropic rows, as in layers: few directions contain most of the variance."""
    return rng.standard_normal((N, RANK)) @ rng.standard_normal((RANK, D)) + 0.3 * rng.standard_normal((N, D))


def noisy(X: Rows, rng: np.random.Generator, share: float) -> Rows:
    """Simulate a re-encoding by adding noise in units of the spread of each row."""
    return X + share * X.std(axis=1, keepdims=True) * rng.standard_normal(X.shape)


def re_encoded(k: int, share: float, change: float = 0.0) -> Draw:
    """Return a model with k re-encodings, and a change of a given multiple of the noise."""

    def draw(rng: np.random.Generator) -> dict[str, object]:
        X = rows(rng)
        again = [noisy(X, rng, share) for _ in range(k)]
        return {"before": X, "after": noisy(noisy(X, rng, share * change), rng, share), "again": again}

    return draw


def of_several_kinds(rng: np.random.Generator) -> dict[str, object]:
    """Return a model re-encoded with another batch size, order and precision; the new encoding changes one of them."""
    X, kinds = rows(rng), (1e-6, 1e-6, 1e-2)
    return {"before": X, "after": noisy(X, rng, kinds[rng.integers(3)]), "again": [noisy(X, rng, s) for s in kinds]}


def other_seeds(n_also: int, distance: float, change: float = 0.0) -> Draw:
    """Return runs of one training; `before` is one of these runs unless there is a change."""

    def draw(rng: np.random.Generator) -> dict[str, object]:
        X = rows(rng)
        moved = X if not change else noisy(X, rng, change * distance)
        return {
            "before": noisy(X, rng, distance),
            "after": noisy(moved, rng, distance),
            "also": [noisy(moved, rng, distance) for _ in range(n_also)],
        }

    return draw


def alone(share: float) -> Draw:
    """Return two files without re-encodings."""

    def draw(rng: np.random.Generator) -> dict[str, object]:
        X = rows(rng)
        return {"before": X, "after": noisy(X, rng, share)}

    return draw


def some_rows(share: float) -> Draw:
    """Return a model in which a share of the rows moved."""

    def draw(rng: np.random.Generator) -> dict[str, object]:
        X = rows(rng)
        after = noisy(X, rng, 0.01)
        chosen = rng.choice(N, round(share * N), replace=False)
        after[chosen] = noisy(after[chosen], rng, 1.0)
        return {"before": X, "after": after, "again": [noisy(X, rng, 0.01) for _ in range(3)]}

    return draw


CASES: dict[str, dict[str, Draw]] = {
    "unchanged": {
        **{f"{k} re-encodings, noise 1 %": re_encoded(k, 0.01) for k in (1, 2, 3, 19)},
        "3 re-encodings, noise 10 %": re_encoded(3, 0.1),
        "3 re-encodings of several kinds": of_several_kinds,
        "2 further seeds, 20 % apart": other_seeds(2, 0.2),
        "2 further seeds, 50 % apart": other_seeds(2, 0.5),
        "files alone, rounded to half precision (0.1 %)": alone(0.001),
        "files alone, run in half precision (1 %)": alone(0.01),
    },
    "changed": {
        **{f"3 re-encodings, change {c} times the noise": re_encoded(3, 0.01, c) for c in (1, 2, 3)},
        "19 re-encodings, change 1 times the noise": re_encoded(19, 0.01, 1),
        "2 further seeds, change 2 times their distance": other_seeds(2, 0.2, 2),
        "2 further seeds, change 4 times their distance": other_seeds(2, 0.2, 4),
        "files alone, change 3 %": alone(0.03),
        "5 % of the rows elsewhere": some_rows(0.05),
        "unrelated": re_encoded(3, 0.01, 1000),
    },
}


def verdicts(draw: Draw, runs: int) -> Counter[str]:
    """Count the verdicts over runs."""
    found: Counter[str] = Counter()
    for run in range(runs):
        given = draw(np.random.default_rng(run))
        found[shesha.diff(given.pop("before"), given.pop("after"), **given, seed=run)["representation"].verdict] += 1
    return found


def class_rates(runs: int) -> str:
    """Count false positives for moved classes and changed separations, for noise independent of the labels."""
    families = pairs = tests = separations = 0
    for run in range(runs):
        rng = np.random.default_rng(run)
        X = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 10)) + 0.3 * rng.standard_normal((60, 10))
        labels = rng.permutation(np.repeat(["a", "b", "c"], 20))
        after = X + 0.3 * X.std() * rng.standard_normal(X.shape)
        found = shesha.diff(X, after, labels, measures="unbiased CKA", seed=run, k=5)
        families += min(one.corrected_p_value for one in found.classes) <= 0.05
        pairs += sum(one.p_value <= 0.05 for one in found.classes)
        tests += len(found.classes)
        separations += not found.separation.low <= 0 <= found.separation.high
    return f"classes: {pairs} of {tests} pairs, {families} of {runs} models; separation: {separations} of {runs}"


def main(runs: int = 200) -> None:
    """Print a line per case."""
    warnings.simplefilter("ignore")
    for truth, cases in CASES.items():
        print(f"\n| {truth} | called changed or replaced |\n| --- | --- |")
        for name, draw in cases.items():
            found = verdicts(draw, runs)
            beyond = found["changed"] + found["replaced"]
            said = f", replaced {found['replaced']}" if found["replaced"] else ""
            print(f"| {name} | {beyond} of {runs}{said} |", flush=True)
    print(class_rates(runs))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
