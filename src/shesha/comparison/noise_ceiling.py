"""The noise ceiling of similarities to a noisy representation, and noise-corrected scores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from shesha.comparison.engine import Group, add_note, failure
from shesha.doubting.doubts import diagnostic_rows, warn_of_pair_doubts
from shesha.inputs import validation as check
from shesha.kernels.threads import single_threaded_blas
from shesha.measures import Measure, as_measure
from shesha.measures.registry import Choice
from shesha.nulls.dependence import find_dependence
from shesha.nulls.design_warnings import CEILING_TOO_HIGH, warn_of_dependent_repeats
from shesha.results import NoiseCeiling, Score
from shesha.support import memory
from shesha.support.provenance import keep_statements, state
from shesha.support.seeds import number
from shesha.support.types import Seed
from shesha.support.warnings import CalibrationWarning, NotEstimable, warn
from shesha.views import Rdm, Representation, View, align_rows, aligned, warn_of_other_order


@keep_statements
def noise_ceiling(
    repeats: ArrayLike | Sequence[ArrayLike | Rdm], measure: Choice = "RSA", *, seed: Seed = 0
) -> NoiseCeiling:
    """Estimate the score that a noise-free representation would reach with its noisy measurements.

    Even a perfect model differs from single measurements (runs, subjects) because these are noisy. `lower` compares
    each repeat with the mean of the other repeats and averages the scores. The noise-free representation would score
    higher, because a mean of repeats is still noisy. `upper` compares each repeat with the mean of all repeats. The
    noise-free representation would score lower, because that mean includes the repeat itself. To form means, RSA
    averages ranked distances and ranks the result again; CKA and related measures average kernel matrices of unit norm.
    For these measures, repeats from different subjects may have different features (Nili et al. 2014). Other measures
    average the features themselves, which must correspond.

    Parameters
    ----------
    repeats : array of shape (k, n_samples, n_features), or sequence of k matrices or Rdm
        At least 2 measurements of the same inputs, whose rows are matched by name, or else by position.
    measure : str, Measure or function
        As for `shesha.calibrate`.
    seed : int, Generator or None
        Seed of random measures.

    Returns
    -------
    NoiseCeiling
        `lower`, `upper`, and `reliability`, which is the mean score between two repeats. They are NaN, with a reason
        and a warning, if they cannot be computed from the data. Biased measures (CKA, DistCorr) overestimate
        reliability; use unbiased CKA instead.

    Raises
    ------
    ValueError
        If there are fewer than two repeats, or if their numbers of rows or names differ.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.standard_normal((40, 10))
    >>> found = noise_ceiling(truth + rng.standard_normal((5, 40, 10)), "unbiased CKA")
    >>> round(found.lower, 2), round(found.upper, 2), round(found.reliability, 2)
    (0.44, 0.66, 0.3)
    """
    chosen = as_measure(measure).with_seed(seed)
    repeated = Repeats.build(repeats, "repeats")
    common = {
        "measure": chosen.name,
        "closer": chosen.closer,
        "n_repeats": len(repeated.sources),
        "n_rows": repeated.sources[0].n_rows,
        "seed": number(seed),
    }
    try:
        ceiling = ceiling_of_repeats(chosen, repeated)
    except NotEstimable as reason:
        nan = check.not_estimable(str(reason))
        return NoiseCeiling(lower=nan, upper=nan, reliability=nan, reason=str(reason), **common)  # type: ignore[arg-type]
    return NoiseCeiling(
        lower=ceiling.lower,
        upper=ceiling.upper,
        reliability=ceiling.reliability,
        left_out=ceiling.left_out,
        included=ceiling.included,
        **common,  # type: ignore[arg-type]
    )


FEWEST = 2


@dataclass(frozen=True)
class Repeats:
    """Repeated measurements of one representation, with the same rows in each."""

    sources: tuple[Representation, ...]

    @classmethod
    def build(cls, given: Any, name: str, side: Representation | None = None) -> Repeats:
        """Check the repeats: an array (k, n, d), or a sequence of matrices or distances; match rows with the side's."""
        # A sparse array has a shape, and a length that it refuses to tell.
        is_single = getattr(given, "shape", None) == () or not hasattr(given, "__len__") or sparse.issparse(given)
        if is_single or isinstance(given, str | Rdm | Mapping) or hasattr(given, "columns"):
            raise TypeError(
                f"{name} must be an array of shape (k, n_samples, n_features) or a sequence of matrices, got a "
                f"{type(given).__name__}"
            )
        if len(given) < FEWEST:
            raise ValueError(f"{name} must contain at least {FEWEST} repeats, got {len(given)}")
        for k, repeat in enumerate(given):
            _refuse_masked_columns(repeat, f"{name}[{k}]")
        built = {f"{name}[{k}]": Representation.build(repeat, f"{name}[{k}]") for k, repeat in enumerate(given)}
        n_rows = (side or built[f"{name}[0]"]).n_rows
        for each, source in built.items():
            if len(source.shape) > 2:
                raise ValueError(f"{each} must be 2-D (n_samples, n_features), got shape {source.shape}")
            if source.n_rows != n_rows:
                raise ValueError(f"{each} must have {n_rows} rows, got {source.n_rows}")
        ordered = align_rows(built if side is None else {name.removeprefix("repeats of "): side, **built})
        sources = tuple(ordered[each].to_numpy for each in built)
        _state_missing(sources)
        warn_of_other_order({f"{name}[{k}]": repeat for k, repeat in enumerate(given)})
        _warn_of_dependence(sources)
        return cls(sources)

    @cached_property
    def means(self) -> tuple[Representation, ...]:
        """The mean of all repeats, followed by the mean without each repeat."""
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


