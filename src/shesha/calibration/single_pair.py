"""Calibrate one similarity against its null distribution under permutations of all rows or of sampled pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb, sqrt
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from shesha.calibration.permutation_scores import CalibratedPair, covariate_design, map_orders, null_bytes, prepare
from shesha.doubting import diagnostic_rows, find_pair_doubts, irrelevant_doubts, warn_of_doubts
from shesha.doubting.pair_doubts import cluster_doubt, few_rows_doubt, saturated_measures, saturation, width
from shesha.inputs import MissingRows, RowChoice, labels_in_order, validation as check
from shesha.kernels.distances import Metric, pair_distances
from shesha.kernels.pairs import draw_tuples
from shesha.kernels.rounding_and_scaling import length_unit
from shesha.measures import Measure, as_measure
from shesha.measures.expected_time import MINUTE, exact_seconds, seconds_here
from shesha.measures.registry import Choice, PairSample, SampledPairs
from shesha.nulls.dependence import find_dependence
from shesha.nulls.design_builder import exchange
from shesha.nulls.design_warnings import false_positive_rate, p_value_within_design, warn_of_series
from shesha.nulls.null_summary import best_value, require_attainable_maximum, summarise
from shesha.nulls.permutations import Design, draw_permutations, identity_first, nonempty_arguments
from shesha.results import Dependence, Doubt, Doubts, Number, Score
from shesha.results.doubts import LEVEL
from shesha.support import progress
from shesha.support.memory import format_bytes, memory_budget
from shesha.support.provenance import keep_statements
from shesha.support.seeds import ALPHA, N_PERMUTATIONS, number, spawn
from shesha.support.types import Index, Matrix, Seed, Vector, is_array
from shesha.support.warnings import CalibrationWarning, NotEstimable, warn
from shesha.support.wording import duration
from shesha.views import Adjusted, Covariates, Gram, Rdm, Representation, select_rows

_DISTANCES = 200_000
"""Number of sampled distances. With 200 permutations, they take about 10 s per 100 features."""
_SAMPLING = 21
_COPIES = 12
"""Memory of a draw, in arrays as long as the sample."""


@dataclass(frozen=True)
class SampledNull:
    """The scores of a measure under permutations, all from the same random tuples of rows.

    The tuples do not depend on the data. Permutations of the rows of Y are therefore as probable as the observed
    matching if X and Y are unrelated, and the p-value is exact for the sampled score.
    """

    measure: Measure
    plan: SampledPairs
    rows: tuple[Matrix, Matrix]
    units: tuple[float, float]
    metric: Metric
    tuples: Index
    share: float
    """Share of all pairs that are in the sample; 0 if pairs may repeat."""

    @classmethod
    def draw(cls, measure: Measure, sides: Sequence[Representation], seed: Seed) -> SampledNull:
        """Draw the tuples of rows."""
        plan = measure.sample
        assert isinstance(plan, SampledPairs)
        metric: Metric = plan.metric or measure.parameters["metric"]
        first, second = (side.to_numpy for side in sides)
        units = [length_unit(side.rows) if metric == "euclidean" else 1.0 for side in (first, second)]
        n = first.n_rows
        size = min(_DISTANCES // comb(plan.size, 2), comb(n, plan.size))
        tuples, share = draw_tuples(n, size, plan.size, spawn(seed, _SAMPLING))
        rows = first.standard(metric), second.standard(metric)
        return cls(measure, plan, rows, units=(units[0], units[1]), metric=metric, tuples=tuples, share=share)

    def scores(self, orders: list[Index]) -> Iterator[Matrix]:
        """Yield the score of the observed matching, which comes first, and of every permutation."""
        first = self._distances(0, self.tuples)
        self._estimate(first, orders[0])

        def score(order: Index) -> Matrix:
            try:
                return np.array([[self._estimate(first, order)[0]]])
            except NotEstimable:
                return np.array([[np.nan]])

        return map_orders(score, orders, max(1, memory_budget() // (_COPIES * 8 * self.tuples.size)))

    def error(self) -> float:
        """Return the standard error of the observed score, as an estimate of the exact one."""
        same = np.arange(len(self.rows[0]))
        _, influence = self._estimate(self._distances(0, self.tuples), same)
        return sqrt((1 - self.share) * float(influence @ influence)) / len(influence)

    def _estimate(self, first: Matrix, order: Index) -> tuple[float, Vector]:
        sample = PairSample.build(first, self._distances(1, order[self.tuples]), len(self.rows[0]), self.metric)
        return self.plan.estimate(sample, self.measure.parameters)

    def _distances(self, side: int, tuples: Index) -> Matrix:
        """Return the distances between the rows of each tuple, one column per pair of its members."""
        columns = [
            self.units[side] * pair_distances(self.rows[side], tuples[:, i], tuples[:, j], self.metric)
            for i, j in combinations(range(tuples.shape[1]), 2)
        ]
        return np.stack(columns, axis=1)


def reason_to_sample(subject: CalibratedPair, n_draws: int) -> str:
    """Return what the exact null distribution would need, if that is too much and a sample can answer; else nothing."""
    if not can_sample(subject):
        return ""
    assert subject.measure is not None
    need = null_bytes(subject.measure, subject.sides)
    if need > memory_budget():
        return f"exact=True needs {format_bytes(need)} of memory"
    widths = subject.sides[0].shape[1], subject.sides[1].shape[1]
    seconds = exact_seconds(subject.measure, subject.n_rows, widths, n_draws=n_draws)
    return f"exact=True takes about {duration(seconds_here(seconds))}" if seconds > MINUTE else ""


def can_sample(subject: CalibratedPair) -> bool:
    """Return whether the measure can be estimated from row pairs, and both sides are matrices of features."""
    measure = subject.measure
    if measure is None or not isinstance(measure.sample, SampledPairs) or subject.covariates is not None:
        return False
    return not measure.sample.lacks(measure.parameters) and all(
        not side.has_distances_only and len(side.shape) == 2 for side in subject.sides
    )


def describe(null: SampledNull, n_rows: int, alpha: float, why: str) -> dict[str, Any]:
    """Return the standard error of a sampled score, and the note that states it."""
    error = null.error()
    what = "pairs" if null.plan.size == 2 else "triples"
    note = (
        f"estimated from {len(null.tuples):,} of {comb(n_rows, null.plan.size):,} {what} of rows, "
        f"+-{norm.ppf(1 - alpha / 2) * error:.1g}{'; ' * bool(why)}{why}"
    )
    return {"sampling_error": error, "notes": (note,)}


_DRAWS, _LEVEL = 199, 0.005
"""Number of permutations, and the p-value that both sides must reach to report an interaction."""
_MOST_INTERACTION_ROWS = 2048
"""Maximum number of rows that a test uses."""
_MOST_COLUMNS = 16
"""Maximum number of columns that the product of two covariates may have to be tested."""
_DISTINCT = 1e-6
"""Smallest part of a product's direction, beyond the covariates themselves, that is worth testing."""


