"""Calibrate one similarity against its null distribution under permutations of the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from shesha.calibration.calibrated_pair_doubts import doubts_of_pair, leave_out_scorer, weigh_doubts
from shesha.calibration.calibration_input import Subject, covariate_design, prepare
from shesha.calibration.dependence_warnings import warn_of_dependence
from shesha.inputs import MissingRows, RowChoice, labels_in_order
from shesha.inputs import validation as check
from shesha.measures.registry import Choice
from shesha.nulls.null_summary import best_value, require_attainable_maximum, summarise
from shesha.nulls.permutations import Design, draw_permutations, identity_first
from shesha.results import Calibrated
from shesha.support.default_draw_counts import N_PERMUTATIONS
from shesha.support.progress import track
from shesha.support.provenance import keep_statements
from shesha.support.seeds import number
from shesha.support.types import Index, Matrix, Seed
from shesha.support.warnings import NotEstimable
from shesha.views import Rdm, select_rows


@keep_statements
def calibrate(
    X: ArrayLike | Rdm,
    Y: ArrayLike | Rdm,
    measure: Choice = "CKA",
    *,
    n_permutations: int = N_PERMUTATIONS,
    alpha: float = 0.05,
    maximum: float | None = None,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    within: ArrayLike | None = None,
    shift: bool = False,
    block_length: int | None = None,
    permutations: ArrayLike | None = None,
    truncate: int | float | None = None,
    covariates: ArrayLike | Mapping[str, ArrayLike] | Rdm | None = None,
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    seed: Seed = None,
    **options: Any,
) -> Calibrated:
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
    Calibrated
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
    >>> round(found.observed, 2), found.score, found.significant
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
    doubts = doubts_of_pair(subject.sides, design, dependence, only_cheap=True)
    best = best_value(subject.closer, subject.bounds, maximum)
    described = plain_options(options, truncate)
    common: dict[str, Any] = {
        "measure": subject.name,
        "closer": subject.closer,
        "maximum": best,
        "alpha": float(alpha),
        "n_rows": subject.n_rows,
        "exchanged": exchanged,
        "seed": number(seed),
        "options": described if covariates is None else described | {"covariates": _plain(covariates)},
    }
    result = _summarise_draws(subject, orders, common, maximum)
    if result.reason:
        return result
    without = leave_out_scorer(subject, measure, options, truncate, seed) if covariates is None else None
    found = result.observed, result.null_mean, result.null_sd
    return replace(result, doubts=weigh_doubts(doubts, subject, *found, best, without))


def _summarise_draws(
    subject: Subject, orders: list[Index], common: dict[str, Any], maximum: float | None
) -> Calibrated:
    """Score the observed pairing and every draw, and summarise how they compare."""
    try:
        scores, interrupted = collect(subject.scores(identity_first(orders)), len(orders) + 1)
    except NotEstimable as reason:
        return missing_result(str(reason), len(orders), common)
    observed, null = float(scores[0, 0, 0]), scores[1:, 0, 0]
    if np.isnan(observed):
        return missing_result("the measure returned NaN for the observed pairing", len(null), common)
    summary = summarise(observed, null, subject.closer, common["alpha"], common["maximum"])
    require_attainable_maximum(maximum, observed, summary.threshold, subject.closer)
    return Calibrated(
        observed=observed,
        n_permutations=len(null),
        null=tuple(null.tolist()),
        interrupted=interrupted,
        **vars(summary),
        **common,
    )


def missing_result(reason: str, n_permutations: int, common: dict[str, Any]) -> Calibrated:
    """Return the result for a measure that cannot be computed from the data, and warn with the reason."""
    nan = check.not_estimable(reason)
    numbers = ("observed", "score", "p_value", "threshold", "percentile", "null_mean", "null_sd", "centred", "z")
    missing: dict[str, Any] = dict.fromkeys(numbers, nan)
    return Calibrated(**missing, adjusted=nan, n_permutations=n_permutations, reason=reason, **common)


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
    shape = f" of shape {tuple(value.shape)}" if hasattr(value, "shape") else ""
    return f"{getattr(value, '__name__', type(value).__name__)}{shape}"


def collect(scores: Iterator[Matrix], total: int) -> tuple[Matrix, bool]:
    """Collect the scores; after Ctrl-C, return those so far if they include at least one draw."""
    collected: list[Matrix] = []
    try:
        collected.extend(track(scores, total, "permuting"))
    except KeyboardInterrupt:
        if len(collected) < 2:
            raise
        return np.stack(collected), True
    return np.stack(collected), False