def _refuse_masked_columns(repeat: Any, name: str) -> None:
    """Refuse a matrix with columns that contain no number in any row, such as voxels outside a mask."""
    if isinstance(repeat, np.ndarray) and repeat.ndim == 2 and repeat.dtype.kind == "f" and len(repeat):
        empty = np.all(np.isnan(repeat), axis=0)
        if empty.any() and not empty.all():
            raise ValueError(
                f"{name} must be finite, got {int(empty.sum()):,} of {len(empty):,} columns without any number (NaN), "
                f"as outside a mask; leave them out, as in {name}[:, ~numpy.isnan({name}).all(axis=0)]"
            )


def _state_missing(sources: Sequence[Representation]) -> None:
    """State how many distances are known in each repeat, if some are missing."""
    known = [len(s.distances.condensed) - s.distances.n_missing for s in sources if s.has_distances_only]
    total = max((len(s.distances.condensed) for s in sources if s.has_distances_only), default=0)
    if known and min(known) < total:
        span = f"{min(known):,}" if min(known) == max(known) else f"{min(known):,} to {max(known):,}"
        state(f"distances missing (NaN): {span} of {total:,} pairs of rows known per repeat")


def _warn_of_dependence(sources: Sequence[Representation]) -> None:
    """Warn if repeats depend on one another, or if the rows of all repeats depend on their order."""
    sides = [s.distances.condensed if s.has_distances_only else s.rows for s in sources]
    warn_of_dependent_repeats(sides, CEILING_TOO_HIGH)
    if any(source.has_distances_only for source in sources):
        return
    warn_of_pair_doubts({f"repeat {k}": source for k, source in enumerate(sources[:2])}, but=("copies",))
    if signs := find_dependence([diagnostic_rows(source) for source in sources], screened=True).signs:
        warn(
            f"{CEILING_TOO_HIGH}: in all repeats, {signs}. Repeats with rows in one order agree even without a common "
            "signal if rows drift or share a donor, session or batch",
            CalibrationWarning,
        )


def _leave_one_out_means(arrays: Sequence[NDArray[np.float64]]) -> Iterator[NDArray[np.float64]]:
    """Yield the mean of all repeats, followed by the mean without each repeat."""
    yield np.mean(arrays, axis=0)
    for k in range(len(arrays)):
        yield np.mean([array for j, array in enumerate(arrays) if j != k], axis=0)


@dataclass(frozen=True)
class Ceiling:
    """Scores of the repeats of one side with their means and with one another."""

    left_out: tuple[float, ...]
    included: tuple[float, ...]
    reliability: float

    @property
    def lower(self) -> float:
        """Mean score between each repeat and the mean of the other repeats."""
        return float(np.mean(self.left_out))

    @property
    def upper(self) -> float:
        """Mean score between each repeat and the mean of all repeats."""
        return float(np.mean(self.included))


def ceiling_of_repeats(measure: Measure, repeats: Repeats, *, second: bool = False) -> Ceiling:
    """Compare the repeats with their means and with one another."""

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
    """Yield the measure's view of the mean of all repeats, followed by the mean without each repeat."""
    kind, options = measure.view_key
    for left_out in range(-1, len(views)):
        others = [view for k, view in enumerate(views) if k != left_out]
        mean = kind.average(others, **dict(options))
        yield measure.look(repeats.means[left_out + 1]) if mean is None else mean


_UNKNOWN: dict[str, Any] = dict.fromkeys(
    ("ceiling_lower", "ceiling_upper", "reliability_first", "reliability_second", "disattenuated"), math.nan
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
            None if repeat is None else Repeats.build(repeat, f"repeats of {name}", side)
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
                f"needs {memory.format_bytes(need)} of a memory budget of {memory.format_bytes(memory.memory_budget())}"
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
    return replace(score, disattenuated=over_repeats / math.sqrt(math.prod(ceiling.reliability for ceiling in known)))
