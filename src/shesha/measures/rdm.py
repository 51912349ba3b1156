"""Agreement of the distances between rows (RSA), their drift, and agreement on the order of distances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels import condensed_matrices
from shesha.kernels.distances import Metric
from shesha.kernels.rounding_and_scaling import clip_rounding
from shesha.measures import registry
from shesha.measures.registry import SUPERPOSITION, SYMMETRIC_INPUTS, TEXT_LENGTH, measure
from shesha.support.types import Seed
from shesha.views import Comparisons, Distances, RankedRdm, RowRanks
from shesha.views.rdm import CORRELATIONS, METHODS, Method

DISTANCES = "distances"


def _declare_method(*, method: Method, **_: Any) -> dict[str, Any]:
    """Return the properties of RSA that depend on how distances are compared."""
    check.choice(method, METHODS, "method")
    return {
        "inner_product": method != "tau-a",
        "self_value": None if method in ("rho-a", "tau-a") else 1.0,
        "expected": None if method == "cosine_cov" else _zero,
    }


def _zero(a: RankedRdm, b: RankedRdm) -> float:
    """Return the mean over all permutations, which match each pair of rows with every pair equally often."""
    return 0.0


def _lacks_correlation(options: Mapping[str, Any]) -> str:
    """Return the reason why random pairs cannot give the value; empty for a correlation."""
    method = options["method"]
    return "" if method in CORRELATIONS else f"method={method} needs all pairs of rows: use spearman or pearson"


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
    family=DISTANCES,
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
    expected=_zero,
    sample=registry.SampledPairs(registry.correlation, lacks=_lacks_correlation),
    under=_declare_method,
)
def rsa(a: RankedRdm, b: RankedRdm, *, metric: Metric = "correlation", method: Method = "spearman") -> float:
    """Correlation between the distances in the two representations.

    This function always uses all pairs of rows. The calibration study uses Euclidean distances; its code samples 8,192
    random pairs if n is at least 182.

    Parameters
    ----------
    metric : {'correlation', 'cosine', 'euclidean'}
        Distance between rows. It is ignored for inputs that are already distances.
    method : {'spearman', 'pearson', 'rho-a', 'tau-a', 'corr_cov', 'cosine_cov'}
        Whether to correlate the ranks of the distances or the distances themselves. 'rho-a' and 'tau-a' (Kendall) do
        not reward predicted ties: use them to rank models that predict equal distances, such as categories (Schütt et
        al. 2023). 'corr_cov' and 'cosine_cov' are the correlation and the cosine of whitened squared distances, which
        are more reliable, because distances that share a row have correlated errors (Diedrichsen et al. 2021).

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
    family=DISTANCES,
    cost="n^2 d",
    formula="norm of S - S', the matrices of Euclidean distances between rows",
    reference="Yin and Shen 2018; Klabunde et al. 2024",
    caveats=(
        "The difference is in the units of the features: a larger scale gives a larger difference.",
        "The difference grows with the number of rows.",
    ),
    self_value=0.0,
    groups=("ReSi",),
    sample=registry.SampledPairs(registry.frobenius, metric="euclidean", lacks=_lacks_pairs),
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
    sample=registry.SampledPairs(registry.drift),
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
    check.choice(method, CORRELATIONS, "method")
    return clip_rounding(1.0 - a.inner(b), 0.0, 2.0)


ORDINAL = "ordinal"
_LARGE_ERROR = 0.005
"""Smallest Monte Carlo standard error that is reported in a note."""


def _agreement(a: Comparisons, b: Comparisons) -> float:
    return float((a.signs == b.signs).mean())


def _monte_carlo_error(a: Comparisons, b: Comparisons) -> str:
    """Return a note on the sampling error if it exceeds `_LARGE_ERROR`; otherwise an empty string."""
    share, n = _agreement(a, b), a.tuples.shape[1]
    error = float(np.sqrt(share * (1 - share) / n))
    if not a.sampled or error <= _LARGE_ERROR:
        return ""
    return f"{n:,} sampled comparisons give a Monte Carlo standard error of {error:.3f}; pass a larger n_samples"


_CAVEATS = (
    "Unrelated data score 1/2, not 0, if no distances tie. Pairs that tie in both count as agreement, which raises the "
    "score.",
    "For many rows, the score is estimated from a sample of comparisons, with a standard error of at most 0.5 / "
    "sqrt(n_samples).",
)


