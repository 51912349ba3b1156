"""Look up measures by name, family or group, plain functions included, and describe them as text cards."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import validation as check
from shesha.measures.registry import IMPLIED, INVARIANCES, MEASURES, Measure
from shesha.moments import SummedRepresentation, sum_panel
from shesha.report import (
    CHANGES,
    card as as_card,
    describe_invariances,
    markdown_table,
    options_in_words,
    page_width,
    range_in_words,
    wrap,
)
from shesha.results.comparison import RECOMMENDED
from shesha.support import types as kinds, wording as spelling
from shesha.support.optional import import_by_name
from shesha.support.types import instance
from shesha.support.warnings import NotEstimable
from shesha.views import Representation, View

if TYPE_CHECKING:
    import pandas as pd


def takes_moments(measure: Measure) -> bool:
    """Whether sums over rows (`shesha.Moments`) suffice for a measure, found by a trial on a few rows."""
    instance(measure, Measure, "measure", "a Measure, as `shesha.measures.get` returns")
    rows = np.random.default_rng(0).standard_normal((2, 60, 12))
    sums = sum_panel(list(rows), [(0, 1)])
    sides = [SummedRepresentation(sums, place, float(np.finfo(float).eps)) for place in (0, 1)]
    try:
        measure.compare_views(*(measure.look(side) for side in sides))
    except NotEstimable:
        return False
    return True


@dataclass(frozen=True)
class Matrices(View):
    """The trivial view: the matrix itself."""

    rows: NDArray[np.float64]

    @classmethod
    def build(cls, source: Representation) -> Self:
        """Store the matrix unchanged."""
        return cls(source.rows)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
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
        assert isinstance(a, Matrices) and isinstance(b, Matrices)
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
    import_path = place or _import_path(function)
    return PlainMeasure(
        name=called,
        function=function,
        view=Matrices,
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


def _import_path(function: Callable[..., float]) -> str:
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    reachable = getattr(sys.modules.get(module or ""), name, None) is function
    return f"{module}:{name}" if reachable and module != "__main__" else ""


def import_measure(place: str) -> Measure:
    """Return the measure at 'module:name': a marked function, a Measure, or any plain f(X, Y) -> float.

    A plain function is assumed to be asymmetric, with higher values for more similar representations.
    """
    function = import_by_name(place, "measure")
    marked = function if isinstance(function, Measure) else getattr(function, "measure", None)
    if isinstance(marked, Measure):
        return marked
    if not callable(function):
        raise TypeError(
            f"measure must be a function of two matrices, got {place!r}, which is {type(function).__name__}"
        )
    return plain(function, place.partition(":")[2], place)


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
    return list(MEASURES.load())


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
        raise TypeError(f"a measure must be given by name or as a marked function, got {kinds.brief(name)}")
    MEASURES.load()
    base, options = _parse(name)
    measure = MEASURES.find(base)
    if measure is None:
        if base.casefold() in _group_members():
            raise ValueError(f"measure must be a single measure, got {name!r}, which names several")
        raise spelling.unknown(name, "measure", MEASURES.load(), _close(base), "`shesha measures`")
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
        raise TypeError(f"measures must be names or functions, got {kinds.brief(chosen)}")
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
    if isinstance(choice, str) and choice.casefold() in _group_members():
        return _group_members()[choice.casefold()]
    return [as_measure(choice)]


def _group_members() -> dict[str, list[Measure]]:
    """Return the measures in each family and group, by its name."""
    everything = list(MEASURES.load().values())
    members = {
        ALL: everything,
        STANDARD: [measure for measure in everything if measure.cost != "more"],
        _RECOMMENDED: [MEASURES.load()[name] for name in RECOMMENDED],
    }
    for measure in everything:
        for name in {measure.family.casefold(), *(group.casefold() for group in measure.groups)}:
            members.setdefault(name, []).append(measure)
    return members


def _close(base: str) -> list[str]:
    """Return the names of measures that resemble a misspelt name."""
    called = {alias.lower(): m.name for m in MEASURES.load().values() for alias in (m.name, m.function.__name__)}
    return [called[alias] for alias in spelling.close_names(base, called, cutoff=0.5)]


def families() -> list[str]:
    """Return the names of the families."""
    return list(dict.fromkeys(measure.family for measure in MEASURES.load().values()))


def table() -> pd.DataFrame:
    """Return one line per measure with all its declared properties.

    Examples
    --------
    >>> table().loc["CKA", ["family", "closer", "view"]].to_list()
    ['kernels', 'higher', 'Gram']
    """
    import pandas as pd

    return pd.DataFrame([_line(measure) for measure in MEASURES.load().values()]).set_index("name")


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


_COSTS = {
    "n d": "one pass over the features",
    "n d^2": "n d^2: a decomposition of the features",
    "n d^2 + d^3": "n d^2 + d^3: a matrix of features by features",
    "n^2 d": "n^2 d: comparisons of all pairs of rows",
    "more": "more than n^2 d: computed only on request",
}


def card(measure: Measure) -> str:
    """Return the card that describes a measure, as text."""
    kinds.instance(measure, Measure, "measure", "a Measure, as `shesha.measures.get` returns")
    return as_card(f"{measure.name}: {first_sentence(measure)}", facts(measure))


def first_sentence(measure: Measure) -> str:
    """Return the first paragraph of the measure's documentation."""
    return measure.doc.split("\n\n")[0].replace("\n", " ")


