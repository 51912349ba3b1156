"""Comparison of a stability score with its null distribution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import MissingRows, RowChoice, align_all_labels, align_labels
from shesha.inputs import validation as check
from shesha.nulls.design_warnings import undeclared_dependence, warn_of_series
from shesha.nulls.null_summary import summarise
from shesha.nulls.permutations import Design, nonempty_arguments
from shesha.results import Chance
from shesha.stability.estimators.sampled_pairs import PairCount
from shesha.stability.evaluation import build_request, evaluate
from shesha.stability.nulls.conditional import conditional_requests
from shesha.stability.request import Evidence, Request
from shesha.support.draw_counts import N_PERMUTATIONS
from shesha.support.provenance import keep_statements
from shesha.support.types import Seed
from shesha.support.warnings import CalibrationWarning, warn
from shesha.views import Covariates, Rows, select_rows


@keep_statements
def chance(
    X: ArrayLike,
    y: ArrayLike | None = None,
    variant: str = "feature_split",
    *,
    n_permutations: int = N_PERMUTATIONS,
    alpha: float = 0.05,
    pairs: PairCount = None,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    within: ArrayLike | None = None,
    shift: bool = False,
    block_length: int | None = None,
    keep: str | ArrayLike | None = None,
    covariates: ArrayLike | None = None,
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    seed: Seed = None,
    **options: Any,
) -> Chance:
    """Compare a score with its null distribution, in which the parts that it correlates are unrelated.

    For 'feature_split', the rows of the second half of the features are matched at random with the rows of the first
    half. For 'basis_averaged_split', the values of each feature are permuted separately. For supervised scores, the
    labels are shuffled.

    A random rotation spreads the directions of large variance over both halves. Independent features with unequal
    scales are therefore stable under rotation (0.7 for log-normal scales), but so are separately permuted features, so
    they do not exceed the chance level. Related features do exceed it. Only relations between the given features count:
    principal components do not exceed chance, even if a few of them have most of the variance.

    'feature_split' averages over partitions that share features, and the random matching removes the dependence that
    this causes. A null averaged over as many partitions would be too narrow (13 % false positives instead of 5 % with
    30 partitions). Each matching is therefore scored on only one or two partitions, whose average varies at least as
    much as the score of independent features.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 4 rows. It may be a memory-mapped file.
    y : array of shape (n_samples,), optional
        Class labels, for the supervised variants.
    variant : str
        Name of the score, as for `estimate`.
    n_permutations : int
        Number of draws from the null distribution, at least 1 / alpha - 1, because with fewer draws no score can be
        significant.
    alpha : float
        Significance level of the threshold, in (0, 1).
    pairs : int or 'all', optional
        Number of random pairs of rows for the score, as for `estimate`. Each draw from the null uses at most 100,000
        pairs; using fewer pairs makes the null wider, never narrower.
    blocks, groups, within, shift, block_length
        Which rows are exchangeable, as for `shesha.nulls.exchange`. Pass one of these options if rows depend on one
        another, such as the cells of a donor or time points.
    keep : 'row scale' or array of shape (n_samples,), optional
        Property of each row that the null preserves, to test for stability beyond this property. It can be combined
        only with `blocks`. Rows that differ only in scale about an offset, or in count depth, are stable for this
        reason alone. 'row scale' computes three nulls, in which rows are permuted among rows with a similar norm,
        distance from the mean, or number of nonzero features, and returns the strictest one. Data without other
        structure exceed it in at most 5 % of cases. If an array is passed, such as the depth of a cell before
        normalisation, rows are permuted among rows with similar values (`shesha.nulls.match_by_quantity`).
    covariates : array of shape (n_samples,) or (n_samples, n_covariates), or DataFrame, optional
        Known properties of the rows, as numbers or labels. They are first regressed out of the features, as for
        `shesha.calibrate`. The score then measures stability beyond them, and the null permutes rows among those with
        similar covariates.
    rows : {'same', 'shared'}
        Whether labels and design must have the same row names as X, or only the rows that all of them have are used.
    missing : {'refuse', 'drop'}
        As for `compare`.
    seed : int, Generator or None
        Seed for all random draws. `observed` equals the value of `estimate` with the same seed.
    **options
        Options of the score, as for `estimate`.

    Returns
    -------
    Chance
        Chance level (mean of the null), threshold (an order statistic, not interpolated) and p-value (with one added to
        numerator and denominator, so never 0). It also contains the corrected score, which is 0 at the threshold and 1
        at the maximum of the score.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> signal = chance(rng.standard_normal((60, 5)) @ rng.standard_normal((5, 32)), seed=0)
    >>> round(signal.p_value, 3), abs(signal.level) < 0.01
    (0.005, True)
    >>> noise = rng.standard_normal((60, 32))
    >>> bool(chance(noise, seed=0).p_value > 0.05)
    True

    Rows that differ in scale about an offset are stable, but not beyond their scale:

    >>> scaled = 1 + rng.lognormal(size=(60, 1)) * noise
    >>> found = chance(scaled, seed=0), chance(scaled, keep="row scale", seed=0)
    >>> found[0].p_value < 0.05, found[1].p_value > 0.05, found[1].exchanged
    (True, True, 'rows of similar distance from the mean row')
    """
    require_reachable(n_permutations, alpha)
    design = Design(blocks=blocks, groups=groups, within=within, shift=shift, block_length=block_length)
    along: dict[str, Any] = {**design, "y": y, "covariates": covariates, "keep": keep}
    sides, along = select_rows({"X": X}, along, rows=rows, missing=missing, metric=options.get("metric") or "cosine")
    X, y, covariates = sides["X"], along.pop("y"), along.pop("covariates")
    keep = along.pop("keep")
    design = cast(Design, align_all_labels(X, along))
    request = build_request(
        X,
        y,
        variant,
        options,
        n_permutations=n_permutations,
        pairs=pairs,
        seed=seed,
        design=design,
        covariates=covariates,
    )
    if covariates is not None and not set(nonempty_arguments(design)) - {"blocks"}:
        like = Covariates.build(align_labels(X, covariates, "covariates"), request.n_rows).design(design["blocks"])
        request = replace(request, design=like)
    if not request.variant.has_chance:
        raise ValueError(f"variant must have a null distribution, got {request.variant.name!r}, which has none")
    _warn_of_series(request, design)
    candidates = [request] if keep is None else _conditional_requests(request, align_labels(X, keep, "keep"), design)
    for candidate in candidates:
        if candidate.design is not None:
            candidate.null_design.require_enough(n_permutations, alpha)
    return _strictest([as_chance(candidate, evaluate(candidate), alpha) for candidate in candidates])


def _warn_of_series(request: Request, design: Design) -> None:
    """Warn if rows are not exchangeable under the design, or depend on one another and no design is declared."""
    rows = request.source
    if not isinstance(rows, Rows) or rows.is_sparse:
        return
    if nonempty_arguments(design):
        if not request.variant.needs_labels:
            warn_of_series([rows.sample], design)
    elif request.design is None and (
        signs := undeclared_dependence([rows.sample], request.labels.codes if request.variant.needs_labels else None)
    ):
        warn(f"p-values may be too small: {signs}", CalibrationWarning)


def _conditional_requests(request: Request, keep: str | ArrayLike, design: Design) -> list[Request]:
    others = [name for name in nonempty_arguments(design) if name != "blocks"]
    if others:
        raise ValueError(f"keep must be used alone or with blocks, got also {' and '.join(others)}")
    return conditional_requests(request, keep, design["blocks"])


def _describe_null(request: Request) -> str:
    """Describe what the null permutes."""
    rows = "all rows" if request.design is None else request.null_design.text
    return f"each feature separately, {rows}" if request.variant.view_options.get("rotated") else rows


def _strictest(results: list[Chance]) -> Chance:
    """Return the result with the strictest null; a null that cannot be estimated counts as strictest."""
    return max(results, key=lambda result: (result.p_value != result.p_value, result.p_value, result.threshold))


def require_reachable(n_permutations: int, alpha: float) -> None:
    """Raise an error if no score could reach the significance level."""
    n_permutations = check.count(n_permutations, "n_permutations")
    check.fraction(alpha, "alpha", closed=False)
    if n_permutations < 1 / alpha - 1 - 1e-9:
        raise ValueError(f"n_permutations must be at least 1 / alpha - 1 = {1 / alpha - 1:g}, got {n_permutations}")


def as_chance(request: Request, evidence: Evidence, alpha: float) -> Chance:
    """Convert the evidence to a result."""
    observed, null, reason = evidence.value, evidence.null, evidence.reason
    lost = int(np.isnan(null).sum())
    if observed != observed or lost:
        reason = reason or f"the score is undefined for {lost} of {len(null)} permutations"
        observed, null = float("nan"), np.full(len(null), np.nan)
    numbers: dict[str, Any] = {"alpha": alpha, "n_draws": len(null)}
    if observed == observed:
        numbers = summarise(observed, null, "higher", alpha, request.variant.maximum).evidence()
        numbers["chance_sd"] = float(null.std(ddof=1)) if len(null) > 1 else float("nan")
    return Chance(
        name=request.variant.name,
        value=observed,
        **numbers,
        n_rows=request.n_rows,
        null=tuple(map(float, null)),
        reason=reason,
        exchanged=_describe_null(request),
        options={**request.options, "seed": request.seed if isinstance(request.seed, int) else None},
    )
