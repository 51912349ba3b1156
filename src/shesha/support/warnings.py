"""Warning classes, and the exception for values that cannot be estimated."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from shesha.support import conflicting_distributions, provenance

# Nearly every module imports this one, so the check runs even if another distribution replaced our `__init__.py`.
conflicting_distributions.notice()
_PACKAGES = ("shesha", "shesha_studies")
P = ParamSpec("P")
R = TypeVar("R")


class NotEstimableWarning(UserWarning):
    """The score cannot be computed from these data; NaN was returned, and the message gives the reason."""


class NotEstimable(Exception):
    """Raised if a measure or score cannot be computed from the data; callers get NaN and the reason."""


class NotIdentifiableWarning(UserWarning):
    """The score has no identifiable estimand; the message names an alternative."""


class CalibrationWarning(UserWarning):
    """A null distribution may be unreliable; the message explains why and what to do."""


class MeasureWarning(UserWarning):
    """Something was left out or could not be done, such as one of several measures; the message says why."""


class GuessedLayersWarning(UserWarning):
    """A three-dimensional array was split into layers along a guessed axis; the message names the axis."""


class GuessedControlsWarning(UserWarning):
    """Control cells were guessed from their labels, because none were named; the message lists them."""


class PoolingWarning(UserWarning):
    """Rows pooled from tokens may not represent the inputs; the message names the layers."""


class RowNamesWarning(UserWarning):
    """Rows were reordered by their names, or names did not identify rows; the message names the arrays."""


def warn(message: str, category: type[UserWarning], *, questions_input: bool = False) -> None:
    """Issue a warning that points to the line outside the library from which it was called.

    A result keeps warnings that its numbers may mislead, and whether they question the input (`state_warning`).
    """
    if category is CalibrationWarning:
        provenance.state_warning(message, is_raised=True, questions_input=questions_input)
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PACKAGES:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_of_statement(statement: str) -> None:
    """Raise a warning that was stated."""
    is_question = provenance.questions_input(statement)
    warn(provenance.text_of_warning(statement), CalibrationWarning, questions_input=is_question)


def warn_of_statements(function: Callable[P, R]) -> Callable[P, R]:
    """Raise the warnings that a public function states, because its result, such as a table of pandas, prints none."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with provenance.collect_statements() as statements:
            result = function(*args, **kwargs)
        for text in provenance.unraised_warnings(statements):
            warn_of_statement(text)
        for text in filter(provenance.restricts, statements):
            warn(text, MeasureWarning)
        return result

    return call
