"""The direct call of a measure: two arrays are checked and compared, with a warning if there is a remark."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from shesha.inputs import validation as check
from shesha.measures.measure_type import Data, Measure
from shesha.support.warnings import MeasureWarning, NotEstimable, warn
from shesha.views import View

P = ParamSpec("P")
V = TypeVar("V", bound=View)


def function_of_arrays(
    declared: Measure, function: Callable[Concatenate[V, V, P], float]
) -> Callable[Concatenate[Data, Data, P], float]:
    """Return the function of two arrays that checks them and computes a measure."""

    @wraps(function)
    def compare(X: Data, Y: Data, *args: P.args, **options: P.kwargs) -> float:
        if args:
            raise TypeError(f"{function.__name__}() must take two representations; options are keyword-only")
        covariates: Any = options.pop("covariates", None)
        try:
            value, remark = declared.with_options(**options).score_and_remark(X, Y, covariates)
        except NotEstimable as reason:
            return check.not_estimable(str(reason))
        if remark:
            warn(f"{declared.name}: {remark}", MeasureWarning)
        return value

    parameters = inspect.signature(function).parameters
    kept = [parameter for parameter in parameters.values() if parameter.kind is parameter.KEYWORD_ONLY]
    data = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="ArrayLike | Rdm")
        for name in ("X", "Y")
    ]
    less = inspect.Parameter(
        "covariates", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="ArrayLike | Rdm | None"
    )
    compare.__signature__ = inspect.Signature([*data, *kept, less], return_annotation="float")  # type: ignore[attr-defined]
    compare.measure = declared  # type: ignore[attr-defined]
    # This attribute would show the signature of the function of views.
    del compare.__wrapped__
    return cast(Callable[Concatenate[Data, Data, P], float], compare)
