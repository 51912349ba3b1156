"""The direct call of a descriptor: an array is checked, then described."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from shesha.descriptors._descriptor_type import Data, Descriptor
from shesha.inputs import validation as check
from shesha.moments import SummedRepresentation
from shesha.support.warnings import NotEstimable


def function_of_array(descriptor: Descriptor) -> Callable[..., float]:
    """Return the function of an array that checks it and computes a descriptor."""
    function = descriptor.function

    @wraps(function)
    def describe(X: Data, *args: Any, **options: Any) -> float:
        if args:
            raise TypeError(f"{function.__name__}() must take one representation; options are keyword-only")
        try:
            return descriptor.build(X if isinstance(X, SummedRepresentation) else descriptor.check_data(X), **options)
        except NotEstimable as reason:
            return check.not_estimable(str(reason))

    options = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    data = inspect.Parameter("X", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="ArrayLike")
    describe.__signature__ = inspect.Signature([data, *options], return_annotation="float")  # type: ignore[attr-defined]
    describe.descriptor = descriptor  # type: ignore[attr-defined]
    # `inspect` would follow `__wrapped__` and show the parameters of the function of a view.
    del describe.__wrapped__
    return cast(Callable[..., float], describe)
