"""Look up measures by name, family or group."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from shesha.measures.registry import INVARIANCES, Measure, find_by_alias, registered_measures
from shesha.measures.user_functions import PlainMeasure, plain
from shesha.results.similarity.recommended_measure_names import RECOMMENDED
from shesha.support import argument_types as kinds
from shesha.support import spelling as spelling
from shesha.support.entry_points import import_entry_points, load_marks

if TYPE_CHECKING:
    import pandas as pd

ENTRY_POINTS = "shesha.measures"
STANDARD = "standard"
ALL = "all"
_RECOMMENDED = "recommended"


def names() -> list[str]:
    """Return the names of all measures, including measures from other packages.

    Examples
    --------
    >>> names()[:3]
    ['CCA', 'SVCCA', 'PWCCA']
    """
    load_entry_points()
    return list(registered_measures())


def get(name: str | Measure | Callable[..., float]) -> Measure:
    """Return a measure by its name, its function's name, or as the function itself.

    Parameters
    ----------
    name : str, Measure or function
        Names are compared without case, spaces and punctuation, and may end with options in parentheses.

    Examples
    --------
    >>> get("CKA").bounds
    (0, 1)
    >>> get("mutual_knn(k=20)").options
    {'k': 20}
    """
    if isinstance(name, Measure):
        return name
    marked = getattr(name, "measure", None)
    if isinstance(marked, Measure):
        return marked
    if not isinstance(name, str):
        raise TypeError(f"a measure must be given by name or as a marked function, got {name!r}")
    load_entry_points()
    base, options = _parse(name)
    measure = find_by_alias(base)
    if measure is None:
        if base.casefold() in _group_members():
            raise ValueError(f"measure must be a single measure, got {name!r}, which names several")
        raise spelling.unknown(name, "measure", registered_measures(), _close(base), "`shesha measures`")
    return measure.with_options(**options)


def as_measure(chosen: str | Measure | Callable[..., float]) -> Measure:
    """Return one measure, as `get` does; plain functions f(X, Y) -> float are also accepted.

    Parameters
    ----------
    chosen : str, Measure or function
        As for `get`. A function that is not marked as a measure is called with two NumPy matrices, and its higher
        values must mean closer.

    Examples
    --------
    >>> as_measure("CKA").name, as_measure(max).name
    ('CKA', 'max')
    """
    if callable(chosen) and not isinstance(getattr(chosen, "measure", None), Measure):
        return plain(chosen)
    return get(chosen)


def choose(
    chosen: str | Measure | Callable[..., float] | Iterable[str | Measure | Callable[..., float]],
) -> list[Measure]:
    """Return the measures that names, functions, families or groups (also 'standard', 'all') refer to."""
    if isinstance(chosen, str | Measure) or callable(chosen):
        chosen = [chosen]
    if not isinstance(chosen, Iterable) or not kinds.has_entries(chosen):
        raise TypeError(f"measures must be names or functions, got {chosen!r}")
    by_name: dict[str, Measure] = {}
    for choice in chosen:
        for measure in _meant(choice):
            known = by_name.setdefault(measure.name, measure)
            if isinstance(measure, PlainMeasure) and known.function is not measure.function:
                raise ValueError(f"measures must have distinct names, got {measure.name!r} twice")
    if not by_name:
        raise ValueError("measures must name at least one measure, got none")
    return list(by_name.values())


def _meant(choice: str | Measure | Callable[..., float]) -> list[Measure]:
    load_entry_points()
    if isinstance(choice, str) and choice.casefold() in _group_members():
        return _group_members()[choice.casefold()]
    return [as_measure(choice)]


def _group_members() -> dict[str, list[Measure]]:
    """Return the measures in each family and group, by its name."""
    everything = list(registered_measures().values())
    members = {
        ALL: everything,
        STANDARD: [measure for measure in everything if measure.cost != "more"],
        _RECOMMENDED: [registered_measures()[name] for name in RECOMMENDED],
    }
    for measure in everything:
        for name in {measure.family.casefold(), *(group.casefold() for group in measure.groups)}:
            members.setdefault(name, []).append(measure)
    return members


def _close(base: str) -> list[str]:
    """Return the names of measures that resemble a misspelt name."""
    called = {alias.lower(): m.name for m in registered_measures().values() for alias in (m.name, m.function.__name__)}
    return [called[alias] for alias in spelling.close_names(base, called, cutoff=0.5)]


def families() -> list[str]:
    """Return the names of the families."""
    load_entry_points()
    return list(dict.fromkeys(measure.family for measure in registered_measures().values()))


def table() -> pd.DataFrame:
    """Return one line per measure with all its declared properties.

    Examples
    --------
    >>> table().loc["CKA", ["family", "closer", "view"]].to_list()
    ['kernels', 'higher', 'Gram']
    """
    import pandas as pd

    load_entry_points()
    return pd.DataFrame([_line(measure) for measure in registered_measures().values()]).set_index("name")


def _line(measure: Measure) -> dict[str, Any]:
    return {
        "name": measure.name,
        "function": measure.function.__name__,
        "family": measure.family,
        "closer": measure.closer,
        "possible_low": float(measure.bounds[0]),
        "possible_high": float(measure.bounds[1]),
        "symmetric": measure.symmetric,
        "paired": measure.paired,
        "anywhere": measure.anywhere,
        **{change: change in measure.invariant for change in INVARIANCES},
        "cost": measure.cost,
        "view": measure.view.__name__,
        "reference": measure.reference,
    }


@cache
def load_entry_points() -> None:
    """Import measures from other packages; warn about each that cannot be imported."""
    load_marks()
    for _ in import_entry_points(ENTRY_POINTS, "measure"):
        pass


def _parse(text: str) -> tuple[str, dict[str, Any]]:
    """Split 'name(option=value, ...)' into the name and the options; values are Python literals or words."""
    match = re.fullmatch(r"\s*([^()]+?)\s*(?:\((.*)\))?\s*", text)
    if not match:
        raise ValueError(f"measure must be a name or name(option=value, ...), got {text!r}")
    options = {}
    for part in filter(None, (piece.strip() for piece in (match[2] or "").split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not key.isidentifier():
            raise ValueError(f"options of a measure must have the form option=value, got {part!r} in {text!r}")
        if key in options:
            raise ValueError(f"options of a measure must be given once, got {key} again in {text!r}")
        try:
            options[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            options[key] = value
    return match[1], options
