"""Add noise ceilings and noise-corrected values to scores, from repeated measurements of either side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shesha.comparison.chance_and_intervals import add_note
from shesha.comparison.engine import Group, failure
from shesha.comparison.noise_ceiling import Ceiling, Repeats, ceiling_of_repeats
from shesha.kernels.threads import single_threaded_blas
from shesha.measures import Measure
from shesha.results import Score
from shesha.support import memory
from shesha.support.warnings import NotEstimable
from shesha.views import Representation, aligned

_UNKNOWN: dict[str, Any] = dict.fromkeys(
    ("ceiling_lower", "ceiling_upper", "reliability_first", "reliability_second", "corrected"), math.nan
)


@dataclass(frozen=True)
class SidesWithRepeats:
    """The two sides of a comparison, with repeated measurements of each."""

    sides: tuple[Representation, Representation]
    repeats: tuple[Repeats | None, Repeats | None]

    @classmethod
    def build(
        cls, given: Any, names: tuple[str, str], sides: tuple[Representation, Representation]
    ) -> SidesWithRepeats:
        """Check the repeats of the two sides; None means that a side has no repeats."""
        if not isinstance(given, tuple | list) or len(given) != len(sides) or all(repeat is None for repeat in given):
            got = f"{len(given)} entries" if isinstance(given, tuple | list) else f"a {type(given).__name__}"
            raise TypeError(
                "repeats must be a pair, the repeats of the first and of the second representation (one may be None), "
                f"got {got}"
            )
        first, second = (
            None if repeat is None else Repeats.build(repeat, f"repeats of {name}", side.n_rows)
            for repeat, name, side in zip(given, names, sides, strict=True)
        )
        return cls(sides, (first, second))

    def add_ceilings(self, group: Group, scores: Mapping[str, Score]) -> Iterator[Score]:
        """Yield the scores of a group with their noise ceilings, or with a note on why these are missing."""
        try:
            for measure in group.measures:
                score = scores.get(measure.name)
                if score is not None and score.has_value:
                    yield self._add_ceiling(group, measure, score)
        finally:
            for source in (*self.repeats, *self.sides):
                if source is not None:
                    source.drop_views()

    def _add_ceiling(self, group: Group, measure: Measure, score: Score) -> Score:
        try:
            self._require_room(group)
            ceilings = [
                None if repeats is None else ceiling_of_repeats(measure, repeats, second=bool(place))
                for place, repeats in enumerate(self.repeats)
            ]
            over_repeats = self._over_repeats(measure)
        except NotEstimable as reason:
            return add_note(score, f"no noise ceiling: {reason}")
        except Exception as error:  # One measure's failure must not stop the others.
            return add_note(score, f"no noise ceiling: {failure(error)}")
        return _write_ceilings(measure, over_repeats, replace(score, over_repeats=over_repeats, **_UNKNOWN), ceilings)

    def _require_room(self, group: Group) -> None:
        """Require that the views of all repeats, two means and both sides fit in memory together."""
        sources = [
            *self.sides,
            *(source for side in self.repeats if side for source in (*side.sources, *side.sources[:2])),
        ]
        needs = [group.view_bytes(source) for source in sources]
        need = sum(view_bytes for view_bytes, _ in needs) + max(working for _, working in needs)
        if need > memory.memory_budget():
            raise NotEstimable(
                f"needs {memory.readable(need)} of a memory budget of {memory.readable(memory.memory_budget())}"
            )

    def _over_repeats(self, measure: Measure) -> float:
        """Return the mean score over the repeats of one side, or over all pairs of repeats of both sides."""
        first, second = (
            (side,) if repeats is None else repeats.sources
            for side, repeats in zip(self.sides, self.repeats, strict=True)
        )
        with single_threaded_blas():
            return float(np.mean([_value(measure, a, b) for a in first for b in second]))


def _value(measure: Measure, a: Representation, b: Representation) -> float:
    a, b = aligned(a, b, measure.view.folding, anywhere=measure.anywhere)
    measure.require_comparable(a, b)
    return measure.compare_views(measure.look(a), measure.look(b))


def _write_ceilings(measure: Measure, over_repeats: float, score: Score, ceilings: Sequence[Ceiling | None]) -> Score:
    """Add ceilings and reliabilities to the score, and correct it for noise if that is meaningful."""
    known = [ceiling for ceiling in ceilings if ceiling is not None]
    like_a_cosine = measure.higher_is_closer and measure.self_value == 1 and measure.bounds[1] == 1
    if like_a_cosine or len(known) == 1:
        # As with a cosine, the noise of each side multiplies the score by a factor of its own.
        lower, upper = (
            math.prod(ends) for ends in ([ceiling.lower for ceiling in known], [ceiling.upper for ceiling in known])
        )
        score = replace(score, ceiling_lower=lower, ceiling_upper=upper)
    if not like_a_cosine:
        return add_note(
            score,
            "not corrected for noise: the correction needs a measure whose maximum of 1 means equal representations",
        )
    first, second = (np.nan if ceiling is None else ceiling.reliability for ceiling in ceilings)
    score = replace(score, reliability_first=first, reliability_second=second)
    if min(ceiling.reliability for ceiling in known) <= 0:
        return add_note(score, "not corrected for noise: the reliability of the repeats is not positive")
    return replace(score, corrected=over_repeats / math.sqrt(math.prod(ceiling.reliability for ceiling in known)))
