"""The decorator and the registry of descriptors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.kernels.threads import single_threaded_blas
from shesha.moments import SummedRepresentation
from shesha.results.citation_sources import remember_source
from shesha.support.entry_points import load_marks
from shesha.support.warnings import NotEstimable
from shesha.views import Representation, Rows, View, rows_or_distances

P = ParamSpec("P")
V = TypeVar("V", bound=View)
Data = ArrayLike | Representation | Rows | SummedRepresentation


@dataclass(frozen=True)
class Descriptor:
    """A number that describes one representation, with its declared and tested properties."""

    name: str
    function: Callable[..., float] = field(repr=False)
    """The function of a view."""
    view: type[View]
    title: str
    bounds: tuple[float, float]
    means: str = field(repr=False)
    """Meaning of the number, in a sentence."""
    means_not: str = field(repr=False)
    """Limits of its interpretation."""
    reference: str = field(repr=False)
    invariant: frozenset[str] = frozenset()
    """Changes of the representation that do not change the value: scaling, translation, orthogonal."""
    audited: bool = False
    """Whether it is part of every audit."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its names, the main one first."""
        return self.name, self.title

    @property
    def options(self) -> dict[str, Any]:
        """The options of the function, with their defaults."""
        found = inspect.signature(self.function).parameters.values()
        return {one.name: one.default for one in found if one.kind is one.KEYWORD_ONLY}

    def check_data(self, X: Data) -> Rows:
        """Check the representation; values are checked when they are read."""
        found = rows_or_distances(X, min_rows=2)
        if not isinstance(found, Rows):
            raise TypeError(f"X must be features for {self.name}, got distances between rows")
        return found

    def build(self, source: Rows | SummedRepresentation, **options: Any) -> float:
        """Describe checked data; NotEstimable gives the reason for a missing value."""
        with single_threaded_blas():
            value = check.real_number(self.function(source.view(self.view), **options), f"the value of {self.name}")
        if np.isnan(value):
            raise NotEstimable(f"{self.name} did not return a number")
        return value


_descriptors: dict[str, Descriptor] = {}


def descriptor(
    **declared: Any,
) -> Callable[[Callable[Concatenate[V, P], float]], Callable[Concatenate[Data, P], float]]:
    """Mark a function of a view as a descriptor, and return a function of a matrix.

    Parameters
    ----------
    **declared
        Fields of `Descriptor`: at least view, title, bounds, means, means_not and reference.

    Examples
    --------
    >>> import shesha
    >>> [name for name in shesha.descriptors.descriptors()]
    ['intrinsic_dimension', 'effective_rank', 'participation_ratio', 'corrected_participation_ratio', 'anisotropy']
    """
    fields = {**declared, "invariant": check.changes(declared.get("invariant", ()))}

    def mark(function: Callable[Concatenate[V, P], float]) -> Callable[Concatenate[Data, P], float]:
        found = Descriptor(function.__name__, function, **fields)
        taken = _descriptors.get(found.name)
        if taken is not None and taken.function.__module__ != function.__module__:
            raise ValueError(f"name must differ from those of other descriptors, got {found.name!r}")
        _descriptors[found.name] = found
        remember_source(found.name, found.reference)

        @wraps(function)
        def describe(X: Data, *args: P.args, **options: P.kwargs) -> float:
            if args:
                raise TypeError(f"{function.__name__}() must take one representation; options are keyword-only")
            try:
                return found.build(X if isinstance(X, SummedRepresentation) else found.check_data(X), **options)
            except NotEstimable as reason:
                return check.not_estimable(str(reason))

        own = [one for one in inspect.signature(function).parameters.values() if one.kind is one.KEYWORD_ONLY]
        data = inspect.Parameter("X", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="ArrayLike")
        describe.__signature__ = inspect.Signature([data, *own], return_annotation="float")  # type: ignore[attr-defined]
        describe.descriptor = found  # type: ignore[attr-defined]
        # Its signature is that of the view.
        del describe.__wrapped__
        return cast(Callable[Concatenate[Data, P], float], describe)

    return mark


def descriptors() -> dict[str, Descriptor]:
    """All marked descriptors by name, including those of other packages, in the order of registration."""
    load_marks()
    return dict(_descriptors)
