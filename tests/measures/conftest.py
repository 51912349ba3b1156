"""All registered measures, made small and repeatable, and pairs of representations to try them on."""

from importlib import import_module

import numpy as np
import pytest

import shesha.measures as measures
from shesha.support.warnings import NotEstimable

SMALL = {"seed": 0, "k": 3, "n_splits": 4, "n_subsets": 2, "subset_size": 40}
"""Options that make a measure repeatable, and cheap on few rows; whoever has them gets them."""


def smaller(name):
    """The measure of that name, with those of the options above that it has."""
    found = measures.get(name)
    return found.with_options(**{option: value for option, value in SMALL.items() if option in found.parameters})


@pytest.fixture(params=measures.names())
def measure(request):
    """Every measure that is registered, whoever registered it."""
    return smaller(request.param)


@pytest.fixture
def small():
    """Find one measure by name, made small in the same way."""
    return smaller


@pytest.fixture
def function_of():
    """Find the function of two matrices that a measure's mark has made."""

    def find(measure):
        return getattr(import_module(measure.function.__module__), measure.function.__name__)

    return find


@pytest.fixture
def value():
    """Compare; None if the data do not allow it."""

    def compare(measure, X, Y):
        try:
            return measure.score(X, Y)
        except NotEstimable:
            return None

    return compare


N = 28


def rows(rng, n, d):
    """Rows whose features have something in common."""
    return rng.standard_normal((n, d)) + rng.standard_normal((n, 1)) + 0.3


def independent(rng):
    return rows(rng, N, 6), rows(rng, N, 6) * np.geomspace(1, 3, 6) - 0.2


def related(rng):
    X = rows(rng, N, 6)
    return X, X @ rng.standard_normal((6, 6)) + rng.standard_normal((N, 6))


def unequal_widths(rng):
    X = rows(rng, N, 5)
    return X, X @ rng.standard_normal((5, 8)) + rng.standard_normal((N, 8))


def few_rows(rng):
    X = rows(rng, 14, 30)
    return X, 0.7 * X + rng.standard_normal((14, 30)) * np.geomspace(0.3, 2, 30)


def heavy_tails(rng):
    X = rng.standard_t(2, (N, 6)) * np.geomspace(1, 8, 6) + 1
    return X, X * rng.lognormal(size=6) + rng.standard_t(3, (N, 6)) - 0.5


def offset(rng):
    X = rows(rng, N, 6) * np.geomspace(1, 5, 6) + 3 * np.arange(6)
    return X, 0.5 * X[:, ::-1] + rng.standard_normal((N, 6)) + 1


def low_rank(rng):
    X = rng.standard_normal((N, 3)) @ rng.standard_normal((3, 9)) + 0.5
    return X, X + rng.standard_normal((N, 3)) @ rng.standard_normal((3, 9))


def few_columns(rng):
    X = rows(rng, N, 4)
    return X, X[:, ::-1] + rng.standard_normal((N, 4))


def tied_spectra(rng):
    """Components of equal variance, and a plane that both span."""
    rows = rng.standard_normal((2, 24, 6))
    left, right = (np.linalg.qr(side - side.mean(axis=0))[0] for side in rows)
    right = np.linalg.qr(np.hstack([left[:, [0, 3]], right[:, :4]]))[0]
    turn, other = np.linalg.qr(rng.standard_normal((2, 6, 6)))[0]
    return left * [3, 2, 2, 2, 1, 1] @ turn + 0.2, right * [1, 1, 2, 2, 2, 0.5] @ other - 0.1


def dead_units(rng):
    """Features that never change, at zero and elsewhere."""
    X = rows(rng, 24, 6)
    Y = X @ rng.standard_normal((6, 6)) + rng.standard_normal((24, 6))
    X[:, 2], X[:, 4], Y[:, 1] = 0.0, 0.7, 0.1
    return X, Y


MAKERS = (independent, related, unequal_widths, few_rows, heavy_tails, offset, low_rank, few_columns)
SPECIAL = (tied_spectra, dead_units)


@pytest.fixture(scope="session")
def pairs():
    """Pairs of representations of all kinds, some twice, by name."""
    draws = [(make, draw) for make in MAKERS for draw in range(2 if make in MAKERS[:4] else 1)]
    return {
        f"{make.__name__} {draw}": make(np.random.default_rng([draw, number]))
        for number, (make, draw) in enumerate([*draws, *((make, 0) for make in SPECIAL)])
    }


@pytest.fixture
def estimable(pairs, value):
    """The pairs that a measure can compare, with its value on each."""

    def choose(measure):
        chosen = []
        for X, Y in pairs.values():
            found = value(measure, X, Y)
            if found is not None:
                chosen.append((X, Y, found))
        # A law must not hold for want of data.
        assert len(chosen) >= 8
        return chosen

    return choose
