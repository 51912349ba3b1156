"""Estimation of a stability score, with its uncertainty."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import MissingRows, RowChoice, align_all_labels
from shesha.inputs import validation as check
from shesha.kernels.repeated_rows import repeats, row_hashes
from shesha.nulls.design_warnings import undeclared_dependence
from shesha.nulls.permutations import Design
from shesha.results import Estimate
from shesha.stability.estimators.sampled_pairs import PairCount
from shesha.stability.estimators.split_scores import combine_errors
from shesha.stability.evaluation import build_request, evaluate
from shesha.stability.request import Evidence, Request
from shesha.support.draw_counts import N_BOOTSTRAP
from shesha.support.provenance import keep_statements
from shesha.support.types import Seed
from shesha.support.wording import agree, count
from shesha.views import Rows, select_rows

_LOOKED_AT = 4096
"""Number of rows of a file that are checked for duplicates."""


@keep_statements
def estimate(
    X: ArrayLike,
    y: ArrayLike | None = None,
    variant: str = "feature_split",
    *,
    confidence: float = 0.95,
    n_bootstrap: int = N_BOOTSTRAP,
    target_se: float | None = None,
    pairs: PairCount = None,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    within: ArrayLike | None = None,
    shift: bool = False,
    block_length: int | None = None,
    covariates: ArrayLike | None = None,
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    seed: Seed = None,
    **options: Any,
) -> Estimate:
    """Compute a score of a representation, with an interval over new rows and new partitions.

    The interval is for the mean score over samples of the same size, averaged over all partitions of the same features.
    It combines the errors due to rows, random partitions and sampled pairs by adding the squares of their margins. Rows
    are sampled together with their labels, so class sizes vary. If class sizes were fixed by design, pass blocks=y.

    The two split scores and the alignment with labels use all pairs of up to 1,414 rows (1,000,000 pairs). For more
    rows, they use 1,000,000 random pairs and report the additional error. It is small compared with the errors from
    rows and partitions. For more than 1,024 features, a partition of a split score uses the pairs of at most 1,024
    random rows, and the interval includes this choice.

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
    target_se : float, optional
        Largest acceptable Monte Carlo error of the value. More partitions are drawn until it is reached (only for split
        scores).
    pairs : int or 'all', optional
        Exact number of distinct random pairs of rows, which are divided among the partitions. With 'all', all pairs are
        used, at a cost that grows with the square of the number of rows. Default: as described above.
    blocks, groups, within, shift, block_length
        Which rows are exchangeable or resampled together, as for `shesha.nulls.exchange`. Pass one of these options if
        rows depend on one another, such as the cells of a donor, copies or time points. With groups, the interval is
        for samples with the same number of groups.
    covariates : array of shape (n_samples,) or (n_samples, n_covariates), or DataFrame, optional
        Known properties of the rows, as numbers or labels. They are first regressed out of the features, as for
        `shesha.calibrate`. The score then measures stability beyond them.
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
        `pair_error`, and `total_error`, which is the root of the sum of their squares.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 5)) @ rng.standard_normal((5, 64))
    >>> print(estimate(X, seed=320))
    feature_split: 0.8889  [0.8703, 0.9086] at 95% (200 row resamples)
      100 rows x 64 features, 30 draws, 4,950 pairs
      standard error from rows: 0.006, partitions: 0.007, sampled pairs: 0, all: 0.009
    """
    check.fraction(confidence, "confidence", closed=False)
    design = Design(blocks=blocks, groups=groups, within=within, shift=shift, block_length=block_length)
    along: dict[str, Any] = {**design, "y": y, "covariates": covariates}
    sides, along = select_rows({"X": X}, along, rows=rows, missing=missing, metric=options.get("metric") or "cosine")
    X, y, covariates = sides["X"], along.pop("y"), along.pop("covariates")
    design = cast(Design, align_all_labels(X, along))
    request = build_request(
        X,
        y,
        variant,
        options,
        n_bootstrap=n_bootstrap,
        target_se=target_se,
        pairs=pairs,
        seed=seed,
        design=design,
        covariates=covariates,
    )
    result = as_estimate(request, evaluate(request), confidence)
    return replace(result, notes=(*result.notes, *_dependence(request)))


def as_estimate(request: Request, evidence: Evidence, confidence: float) -> Estimate:
    """Convert the evidence to a result."""
    interval = combine_errors(evidence, request.exchange, request.variant.bounds, confidence)
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
        reason=evidence.reason,
        notes=(*evidence.notes, *interval.notes, *_lost(evidence)),
        options={**request.options, "seed": request.seed if isinstance(request.seed, int) else None},
    )


def _lost(evidence: Evidence) -> list[str]:
    lost = int(np.isnan(evidence.resampled).sum())
    return [f"the score is undefined for {lost} resamples of the rows, which are left out"] if lost else []


def _dependence(request: Request) -> tuple[str, ...]:
    """Return warnings about repeated and similar neighbouring rows if no design declares what to resample together."""
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
        signs = undeclared_dependence([rows], request.labels.codes if request.variant.needs_labels else None)
        return (f"the interval may be too narrow: {signs}",) if signs else ()
    where = "" if len(rows) == n else f" among the first {len(rows):,}"
    return (
        f"{count(n_copies, 'row')}{where} {agree(n_copies, 'repeats', 'repeat')} an earlier row exactly. If these are "
        "copies, the interval is too narrow. Declare each set of copies with groups=",
    )
