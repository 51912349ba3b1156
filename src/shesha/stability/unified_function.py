"""The unified function `shesha`, and its variants by name."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.stability.registry import Variant, registered_variants


def variant_named(name: str) -> Variant:
    """Return the variant with this short or full name; the error for an unknown name lists the known ones."""
    variants = {variant.name: variant for variant in registered_variants().values() if variant.needs != "replicates"}
    aliases = {variant.alias: variant.name for variant in variants.values() if variant.alias}
    full = aliases.get(name, name) if isinstance(name, str) else name
    return variants[check.choice(full, [*variants, *aliases], "variant")]


def require_known_options(variant: Variant, options: dict[str, Any], known: tuple[str, ...]) -> None:
    """Raise an error for options that a variant does not accept; the error lists those that it does."""
    unknown = [name for name in options if name not in known]
    if unknown:
        raise TypeError(
            f"options of {variant.name!r} must be among {', '.join(known) or '(none)'}, got {', '.join(unknown)}"
        )


def shesha(X: ArrayLike, y: ArrayLike | None = None, variant: str = "feature_split", **kwargs: Any) -> float:
    """Score a representation with the named variant of Shesha.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The representation.
    y : array of shape (n_samples,), optional
        Class labels, which the supervised variants need and the others ignore.
    variant : str
        Name of the score. Unsupervised: 'feature_split', 'basis_averaged_split', and two without an identifiable
        estimand, 'sample_split' and 'anchor'. Supervised: 'variance', 'supervised', 'class_separation_ratio',
        'zscore_separation', 'label_conditioned_split', 'lda_stability', 'lda_subspace_stability'.
    **kwargs
        Options for the variant's function. Unknown options raise an error.

    Returns
    -------
    float
        The variant's score; the documentation of its function states its range and meaning.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> y = np.repeat([0, 1], 50)
    >>> from shesha.stability import feature_split, variance_ratio
    >>> shesha(X, variant="feature_split", n_splits=5, seed=320) == feature_split(X, n_splits=5, seed=320)
    True
    >>> shesha(X, y, variant="variance") == variance_ratio(X, y)
    True
    """
    score = variant_named(variant)
    if score.needs_labels and y is None:
        raise ValueError(f"y must be given for the supervised variant {score.name!r}, got None")
    require_known_options(score, kwargs, tuple(score.options))
    return score(X, y, **kwargs) if score.needs_labels else score(X, **kwargs)