def interactions(rows: Sequence[Matrix], covariates: Covariates) -> list[tuple[str, str]]:
    """Return pairs of covariates on whose product the residuals of both sides still depend.

    The share of the residuals' variance along the product is compared with the shares along permuted products. The
    covariates are regressed out of the permuted products, because residuals have no variance along the covariates.

    Parameters
    ----------
    rows : sequence of arrays of shape (n_samples, n_features)
        Residuals of each side.
    covariates : Covariates
        Covariates that were regressed out of both sides.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.standard_normal((2, 100))
    >>> covariates = Covariates.build({"a": a, "b": b}, 100)
    >>> noise, follows = rng.standard_normal((100, 5)), rng.standard_normal((100, 5)) + (a * b)[:, None]
    >>> len(interactions([follows, follows], covariates)), len(interactions([follows, noise], covariates))
    (1, 0)
    """
    rng = np.random.default_rng(0)
    n = len(rows[0])
    chosen = (
        np.arange(n) if n <= _MOST_INTERACTION_ROWS else np.sort(rng.choice(n, _MOST_INTERACTION_ROWS, replace=False))
    )
    basis = np.linalg.qr(np.column_stack([np.ones(len(chosen)), covariates.basis[chosen]]))[0]
    sides = [_residuals(side[chosen], basis) for side in rows]
    pairs = []
    for first, second in combinations(covariates.parts, 2):
        products = _products(covariates.parts[first][chosen], covariates.parts[second][chosen], basis)
        if not products.shape[1]:
            continue
        drawn = (products, *(products[rng.permutation(len(chosen))] for _ in range(_DRAWS)))
        directions = [np.linalg.qr(_residuals(product, basis))[0] for product in drawn]
        if all(_p_value(directions, side) <= _LEVEL for side in sides):
            pairs.append((first, second))
    return pairs


