"""The base class of results: how they print, convert, compare, plot and save themselves."""

from __future__ import annotations

import base64
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import singledispatch, wraps
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

import numpy as np

from shesha._version import DISTRIBUTION, __version__
from shesha.report import (
    MORE,
    Metric,
    Page,
    Part,
    Section,
    Text,
    as_card,
    as_full_text,
    as_html,
    as_notebook,
    as_screen,
    as_text,
    colour_report,
    page_width,
    use_colour,
    wrap,
)
from shesha.results.generic_page import every_number, generic_page, limit_rows
from shesha.support import types as argument_types
from shesha.support.files import write_text
from shesha.support.provenance import distinct_warnings, is_warning, questions_input, restricts_rows
from shesha.support.wording import join_items, visible, visible_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def replace_non_json(value: Any) -> Any:
    """Replace values that JSON does not allow: missing and infinite numbers become null."""
    if isinstance(value, dict):
        return {str(key): replace_non_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replace_non_json(item) for item in value]
    if hasattr(value, "tolist"):
        # NumPy arrays and scalars.
        return replace_non_json(value.tolist())
    if isinstance(value, float):
        return value if value - value == 0 else None
    return value


def as_cell(value: Any) -> Any:
    """Return a value for a table cell; several values are joined into one text."""
    return "; ".join(map(str, value)) if isinstance(value, tuple) else value


def as_plain_data(value: Any) -> Any:
    """Convert results and their contents to plain values that share no data with the results."""
    if is_dataclass(value) and not isinstance(value, type):
        if hasattr(value, "to_dict"):
            return value.to_dict()
        return {field.name: as_plain_data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: as_plain_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(as_plain_data, value))
    return deepcopy(value)


FORMAT = 1
"""Format number in files; files with another number are rejected."""
PACKAGES = ("shesha", "shesha_studies")
"""Packages whose results can be saved and loaded."""
ARRAYS = "biufU"
"""Kinds of array dtypes that a file may contain."""


@singledispatch
def encode(value: Any, where: str) -> Any:
    """Convert a value to JSON; tuples become lists, because results contain hardly any lists otherwise."""
    if isinstance(value, np.ndarray):
        return {"$array": _array(value, where)}
    if isinstance(value, np.generic):
        return encode(value.item(), where)
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(float(value))}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return [encode(item, where) for item in value]
    if isinstance(value, list):
        return {"$list": [encode(item, where) for item in value]}
    if isinstance(value, dict):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {str(key): encode(item, where) for key, item in value.items()}
        return {"$dict": [[encode(key, where), encode(item, where)] for key, item in value.items()]}
    raise TypeError(f"{where} must be numbers, texts, arrays or results to be saved, got {type(value).__name__}")


def _array(value: np.ndarray[Any, Any], where: str) -> list[Any]:
    if value.dtype.kind not in ARRAYS:
        raise TypeError(f"{where} must be an array of numbers or texts to be saved, got dtype {value.dtype}")
    content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode("ascii")
    return [value.dtype.str, list(value.shape), content]


def encode_fields(result: Any, where: str) -> dict[str, Any]:
    """Return the fields of a result together with the name of its class."""
    names = [field.name for field in fields(result) if field.name != "inputs" or result.inputs]
    values = {name: encode(getattr(result, name), f"{where}.{name}") for name in names}
    return {"$result": kind_name(type(result)), "fields": values}


def kind_name(result: type) -> str:
    """Return the name of a class in files, with its package unless that is `shesha.results`.

    Raises
    ------
    TypeError
        If the class does not belong to this library.
    """
    package, room, *_ = [*result.__module__.split("."), ""]
    if package not in PACKAGES:
        raise TypeError(f"result must be of a class of this library, got {result.__module__}.{result.__name__}")
    return ".".join([*(part for part in (package, room) if part not in ("shesha", "results")), result.__name__])


