"""The decorator that registers descriptors, and their registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from shesha.descriptors._descriptor_type import Data, Descriptor
from shesha.descriptors.direct_call import function_of_array
from shesha.inputs.invariances import check_invariances
from shesha.support.entry_points import load_marks
from shesha.views import View
from shesha.views.one_view_score import register_score

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
