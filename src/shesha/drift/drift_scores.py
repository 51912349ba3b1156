"""Drift between two encodings of the same inputs by several measures, with their roles in the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from shesha.kernels.threads import single_threaded_blas
from shesha.measures import Measure, choose
from shesha.support.types import Index, Labels, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Representation, aligned

Choice = str | Measure | Callable[..., float]
TIERS = {"RDM drift": "primary", "unbiased CKA": "confirm", "Procrustes similarity": "early", "mutual kNN": "local"}
"""Role of each default measure in the verdict; with other measures, the first is primary."""
DEFAULT = tuple(TIERS)
_NEIGHBOURS = 10
ROUNDING = 1e-12
"""Drift below which a representation counts as unchanged, because rounding alone can cause it."""


def choose_measures(measures: Iterable[Choice] | Choice | None, n_rows: int) -> list[Measure]:
    """Return the measures of a monitor, starting with the primary one."""
    if measures is None:
        k = min(_NEIGHBOURS, max(1, (n_rows - 1) // 3))
        return [*choose(DEFAULT[:-1]), choose(DEFAULT[-1])[0].with_options(k=k, metric="cosine")]
    chosen = choose(measures)
    for measure in chosen:
        if not measure.paired or measure.self_value is None:
            raise ValueError(
                f"measures must compare the same rows and have a known value for unchanged rows, got {measure.name}; "
                "for new inputs use update or two_sample"
            )
    return chosen


def tiers(measures: Sequence[Measure]) -> list[str]:
    """Return the role of each measure; the first is primary and raises the alarm."""
    return [
        "primary",
        *(TIERS.get(measure.name.partition("(")[0], "other").replace("primary", "other") for measure in measures[1:]),
    ]


def drifts(measures: Sequence[Measure], before: Representation, after: Representation) -> tuple[Vector, list[str]]:
    """Return the drift by each measure (0 means no change), and the reasons for missing values."""
    values, reasons = np.full(len(measures), np.nan), [""] * len(measures)
    with single_threaded_blas():
        for i, measure in enumerate(measures):
            try:
                values[i] = drift(measure, before, after)
            except NotEstimable as reason:
                reasons[i] = str(reason)
    return values, reasons


def drift(measure: Measure, before: Representation, after: Representation) -> float:
    """Return how far a measure is from its value for unchanged rows, or raise NotEstimable with a reason."""
    a, b = aligned(before, after, measure.view.folding)
    measure.require_comparable(a, b)
    value = measure.compare_views(measure.look(a), measure.look(b))
    if not np.isfinite(value):
        raise NotEstimable("the measure has no finite value for these rows")
    assert measure.self_value is not None
    difference = value - measure.self_value if measure.closer == "lower" else measure.self_value - value
    # The last digits differ between machines. Such differences must not raise an alarm if all null drifts are equal.
    return 0.0 if abs(difference) < ROUNDING else difference


def half_samples(
    measures: Sequence[Measure],
    before: Representation,
    after: Representation,
    n_draws: int,
    rng: np.random.Generator,
    groups: Labels | None = None,
) -> Mapping[str, Vector]:
    """Return, for each measure, the drifts of random halves of the rows, or groups; NaN where a half has no value.

    Scores of halves that are drawn without replacement vary as much as those of bootstrap samples. Bootstrap samples,
    however, contain copies of rows, which are neighbours in both encodings and would hide drift.
    """
    units = np.arange(before.n_rows) if groups is None else groups
    n = int(units.max()) + 1
    draws = np.empty((n_draws, len(measures)))
    for draw in range(n_draws):
        rows: Index = np.flatnonzero(np.isin(units, rng.permutation(n)[: n // 2]))
        draws[draw], _ = drifts(measures, before.take_rows(rows), after.take_rows(rows))
    return {measure.name: draws[:, i] for i, measure in enumerate(measures)}