def _products(a: Matrix, b: Matrix, basis: Matrix) -> Matrix:
    """Return orthonormal directions of the products of two covariates, beyond the covariates themselves."""
    if a.shape[1] * b.shape[1] > _MOST_COLUMNS:
        return np.empty((len(a), 0))
    products = (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)
    u, sizes, _ = np.linalg.svd(_residuals(products, basis), full_matrices=False)
    return np.asarray(u[:, sizes > _DISTINCT * float(np.linalg.norm(products))])


def _residuals(columns: Matrix, basis: Matrix) -> Matrix:
    return np.asarray(columns - basis @ (basis.T @ columns))


def _p_value(directions: Sequence[Matrix], side: Matrix) -> float:
    """Return the p-value of the first set of directions, compared with the permuted sets that follow."""
    projections = (np.concatenate(directions, axis=1).T @ side) ** 2
    shares = projections.sum(axis=1).reshape(len(directions), -1).sum(axis=1)
    return float(np.mean(shares >= shares[0]))


_MOST_ROWS = 4096
_TOO_OFTEN = 0.1
"""Smallest estimated false-positive rate at which a warning is raised."""


def _warn_of_covariates(rows: Sequence[Matrix], covariates: Covariates, design: Design) -> None:
    """Warn if the smooth fit left enough of the covariates' effect to make unrelated data seem related."""
    for name, quantity in covariates.numbers.items():
        order = np.argsort(quantity, kind="stable")
        order = order[np.unique(np.linspace(0, len(order) - 1, _MOST_ROWS).astype(np.intp))]
        p_value = p_value_within_design(exchange(len(order)), *(side[order] for side in rows))
        reason = (
            f"rows with similar values have similar features, p = {p_value:.1g}"
            if p_value <= LEVEL
            else _excess(rows, covariates, design)
        )
        if reason:
            warn(
                f"features still depend on {name} after a smooth fit ({reason}), so p-values may be too small. Add "
                "columns that describe the effect (such as the sine and cosine of a period), replace it by labels of "
                "a few rows each, or use more rows",
                CalibrationWarning,
            )
    for first, second in interactions(rows, covariates):
        warn(
            f"features still depend on the product of {first} and {second}, as if the effect of one depended on the "
            "other. P-values may be too small. Pass the product as a further covariate (for a label, one column per "
            "class)",
            CalibrationWarning,
        )


def _excess(rows: Sequence[Matrix], covariates: Covariates, design: Design) -> str:
    """Describe the false-positive rate caused by what remains of a covariate's effect; empty if it is low.

    Only a single numeric covariate is checked. With several, rows that are similar in all of them are too rarely
    similar in each one to distinguish an effect from noise.
    """
    if len(covariates.numbers) > 1:
        return ""
    arguments = nonempty_arguments(design)
    strata = (
        exchange(len(rows[0]), **arguments) if set(arguments) - {"blocks"} else covariates.design(design.get("blocks"))
    )
    # Series and groups are not permuted row by row, so their own memory is no effect of the covariate.
    drawn = strata if strata.shift or strata.group is not None else None
    quantity = next(iter(covariates.numbers.values()))
    # A spline with twice as many terms models the part of the effect that the first spline missed.
    n_terms = 2 * covariates.n_taken + 2
    rate = false_positive_rate(quantity, strata.block, *rows, n_terms=n_terms, taken=covariates.basis, design=drawn)
    return f"about {100 * rate:.0f} % of unrelated data would be called related at 5 %" if rate >= _TOO_OFTEN else ""


def warn_of_dependence(
    sides: Sequence[Representation], design: Design, permutations: ArrayLike | None
) -> Dependence | None:
    """Warn if rows look dependent and no design is declared, or if the declared design does not fit them.

    Returns the detected dependence if there is no design, otherwise None.
    """
    if permutations is not None or any(side.has_distances_only for side in sides):
        return None
    # Residuals are checked if available, because consecutive rows may be similar due to the covariates alone.
    sides = [side.given if isinstance(side, Adjusted) and side.by_distances else side for side in sides]
    rows = [side.to_numpy.rows.reshape(side.n_rows, -1) for side in sides]
    if all(isinstance(side, Adjusted) for side in sides):
        _warn_of_covariates(rows, next(side.covariates for side in sides if isinstance(side, Adjusted)), design)
    if nonempty_arguments(design):
        warn_of_series(rows, design)
        return None
    dependence = find_dependence([diagnostic_rows(side) for side in sides], screened=True)
    if dependence.is_dependent:
        warn(f"permuting all rows may give too many false positives: {dependence.text}", CalibrationWarning)
    return dependence


