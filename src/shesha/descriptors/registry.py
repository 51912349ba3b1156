"""A descriptor with its declared properties, the decorator that registers it, its direct call and its text card."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.inputs.validation import check_invariances
from shesha.kernels.threads import single_threaded_blas
from shesha.moments import SummedRepresentation
from shesha.report import options_in_words
from shesha.support.optional import load_marks
from shesha.support.warnings import NotEstimable
from shesha.views import Representation, Rows, View, rows_or_distances
from shesha.views.one_view_score import ViewScore, find_score, register_score, score_card

Data = ArrayLike | Representation | Rows | SummedRepresentation


@dataclass(frozen=True)
class Descriptor(ViewScore):
    """A number that describes one representation, with its declared properties, which tests verify."""

    @property
    def options(self) -> dict[str, Any]:
        """The options of the function and their defaults."""
        parameters = inspect.signature(self.function).parameters.values()
        return {
            parameter.name: parameter.default for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY
        }

    def check_data(self, X: Data) -> Rows:
        """Check the representation; values are checked when they are read."""
        rows = rows_or_distances(X, min_rows=2)
        if not isinstance(rows, Rows):
            raise TypeError(f"X must be features for {self.name}, got distances between rows")
        return rows

    def build(self, source: Rows | SummedRepresentation, **options: Any) -> float:
        """Compute the descriptor from checked data; raise NotEstimable with a reason if this is impossible."""
        with single_threaded_blas():
            return self.number(source.view(self.view), **options)


def function_of_array(descriptor: Descriptor) -> Callable[..., float]:
    """Return the function of an array that checks it and computes a descriptor."""
    function = descriptor.function

    @wraps(function)
    def describe(X: Data, *args: Any, **options: Any) -> float:
        if args:
            raise TypeError(f"{function.__name__}() must take one representation; options are keyword-only")
        try:
            return descriptor.build(X if isinstance(X, SummedRepresentation) else descriptor.check_data(X), **options)
        except NotEstimable as reason:
            return check.not_estimable(str(reason))

    options = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    data = inspect.Parameter("X", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="ArrayLike")
    describe.__signature__ = inspect.Signature([data, *options], return_annotation="float")  # type: ignore[attr-defined]
    describe.descriptor = descriptor  # type: ignore[attr-defined]
    # `inspect` would follow `__wrapped__` and show the parameters of the function of a view.
    del describe.__wrapped__
    return cast(Callable[..., float], describe)


P = ParamSpec("P")
V = TypeVar("V", bound=View)


_descriptors: dict[str, Descriptor] = {}


def descriptor(
    **declared: Any,
) -> Callable[[Callable[Concatenate[V, P], float]], Callable[Concatenate[Data, P], float]]:
    """Register a function of a view as a descriptor, and return a function of a matrix.

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
    fields = {**declared, "invariant": check_invariances(declared.get("invariant", ()))}

    def mark(function: Callable[Concatenate[V, P], float]) -> Callable[Concatenate[Data, P], float]:
        declared_descriptor = Descriptor(function.__name__, function, **fields)
        register_score(declared_descriptor, _descriptors, "descriptors")
        return function_of_array(declared_descriptor)

    return mark


def descriptors() -> dict[str, Descriptor]:
    """All registered descriptors by name, including those of other packages, in order of registration."""
    load_marks()
    return dict(_descriptors)


def card(descriptor: str | Descriptor | Callable[..., float]) -> str:
    """Return a text card that describes a descriptor.

    Parameters
    ----------
    descriptor : str, Descriptor or function
        The descriptor, its name, or its title. Case and punctuation are ignored.

    Raises
    ------
    ValueError
        If the name is unknown. The message suggests similar names.

    Examples
    --------
    >>> card("anisotropy").split(".")[0]
    'anisotropy: Anisotropy'
    """
    known = getattr(descriptor, "descriptor", descriptor)
    chosen = find_score(known, Descriptor, descriptors(), "descriptor")
    return score_card(chosen, "shesha.descriptors", {"options": options_in_words(chosen.options)})
