"""A number computed from one view, with its properties: the common part of descriptors and scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from shesha.inputs import validation as check
from shesha.report import card, changes_in_words, range_in_words
from shesha.results.sentence_parts import remember_source
from shesha.support import spelling
from shesha.support.warnings import NotEstimable
from shesha.views.representation import View


@dataclass(frozen=True)
class ViewScore:
    """A number that describes one representation, with its declared properties, which tests verify."""

    name: str
    function: Callable[..., float] = field(repr=False)
    """Function that computes the score from a view and, if needed, from class labels."""
    view: type[View]
    title: str
    bounds: tuple[float, float]
    means: str = field(repr=False)
    """What the score means, in one sentence."""
    means_not: str = field(repr=False)
    """What the score does not mean."""
    reference: str = field(repr=False)
    invariant: frozenset[str] = frozenset()
    """Transformations under which the value with default options does not change: 'scaling', 'translation',
    'orthogonal'."""
    audited: bool = False
    """Whether the score is part of every audit."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the score, starting with the main name."""
        return self.name, self.title

    def number(self, *data: Any, **options: Any) -> float:
        """Call the function; raise NotEstimable if it returns NaN."""
        value = check.real_number(self.function(*data, **options), f"the value of {self.name}")
        if np.isnan(value):
            raise NotEstimable(f"{self.name} did not return a number")
        return value


S = TypeVar("S", bound=ViewScore)


def register_score(score: S, known: dict[str, S], plural: str) -> None:
    """Add a score to the registry; each name can be used only once."""
    taken = known.get(score.name)
    if taken is not None and taken.function.__module__ != score.function.__module__:
        raise ValueError(f"name must differ from those of other {plural}, got {score.name!r}")
    known[score.name] = score
    remember_source(score.name, score.reference)


def find_score(text: Any, kind: type[S], known: Mapping[str, S], name: str) -> S:
    """Return the score with this name, ignoring case and punctuation; a score is returned unchanged."""
    return text if isinstance(text, kind) else spelling.find_by_name(text, known.values(), name, "`shesha scores`")


def score_card(score: ViewScore, room: str, texts: Mapping[str, str], data: str = "X") -> str:
    """Return the text card of a score, with additional or replaced entries by title."""
    module = score.function.__module__
    place = room if module.startswith(f"{room}.") else module
    entries = {
        "caveat": score.means_not,
        "range": range_in_words(score.bounds),
        "unchanged by": changes_in_words(score.invariant),
        "needs": "rows",
        "distances": "",
        "options": "",
        "estimate": "",
        "chance": "",
        "audit": "included in every audit" if score.audited else "",
        "also called": "",
        "reference": score.reference,
        "function": f"{place}.{score.function.__name__}({data})",
    }
    return card(f"{score.name}: {score.title}. {score.means}", {**entries, **texts}.items())
