"""The variants of Shesha by name, and the unified function that calls them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from shesha import _validate as check
from shesha.stability.discriminant import lda_stability, lda_subspace_stability
from shesha.stability.feature import basis_averaged_split, feature_split
from shesha.stability.label_conditioned import label_conditioned_split
from shesha.stability.legacy import anchor_stability, sample_split
from shesha.stability.separation import class_separation_ratio
from shesha.stability.supervised import supervised_alignment, variance_ratio, zscore_separation


@dataclass(frozen=True)
class Variant:
    """One way to score a representation alone."""

    function: Callable[..., float]
    needs_labels: bool

    @property
    def name(self) -> str:
        """The name of its function."""
        return self.function.__name__

    @property
    def options(self) -> tuple[str, ...]:
        """The options that it takes."""
        return tuple(name for name in inspect.signature(self.function).parameters if name not in ("X", "y"))


_UNSUPERVISED = (feature_split, basis_averaged_split, sample_split, anchor_stability)
_SUPERVISED = (
    variance_ratio,
    supervised_alignment,
    class_separation_ratio,
    zscore_separation,
    label_conditioned_split,
    lda_stability,
    lda_subspace_stability,
)
VARIANTS: dict[str, Variant] = {
    **{function.__name__: Variant(function, needs_labels=False) for function in _UNSUPERVISED},
    **{function.__name__: Variant(function, needs_labels=True) for function in _SUPERVISED},
}
DOCUMENTED = {"anchor": "anchor_stability", "variance": "variance_ratio", "supervised": "supervised_alignment"}
"""Short names of the documented interface."""


def variant_named(name: str) -> Variant:
    """Return the variant of this (documented or full) name, or list the known ones."""
    full = DOCUMENTED.get(name, name) if isinstance(name, str) else name
    return VARIANTS[check.choice(full, [*VARIANTS, *DOCUMENTED], "variant")]


def require_labels(variant: Variant, y: ArrayLike | None) -> None:
    """Refuse a supervised variant without labels."""
    if variant.needs_labels and y is None:
        raise ValueError(f"y must be given for the supervised variant {variant.name!r}, got None")


def require_known_options(variant: Variant, options: dict[str, Any], known: tuple[str, ...]) -> None:
    """Refuse options that a variant does not take, and list those that it does."""
    unknown = [name for name in options if name not in known]
    if unknown:
        raise TypeError(
            f"options of {variant.name!r} must be among {', '.join(known) or '(none)'}, got {', '.join(unknown)}"
        )


def shesha(X: ArrayLike, y: ArrayLike | None = None, variant: str = "feature_split", **kwargs: Any) -> float:
    """Unified interface: score a representation with the variant of this name.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation.
    y : array of shape (n_samples,), optional
        Class labels, needed by the supervised variants and ignored by the others.
    variant : str
        Unsupervised: 'feature_split', 'basis_averaged_split', and, without an identifiable estimand,
        'sample_split' and 'anchor'. Supervised: 'variance', 'supervised', 'class_separation_ratio',
        'zscore_separation', 'label_conditioned_split', 'lda_stability', 'lda_subspace_stability'.
    **kwargs
        Options of the variant's function. One that it does not take is an error.

    Returns
    -------
    float
        The variant's score; see its function for range and meaning.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> y = np.repeat([0, 1], 50)
    >>> shesha(X, variant="feature_split", n_splits=5, seed=320) == feature_split(X, n_splits=5, seed=320)
    True
    >>> shesha(X, y, variant="variance") == variance_ratio(X, y)
    True
    """
    found = variant_named(variant)
    require_labels(found, y)
    require_known_options(found, kwargs, found.options)
    return found.function(X, y, **kwargs) if found.needs_labels else found.function(X, **kwargs)
