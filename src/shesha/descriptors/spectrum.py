"""How the variance spreads over directions."""

from __future__ import annotations

from shesha.descriptors._registry import descriptor
from shesha.kernels import spectrum
from shesha.support.types import Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Variances


@descriptor(
    view=Variances,
    title="Effective rank",
    bounds=(1, float("inf")),
    means="How many directions carry the spread (exp of the entropy of the singular values).",
    means_not="More is not better: noise fills all of them.",
    reference="Roy and Vetterli 2007",
    invariant=("scaling", "translation", "orthogonal"),
    audited=True,
)
def effective_rank(view: Variances) -> float:
    """Number of directions that carry the spread: exp of the entropy of the singular values, scaled to sum 1.

    The rows may lie on disk; they are centred, and read in blocks.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 2 rows, finite.

    Returns
    -------
    float
        At least 1, at most min(n_samples - 1, n_features); NaN, with a warning, if all rows are equal.

    Examples
    --------
    >>> import numpy as np
    >>> round(effective_rank(np.eye(5)), 6)
    4.0
    """
    return spectrum.effective_rank(_shares(view))


@descriptor(
    view=Variances,
    title="Participation ratio",
    bounds=(1, float("inf")),
    means="How many directions carry the spread, counting mostly the largest.",
    means_not="Well below the effective rank: a few directions dominate a long tail.",
    reference="Gao et al. 2017",
    invariant=("scaling", "translation", "orthogonal"),
    audited=True,
)
def participation_ratio(view: Variances) -> float:
    """Square of the sum of the variances over the sum of their squares.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 2 rows, finite.

    Returns
    -------
    float
        At least 1, at most min(n_samples - 1, n_features); NaN, with a warning, if all rows are equal.

    Examples
    --------
    >>> import numpy as np
    >>> round(participation_ratio(np.diag([3.0, 0.1, 0.1])), 2)
    1.0
    """
    return spectrum.participation_ratio(_shares(view))


@descriptor(
    view=Variances,
    title="Anisotropy",
    bounds=(0, 1),
    means="Share of the variance along the first principal direction.",
    means_not="High may be one strong signal or one artefact; look at it.",
    reference="Ethayarajh 2019",
    invariant=("scaling", "translation", "orthogonal"),
    audited=True,
)
def anisotropy(view: Variances) -> float:
    """Share of the variance along the first principal direction.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        At least 2 rows, finite.

    Returns
    -------
    float
        In (0, 1]; NaN, with a warning, if all rows are equal.

    Examples
    --------
    >>> import numpy as np
    >>> round(anisotropy(np.outer(np.arange(5.0), [1, 2, 3])), 6)
    1.0
    """
    return spectrum.anisotropy(_shares(view))


def _shares(view: Variances) -> Vector:
    if not view.shares.any():
        raise NotEstimable("all rows are equal")
    return view.shares
