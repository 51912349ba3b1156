"""NaN and a warning in place of a score that the data cannot give."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from shesha import _validate as check
from shesha._warnings import NotEstimable

P = ParamSpec("P")


def estimable(score: Callable[P, float]) -> Callable[P, float]:
    """Mark a score whose work may stop with the reason why the data cannot give it."""

    @wraps(score)
    def with_reason(*args: P.args, **kwargs: P.kwargs) -> float:
        try:
            return score(*args, **kwargs)
        except NotEstimable as reason:
            return check.not_estimable(str(reason))

    return with_reason
