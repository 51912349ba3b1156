"""Measures made small and repeatable, functions that say what they are told, and values that come one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps

import numpy as np
import pytest

import shesha.measures as measures
from shesha import calibrate, calibrate_layers
from shesha.measures import Measure

SMALL = {"seed": 0, "k": 3, "n_subsets": 2, "subset_size": 20}
"""Options that make a measure repeatable, and cheap on few rows; whoever has them gets them."""


@pytest.fixture
def small() -> Callable[..., Measure]:
    """Find a measure by its name, with those of the options above that it has."""

    def find(name, **options):
        found = measures.get(name)
        return found.with_options(**{key: value for key, value in (SMALL | options).items() if key in found.parameters})

    return find


@pytest.fixture
def scripted() -> Callable[..., Callable[..., float]]:
    """Make a function of two matrices that returns the given values in turn, raising those that are errors."""

    def make(values: Iterable):
        coming = iter(values)

        def function(X, Y):
            value = next(coming)
            if isinstance(value, BaseException):
                raise value
            return value

        return function

    return make


@pytest.fixture
def counted(monkeypatch) -> Callable[..., list]:
    """List the options with which views of a kind are made from now on."""

    def count(kind):
        made = []
        make = kind.build.__func__

        @wraps(make)
        def build(cls, source, **options):
            made.append(options)
            return make(cls, source, **options)

        monkeypatch.setattr(kind, "build", classmethod(build))
        return made

    return count


@pytest.fixture
def pair() -> tuple[np.ndarray, np.ndarray]:
    """Two representations of 40 rows that share much."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((40, 6)) + 0.3
    return X, X @ rng.standard_normal((6, 5)) + rng.standard_normal((40, 5))


@pytest.fixture
def unrelated() -> tuple[np.ndarray, np.ndarray]:
    """Two representations of 40 rows that share nothing."""
    rng = np.random.default_rng(5)
    return rng.standard_normal((40, 6)), rng.standard_normal((40, 5))


@pytest.fixture
def scalar(pair):
    """Calibrate the pair, with other options than usual."""

    def call(measure="CKA", **options):
        return calibrate(*pair, measure, **({"n_permutations": 19, "seed": 0} | options))

    return call


@pytest.fixture
def layered(pair):
    """Calibrate the same pair as the only layers of two models."""

    def call(measure="CKA", **options):
        X, Y = pair
        return calibrate_layers([X], [Y], measure, **({"n_permutations": 19, "seed": 0} | options))

    return call


@pytest.fixture(params=["scalar", "layered"])
def either(request):
    return request.getfixturevalue(request.param)
