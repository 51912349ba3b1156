"""Compare two representations in memory: exact scores, estimates, chance levels and doubts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from shesha.calibration.calibrated_pair_doubts import add_doubt, doubts_of_pair, warn_of_doubts, width_doubt
from shesha.calibration.calibration_input import covariate_design
from shesha.calibration.dependence_warnings import warn_of_dependence
from shesha.comparison import _calibration_steps as calibrated
from shesha.comparison import engine, estimation_choice
from shesha.comparison._resumable_runs import require_same_rows
from shesha.comparison.chance_and_intervals import Evidence, correct_p_values, require_calibrate
from shesha.comparison.held_out import add_held_out, draw_folds, warn_of_leaking_folds
from shesha.comparison.memory_needs import require_one_that_fits
from shesha.comparison.noise_corrected_scores import SidesWithRepeats
from shesha.comparison.sampled_scores import Sampling
from shesha.comparison.saturation_doubt import add_saturation_doubt
from shesha.inputs import labels_in_order
from shesha.inputs.matrix_shapes import state_shapes
from shesha.measures import Measure
from shesha.nulls.permutations import Design
from shesha.results import Comparison, Dependence, Doubt, Doubts, PairScore, Score
from shesha.support.progress import track
from shesha.support.provenance import state
from shesha.support.seeds import number
from shesha.support.types import Seed, Vector
from shesha.views import Covariates, Rdm, Representation, adjust_for_covariates, align_rows

_MANY = 5
"""Number of measures from which on the checks for doubts include those that rank all distances."""


@dataclass(frozen=True)
class PairRequest:
    """The arguments of `compare`, checked as far as this is possible without the data."""

    names: tuple[str, str]
    measures: list[Measure]
    sampling: Sampling
    design: Design
    permutations: ArrayLike | None
    calibrate: bool
    confidence: float
    n_permutations: int
    alpha: float
    repeats: tuple[Any, Any] | None
    covariates: ArrayLike | Rdm | None
    folds: int | None
    seed: Seed

    @property
    def additions(self) -> dict[str, Any]:
        """Options that add values to the scores and cannot be combined with a sample."""
        names = ("calibrate", "repeats", "covariates", "folds")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class _ExactScores:
    """Scores computed without sampling, with the detected dependence and a doubt about CKA."""

    scores: dict[str, Score]
    interrupted: bool
    exchanged: str = ""
    n_permutations: int = 0
    dependence: Dependence | None = None
    width: Doubt | None = None
    nulls: Mapping[str, Vector] = field(default_factory=dict)
    """For each measure, the observed score followed by the score of each draw."""


def _state_known_pairs(sides: Sequence[Representation]) -> None:
    """State how many pairs of rows have a distance on both sides, if some distances are missing."""
    missing = [np.isnan(side.distances.condensed) for side in sides if side.has_distances_only]
    lacking = np.any(missing, axis=0) if missing else np.zeros(1, dtype=bool)
    if lacking.any():
        n = len(lacking)
        state(f"{n - int(lacking.sum()):,} of {n:,} pairs of rows have a distance on both sides")


def compare_in_memory(
    X: ArrayLike | Rdm, Y: ArrayLike | Rdm, request: PairRequest, nulls: dict[str, Vector] | None = None
) -> Comparison:
    """Compare two representations whose rows are in memory; put the draws of each measure into `nulls`, if passed."""
    first, second = request.names
    estimated = estimation_choice.to_sample(request.measures, X, Y, request.sampling, request.additions)
    exact = [measure for measure in request.measures if measure not in estimated]
    require_one_that_fits(X, Y, exact)
    sources = align_rows({first: Representation.build(X, first), second: Representation.build(Y, second)})
    require_same_rows(sources)
    _state_known_pairs(list(sources.values()))
    state_shapes({name: source.shape for name, source in sources.items()})
    _refuse_with_covariates(request.covariates, folds=request.folds, repeats=request.repeats)
    repeated = _sides_with_repeats(request, sources)
    sides, known = adjust_for_covariates(list(sources.values()), request.covariates)
    sources = dict(zip(sources, sides, strict=True))
    work = engine.group_by_view(exact, {measure.name: [request.names] for measure in exact}, sides)
    skipped = engine.too_large(work, sources)
    design = cast(Design, labels_in_order((side.names for side in sides), request.design))
    fold = draw_folds(request.measures, sides[0].n_rows, request.folds, design["groups"], request.seed)
    if fold is not None:
        warn_of_leaking_folds(sides, design["groups"])
    if request.calibrate:
        found = _score_with_chance(request, work, sources, skipped, design, known)
        if nulls is not None:
            nulls |= found.nulls
    else:
        require_calibrate(design if fold is None else {**design, "groups": None}, request.permutations)
        found = _score(work, sources, skipped)
    scores, interrupted = found.scores, found.interrupted
    if not interrupted:
        scores |= estimation_choice.sample_pair(estimated, sides, request.names, request.sampling) if estimated else {}
        scores = scores if fold is None else add_held_out(scores, request.measures, sides, fold)
    doubts = _doubts(request, sides, design, found, scores)
    if repeated is not None and not interrupted:
        interrupted = _add_ceilings(repeated, work, scores)
    return Comparison(
        first,
        second,
        (sources[first].shape, sources[second].shape),
        tuple(scores.get(measure.name) or engine.score_not_reached(measure) for measure in request.measures),
        number(request.seed),
        interrupted,
        found.exchanged,
        doubts,
        request.folds,
        request.alpha,
        request.confidence,
        found.n_permutations,
    )


def _sides_with_repeats(request: PairRequest, sources: engine.Sources) -> SidesWithRepeats | None:
    """Return both sides with their repeated measurements, or None if there are none."""
    if request.repeats is None:
        return None
    first, second = request.names
    return SidesWithRepeats.build(request.repeats, request.names, (sources[first], sources[second]))


def _score_with_chance(
    request: PairRequest,
    work: Sequence[engine.Group],
    sources: engine.Sources,
    skipped: engine.Skipped,
    design: Design,
    known: Covariates | None,
) -> _ExactScores:
    """Compute the scores with their chance levels and intervals."""
    sides = list(sources.values())
    evidence = Evidence.draw(
        sides[0].n_rows,
        request.n_permutations,
        request.alpha,
        request.confidence,
        request.seed,
        design=covariate_design(design, request.permutations, known),
        permutations=request.permutations,
    )
    dependence = warn_of_dependence(sides, design, request.permutations)
    nulls: calibrated.Nulls = {}
    steps = calibrated.run(work, sources, skipped, evidence, nulls)
    pair_scores, interrupted = engine.collect(steps, calibrated.n_steps(work, evidence))
    # A later score of a measure replaces the earlier one.
    latest = {pair_score.score.measure: pair_score for pair_score in pair_scores}
    scores = {pair.score.measure: pair.score for pair in correct_p_values(latest.values(), nulls)}
    draws = {measure: values for (measure, _), values in nulls.items()}
    return _ExactScores(scores, interrupted, evidence.exchanged, len(evidence.orders), dependence, nulls=draws)


def _score(work: Sequence[engine.Group], sources: engine.Sources, skipped: engine.Skipped) -> _ExactScores:
    """Compute scores without chance levels, and check whether CKA is mostly chance."""
    wide: list[Doubt | None] = []
    steps = _check_width(engine.run(work, sources, skipped), list(sources.values()), wide)
    pair_scores, interrupted = engine.collect(steps, sum(len(group.measures) for group in work))
    scores = {pair.score.measure: pair.score for pair in pair_scores}
    return _ExactScores(scores, interrupted, width=next(iter(wide), None))


def _doubts(
    request: PairRequest,
    sides: list[Representation],
    design: Design,
    found: _ExactScores,
    scores: Mapping[str, Score],
) -> Doubts:
    """Find doubts about the scores, and warn of them if the scores are calibrated."""
    only_cheap = len(request.measures) < _MANY and not request.calibrate
    doubts = doubts_of_pair(sides, design, found.dependence, only_cheap=only_cheap)
    if not request.calibrate:
        return add_doubt(doubts, found.width)
    doubts = add_saturation_doubt(doubts, sides, scores)
    warn_of_doubts(doubts)
    return doubts


def _refuse_with_covariates(covariates: Any, **options: Any) -> None:
    """Refuse options that cannot be combined with covariates."""
    for name, value in options.items():
        if value is not None and covariates is not None:
            raise ValueError(f"{name} must be left out with covariates, got both")


def _check_width(
    steps: Iterator[PairScore], sides: Sequence[Representation], doubts: list[Doubt | None]
) -> Iterator[PairScore]:
    """Pass each score on; while the views of CKA are in memory, check whether its value is mostly chance."""
    for step in steps:
        if step.score.measure == "CKA":
            doubts.append(width_doubt(sides, step.score.value))
        yield step


def _add_ceilings(repeated: SidesWithRepeats, work: Sequence[engine.Group], scores: dict[str, Score]) -> bool:
    """Add noise ceilings from the repeats to the scores; return whether Ctrl-C interrupted this."""
    try:
        for group in track(work, len(work), "repeats"):
            scores.update((score.measure, score) for score in repeated.add_ceilings(group, scores))
    except KeyboardInterrupt:
        return True
    return False
