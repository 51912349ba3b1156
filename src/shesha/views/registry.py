"""Functions of views with declared properties: their registries, their functions of data, and their cards."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, Generic, TypeVar

import numpy as np

from shesha.inputs import validation as check
from shesha.report import card, describe_invariances, range_in_words
from shesha.results.sentence_parts import remember_source
from shesha.support import wording
from shesha.support.optional import import_entry_points, load_marks
from shesha.support.warnings import NotEstimable
from shesha.views.representation import View


@dataclass(frozen=True, kw_only=True)
class Declared:
    """A number computed from views of representations, with declared properties, which tests verify."""

    name: str
    function: Callable[..., float] = field(repr=False)
    """Function that computes the number from one view or two and, if needed, from class labels."""
    view: type[View]
    bounds: tuple[float, float]
    reference: str = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, starting with the main name."""
        return self.name, self.function.__name__

    @property
    def data(self) -> Mapping[str, str]:
        """The data of the public function: names of arguments and their types."""
        return {"X": "ArrayLike"}

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The options of the function and their defaults."""
        return {parameter.name: parameter.default for parameter in self._option_parameters}

    @property
    def _option_parameters(self) -> list[inspect.Parameter]:
        return list(inspect.signature(self.function).parameters.values())[len(self.data) :]

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature of the public function, which takes data instead of views."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        data = [inspect.Parameter(name, kind, annotation=type_) for name, type_ in self.data.items()]
        return inspect.Signature([*data, *self._option_parameters], return_annotation="float")

    def path(self, room: str) -> str:
        """Return the path of the public function with the names of its data; `room` re-exports what is in it."""
        module = self.function.__module__
        public = room if module.startswith(f"{room}.") else module
        return f"{public}.{self.function.__name__}({', '.join(self.data)})"


D = TypeVar("D", bound=Declared)


class Registry(Generic[D]):
    """What was declared of one kind, by name, in order of declaration.

    Parameters
    ----------
    kind : type of Declared
        Type of the declarations.
    word : str
        What one of them is called. It is also the attribute of a public function with its declaration.
    group : str
        Entry points of other packages that declare more. Modules in the group of all marks are imported as well.
    """

    def __init__(self, kind: type[D], word: str, group: str = "") -> None:
        self.kind, self.word, self.group = kind, word, group
        self.known: dict[str, D] = {}
        self.aliases: dict[str, str] = {}
        self.loaded = False
        """Whether the entry points of the group were imported."""

    def mark(self, call: Callable[..., float], **fields: Any) -> Callable[[Callable[..., float]], Any]:
        """Return a decorator that registers a function of views and returns the public function of data.

        Parameters
        ----------
        call : callable
            Function of the declaration, the data and the options. If it raises `NotEstimable`, the value of the public
            function is NaN, with a warning.
        **fields
            Fields of the declaration. The default of `name` is the name of the function.
        """

        def decorate(function: Callable[..., float]) -> Any:
            declared = self.kind(**{"name": function.__name__, "function": function, **fields})
            self.add(declared)

            @wraps(function)
            def of_data(*args: Any, **options: Any) -> float:
                try:
                    return call(declared, *args, **options)
                except NotEstimable as reason:
                    return check.not_estimable(str(reason))

            of_data.__signature__ = declared.signature  # type: ignore[attr-defined]
            setattr(of_data, self.word, declared)
            # `inspect` would follow `__wrapped__` and show the parameters of the function of views.
            del of_data.__wrapped__
            return of_data

        return decorate

    def add(self, declared: D) -> None:
        """Add a declaration; each name can be used only once, except when its module is imported again."""
        for name in declared.names:
            taken = self.find(name)
            if taken is not None and taken.function.__module__ != declared.function.__module__:
                raise ValueError(
                    f"name must differ from those of other {self.word}s, got {name!r}, which {taken.name} has"
                )
        self.aliases.update({_plain(name): declared.name for name in declared.names})
        self.known[declared.name] = declared
        remember_source(declared.name, declared.reference)

    def find(self, text: str) -> D | None:
        """Return what has a name, ignoring case and punctuation; None if nothing has it."""
        return self.known.get(self.aliases.get(_plain(text), ""))

    def load(self) -> dict[str, D]:
        """Return all by name, including those of other packages, which are imported once."""
        load_marks()
        if self.group and not self.loaded:
            self.loaded = True
            for _ in import_entry_points(self.group, self.word):
                pass
        return dict(self.known)

    def get(self, chosen: Any, name: str) -> D:
        """Return a declaration, that of a public function, or one by name; `name` is what errors call the argument."""
        marked = getattr(chosen, self.word, chosen)
        if isinstance(marked, self.kind):
            return marked
        return wording.find_by_name(marked, self.load().values(), name, "`shesha scores`")


def _plain(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


@dataclass(frozen=True, kw_only=True)
class ViewScore(Declared):
    """A number that describes one representation."""

    title: str
    means: str = field(repr=False)
    """What the score means, in one sentence."""
    means_not: str = field(repr=False)
    """What the score does not mean."""
    invariant: frozenset[str] = frozenset()
    """Transformations under which the value with default options does not change: 'scaling', 'translation',
    'orthogonal'."""
    audited: bool = False
    """Whether the score is part of every audit."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the score, starting with the main name."""
        return self.name, self.title

    @property
    def options(self) -> dict[str, Any]:
        """The options of the function and their defaults."""
        return self.defaults

    def number(self, *data: Any, **options: Any) -> float:
        """Call the function; raise NotEstimable if it returns NaN."""
        value = check.real_number(self.function(*data, **options), f"the value of {self.name}")
        if np.isnan(value):
            raise NotEstimable(f"{self.name} did not return a number")
        return value

    def card(self, room: str, texts: Mapping[str, str]) -> str:
        """Return the text card, with additional or replaced entries by title."""
        entries = {
            "caveat": self.means_not,
            "range": range_in_words(self.bounds),
            "unchanged by": describe_invariances(self.invariant),
            "needs": "rows",
            "distances": "",
            "options": "",
            "estimate": "",
            "chance": "",
            "audit": "included in every audit" if self.audited else "",
            "also called": "",
            "reference": self.reference,
            "function": self.path(room),
        }
        return card(f"{self.name}: {self.title}. {self.means}", {**entries, **texts}.items())