_OF_ROWS = ("few rows", "rare cluster")
"""Doubts that list rows with a strong influence on the score."""
_MOVED = 0.2
"""Smallest reported effect of rows: change in the score / distance from chance to perfect agreement."""


def add_saturation(
    doubts: Doubts, chance: Mapping[str, tuple[float, float, float]], sides: Sequence[Representation]
) -> Doubts:
    """Add a doubt if measures saturate; `chance` gives each measure's null mean, worst and best value."""
    widths = tuple(int(np.prod(side.shape[1:])) for side in sides if not side.has_distances_only)
    doubt = saturation(saturated_measures(chance), sides[0].n_rows, widths)
    return doubts if doubt is None else replace(doubts, found=(doubt, *doubts.found))


def width_doubt(sides: Sequence[Representation], cka: float) -> Doubt | None:
    """Return the doubt that most of CKA is due to chance, if it applies; uses views still in memory."""
    if not np.isfinite(cka) or any(side.has_distances_only or len(side.shape) > 2 for side in sides):
        return None
    first, second = (cast(Gram, as_measure("CKA").look(side)) for side in sides)

    def unbiased() -> float:
        try:
            return first.unbiased_alignment(second, cka)
        except NotEstimable:
            return float("nan")

    widths = tuple(side.shape[1] for side in sides)
    return width(cka, first.mean_inner(second), unbiased, sides[0].n_rows, widths)


def add_doubt(doubts: Doubts, new_doubt: Doubt | None) -> Doubts:
    """Insert a doubt so that the doubts stay in order."""
    if new_doubt is None:
        return doubts
    return replace(doubts, found=tuple(sorted((new_doubt, *doubts.found), key=lambda doubt: doubt.order)))


def replace_row_effects(
    doubts: Doubts, measure: str, n_rows: int, observed: float, scale: float, without: Callable[[Index], float]
) -> Doubts:
    """Replace a few rows' effect on CKA with their effect on the calibrated measure; drop small effects.

    `without` takes the rows that remain and returns their score. The effect is the change in the score divided by
    `scale`, the distance from chance to the best value.
    """
    if not scale > 0:
        return doubts
    kept_doubts = []
    for doubt in doubts:
        # If only a sample of the rows was checked, a cluster may have members that the doubt does not list.
        if doubt.name not in _OF_ROWS or (doubt.name == "rare cluster" and doubts.n_looked_at < n_rows):
            kept_doubts.append(doubt)
            continue
        try:
            score = without(np.setdiff1d(np.arange(n_rows), doubt.rows))
        except NotEstimable:
            score = float("nan")
        effect = abs(score - observed) / scale
        if effect >= _MOVED:
            measured = few_rows_doubt(measure, doubt.rows, observed, score, effect)
            kept_doubts.append(
                measured if doubt.name == "few rows" else cluster_doubt(measure, doubt.rows, observed, score, effect)
            )
    return replace(doubts, found=tuple(sorted(kept_doubts, key=lambda doubt: doubt.order)))


def weigh_doubts(doubts: Doubts, subject: CalibratedPair, found: Number, best: float | None) -> Doubts:
    """Express the doubts about a pair as effects on the calibrated measure, and warn of them."""
    if best is not None:
        worst = subject.bounds[0 if subject.closer == "higher" else 1]
        doubts = add_saturation(doubts, {subject.name: (found.chance, worst, best)}, subject.sides)
    if subject.without is not None:
        scale = found.chance_sd * 3 if best is None else abs(best - found.chance)
        doubts = replace_row_effects(doubts, subject.name, subject.n_rows, found.value, scale, subject.without)
    warn_of_doubts(doubts)
    return doubts


