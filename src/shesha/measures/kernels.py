"""Kernel alignment (CKA and related measures): agreement of the similarities between rows."""

from __future__ import annotations

from typing import cast

import numpy as np

from shesha.inputs import validation as check
from shesha.kernels.rounding_and_scaling import clip_rounding
from shesha.measures import registry
from shesha.measures.registry import FEW_UNITS, SUPERPOSITION, measure
from shesha.views import Basis, Gram
from shesha.views.gram import Bandwidth, Kernel

FAMILY = "kernels"
_ROTATIONS_AND_SCALE = ("orthogonal", "scaling", "translation")


@measure(
    "CKA",
    view=Gram,
    closer="higher",
    bounds=(0, 1),
    symmetric=True,
    invariant=_ROTATIONS_AND_SCALE,
    family=FAMILY,
    cost="n d^2",
    formula="||X'Y||^2 / (||X'X|| ||Y'Y||), columns centred; with a kernel <HKH, HLH> / (||HKH|| ||HLH||)",
    reference="Kornblith et al. 2019",
    caveats=(
        "The score is biased: with rows matched at random, it is sqrt(r_X r_Y) / (n - 1) on average, where r is the "
        "participation ratio. For p and q independent features of equal variance, this is about "
        "sqrt(p q / ((n + p)(n + q))), which is near 1 for d >> n. Calibrate the score, or use unbiased CKA.",
        "A few directions of large variance dominate the score.",
        FEW_UNITS,
        SUPERPOSITION.format(score=0.2),
    ),
    inner_product=True,
    self_value=1.0,
    groups=("ReSi",),
    anywhere=True,
    expected=Gram.mean_inner,
)
def cka(a: Gram, b: Gram, *, kernel: Kernel = "linear", bandwidth: Bandwidth = "median") -> float:
    """Centred kernel alignment: cosine between the centred kernel matrices.

    Parameters
    ----------
    kernel : {'linear', 'rbf'}
        Kernel: inner product, or Gaussian exp(-d^2 / (2 bandwidth^2)), where d is the distance between two rows.
    bandwidth : 'median', float or 'published'
        Bandwidth for 'rbf': 'median' is the median distance between different rows; a number is used as given.
        'published' is the square root of the lower median of all n^2 squared distances, including the zeros, as in the
        calibration study.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((50, 8)), rng.standard_normal((50, 8))
    >>> round(cka(X, 3 * X[:, ::-1] + 1), 6), round(cka(X, Y), 2)
    (1.0, 0.13)
    """
    check.choice(kernel, ("linear", "rbf"), "kernel")
    return clip_rounding(a.inner(b), 0.0, 1.0)


@measure(
    "unbiased CKA",
    view=Gram,
    closer="higher",
    bounds=(-1, 1),
    symmetric=True,
    invariant=_ROTATIONS_AND_SCALE,
    family=FAMILY,
    cost="n d^2",
    formula="HSIC_u(K, L) / sqrt(HSIC_u(K, K) HSIC_u(L, L)), diagonals left out",
    reference="Song et al. 2012; Kornblith et al. 2019",
    caveats=(
        "Slightly negative values mean no agreement.",
        "A few directions of large variance dominate the score.",
        FEW_UNITS,
        SUPERPOSITION.format(score=0.2),
    ),
    inner_product=True,
    self_value=1.0,
    view_options={"unbiased": True},
    anywhere=True,
    expected=Gram.mean_inner,
)
def unbiased_cka(a: Gram, b: Gram, *, kernel: Kernel = "linear", bandwidth: Bandwidth = "median") -> float:
    """CKA from the unbiased estimator of HSIC: about 0 for independent data, whatever n and d are.

    `cka_debiased` in the public shesha package keeps the diagonal of the centred Gram matrix, so most of the bias
    remains: for independent data where this function gives -0.003, it gives 0.128.

    Parameters
    ----------
    kernel, bandwidth
        As for `cka`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((50, 8)), rng.standard_normal((50, 8))
    >>> round(unbiased_cka(X, 3 * X[:, ::-1] + 1), 6), round(unbiased_cka(X, Y), 2)
    (1.0, -0.01)
    """
    check.choice(kernel, ("linear", "rbf"), "kernel")
    return clip_rounding(a.inner(b), -1.0, 1.0)


