"""The direct call of a stability score: arrays are checked and subsampled, then scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, cast

from shesha.inputs import align_labels
from shesha.inputs import validation as check
from shesha.stability._variant_type import DATA_NAMES, Variant
from shesha.stability.undirected_row_errors import explain_undirected_rows
from shesha.support.seeds import generator
from shesha.support.warnings import NotEstimable
from shesha.views import Rdm, Rows, UndirectedHalfError, UndirectedRowsError, align_rows


def function_of_arrays(variant: Variant) -> Callable[..., float]:
    """Return the function of arrays that checks them and computes a score."""
    function = variant.function

    @wraps(function)
    def score(*args: Any, **kwargs: Any) -> float:
        return call_directly(variant, args, kwargs)

    score.__signature__ = variant.signature  # type: ignore[attr-defined]
    score.variant = variant  # type: ignore[attr-defined]
    # `inspect` would follow `__wrapped__` and show the parameters of the function of a view.
    del score.__wrapped__
    return cast(Callable[..., float], score)


def call_directly(variant: Variant, args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    """Bind the arguments and score the data; NaN with a warning if the value is not estimable."""
    bound = variant.signature.bind(*args, **kwargs)
    bound.apply_defaults()
    options = dict(bound.arguments)
    data = [options.pop(name) for name in DATA_NAMES[variant.needs]]
    with explain_undirected_rows():
        try:
            return _direct(variant, data, options)
        except NotEstimable as reason:
            if isinstance(reason, UndirectedRowsError | UndirectedHalfError):
                raise
            return check.not_estimable(str(reason))


def _direct(variant: Variant, data: list[Any], options: dict[str, Any]) -> float:
    """Check, subsample and score the data, with random draws in the order of the documented functions."""
    if variant.needs == "replicates":
        sides = {name: variant.check_data(X, name) for X, name in zip(data, DATA_NAMES["replicates"], strict=True)}
        a, b = align_rows(sides).values()
        return score_replicates(variant, a, b, options)
    rng = generator(options["seed"]) if "seed" in options else None
    limit = check.optional_count(options.get("max_samples"), "max_samples", minimum=4)
    source = variant.check_data(data[0])
    classes = variant.check_labels(align_labels(source, data[1]), _n_rows(source)) if variant.needs_labels else None
    if limit is not None and _n_rows(source) > limit and rng is not None:
        chosen = rng.choice(_n_rows(source), limit, replace=False)
        source = source.take(chosen) if isinstance(source, Rows) else source.take_rows(chosen)
        classes = None if classes is None else classes.take(chosen)
    return variant.score(source, classes, options if rng is None else {**options, "seed": rng})


def score_replicates(variant: Variant, a: Rows | Rdm, b: Rows | Rdm, options: Mapping[str, Any]) -> float:
    """Compute the score of two replicates."""
    if _n_rows(a) != _n_rows(b):
        raise ValueError(f"X_b must have as many rows as X_a ({_n_rows(a)}), got {_n_rows(b)}")
    views = []
    for side, name in ((a, "X_a"), (b, "X_b")):
        with explain_undirected_rows(name):
            views.append(variant.look(side, options))
    return variant.number(*views, **options)


def _n_rows(source: Rows | Rdm) -> int:
    return len(source) if isinstance(source, Rows) else source.n_rows
