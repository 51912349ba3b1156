"""Rank models by how well they explain data: the user-facing function."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from shesha.comparison.noise_ceiling import Repeats, ceiling_of_repeats
from shesha.doubting import diagnostic_rows, irrelevant_doubts, warn_of_pair_doubts
from shesha.inputs import MissingRows, RowChoice, labels_in_order, validation as check
from shesha.inputs.matrix_shapes import hint_of_transpose
from shesha.kernels.distances import n_pairs
from shesha.kernels.ranks import SortedVectors, weighted_correlations
from shesha.measures import as_measure
from shesha.measures.registry import Choice
from shesha.nulls.dependence import find_dependence
from shesha.nulls.design_builder import exchange
from shesha.nulls.design_warnings import CEILING_TOO_HIGH, warn_of_dependent_repeats
from shesha.nulls.null_summary import CORRECTIONS, Correction, benjamini_hochberg, holm
from shesha.ranking.flexible_models import FlexibleModels
from shesha.ranking.problem import FEWEST_UNITS, DistanceVectors, Evaluations, Problem
from shesha.ranking.resampling import RANKED_AGAIN, chance_p_values, evaluate_distances, evaluate_subsets, fewer_rows
from shesha.results.base import reaches_level
from shesha.results.comparison import REVERSED
from shesha.results.model_ranking import ModelCombination, ModelDifference, ModelRanking, RankedModel, WeightsOf
from shesha.stability.row_matching import PairCount, check_pairs
from shesha.support import provenance, types as kinds
from shesha.support.provenance import keep_statements
from shesha.support.seeds import ALPHA, CONFIDENCE, N_PERMUTATIONS, number, spawn
from shesha.support.types import Index, Matrix, Seed, Vector
from shesha.support.warnings import CalibrationWarning, NotEstimable, warn
from shesha.support.wording import count, join_items
from shesha.views import Rdm, Representation, align_rows, check_named_arrays, hint_of_distances, select_layer_rows
from shesha.views.representation import look_like_similarities, looks_like_distances

_EVIDENCE_FIELDS = ("p_value", "corrected_p_value", "p_ceiling", "alone", "unique", "unique_low", "unique_high")


def rank_with_ties(
    problem: Problem,
    evaluations: Evaluations,
    pairs: Sequence[ModelDifference],
    chance: Matrix,
    alpha: float,
    confidence: float,
) -> tuple[RankedModel, ...]:
    """Return the models, closest first, each with its range of ranks given the significant differences."""
    sign = 1.0 if problem.measure.higher_is_closer else -1.0
    low, high = problem.measure.bounds
    better, worse = _beaten(problem, pairs, sign, alpha)
    n, values = len(problem.names), evaluations.models
    lines = _Lines.build(evaluations, confidence, problem.measure.higher_is_closer)
    table = np.column_stack([chance, lines.p_ceiling, lines.shares])
    listed = [
        RankedModel(
            name=name,
            value=float(values.means[k]),
            low=float(np.clip(lines.low[k], low, high)),
            high=float(np.clip(lines.high[k], low, high)),
            confidence=confidence,
            rank_low=1 + better[name],
            rank_high=n - worse[name],
            **cast(Any, dict(zip(_EVIDENCE_FIELDS, evidence, strict=True))),
        )
        for k, (name, evidence) in enumerate(zip(problem.names, table.tolist(), strict=True))
    ]
    return tuple(sorted(listed, key=lambda model: -sign * model.value if model.value == model.value else np.inf))


def _beaten(
    problem: Problem, pairs: Sequence[ModelDifference], sign: float, alpha: float
) -> tuple[dict[str, int], dict[str, int]]:
    """For each model, count the significantly better models and the significantly worse ones."""
    better, worse = dict.fromkeys(problem.names, 0), dict.fromkeys(problem.names, 0)
    for pair in pairs:
        if reaches_level(pair.corrected_p_value, alpha):
            first, second = (pair.first, pair.second) if sign * pair.value > 0 else (pair.second, pair.first)
            worse[first] += 1
            better[second] += 1
    return better, worse


@dataclass(frozen=True)
class _Lines:
    """Additional results for each model."""

    low: Vector
    high: Vector
    p_ceiling: Vector
    shares: Matrix
    """Variance explained alone, variance explained uniquely, and the interval limits of the latter."""

    @classmethod
    def build(cls, evaluations: Evaluations, confidence: float, higher_is_closer: bool) -> _Lines:
        n = evaluations.n_models
        empty, resampled = np.full(n, np.nan), evaluations.values.n_resamples > 0
        low, high = evaluations.models.intervals(confidence) if resampled else (empty, empty)
        p_ceiling = empty
        if evaluations.has_ceiling and resampled:
            p_ceiling = evaluations.gap_to_ceiling.p_values("below" if higher_is_closer else "above")
        if (shares := evaluations.shares) is None:
            return cls(low, high, p_ceiling, np.full((n, 4), np.nan))
        means = shares.means
        ends = shares.intervals(confidence) if shares.n_resamples else [np.full(len(means), np.nan)] * 2
        # The shares are those of the models, of which flexible ones are sums.
        m = len(means) // 2
        unique_low, unique_high = (end[m : 2 * m] for end in ends)
        table = np.full((n, 4), np.nan)
        table[:m] = np.column_stack(
            [means[:m], means[m : 2 * m], np.maximum(unique_low, 0), np.minimum(unique_high, 1)]
        )
        return cls(low, high, p_ceiling, table)


_REPEATS = 10
"""Number of random divisions into folds. Several are needed, because the held-out value varies between divisions."""
_FEWEST = 4
"""Smallest number of rows in a test fold; fewer rows would give too few pairs."""

MOST_PAIRS = 200_000
"""Largest number of pairs in the folds. If there are more, a random sample is used, with an error of about 0.002."""


@dataclass(frozen=True)
class _Fold:
    """Training and test pairs of rows, and the sets of training and test subjects to combine them with."""

    train: Vector
    test: Vector
    subjects: tuple[tuple[Index, Index], ...]


def combine_models(
    problem: Problem, rng: np.random.Generator, vectors: DistanceVectors, weights_of: WeightsOf
) -> ModelCombination | None:
    """Fit non-negative model weights and score them on held-out data; None for one model or few rows."""
    if len(problem.models) < 2 or problem.n_units < 2 * _FEWEST:
        return None
    if vectors.n_pairs > MOST_PAIRS and not problem.exact:
        vectors = vectors.take(np.sort(rng.choice(vectors.n_pairs, MOST_PAIRS, replace=False)))
    folds = [fold for _ in range(_REPEATS) for fold in _folds(vectors, rng, weights_of)]
    weights, held_out = zip(*(tried for fold in folds for tried in _try_fold(vectors, fold)), strict=True)
    scores = np.nanmean(np.stack(held_out), axis=0)
    singles = scores[1:]
    best = int(np.nanargmax(singles) if problem.measure.higher_is_closer else np.nanargmin(singles))
    mean = np.mean(np.stack(weights), axis=0)
    return ModelCombination(
        value=float(scores[0]),
        best_single=list(problem.models)[best],
        best_single_value=float(singles[best]),
        weights=dict(zip(problem.models, mean.tolist(), strict=True)),
        n_folds=len(weights) // _REPEATS,
        n_divisions=_REPEATS,
        weights_of=weights_of,
    )


def _folds(vectors: DistanceVectors, rng: np.random.Generator, weights_of: WeightsOf) -> Iterator[_Fold]:
    """Divide rows (or groups) and subjects at random; every row is tested once with every subject."""
    problem = vectors.problem
    clusters, n_subjects = problem.design.clusters, len(problem.subjects)
    # The number of folds follows rsatoolbox: more if each still has enough rows.
    parts = rng.permutation(problem.n_units) % (2 + np.searchsorted([12, 24, 40], problem.n_units, "right"))
    of_row = parts[clusters]
    of_subject = rng.permutation(n_subjects) % min(n_subjects, 5)
    for row_fold in range(parts.max() + 1):
        inside = of_row == row_fold
        train, test = ((mask[vectors.i] & mask[vectors.j]).astype(float) for mask in (~inside, inside))
        yield _Fold(train, test, tuple(_subject_folds(n_subjects, of_subject, weights_of)))


def _subject_folds(n_subjects: int, of_subject: Index, weights_of: WeightsOf) -> Iterator[tuple[Index, Index]]:
    """Yield the training and the test subjects of each fold; a single subject serves as both."""
    subjects = np.arange(n_subjects)
    if n_subjects == 1 or weights_of == "each subject":
        yield from ((subjects[[k]], subjects[[k]]) for k in range(n_subjects))
        return
    for fold in range(of_subject.max() + 1):
        yield subjects[of_subject != fold], subjects[of_subject == fold]


def _try_fold(vectors: DistanceVectors, fold: _Fold) -> Iterator[tuple[Vector, Vector]]:
    """For each set of subjects, yield the weights and the held-out scores of combination and models."""
    n_models, n_subjects = len(vectors.problem.models), len(vectors.problem.subjects)
    lines = vectors.lines.values[: n_models + n_subjects]
    models = lines[:n_models, fold.train > 0]
    unit, lengths = _standardise(lines[:, fold.train > 0]), _lengths(models)
    held_out = lines[:, fold.test > 0]
    ranks = _rank_lines(vectors, held_out)
    for trained, tested in fold.subjects:
        weights = _weights(unit[:n_models], unit[n_models:][trained].mean(axis=0), lengths)
        combined = _rank_lines(vectors, (weights @ held_out[:n_models])[None])
        yield weights, _scores(vectors, np.vstack([combined, ranks[:n_models]]), ranks[n_models:][tested])


def add_flexible(
    problem: Problem, flexible: Mapping[str, Sequence[str]] | None, weights_of: WeightsOf, rng: np.random.Generator
) -> tuple[Problem, list[str]]:
    """Add weighted sums of models, and state their mean weights in notes. Distances have unit spread."""
    named = {} if flexible is None else kinds.mapping(flexible, "flexible")
    parts = {str(name): kinds.several(of, str, f"flexible[{name!r}]", "names") for name, of in named.items()}
    for name, of in parts.items():
        if name in problem.models or len(set(of)) < 2 or not {*of} <= {*problem.models}:
            raise ValueError(
                f"flexible must give a new name to at least 2 models of {join_items(problem.models)}, got "
                f"{{{name!r}: {of}}}"
            )
    if not parts:
        return problem, []
    if not problem.uses_correlated_distances or problem.n_units < 2 * _FEWEST:
        raise ValueError(
            f"flexible must be None unless the measure correlates distances of at least {2 * _FEWEST} rows (or "
            f"groups), got {problem.measure.name} and {problem.n_units}"
        )
    look: Any = problem.measure.look
    models, units = (
        np.array([look(side).ranks for side in sides]) for sides in (problem.models.values(), problem.subjects)
    )
    if np.isnan(models).any() or np.isnan(units).any():
        raise ValueError("flexible must be None if distances are missing (NaN), got missing ones")
    own = weights_of == "each subject" or len(units) == 1
    places = {name: [problem.names.index(part) for part in of] for name, of in parts.items()}
    fitted = FlexibleModels.build(places, units if own else units.sum(axis=0) - units, problem.design.clusters, rng)
    notes = []
    for name, (_, weights) in fitted.fit(models).items():
        means = zip(parts[name], weights.mean(axis=(0, 1)), strict=True)
        shares = ", ".join(f"{part} {share:.2f}" for part, share in means)
        whose = "each subject" if own else "the other subjects"
        notes.append(f"{name} is a weighted sum of models, fitted to other rows of {whose} (mean weights: {shares}).")
    return replace(problem, flexible=fitted, pairs=n_pairs(problem.n_rows)), notes


def _weights(unit_models: Matrix, target: Vector, lengths: Vector) -> Vector:
    """Non-negative model weights that best fit the target, scaled to sum 1."""
    weights, _ = nnls(unit_models.T, target)
    scaled: Vector = weights / lengths
    return scaled / scaled.sum() if scaled.sum() > 0 else np.full(len(lengths), 1 / len(lengths))


def _lengths(lines: Matrix) -> Vector:
    norms: Vector = np.linalg.norm(lines - lines.mean(axis=1, keepdims=True), axis=1)
    return np.where(norms > 0, norms, 1.0)


def _standardise(lines: Matrix) -> Matrix:
    centred: Matrix = (lines - lines.mean(axis=1, keepdims=True)) / _lengths(lines)[:, None]
    return centred


def _rank_lines(vectors: DistanceVectors, lines: Matrix) -> Matrix:
    return SortedVectors.build(lines).ranks(np.ones(lines.shape[1])) if vectors.ranked else lines


def _scores(vectors: DistanceVectors, tried: Matrix, data: Matrix) -> Vector:
    """Mean score of each line over the held-out subjects."""
    correlations = weighted_correlations(np.vstack([tried, data]), np.ones(tried.shape[1]))
    scores: Vector = vectors.score(correlations[len(tried) :, : len(tried)]).mean(axis=0)
    return scores


_RESAMPLING, _FOLDING, _PAIRS, _ROWS, _FLEXIBLE_FOLDS = 21, 23, 24, 25, 26
_MANY, _FEWER = 1000, 200
_FEW = 5
"""Number of subjects below which the variance between subjects is poorly estimated."""
_CORRECT = {"holm": holm, "benjamini-hochberg": benjamini_hochberg}


@keep_statements
def rank_models(
    data: ArrayLike | Rdm | Sequence[ArrayLike | Rdm] | Mapping[str, ArrayLike | Rdm],
    models: Mapping[str, ArrayLike | Rdm],
    measure: Choice = "RSA",
    *,
    groups: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
    n_resamples: int | None = None,
    n_permutations: int = N_PERMUTATIONS,
    correction: Correction = "holm",
    weights_of: WeightsOf = "all subjects",
    flexible: Mapping[str, Sequence[str]] | None = None,
    alpha: float = ALPHA,
    confidence: float = CONFIDENCE,
    pairs: PairCount = None,
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    seed: Seed = 0,
) -> ModelRanking:
    """Rank models by how well they explain data, with ties, intervals and the noise ceiling.

    Use this function to compare several candidate models (representations or distances) with data measured in one or,
    better, several subjects. The value of a model is the measure's mean over subjects.

    Parameters
    ----------
    data : array of shape (n_samples, n_features), or Rdm, or several of them
        Data that the models explain. Square, symmetric matrices with a diagonal of zeros are read as distances if the
        measure accepts these. A sequence, a mapping, or an array of shape (k, n_samples, n_features) contains
        subjects or repeats, which may have different numbers of features.
    models : mapping of str to array of shape (n_samples, n_features), or Rdm
        Candidate models with the same rows as the data; named rows are matched by name.
    measure : str, Measure or function
        Measure, as for `shesha.calibrate`. With RSA (and other measures of correlated distances), the result also
        contains weights for a combination of the models and shares of explained variance.
    groups : array of shape (n_samples,), optional
        Group of each row, such as an object or a document. The rows of a group are resampled and permuted together.
    blocks : array of shape (n_samples,), optional
        Block of each row. Rows are resampled and permuted only within blocks.
    n_resamples : int, optional
        Number of resamples of the rows. Default for measures of distances: 1,000 bootstrap resamples, without pairs of
        a row with its copy. Default for other measures, which repeated rows would bias: 200 subsets of each of two
        sizes, four fifths and half of the rows.
    n_permutations : int
        Number of permutations of the rows for the p-values against chance.
    correction : {'holm', 'benjamini-hochberg'}
        How to correct the p-values for differences between pairs of models.
    weights_of : {'all subjects', 'each subject'}
        Whether the weights of combinations are fitted to other subjects, or to other rows of each subject.
    flexible : mapping of str to sequence of str, optional
        Flexible models to rank as well: the name of each, and the models of which it is a weighted sum, such as
        ``{"network": ["layer 1", "layer 2"]}``. For each pair of rows, the weights are fitted to other rows, again
        in every resample and permutation, of all pairs of rows.
    alpha : float
        Significance level of the corrected p-values for differences between models, in (0, 1).
    confidence : float
        Confidence level of the intervals, in (0, 1).
    pairs : int or 'all', optional
        Number of random pairs of rows, for measures of distances. Default: all pairs for up to 1,414 rows, and
        1,000,000 random pairs for more rows. By default, if there are more than 11,175 pairs (150 rows), distances are
        not ranked again in every resample; instead, the correlations are changed by the influence of each pair. With
        'all', all pairs are used and ranked again.
    rows, missing
        As for `compare`.
    seed : int, Generator or None
        Seed for the resamples, permutations and folds.

    Returns
    -------
    ModelRanking
        When printed, it gives the answer first. ``.models`` contains the models from best to worst, with intervals and
        possible ranks (`rank_low` to `rank_high`). ``.pairs`` contains the differences between models, and ``.plot()``
        draws bars with the noise ceiling.

    Notes
    -----
    Intervals and p-values generalise to new rows and, with several subjects, to new subjects. Simply adding the two
    variances would count the measurement noise twice. This is corrected as in the dual bootstrap of Schütt et al.
    (2023, eLife 12:e82566), in the limit of infinitely many resamples of the subjects.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.standard_normal((40, 8))
    >>> subjects = truth + rng.standard_normal((6, 40, 8))
    >>> models = {"near": truth + 0.5 * rng.standard_normal((40, 8)), "far": rng.standard_normal((40, 8))}
    >>> found = rank_models(subjects, models, n_resamples=200)
    >>> found.best
    ('near',)
    >>> found.pair("near", "far").corrected_p_value < 0.05
    True
    """
    check.choice(correction, CORRECTIONS, "correction")
    check.choice(weights_of, get_args(WeightsOf), "weights_of")
    check.fraction(alpha, "alpha", closed=False)
    check.fraction(confidence, "confidence", closed=False)
    n_permutations = check.count(n_permutations, "n_permutations")
    models = {
        name: Rdm(cast(Any, model), f"models[{name!r}]") if hasattr(model, "get_matrices") else model
        for name, model in kinds.mapping(models, "models").items()
    }
    named = {"models": models, "data": _subjects(data, models)}
    if as_measure(measure).takes_distances:
        named = _read_distances(named)
    _warn_of_sessions(list(named["data"]))
    (models, data), along = select_layer_rows(
        named, {"groups": groups, "blocks": blocks}, rows=rows, missing=missing, need=_bytes, seed=seed
    )
    problem = _check_problem(data, models, measure, along["groups"], along["blocks"], seed)
    wanted = check.optional_count(n_resamples, "n_resamples", minimum=20)
    n_drawn = wanted or (_MANY if problem.uses_correlated_distances else _FEWER)
    problem = replace(problem, pairs=_pair_count(pairs, problem))
    problem, notes = add_flexible(problem, flexible, weights_of, spawn(seed, _FLEXIBLE_FOLDS))
    vectors, evaluations = _score_models(problem, n_drawn, seed)
    notes += _resample_notes(problem, evaluations)
    _warn_of_dependence(problem, {"groups": groups, "blocks": blocks}, list(named["data"]))
    _warn_of_doubts(problem, evaluations)
    permuted = problem
    if vectors is not None and not problem.exact and (vectors.sampled or vectors.n_pairs > RANKED_AGAIN):
        permuted = fewer_rows(problem, vectors.n_pairs, spawn(seed, _ROWS))
        notes.append(_sample_note(problem, vectors, permuted.n_rows))
    chance, exchanged = chance_p_values(permuted, n_permutations, alpha, seed, notes, vectors)
    n_known: tuple[int, ...] = ()
    if vectors is not None and vectors.known is not None:
        n_known, note = _count_known_pairs(problem, vectors)
        notes.append(note)
    combination = (
        None if vectors is None or n_known else combine_models(problem, spawn(seed, _FOLDING), vectors, weights_of)
    )
    notes += _subject_doubts(len(problem.subjects))
    differences = _pairs(problem, evaluations, correction, confidence)
    upper = _upper_ceiling(problem, vectors) if evaluations.has_ceiling else np.nan
    _state_circular_models(problem, evaluations, upper, list(named["data"]))
    return ModelRanking(
        problem.measure.name,
        problem.measure.closer,
        rank_with_ties(problem, evaluations, differences, chance, alpha, confidence),
        pairs=differences,
        n_subjects=len(problem.subjects),
        n_rows=problem.n_rows,
        resampled=_describe_resampling(problem, groups, blocks),
        ceiling_lower=float(evaluations.values.means[-1]) if evaluations.has_ceiling else np.nan,
        ceiling_upper=upper,
        combination=combination,
        explained=float(evaluations.shares.means[-1]) if evaluations.shares is not None else np.nan,
        alpha=alpha,
        confidence=confidence,
        correction=correction,
        n_resamples=evaluations.values.n_resamples,
        n_draws=n_permutations,
        exchanged=exchanged,
        n_known_pairs=n_known,
        notes=tuple(notes),
        seed=number(seed),
    )


def _bytes(shapes: list[tuple[int, int]]) -> int:
    """Return the memory for all representations, a copy of each while it is scored, and as much for distances."""
    return 2 * 2 * 8 * sum(n * d for n, d in shapes)


def _describe_resampling(problem: Problem, groups: Any, blocks: Any) -> str:
    """Return what is resampled, in words."""
    rows = f"{problem.n_units:,} groups of rows" if groups is not None else "rows"
    return f"{rows}{' within blocks' * (blocks is not None)}{' and subjects' * (len(problem.subjects) > 1)}"


def _warn_of_dependence(problem: Problem, design: dict[str, Any], names: Sequence[str]) -> None:
    """Warn if subjects depend on one another or differ, or if rows do in data and a model without a declared design."""
    subjects = [s.distances.condensed if s.has_distances_only else s.to_numpy.rows for s in problem.subjects]
    warn_of_dependent_repeats(subjects, f"intervals may be too narrow and {CEILING_TOO_HIGH}", "subject", names)
    sides = [side for side in (problem.subjects[0], *problem.models.values()) if not side.has_distances_only]
    if (
        len(sides) < 2
        or problem.subjects[0].has_distances_only
        or any(labels is not None for labels in design.values())
    ):
        return
    for model in sides[1:]:
        found = find_dependence([diagnostic_rows(sides[0]), diagnostic_rows(model)], screened=True)
        if found.is_dependent:
            warn(
                f"p-values may be too small and intervals too narrow: {found.text}",
                CalibrationWarning,
            )
            return


_SESSION = re.compile(
    r"(.*?)[\W_]*(?<![^\W\d_])(?:ses|sess|session|run|day|rec|recording|block|visit|scan|rep|repeat)[\W_]*\d+",
    re.IGNORECASE,
)
"""A name that ends with the number of a session, and what precedes it, such as the animal."""


def _warn_of_sessions(names: Sequence[str]) -> None:
    """Warn if several data sets are sessions of one subject by their names, because they count as subjects."""
    parts = [_SESSION.fullmatch(name) for name in names]
    subjects = {part[1] for part in parts if part is not None}
    if all(parts) and len(subjects) < len(names):
        provenance.state_warning(
            f"the {len(names)} data sets are sessions of {count(len(subjects), 'subject')} by their names ({names[0]}, "
            f"{names[1]}, ...), but count as {len(names)} subjects, so intervals are too narrow. Average the distances "
            "of each subject"
        )


def _state_circular_models(problem: Problem, evaluations: Evaluations, upper: float, names: Sequence[str]) -> None:
    """Warn in the result if a model is a copy of data, as close to all subjects as only their mean can be, or reversed.

    Ties let a model exceed this mean in Spearman's correlation.
    """
    if not problem.measure.higher_is_closer:
        return
    lower = float(evaluations.values.means[-1]) if evaluations.has_ceiling else np.nan
    for name, scores in zip(problem.models, evaluations.values.observed.T, strict=False):
        if scores.mean() < REVERSED:
            provenance.state_warning(
                f"{name} is far below chance ({scores.mean():.2f}): rows that are close in it are far apart in the "
                "data, as if one of them held similarities instead of distances"
            )
            continue
        if (copies := np.flatnonzero(scores > 1 - _EQUAL)).size:
            like = (
                f"equals {check.join_items(names[k] for k in copies.tolist())}"
                if len(scores) > 1
                else "equals the data"
            )
        elif _is_mean(problem.models.get(name), problem.subjects):
            like = "equals the mean of the subjects"
        elif problem.measure.name == "RSA" and scores.mean() > upper and _has_ties(problem.models[name]):
            provenance.state_warning(
                f"{name} exceeds the noise ceiling, because Spearman's correlation rewards models of equal distances, "
                "such as categories. Compare them by RSA(method=rho-a)"
            )
            continue
        elif len(scores) > 2 and upper - lower > _WIDE and scores.mean() > upper - _AS_MEAN * (upper - lower):
            like = "is as close to the subjects as their own mean"
        else:
            continue
        provenance.state_warning(
            f"{name} {like}, so its value is circular if it was made from these data. Make models from other data"
        )


def _is_mean(model: Representation | None, subjects: Sequence[Representation]) -> bool:
    """Return whether a model is the mean of several subjects, of their features or their distances."""
    if model is None or len(subjects) < 2 or {one.shape for one in subjects} != {model.shape}:
        return False
    if len({one.has_distances_only for one in (model, *subjects)}) > 1:
        return False
    given, *sides = (
        one.distances.condensed if one.has_distances_only else one.to_numpy.rows for one in (model, *subjects)
    )
    mean = sum(sides) / len(sides)
    return bool(np.abs(given - mean).max() <= _MEAN * np.abs(mean).max())


_MEAN = 1e-5
"""Largest difference from the mean of the subjects, relative to its largest value, of a copy in single precision."""


def _has_ties(model: Representation) -> bool:
    """Return whether a model, given as distances, predicts equal distances for most pairs."""
    if not model.has_distances_only:
        return False
    return 2 * len(np.unique(model.distances.condensed)) < len(model.distances.condensed)


_EQUAL, _WIDE, _AS_MEAN = 1e-9, 0.05, 0.05
"""Rounding of the score of a copy, width of the noise ceiling from which on its upper end tells a mean of the subjects
from a good model, and share of this width within which a model is such a mean."""


def _warn_of_doubts(problem: Problem, evaluations: Evaluations) -> None:
    """Warn of problems of the comparison between the first subject and the model that is closest to all subjects."""
    # Flexible models follow the given ones.
    scores = evaluations.values.observed[:, : len(problem.models)].mean(axis=0) * (
        1 if problem.measure.higher_is_closer else -1
    )
    best = list(problem.models)[int(np.argmax(np.nan_to_num(scores, nan=-np.inf)))]
    subject, model = problem.subjects[0], problem.models[best]
    if not subject.has_distances_only and not model.has_distances_only:
        warn_of_pair_doubts({"data": subject, best: model}, but=irrelevant_doubts([problem.measure.invariant]))


def _count_known_pairs(problem: Problem, vectors: DistanceVectors) -> tuple[tuple[int, ...], str]:
    """Number of pairs of rows with a distance in each subject (and all models), and a note that states them."""
    assert vectors.known is not None
    n_models, n_subjects = len(problem.models), len(problem.subjects)
    counts = tuple(vectors.known[n_models : n_models + n_subjects].sum(axis=1).tolist())
    used = f"{min(counts):,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"
    provenance.state(f"distances missing (NaN): {used} of {vectors.n_pairs:,} pairs of rows known per subject")
    for name, model in problem.models.items():
        if model.has_distances_only and model.distances.n_missing:
            provenance.state(
                f"pairs that model {name} lacks ({model.distances.n_missing:,}{_rows_without_distances(model)}) are "
                "left out for all models"
            )
    return counts, (
        f"Some distances are missing, so each subject is compared over the {used} of {vectors.n_pairs:,} pairs of rows "
        "that it knows. There is no weighted combination of the models."
    )


def _rows_without_distances(model: Representation) -> str:
    """Return the rows of which a model has no distance, for a message; empty if there is none."""
    rows = np.flatnonzero(model.distances.rows_without_distances)
    return f", all of {join_items(rows if model.names is None else model.names.values[rows])}" if len(rows) else ""


def _pair_count(pairs: PairCount, problem: Problem) -> int | None:
    """Return the requested number of pairs; raise an error if the measure does not correlate distances."""
    asked = check_pairs(pairs)
    if asked is not None and not problem.uses_correlated_distances:
        raise ValueError(f"pairs must be left out, because {problem.measure.name} does not correlate distances")
    return asked


def _check_problem(data: Any, models: Any, measure: Choice, groups: Any, blocks: Any, seed: Seed) -> Problem:
    chosen = as_measure(measure).with_seed(seed)
    candidates = check_named_arrays(kinds.mapping(models, "models"), "models", "models[{!r}]")
    if not candidates:
        raise ValueError("models must contain at least one model, got none")
    inputs = _subjects(data, models)
    hint_of_distances({**{f"models[{name!r}]": model for name, model in models.items()}, **inputs})
    subjects = check_named_arrays(inputs, "data", "{}")
    joint = {("model", name): candidate for name, candidate in candidates.items()}
    joint |= {("data", name): subject for name, subject in subjects.items()}
    aligned = align_rows({f"{kind} {name}": entry for (kind, name), entry in joint.items()})
    sides = [entry.to_numpy for entry in aligned.values()]
    n = sides[0].n_rows
    for name, side in zip(aligned, sides, strict=True):
        if not side.has_distances_only:
            check.shape(side.shape, name, 0, 0)
        if side.n_rows != n:
            raise ValueError(
                f"{name} must have as many rows as {next(iter(aligned))} ({n}), got {side.n_rows}"
                + (
                    hint_of_transpose(name, side.shape, n)
                    or '; if rows have names, rows="shared" uses those that all have'
                )
            )
    design = labels_in_order((entry.names for entry in joint.values()), {"groups": groups, "blocks": blocks})
    model_sides = dict(zip(candidates, sides, strict=False))
    return Problem(chosen, model_sides, tuple(sides[len(candidates) :]), exchange(n, **design))


def _read_distances(named: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Read matrices that look like distances as such; refuse similarities among distances."""
    shown = {"models": "models[{!r}]", "data": "{}"}
    read: list[str] = []
    sides: dict[str, dict[str, Any]] = {kind: {} for kind in named}
    for kind, arrays in named.items():
        for name, X in arrays.items():
            sides[kind][name] = X
            if not isinstance(X, Rdm) and looks_like_distances(getattr(X, "values", X)):
                sides[kind][name] = Rdm(X, shown[kind].format(name))
                read.append(shown[kind].format(name))
    if read:
        provenance.state(
            f"square, symmetric matrices with a diagonal of zeros read as distances: {check.join_items(read)}"
        )
    for name, X in sides["models"].items():
        are_distances = all(isinstance(subject, Rdm) for subject in sides["data"].values())
        if are_distances and not isinstance(X, Rdm) and look_like_similarities(getattr(X, "values", X)):
            top = f"{np.diagonal(getattr(X, 'values', X))[0]:g}"
            raise ValueError(
                f"models[{name!r}] must contain distances, as data does, got a matrix of similarities with {top} on "
                f"its diagonal; pass (or save) {top} - models[{name!r}]"
            )
    return sides


