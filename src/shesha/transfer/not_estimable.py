"""NaN with a warning, for scores that cannot be computed from the data."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from shesha.inputs import align_labels
from shesha.inputs import validation as check
from shesha.support.warnings import NotEstimable

P = ParamSpec("P")


def nan_with_reason(score: Callable[P, float]) -> Callable[P, float]:
    """Decorate a score so that it returns NaN with a warning if it raises NotEstimable."""

    @wraps(score)
    def score_or_nan(*args: P.args, **kwargs: P.kwargs) -> float:
        try:
            return score(*_align_labels(args, kwargs), **kwargs)
        except NotEstimable as reason:
            return check.not_estimable(str(reason))

    return score_or_nan


def _align_labels(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return the arguments with X as an array; labels are put in the order of its rows if both have names."""
    if not args:
        return args
    X, *others = args
    if others:
        others[0] = align_labels(X, others[0])
    if "y" in kwargs:
        kwargs["y"] = align_labels(X, kwargs["y"])
    return check.dense(X), *others
