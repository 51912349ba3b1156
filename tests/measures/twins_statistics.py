"""One number per representation, and the topology of the two, from their definitions."""

import numpy as np
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr


def magnitude_difference(X, Y):
    return abs(np.sqrt((X.mean(axis=0) ** 2).sum()) - np.sqrt((Y.mean(axis=0) ** 2).sum()))


def concentricity(X):
    mean = X.mean(axis=0)
    return np.mean([x @ mean / np.linalg.norm(x) / np.linalg.norm(mean) for x in X])


def concentricity_difference(X, Y):
    return abs(concentricity(X) - concentricity(Y))


def uniformity(X):
    return np.log(np.mean([np.exp(-2 * ((x - y) ** 2).sum()) for x in X for y in X]))


def uniformity_difference(X, Y):
    return abs(uniformity(X) - uniformity(Y))


def split_stability(X, n_splits, metric, seed):
    rng, half = np.random.default_rng(seed), X.shape[1] // 2
    orders = [rng.permutation(X.shape[1]) for _ in range(n_splits)]
    parts = [(X[:, order[:half]], X[:, order[half:]]) for order in orders]
    # Rounded, so that distances that are equal in exact arithmetic tie.
    distances = [[np.round(pdist(part, metric) / pdist(X, metric).max(), 11) for part in pair] for pair in parts]
    return np.mean([spearmanr(*pair).statistic for pair in distances])


def stability_difference(X, Y, metric="cosine", n_splits=30, seed=None):
    return abs(split_stability(X, n_splits, metric, seed) - split_stability(Y, n_splits, metric, seed))


def quantile_scaled_distances(X):
    distances = squareform(pdist(X))
    return distances / np.quantile(distances, 0.9)


def cross_barcode(r, s):
    """Total length of the one-dimensional bars of the doubled distance matrix, by plain ripser."""
    from ripser import ripser

    doubled = np.block([[np.zeros_like(r), r], [r, np.minimum(r, s)]])
    bars = ripser(doubled, maxdim=1, distance_matrix=True)["dgms"][1]
    return (bars[:, 1] - bars[:, 0]).sum()


def rtd(X, Y, n_subsets=10, subset_size=500, seed=None):
    n, rng = len(X), np.random.default_rng(seed)
    subsets = [np.arange(n)]
    if n > subset_size:
        subsets = [np.sort(rng.choice(n, subset_size, replace=False)) for _ in range(n_subsets)]
    values = []
    for rows in subsets:
        r, s = quantile_scaled_distances(X[rows]), quantile_scaled_distances(Y[rows])
        values.append((cross_barcode(r, s) + cross_barcode(s, r)) / 2)
    return np.mean(values)


TWINS = {
    "MagDiff": (magnitude_difference, [{}]),
    "ConcDiff": (concentricity_difference, [{}]),
    "UnifDiff": (uniformity_difference, [{}]),
    "stability difference": (
        stability_difference,
        [{"seed": 2, "n_splits": 3, "metric": metric} for metric in ("cosine", "correlation", "euclidean")],
    ),
    "RTD": (rtd, [{"seed": 0}, {"seed": 4, "n_subsets": 3, "subset_size": 5}]),
}
