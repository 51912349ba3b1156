"""Comparison of spectra and of leading subspaces."""

from __future__ import annotations

import numpy as np

from shesha.inputs import validation as check
from shesha.measures.registry import measure
from shesha.support.warnings import NotEstimable
from shesha.views import Basis, Spectrum

FAMILY = "spectra"


@measure(
    "subspace overlap",
    view=Basis,
    closer="higher",
    bounds=(0, 1),
    symmetric=True,
    invariant=("orthogonal", "scaling", "translation"),
    family=FAMILY,
    cost="n d^2",
    formula="||U_X(1:k)' U_Y(1:k)||^2 / k, U(1:k) the first k left singular vectors of centred columns",
    reference="Raju 2026, section 10; Bjorck and Golub 1973",
    caveats=(
        "Unrelated data score about k / n.",
        "If singular values k and k + 1 are close, the subspace is arbitrary.",
    ),
    self_value=1.0,
    anywhere=True,
)
def subspace_overlap(a: Basis, b: Basis, *, k: int = 10) -> float:
    """Mean squared cosine of the principal angles between the leading k-dimensional subspaces.

    Parameters
    ----------
    k : int
        Number of leading directions, at most the rank of each side. The drift study uses 5, 10 and 20.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 20))
    >>> round(subspace_overlap(X, 3 * X[:, ::-1] + 1), 6)
    1.0
    """
    k = check.count(k, "k")
    if k > min(a.rank, b.rank):
        raise NotEstimable(f"{k} leading directions need that rank, got {min(a.rank, b.rank)}")
    if max(a.count_with_ties(k), b.count_with_ties(k)) > k:
        raise NotEstimable(
            f"singular values {k} and {k + 1} are equal, so the leading directions are arbitrary: pass another k"
        )
    return float(min(1.0, a.truncated(k).squared_overlap(b.truncated(k)).sum() / k))


@measure(
    "eigenspectrum similarity",
    view=Spectrum,
    closer="higher",
    bounds=(0, 1),
    symmetric=True,
    invariant=("orthogonal", "scaling", "translation"),
    family=FAMILY,
    cost="n d^2",
    formula="cos(s_X, s_Y), where s are the singular values after centring, and the shorter list is padded with zeros",
    reference="Raju 2026, section 10",
    caveats=("Two spectra with a similar decay score near 1, because directions have no effect.",),
    paired=False,
    self_value=1.0,
)
def eigenspectrum_similarity(a: Spectrum, b: Spectrum) -> float:
    """Cosine between the two vectors of singular values.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> round(eigenspectrum_similarity(X, 3 * X[::-1, ::-1] + 1), 6)
    1.0
    """
    x, y = np.sqrt(a.variances), np.sqrt(b.variances)
    shorter = min(len(x), len(y))
    # The variance shares sum to one, so these vectors have unit length.
    return float(np.clip((x[:shorter] * y[:shorter]).sum(), 0.0, 1.0))
