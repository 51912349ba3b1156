"""Transport of units as the linear program that defines it."""

import numpy as np
from scipy.optimize import linprog


def transport(gain, mass):
    """Every constraint a line: what each unit of either side holds, and all of it."""
    p, q = gain.shape
    of_rows = np.kron(np.eye(p), np.ones(q))
    of_columns = np.kron(np.ones(p), np.eye(q))
    most = np.concatenate([np.full(p, 1 / p), np.full(q, 1 / q)])
    found = linprog(-gain.ravel(), np.vstack([of_rows, of_columns]), most, np.ones((1, p * q)), [mass])
    return -found.fun / mass


def soft_matching(X, Y, mass=1.0):
    def correlation(x, y):
        x, y = x - x.mean(), y - y.mean()
        lengths = np.sqrt((x @ x) * (y @ y))
        return x @ y / lengths if lengths > 0 else 0.0

    return transport(np.array([[correlation(x, y) for y in Y.T] for x in X.T]), mass)


TWINS = {"soft matching": (soft_matching, [{"mass": mass} for mass in (1.0, 0.8, 0.35)])}