def facts(measure: Measure) -> list[tuple[str, str]]:
    """Return the lines of a card: the declared and tested properties of the measure."""
    implied = {more for change in measure.invariant for more in IMPLIED.get(change, ())}
    simple = ("orthogonal", "permutation", "scaling", "translation")
    others = ", ".join(CHANGES[change] for change in simple if change not in measure.invariant)
    entries = [
        ("formula", measure.formula),
        ("range", f"{measure.closer} is closer, {range_in_words(measure.bounds)}"),
        ("f(X, X)", "not a fixed value" if measure.self_value is None else f"{measure.self_value:g}"),
        ("symmetry", "f(X, Y) = f(Y, X)" if measure.symmetric else "f(X, Y) differs from f(Y, X)"),
        ("unchanged by", describe_invariances(measure.invariant - implied)),
        ("changed by", others),
        ("rows", "must correspond" if measure.paired else "need not correspond; their numbers may differ"),
        ("cost", _COSTS[measure.cost]),
        ("large data", "exact in one pass, with shesha.Moments" if takes_moments(measure) else ""),
        ("computed from", f"{measure.view.__name__}: {_first_line(measure.view)}"),
        ("options", options_in_words(measure.parameters)),
        ("family", measure.family),
        ("reference", measure.reference),
        ("function", measure.path("shesha.measures")),
    ]
    if measure.anywhere:
        entries.insert(8, ("arrays", "of any array library; arrays on a GPU stay there"))
    if measure.takes_distances:
        entries.insert(8, ("distances", "accepted instead of features (shesha.Rdm)"))
    return [entry for entry in entries if entry[1]] + [("caveat", caveat) for caveat in measure.caveats]


def overview(of: Iterable[Measure] | None = None) -> str:
    """Return the list of all measures, or of the given ones, by family."""
    measures = list(MEASURES.load().values() if of is None else kinds.several(of, Measure, "of", "measures"))
    side = max((len(measure.name) for measure in measures), default=0)
    lines = []
    for family in dict.fromkeys(measure.family for measure in measures):
        lines.append(family)
        for measure in measures:
            if measure.family == family:
                head = f"  {measure.name:<{side}}  {measure.closer:<6} is closer  "
                first, *rest = wrap(first_sentence(measure), page_width(), " " * len(head), "")
                lines += [head + first.lstrip(), *rest]
    return "\n".join([*lines, "", "shesha measures NAME describes one."])


def page() -> str:
    """Return the cards of all measures as a page of the documentation."""
    parts = [_HEAD]
    measures = MEASURES.load()
    for family in dict.fromkeys(measure.family for measure in measures.values()):
        parts.append(f"## {family.capitalize()}")
        parts += [_section(measure) for measure in measures.values() if measure.family == family]
    return "\n\n".join(parts) + "\n"


_HEAD = """\
# Measures

This page lists every similarity measure with its properties, such as range, invariances, cost and caveats. Use it to
look up a measure; `shesha measures NAME` prints the same card. Tests check each declared property on data.
`python scripts/make_measures_page.py` generates this page from the code."""


def _section(measure: Measure) -> str:
    rows = markdown_table(["", ""], [[title, _escape(text)] for title, text in facts(measure)])
    return f"### {measure.name}\n\n{first_sentence(measure)}\n\n{rows}"


def _escape(text: str) -> str:
    return text.replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;")


def _first_line(view: type) -> str:
    return (inspect.getdoc(view) or "").split("\n\n")[0].replace("\n", " ")
