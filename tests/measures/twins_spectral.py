"""Canonical correlations, regression and leading subspaces, from covariance matrices and projections."""

import numpy as np
from scipy.linalg import subspace_angles


def centred(X):
    return X - X.mean(axis=0)


def projector(X):
    """Orthogonal projection on the columns."""
    return X @ np.linalg.pinv(X)


def scores(X, n_kept):
    """Scores of the first principal components, from the covariance matrix."""
    _, axes = np.linalg.eigh(centred(X).T @ centred(X))
    return centred(X) @ axes[:, ::-1][:, :n_kept]


def shares(X):
    variances = np.linalg.eigvalsh(centred(X).T @ centred(X))[::-1]
    return variances / variances.sum()


def n_for_share(X, share):
    total = 0.0
    for number, part in enumerate(shares(X), start=1):
        total += part
        # A share within rounding of the asked one reaches it.
        if total >= share - 1e-12:
            return number
    raise AssertionError


def canonical(X, Y):
    """Correlations, largest first, and the canonical variables of X, of unit length (Hotelling 1936)."""
    X, Y = centred(X), centred(Y)
    explained = np.linalg.solve(X.T @ X, X.T @ Y) @ np.linalg.solve(Y.T @ Y, Y.T @ X)
    squared, weights = np.linalg.eig(explained)
    order = np.argsort(squared.real)[::-1][: min(X.shape[1], Y.shape[1])]
    variables = X @ weights[:, order].real
    return np.sqrt(squared.real[order]), variables / np.linalg.norm(variables, axis=0)


def cca(X, Y):
    return canonical(X, Y)[0].mean()


def svcca(X, Y, components=0.99):
    kept = []
    for side in (X, Y):
        if components == "published":
            # A cumulative share against 0.99 times the total; where it is never reached, one component is kept.
            enough = np.cumsum(shares(side)) >= 0.99 * (centred(side) ** 2).sum()
            kept.append(1 + int(np.argmax(enough)))
        else:
            kept.append(n_for_share(side, components) if isinstance(components, float) else components)
    return cca(scores(X, kept[0]), scores(Y, kept[1]))


def pwcca(X, Y, weights="projection"):
    if weights == "projection" and X.shape[1] > Y.shape[1]:
        X, Y = Y, X
    correlations, directions = canonical(X, Y)
    alpha = []
    for direction in directions.T:
        columns = centred(X).T if weights == "projection" else np.eye(len(X))
        alpha.append(sum(abs(direction @ column) for column in columns))
    return np.average(correlations, weights=alpha)


def linear_regression(X, Y):
    X, Y = centred(X), centred(Y)
    left_over = X - Y @ np.linalg.lstsq(Y, X, rcond=None)[0]
    return 1 - (left_over**2).sum() / (X**2).sum()


def gulp(X, Y, ridge=0.0):
    X, Y = (np.sqrt(len(X)) * centred(side) / np.linalg.norm(centred(side)) for side in (X, Y))
    C_X, C_Y, C_XY = X.T @ X / len(X), Y.T @ Y / len(X), X.T @ Y / len(X)
    K_X, K_Y = (np.linalg.pinv(C + ridge * np.eye(len(C)), rcond=1e-12) for C in (C_X, C_Y))
    own = np.trace(K_X @ C_X @ K_X @ C_X) + np.trace(K_Y @ C_Y @ K_Y @ C_Y)
    return own - 2 * np.trace(K_X @ C_XY @ K_Y @ C_XY.T)


def eigenspace_overlap(X, Y):
    return np.trace(projector(X) @ projector(Y)) / max(X.shape[1], Y.shape[1])


def subspace_overlap(X, Y, k=10):
    return (np.cos(subspace_angles(scores(X, k), scores(Y, k))) ** 2).mean()


def eigenspectrum_similarity(X, Y):
    s, t = (np.linalg.svd(centred(side), compute_uv=False) for side in (X, Y))
    shared = sum(a * b for a, b in zip(s, t, strict=False))
    return shared / np.sqrt((s**2).sum() * (t**2).sum())


def pwcka(X, Y, variance=0.99):
    k = min(n_for_share(X, variance), n_for_share(Y, variance))
    a, b = scores(X, k), scores(Y, k)
    shared, own, other = ((left.T @ right) ** 2 for left, right in ((a, b), (a, a), (b, b)))
    return shared.sum() / np.sqrt(own.sum() * other.sum())


TWINS = {
    "CCA": (cca, [{}]),
    "SVCCA": (svcca, [{}, {"components": 0.8}, {"components": 1.0}, {"components": 2}, {"components": "published"}]),
    "PWCCA": (pwcca, [{}, {"weights": "l1"}]),
    "LinReg": (linear_regression, [{}]),
    "GULP": (gulp, [{}, {"ridge": 0.01}, {"ridge": 10}]),
    "EOS": (eigenspace_overlap, [{}]),
    "subspace overlap": (subspace_overlap, [{"k": 1}, {"k": 3}]),
    "eigenspectrum similarity": (eigenspectrum_similarity, [{}]),
    "PWCKA": (pwcka, [{}, {"variance": 0.7}, {"variance": 1.0}]),
}
