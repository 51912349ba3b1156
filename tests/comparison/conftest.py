"""Measures made for one test, what the functions say themselves, and representations to compare."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import shesha.measures as measures
from shesha import MeasureWarning, NotEstimableWarning
from shesha.measures import registry as registry
from shesha.views import View

N = 40
DECLARED = {
    "closer": "higher",
    "bounds": (0, 1),
    "symmetric": True,
    "invariant": (),
    "family": "made here",
    "cost": "n d",
    "formula": "none",
    "reference": "none",
    "self_value": 1.0,
}


@dataclass(frozen=True)
class Plain(View):
    """The rows as they are."""

    rows: np.ndarray

    @classmethod
    def build(cls, source):
        return cls(source.rows)


# Programs of their own: the tests import them where they are needed.
collect_ignore = ["stored_measures.py", "stored_run.py"]


@pytest.fixture
def mark():
    """Register measures for one test: `mark("name")` is a decorator, whatever is not declared has a default."""
    kept = dict(registry.MEASURES.known), dict(registry.MEASURES.aliases)

    def make(name: str, view: type[View] = Plain, **declared: Any):
        return measures.measure(name, view=view, **(DECLARED | declared))

    yield make
    for table, before in zip((registry.MEASURES.known, registry.MEASURES.aliases), kept, strict=True):
        table.clear()
        table.update(before)


@pytest.fixture
def plain_view() -> type[View]:
    return Plain


@pytest.fixture
def counted(monkeypatch):
    """List the views of a kind as weak references, in the order in which they are made, with their options."""

    def count(kind):
        made: list[tuple[tuple, weakref.ref]] = []
        make = kind.build.__func__

        @wraps(make)
        def build(cls, source, **options):
            view = make(cls, source, **options)
            made.append(((id(source), *sorted(options.items())), weakref.ref(view)))
            return view

        monkeypatch.setattr(kind, "build", classmethod(build))
        return made

    return count


def function_of(measure):
    return getattr(import_module(measure.function.__module__), measure.function.__name__)


@pytest.fixture
def direct() -> Callable[..., tuple[float, str]]:
    """Call a measure's function with matrices: the value, and the reason if there is none.

    What draws at random gets the seed of the comparison, unless it has one of its own.
    """

    def call(name, X, Y, seed=0):
        measure = measures.get(name)
        open_seed = {"seed": seed} if measure.parameters.get("seed", 0) is None else {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", NotEstimableWarning)
            # What is remarked on a value that there is is a note of the comparison.
            warnings.simplefilter("ignore", MeasureWarning)
            value = function_of(measure)(X, Y, **measure.options, **open_seed)
        return value, "".join(str(one.message).removeprefix("not estimable: ") for one in caught)

    return call


@pytest.fixture(scope="session")
def names() -> list[str]:
    """All measures but RTD, which takes seconds and an extra."""
    return [name for name in measures.names() if name != "RTD"]


@pytest.fixture(scope="session")
def layers() -> dict[str, np.ndarray]:
    """Representations of the same rows: related ones, one of another width, an unrelated one."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((N, 11)) + 0.3
    return {
        "early": X,
        "middle": X @ rng.standard_normal((11, 11)) + rng.standard_normal((N, 11)),
        "narrow": X[:, :5] + 0.5 * rng.standard_normal((N, 5)),
        "noise": rng.standard_normal((N, 11)) * np.geomspace(1, 3, 11) - 0.2,
    }


@pytest.fixture(scope="session")
def pair(layers) -> tuple[np.ndarray, np.ndarray]:
    return layers["early"], layers["middle"]
