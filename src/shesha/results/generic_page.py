"""The default page and figure of a result: its sentence, its table, and what was run."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from importlib.metadata import version
from itertools import pairwise
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha._version import DISTRIBUTION, __version__
from shesha.charts import class_values
from shesha.report import Column, Drawing, Explained, Item, Lines, Page, Part, Section, Table
from shesha.support.seeds import ALPHA
from shesha.support.types import Array
from shesha.support.wording import agree, count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_DECIMALS = 4
_NOT_LISTED = ("null", "options", "doubts", "cosines")
"""Fields that are too large for the page; `to_dict` returns them."""
_MOST = 200
"""Largest number of table rows on a page; `to_frame` returns all rows."""


def generic_page(result: Any, numbers: tuple[Part, ...] = (), text: str = "") -> Page:
    """Return the report of a result that has no special one: its headline, main numbers, notes, and the run.

    Parameters
    ----------
    result : Result
    numbers : tuple of Part
        The main numbers.
    text : str
        Text of a result that is a single sentence. Default: the answer is the headline.
    """
    answer, *more = text.split("\n")
    return Page(
        title=_split_class_name(type(result).__name__),
        question=(type(result).__doc__ or "").split("\n")[0].strip(),
        answer=(_answer(result, answer),),
        numbers=numbers,
        doubts=() if text else tuple(map(Item, getattr(result, "notes", ()))),
        sections=(Section("In full", (Lines((answer, *more)),)),) if more else (),
        ran=run_details(result),
    )


def limit_rows(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield the parts of a page; a long table keeps its first rows, and a sentence counts the others."""
    for part in parts:
        n_left = len(part.names) - _MOST if isinstance(part, Table) else 0
        if not isinstance(part, Table) or n_left <= 0:
            yield part
            continue
        groups = (tuple(_first_cells(column) for column in group) for group in part.groups)
        yield replace(part, names=part.names[:_MOST], groups=tuple(groups), important=())
        yield _rows_left(n_left)


def _first_cells(column: Column) -> Column:
    return replace(column, cells=column.cells[:_MOST], strips=column.strips[:_MOST])


def _rows_left(n: int) -> Item:
    return Item(f"{count(n, 'more row')} {agree(n, 'is', 'are')} in `to_frame()`")


def every_number(result: Any) -> tuple[Section, ...]:
    """Return the figure of a result, and its whole table with the meaning of the columns; neither is printed."""
    frame = result.to_frame()
    parts: list[Part] = [as_table(frame.head(_MOST), "All numbers") if len(frame) != 1 else _as_list(frame)]
    n_left = len(frame) - _MOST
    if n_left > 0:
        parts.append(_rows_left(n_left))
    parts += (part for part in field_explanations(type(result)) if part.name in frame)
    return (*_figure(result, frame), Section("Every number", tuple(parts), printed=False))


def _figure(result: Any, frame: pd.DataFrame) -> tuple[Section, ...]:
    """Return the figure of a result that shows more than its table, described as by its method."""
    from shesha.results.base import Result

    is_undrawn = len(frame) < 2 and not getattr(result, "null", True)
    if type(result).plot is Result.plot or is_undrawn or ("value" in frame and not frame["value"].notna().any()):
        return ()
    shows = type(result).plot.__doc__.split("\n")[0].removeprefix("Draw ")
    return (Section("Figure", (Drawing(f"{shows[:1].upper()}{shows[1:]}", result.plot),), printed=False),)


def _answer(result: Any, first_line: str) -> str:
    """Return the result's headline, its sentence for a paper, or else its first line."""
    if headline := getattr(result, "headline", ""):
        return str(headline)
    claim = result._claim()
    return f"{claim}." if claim else first_line or repr(result)


def _as_list(frame: pd.DataFrame) -> Table:
    """Return a one-row table as a list of its values, without draws and options."""
    values = {str(name): _cell(frame[name].iloc[0]) for name in frame.columns if name not in _NOT_LISTED}
    known = {name.replace("_", " "): text for name, text in values.items() if text}
    return Table(tuple(known), ((Column("value", tuple(known.values()), "<"),),), "All numbers", "name")


def _split_class_name(name: str) -> str:
    """Split a class name into words: 'DriftPath' becomes 'Drift path'."""
    parted = "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()
    return parted[:1].upper() + parted[1:]


def field_explanations(kind: type[Any]) -> tuple[Explained, ...]:
    """Return the meaning of each field that its class documents."""
    meanings = {name: text for base in reversed(kind.__mro__) for name, text in _field_docstrings(base).items()}
    return tuple(Explained(field.name, meanings[field.name]) for field in fields(kind) if field.name in meanings)


