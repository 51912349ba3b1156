"""Warning classes, and the error for numbers that cannot be estimated."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from shesha.support import name_conflict

# Also here, where another's first file has taken the place of ours: nearly every module imports this one.
name_conflict.notice()
_PACKAGE = str(Path(__file__).parents[1])


class NotEstimableWarning(UserWarning):
    """The data cannot give this score; NaN was returned, and the message says why."""


class NotEstimable(Exception):
    """Raised by a measure or score where the data cannot give it; callers see NaN and the reason."""


class NotIdentifiableWarning(UserWarning):
    """The score has no identifiable estimand; the message names what to use instead."""


class CalibrationWarning(UserWarning):
    """A null distribution rests on less than it seems; the message says on what."""


class MeasureWarning(UserWarning):
    """What is left out: measures of a comparison, features without a part in a value, what another package offers."""


class GuessedLayersWarning(UserWarning):
    """An array of three dimensions was split into layers along an axis that nobody named; the message says which."""


class GuessedControlsWarning(UserWarning):
    """Control cells were guessed from their labels, because none were named; the message lists them."""


class PoolingWarning(UserWarning):
    """Rows that were pooled from tokens say something else than the inputs; the message says in which layers."""


class RowNamesWarning(UserWarning):
    """Rows were put in another order by their names, or names could not tell which row is which."""


def warn(message: str, category: type[UserWarning]) -> None:
    """Warn at the line outside the library that asked for the number, however deep the reason lies."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
