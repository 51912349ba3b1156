"""Compare two representations with several measures; measures that fit a map also get a held-out value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from shesha.calibration.permutation_scores import covariate_design
from shesha.calibration.single_pair import (
    add_doubt,
    add_saturation,
    warn_of_dependence,
    width_doubt,
)
from shesha.comparison import engine, sampled_scores
from shesha.comparison.engine import Evidence, add_note, correct_p_values, failure, require_calibrate, worst_and_best
from shesha.comparison.moment_scores import compare_moments
from shesha.comparison.noise_ceiling import SidesWithRepeats
from shesha.comparison.resumable_pairs import require_same_rows
from shesha.comparison.sampled_scores import Exact, Sampling, require_one_that_fits
from shesha.doubting import find_pair_doubts, irrelevant_doubts, state_known_columns, warn_of_doubts
from shesha.inputs import MissingRows, RowChoice, labels_in_order, validation as check
from shesha.inputs.matrix_shapes import state_shapes
from shesha.kernels.threads import single_threaded_blas
from shesha.measures import Measure, choose
from shesha.measures.cca import has_held_out, measures_held_out, score_held_out_rows
from shesha.measures.registry import Choice, metric_of_rows
from shesha.moments import Moments
from shesha.nulls.design_warnings import find_undeclared_dependence
from shesha.nulls.permutations import Design
from shesha.results import Comparison, Doubt, Doubts, Score
from shesha.support import types as kinds
from shesha.support.device_arrays import to_host
from shesha.support.progress import track
from shesha.support.provenance import keep_statements, state
from shesha.support.seeds import ALPHA, CONFIDENCE, N_PERMUTATIONS, draw_seed, number, spawn
from shesha.support.types import Index, Seed, Vector
from shesha.support.warnings import CalibrationWarning, NotEstimable, warn
from shesha.views import (
    Groups,
    Rdm,
    Representation,
    adjust_for_covariates,
    align_rows,
    aligned,
    deal_folds,
    hint_of_distances,
    select_rows,
)

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
        signs = find_undeclared_dependence([side.to_numpy.rows.reshape(side.n_rows, -1) for side in sides])
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
            return replace(score, held_out=score_held_out_rows(measure, a.rows, b.rows, fold))
    except NotEstimable as reason:
        return add_note(score, f"no held-out value: {reason}")
    except Exception as error:  # One measure's failure must not stop the others.
        return add_note(score, f"no held-out value: {failure(error)}")


_CONSTANT = 1e-9
"""Relative spread below which a null distribution is constant up to rounding."""


def add_saturation_doubt(doubts: Doubts, sides: list[Representation], scores: Mapping[str, Score]) -> Doubts:
    """Add the doubt that measures saturate, based on their null distributions."""
    # If all rows are equal, every permutation has the same score, which says nothing about the measure.
    flat = any(_has_equal_rows(side) for side in sides)
    levels = {score.name: score.chance if flat else _null_level(score) for score in scores.values()}
    known = {score.name: (levels[score.name], *worst_and_best(score)) for score in scores.values()}
    return add_saturation(doubts, known, sides)


def _has_equal_rows(side: Representation) -> bool:
    try:
        rows = to_host(side.rows)
        return bool((rows.max(axis=0) == rows.min(axis=0)).all())
    except NotEstimable:
        # There are no rows if the input is distances, or if covariates were removed from distances.
        return False


def _null_level(score: Score) -> float:
    """Return the mean of the null, or the best value if every matching of the rows has the same score."""
    constant = score.chance_sd <= _CONSTANT * abs(score.chance)
    return worst_and_best(score)[1] if constant else score.chance


_MANY = 5
"""Number of measures from which on the checks for doubts include those that rank all distances."""


@dataclass(frozen=True)
class PairRequest:
    """The arguments of `compare`, checked as far as this is possible without the data."""

    names: tuple[str, str]
    measures: list[Measure]
    sampling: Sampling
    design: Design
    calibrate: bool
    confidence: float
    n_permutations: int
    alpha: float
    seed: Seed
    permutations: ArrayLike | None = None
    repeats: tuple[Any, Any] | None = None
    covariates: ArrayLike | Rdm | None = None
    folds: int | None = None
    checked: tuple[str, ...] = ()
    """Doubts that the caller checks, because they concern more rows than these."""

    @property
    def additions(self) -> dict[str, Any]:
        """Options that add values to the scores and cannot be combined with a sample."""
        names = ("calibrate", "repeats", "covariates", "folds")
        return {name: getattr(self, name) for name in names}


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
    estimated, seconds = sampled_scores.to_sample(request.measures, X, Y, request.sampling, request.additions)
    exact = [measure for measure in request.measures if measure not in estimated]
    require_one_that_fits(X, Y, exact)
    sources = align_rows({first: Representation.build(X, first), second: Representation.build(Y, second)})
    require_same_rows(sources)
    _state_known_pairs(list(sources.values()))
    state_shapes({name: source.shape for name, source in sources.items()})
    for option in ("folds", "repeats"):
        if request.covariates is not None and getattr(request, option) is not None:
            raise ValueError(f"{option} must be left out with covariates, got both")
    repeated = None
    if request.repeats is not None:
        repeated = SidesWithRepeats.build(request.repeats, request.names, (sources[first], sources[second]))
    sides, known = adjust_for_covariates(list(sources.values()), request.covariates)
    sources = dict(zip(sources, sides, strict=True))
    work = engine.group_by_view(exact, {measure.name: [request.names] for measure in exact}, sides)
    skipped = engine.too_large(work, sources)
    design = cast(Design, labels_in_order((side.names for side in sides), request.design))
    n_rows = sides[0].n_rows
    fold = draw_folds(request.measures, n_rows, request.folds, design["groups"], request.seed)
    if fold is not None:
        warn_of_leaking_folds(sides, design["groups"])
    exchanged, n_permutations, dependence = "", 0, None
    doubts_of_width: list[Doubt | None] = []
    if request.calibrate:
        evidence = Evidence.draw(
            n_rows,
            request.n_permutations,
            request.alpha,
            request.confidence,
            request.seed,
            design=covariate_design(design, request.permutations, known),
            permutations=request.permutations,
        )
        exchanged, n_permutations = evidence.exchanged, len(evidence.orders)
        dependence = warn_of_dependence(sides, design, request.permutations)
        draws: engine.Nulls = {}
        steps = engine.run_with_evidence(work, sources, skipped, evidence, draws)
        found, interrupted = engine.collect(steps, engine.n_steps(work, evidence))
        # A later score of a measure replaces the earlier one.
        found = correct_p_values({score.name: score for score in found}.values(), draws)
        if nulls is not None:
            nulls |= {measure: values for (measure, _), values in draws.items()}
    else:
        require_calibrate(design if fold is None else {**design, "groups": None}, request.permutations)
        plain = _check_width(engine.run(work, sources, skipped), sides, doubts_of_width)
        found, interrupted = engine.collect(plain, sum(len(group.measures) for group in work))
    scores = {score.name: score for score in found}
    if not interrupted:
        if estimated:
            sampled, interrupted = sampled_scores.sample_pair(
                estimated, sides, request.names, request.sampling, calibrate=request.calibrate
            )
            scores |= sampled
        scores = scores if fold is None else add_held_out(scores, request.measures, sides, fold)
    only_cheap = len(request.measures) < _MANY and not request.calibrate
    but = (*request.checked, *irrelevant_doubts(measure.invariant for measure in request.measures))
    doubts = find_pair_doubts(sides, design, dependence, only_cheap=only_cheap, names=request.names, but=but)
    if request.calibrate:
        doubts = add_saturation_doubt(doubts, sides, scores)
    warn_of_doubts(doubts, only_state=not request.calibrate)
    for doubt in doubts_of_width:
        doubts = add_doubt(doubts, doubt)
    if repeated is not None and not interrupted:
        interrupted = _add_ceilings(repeated, work, scores)

    def as_listed(measure: Measure) -> Score:
        """Return the score with what all scores of the comparison share, so that it can be read by itself."""
        score = scores.get(measure.name) or engine.score_not_reached(measure)
        tested: dict[str, Any] = {"alpha": request.alpha, "exchanged": exchanged} if score.has_null else {}
        interval: dict[str, Any] = {"confidence": request.confidence} if score.has_interval else {}
        return replace(score, n_rows=n_rows, **tested, **interval)

    return Comparison(
        first,
        second,
        (sources[first].shape, sources[second].shape),
        scores=tuple(map(as_listed, request.measures)),
        seed=number(request.seed),
        interrupted=interrupted,
        exchanged=exchanged,
        doubts=doubts,
        folds=request.folds,
        alpha=request.alpha,
        confidence=request.confidence,
        n_draws=n_permutations,
        exact_seconds=seconds,
    )


def _check_width(
    steps: Iterator[Score], sides: Sequence[Representation], doubts: list[Doubt | None]
) -> Iterator[Score]:
    """Pass each score on; while the views of CKA are in memory, check whether its value is mostly chance."""
    for step in steps:
        if step.name == "CKA":
            doubts.append(width_doubt(sides, step.value))
        yield step


def _add_ceilings(repeated: SidesWithRepeats, work: Sequence[engine.Group], scores: dict[str, Score]) -> bool:
    """Add noise ceilings from the repeats to the scores; return whether Ctrl-C interrupted this."""
    try:
        for group in track(work, len(work), "repeats"):
            scores.update((score.name, score) for score in repeated.add_ceilings(group, scores))
    except KeyboardInterrupt:
        return True
    return False


MOST_ROWS_TESTED = 2_000
"""Largest number of rows for which the default computes chance levels and intervals, in about two processor seconds."""


@keep_statements
def compare(
    X: ArrayLike | Rdm | Moments,
    Y: ArrayLike | Rdm | Choice | Iterable[Choice] | None = None,
    measures: Choice | Iterable[Choice] | None = None,
    *,
    names: tuple[str, str] = ("X", "Y"),
    calibrate: bool | None = None,
    confidence: float = CONFIDENCE,
    n_permutations: int = N_PERMUTATIONS,
    alpha: float = ALPHA,
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
    exact: Exact = "auto",
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    seed: Seed = 0,
) -> Comparison:
    """Compare two representations of the same inputs with several measures.

    By default, these are the three recommended measures: unbiased CKA, RSA and mutual kNN. Each view (ranked distances,
    neighbours, ...) is computed once for all measures that use it. If a measure fails or cannot be computed from the
    data, its value is NaN with a reason, and the other measures are still computed. A measure that would exceed the
    memory budget is estimated from a sample of rows or pairs, with the standard error in its note. If no estimate is
    possible, it is left out, with a warning at the start. Arrays in files that do not fit in memory (mapped .npy files,
    Zarr arrays) are read in pieces. After Ctrl-C, the results so far are returned. A measure that was in progress keeps
    whatever was computed (value or interval), with a note.

    Parameters
    ----------
    X, Y : arrays of shape (n_samples, n_features), or Rdm
        Representations of the same inputs, row by row. Rows with names (an index, obs_names) are matched by name, with
        a `RowNamesWarning`; see `docs/files.md`. Widths may differ. Token sequences (n, tokens, d) and feature maps (n,
        channels, h, w) are folded as in the ReSi benchmark. `shesha.Rdm` marks distances between rows. A
        `shesha.Moments` object summarises both representations, for any number of rows. From it, ``compare(moments,
        measures)`` computes exactly those measures that depend only on means and products (CKA, CCA, Procrustes,
        regression, spectra). With `calibrate`, the intervals then leave out one stretch of rows at a time
        (delete-a-group jackknife). The p-value of CKA uses the exact mean and variance over all permutations; other
        p-values use draws from the limiting distribution for many rows.
    measures : str, measure or sequence of them, optional
        'recommended', 'standard' (all measures whose cost grows at most as n^2 d, except RTD), 'all', a family
        ('neighbours'), a group ('ReSi'), a name that may include options ('mutual kNN(k=20)'), functions of
        `shesha.measures`, or your own f(X, Y) -> float, whose higher values must mean more similar. Default: the
        recommended measures; for distances, RSA and mutual kNN; for `Moments`, the standard measures.
    names : pair of str
        Names of X and Y in the table.
    calibrate : bool, optional
        Whether to add an interval, and the chance level, p-value and calibrated score as in `shesha.calibrate`.
        Default: True for up to 2,000 rows if `measures` is left out. The `corrected_p_value` accounts for the number of
        measures (step-down maximum over the permutations that all measures share). If X and Y are unrelated, the
        probability that any corrected p-value is at most alpha is alpha.
        Calibration takes as long as hundreds of comparisons.
    confidence : float
        Confidence level of the intervals, in (0, 1): how often they contain the mean value over samples of this size.
        The delete-d jackknife uses 50 random subsets of four fifths of the rows. The half-width is a quantile of
        Student's t, times twice the standard deviation of the subsets' values. Intervals stay within the measure's
        bounds. They assume independent rows, and are too narrow if a few outliers dominate the value or if there are
        only slightly more rows than features. `docs/intervals.md` reports the measured coverage.
    n_permutations, alpha, blocks, groups, within, shift, block_length, permutations
        As for `shesha.calibrate`. All require `calibrate`, except that `groups` also applies to `folds`. If groups or
        time series are declared, intervals leave out whole groups or whole stretches of the series.
    repeats : pair of (array of shape (k, n_samples, n_features), or sequence of k matrices or Rdm), optional
        Repeated measurements of X and of Y, or (repeats of X, None) if only X is noisy. Each score then also has its
        mean over the repeats, its noise ceiling (see `shesha.noise_ceiling`), and the reliability, which is the mean
        score between two repeats. If both sides are noisy, the ceiling is the product of their ceilings. The
        noise-corrected value is the mean over the repeats divided by the square root of each side's reliability. It is
        NaN, with a note, if a reliability is not positive or the measure is not a similarity with maximum 1. The
        correction is exact for unbiased CKA and approximate for RSA.
    covariates
        Known common causes to regress out of both sides, as for `shesha.calibrate`; they do not require `calibrate`.
        For intervals, they are regressed out of each subset separately.
    folds : int, optional
        Number of folds for the `held_out` value of measures that fit a map (OrthProc, AngShape, ProcDist, Procrustes
        similarity, AlignCos, CCA, SVCCA, LinReg). For each fold, the map is fitted to the rows outside it and applied
        to those inside; one value is then computed from all folds together. With as many features as rows, any data fit
        almost perfectly, but the held-out value is not inflated in this way. Rows of a group stay in one fold. Default:
        no held-out values.
    queries : int, optional
        Number of random query rows from which measures based on neighbours are estimated. Each query is compared with
        all rows; see `docs/how_to/many_rows.md`.
    pairs : int, optional
        Number of random pairs of rows from which measures based on distances are estimated (RSA, RDM drift, distance
        correlation, RSMDiff with norm='frobenius').
    error : float, optional
        Target Monte Carlo standard error: as many rows or pairs are sampled as are needed to reach it.
    exact : {'auto', True, False}
        Whether to compute exact values (True), or to estimate every measure that a sample can answer (False). 'auto'
        estimates from a sample only what would take more than a minute on this machine, or exceed the memory; the
        headline then states the error. Calibrated scores are always exact.
    rows : {'same', 'shared'}
        Whether both must have the same rows, or only the rows whose names both have are used.
    missing : {'refuse', 'drop'}
        What to do with rows that contain NaN or infinity, or only zeros: raise an error, or leave them out on all sides
        and count them. Zeros are an error only where a score needs the direction of a row.
    seed : int, Generator or None
        Seed of random measures, permutations, subsets of the rows, folds and samples.

    Returns
    -------
    Comparison
        The scores, printed as a table. `to_frame()` converts them, and `result["CKA"].value` is a single number.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> print(compare(X, 3 * X[:, ::-1], ["CKA", "HardCorr"])["CKA"])
    CKA 1
      higher is closer, possible values 0 to 1
      chance 0.1372
    """
    design = Design(blocks=blocks, groups=groups, within=within, shift=shift, block_length=block_length)
    check.fraction(confidence, "confidence", closed=False)
    check.fraction(alpha, "alpha", closed=False)
    n_permutations = check.count(n_permutations, "n_permutations")
    if isinstance(X, Moments):
        unused = {**design, "permutations": permutations, "repeats": repeats}
        unused |= {"covariates": covariates, "folds": folds, "queries": queries, "pairs": pairs, "error": error}
        unused |= {"exact": None if exact == "auto" else "exact"}
        if used := sampled_scores.list_requested_options(unused):
            raise ValueError(f"{', '.join(used)} must be left out with Moments, which lack single rows, got {used[0]}")
        return compare_moments(
            X,
            seed_measures(choose(cast(Choice, (measures or "standard") if Y is None else Y)), seed),
            calibrate=bool(calibrate),
            confidence=confidence,
            n_draws=n_permutations,
            alpha=alpha,
            seed=seed,
        )
    if Y is None:
        raise TypeError("Y must be a second representation, got None; only Moments need no Y")
    Y = cast(ArrayLike | Rdm, Y)
    both_names = two_names(names)
    is_default = measures is None and calibrate is None
    along: dict[str, Any] = {**design, "covariates": covariates}
    if measures is None:
        measures = ["RSA", "mutual kNN"] if isinstance(X, Rdm) or isinstance(Y, Rdm) else "recommended"
    chosen = seed_measures(choose(measures), seed)
    named = dict(zip(both_names, (X, Y), strict=True))
    sides, along = select_rows(named, along, rows=rows, missing=missing, **metric_of_rows(chosen))
    first, second = cast(dict[str, ArrayLike | Rdm], sides).values()
    covariates = along.pop("covariates")
    design = cast(Design, along)
    hint_of_distances(sides)
    if rows == "same" and covariates is None and within is None:
        for name, side in named.items():
            state_known_columns(side, {name: sides[name]})
    n_rows = max(map(_n_rows, (first, second)))
    if calibrate is None:
        sampled = exact is False or any(one is not None for one in (folds, queries, pairs, error))
        calibrate = is_default and n_rows <= MOST_ROWS_TESTED and not sampled
    check.boolean(calibrate, "calibrate")
    chance = {"calibrate": calibrate, "n_draws": n_permutations, "alpha": alpha}
    request = PairRequest(
        names=both_names,
        measures=chosen,
        sampling=Sampling.build(queries, pairs, error, confidence, seed, exact),
        design=design,
        permutations=permutations,
        calibrate=calibrate,
        confidence=confidence,
        n_permutations=n_permutations,
        alpha=alpha,
        repeats=repeats,
        covariates=covariates,
        folds=folds,
        seed=seed,
    )
    sampled_scores.require_plain(request.sampling.option_names, request.additions)
    others = {**design, "permutations": permutations, **request.additions, "calibrate": None}
    if sampled_scores.exceeds_memory(first, second, others):
        return sampled_scores.compare_stored(first, second, both_names, request.measures, request.sampling, chance)
    return compare_in_memory(first, second, request)


def _n_rows(side: Any) -> int:
    if isinstance(side, Rdm):
        return side.n_rows
    if shape := kinds.shape_of(side):
        return int(shape[0])
    return len(side) if kinds.is_sequence(side) else 0


def two_names(names: Any) -> tuple[str, str]:
    """Return the names of both sides as text; refuse anything but two different names."""
    if not isinstance(names, tuple | list) or len(names) != 2 or str(names[0]) == str(names[1]):
        raise ValueError(f"names must be two different names, got {names!r}")
    return str(names[0]), str(names[1])


def seed_measures(chosen: list[Measure], seed: Seed) -> list[Measure]:
    """Give all random measures the same seed, so that they treat all representations alike."""
    # One number can seed all measures, because each draws different quantities; calling a measure directly with this
    # seed gives the same value.
    measure_seed = draw_seed(seed)
    return [measure.with_seed(measure_seed) for measure in chosen]
