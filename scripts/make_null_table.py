"""Measure false positives and power of what the nulls promise beyond independent rows, into docs/false_positives.md.

    python scripts/make_null_table.py [--runs 40] [--seconds 600] [--rows 20,50,200]

Every line (a score, data, rows) is kept beside the page as soon as it is known, so that a run that ends early goes on
where it was; more runs measure it anew. Level 0.05, 39 permutations.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

from shesha import calibrate, chance
from shesha._atomic import write_text
from shesha.report import markdown_line, markdown_table

K = 39
PAGE = Path(__file__).resolve().parents[1] / "docs" / "false_positives.md"
KEPT = PAGE.with_suffix(".json")
MARK = "## Beyond independent rows\n"
Rng = np.random.Generator
Case = tuple[str, str, str, Callable[[Rng, int], Any], Callable[[Rng, int], Any]]


def features(rng: Rng, n: int, kind: str, shared: bool) -> np.ndarray:
    """Independent features of a kind, with a part of rank 3 or without."""
    low = rng.standard_normal((n, 3)) @ rng.standard_normal((3, 32)) * (0.7 if shared else 0.0)
    if kind == "Gaussian":
        return rng.standard_normal((n, 32)) + low
    if kind == "unequal scales":
        return (rng.standard_normal((n, 32)) + low) * rng.lognormal(0, 1, 32)
    if kind == "heavy tails":
        return rng.standard_t(2.5, (n, 32)) + 1.5 * low
    if kind == "sparse, 10 %":
        found = (rng.standard_normal((n, 64)) + np.hstack([low, low]) > 1.28) * 1.0
        return found[found.any(axis=1)]
    found = rng.poisson(0.06 * np.exp(np.hstack([low] * 4)))
    return found[found.any(axis=1)] * 1.0


def scaled(rng: Rng, n: int, shared: bool) -> np.ndarray:
    """Rows of several scales about an offset."""
    low = rng.standard_normal((n, 3)) @ rng.standard_normal((3, 32)) * (0.7 if shared else 0.0)
    return rng.standard_normal(32) + rng.lognormal(0, 0.5, (n, 1)) * (rng.standard_normal((n, 32)) + low)


def counted(rng: Rng, n: int, shared: bool) -> np.ndarray:
    """Counts whose rows differ in depth, brought to one depth; of four kinds, or of one."""
    rates = rng.gamma(0.5, 1, 200) * np.exp((0.8 if shared else 0.0) * rng.standard_normal((4, 200)))
    found = rng.poisson(0.5 * rng.lognormal(0, 0.5, (n, 1)) * rates[rng.integers(4, size=n)])
    found = found[found.any(axis=1)]
    return np.log1p(1e4 * found / found.sum(axis=1, keepdims=True))


def batches(rng: Rng, n: int, shared: bool, numbers: bool) -> dict[str, Any]:
    """X and Y that depend on a batch or a number."""
    known = rng.standard_normal(n) if numbers else rng.integers(4, size=n)
    effect = known[:, None] if numbers else np.eye(4)[known]
    hidden = rng.standard_normal((n, 3)) * (0.7 if shared else 0.0)
    X, Y = (
        1.5 * effect @ rng.standard_normal((effect.shape[1], 8))
        + hidden @ rng.standard_normal((3, 8))
        + rng.standard_normal((n, 8))
        for _ in "XY"
    )
    return {"X": X, "Y": Y, "covariates": known if numbers else known.astype(str)}


def series(rng: Rng, n: int, shared: bool) -> dict[str, Any]:
    """Series that remember, AR(0.5)."""
    rows = rng.standard_normal((3, n + 50, 8))
    for t in range(1, n + 50):
        rows[:, t] += 0.5 * rows[:, t - 1]
    X, Y, both = rows[:, 50:]
    return {"X": X + both * shared, "Y": Y + both * shared, "shift": True}


def cases() -> list[Case]:
    kinds = ("Gaussian", "unequal scales", "heavy tails", "sparse, 10 %", "spike counts, mean 0.06")
    found = [
        _stability("feature_split", kind, keep, make)
        for kind, make in (("row scale about an offset", scaled), ("depth of counts", counted))
        for keep in ("", "row scale")
    ]
    for measure in ("CKA", "RSA(metric=euclidean)", "mutual kNN(k=5)"):
        for kind, numbers in (("a batch is shared", False), ("a number is shared", True)):
            found.append(_similarity(measure, kind, "covariates", lambda r, n, s, q=numbers: batches(r, n, s, q)))
        found.append(_similarity(measure, "series AR(0.5)", "shift", series))
    # Rotations take longest.
    found += [
        _stability(variant, kind, "", lambda r, n, s, k=kind: features(r, n, k, s))
        for variant in ("feature_split", "basis_averaged_split")
        for kind in kinds
    ]
    return found


def _stability(variant: str, kind: str, keep: str, make: Callable[[Rng, int, bool], Any]) -> Case:
    def p_value(rng: Rng, n: int, shared: bool) -> float:
        X = make(rng, n, shared)
        return chance(X, variant=variant, n_permutations=K, n_draws=10, keep=keep or None, seed=0).p_value

    return (
        variant,
        kind,
        f'`keep="{keep}"`' if keep else "-",
        lambda r, n: p_value(r, n, False),
        lambda r, n: p_value(r, n, True),
    )


def _similarity(measure: str, kind: str, how: str, make: Callable[[Rng, int, bool], Any]) -> Case:
    def p_value(rng: Rng, n: int, shared: bool) -> float:
        return calibrate(**make(rng, n, shared), measure=measure, n_permutations=K, seed=rng).p_value

    return measure, kind, f"`{how}`", lambda r, n: p_value(r, n, False), lambda r, n: p_value(r, n, True)


def rate(p_value: Callable[[Rng, int], float], n: int, runs: int) -> str:
    """Share of the runs at the level with its interval, how many warned, or why there is none."""
    hits = warned = 0
    for run in range(runs):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                hits += p_value(np.random.default_rng([71, n, run]), n) <= 0.05
            except ValueError as error:
                return f"refused: {str(error)[:60]}"
        warned += bool(caught)
    low, high = binomtest(int(hits), runs).proportion_ci(0.95, "exact")
    told = f", {warned / runs:.0%} warned" if warned else ""
    return f"{hits / runs:.0%} ({low:.0%} to {high:.0%}){told}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--rows", default="20,50,200,500")
    asked = parser.parse_args()
    os.environ["SHESHA_THREADS"] = "1"
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    start = time.monotonic()
    for n in map(int, asked.rows.split(",")):
        for score, data, how, nothing, signal in cases():
            key = f"{score}|{data}|{how}|{n}"
            if kept.get(key, {}).get("runs", 0) >= asked.runs or time.monotonic() - start > asked.seconds:
                continue
            line = [score, data, how, str(n), rate(nothing, n, asked.runs), rate(signal, n, asked.runs)]
            kept[key] = {"runs": asked.runs, "line": [*line, str(asked.runs)]}
            write_text(KEPT, json.dumps(kept, indent=1) + "\n")
            print(*line, sep=" | ", flush=True)
    lines = [markdown_line(one["line"]) for one in kept.values()]
    page = PAGE.read_text(encoding="utf-8").split(MARK)[0].rstrip() + "\n\n"
    write_text(PAGE, page + MARK + _HEAD + "\n".join([markdown_table(_COLUMNS, []), *lines]) + "\n")


_HEAD = f"""
Made by `python scripts/make_null_table.py`. Level 0.05, {K} permutations; shares of the runs with their 95 % binomial
intervals. Nothing: independent features (stability), or X and Y that share what is named and no more. Power: a further
part of rank 3 (four kinds of cells, for counts; the same series in both).

"""
_COLUMNS = ["score", "data", "design", "rows", "false positives", "power", "runs"]


if __name__ == "__main__":
    main()
