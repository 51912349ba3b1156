"""Plain functions f(X, Y) -> float that are used as measures."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import validation as check
from shesha.measures.registry import Measure
from shesha.views import Representation, View


@dataclass(frozen=True)
class Rows(View):
    """The trivial view: the matrix itself."""

    rows: NDArray[np.float64]

    @classmethod
    def build(cls, source: Representation) -> Self:
        """Store the matrix unchanged."""
        return cls(source.rows)

    @property
    def n_rows(self) -> int:
        """Number of inputs."""
        return len(self.rows)

    def permute(self, order: NDArray[np.intp]) -> Self:
        """Relabel the rows."""
        return type(self)(self.rows[order])


@dataclass(frozen=True)
class PlainMeasure(Measure):
    """A user's function f(X, Y) -> float that is not marked as a measure."""

    place: str = field(default="", repr=False)
    """Import path for other processes, as module:name; empty if the function cannot be imported."""

    def compare_views(self, a: View, b: View) -> float:
        """Call the function with copies of the matrices, so that it cannot change the originals."""
        assert isinstance(a, Rows) and isinstance(b, Rows)
        return check.real_number(self.function(a.rows.copy(), b.rows.copy()), f"the value of {self.name}")

    @property
    def parameters(self) -> dict[str, Any]:
        """Options of the measure; a user's function has none."""
        return {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the function's import path."""
        if not self.place:
            raise TypeError(f"measure must be a function in a module to go to another process, got {self.name}")
        return import_measure, (self.place,)


def plain(function: Callable[..., float], name: str = "", place: str = "") -> PlainMeasure:
    """Wrap a function as a measure without declared properties; higher values mean more similar."""
    called = name or getattr(function, "__name__", type(function).__name__)
    import_path = place or _place(function)
    return PlainMeasure(
        name=called,
        function=function,
        view=Rows,
        closer="higher",
        bounds=(-np.inf, np.inf),
        symmetric=False,
        invariant=frozenset(),
        family="own",
        cost="n^2 d",
        formula="",
        reference=import_path,
        place=import_path,
    )


def _place(function: Callable[..., float]) -> str:
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    reachable = getattr(sys.modules.get(module or ""), name, None) is function
    return f"{module}:{name}" if reachable and module != "__main__" else ""


def import_measure(place: str) -> Measure:
    """Return the measure at 'module:name': a marked function, a Measure, or any plain f(X, Y) -> float.

    A plain function is assumed to be asymmetric, with higher values for more similar representations.
    """
    module, _, name = place.partition(":")
    if not module or not name:
        raise ValueError(f"measure must be importable as module:name, got {place!r}")
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"measure must be importable as module:name, got {place!r}: {error}") from error
    marked = function if isinstance(function, Measure) else getattr(function, "measure", None)
    if isinstance(marked, Measure):
        return marked
    if not callable(function):
        raise TypeError(
            f"measure must be a function of two matrices, got {place!r}, which is {type(function).__name__}"
        )
    return plain(function, name, place)