@keep_statements
def calibrate(
    X: ArrayLike | Rdm,
    Y: ArrayLike | Rdm,
    measure: Choice = "CKA",
    *,
    n_permutations: int = N_PERMUTATIONS,
    alpha: float = ALPHA,
    maximum: float | None = None,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    within: ArrayLike | None = None,
    shift: bool = False,
    block_length: int | None = None,
    permutations: ArrayLike | None = None,
    truncate: int | float | None = None,
    covariates: ArrayLike | Mapping[str, ArrayLike] | Rdm | None = None,
    exact: bool | Literal["auto"] = "auto",
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    seed: Seed = None,
    **options: Any,
) -> Score:
    """Calibrate a similarity: add a zero point and a p-value from random matchings of the rows.

    The observed value and the null distribution are computed by the same code. The null hypothesis is that X and Y are
    unrelated. If rows depend on one another, pass `shift` (time points), `groups` (cells of a donor) or `blocks`
    (batches); see `shesha.nulls.exchange`. A `CalibrationWarning` is raised if rows look dependent and no design is
    passed. After Ctrl-C, the result is based on the draws completed so far.

    Parameters
    ----------
    X, Y : arrays of shape (n_samples, n_features), or Rdm
        Representations of the same inputs, row by row. Rows with names are matched by name.
    measure : str, Measure or function
        A measure (see `shesha.measures`), or your own f(X, Y) -> float, whose higher values must mean more similar.
        The rows of Y are permuted.
    n_permutations : int
        Number of draws K. It must be at least 1 / alpha - 1, because with fewer draws no score can be significant.
    alpha : float
        Significance level of the threshold, in (0, 1).
    maximum : float, optional
        Value for perfect agreement, which no score may exceed. Default: the best value of the measure, or no maximum
        for your own function.
    blocks : array of shape (n_samples,), optional
        Labels of blocks, such as sessions or batches. Rows are permuted only within blocks.
    groups : array of shape (n_samples,), optional
        Labels of groups, such as the trials of a subject. Whole groups are permuted, with their rows in order, and only
        among groups of equal size; `shesha.nulls.equal_groups` selects rows that make all groups equally large.
    within : array of shape (n_samples,), optional
        A covariate on which both sides depend (depth, length, norm). Rows are permuted only within its strata. Labels
        are used as strata; numbers are divided into strata of at most ten rows, and of fewer if values are far apart.
        Any effect of the covariate within strata counts as similarity. If this effect is large, a warning recommends
        `covariates`.
    shift : bool
        Whether each block is a time series, which is permuted by circular shifts. If at most K shifts exist, each is
        used once, and the p-value is exact.
    block_length : int, optional
        Number of consecutive rows that are permuted together, if each block is a time series.
    permutations : array of shape (n_permutations, n_samples), optional
        Permutations to use instead of random ones. Draw k compares X with Y[permutations[k]].
    truncate : int or float, optional
        Number of leading principal components of each side to compare, or the share of the variance that they must
        explain. Default: all features. Use it for measures that decompose a matrix in every draw (CCA, Procrustes),
        which take seconds with 256 features but minutes with 1,024.
    covariates : array of shape (n_samples,) or (n_samples, n_covariates), DataFrame, mapping, or Rdm, optional
        Known common causes to control for (batch, depth, length): numbers, labels, or distances between rows. Measures
        compare residuals of the features, after a regression on class means (of labels) and on natural splines (of
        numbers) whose number of terms is cross-validated. If only distances are available, RSA and RDM drift use the
        partial rank correlation. Unless you pass another design or `permutations`, the null permutes rows with similar
        covariates, within `blocks` if passed. Each draw recomputes the residuals to keep their degrees of freedom,
        which is slow. `docs/calibration.md` reports false-positive rates and power.
    exact : {'auto', True, False}
        Whether to compute distances between all pairs of rows (True), or between 200,000 random pairs (False), for
        measures that can be estimated from them (RSA, RDM drift, DistCorr). 'auto' uses random pairs if all pairs would
        take more than a minute or exceed the memory; the result then states the sampling error. The p-value is exact
        for the sampled score in either case.
    rows : {'same', 'shared'}
        Whether both must have the same rows, or only the rows whose names both have are used.
    missing : {'refuse', 'drop'}
        What to do with rows that contain NaN or infinity, or only zeros: raise an error, or leave them out on all sides
        and count them. Zeros are an error only where a score needs the direction of a row.
    seed : int, Generator or None
        Seed of the permutations.
    **options
        Options of the measure, such as k=20.

    Returns
    -------
    Score
        Observed value, threshold, calibrated score, p-value, and other summaries of the null.

    Raises
    ------
    ValueError
        If X and Y have different numbers of rows, if there are too few permutations for alpha, or if the measure does
        not depend on how rows are matched and therefore has no permutation null (MagDiff, IMD, ...).
    shesha.calibration.DrawError
        If your own function fails or does not return a number. The message names the draw.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((50, 40)), rng.standard_normal((50, 40))
    >>> found = calibrate(X, Y, "CKA", seed=0)
    >>> round(found.value, 2), found.calibrated, found.significant
    (0.41, 0.0, False)
    """
    design = Design(blocks=blocks, groups=groups, within=within, shift=shift, block_length=block_length)
    along: dict[str, Any] = {**design, "covariates": covariates}
    sides, along = select_rows({"X": X, "Y": Y}, along, rows=rows, missing=missing)
    (X, Y), covariates = sides.values(), along.pop("covariates")
    subject = prepare(X, Y, measure, options, truncate=truncate, seed=seed, covariates=covariates)
    design = cast(Design, labels_in_order((side.names for side in subject.sides), along))
    orders, exchanged = draw_permutations(
        subject.n_rows,
        n_permutations,
        alpha,
        design=covariate_design(design, permutations, subject.covariates),
        permutations=permutations,
        seed=seed,
    )
    dependence = warn_of_dependence(subject.sides, design, permutations)
    but = () if subject.measure is None else irrelevant_doubts([subject.measure.invariant])
    doubts = find_pair_doubts(subject.sides, design, dependence, only_cheap=True, but=but)
    best = best_value(subject.closer, subject.bounds, maximum)
    described = plain_options(options, truncate)
    common: dict[str, Any] = {
        "name": subject.name,
        "closer": subject.closer,
        "best": float("nan") if best is None else best,
        "alpha": float(alpha),
        "n_rows": subject.n_rows,
        "exchanged": exchanged,
        "seed": number(seed),
        "options": described if covariates is None else described | {"covariates": _plain(covariates)},
    }
    if check.choice(exact, ("auto", True, False), "exact") is False and not can_sample(subject):
        raise ValueError(f"exact must be True or 'auto' for {subject.name} of these data, got False: no sample can do")
    sampled, why = None, reason_to_sample(subject, len(orders)) if exact == "auto" else ""
    if exact is False or why:
        assert subject.measure is not None
        sampled = SampledNull.draw(subject.measure, subject.sides, seed)
        subject = replace(subject, scores=sampled.scores, without=None)
    try:
        scores, interrupted = collect(subject.scores(identity_first(orders)), len(orders) + 1)
        observed, null = float(scores[0, 0, 0]), scores[1:, 0, 0]
        if np.isnan(observed):
            raise NotEstimable("the measure returned NaN for the observed pairing")
    except NotEstimable as reason:
        value = check.not_estimable(str(reason))
        return Score(value=value, n_draws=len(orders), reason=str(reason), **common)
    summary = summarise(observed, null, subject.closer, alpha, best)
    require_attainable_maximum(maximum, observed, summary.threshold, subject.closer)
    common |= summary.evidence()
    if sampled is not None:
        common |= describe(sampled, subject.n_rows, alpha, why)
    result = Score(value=observed, null=summary.null, interrupted=interrupted, **common)
    return replace(result, doubts=weigh_doubts(doubts, subject, result, best))