def values_equal(first: Any, second: Any) -> bool:
    """Return whether two field values are equal, where NaN equals NaN, unlike in `==` on tuples."""
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second, equal_nan=first.dtype.kind in "fc")
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return False
    if isinstance(first, tuple | list) and isinstance(second, tuple | list):
        return type(first) is type(second) and len(first) == len(second) and all(map(values_equal, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(values_equal(value, second[key]) for key, value in first.items())
    return bool(first == second or (first != first and second != second))


def list_compared_fields(result: Any) -> Iterator[str]:
    """Yield the names of the fields that are compared."""
    return (field.name for field in fields(result) if field.compare)


def hash_key(value: Any) -> Any:
    """Return a hashable value, equal for equal values, so that results can be dictionary keys."""
    if isinstance(value, np.ndarray):
        return value.shape
    if isinstance(value, tuple | list):
        return tuple(map(hash_key, value))
    if isinstance(value, dict):
        return frozenset((key, hash_key(item)) for key, item in value.items())
    return "nan" if value != value else value


_SHARED = """

Parameters
----------
ax : matplotlib Axes, optional
    Where to draw; default: a new figure.
title : str, optional
    Title of the picture. Default: as the picture has it; "" removes it.

Returns
-------
matplotlib Axes
"""
Method = TypeVar("Method", bound=Callable[..., object])


def draws_axes(method: Method) -> Method:
    """Decorate a method that draws on given or new axes: set the title, and describe both options in its docstring."""

    @wraps(method)
    def plot(*args: Any, title: str | None = None, **options: Any) -> Any:
        from shesha.charts import set_title

        ax = method(*args, **options)
        if title is not None:
            set_title(cast("Axes", ax), title)
        return ax

    if "Parameters\n" not in (plot.__doc__ or ""):
        plot.__doc__ = f"{(plot.__doc__ or '').rstrip()}{_SHARED}"
    return cast(Method, plot)


Item = TypeVar("Item")


class Listed(Generic[Item]):
    """Named items of a result: iterate over them, or select one by its name."""

    ITEMS: ClassVar[str] = "numbers"
    """Name of the field with the items: a tuple, or a dictionary by name."""
    KEY: ClassVar[str] = "name"
    """What the name of an item is called in messages."""

    def _items_by_name(self) -> dict[str, Item]:
        items = getattr(self, self.ITEMS)
        if isinstance(items, dict):
            return items
        known: dict[str, Item] = {}
        for item in items:
            known.setdefault(item.name, item)
        return known

    def __iter__(self) -> Iterator[Item]:
        """Iterate over the items."""
        items = getattr(self, self.ITEMS)
        return iter(items.values() if isinstance(items, dict) else items)

    def __getitem__(self, name: str) -> Item:
        """Return the item with this name."""
        known = self._items_by_name()
        if str(name) not in known:
            raise KeyError(f"{self.KEY} must be one of {', '.join(known) or 'none'}, got {name!r}")
        return known[str(name)]


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """A result that can be printed, compared, saved, and converted to plain values, tables and JSON."""

    inputs: tuple[str, ...] = field(default=(), kw_only=True, compare=False, repr=False)
    """What was read: matrices, identity and order of rows, matching of layers, what was left out, and warnings that
    numbers may mislead."""

    ALIGNED: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Groups of fields whose lengths must be equal in a saved file."""

    COLUMNS: ClassVar[dict[str, str]] = {}
    """Columns of the table of a result whose fields are columns, and the names of these fields."""

    aliases: ClassVar[tuple[str, ...]] = ()
    """Names of properties that `to_dict` returns in addition to the fields."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Prevent the dataclass decorator from defining an equality in which NaN differs from NaN."""
        super().__init_subclass__(**options)
        owner = next(base for base in cls.__mro__ if "__eq__" in base.__dict__)
        # A class that defines `==` itself, for example element-wise, keeps its definition.
        if owner is not cls and issubclass(owner, Result):
            cls.__eq__ = Result.__eq__  # type: ignore[method-assign]
            cls.__hash__ = Result.__hash__  # type: ignore[method-assign]

    def __eq__(self, other: object) -> bool:
        """Return whether both results have the same class and equal fields, where NaN equals NaN."""
        if type(self) is not type(other):
            return NotImplemented
        return all(values_equal(getattr(self, name), getattr(other, name)) for name in list_compared_fields(self))

    def __hash__(self) -> int:
        """Return a hash, which is the same for equal results."""
        return hash((type(self), *(hash_key(getattr(self, name)) for name in list_compared_fields(self))))

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the values of the table, with their intervals and chance levels."""
        from shesha.results.generic_page import draw_table

        return draw_table(self.to_frame(full=True), type(self).__name__, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values that can be written as JSON."""
        # The fields that all results share are keyword-only; they come last in the output.
        order = sorted(fields(self), key=lambda field: bool(field.kw_only))
        names = (field.name for field in order if field.name != "inputs")
        values = {name: as_plain_data(getattr(self, name)) for name in (*names, *self.aliases)}
        # Parts of a result and results of plain arrays have no statements on their inputs.
        return values | ({"inputs": self.inputs} if self.inputs else {})

    def to_frame(self, *, full: bool = False) -> pd.DataFrame:
        """Return the result as a table.

        Parameters
        ----------
        full : bool
            Whether to return every field. Default: names, values, intervals, chance levels, p-values and verdicts.
        """
        return self._frame(full=full)

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return a table with one row, or with the columns that the class names; tables of results override this."""
        import pandas as pd

        if self.COLUMNS:
            return pd.DataFrame({name: getattr(self, field) for name, field in self.COLUMNS.items()})
        return pd.DataFrame([{name: as_cell(value) for name, value in self.to_dict().items() if name != "inputs"}])

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the plain values as standard JSON for other programs, with null for missing numbers.

        To write a file that `shesha.load` reads back exactly, use `save`.

        Parameters
        ----------
        indent : int, optional
            Number of spaces per level. Default: everything on one line.
        """
        return json.dumps(replace_non_json({"shesha": __version__, **self.to_dict()}), indent=indent, allow_nan=False)

    def to_uns(self) -> dict[str, Any]:
        """Return the result as AnnData stores it: ``adata.uns["audit"] = audit.to_uns()`` can be written to h5ad.

        The keys are `text`, `sentence`, `table` (of `to_frame(full=True)`) and `json` (of `to_json`). AnnData cannot
        write what `to_dict` returns, because it has no lists of dictionaries.
        """
        table = self.to_frame(full=True).reset_index(drop=False)
        for name in table.columns[[not isinstance(kind, np.dtype) or kind.kind == "O" for kind in table.dtypes]]:
            table[name] = ["" if cell is None or cell != cell else str(cell) for cell in table[name]]
        table.attrs, table.index = {}, table.index.astype(str)
        words = {"text": str(self), "sentence": self.sentence() if self._claim() else ""}
        return {**words, "table": table, "json": self.to_json()}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the result to a JSON file that `shesha.load` reads back exactly.

        Parameters
        ----------
        path : path
            The file to write; an existing file is replaced.

        Returns
        -------
        Path
        """
        place = argument_types.path(path, "path")
        content = {"shesha": __version__, "format": FORMAT, "result": encode(self, "result")}
        write_text(place, json.dumps(content, allow_nan=False, ensure_ascii=False) + "\n")
        return place

    def sentence(self) -> str:
        """Return a sentence for a paper: value, interval, chance, p, null, rows, source and version.

        Raises
        ------
        ValueError
            If this is a part of another result; the sentence then belongs to that result.
        """
        claim = self._claim()
        if not claim:
            raise ValueError(
                f"result must be a whole result to have a sentence, got {type(self).__name__}, a part of one"
            )
        doubts = "".join(f"; warning: {text}" for text in distinct_warnings(self.inputs))
        return visible_name(f"{claim}{doubts} ({DISTRIBUTION} {__version__}).")

    def _claim(self) -> str:
        """Return the sentence for a paper without the version and the full stop; empty for parts of results."""
        return ""

    def sentence_sections(self) -> tuple[Section, ...]:
        """Return a section of a report with the sentence for a paper; nothing for parts of results."""
        if not self._claim():
            return ()
        return (Section("Sentence for a paper", (Text(self.sentence(), hanging=""),)),)

    def _text(self) -> str:
        """Return the text of a result that is a sentence; results with tables override `_numbers` or `_page`."""
        return repr(self)

    def _numbers(self) -> tuple[Part, ...]:
        """Return the main numbers, as parts of the report; tables of results override this."""
        return ()

    def __str__(self) -> str:
        """Return how many rows the answer is about if some were left out, the answer, what was read, the numbers."""
        return self.first_screen()

    def first_screen(self, more: str = MORE) -> str:
        """Return what `print` shows: the answer, the main numbers, possible problems, and as much else as fits.

        Parameters
        ----------
        more : str
            The last line if something was left out: how to see it.
        """
        if _is_sentence(type(self)):
            return self._sentence_text()
        return visible(as_screen(self.add_statements(self._page()), more=more))

    def full_text(self) -> str:
        """Return everything on the page that text can show, and the sentence for a paper if there is one."""
        is_sentence = _is_sentence(type(self))
        text = self._sentence_text() if is_sentence else as_full_text(self.add_statements(self._page()))
        return visible("\n\n".join(filter(None, [text, as_text(self.sentence_sections())])))

    def add_statements(self, page: Page) -> Page:
        """Return a page with the statements on the inputs in its answer.

        Parameters
        ----------
        page : Page
            A page about this result.
        """
        restrictions, sentence = texts_of_statements(self.inputs)
        return replace(page, answer=(*restrictions, *page.answer, *filter(None, [sentence])))

    def _sentence_text(self) -> str:
        """Return the text of a result that is a sentence, with the statements on the inputs after its first line."""
        restrictions, sentence = texts_of_statements(self.inputs)
        lines = visible(self._text()).split("\n")
        n_answer = 1
        while n_answer < len(lines) and _is_continued(lines[n_answer - 1], lines[n_answer]):
            n_answer += 1
        first = [line for text in restrictions for line in wrap(text, page_width())]
        return "\n".join([*first, *lines[:n_answer], *wrap(sentence, page_width()), *lines[n_answer:]])

    def save_html(self, path: str | os.PathLike[str], *, about: Mapping[str, str] | None = None) -> Path:
        """Write the result as a single-file page: the answer first, then every number.

        Parameters
        ----------
        path : path
            The file to write; an existing file is replaced.
        about : mapping of str to str, optional
            Further information about the run, such as the data or the revision of a model.

        Returns
        -------
        Path

        Raises
        ------
        ImportError
            If Jinja2 or matplotlib is not installed.
        """
        place = Path(path)
        write_text(place, as_html(self.page(about)))
        return place

    def page(self, about: Mapping[str, str] | None = None) -> Page:
        """Return the contents of the page that `save_html` writes, for use in your own pages.

        Parameters
        ----------
        about : mapping of str to str, optional
            Further information about the run.
        """
        page, facts = self._html_page(), about or {}
        ran = (*facts.items(), *_unknown_data(facts), *page.ran)
        sections = (*page.sections, *self._every_number(), *self.sentence_sections())
        return replace(self.add_statements(page), sections=sections, ran=ran)

    def save_card(
        self, path: str | os.PathLike[str], *, data: str, model: str = "", about: Mapping[str, str] | None = None
    ) -> Path:
        """Write the result as Markdown for a model hub, with its numbers in a machine-readable header.

        Parameters
        ----------
        path : path
            The file to write; an existing file is replaced.
        data : str
            Name of the data set.
        model : str
            Name of the model, for results that do not contain it: the first model of a grid of layers, or the model
            that a monitor watches. Default: 'model'.
        about : mapping of str to str, optional
            Further information about the run.

        Returns
        -------
        Path

        Raises
        ------
        ValueError
            If the result does not describe a model, or has no number with a chance level.
        """
        place = Path(path)
        write_text(place, self.card(data=data, model=model, about=about))
        return place

    def card(self, *, data: str, model: str = "", about: Mapping[str, str] | None = None) -> str:
        """Return the text of the card that `save_card` writes.

        Parameters
        ----------
        data, model, about
            As in `save_card`.
        """
        return as_card(self.page(about), require_card_metrics(self._metrics(model or "model")), data)

    def _metrics(self, model: str) -> Sequence[Metric]:
        """Return the numbers about a model for a hub; results that have such numbers override this."""
        kinds = "an audit, a comparison, a grid of calibrated layers or a check of a monitor"
        raise ValueError(f"a card must be of {kinds}, got {type(self).__name__}")

    def _page(self) -> Page:
        """Return the report: answer, numbers, possible problems and sections; results that need more override this."""
        return generic_page(self, self._numbers(), self._text() if _is_sentence(type(self)) else "")

    def _html_page(self) -> Page:
        """Return the report for HTML; unless it is special, long tables are limited to the rows that a page shows."""
        page = self._page()
        return replace(page, numbers=tuple(limit_rows(page.numbers))) if type(self)._page is Result._page else page

    def _every_number(self) -> tuple[Section, ...]:
        """Return the section with every number, which special pages do not need."""
        return every_number(self) if type(self)._page is Result._page else ()

    def show(self) -> None:
        """Print the result, in colour on a terminal (NO_COLOR and FORCE_COLOR are respected)."""
        print(colour_report(str(self)) if use_colour() else str(self))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the printed text in IPython, because the fields of a large result would fill the screen."""
        text = str(self)
        printer.text(colour_report(text) if use_colour() else text)

    def _repr_html_(self) -> str:
        """Show the answer, numbers and doubts in a notebook; without Jinja2, show the printed text."""
        try:
            page = self._html_page()
            parts = (part for section in (*page.sections, *self._every_number()) for part in section.parts)
            if not any(part.kind in ("table", "heat") for part in page.numbers):
                tables = [part for part in parts if part.kind == "table"]
                page = replace(page, numbers=(*page.numbers, *tables[:1]))
            return as_notebook(page)
        except ImportError:
            return f"<pre>{escape(str(self))}</pre>"


encode.register(Result, encode_fields)

_MOST_STATEMENTS = 8
"""Largest number of statements on the inputs that the text and the page show."""
_NO_FINGERPRINT = "unknown: `about={'X': shesha.report.fingerprint(X)}` adds size, type and SHA-256 of the data"


def texts_of_statements(statements: Sequence[str]) -> tuple[list[str], str]:
    """Return the sentences that come before the answer, and the other warnings and statements, of limited length.

    Sentences before the answer say which rows were left out, and why the input may be another than was meant.

    Examples
    --------
    >>> texts_of_statements(["check first: row offset: rows fit those 1 later. Check it", "rows paired by position"])
    (['Check first: row offset: rows fit those 1 later.'], 'Read: rows paired by position.')
    >>> texts_of_statements(["a.npz: left out label", "rows paired by position", "b.npz: left out label"])[1]
    'Read: a.npz, b.npz: left out label; rows paired by position.'
    """
    sources: dict[str, list[str]] = {}
    questions, doubts = (
        distinct_warnings(statement for statement in statements if questions_input(statement) is is_question)
        for is_question in (True, False)
    )
    for statement in statements:
        if not restricts_rows(statement) and not is_warning(statement):
            source, colon, clause = statement.partition(": ")
            sources.setdefault(clause if colon else statement, []).extend([source] if colon else [])
    others = [f"{join_items(names)}: {clause}" if names else clause for clause, names in sources.items()]
    left_out = len(others) - _MOST_STATEMENTS
    more = [f"{left_out} more statements in `inputs`"] if left_out > 0 else []
    read = [f"Read: {'; '.join([*others[:_MOST_STATEMENTS], *more])}."] if others else []
    said = " ".join([*(f"Warning: {text}." for text in doubts), *read])
    first = [f"Only {statement}." for statement in statements if restricts_rows(statement)]
    return [*first, *(f"Check first: {text}." for text in questions)], said


def _unknown_data(data: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return advice on fingerprints if the information about the run contains none."""
    return () if any("SHA-256" in text for text in data.values()) else (("fingerprint", _NO_FINGERPRINT),)


def require_card_metrics(metrics: Sequence[Metric]) -> Sequence[Metric]:
    """Raise an error if no number is calibrated, because a raw value without its chance level misleads."""
    if not any(metric.value == metric.value and metric.p_value == metric.p_value for metric in metrics):
        raise ValueError(
            "a card must have a number with its chance level, got none: calibrate the comparison, or audit with "
            "permutations"
        )
    return metrics


def _is_sentence(kind: type[Result]) -> bool:
    """Return whether results of a class are a sentence, without tables, so that their report is made from it."""
    return kind._text is not Result._text and kind._numbers is Result._numbers and kind._page is Result._page


def reaches_level(p_value: float, alpha: float) -> bool:
    """Return whether a p-value reaches the level, with a small tolerance for rounding."""
    return bool(p_value <= alpha * (1 + 1e-9))


def _is_continued(line: str, following: str) -> bool:
    """Return whether a line was broken because the first word of the following line did not fit."""
    words = following.split(maxsplit=1)
    return bool(words) and len(line) + 1 + len(words[0]) > page_width()
