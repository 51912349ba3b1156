"""Count false positives and power with `covariates=`, and write the table of docs/calibration.md.

    python scripts/make_covariates_table.py [--runs 200] [--rows 30 100] [--measures CKA RSA] [--split] [--write]

X and Y share only the covariate (false positives), or also a part of rank 3 (power). With `--split`, the script instead
counts false positives of `estimate` for the feature split. These data have 100 rows and 200 features, whose halves
share only the covariate.
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import shesha
from shesha.report import markdown_table
from shesha.support.files import write_text
from shesha_studies.framework.rates import rate_interval

PAGE = Path(__file__).resolve().parents[1] / "docs" / "calibration.md"
LEVEL = 0.05
FEATURES, WIDE, DRAWS = 8, 200, 39
_EFFECT = 1.5
"""Size of the effect of the covariate on a feature, relative to the noise."""
_SHARED = 0.25
"""Variance of each dimension of the shared part, relative to that of the noise."""
Covariates = dict[str, np.ndarray]
Case = Callable[[np.random.Generator, int], tuple[Covariates, np.ndarray]]
"""Function that draws covariates, and the columns of their effects."""


def _labels(rng: np.random.Generator, n: int) -> tuple[Covariates, np.ndarray]:
    codes = rng.integers(0, 4, n)
    return {"label": codes.astype(str)}, np.sqrt(4 / 3) * (np.eye(4)[codes] - 0.25)


def _numbers(count: int, effect: Callable[[np.ndarray], np.ndarray]) -> Case:
    def draw(rng: np.random.Generator, n: int) -> tuple[Covariates, np.ndarray]:
        values = rng.uniform(-1, 1, (n, count))
        columns = effect(values)
        return {f"number {k}": values[:, k] for k in range(count)}, (columns - columns.mean(axis=0)) / columns.std(
            axis=0
        )

    return draw


def _number_and_label(rng: np.random.Generator, n: int) -> tuple[Covariates, np.ndarray]:
    (label, of_label), (number, of_number) = _labels(rng, n), _numbers(1, lambda x: x)(rng, n)
    return label | number, np.hstack([of_label, of_number])


CASES: dict[str, Case] = {
    "labels of 4 classes": _labels,
    "a number, linear effect": _numbers(1, lambda x: x),
    "two numbers, linear effects": _numbers(2, lambda x: x),
    "a number and a label of 4 classes": _number_and_label,
    "a number, quadratic effect": _numbers(1, np.square),
    "a number, one full wave": _numbers(1, lambda x: np.sin(np.pi * x)),
    "two numbers, quadratic effects": _numbers(2, np.square),
}


def make(rng: np.random.Generator, case: Case, n: int, related: bool) -> tuple[np.ndarray, np.ndarray, Covariates]:
    """Draw two representations with the same covariates."""
    covariates, columns = case(rng, n)
    shared = np.sqrt(_SHARED) * rng.standard_normal((n, 3)) if related else np.zeros((n, 3))
    X, Y = (
        _EFFECT * columns @ rng.standard_normal((columns.shape[1], FEATURES))
        + shared @ rng.standard_normal((3, FEATURES))
        + rng.standard_normal((n, FEATURES))
        for _ in range(2)
    )
    return X, Y, covariates


def significant(measure: str, case: Case, n: int, run: int, related: bool, given: bool) -> bool:
    """Return whether one pair is significant."""
    rng = np.random.default_rng([run, n, list(CASES.values()).index(case), related])
    X, Y, covariates = make(rng, case, n, related)
    options: dict[str, Any] = {"metric": "euclidean"} if measure == "RSA" else {}
    if given:
        options["covariates"] = covariates
    return bool(shesha.calibrate(X, Y, measure, n_permutations=DRAWS, seed=run, **options).p_value <= LEVEL)


def split_significant(case: Case, n: int, run: int) -> bool:
    """Return whether halves of the features that share only the covariate are significantly similar."""
    rng = np.random.default_rng([run, n, list(CASES.values()).index(case), 2])
    covariates, columns = case(rng, n)
    X = _EFFECT * columns @ rng.standard_normal((columns.shape[1], WIDE)) + rng.standard_normal((n, WIDE))
    found = shesha.estimate(
        X, variant="feature_split", covariates=covariates, n_permutations=DRAWS, seed=run, n_bootstrap=0
    )
    return bool(found.p_value <= LEVEL)


def rate(work: Callable[[int], bool], runs: int) -> tuple[float, str]:
    """Share of runs that are significant, and its interval."""
    hits = sum(work(run) for run in range(runs))
    low, high = rate_interval(hits, runs)
    return hits / runs, f"{hits / runs:.1%} [{low:.1%}, {high:.1%}]"


def percent(value: float) -> str:
    """Format a rate as on the page."""
    return f"{100 * value:.3g} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rows", type=int, nargs="+", default=[30, 100])
    parser.add_argument("--measures", nargs="+", default=["CKA", "RSA"])
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--split", action="store_true")
    parser.add_argument("--null-only", action="store_true", help="leave out power, and CKA without covariates")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.split:
        for name in asked.cases:
            print(
                name, rate(lambda run, case=CASES[name]: split_significant(case, 100, run), asked.runs)[1], flush=True
            )
        return
    rows = [line(name, n, asked.measures, asked.runs, asked.null_only) for name in asked.cases for n in asked.rows]
    if asked.write:
        heads = ["covariates", "rows", "CKA, without covariates", "CKA", "RSA", "power of CKA", "power of RSA"]
        table = markdown_table(heads, rows)
        page = PAGE.read_text()
        write_text(
            PAGE, re.sub(r"\| covariates \| rows \|.*?\n(?!\|)", lambda _: table.rstrip() + "\n", page, flags=re.S)
        )


def line(name: str, n: int, measures: list[str], runs: int, null_only: bool) -> list[str]:
    """Rates of one row of the table; intervals are printed."""
    case, start = CASES[name], time.process_time()
    asked = [(measure, False, True) for measure in measures]
    if not null_only:
        asked = [("CKA", False, False), *asked, *((measure, True, True) for measure in measures)]
    found = [
        (
            f"{measure}{', related' * related}{', without' * (not given)}",
            *rate(lambda run, a=(measure, related, given): significant(a[0], case, n, run, a[1], a[2]), runs),
        )
        for measure, related, given in asked
    ]
    print(
        name,
        n,
        "; ".join(f"{what} {text}" for what, _, text in found),
        f"{time.process_time() - start:.0f} s",
        flush=True,
    )
    return [name, str(n), *(percent(value) for _, value, _ in found)]


if __name__ == "__main__":
    main()
