"""Is a stability score above what unrelated halves, or labels that mean nothing, would give?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha import _validate as check
from shesha._types import Seed
from shesha.nulls.orders import Design
from shesha.nulls.summary import summarise
from shesha.results import Chance
from shesha.stability.evidence import Evidence, Request
from shesha.stability.measured import measured, requested


def chance(
    X: ArrayLike,
    y: ArrayLike | None = None,
    variant: str = "feature_split",
    *,
    n_permutations: int = 200,
    alpha: float = 0.05,
    pairs: int | None = None,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    within: ArrayLike | None = None,
    shift: bool = False,
    block_length: int | None = None,
    seed: Seed = None,
    **options: Any,
) -> Chance:
    """Compare a score with its distribution when nothing links what it correlates.

    For the split scores the rows of the second half are matched with those of the first at random;
    for the supervised scores the labels are shuffled.

    A split score averages partitions that share features, and matching breaks this tie: averaged
    over as many partitions the null would be too narrow (false positives at 13 % instead of 5 % with
    30 partitions). So each matching is scored on the number of partitions, one or two, whose average
    spreads as much as the score does when features are independent, or a little more.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 4 rows; may be a memory-mapped file.
    y : array of shape (n_samples,), optional
        Class labels, for the supervised variants.
    variant : str
        As for `estimate`.
    n_permutations : int
        Random matchings K; at least 1 / alpha - 1, or no score could ever be significant.
    alpha : float
        Level of the threshold, in (0, 1).
    pairs : int, optional
        Use this many random pairs of rows for the score (as for `estimate`) and about as many for each matching
        (split scores). Beyond the memory budget the default is 1,000,000 for the score and 100,000 for each matching.
    blocks, groups, within, shift, block_length
        Which rows may take each other's place, and which are resampled together: as for `shesha.nulls.exchange`. Rows
        that depend on one another (cells of a donor, time points) need one of them.
    seed : int, Generator or None
        One seed gives `observed` the value of `estimate` with that seed.
    **options
        As for `estimate`.

    Returns
    -------
    Chance
        Chance level (mean of the null), threshold (order statistic, never interpolated), p-value
        (add-one, so never 0), and the score corrected to be 0 at the threshold and 1 at its maximum.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> signal = chance(rng.standard_normal((60, 5)) @ rng.standard_normal((5, 32)), seed=0)
    >>> round(signal.p_value, 3), abs(signal.level) < 0.01
    (0.005, True)
    >>> bool(chance(rng.standard_normal((60, 32)), seed=0).p_value > 0.05)
    True
    """
    require_reachable(n_permutations, alpha)
    design: Design = {
        "blocks": blocks,
        "groups": groups,
        "within": within,
        "shift": shift,
        "block_length": block_length,
    }
    request = requested(X, y, variant, options, n_permutations=n_permutations, pairs=pairs, seed=seed, design=design)
    if not request.variant.has_chance:
        raise ValueError(
            f"variant must have a null for chance, labels that can be shuffled or an estimator of its own, got "
            f"{request.variant.name!r}, which has neither"
        )
    if request.design is not None:
        request.design.require_enough(n_permutations, alpha)
    return as_chance(request, measured(request), alpha)


def require_reachable(n_permutations: int, alpha: float) -> None:
    """Refuse a level that no score could reach."""
    check.count(n_permutations, "n_permutations")
    check.fraction(alpha, "alpha", closed=False)
    if n_permutations < 1 / alpha - 1 - 1e-9:
        raise ValueError(f"n_permutations must be at least 1 / alpha - 1 = {1 / alpha - 1:g}, got {n_permutations}")


def as_chance(request: Request, evidence: Evidence, alpha: float) -> Chance:
    """Return the evidence as a result."""
    observed, null, reason = evidence.value, evidence.null, evidence.reason
    lost = int(np.isnan(null).sum())
    if observed != observed or lost:
        reason = reason or f"{lost} of {len(null)} matchings gave no score"
        observed, null = float("nan"), np.full(len(null), np.nan)
    found = None if observed != observed else summarise(observed, null, "higher", alpha, request.variant.maximum)
    nan = float("nan")
    return Chance(
        variant=request.variant.name,
        observed=observed,
        level=found.null_mean if found else nan,
        spread=float(null.std(ddof=1)) if found and len(null) > 1 else nan,
        threshold=found.threshold if found else nan,
        p_value=found.p_value if found else nan,
        corrected=found.score if found else nan,
        alpha=alpha,
        n_permutations=len(null),
        n_samples=request.n_rows,
        null=tuple(map(float, null)),
        reason=reason,
        options={**request.options, "seed": request.seed if isinstance(request.seed, int) else None},
    )