def _subjects(data: Any, models: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of each subject, by name."""
    if hasattr(data, "get_matrices"):
        data = Rdm.stack(data, "data")
    if isinstance(data, Mapping):
        if not data:
            raise ValueError("data must contain at least one subject, got none")
        return {str(name): subject for name, subject in data.items()}
    several = isinstance(data, list | tuple) and len(data) and (hasattr(data[0], "shape") or isinstance(data[0], Rdm))
    if not several and getattr(data, "ndim", 2) == 3:
        sizes = {model.n_rows if isinstance(model, Rdm) else len(model) for model in models.values()}
        if len(data) == data.shape[1] in sizes and looks_like_distances(data[:, :, 0]):
            raise ValueError(
                f"data must be (subjects, rows, features), got {data.shape} with distances between rows in its first "
                "two axes; pass shesha.Rdm.stack(data)"
            )
        if len(data) in sizes and data.shape[1] not in sizes:
            raise ValueError(
                f"data must be (subjects, rows, features), got {data.shape} and models of {len(data)} rows; if these "
                "are rows, neurons and times of one subject, pass data.reshape(len(data), -1)"
            )
    if several or getattr(data, "ndim", 2) == 3:
        return {f"data[{place}]": subject for place, subject in enumerate(data)}
    return {"data": data}


def _score_models(problem: Problem, n_resamples: int, seed: Seed) -> tuple[DistanceVectors | None, Evaluations]:
    """Return the distances of all sides, if the measure correlates them, and the scores of all models."""
    vectors = None
    constant = [
        repr(name)
        for name, side in problem.models.items()
        if side.has_distances_only and np.nanmin(side.distances.condensed) == np.nanmax(side.distances.condensed)
    ]
    if constant and problem.uses_correlated_distances:
        raise ValueError(
            f"models must have distances that differ between pairs of rows, got a constant distance in "
            f"{', '.join(constant)}; leave it out"
        )
    try:
        if problem.uses_correlated_distances:
            vectors = DistanceVectors.build(problem, spawn(seed, _PAIRS))
        return vectors, _evaluate(problem, vectors, n_resamples, seed)
    except NotEstimable as reason:
        raise ValueError(f"data and models must have a value by {problem.measure.name}, got none: {reason}") from reason


def _evaluate(problem: Problem, vectors: DistanceVectors | None, n_resamples: int, seed: Seed) -> Evaluations:
    """Score all models, with resamples if there are enough units to resample."""
    enough, rng = problem.n_units >= FEWEST_UNITS, spawn(seed, _RESAMPLING)
    n_drawn = n_resamples if enough else 1
    if vectors is None:
        found = evaluate_subsets(problem, n_drawn, rng)
    else:
        found = evaluate_distances(problem, n_drawn, rng, vectors)
    return found if enough else found.drop_resamples()


def _resample_notes(problem: Problem, evaluations: Evaluations) -> list[str]:
    """Return a note that gives the reason if there are no intervals."""
    if problem.n_units < FEWEST_UNITS:
        return [
            f"There are no intervals and no tests of pairs, because they need at least {FEWEST_UNITS} groups, got "
            f"{problem.n_units}."
        ]
    if evaluations.values.n_resamples == 0:
        return [
            "There are no intervals and no tests of pairs, because fewer than 90 % of the resamples have a value. "
            "Use more rows."
        ]
    return []


def _sample_note(problem: Problem, vectors: DistanceVectors, n_permuted: int) -> str:
    """Return a note on the approximations used: sampled pairs, and resamples without new ranks."""
    notes = []
    if vectors.sampled:
        notes.append(
            f"Values are from {vectors.n_pairs:,} random pairs of the {n_pairs(problem.n_rows):,} pairs of rows; "
            f"the intervals include this sampling error. p-values against chance are from {n_permuted:,} random rows."
        )
    if vectors.n_pairs > RANKED_AGAIN:
        notes.append(
            "For resamples, distances are not ranked again. Correlations are adjusted by the influence of each pair."
        )
    if vectors.n_pairs > MOST_PAIRS and len(problem.models) > 1:
        notes.append(f"The weighted combination uses {MOST_PAIRS:,} of the pairs.")
    return " ".join([*notes, "pairs='all' uses all pairs and ranks them again in every resample."])


def _pairs(
    problem: Problem, evaluations: Evaluations, correction: Correction, confidence: float
) -> tuple[ModelDifference, ...]:
    if len(problem.names) < 2:
        return ()
    differences = evaluations.models.differences()
    empty = np.full(differences.observed.shape[1], np.nan)
    resampled = differences.n_resamples > 0
    low, high = differences.intervals(confidence) if resampled else (empty, empty)
    p_values = differences.p_values() if resampled else empty
    corrected = _CORRECT[correction](p_values)
    i, j = np.triu_indices(len(problem.names), k=1)
    columns = (differences.means, low, high, p_values, corrected)
    names = ("first", "second", "value", "low", "high", "p_value", "corrected_p_value")
    return tuple(
        ModelDifference(**dict(zip(names, [problem.names[a], problem.names[b], *map(float, row)], strict=True)))
        for a, b, *row in zip(i, j, *columns, strict=True)
    )


def _upper_ceiling(problem: Problem, vectors: DistanceVectors | None) -> float:
    """Mean over subjects of the value between the subject and the mean of all subjects."""
    if vectors is not None and vectors.sampled:
        return vectors.ceiling_upper
    try:
        return ceiling_of_repeats(problem.measure, Repeats(problem.subjects), second=True).upper
    except NotEstimable:
        return float("nan")


def _subject_doubts(n_subjects: int) -> list[str]:
    if n_subjects == 1:
        return [
            "There is only one subject, so intervals and p-values reflect sampling of rows only, and there is no noise "
            "ceiling. Pass several subjects or repeats as a sequence."
        ]
    if n_subjects < _FEW:
        return [
            f"With {n_subjects} subjects, the variance between subjects is poorly estimated, so intervals are "
            "wide and real differences may count as ties. Add subjects."
        ]
    return []
