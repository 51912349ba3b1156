"""Orders of distances, counted one comparison after another, with ties as they are in exact arithmetic."""

from itertools import permutations

import numpy as np


def distances(X, metric):
    if metric == "correlation":
        X = X - X.mean(axis=1, keepdims=True)
    if metric != "euclidean":
        X = X / np.sqrt((X * X).sum(axis=1, keepdims=True))
    found = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    # Equal in exact arithmetic is equal here.
    return np.round(found / found.max(), 11)


def tsi(X, Y, metric="euclidean", n_samples=None, seed=None):
    a, b = distances(X, metric), distances(Y, metric)
    return np.mean(
        [np.sign(a[i, j] - a[i, k]) == np.sign(b[i, j] - b[i, k]) for i, j, k in permutations(range(len(X)), 3)]
    )


def qsi(X, Y, metric="euclidean", n_samples=None, seed=None):
    """Over pairs of pairs that share no row."""
    upper = np.triu_indices(len(X), 1)
    apart = np.array([[not {i, j} & {k, m} for k, m in zip(*upper, strict=True)] for i, j in zip(*upper, strict=True)])
    signs = [
        np.sign(np.subtract.outer(side[upper], side[upper])) for side in (distances(X, metric), distances(Y, metric))
    ]
    return (signs[0] == signs[1])[apart].mean()


def information_imbalance(X, Y, k=1, metric="euclidean"):
    """Mean over all ways to break ties: shares of the places, and mean ranks."""
    a, b = distances(X, metric), distances(Y, metric)
    n, total = len(X), 0.0
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for j in others:
            nearer = sum(a[i, m] < a[i, j] for m in others)
            tied = sum(a[i, m] == a[i, j] for m in others)
            share = min(max(k - nearer, 0), tied) / tied
            rank = sum(b[i, m] < b[i, j] for m in others) + (sum(b[i, m] == b[i, j] for m in others) + 1) / 2
            total += share * rank
    return 2 * total / (n * n * k)


METRICS = [{"metric": metric} for metric in ("euclidean", "cosine", "correlation")]
TWINS = {
    "TSI": (tsi, [*METRICS, {"n_samples": 10**6, "seed": 3}]),
    "QSI": (qsi, [*METRICS, {"n_samples": 10**6, "seed": 3}]),
    "information imbalance": (information_imbalance, [*METRICS, {"k": 3}]),
}