@measure(
    "TSI",
    view=Comparisons,
    closer="higher",
    bounds=(0, 1),
    symmetric=True,
    invariant=("orthogonal", "scaling", "translation"),
    family=ORDINAL,
    cost="n^2 d",
    formula="share of triplets i, j, k with sign(d_X(i, j) - d_X(i, k)) = sign(d_Y(i, j) - d_Y(i, k))",
    reference="Soares et al. 2026 (arXiv 2606.16379)",
    caveats=_CAVEATS,
    self_value=1.0,
    view_options={"shape": "triplets"},
    remark=_monte_carlo_error,
)
def triplet_similarity(
    a: Comparisons, b: Comparisons, *, metric: Metric = "euclidean", n_samples: int = 200_000, seed: Seed = None
) -> float:
    """Share of triplets for which both representations agree on which of two rows is nearer to the third.

    Only distances from the same row are compared, so two representations can score 1 even if their local densities
    differ. By default, all triplets are compared for up to 74 rows, and a random sample for more rows.

    Parameters
    ----------
    metric : {'euclidean', 'cosine', 'correlation'}
        Distance between rows. It is ignored for inputs that are already distances.
    n_samples : int
        Number of triplets to compare; if there are no more triplets than that, all are compared.
    seed : int, Generator or None
        Seed for sampling the triplets, which are the same for all representations.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> triplet_similarity(X, 3 * X[:, ::-1] + 1)
    1.0
    """
    return _agreement(a, b)


@measure(
    "QSI",
    view=Comparisons,
    closer="higher",
    bounds=(0, 1),
    symmetric=True,
    invariant=("orthogonal", "scaling", "translation"),
    family=ORDINAL,
    cost="n^2 d",
    formula="share of quadruplets i, j, k, l with sign(d_X(i, j) - d_X(k, l)) = sign(d_Y(i, j) - d_Y(k, l))",
    reference="Soares et al. 2026 (arXiv 2606.16379)",
    caveats=_CAVEATS,
    self_value=1.0,
    view_options={"shape": "quadruplets"},
    remark=_monte_carlo_error,
)
def quadruplet_similarity(
    a: Comparisons, b: Comparisons, *, metric: Metric = "euclidean", n_samples: int = 200_000, seed: Seed = None
) -> float:
    """Share of pairs of distances between four different rows that have the same order in both.

    Without ties, the value is (1 + tau) / 2, where tau is Kendall's rank correlation of the distances, over pairs of
    distances that share no row. By default, all quadruplets are compared for up to 37 rows, and a random sample for
    more rows.

    Parameters
    ----------
    metric, n_samples, seed
        As for `triplet_similarity`.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> quadruplet_similarity(X, 3 * X[:, ::-1] + 1)
    1.0
    """
    return _agreement(a, b)


@measure(
    "information imbalance",
    view=RowRanks,
    closer="lower",
    bounds=(0, 2),
    symmetric=False,
    invariant=("orthogonal", "scaling", "translation"),
    family=ORDINAL,
    cost="n^2 d",
    formula="2 / n times the mean rank in Y of the k nearest neighbours in X",
    reference="Glielmo et al. 2022",
    caveats=(
        "The value depends on the direction. If it is low from X to Y but high from Y to X, X contains the information "
        "in Y and more.",
        "Unrelated data score 1. The lowest value is (k + 1) / n, not 0: compare only equal numbers of rows.",
    ),
)
def information_imbalance(a: RowRanks, b: RowRanks, *, k: int = 1, metric: Metric = "euclidean") -> float:
    """How poorly nearest neighbours in X predict nearest neighbours in Y: 0 is perfect, 1 is chance.

    If several rows tie for the last places among the nearest neighbours, they share these places equally. Rows at equal
    distances get their mean rank.

    Parameters
    ----------
    k : int
        Number of neighbours, below the number of rows.
    metric : {'euclidean', 'cosine', 'correlation'}
        Distance between rows. It is ignored for inputs that are already distances.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((200, 6))
    >>> round(information_imbalance(X, X[:, :1]), 2), round(information_imbalance(X[:, :1], X), 2)
    (0.44, 0.87)
    """
    return 2.0 * a.mean_rank_of_nearest(b) / a.n_rows