@measure(
    "sampled CKA",
    view=Gram,
    closer="higher",
    bounds=(-np.inf, np.inf),
    symmetric=True,
    invariant=("permutation", "scaling", "translation"),
    family=FAMILY,
    cost="n d^2",
    formula="HSIC_u(X X' / p, Y Y' / q) / sqrt(S_X S_Y), S the mean of HSIC_u(x_j x_j', x_k x_k') over features j != k",
    reference="Chun, Canatar, Chung and Lee 2025 (arXiv 2502.15104); Song et al. 2012",
    caveats=(
        "The estimate treats rows and features as random samples. With few features, it is imprecise and may exceed 1.",
        "If features hardly agree, the denominator is near 0 and the value arbitrary, such as 7.9. Use the interval.",
        "Both sets of features must be sampled independently: a representation compared with itself scores above 1.",
        "A few directions of large variance dominate the score.",
    ),
    estimates=(-1, 1),
    inner_product=True,
    view_options={"unbiased": True, "sampled": True},
    anywhere=True,
)
def sampled_cka(a: Gram, b: Gram) -> float:
    """CKA of the populations of inputs and features, estimated from a sample of both.

    If only a few of many units are recorded, CKA is too low, even with the estimator that is unbiased for few rows. The
    reason is that the norm of each kernel matrix includes the products of each feature with itself. Here the norms are
    estimated from pairs of different features, so the numerator and both squared norms are unbiased for any number of
    rows and features. Their ratio is nearly unbiased from about 30 features, and too high with 10. The value is NaN if
    different features do not agree, because they then contain no information about unrecorded features.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> latent = rng.standard_normal((200, 5))
    >>> X, Y = (latent @ rng.standard_normal((5, 900)) + 2 * rng.standard_normal((200, 900)) for _ in range(2))
    >>> few = X[:, :60], Y[:, :60]
    >>> round(unbiased_cka(X, Y), 2), round(unbiased_cka(*few), 2), round(sampled_cka(*few), 2)
    (0.99, 0.75, 0.99)
    """
    return clip_rounding(a.inner(b), -np.inf, np.inf)


@measure(
    "RV",
    view=Gram,
    closer="higher",
    bounds=(0, 1),
    symmetric=True,
    invariant=_ROTATIONS_AND_SCALE,
    family=FAMILY,
    cost="n d^2",
    formula="tr(W_X W_Y) / sqrt(tr(W_X^2) tr(W_Y^2)), W = X X' of centred columns",
    reference="Robert and Escoufier 1976",
    caveats=("The RV coefficient equals linear CKA, and is listed under the older name.",),
    inner_product=True,
    self_value=1.0,
    anywhere=True,
)
def rv(a: Gram, b: Gram) -> float:
    """RV coefficient, which is an older name for linear CKA.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> round(rv(X, 3 * X[:, ::-1] + 1), 6)
    1.0
    """
    return clip_rounding(a.inner(b), 0.0, 1.0)


@measure(
    "DistCorr",
    view=Gram,
    closer="higher",
    bounds=(0, 1),
    symmetric=True,
    invariant=_ROTATIONS_AND_SCALE,
    family=FAMILY,
    cost="n^2 d",
    formula="sqrt(<A, B> / (||A|| ||B||)), A and B the double-centred Euclidean distance matrices",
    reference="Szekely, Rizzo and Bakirov 2007",
    caveats=("The score is biased: independent data in many dimensions score near 1. Calibrate the score.",),
    inner_product=True,
    self_value=1.0,
    groups=("ReSi",),
    view_options={"kernel": "distance"},
    anywhere=True,
    sample=registry.SampledPairs(registry.distance_correlation, size=3, metric="euclidean"),
)
def distance_correlation(a: Gram, b: Gram) -> float:
    """Distance correlation, whose population value is 0 only for independent representations.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> round(distance_correlation(X, 3 * X[:, ::-1] + 1), 6)
    1.0
    """
    return cast(float, np.sqrt(clip_rounding(a.inner(b), 0.0, 1.0)))


@measure(
    "PWCKA",
    view=Basis,
    closer="higher",
    bounds=(0, 1),
    symmetric=True,
    invariant=_ROTATIONS_AND_SCALE,
    family=FAMILY,
    cost="n d^2",
    formula="linear CKA of U_X(1:k) S_X(1:k) and U_Y(1:k) S_Y(1:k), k = min(k_X, k_Y) for 99 % of the variance",
    reference="Raju 2026, section 7.8",
    caveats=("The score hardly differs from linear CKA, which depends mainly on the leading directions.",),
    self_value=1.0,
    anywhere=True,
)
def pwcka(a: Basis, b: Basis, *, variance: float = 0.99) -> float:
    """Linear CKA of the leading principal components, with equal numbers for both sides.

    If the cut falls between components of equal variance, the score is averaged over all choices among them.

    Parameters
    ----------
    variance : float in (0, 1]
        Share of the variance that determines the number of components for each side; the smaller of the two numbers is
        used.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> round(pwcka(X, 3 * X[:, ::-1] + 1), 6)
    1.0
    """
    share = check.fraction(variance, "variance")
    k = min(a.components_for(share), b.components_for(share))
    counts = [side.direction_weights(k) for side in (a, b)]
    first, second = (side.truncated(len(count)) for side, count in zip((a, b), counts, strict=True))
    weights = [
        count * side.variances[: len(count)] / np.linalg.norm(side.variances[:k])
        for side, count in zip((a, b), counts, strict=True)
    ]
    return float(np.clip(weights[0] @ first.squared_overlap(second) @ weights[1], 0.0, 1.0))
