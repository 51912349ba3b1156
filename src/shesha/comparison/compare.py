"""Compare two representations by several measures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from numpy.typing import ArrayLike

from shesha.calibration.calibrated_pair_doubts import add_doubt, doubts_of_pair, warn_of_doubts, width_doubt
from shesha.calibration.calibration_input import covariate_design
from shesha.calibration.dependence_warnings import warn_of_dependence
from shesha.comparison import _calibrated_comparison as calibrated
from shesha.comparison import engine as engine
from shesha.comparison import estimation_choice as large
from shesha.comparison._resumable_runs import require_same_counts
from shesha.comparison.chance_and_intervals import Evidence, correct_p_values
from shesha.comparison.held_out import add_held_out, draw_folds
from shesha.comparison.memory_needs import require_one_that_fits
from shesha.comparison.moment_scores import compare_moments
from shesha.comparison.noise_corrected_scores import SidesWithRepeats
from shesha.comparison.sampled_scores import Sampling
from shesha.comparison.saturation import add_saturation_doubt
from shesha.inputs import labels_in_order
from shesha.inputs import validation as check
from shesha.measures import Measure, choose
from shesha.measures.registry import Choice
from shesha.moments import Moments
from shesha.nulls.permutations import Design, nonempty_arguments
from shesha.results import Comparison, Doubt, PairScore, Score
from shesha.support.defaults import N_PERMUTATIONS
from shesha.support.progress import track
from shesha.support.seeds import draw_seed, number
from shesha.support.types import Seed
from shesha.views import Rdm, Representation, adjust_for_covariates, align_rows, hint_of_distances

_MANY = 5
"""Smallest number of measures at which checks that rank all distances are included."""


def compare(
    X: ArrayLike | Rdm | Moments,
    Y: ArrayLike | Rdm | Choice | Iterable[Choice] | None = None,
    measures: Choice | Iterable[Choice] = "standard",
    *,
    names: tuple[str, str] = ("X", "Y"),
    calibrate: bool = False,
    confidence: float = 0.95,
    n_permutations: int = N_PERMUTATIONS,
    alpha: float = 0.05,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    within: ArrayLike | None = None,
    shift: bool = False,
    block_length: int | None = None,
    permutations: ArrayLike | None = None,
    repeats: tuple[Any, Any] | None = None,
    covariates: ArrayLike | Rdm | None = None,
    folds: int | None = None,
    queries: int | None = None,
    pairs: int | None = None,
    error: float | None = None,
    seed: Seed = 0,
) -> Comparison:
    """Compare two representations of the same inputs by several measures.

    Each view (ranked distances, neighbours, ...) is made once for all measures that look at it. A measure that the
    data cannot give, or that fails, has NaN and a reason, and does not stop the others. What would exceed the memory
    budget is estimated from a sample of rows or pairs of rows, with the error of that in its note, or is left out with
    a warning before the work starts. Rows of files that do not fit (mapped .npy files, arrays of Zarr and the like) are
    read some at a time. Ctrl-C returns what is known so far: a measure that was
    under way keeps its value, and its interval if that was done, with a note.

    Parameters
    ----------
    X, Y : arrays of shape (n_samples, n_features), or Rdm
        Row i of both is the same input, or rows have names (an index, obs_names) and are matched by them, with a
        `RowNamesWarning`: `docs/files.md`. Widths may differ. Token sequences (n, tokens, d) and feature maps (n,
        channels, h, w) are folded as the ReSi benchmark does. `shesha.Rdm` marks distances between rows.
        `shesha.Moments` hold both representations, of any number of rows: ``compare(moments, measures)`` gives the
        measures that are functions of means and products (CKA, CCA, Procrustes, regression, spectra), exactly. With
        `calibrate`, intervals leave out one stretch of rows after another (delete-a-group jackknife); CKA has a p-value
        from the exact mean and variance over all permutations, the others from draws of the limit for many rows.
    measures : str, measure or sequence of them
        'standard' (all that cost at most n^2 d: RTD only on request), 'all', a family ('neighbours'), a group ('ReSi'),
        a name, with options if wanted ('mutual kNN(k=20)'), functions of `shesha.measures`, or your own f(X, Y) ->
        float, for which higher is closer.
    names : pair of str
        Names of the two in the table.
    calibrate : bool
        Add to every line its chance level, p-value and calibrated score (as `shesha.calibrate` gives them), and an
        interval. `corrected_p_value` allows for the number of measures: if nothing links X and Y, some corrected
        p-value is at most alpha with probability alpha (step-down maximum over the permutations that all measures
        share). This takes as long as hundreds of comparisons.
    confidence : float
        Confidence of the intervals, in (0, 1): how often they contain the mean value over samples of the same size. An
        interval is the value plus and minus a multiple of the standard deviation of its values on 50 random subsets of
        four fifths of the rows (a delete-d jackknife: that deviation times 2, times a quantile of Student's t), within
        the measure's bounds. It assumes rows that are independent of one another, and is too narrow if a few outliers
        dominate the value or there are few more rows than features; `docs/intervals.md` has the measured coverage.
    n_permutations, alpha, blocks, groups, within, shift, block_length, permutations
        As for `shesha.calibrate`; only with `calibrate`, except `groups`, which also serve `folds`. Intervals leave out
        whole groups, or stretches of a series, if they are given.
    repeats : pair of (array of shape (k, n_samples, n_features), or sequence of k matrices or Rdm), optional
        Repeated measurements of X and of Y; (repeats of X, None) if only X is noisy. Adds to every line its mean value
        over the repeats, the noise ceiling of `shesha.noise_ceiling` (the product of both if both are noisy), the
        reliability (mean value of two repeats), and the value corrected for noise: that over the repeats divided by the
        roots of the reliabilities. None, with a note, if reliability is not positive or the measure is not a similarity
        of at most 1; what noise does to it is exact for unbiased CKA and near for RSA.
    covariates
        Known common causes, to be regressed out of both: as for `shesha.calibrate`, and also without `calibrate`.
        Intervals regress them out of every subset.
    folds : int, optional
        Add `held_out` to measures that fit a map (OrthProc, AngShape, ProcDist, Procrustes similarity, AlignCos, CCA,
        SVCCA, LinReg): the map is fitted on the rows outside each fold and evaluated on those inside, for all folds
        together. With as many features as rows the value of all rows is near its best for any data; the held-out value
        is not. Rows of a group stay in one fold.
    queries : int, optional
        Estimate measures of neighbours from this many random rows, each compared with all: `docs/how_to/many_rows.md`.
    pairs : int, optional
        Estimate measures of distances (RSA, RDM drift, distance correlation, RSMDiff with norm='frobenius') from this
        many random pairs of rows.
    error : float, optional
        Sample enough rows and pairs for this Monte Carlo standard error.
    seed : int, Generator or None
        Seed of random measures, permutations, subsets of the rows, folds and samples.

    Returns
    -------
    Comparison
        Prints as a table, converts with `to_frame()`; `result["CKA"].value` is one number.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> print(compare(X, 3 * X[:, ::-1], ["CKA", "HardCorr"])["CKA"])
    CKA: 1 (higher is closer, 0 to 1)
    """
    design = Design(blocks=blocks, groups=groups, within=within, shift=shift, block_length=block_length)
    if isinstance(X, Moments):
        unused = {**design, "permutations": permutations, "repeats": repeats}
        unused |= {"covariates": covariates, "folds": folds, "queries": queries, "pairs": pairs}
        large.refuse_with_moments(unused | {"error": error})
        return compare_moments(
            X,
            seed_measures(choose(cast(Choice, measures if Y is None else Y)), seed),
            calibrate=check.boolean(calibrate, "calibrate"),
            confidence=check.fraction(confidence, "confidence", closed=False),
            n_draws=check.count(n_permutations, "n_permutations"),
            alpha=check.fraction(alpha, "alpha", closed=False),
            seed=seed,
        )
    if Y is None:
        raise TypeError("Y must be a second representation, got None; only Moments need no Y")
    Y = cast(ArrayLike | Rdm, Y)
    first, second = _two_names(names)
    check.fraction(confidence, "confidence", closed=False)
    check.fraction(alpha, "alpha", closed=False)
    check.count(n_permutations, "n_permutations")
    check.boolean(calibrate, "calibrate")
    hint_of_distances({first: X, second: Y})
    chosen = seed_measures(choose(measures), seed)
    sampling = Sampling.build(queries, pairs, error, confidence, seed)
    options = {"calibrate": calibrate, "repeats": repeats, "covariates": covariates, "folds": folds}
    large.require_plain(sampling.option_names, options)
    others = {**design, "permutations": permutations}
    if large.exceeds_memory(X, Y, {**others, **options, "calibrate": None}):
        chance = {"calibrate": calibrate, "n_draws": n_permutations, "alpha": alpha}
        return large.compare_stored(X, Y, (first, second), chosen, sampling, chance)
    estimated = large.to_sample(chosen, X, Y, sampling, options)
    require_one_that_fits(X, Y, [measure for measure in chosen if measure not in estimated])
    sources = align_rows({first: Representation.build(X, first), second: Representation.build(Y, second)})
    require_same_rows(sources)
    _refuse_with_covariates(covariates, folds=folds, repeats=repeats)
    repeated = (
        None if repeats is None else SidesWithRepeats.build(repeats, (first, second), (sources[first], sources[second]))
    )
    both, known = adjust_for_covariates(list(sources.values()), covariates)
    sources = dict(zip(sources, both, strict=True))
    exact = [measure for measure in chosen if measure not in estimated]
    work = engine.group_by_view(exact, {measure.name: [(first, second)] for measure in exact})
    skipped = engine.too_large(work, sources)
    design = cast(Design, labels_in_order((side.names for side in sources.values()), design))
    fold = draw_folds(chosen, both[0].n_rows, folds, design["groups"], seed)
    if calibrate:
        evidence = Evidence.draw(
            sources[first].n_rows,
            n_permutations,
            alpha,
            confidence,
            seed,
            design=covariate_design(design, permutations, known),
            permutations=permutations,
        )
        dependence = warn_of_dependence(list(sources.values()), design, permutations)
        nulls: calibrated.Nulls = {}
        steps = calibrated.run(work, sources, skipped, evidence, nulls)
        pair_scores, interrupted = collect(steps, calibrated.n_steps(work, evidence))
        # A later score of a measure replaces the earlier one.
        pair_scores = correct_p_values(
            {pair_score.score.measure: pair_score for pair_score in pair_scores}.values(), nulls
        )
    else:
        require_calibrate(design if fold is None else {**design, "groups": None}, permutations)
        wide: list[Doubt | None] = []
        pair_scores, interrupted = collect(_check_width(engine.run(work, sources, skipped), both, wide), len(exact))
    scores = {pair.score.measure: pair.score for pair in pair_scores}
    if estimated and not interrupted:
        scores |= large.sample_pair(estimated, both, (first, second), sampling)
    if fold is not None and not interrupted:
        scores = add_held_out(scores, chosen, both, fold)
    few = len(chosen) < _MANY and not calibrate
    doubts = doubts_of_pair(list(sources.values()), design, dependence if calibrate else None, only_cheap=few)
    if calibrate:
        doubts = add_saturation_doubt(doubts, list(sources.values()), scores)
        warn_of_doubts(doubts)
    else:
        doubts = add_doubt(doubts, next(iter(wide), None))
    if repeated is not None and not interrupted:
        interrupted = _add_ceilings(repeated, work, scores)
    return Comparison(
        first,
        second,
        (sources[first].shape, sources[second].shape),
        tuple(scores.get(measure.name) or engine.score_not_reached(measure) for measure in chosen),
        number(seed),
        interrupted,
        evidence.exchanged if calibrate else "",
        doubts,
        folds,
    )


def _two_names(names: Any) -> tuple[str, str]:
    """Return the names of both sides as text; refuse others than two different ones."""
    if not isinstance(names, tuple | list) or len(names) != 2 or str(names[0]) == str(names[1]):
        raise ValueError(f"names must be two different names, got {names!r}")
    return str(names[0]), str(names[1])


def _refuse_with_covariates(covariates: Any, **options: Any) -> None:
    """Refuse options that exclude covariates."""
    for name, value in options.items():
        if value is not None and covariates is not None:
            raise ValueError(f"{name} must be left out with covariates, got both")


def _check_width(
    steps: Iterator[PairScore], sides: Sequence[Representation], doubts: list[Doubt | None]
) -> Iterator[PairScore]:
    """Pass the scores on, and check whether CKA is mostly chance while its views are in memory."""
    for step in steps:
        if step.score.measure == "CKA":
            doubts.append(width_doubt(sides, step.score.value))
        yield step


def _add_ceilings(repeated: SidesWithRepeats, work: Sequence[engine.Group], scores: dict[str, Score]) -> bool:
    """Compare the values with the noise ceiling of repeats; return whether Ctrl-C interrupted it."""
    try:
        for group in track(work, len(work), "repeats"):
            scores.update((score.measure, score) for score in repeated.add_ceilings(group, scores))
    except KeyboardInterrupt:
        return True
    return False


def require_calibrate(design: Design, permutations: ArrayLike | None) -> None:
    """Refuse a design without calibration."""
    arguments = [*nonempty_arguments(design), *(["permutations"] if permutations is not None else [])]
    if arguments:
        raise ValueError(f"calibrate must be True with {' and '.join(arguments)}, got False")


def seed_measures(chosen: list[Measure], seed: Seed) -> list[Measure]:
    """Give all random measures one seed, so that they make the same choices for all representations."""
    # One number serves all: their draws are of different kinds, and it gives the same as a direct call.
    measure_seed = draw_seed(seed)
    return [measure.with_seed(measure_seed) for measure in chosen]


def require_same_rows(sources: dict[str, Representation]) -> None:
    """Refuse representations of different inputs."""
    require_same_counts({name: source.n_rows for name, source in sources.items()})


def collect(steps: Iterator[calibrated.Step], total: int) -> tuple[list[PairScore], bool]:
    """Collect the scores; Ctrl-C keeps those so far."""
    pair_scores: list[PairScore] = []
    try:
        pair_scores.extend(step for step in track(steps, total, "comparing") if step is not None)
    except KeyboardInterrupt:
        return pair_scores, True
    return pair_scores, False
