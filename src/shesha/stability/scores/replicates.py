"""Stability across matched replicates, that is, the same rows measured or encoded twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shesha.inputs import validation as check
from shesha.kernels import ranks
from shesha.kernels.distances import Metric
from shesha.stability.registry import stability
from shesha.support.warnings import NotEstimable
from shesha.views import RankedRdm, Standard
from shesha.views.rdm import METHODS, Method

_NOT_CORRECT = "Two fits may agree and both be wrong. A low value may be due to noise in only one of the fits."


@stability(
    needs="replicates",
    view=RankedRdm,
    title="Replicate stability",
    bounds=(-1, 1),
    means="Do two replicates of the same rows agree on all distances?",
    means_not=_NOT_CORRECT,
    reference="Raju 2026, section 3.2",
    invariant=("scaling", "orthogonal"),
)
def replicate_stability(a: RankedRdm, b: RankedRdm, *, metric: Metric = "cosine", method: Method = "spearman") -> float:
    """Correlation between the distances of two replicates of the same rows.

    Row i of both replicates is the same input, measured twice or encoded by two fits. Each distance is therefore
    compared with the distance between the same two rows, and the score estimates a well-defined quantity: the share of
    the geometry that a replication preserves.

    Parameters
    ----------
    X_a : array of shape (n_samples, n_features_a)
        First replicate, with at least 4 rows and finite values.
    X_b : array of shape (n_samples, n_features_b)
        Second replicate of the same rows.
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows.
    method : {'spearman', 'pearson'}
        Correlation between the two sets of distances.

    Returns
    -------
    float
        Correlation, in [-1, 1]; NaN, with a warning, if all distances of one replicate are equal.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> signal = rng.standard_normal((80, 10))
    >>> noisy = [signal + 0.3 * rng.standard_normal((80, 10)) for _ in range(2)]
    >>> round(replicate_stability(*noisy), 2)
    0.84
    """
    return a.inner(b)


@stability(
    needs="replicates",
    view=Standard,
    title="Anchor-profile stability",
    bounds=(-1, 1),
    means="Are the distances of other rows to fixed anchor rows the same in both replicates?",
    means_not=_NOT_CORRECT,
    reference="Raju 2026, section 3.2",
    invariant=("scaling", "orthogonal"),
)
def anchor_profile_stability(
    a: Standard,
    b: Standard,
    anchor_ids: Sequence[int] | NDArray[np.integer],
    probe_ids: Sequence[int] | NDArray[np.integer] | None = None,
    *,
    metric: Metric = "cosine",
    method: Method = "spearman",
) -> float:
    """Agreement of two replicates on the distances from fixed anchor rows to other rows.

    For each anchor, its distances to the probe rows are correlated between the two replicates; the score is the mean
    over the anchors. Only n_anchors * n_probes distances are needed, instead of about n_samples**2 / 2.

    Parameters
    ----------
    X_a, X_b : arrays of shape (n_samples, n_features_a) and (n_samples, n_features_b)
        Two replicates of the same rows, with finite values.
    anchor_ids : sequence of int
        Row numbers of the anchors.
    probe_ids : sequence of int, optional
        Row numbers of the probes, at least 3. Default: all rows that are not anchors.
    metric, method
        As for `replicate_stability`.

    Returns
    -------
    float
        Mean correlation, in [-1, 1]. Anchors with equal distances from all probes are left out. NaN, with a warning, if
        no anchor remains.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 8))
    >>> anchor_profile_stability(X, 2 * X, anchor_ids=[0, 1, 2])
    1.0
    """
    check.choice(method, METHODS, "method")
    anchors = check.row_ids(anchor_ids, a.n_rows, "anchor_ids")
    probes = (
        np.setdiff1d(np.arange(a.n_rows), anchors)
        if probe_ids is None
        else check.row_ids(probe_ids, a.n_rows, "probe_ids")
    )
    if len(probes) < 3:
        raise ValueError(f"probe_ids must name at least 3 rows, got {len(probes)}")
    both = np.intersect1d(anchors, probes)
    if len(both):
        raise ValueError(f"probe_ids must name other rows than anchor_ids, got {check.join_items(both)} in both")
    scores = np.array([_profile_correlation(a, b, anchor, probes, method) for anchor in anchors])
    if np.isnan(scores).all():
        raise NotEstimable("every anchor has equal distances to all probes")
    return float(np.nanmean(scores))


def _profile_correlation(a: Standard, b: Standard, anchor: int, probes: NDArray[np.intp], method: Method) -> float:
    i = np.full(len(probes), anchor)
    profiles = [side.squared_distances_between(i, probes) for side in (a, b)]
    if method == "pearson":
        profiles = [np.sqrt(values) if side.squares else values for values, side in zip(profiles, (a, b), strict=True)]
        return ranks.pearson(profiles[0], profiles[1], (a.level, b.level))
    return ranks.spearman(profiles[0], profiles[1], (a.level, b.level))
