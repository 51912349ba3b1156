"""A descriptor with its declared properties, the decorator that registers it, and its text card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.kernels.threads import single_threaded_blas
from shesha.moments import SummedRepresentation
from shesha.report import options_in_words
from shesha.views import Representation, Rows, View, rows_or_distances
from shesha.views.registry import Registry, ViewScore

Data = ArrayLike | Representation | Rows | SummedRepresentation


@dataclass(frozen=True, kw_only=True)
class Descriptor(ViewScore):
    """A number that describes one representation, with its declared properties, which tests verify."""

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


DESCRIPTORS = Registry(Descriptor, "descriptor")
P = ParamSpec("P")
V = TypeVar("V", bound=View)


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
    invariant = check.check_invariances(declared.get("invariant", ()))
    return DESCRIPTORS.mark(_describe, **{**declared, "invariant": invariant})


def _describe(declared: Descriptor, X: Data, *args: Any, **options: Any) -> float:
    if args:
        raise TypeError(f"{declared.function.__name__}() must take one representation; options are keyword-only")
    return declared.build(X if isinstance(X, SummedRepresentation) else declared.check_data(X), **options)


def descriptors() -> dict[str, Descriptor]:
    """All registered descriptors by name, including those of other packages, in order of registration."""
    return DESCRIPTORS.load()


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
    chosen = DESCRIPTORS.get(descriptor, "descriptor")
    return chosen.card("shesha.descriptors", {"options": options_in_words(chosen.options)})
