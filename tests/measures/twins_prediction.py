"""Held-out prediction, by normal equations and hat matrices, fold by fold and penalty by penalty."""

import numpy as np


def fold_of(n, n_folds, seed):
    """Rows in random order, dealt out like cards."""
    fold = [0] * n
    for place, row in enumerate(np.random.default_rng(seed).permutation(n)):
        fold[row] = place % n_folds
    return np.array(fold)


def ridge(X, Y, penalty):
    """Weights and hat matrix of ridge regression with an intercept that is not penalised."""
    centred = X - X.mean(axis=0)
    inverse = np.linalg.inv(centred.T @ centred + penalty * np.eye(X.shape[1]))
    return inverse @ centred.T @ (Y - Y.mean(axis=0)), centred @ inverse @ centred.T + 1 / len(X)


def generalised_score(X, Y, penalty):
    weights, hat = ridge(X, Y, penalty)
    residuals = Y - Y.mean(axis=0) - (X - X.mean(axis=0)) @ weights
    return (residuals**2).sum() / np.trace(np.eye(len(X)) - hat) ** 2


def predicted_share(X, Y, fold):
    errors = spread = 0.0
    for k in range(fold.max() + 1):
        x, y, new, wanted = X[fold != k], Y[fold != k], X[fold == k], Y[fold == k]
        largest = np.linalg.norm(x - x.mean(axis=0), 2) ** 2
        penalty = min(largest * 10.0 ** (np.arange(31) / 3 - 6), key=lambda one: generalised_score(x, y, one))
        found = y.mean(axis=0) + (new - x.mean(axis=0)) @ ridge(x, y, penalty)[0]
        errors += ((wanted - found) ** 2).sum()
        spread += ((wanted - y.mean(axis=0)) ** 2).sum()
    return 1 - errors / spread


def linear_predictivity(X, Y, direction="mean", n_folds=5, groups=None, seed=0):
    X, Y = X / np.linalg.norm(X), Y / np.linalg.norm(Y)
    fold = fold_of(len(X), n_folds, seed)
    forward, backward = predicted_share(X, Y, fold), predicted_share(Y, X, fold)
    return {"mean": (forward + backward) / 2, "forward": forward, "backward": backward}[direction]


TWINS = {
    "linear predictivity": (
        linear_predictivity,
        [{}, {"direction": "forward"}, {"direction": "backward", "n_folds": 4}, {"groups": None, "seed": 4}],
    ),
}
