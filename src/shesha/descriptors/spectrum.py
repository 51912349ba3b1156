"""Descriptors of the spectrum: how the variance is spread over directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shesha.charts import spectra
from shesha.descriptors.registry import descriptor
from shesha.inputs import validation as check
from shesha.kernels import spectrum
from shesha.support import argument_types as kinds
from shesha.support.types import Vector
from shesha.support.warnings import NotEstimable
from shesha.views import Representation, Variances

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@descriptor(
    view=Variances,
    title="Effective rank",
    bounds=(1, float("inf")),
    means="Effective number of directions (exp of the entropy of the singular values; also called RankMe).",
    means_not="A higher value is not better, because noise fills all directions. The value grows with the number "
    "of rows.",
    reference="Roy and Vetterli 2007",
    invariant=("scaling", "translation", "orthogonal"),
    audited=True,
)
def effective_rank(view: Variances) -> float:
    """Effective number of directions: exp of the entropy of the singular values, scaled to sum to 1.

    The rows are centred. They are read in blocks, so they may be on disk.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 2 rows and finite values.

    Returns
    -------
    float
        Effective rank, from 1 to min(n_samples - 1, n_features). NaN, with a warning, if all rows are equal.

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
    means="Effective number of directions, dominated by the directions of largest variance.",
    means_not="If the ratio is far below the effective rank, a few directions dominate a long tail. The value grows "
    "with the number of rows.",
    reference="Gao et al. 2017",
    invariant=("scaling", "translation", "orthogonal"),
    audited=True,
)
def participation_ratio(view: Variances) -> float:
    """Effective number of directions: squared sum of the variances divided by the sum of their squares.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 2 rows and finite values.

    Returns
    -------
    float
        Participation ratio, from 1 to min(n_samples - 1, n_features). NaN, with a warning, if all rows are equal.

    Examples
    --------
    >>> import numpy as np
    >>> round(participation_ratio(np.diag([3.0, 0.1, 0.1])), 2)
    1.0
    """
    return spectrum.participation_ratio(_shares(view))


@descriptor(
    view=Variances,
    title="Participation ratio, corrected",
    bounds=(0, float("inf")),
    means="An estimate of the participation ratio in the population of rows.",
    means_not="The estimate is inaccurate if it exceeds the number of rows.",
    reference="arXiv 2509.26560",
    invariant=("scaling", "translation", "orthogonal"),
    audited=True,
)
def corrected_participation_ratio(view: Variances, *, sample: spectrum.Sample = "rows") -> float:
    """Participation ratio, corrected for sampling of rows, columns or both.

    The plain ratio cannot exceed the number of rows or columns. If either is a sample, the ratio is too small: about
    1/plain = 1/n_samples + 1/n_features + 1/true. Here, the squared sum and the sum of squares of the variances are
    both estimated without bias, as averages over products of different rows and columns. Use this descriptor to compare
    representations with different numbers of rows.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 4 rows and finite values.
    sample : {'rows', 'columns', 'both'}
        Which dimension is a random sample: rows (inputs), if all units of a network are known; columns (units), if only
        some neurons are recorded; or both.

    Returns
    -------
    float
        Corrected ratio, greater than 0. Sampling error can raise it above the number of features. NaN, with a warning,
        if all rows are equal, or if rows or columns are too few for a positive sum of squares.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 100))
    >>> round(participation_ratio(X)), round(corrected_participation_ratio(X))
    (33, 100)
    """
    check.choice(sample, spectrum.SAMPLES, "sample")
    shares = _shares(view)
    if sample != "columns" and view.moments.n_rows < spectrum.FEWEST_ROWS:
        raise NotEstimable(f"the correction needs at least 4 rows, got {view.moments.n_rows}")
    value = spectrum.corrected_participation_ratio(shares, view.moments, sample)
    if value != value:
        sampled = "rows or columns" if sample == "both" else sample
        raise NotEstimable(f"there are too few {sampled} to estimate this many directions")
    return value


@descriptor(
    view=Variances,
    title="Anisotropy",
    bounds=(0, 1),
    means="Share of the variance along the first principal direction.",
    means_not="A high value may come from a strong signal or from an artefact, so inspect this direction.",
    reference="Ethayarajh 2019",
    invariant=("scaling", "translation", "orthogonal"),
    audited=True,
)
def anisotropy(view: Variances) -> float:
    """Share of the variance along the first principal direction.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation, with at least 2 rows and finite values.

    Returns
    -------
    float
        Share, in (0, 1]; NaN, with a warning, if all rows are equal.

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


def plot_spectra(representations: Mapping[str, Any], ax: Axes | None = None, *, ordered: bool = False) -> Axes:
    """Draw how the variance of each representation is distributed over its principal directions.

    Parameters
    ----------
    representations : mapping of str to array of shape (n_rows, n_features)
        The representations, by name.
    ax : matplotlib Axes, optional
        Axes to draw on. Default: a new figure.
    ordered : bool
        Whether the representations are in a meaningful order, as layers are. If so, colours run from dark to light.

    Returns
    -------
    matplotlib Axes
    """
    kinds.mapping(representations, "representations")
    return spectra(
        {name: Variances.build(Representation.build(X)).shares for name, X in representations.items()},
        ordered=check.boolean(ordered, "ordered"),
        ax=ax,
    )
