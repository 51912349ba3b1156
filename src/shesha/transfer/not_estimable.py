"""NaN with a warning, for scores that cannot be computed from the data."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec

from shesha.inputs import align_labels
from shesha.inputs import validation as check
from shesha.support.warnings import NotEstimable

P = ParamSpec("P")


def nan_with_reason(score: Callable[P, float]) -> Callable[P, float]:
    """Decorate a score so that it returns NaN with a warning if it raises NotEstimable."""
    names = tuple(signature(score).parameters)[:2]

    @wraps(score)
    def score_or_nan(*args: P.args, **kwargs: P.kwargs) -> float:
        given = _align(dict(zip(names, args, strict=False)) | kwargs, *names)
        first, named = [given[name] for name in names[: len(args)]], {name: given[name] for name in kwargs}
        try:
            return score(*first, *args[len(first) :], **named)  # type: ignore[arg-type]
        except NotEstimable as reason:
            return check.not_estimable(str(reason))

    return score_or_nan


def _align(given: dict[str, Any], rows: str, labels: str) -> dict[str, Any]:
    """Return the arguments with rows as an array; labels are put in the order of the rows if both have names."""
    if rows in given:
        if labels in given:
            given[labels] = align_labels(given[rows], given[labels])
        given[rows] = check.dense(given[rows])
    return given
