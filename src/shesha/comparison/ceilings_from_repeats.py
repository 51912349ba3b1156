"""Noise ceilings of representations with replicates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.comparison.chance_and_intervals import add_note
from shesha.comparison.engine import Group, failure
from shesha.kernels.threads import single_threaded_blas
from shesha.measures import Measure
from shesha.results import Score
from shesha.support import memory as memory
from shesha.support.warnings import NotEstimable
from shesha.views import Rdm, Representation, View, aligned

FEWEST = 2
_UNKNOWN: dict[str, Any] = dict.fromkeys(
    ("ceiling_lower", "ceiling_upper", "reliability_first", "reliability_second", "corrected"), math.nan
)


@dataclass(frozen=True)
class Repeats:
    """Measurements of one representation, each with the same rows."""

    sources: tuple[Representation, ...]

    @classmethod
    def build(cls, given: Any, name: str, n_rows: int | None = None) -> Repeats:
        """Check the measurements: an array (k, n, d), or a sequence of matrices or of distances."""
        if not hasattr(given, "__len__") or isinstance(given, str | Rdm | Mapping) or hasattr(given, "columns"):
            raise TypeError(
                f"{name} must be an array of shape (k, n_samples, n_features) or a sequence of matrices, got a "
                f"{type(given).__name__}"
            )
        if len(given) < FEWEST:
            raise ValueError(f"{name} must contain at least {FEWEST} repeats, got {len(given)}")
        sources = tuple(Representation.build(repeat, f"{name}[{k}]").to_numpy for k, repeat in enumerate(given))
        for k, source in enumerate(sources):
            if len(source.shape) > 2:
                raise ValueError(f"{name}[{k}] must be 2-D (n_samples, n_features), got shape {source.shape}")
            if source.n_rows != (n_rows or sources[0].n_rows):
                raise ValueError(f"{name}[{k}] must have {n_rows or sources[0].n_rows} rows, got {source.n_rows}")
        return cls(sources)

    @cached_property
    def means(self) -> tuple[Representation, ...]:
        """The mean of all, then the mean without each repeat."""
        if all(source.has_distances_only for source in self.sources):
            return tuple(
                Representation.build(Rdm(mean))
                for mean in _leave_one_out_means([s.distances.condensed for s in self.sources])
            )
        if len({source.shape for source in self.sources}) > 1 or any(
            source.has_distances_only for source in self.sources
        ):
            raise NotEstimable("repeats of different widths cannot be averaged for this measure")
        precision = max(source.precision for source in self.sources)
        return tuple(
            Representation(mean, precision) for mean in _leave_one_out_means([source.rows for source in self.sources])
        )

    def drop_views(self) -> None:
        """Free the memory of all views."""
        for source in (*self.sources, *self.__dict__.get("means", ())):
            source.drop_views()


def _leave_one_out_means(arrays: Sequence[NDArray[np.float64]]) -> Iterator[NDArray[np.float64]]:
    """Yield the mean of all, then the mean without each repeat."""
    yield np.mean(arrays, axis=0)
    for k in range(len(arrays)):
        yield np.mean([array for j, array in enumerate(arrays) if j != k], axis=0)


@dataclass(frozen=True)
class Ceiling:
    """Values of a measure for the repeats of one side alone."""

    left_out: tuple[float, ...]
    included: tuple[float, ...]
    reliability: float

    @property
    def lower(self) -> float:
        """Mean value of each repeat with the mean of the others."""
        return float(np.mean(self.left_out))

    @property
    def upper(self) -> float:
        """Mean value of each repeat with the mean of all."""
        return float(np.mean(self.included))


def ceiling(measure: Measure, repeats: Repeats, *, second: bool = False) -> Ceiling:
    """Compare the repeats with their means and with one another, as second argument of the measure if `second`."""

    def score(view: View, other: View) -> float:
        return measure.compare_views(other, view) if second else measure.compare_views(view, other)

    with single_threaded_blas():
        for repeat in repeats.sources[1:]:
            measure.require_comparable(repeats.sources[0], repeat)
        views = [measure.look(repeat) for repeat in repeats.sources]
        means = _means(measure, repeats, views)
        total_mean = next(means)
        included = tuple(score(view, total_mean) for view in views)
        left_out = tuple(score(view, mean) for view, mean in zip(views, means, strict=True))
        both = combinations(views, 2)
        pairs = [score(a, b) if measure.symmetric else (score(a, b) + score(b, a)) / 2 for a, b in both]
    return Ceiling(left_out, included, float(np.mean(pairs)))


def _means(measure: Measure, repeats: Repeats, views: Sequence[View]) -> Iterator[View]:
    """Yield the mean of all repeats, then the mean without each, in terms of the measure's view."""
    kind, options = measure.view_key
    for left_out in range(-1, len(views)):
        others = [view for k, view in enumerate(views) if k != left_out]
        mean = kind.average(others, **dict(options))
        yield measure.look(repeats.means[left_out + 1]) if mean is None else mean


@dataclass(frozen=True)
class SidesWithRepeats:
    """The two sides of a comparison, and the repeats of each."""

    sides: tuple[Representation, Representation]
    repeats: tuple[Repeats | None, Repeats | None]

    @classmethod
    def build(
        cls, given: Any, names: tuple[str, str], sides: tuple[Representation, Representation]
    ) -> SidesWithRepeats:
        """Check the repeats of the first and the second side; None means no repeats."""
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
        """Yield the scores of a group of measures with their ceilings, or with a note on why there is none."""
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
                None if repeats is None else ceiling(measure, repeats, second=bool(place))
                for place, repeats in enumerate(self.repeats)
            ]
            over_repeats = self._over_repeats(measure)
        except NotEstimable as reason:
            return add_note(score, f"no noise ceiling: {reason}")
        except Exception as error:  # One measure's failure must not stop the others.
            return add_note(score, f"no noise ceiling: {failure(error)}")
        return _write_ceilings(measure, over_repeats, replace(score, over_repeats=over_repeats, **_UNKNOWN), ceilings)

    def _require_room(self, group: Group) -> None:
        """Refuse views that do not fit in memory: those of all repeats, two means and both sides are held together."""
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
        """Mean value over the repeats of one side, or over all pairs of repeats of both."""
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
        # Noise of both sides takes its share from each, as it does from a cosine.
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
