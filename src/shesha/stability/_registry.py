"""The registry of stability scores, and the decorator that adds to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, overload

from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.inputs.invariances import check_invariances
from shesha.stability._variant_type import LEADING, Needs, Variant
from shesha.stability.class_labels import Classes
from shesha.stability.direct_call import function_of_arrays
from shesha.support.entry_points import load_marks
from shesha.views import Rdm, Representation, Rows, View
from shesha.views.one_view_score import register_score

P = ParamSpec("P")
V = TypeVar("V", bound=View)
Data = ArrayLike | Rdm | Representation | Rows
_variants: dict[str, Variant] = {}


@overload
def stability(
    *, needs: Literal["rows"] = "rows", **declared: Any
) -> Callable[[Callable[Concatenate[V, P], float]], Callable[Concatenate[Data, P], float]]: ...
@overload
def stability(
    *, needs: Literal["labels"], **declared: Any
) -> Callable[[Callable[Concatenate[V, Classes, P], float]], Callable[Concatenate[Data, ArrayLike, P], float]]: ...
@overload
def stability(
    *, needs: Literal["replicates"], **declared: Any
) -> Callable[[Callable[Concatenate[V, V, P], float]], Callable[Concatenate[Data, Data, P], float]]: ...
def stability(*, needs: Needs = "rows", **declared: Any) -> Callable[[Callable[..., float]], Callable[..., float]]:
    """Register a function of a view as a stability score, and return a function of a matrix.

    The decorated function takes a view and its options. If labels are needed, `Classes` come after the view; if
    replicates are needed, a second view comes after it. The returned function takes the data instead. Options that the
    view's constructor accepts are also passed to the view. A `seed` is converted to one generator for all random draws.
    If there are more than `max_samples` rows, a random subset is used. `docs/extending.md` shows how to define a score.

    Parameters
    ----------
    needs : {'rows', 'labels', 'replicates'}
        Data that the score needs: only rows, rows with class labels, or two measurements of the same rows.
    **declared
        Fields of `Variant`; at least view, title, bounds, means, means_not and reference are required.

    Examples
    --------
    >>> import shesha
    >>> shesha.feature_split.variant.bounds
    (-1, 1)
    """
    check.choice(needs, tuple(LEADING), "needs")
    fields = {**declared, "invariant": check_invariances(declared.get("invariant", ()))}

    def mark(function: Callable[..., float]) -> Callable[..., float]:
        variant = Variant(**{"name": function.__name__, "function": function, "needs": needs, **fields})
        register_score(variant, _variants, "variants")
        return function_of_arrays(variant)

    return mark


def registered_variants() -> dict[str, Variant]:
    """Return all registered scores by name, including those from other packages, in their declared order."""
    load_marks()
    return {variant.name: variant for variant in sorted(_variants.values(), key=lambda variant: variant.place)}
