"""NaN and a warning in place of a score that the data cannot give."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from shesha import _validate as check
from shesha._warnings import NotEstimable
from shesha.given import in_order_of

P = ParamSpec("P")


def estimable(score: Callable[P, float]) -> Callable[P, float]:
    """Mark a score whose work may stop with the reason why the data cannot give it."""

    @wraps(score)
    def with_reason(*args: P.args, **kwargs: P.kwargs) -> float:
        try:
            return score(*_in_one_order(args, kwargs), **kwargs)
        except NotEstimable as reason:
            return check.not_estimable(str(reason))

    return with_reason


def _in_one_order(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return the arguments with X as an array, and the labels in the order of its rows, where both have names."""
    if not args:
        return args
    X, *others = args
    if others:
        others[0] = in_order_of(X, others[0])
    if "y" in kwargs:
        kwargs["y"] = in_order_of(X, kwargs["y"])
    return check.dense(X), *others
