"""The registry of similarity measures, and the decorator that adds to it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Concatenate, ParamSpec, TypeVar, cast, get_args

from shesha.inputs import validation as check
from shesha.measures.direct_call import function_of_arrays
from shesha.measures.measure_type import COSTS, IMPLIED, INVARIANCES, Closer, Cost, Data, Invariance, Measure
from shesha.results.citation_sources import remember_source
from shesha.views import View

P = ParamSpec("P")
V = TypeVar("V", bound=View)

_measures: dict[str, Measure] = {}
_aliases: dict[str, str] = {}


def measure(
    name: str,
    *,
    view: type[V],
    closer: Closer,
    bounds: tuple[float, float],
    symmetric: bool,
    invariant: Collection[str],
    family: str,
    cost: Cost,
    formula: str,
    reference: str,
    **declared: Any,
) -> Callable[[Callable[Concatenate[V, V, P], float]], Callable[Concatenate[Data, Data, P], float]]:
    """Register a function of two views as a measure, and return a function of two matrices.

    The decorated function receives all keyword-only options; those that the view's `build` method accepts are also
    passed to the view. `docs/first_contribution.md` shows how to define a measure.

    Parameters
    ----------
    name : str
        Name in the literature. Lookup ignores case, spaces and punctuation, and also accepts the function's name.
    view : type of View
        Type of view that the measure computes from each representation.
    closer : {'higher', 'lower'}
        Which values mean more similar.
    bounds : (float, float)
        Smallest and largest possible value; infinite if there is no bound.
    symmetric : bool
        Whether f(X, Y) = f(Y, X).
    invariant : collection of {'orthogonal', 'linear', 'affine', 'permutation', 'scaling', 'translation'}
        Changes to the features of either representation that leave the value unchanged; implied changes are added.
    cost : {'n d', 'n d^2', 'n d^2 + d^3', 'n^2 d', 'more'}
        Growth of the computing time. Measures with 'more' are excluded from the standard comparison.
    family, formula, reference : str
        Family (all measures in a family can be requested by its name), and the formula and reference shown on the card.
    **declared
        Further fields of `Measure`: caveats, paired, inner_product, anywhere, equal_widths, needs_features,
        counts_features, self_value, estimates, groups, view_options, remark, expected, sample, under.
    """
    check.choice(closer, get_args(Closer), "closer")
    check.choice(cost, COSTS, "cost")
    for change in invariant:
        check.choice(change, INVARIANCES, "invariant")

    def mark(function: Callable[Concatenate[V, V, P], float]) -> Callable[Concatenate[Data, Data, P], float]:
        implied = {more for change in invariant for more in IMPLIED.get(change, ())}
        declared["groups"] = frozenset(declared.get("groups", ()))
        known = frozenset(implied).union(cast(Collection[Invariance], invariant))
        properties = (closer, bounds, symmetric, known, family, cost, formula, reference)
        register(new_measure := Measure(name, function, view, *properties, **declared))
        return function_of_arrays(new_measure, function)

    return mark


def register(declared: Measure) -> None:
    """Add a measure to the registry; each name can be used only once."""
    for name in (names := (declared.name, declared.function.__name__)):
        taken = _aliases.get(_key(name))
        if taken is not None and _measures[taken].function.__module__ != declared.function.__module__:
            raise ValueError(f"name must differ from those of other measures, got {name!r}, which {taken} has")
    _aliases.update({_key(name): declared.name for name in names})
    _measures[declared.name] = declared
    remember_source(declared.name, declared.reference)


def registered_measures() -> dict[str, Measure]:
    """Return all measures by name, in order of registration."""
    return dict(_measures)


def find_by_alias(text: str) -> Measure | None:
    """Find a measure by its name or its function's name, ignoring case and punctuation; None if unknown."""
    return _measures.get(_aliases.get(_key(text), ""))


def _key(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())