def _field_docstrings(kind: type[Any]) -> Mapping[str, str]:
    """Return the notes under the fields of a class; empty if its source code is unavailable."""
    import ast
    import inspect
    import textwrap

    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError):
        return {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    docstrings = {}
    for field, text in pairwise(body):
        named = isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        doc = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
        if named and doc:
            docstrings[field.target.id] = " ".join(text.value.value.split())  # type: ignore[attr-defined]
    return docstrings


def as_table(frame: pd.DataFrame, title: str) -> Table:
    """Convert a pandas table to a part of a page; the first column names the rows, empty ones are dropped."""
    shown = frame.reset_index() if frame.index.name else frame
    head, *names = map(str, shown.columns)
    columns = []
    for place, name in enumerate(names, 1):
        column = shown.iloc[:, place]
        numbers = bool(column.map(lambda value: isinstance(value, float | int)).all())
        columns.append(Column(name.replace("_", " "), _cells(column, numbers=numbers), ">" if numbers else "<"))
    # All columns form one group, which is never split, because several leading columns may together name a row.
    return Table(tuple(map(_cell, shown.iloc[:, 0])), (tuple(columns),), title, head.replace("_", " "))


def _cells(column: pd.Series[Any], *, numbers: bool) -> tuple[str, ...]:
    """Format the numbers in a column with equal decimals, if this loses no digits and adds only a few."""
    cells = tuple(map(_cell, column))
    decimals = max((len(cell.partition(".")[2]) for cell in cells), default=0)
    if not numbers or not 0 < decimals <= _DECIMALS or any("e" in cell for cell in cells):
        return cells
    return tuple(f"{value:.{decimals}f}" if cell else "" for cell, value in zip(cells, column, strict=True))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.4g}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    text = "" if value is None else str(value)
    return text if len(text) <= 400 else f"{text[:400]}..."


def run_details(result: Any, more: Mapping[str, Any] | None = None) -> tuple[tuple[str, str], ...]:
    """Return the facts that are needed to repeat the run: parameters, seed and versions."""
    options = {**getattr(result, "options", {}), **(more or {})}
    for name in ("seed", "n_draws", "alpha", "confidence", "exchanged"):
        if (value := getattr(result, name, None)) is not None:
            options.setdefault(name, value)
    options = {name: value for name, value in options.items() if not (isinstance(value, float) and isnan(value))}
    seed = options.pop("seed", None)
    facts = [("seed", "none: every run draws different random numbers" if seed is None else str(seed))]
    facts += [("parameters", ", ".join(f"{name}={value!r}" for name, value in options.items()))] if options else []
    python = ".".join(map(str, sys.version_info[:3]))
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    return (
        *facts,
        ("versions", f"{DISTRIBUTION} {__version__}, Python {python}, {libraries}; {platform.system()}"),
        ("made", time.strftime("%Y-%m-%d %H:%M")),
    )


_MOST_LINES = 40
_NOT_NAMES = {"closer", "verdict", "reason", "null", "exchanged", "family", "notes", "options"}


def draw_table(frame: pd.DataFrame, what: str, ax: Axes | None = None) -> Axes:
    """Draw the column `value` with its intervals and chance levels; raise ValueError if the table has none.

    Values on a scale that does not end at 1, such as distances, are left out if others do, and named below the axis.
    """
    known = frame[np.isfinite(frame["value"].astype(float))] if "value" in frame else frame.iloc[:0]
    if not len(known):
        raise ValueError(f"result must have values to be drawn, got {what}")
    notes = []
    if {"possible_low", "possible_high"} <= set(known):
        is_share = (known["possible_low"] >= -1) & (known["possible_high"] <= 1)
        if is_share.any() and not is_share.all():
            notes.append(f"not drawn, other scales: {', '.join(map(str, known['name'][~is_share][:6]))}")
            known = known[is_share]
    if len(known) > _MOST_LINES:
        notes.append(f"{len(known) - _MOST_LINES} more lines are in to_frame()")
        known = known.iloc[:_MOST_LINES]
    value, low, high, chance, p_value, corrected, alpha = (
        _numbers(known, name) for name in ("value", "low", "high", "chance", "p_value", "corrected_p_value", "alpha")
    )
    p_value = np.where(np.isfinite(corrected), corrected, p_value)
    return class_values(
        _names(known),
        value,
        chance,
        p_value <= np.where(np.isfinite(alpha), alpha, ALPHA),
        ends=(low, high),
        label="\n".join(["value", *notes]),
        tested=bool(np.isfinite(p_value).any()),
        ax=ax,
    )


def _numbers(frame: pd.DataFrame, name: str) -> Array:
    return frame[name].to_numpy(dtype=float) if name in frame else np.full(len(frame), np.nan)


def _names(frame: pd.DataFrame) -> list[str]:
    """Return a name per line: the columns of text that differ between lines, or the first of them."""
    texts = [
        name
        for name in frame
        if name not in _NOT_NAMES and all(isinstance(entry, str) and entry for entry in frame[name])
    ]
    different = [name for name in texts if frame[name].nunique() > 1][:2] or texts[:1]
    lines = zip(*(frame[name] for name in different), strict=True) if different else ((str(i),) for i in frame.index)
    return [" - ".join(line) for line in lines]
