"""Kernel alignment, distances between rows, and the clouds of rows as distributions, pair by pair."""

import itertools

import numpy as np
from scipy.spatial.distance import pdist, squareform
from scipy.stats import pearsonr, spearmanr, wasserstein_distance


def distances(X, Y=None):
    Y = X if Y is None else Y
    return np.array([[np.sqrt(((x - y) ** 2).sum()) for y in Y] for x in X])


def kernel_matrix(X, kernel, bandwidth):
    if kernel == "linear":
        return X @ X.T
    squared = distances(X) ** 2
    if bandwidth == "median":
        bandwidth = np.median([np.sqrt(squared[i, j]) for i, j in itertools.combinations(range(len(X)), 2)])
    elif bandwidth == "published":
        bandwidth = np.sqrt(sorted(squared.ravel())[(squared.size - 1) // 2])
    return np.exp(-squared / (2 * bandwidth**2))


def hsic(K, L):
    H = np.eye(len(K)) - 1 / len(K)
    return np.trace(K @ H @ L @ H)


def unbiased_hsic(K, L):
    """Song et al. 2012, equation 5."""
    n = len(K)
    K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
    shared = np.trace(K @ L) + K.sum() * L.sum() / ((n - 1) * (n - 2)) - 2 / (n - 2) * (K @ L).sum()
    return shared / (n * (n - 3))


def hsic_over_quadruples(K, L):
    """The same as the mean over all ordered quadruples of different rows: slow, and unbiased by its very form."""
    terms = [K[i, j] * (L[i, j] + L[q, r] - 2 * L[i, q]) for i, j, q, r in itertools.permutations(range(len(K)), 4)]
    return np.mean(terms)


def alignment(K, L, product):
    return product(K, L) / np.sqrt(product(K, K) * product(L, L))


def cka(X, Y, kernel="linear", bandwidth="median"):
    return alignment(*(kernel_matrix(side, kernel, bandwidth) for side in (X, Y)), hsic)


def unbiased_cka(X, Y, kernel="linear", bandwidth="median"):
    K, L = (kernel_matrix(side, kernel, bandwidth) for side in (X, Y))
    return alignment(K, L, hsic_over_quadruples if len(X) < 9 else unbiased_hsic)


def own_size(X):
    """Mean over pairs of different features of what their kernels share."""
    kernels = [np.outer(x, x) for x in X.T]
    return np.mean([unbiased_hsic(K, L) for K, L in itertools.permutations(kernels, 2)])


def sampled_cka(X, Y):
    shared = unbiased_hsic(X @ X.T / X.shape[1], Y @ Y.T / Y.shape[1])
    sizes = own_size(X), own_size(Y)
    return shared / np.sqrt(np.prod(sizes)) if min(sizes) > 0 else np.nan


def rv(X, Y):
    W, V = ((side - side.mean(axis=0)) @ (side - side.mean(axis=0)).T for side in (X, Y))
    return np.trace(W @ V) / np.sqrt(np.trace(W @ W) * np.trace(V @ V))


def distance_correlation(X, Y):
    A, B = (D - D.mean(axis=0) - D.mean(axis=1)[:, None] + D.mean() for D in (distances(X), distances(Y)))
    return np.sqrt((A * B).mean() / np.sqrt((A * A).mean() * (B * B).mean()))


def tied_distances(X, metric):
    """Distances that are equal in exact arithmetic, equal: SciPy's ranks would see their rounding."""
    found = pdist(X, metric)
    return np.round(found / found.max(), 11)


def rsa(X, Y, metric="correlation", method="spearman"):
    correlate = spearmanr if method == "spearman" else pearsonr
    return correlate(tied_distances(X, metric), tied_distances(Y, metric)).statistic


def rdm_drift(X, Y, metric="cosine", method="spearman"):
    return 1 - rsa(X, Y, metric, method)


def rsm_norm_difference(X, Y, norm="spectral"):
    difference = squareform(pdist(X)) - squareform(pdist(Y))
    return np.linalg.norm(difference, 2 if norm == "spectral" else "fro")


def mmd(X, Y, bandwidth=None):
    if bandwidth is None:
        bandwidth = np.median(pdist(np.concatenate([X, Y])))
    means = [
        np.mean([np.exp(-((x - y) ** 2).sum() / (2 * bandwidth**2)) for x in A for y in B])
        for A, B in ((X, X), (Y, Y), (X, Y))
    ]
    return np.sqrt(means[0] + means[1] - 2 * means[2])


def sliced_wasserstein(X, Y, n_projections=100, seed=None):
    directions = np.random.default_rng(seed).standard_normal((X.shape[1], n_projections))
    return np.mean([wasserstein_distance(X @ u, Y @ u) for u in (directions / np.linalg.norm(directions, axis=0)).T])


METRICS = ["correlation", "cosine", "euclidean"]
RDM_OPTIONS = [{"metric": metric, "method": method} for metric in METRICS for method in ("spearman", "pearson")]
KERNEL_OPTIONS = [
    {},
    {"kernel": "rbf"},
    {"kernel": "rbf", "bandwidth": 1.7},
    {"kernel": "rbf", "bandwidth": "published"},
]
TWINS = {
    "CKA": (cka, KERNEL_OPTIONS),
    "unbiased CKA": (unbiased_cka, KERNEL_OPTIONS),
    "sampled CKA": (sampled_cka, [{}]),
    "RV": (rv, [{}]),
    "DistCorr": (distance_correlation, [{}]),
    "RSA": (rsa, [{}, *RDM_OPTIONS]),
    "RDM drift": (rdm_drift, [{}, *RDM_OPTIONS]),
    "RSMDiff": (rsm_norm_difference, [{}, {"norm": "frobenius"}]),
    "MMD": (mmd, [{}, {"bandwidth": 0.8}]),
    "sliced Wasserstein": (sliced_wasserstein, [{"seed": 0}, {"n_projections": 7, "seed": 3}]),
}
