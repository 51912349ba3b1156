"""Best rotations, and best matchings of columns found by trying all of them."""

import itertools

import numpy as np
from scipy.linalg import orthogonal_procrustes as best_rotation


def padded(X, Y):
    width = max(X.shape[1], Y.shape[1])
    return [np.hstack([side, np.zeros((len(side), width - side.shape[1]))]) for side in (X, Y)]


def centred(X):
    return X - X.mean(axis=0)


def shapes(X, Y):
    return [centred(side) / np.linalg.norm(centred(side)) for side in padded(X, Y)]


def aligned_cosine(X, Y):
    X, Y = padded(X, Y)
    turned = X @ best_rotation(X, Y)[0]
    cosines = [x @ y / np.linalg.norm(x) / np.linalg.norm(y) for x, y in zip(turned, Y, strict=True)]
    return np.mean(cosines)


def rotated_distance(X, Y):
    """Distance that the best rotation of Y leaves."""
    return np.linalg.norm(X - Y @ best_rotation(Y, X)[0])


def angular_shape(X, Y):
    X, Y = shapes(X, Y)
    return np.arccos(np.clip(np.trace(X.T @ Y @ best_rotation(Y, X)[0]), -1, 1))


def orthogonal_procrustes(X, Y):
    return rotated_distance(*shapes(X, Y))


def procrustes_size_and_shape(X, Y):
    return rotated_distance(*(centred(side) for side in padded(X, Y)))


def procrustes_similarity(X, Y, center=True, scale=True, published=False):
    X, Y = (centred(side) if center else side for side in padded(X, Y))
    if published:
        return 1 - rotated_distance(X, Y) / np.linalg.norm(Y)
    if scale:
        X, Y = X / np.linalg.norm(X), Y / np.linalg.norm(Y)
    return 1 - rotated_distance(X, Y) ** 2 / (np.linalg.norm(X) ** 2 + np.linalg.norm(Y) ** 2)


def permutation_procrustes(X, Y):
    X, Y = padded(X, Y)
    return min(np.linalg.norm(X - Y[:, order]) for order in itertools.permutations(range(Y.shape[1])))


def correlations(X, Y):
    return np.array([[np.corrcoef(x, y)[0, 1] for y in Y.T] for x in X.T])


def hard_correlation_match(X, Y):
    table = correlations(X, Y)
    if len(table) > len(table.T):
        table = table.T
    own = np.arange(len(table))
    return max(table[own, order].mean() for order in map(list, itertools.permutations(range(len(table.T)), len(own))))


def soft_correlation_match(X, Y):
    table = correlations(X, Y)
    return (np.mean([max(row) for row in table]) + np.mean([max(column) for column in table.T])) / 2


TWINS = {
    "AlignCos": (aligned_cosine, [{}]),
    "AngShape": (angular_shape, [{}]),
    "OrthProc": (orthogonal_procrustes, [{}]),
    "ProcDist": (procrustes_size_and_shape, [{}]),
    "Procrustes similarity": (
        procrustes_similarity,
        [{}, {"published": True}, *({"center": c, "scale": s} for c in (True, False) for s in (True, False))],
    ),
    "PermProc": (permutation_procrustes, [{}]),
    "HardCorr": (hard_correlation_match, [{}]),
    "SoftCorr": (soft_correlation_match, [{}]),
}
