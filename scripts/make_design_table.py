"""Measure how often each exchange design finds a relation where there is none: the table of docs/calibration.md.

    python scripts/make_design_table.py [--runs 400]

Level 0.05, 99 permutations (all shifts where they are fewer), CKA, 8 features on both sides.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from shesha import calibrate
from shesha.nulls import equal_groups

D, K = 8, 99
Pair = tuple[np.ndarray, np.ndarray]
Case = tuple[str, str, Callable[[np.random.Generator], tuple[Pair, dict[str, Any]]]]


def series(rng: np.random.Generator, n: int, phi: float) -> np.ndarray:
    """An autoregressive series that has forgotten where it began."""
    rows = rng.standard_normal((n + 200, D))
    for t in range(1, n + 200):
        rows[t] += phi * rows[t - 1]
    return rows[200:]


def two_series(rng: np.random.Generator, n: int, phi: float, design: dict[str, Any]) -> tuple[Pair, dict[str, Any]]:
    return (series(rng, n, phi), series(rng, n, phi)), design


def sessions(rng: np.random.Generator, n: int, phi: float, shift: bool) -> tuple[Pair, dict[str, Any]]:
    """Eight sessions of n rows with offsets of their own."""
    X, Y = (np.concatenate([series(rng, n, phi) + rng.standard_normal(D) for _ in range(8)]) for _ in range(2))
    return (X, Y), {"blocks": np.repeat(np.arange(8), n), "shift": shift}


def grouped(rng: np.random.Generator, sizes: list[int], how: str) -> tuple[Pair, dict[str, Any]]:
    """Twenty groups whose rows share an offset."""
    group = np.repeat(np.arange(20), sizes)
    X, Y = (rng.standard_normal((20, D))[group] + rng.standard_normal((len(group), D)) for _ in range(2))
    if how == "equal":
        rows = equal_groups(group, seed=rng)
        return (X[rows], Y[rows]), {"groups": group[rows]}
    return (X, Y), {"groups": group} if how == "groups" else {}


def covariate(rng: np.random.Generator, effect: float, n: int, stratify: bool) -> tuple[Pair, dict[str, Any]]:
    """A number of each row moves all features of both."""
    z = rng.standard_normal(n)
    X, Y = (rng.standard_normal((n, D)) + effect * z[:, None] * rng.standard_normal(D) for _ in range(2))
    return (X, Y), {"within": z} if stratify else {}


def cases() -> list[Case]:
    found: list[Case] = []
    for n, phi in ((64, 0.5), (128, 0.5), (447, 0.5), (64, 0.9), (128, 0.9), (447, 0.9)):
        what = f"series of {n} rows, AR({phi:g})"
        designs: dict[str, dict[str, Any]] = {
            "free": {},
            "blocks of 8 rows": {"blocks": np.arange(n) // 8},
            "blocks of 25 rows": {"blocks": np.arange(n) // 25},
            "`block_length=8`": {"block_length": 8},
        }
        if n >= 100:
            designs["`block_length=25`"] = {"block_length": 25}
        designs["`shift=True`"] = {"shift": True}
        found += [(what, name, partial(two_series, n=n, phi=phi, design=design)) for name, design in designs.items()]
    for phi in (0.5, 0.9):
        what = f"8 sessions of 64 rows, AR({phi:g})"
        found += [
            (what, name, partial(sessions, n=64, phi=phi, shift=shift))
            for name, shift in (("`blocks`", False), ("`blocks`, `shift`", True))
        ]
    every = {"20 groups of 10 rows": [10] * 20, "20 groups of 5, 8, 12 or 20 rows": [5, 8, 12, 20] * 5}
    for what, sizes in every.items():
        found += [(what, name, partial(grouped, sizes=sizes, how=name.strip("`"))) for name in ("free", "`groups`")]
    unequal = list(range(5, 25))
    found.append(
        (
            "20 groups of 5 to 24 rows, all different",
            "`groups`, `equal_groups`",
            partial(grouped, sizes=unequal, how="equal"),
        )
    )
    for effect in (0.3, 1.0):
        what = f"covariate, {effect:g} of the noise, 400 rows"
        for name, stratify in (("free", False), ("`within`", True)):
            found.append((what, name, partial(covariate, effect=effect, n=400, stratify=stratify)))
    return found


def rate(make: Callable[[np.random.Generator], tuple[Pair, dict[str, Any]]], runs: int) -> float:
    hits = 0
    for run in range(runs):
        rng = np.random.default_rng([17, run])
        (X, Y), design = make(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            hits += calibrate(X, Y, "CKA", n_permutations=K, seed=rng, **design).significant
    return hits / runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    asked = parser.parse_args()
    os.environ["SHESHA_THREADS"] = "1"
    for what, name, make in cases():
        print(f"| {what} | {name} | {rate(make, asked.runs):.1%} |", flush=True)


if __name__ == "__main__":
    main()