def plain_options(options: dict[str, Any], truncate: int | float | None) -> dict[str, Any]:
    """Return the options as plain values that a result can store."""
    all_options = options | ({} if truncate is None else {"truncate": truncate})
    return {name: _plain(value) for name, value in all_options.items()}


def _plain(value: Any) -> Any:
    """Return plain values unchanged, and describe anything else, such as an array, by its type."""
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    shape = f" of shape {tuple(value.shape)}" if is_array(value) else ""
    return f"{getattr(value, '__name__', type(value).__name__)}{shape}"


def collect(scores: Iterator[Matrix], total: int) -> tuple[Matrix, bool]:
    """Collect the scores; after Ctrl-C, return those so far if they include at least one draw."""
    collected, interrupted = progress.collect(scores, total, "permuting", fewest=2, describe=_describe_draws)
    return np.stack(collected), interrupted


def _describe_draws(scores: list[Matrix]) -> str:
    """Return the largest observed score and its chance level so far, for the progress."""
    observed = float(np.nanmax(scores[0])) if np.isfinite(scores[0]).any() else float("nan")
    chance = [float(np.nanmax(draw)) for draw in scores[1:] if np.isfinite(draw).any()]
    return f"score {observed:.3g}, chance {np.mean(chance):.3g} so far" if chance else f"score {observed:.3g}"
