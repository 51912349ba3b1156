"""Representational similarity analysis: agreement of the distances between rows, and their drift."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels import condensed_matrices
from shesha.kernels.distances import Metric
from shesha.kernels.rounding_and_scaling import clip_rounding
from shesha.measures import sampled_estimates
from shesha.measures.registry import SUPERPOSITION, SYMMETRIC_INPUTS, TEXT_LENGTH, measure
from shesha.views import Distances, RankedRdm
from shesha.views.rdm import Method

FAMILY = "distances"


def _lacks_pairs(options: Mapping[str, Any]) -> str:
    """Return the reason why random pairs cannot give the spectral norm; empty for the Frobenius norm."""
    return "" if options["norm"] == "frobenius" else "the spectral norm needs all pairs of rows: use norm=frobenius"


@measure(
    "RSA",
    view=RankedRdm,
    closer="higher",
    bounds=(-1, 1),
    symmetric=True,
    invariant=("permutation", "scaling"),
    family=FAMILY,
    cost="n^2 d",
    formula="Spearman correlation of the distances of all pairs of rows",
    reference="Kriegeskorte et al. 2008",
    caveats=(
        "A rotation of the features changes the score with metric='correlation', but not with 'euclidean' or 'cosine'.",
        "Pairs that share a row are not independent: use p-values from permuted rows only.",
        SYMMETRIC_INPUTS,
        SUPERPOSITION.format(score=0.13),
        TEXT_LENGTH,
    ),
    inner_product=True,
    self_value=1.0,
    groups=("ReSi",),
    anywhere=True,
    # Over all permutations, each pair of rows is matched with every pair equally often, so correlations cancel.
    expected=lambda a, b: 0.0,
    sample=sampled_estimates.SampledPairs(sampled_estimates.correlation),
)
def rsa(a: RankedRdm, b: RankedRdm, *, metric: Metric = "correlation", method: Method = "spearman") -> float:
    """Correlation between the distances in the two representations.

    This function always uses all pairs of rows. The calibration study uses Euclidean distances; its code samples 8,192
    random pairs if n is at least 182.

    Parameters
    ----------
    metric : {'correlation', 'cosine', 'euclidean'}
        Distance between rows. It is ignored for inputs that are already distances.
    method : {'spearman', 'pearson'}
        Whether to correlate the ranks of the distances or the distances themselves.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> round(rsa(X, 3 * X), 6)
    1.0
    """
    return clip_rounding(a.inner(b), -1.0, 1.0)


@measure(
    "RSMDiff",
    view=Distances,
    closer="lower",
    bounds=(0, np.inf),
    symmetric=True,
    invariant=("orthogonal", "translation"),
    family=FAMILY,
    cost="n^2 d",
    formula="norm of S - S', the matrices of Euclidean distances between rows",
    reference="Yin and Shen 2018; Klabunde et al. 2024",
    caveats=(
        "The difference is in the units of the features: a larger scale gives a larger difference.",
        "The difference grows with the number of rows.",
    ),
    self_value=0.0,
    groups=("ReSi",),
    sample=sampled_estimates.SampledPairs(sampled_estimates.frobenius, metric="euclidean", lacks=_lacks_pairs),
)
def rsm_norm_difference(a: Distances, b: Distances, *, norm: Literal["spectral", "frobenius"] = "spectral") -> float:
    """Norm of the difference between the two matrices of Euclidean distances.

    Parameters
    ----------
    norm : {'spectral', 'frobenius'}
        Norm of the difference. The values in the ReSi benchmark use the spectral norm (largest absolute eigenvalue),
        although its text defines the Frobenius norm.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> round(rsm_norm_difference(X, X[:, ::-1] + 1), 6)
    0.0
    """
    if check.choice(norm, ("spectral", "frobenius"), "norm") == "frobenius":
        return float(np.sqrt(2 * condensed_matrices.squared_difference(a.condensed, b.condensed)))
    return condensed_matrices.largest_eigenvalue(a.condensed - b.condensed, a.n_rows)


@measure(
    "RDM drift",
    view=RankedRdm,
    closer="lower",
    bounds=(0, 2),
    symmetric=True,
    invariant=("orthogonal", "scaling"),
    family="stability",
    cost="n^2 d",
    formula="1 - Spearman correlation of the cosine distances of all pairs of rows",
    reference="Raju 2026, section 10",
    caveats=("Unrelated representations score 1, which is not the maximum: opposite geometries score 2.",),
    inner_product=True,
    self_value=0.0,
    sample=sampled_estimates.SampledPairs(sampled_estimates.drift),
)
def rdm_drift(a: RankedRdm, b: RankedRdm, *, metric: Metric = "cosine", method: Method = "spearman") -> float:
    """One minus the correlation between the distances in two representations.

    The value is the same as that of `shesha.rdm_drift`. If a row has no direction under the metric, however, this
    measure returns NaN with a warning, whereas `shesha.rdm_drift` raises an error.

    Parameters
    ----------
    metric : {'cosine', 'correlation', 'euclidean'}
        Distance between rows. It is ignored for inputs that are already distances.
    method : {'spearman', 'pearson'}
        Whether to correlate the ranks of the distances or the distances themselves.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> abs(round(rdm_drift(X, 3 * X[:, ::-1]), 6))
    0.0
    """
    return clip_rounding(1.0 - a.inner(b), 0.0, 2.0)
