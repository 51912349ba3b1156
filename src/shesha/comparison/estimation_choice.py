"""Decide which measures are estimated from a sample, on request or because of limited memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shesha.comparison import engine
from shesha.comparison.chance_and_intervals import add_note
from shesha.comparison.engine import missing_score, score_not_reached
from shesha.comparison.moment_scores import compare_moments
from shesha.comparison.sampled_scores import Sampling, reason_against, sampled_scores
from shesha.kernels.distances import n_pairs
from shesha.measures import Measure, choose, takes_moments
from shesha.measures.expected_cost import MINUTE, exact_seconds
from shesha.moments import Moments
from shesha.results import Comparison, Score
from shesha.support import memory
from shesha.support.progress import track
from shesha.support.seeds import number
from shesha.views import Representation
from shesha.views.row_source import RowSource, is_stored

_NAMED = 8
"""Maximum number of alternative measures that the error message names."""


def require_one_that_fits(X: Any, Y: Any, measures: Sequence[Measure]) -> None:
    """Refuse matrices for which every requested measure would exceed the memory budget.

    Raises
    ------
    MemoryBudgetError
        If no requested measure fits. The message states how much memory is needed and names measures that would fit.
    """
    shapes = matrix_shape(X), matrix_shape(Y)
    if shapes[0] is None or shapes[1] is None or not measures:
        return
    needs = bytes_needed(measures, shapes[0], shapes[1])
    budget, least = memory.memory_budget(), min(needs.values())
    if least <= budget:
        return
    fitting = [name for name, need in bytes_needed(choose("all"), shapes[0], shapes[1]).items() if need <= budget]
    others = ", ".join(fitting[:_NAMED]) + (" and others" if len(fitting) > _NAMED else "")
    streamed = ", or compare shesha.Moments.of(X, Y)" if any(map(takes_moments, measures)) else ""
    sizes = " and ".join(f"{n:,} x {d:,}" for n, d in (shapes[0], shapes[1]))
    raise memory.MemoryBudgetError(
        f"{', '.join(needs)} of {sizes} must fit the memory budget of {memory.readable(budget)}, got "
        f"{memory.readable(least)}: {f'these measures fit: {others}; or ' if fitting else ''}pass fewer rows, or raise "
        f"SHESHA_MEMORY{streamed}"
    )


def none_fits(X: Any, Y: Any, measures: Sequence[Measure]) -> bool:
    """Return whether every requested measure would exceed the memory budget, judged by shapes alone."""
    shapes = matrix_shape(X), matrix_shape(Y)
    if shapes[0] is None or shapes[1] is None or not measures:
        return False
    return min(bytes_needed(measures, shapes[0], shapes[1]).values()) > memory.memory_budget()


def matrix_shape(X: Any) -> tuple[int, int] | None:
    """Return the shape of a matrix, or None if it is unknown without reading the data."""
    shape = getattr(X, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2:
        return None
    return (int(shape[0]), int(shape[1])) if all(isinstance(length, int) and length > 0 for length in shape) else None


def bytes_needed(measures: Sequence[Measure], a: tuple[int, int], b: tuple[int, int]) -> dict[str, int]:
    """Return the memory that the views of each measure need."""
    sides = [Representation(np.broadcast_to(np.float64(0), shape), 0.0) for shape in (a, b)]
    needs: dict[str, int] = {}
    for group in engine.group_by_view(measures, {measure.name: [] for measure in measures}, sides):
        views = [group.view_bytes(*sides), group.view_bytes(*sides[::-1])]
        need = sum(view_bytes for view_bytes, _ in views) + max(working for _, working in views)
        needs |= {measure.name: need for measure in group.measures}
    return needs


_FEWEST_PAIRS = 1_000_000
"""Number of row pairs above which measures that exceed the memory are estimated, not left out."""


def _is_plain(others: Mapping[str, Any]) -> bool:
    return all(value is None or value is False for value in others.values())


def refuse_with_moments(options: Mapping[str, Any]) -> None:
    """Refuse options that need the rows, which moments do not contain."""
    used = [name for name, value in options.items() if value is not None and value is not False]
    if used:
        raise ValueError(f"{', '.join(used)} must be left out with Moments, which lack single rows, got {used[0]}")


def require_plain(sample_options: Sequence[str], others: Mapping[str, Any]) -> None:
    """Refuse a sample together with options that need all rows at once."""
    options = [name for name, value in others.items() if value is not None and value is not False]
    if sample_options and options:
        raise ValueError(f"{sample_options[0]} must be left out with {options[0]}, got both")


def exceeds_memory(X: Any, Y: Any, others: Mapping[str, Any]) -> bool:
    """Return whether to read the rows in pieces, because they are in a file or fill the memory budget.

    The options in `others` need all rows at once. For stored arrays, such options raise an error; for arrays in memory,
    they prevent reading in pieces.
    """
    if is_stored(X) or is_stored(Y):
        require_plain(["rows of a stored array"], others)
        return True
    if (
        not _is_plain(others)
        or not isinstance(X, np.ndarray)
        or not isinstance(Y, np.ndarray)
        or X.ndim != 2
        or Y.ndim != 2
    ):
        return False
    return 8 * (X.size + Y.size) > memory.memory_budget()


def to_sample(
    chosen: Sequence[Measure], X: Any, Y: Any, sampling: Sampling, others: Mapping[str, Any]
) -> tuple[list[Measure], float]:
    """Return the measures to estimate from a sample, and the seconds that their exact values would take.

    A measure is estimated on request, if its exact value would exceed the memory, or if the exact values of all
    measures would take more than a minute. The options in `others` need all rows. The time is 0 if memory is short,
    because the exact value can then not be computed.
    """
    requested = [measure for measure in chosen if sampling.takes(measure)]
    shapes = matrix_shape(X), matrix_shape(Y)
    small = shapes[0] is None or shapes[1] is None or n_pairs(shapes[0][0]) <= _FEWEST_PAIRS
    uncalibrated = {name: value for name, value in others.items() if name != "calibrate"}
    if sampling.exact is True or not _is_plain(uncalibrated) or small:
        return requested, 0.0
    assert shapes[0] is not None and shapes[1] is not None
    needs, budget = bytes_needed(chosen, shapes[0], shapes[1]), memory.memory_budget()
    large = [measure for measure in chosen if needs[measure.name] > budget and not reason_against(measure)]
    widths = shapes[0][1], shapes[1][1]
    costs = {
        measure.name: exact_seconds(measure, shapes[0][0], widths)
        for measure in chosen
        if not reason_against(measure) and measure not in large and measure not in requested
    }
    # A score that fits is calibrated, however long this takes, because samples have no chance level here.
    slow = _longest_beyond(costs, MINUTE) if sampling.exact == "auto" and _is_plain(others) else set()
    estimated = [m for m in chosen if m in requested or m in large or m.name in slow]
    return estimated, sum(costs[name] for name in slow)


def _longest_beyond(costs: Mapping[str, float], limit: float) -> set[str]:
    """Return the names of the longest tasks, as many as must be left out to finish the others within the limit."""
    left_out: set[str] = set()
    for name in sorted(costs, key=lambda name: -costs[name]):
        if sum(costs.values()) - sum(costs[other] for other in left_out) <= limit:
            break
        left_out.add(name)
    return left_out


def sample_pair(
    measures: Sequence[Measure],
    sides: Sequence[Representation],
    names: tuple[str, str],
    sampling: Sampling,
    *,
    calibrate: bool,
) -> tuple[dict[str, Score], bool]:
    """Return the scores of these measures from a sample of rows in memory, and whether Ctrl-C interrupted this.

    With `calibrate`, a note says that they lack a chance level.
    """
    if any(len(side.shape) != 2 for side in sides):
        reason = "a sample needs two matrices of features, got distances, tokens or feature maps"
        return {measure.name: missing_score(measure, reason) for measure in measures}, False
    sources = [RowSource(side, name) for side, name in zip(sides, names, strict=True)]
    scores: dict[str, Score] = {}
    try:
        for score in track(sampled_scores(measures, sources[0], sources[1], sampling), len(measures), "sampling"):
            scores[score.name] = add_note(score, _NO_CHANCE) if calibrate else score
    except KeyboardInterrupt:
        return scores, True
    return scores, False


def compare_stored(
    X: Any,
    Y: Any,
    names: tuple[str, str],
    chosen: Sequence[Measure],
    sampling: Sampling,
    chance: Mapping[str, Any],
    moments: Moments | None = None,
) -> Comparison:
    """Compare two matrices whose rows are read in pieces.

    Measures that depend only on sums over all rows are computed exactly, with chance levels if `chance` requests them
    (as for `compare_moments`). Other measures are estimated from a sample, or their score states why this is
    impossible.
    """
    first, second = (RowSource(side, name) for side, name in zip((X, Y), names, strict=True))
    if sampling.exact is True:
        # With all rows as queries, measures of neighbours are exact.
        sampling = replace(sampling, queries=first.n_rows)
    summed = [measure for measure in chosen if takes_moments(measure)]
    estimated = [measure for measure in chosen if measure not in summed and not reason_against(measure)]
    scores = {measure.name: missing_score(measure, f"{reason_against(measure)}{_UNFIT}") for measure in chosen}
    interrupted, exchanged = False, ""
    try:
        if summed:
            known = Moments.of(X, Y, names=names) if moments is None else moments
            exact = compare_moments(known, summed, **chance, confidence=sampling.confidence, seed=sampling.seed)
            scores |= {score.name: add_note(score, _ONE_PASS) if score.has_value else score for score in exact.scores}
            exchanged = exact.exchanged
        for score in track(sampled_scores(estimated, first, second, sampling), len(estimated), "sampling"):
            scores[score.name] = add_note(score, _NO_CHANCE) if chance["calibrate"] else score
    except KeyboardInterrupt:
        interrupted = True
        missing = [measure for measure in (*summed, *estimated) if not scores[measure.name].has_value]
        scores |= {measure.name: score_not_reached(measure) for measure in missing}
    shapes = (first.n_rows, first.n_features), (second.n_rows, second.n_features)
    table = tuple(scores[measure.name] for measure in chosen)
    return Comparison(
        *names,
        shapes,
        table,
        number(sampling.seed),
        interrupted,
        exchanged,
        alpha=chance["alpha"],
        confidence=sampling.confidence,
    )


_UNFIT = ", and the rows do not fit in memory: use fewer rows"
_ONE_PASS = "exact, from all rows in one pass"
_NO_CHANCE = "no chance level, because the value is estimated from a sample"
