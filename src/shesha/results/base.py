"""The base class of results."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from shesha._version import __version__
from shesha.report import (
    Metric,
    Page,
    as_card,
    as_html,
    as_notebook,
    as_text,
    colour_report,
    page_width,
    use_colour,
    wrap,
)
from shesha.results.equality import fields_equal, hash_key, list_compared_fields
from shesha.results.generic_page import generic_page
from shesha.results.json_encoding import FORMAT, encode, encode_fields
from shesha.results.paper_sentences import paper_sentence, sentence_sections
from shesha.results.plain_values import as_cell, as_plain_data, replace_non_json, restore
from shesha.support import argument_types
from shesha.support.atomic_files import write_text
from shesha.support.provenance import restricts_rows
from shesha.support.visible_text import visible

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """A result that can be printed, compared, saved, and converted to plain values, tables and JSON."""

    inputs: tuple[str, ...] = field(default=(), kw_only=True, compare=False, repr=False)
    """What was read: matrices, identity and order of rows, matching of layers, and what was left out."""

    ALIGNED: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Groups of fields whose lengths must be equal in a saved file."""

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
        return fields_equal(self, other) if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        """Return a hash, which is the same for equal results."""
        return hash((type(self), *(hash_key(getattr(self, name)) for name in list_compared_fields(self))))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values that can be written as JSON."""
        # The fields that all results share are keyword-only; they come last in the output.
        order = sorted(fields(self), key=lambda field: bool(field.kw_only))
        names = (field.name for field in order if field.name != "inputs")
        values = {name: as_plain_data(getattr(self, name)) for name in (*names, *self.aliases)}
        # Parts of a result and results of plain arrays have no statements on their inputs.
        return values | ({"inputs": self.inputs} if self.inputs else {})

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Build the result from the plain values of `to_dict`, even after a round trip through JSON.

        Parameters
        ----------
        plain : mapping of str to any
            Values by field name. Other names, including aliases, are ignored. A null in place of a number becomes NaN.
        """
        return cast(Self, restore(cls, plain))

    def to_frame(self) -> pd.DataFrame:
        """Return the result as a table with one row."""
        import pandas as pd

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
        return paper_sentence(self)

    def _text(self) -> str:
        """Return the answer and its numbers as text; results override this."""
        return repr(self)

    def __str__(self) -> str:
        """Return how many rows the answer is about if some were left out, the answer, what was read, the numbers."""
        return self.add_inputs(self._text())

    def add_inputs(self, answer_and_numbers: str) -> str:
        """Return a text with the statements on the inputs before and after its first paragraph, which is the answer."""
        text = visible(answer_and_numbers)
        restrictions, sentence = texts_of_statements(self.inputs)
        read = wrap(sentence, page_width())
        if "\n\n" in text:
            answer, gap, numbers = text.partition("\n\n")
            return "\n".join([*restrictions, answer, *read]) + gap + numbers
        lines = text.split("\n")
        n_answer = 1
        while n_answer < len(lines) and _is_continued(lines[n_answer - 1], lines[n_answer]):
            n_answer += 1
        return "\n".join([*restrictions, *lines[:n_answer], *read, *lines[n_answer:]])

    def full_text(self) -> str:
        """Return the printed text, followed by the sentence for a paper if there is one."""
        return "\n\n".join(filter(None, [str(self), as_text(sentence_sections(self))]))

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
        page, facts = self._page(), about or {}
        ran = (*facts.items(), *_unknown_data(facts), *page.ran)
        restrictions, sentence = texts_of_statements(self.inputs)
        answer = (*restrictions, *page.answer, *filter(None, [sentence]))
        return replace(page, answer=answer, sections=(*page.sections, *sentence_sections(self)), ran=ran)

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
        """Return the page; results that need a special page override this."""
        return generic_page(self)

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
            return as_notebook(_first_screen(self._page()))
        except ImportError:
            return f"<pre>{escape(str(self))}</pre>"


encode.register(Result, encode_fields)

_MOST_STATEMENTS = 8
"""Largest number of statements on the inputs that the text and the page show."""
_NO_FINGERPRINT = "unknown: `about={'X': shesha.report.fingerprint(X)}` adds size, type and SHA-256 of the data"


def texts_of_statements(statements: Sequence[str]) -> tuple[list[str], str]:
    """Return a sentence for each statement on rows that were left out, and one of limited length for the others."""
    others = [statement for statement in statements if not restricts_rows(statement)]
    left_out = len(others) - _MOST_STATEMENTS
    more = [f"{left_out} more statements in `inputs`"] if left_out > 0 else []
    read = f"Read: {'; '.join([*others[:_MOST_STATEMENTS], *more])}." if others else ""
    return [f"Only {statement}." for statement in statements if restricts_rows(statement)], read


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


def _first_screen(page: Page) -> Page:
    """Return the page for a notebook; if its first screen has no numbers, use the last section's table."""
    numbers = page.numbers or tuple(
        part for section in page.sections[-1:] for part in section.parts if part.kind == "table"
    )
    return replace(page, numbers=numbers)


def reaches_level(p_value: float, alpha: float) -> bool:
    """Return whether a p-value reaches the level, with a small tolerance for rounding."""
    return bool(p_value <= alpha * (1 + 1e-9))


def _is_continued(line: str, following: str) -> bool:
    """Return whether a line was broken because the first word of the following line did not fit."""
    words = following.split(maxsplit=1)
    return bool(words) and len(line) + 1 + len(words[0]) > page_width()
