"""Measure the coverage and the false positive rate of steering scores: tables of docs/steering.md.

python scripts/make_steering_table.py [--runs 150]
"""

from __future__ import annotations

import argparse

import numpy as np

from shesha import steering

ALPHAS = (-0.2, 0.0, 0.2)
CASES = ((60, 10, None), (200, 30, None), (120, 10, 4))
"""Numbers of rows, of features, and of rows per template."""
LEVEL = 0.05


def data(
    seed: int, n: int, d: int, size: int | None, distance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Two separated classes; rows of a template share an offset, and contain both classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, d)) + distance * np.eye(d)[y]
    if size is None:
        return X, y, None
    template = np.arange(n) // size
    return X + 0.7 * rng.standard_normal((n // size, d))[template], y, template


def coverage(n: int, d: int, size: int | None, runs: int) -> str:
    found = []
    for seed in range(runs):
        X, y, groups = data(seed, n, d, size, 1.0)
        one = steering.steerability(
            X, y, groups=groups, alphas=ALPHAS, units="norm", n_draws=0, n_directions=1, seed=seed
        )
        found.append([(s.value, s.low, s.high) for s in (one.accuracy, one.max_drop)])
    value, low, high = np.moveaxis(np.array(found), 2, 0)
    # The true value of an interval is the mean over samples with the same number of rows.
    truth = value.mean(axis=0)
    held = ((low <= truth) & (truth <= high)).mean(axis=0)
    return f"| {n} | {d} | {size or '-'} | {held[0]:.0%} | {held[1]:.0%} |"


def false_positives(runs: int) -> str:
    """False positive rates for five layers without signal: of the best layer, and of layers chosen in advance."""
    hits = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        y = np.arange(40) % 2
        layers = [rng.standard_normal((40, 6)) for _ in range(5)]
        found = steering.rank_layers(layers, y, by="accuracy", n_splits=2, n_draws=39, seed=seed)
        alone = [one.p_value <= LEVEL for one in found.layers]
        hits.append([found.best.p_value <= LEVEL, alone[0], any(alone)])
    best, first, some = np.mean(hits, axis=0)
    return f"| {best:.1%} | {first:.1%} | {some:.1%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=150)
    runs = parser.parse_args().runs
    print("| rows | features | rows per template | accuracy | max drop |\n| --- | --- | --- | --- | --- |")
    for case in CASES:
        print(coverage(*case, runs), flush=True)
    columns = "best of five layers (`p_best`)", "one layer chosen in advance (`p_value`)"
    print("\n|", " | ".join((*columns, "any of five layers by its own p-value")), "|\n| --- | --- | --- |")
    print(false_positives(2 * runs))


if __name__ == "__main__":
    main()
