"""A stability score with its interval and its null distribution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from shesha.doubting import warn_of_row_doubts
from shesha.inputs import MissingRows, RowChoice, align_all_labels, align_labels, validation as check
from shesha.inputs.column_words import CLUSTERS
from shesha.kernels.repeated_rows import repeats, row_hashes
from shesha.kernels.rounding_and_scaling import is_constant
from shesha.kernels.spectrum import decorrelation_p_value
from shesha.nulls.design_warnings import find_undeclared_dependence, warn_of_series
from shesha.nulls.null_summary import summarise
from shesha.nulls.permutations import Design, nonempty_arguments
from shesha.nulls.restricted_permutations import require_enough_draws
from shesha.results import Estimate
from shesha.stability.evaluation import build_request, evaluate
from shesha.stability.labels_from_features import are_labels_from_features
from shesha.stability.registry import Request, ScoreDraws
from shesha.stability.row_matching import PairCount, conditional_requests
from shesha.stability.split_scores import combine_errors
from shesha.support.provenance import keep_statements
from shesha.support.seeds import ALPHA, CONFIDENCE, N_BOOTSTRAP, N_PERMUTATIONS, default_draws
from shesha.support.types import Seed
from shesha.support.warnings import CalibrationWarning, warn
from shesha.support.wording import agree, count
from shesha.views import Covariates, Rows, select_rows

_LOOKED_AT = 4096
"""Number of rows of a file that are checked for duplicates."""


@keep_statements
def estimate(
    X: ArrayLike,
    y: ArrayLike | None = None,
    variant: str = "feature_split",
    *,
    confidence: float = CONFIDENCE,
    n_bootstrap: int = N_BOOTSTRAP,
    n_permutations: int | None = None,
    alpha: float = ALPHA,
    target_se: float | None = None,
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
) -> Estimate:
    """Compute a score of a representation, with its interval and its chance level.

    The interval is for the mean score over samples of the same size, averaged over all partitions of the same features.
    It combines the errors due to rows, random partitions and sampled pairs by adding the squares of their margins. Rows
    are sampled together with their labels, so class sizes vary. If class sizes were fixed by design, pass blocks=y.

    The two split scores and the alignment with labels use all pairs of up to 1,414 rows (1,000,000 pairs). For more
    rows, they use 1,000,000 random pairs and report the additional error. It is small compared with the errors from
    rows and partitions. For more than 1,024 features, a partition of a split score uses the pairs of at most 1,024
    random rows, and the interval includes this choice.

    In the null distribution, the parts that a score correlates are unrelated. For 'feature_split', the rows of the
    second half of the features are matched at random with the rows of the first half. For 'basis_averaged_split', the
    values of each feature are permuted separately. For supervised scores, the labels are shuffled.

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
        The representation, with at least 4 rows. It may be a memory-mapped file of any length.
    y : array of shape (n_samples,), optional
        Class labels, for the supervised variants.
    variant : str
        Name of the score: any name that `shesha` accepts, except 'sample_split' and 'anchor'.
    confidence : float
        Confidence level of the interval, in (0, 1).
    n_bootstrap : int
        Number of resamples of the rows; 0 means no interval. Pairs of a row with its copy are left out, because their
        distance is zero in both halves and would raise the score. The margins are the distances of the bootstrap
        quantiles from the bootstrap mean, because duplicates bias the resampled scores but not their spread. Student's
        t widens the margins according to the number of rows or groups. With sampled pairs, the margins are computed
        analytically instead (dyadic-robust).
    n_permutations : int, optional
        Number of draws from the null distribution, at least 1 / alpha - 1; 0 means no chance level. Default: 200, more
        if alpha needs more, or 0 for a score without a null distribution.
    alpha : float
        Significance level of the threshold, in (0, 1).
    target_se : float, optional
        Largest acceptable Monte Carlo error of the value. More partitions are drawn until it is reached (only for split
        scores).
    pairs : int or 'all', optional
        Exact number of distinct random pairs of rows, which are divided among the partitions. With 'all', all pairs are
        used, at a cost that grows with the square of the number of rows. Default: as described above. Each draw from
        the null uses at most 100,000 pairs; using fewer pairs makes the null wider, never narrower.
    blocks, groups, within, shift, block_length
        Which rows are exchangeable or resampled together, as for `shesha.nulls.exchange`. Pass one of these options if
        rows depend on one another, such as the cells of a donor, copies or time points. With groups, the interval is
        for samples with the same number of groups.
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
        Seed for all random draws. If all pairs are used, the value equals that of the documented function with this
        seed.
    **options
        Options of the score: 'metric', 'n_splits', 'n_rotations' or 'n_draws', and 'subsample_frac', as far as it has
        them.

    Returns
    -------
    Estimate
        Contains `value`, `low` and `high`, and the errors: `standard_error` (rows), `monte_carlo_error` (partitions),
        `pair_error`, and `total_error`, which is the root of the sum of their squares. `chance` is the mean of the
        null, `threshold` an order statistic of it (not interpolated), and `p_value` has one added to numerator and
        denominator, so it is never 0. `calibrated` is 0 at the threshold and 1 at the maximum of the score.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 5)) @ rng.standard_normal((5, 64))
    >>> found = estimate(X, seed=320)
    >>> round(found.value, 4), round(found.low, 4), round(found.high, 4), found.verdict
    (0.8889, 0.8703, 0.9086, 'above chance')
    >>> estimate(rng.standard_normal((60, 32)), seed=0).verdict
    'not above chance'

    Rows that differ in scale about an offset are stable, but not beyond their scale:

    >>> scaled = 1 + rng.lognormal(size=(60, 1)) * rng.standard_normal((60, 32))
    >>> estimate(scaled, seed=0).verdict, estimate(scaled, keep="row scale", seed=0).verdict
    ('above chance', 'not above chance')
    """
    check.fraction(confidence, "confidence", closed=False)
    check.fraction(alpha, "alpha", closed=False)
    design = Design(blocks=blocks, groups=groups, within=within, shift=shift, block_length=block_length)
    along: dict[str, Any] = {**design, "y": y, "covariates": covariates, "keep": keep}
    sides, along = select_rows({"X": X}, along, rows=rows, missing=missing, metric=options.get("metric") or "cosine")
    X, y, covariates, keep = sides["X"], along.pop("y"), along.pop("covariates"), along.pop("keep")
    design = cast(Design, align_all_labels(X, along))
    chosen: dict[str, Any] = {"pairs": pairs, "seed": seed, "design": design, "covariates": covariates}
    request = build_request(X, y, variant, options, n_bootstrap=n_bootstrap, target_se=target_se, **chosen)
    n_draws = n_permutations
    if n_draws is None:
        n_draws = default_draws(1, alpha, N_PERMUTATIONS) if request.variant.has_chance else 0
    require_enough_draws(n_draws, alpha, minimum=0)
    if (n_draws or keep is not None) and not request.variant.has_chance:
        raise ValueError(f"variant must have a null distribution, got {request.variant.name!r}, which has none")
    if keep is not None and not n_draws:
        raise ValueError("n_permutations must be at least 1 with keep, got 0")
    null_requests = [replace(request, n_permutations=n_draws)]
    if covariates is not None and not set(nonempty_arguments(design)) - {"blocks"}:
        like = Covariates.build(align_labels(X, covariates, "covariates"), request.n_rows).design(design["blocks"])
        null_requests = [replace(null_requests[0], design=like)]
    if keep is not None:
        others = [name for name in nonempty_arguments(design) if name != "blocks"]
        if others:
            raise ValueError(f"keep must be used alone or with blocks, got also {' and '.join(others)}")
        null_requests = conditional_requests(null_requests[0], align_labels(X, keep, "keep"), design["blocks"])
    _warn_of_clusters(request, y)
    if not _warn_of_fitted_axes(request):
        _warn_of_doubts(request)
    few = too_few_permutations(null_requests, n_draws, alpha) if n_draws else ""
    if few and n_permutations is not None:
        raise ValueError(few)
    if not n_draws or few:
        result = as_estimate(request, evaluate(request), confidence, alpha)
        return replace(result, notes=(*result.notes, *_dependence(request), *([f"no chance level: {few}"] * bool(few))))
    _warn_of_series(request, design)
    if len(null_requests) == 1 and null_requests[0].design is request.design:
        # One pass gives value, interval and null.
        found = as_estimate(null_requests[0], evaluate(null_requests[0]), confidence, alpha)
        return replace(found, notes=(*found.notes, *_dependence(request)))
    result = as_estimate(request, evaluate(request), confidence, alpha)
    nulls = [as_estimate(one, evaluate(replace(one, n_bootstrap=0)), confidence, alpha) for one in null_requests]
    # A null that cannot be estimated counts as strictest.
    strictest = max(nulls, key=lambda one: (one.p_value != one.p_value, one.p_value, one.threshold))
    notes = (*result.notes, *_dependence(request), *strictest.notes)
    return replace(
        result,
        notes=tuple(dict.fromkeys(notes)),
        null=strictest.null,
        exchanged=strictest.exchanged,
        **strictest.evidence(),
    )


def as_estimate(request: Request, evidence: ScoreDraws, confidence: float, alpha: float = ALPHA) -> Estimate:
    """Convert the evidence to a result."""
    interval = combine_errors(evidence, request.exchange, request.variant.bounds, confidence)
    numbers, no_chance = _compare_with_null(request, evidence, alpha)
    lost = int(np.isnan(evidence.resampled).sum())
    left_out = [f"the score is undefined for {lost} resamples of the rows, which are left out"] if lost else []
    return Estimate(
        name=request.variant.name,
        value=evidence.value,
        low=interval.low,
        high=interval.high,
        confidence=confidence,
        standard_error=interval.row_error,
        monte_carlo_error=interval.partition_error,
        pair_error=evidence.pair_error,
        n_rows=request.n_rows,
        n_features=request.n_features,
        n_partitions=len(evidence.draws),
        n_resamples=interval.n_resamples,
        n_pairs=evidence.n_pairs,
        pairs_dropped=evidence.pairs_dropped,
        seed=request.seed if isinstance(request.seed, int) else None,
        reason=evidence.reason,
        notes=(*evidence.notes, *interval.notes, *left_out, *no_chance),
        options=dict(request.options),
        **numbers,
    )


def _compare_with_null(request: Request, evidence: ScoreDraws, alpha: float) -> tuple[dict[str, Any], list[str]]:
    """Return the fields that describe the null distribution, and a note if there is none although it was requested."""
    null, numbers = evidence.null, {"alpha": alpha, "n_draws": 0}
    if not request.n_permutations or evidence.value != evidence.value:
        return numbers, []
    lost = int(np.isnan(null).sum())
    if lost:
        return numbers, [f"no chance level: the score is undefined for {lost} of {len(null)} permutations"]
    best = request.variant.maximum
    numbers = summarise(evidence.value, null, "higher", alpha, best).evidence()
    numbers["chance_sd"] = float(null.std(ddof=1)) if len(null) > 1 else float("nan")
    return numbers | {"null": tuple(map(float, null)), "exchanged": _describe_null(request)}, []


def too_few_permutations(requests: list[Request], n_permutations: int, alpha: float) -> str:
    """Return why the design allows too few permutations; empty if it allows enough."""
    for request in requests:
        if request.design is not None:
            try:
                request.null_design.require_enough(n_permutations, alpha)
            except ValueError as few:
                return str(few)
    return ""


def _dependence(request: Request) -> tuple[str, ...]:
    """Return warnings about repeated and similar consecutive rows if no design declares what to resample together."""
    if request.design is not None or not isinstance(request.source, Rows):
        return ()
    rows, n = request.source.sample, request.n_rows
    if isinstance(rows, np.memmap):
        # For this check, the whole file need not be read.
        rows = rows[:_LOOKED_AT]
    copies = repeats(row_hashes(rows))
    # Zero rows are more likely to be missing measurements than copies.
    n_copies = sum(bool(row.any()) for row in rows[copies])
    if not n_copies:
        signs = find_undeclared_dependence([rows], request.labels.codes if request.variant.needs_labels else None)
        return (f"the interval may be too narrow: {signs}",) if signs else ()
    where = "" if len(rows) == n else f" among the first {len(rows):,}"
    return (
        f"{count(n_copies, 'row')}{where} {agree(n_copies, 'repeats', 'repeat')} an earlier row exactly. If these are "
        "copies, the interval is too narrow. Declare each set of copies with groups=",
    )


def _warn_of_series(request: Request, design: Design) -> None:
    """Warn if rows are not exchangeable under the design, or depend on one another and no design is declared."""
    rows = request.source
    if not isinstance(rows, Rows) or rows.is_sparse:
        return
    if nonempty_arguments(design):
        if not request.variant.needs_labels:
            warn_of_series([rows.sample], design)
    elif request.design is None and (
        signs := find_undeclared_dependence(
            [rows.sample], request.labels.codes if request.variant.needs_labels else None
        )
    ):
        warn(f"p-values may be too small: {signs}", CalibrationWarning)


def _warn_of_clusters(request: Request, y: Any) -> None:
    """Warn if labels are named like clusters, or are divided by planes as k-means clusters are."""
    if not request.variant.needs_labels:
        return
    name = str(getattr(check.label_column(y, "y"), "name", None) or "")
    if CLUSTERS.fit(name):
        sign = f"they are named {name!r}"
    elif isinstance(request.source, Rows) and are_labels_from_features(request.source, request.labels.codes):
        sign = (
            "hardly any row lies beyond the plane between two classes, as in k-means clusters or bins of an encoded "
            "variable"
        )
    else:
        return
    warn(
        f"the p-value says nothing about kinds of rows if the labels are clusters of the same data: {sign}. Clusters "
        "agree with their data by construction, even in noise",
        CalibrationWarning,
    )


def _warn_of_fitted_axes(request: Request) -> bool:
    """Return whether axes were fitted to the rows, and warn if halves of the features share nothing for this reason."""
    rows = request.source
    # All rows are needed, because axes that were fitted to them are correlated in some of them.
    if not isinstance(rows, Rows) or rows.is_sparse or isinstance(rows.sample, np.memmap):
        return False
    columns = rows.sample[:, np.unique(np.linspace(0, rows.shape[1] - 1, _AXES).astype(np.intp))].astype(np.float64)
    columns = columns[:, ~is_constant(columns)]
    columns /= np.abs(columns).max(axis=0)
    is_fitted = columns.shape[1] > 1 and bool(decorrelation_p_value(np.cov(columns.T), len(columns)) >= 0)
    if is_fitted and request.variant.name == "feature_split":
        warn(
            "columns are uncorrelated, as principal components are, so halves of them share nothing by construction. "
            "Use variant='basis_averaged_split', or the original features",
            CalibrationWarning,
        )
    return is_fitted


def _warn_of_doubts(request: Request) -> None:
    """Warn of features that dominate, raw counts, codes of missing values and other faults of the rows."""
    rows = request.source
    if isinstance(rows, Rows) and not (rows.is_sparse or isinstance(rows.sample, np.memmap)):
        metric = request.options.get("metric", "cosine")
        # A row at any distance from the others is one row among the angles and ranks.
        warn_of_row_doubts(rows, metric=metric, but=("few rows",))


_AXES = 128
"""Number of evenly spaced columns whose correlations are looked at."""


def _describe_null(request: Request) -> str:
    """Describe what the null permutes."""
    rows = "all rows" if request.design is None else request.null_design.text
    return f"each feature separately, {rows}" if request.variant.view_options.get("rotated") else rows
