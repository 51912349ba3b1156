"""Add held-out values to the scores of measures that fit a map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from numpy.typing import ArrayLike

from shesha.comparison.chance_and_intervals import add_note
from shesha.comparison.engine import failure
from shesha.inputs import validation as check
from shesha.kernels.threads import single_threaded_blas
from shesha.measures import Measure
from shesha.measures.held_out import has_held_out, held_out_score, measures_held_out
from shesha.nulls.design_warnings import undeclared_dependence
from shesha.results import Score
from shesha.support.seeds import spawn
from shesha.support.types import Index, Seed
from shesha.support.warnings import CalibrationWarning, NotEstimable, warn
from shesha.views import Groups, Representation, aligned, deal_folds

_FOLDING = 13


def draw_folds(
    chosen: Sequence[Measure], n_rows: int, folds: int | None, groups: ArrayLike | None, seed: Seed
) -> Index | None:
    """Assign the rows, or whole groups, to folds at random; return None if no folds are requested."""
    if folds is None:
        return None
    count = check.count(folds, "folds", minimum=2)
    if not any(map(has_held_out, chosen)):
        raise ValueError(
            f"measures must include a measure that fits a map if folds are given ({', '.join(measures_held_out())}), "
            f"got {', '.join(measure.name for measure in chosen)}"
        )
    try:
        return deal_folds(n_rows, count, None if groups is None else Groups(groups), spawn(seed, _FOLDING))
    except NotEstimable as reason:
        raise ValueError(f"folds must all contain rows: {reason}") from reason


def warn_of_leaking_folds(sides: Sequence[Representation], groups: ArrayLike | None) -> None:
    """Warn if rows of different folds depend on one another, so that a map can predict held-out rows from copies."""
    if groups is None and not any(side.has_distances_only for side in sides):
        signs = undeclared_dependence([side.to_numpy.rows.reshape(side.n_rows, -1) for side in sides])
        if signs:
            warn(f"held-out values may be too high, even for unrelated representations: {signs}", CalibrationWarning)


def add_held_out(
    scores: Mapping[str, Score], chosen: Sequence[Measure], sides: Sequence[Representation], fold: Index
) -> dict[str, Score]:
    """Return the scores; those of measures that fit a map have held-out values."""
    with_held_out = dict(scores)
    for measure in filter(has_held_out, chosen):
        score = with_held_out.get(measure.name)
        if score is not None and score.has_value:
            with_held_out[measure.name] = _add_held_out_value(measure, score, sides, fold)
    return with_held_out


def _add_held_out_value(measure: Measure, score: Score, sides: Sequence[Representation], fold: Index) -> Score:
    try:
        a, b = aligned(sides[0].to_numpy, sides[1].to_numpy, "columns")
        with single_threaded_blas():
            return replace(score, held_out=held_out_score(measure, a.rows, b.rows, fold))
    except NotEstimable as reason:
        return add_note(score, f"no held-out value: {reason}")
    except Exception as error:  # One measure's failure must not stop the others.
        return add_note(score, f"no held-out value: {failure(error)}")
