"""Drift: how far the distances in a representation differ from those in an earlier one."""

from __future__ import annotations

from shesha.kernels.distances import Metric
from shesha.kernels.rounding_and_scaling import clip_rounding
from shesha.measures import sampled_estimates
from shesha.measures.registry import measure
from shesha.views import RankedRdm
from shesha.views.rdm import Method


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
