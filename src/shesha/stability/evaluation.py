"""Evaluation of a request: check the input once, then compute value, interval and null; the function `shesha`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import align_labels, validation as check
from shesha.kernels.distances import METRICS
from shesha.nulls.design_builder import exchange
from shesha.nulls.permutations import Design, nonempty_arguments
from shesha.nulls.restricted_permutations import Exchange
from shesha.stability.label_scores import estimate_one_by_one
from shesha.stability.registry import Request, ScoreDraws, Variant, explain_undirected_rows, list_variants
from shesha.stability.row_matching import PairCount, check_pairs
from shesha.support.seeds import generator
from shesha.support.types import Seed
from shesha.support.warnings import NotEstimable
from shesha.views import Covariates, Rdm, Rows, hint_of_distances


def variant_named(name: str) -> Variant:
    """Return the variant with this short or full name; the error for an unknown name lists the known ones."""
    variants = {variant.name: variant for variant in list_variants().values() if variant.needs != "replicates"}
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


_DRAWS = ("n_splits", "n_rotations")
"""Documented names of the option that sets the number of draws."""


def build_request(
    X: Any,
    y: Any,
    variant: str | Variant,
    options: dict[str, Any],
    *,
    n_bootstrap: int = 0,
    n_permutations: int = 0,
    target_se: float | None = None,
    pairs: PairCount = None,
    seed: Seed = None,
    design: Design | Exchange | None = None,
    covariates: ArrayLike | Rdm | None = None,
) -> Request:
    """Check the options, and the type and shape of the data, and return a request."""
    score = _require_scorable(variant, y)
    chosen = _options(score, options)
    n_bootstrap = check.count(n_bootstrap, "n_bootstrap", minimum=0)
    variants = list_variants().values()
    _require_taken("pairs", pairs, score, [v for v in variants if v.samples_pairs])
    _require_taken("target_se", target_se, score, [v for v in variants if v.averages_draws])
    if target_se is not None:
        check.positive(target_se, "target_se")
    n_sampled = check_pairs(pairs)
    generator(seed)
    if not isinstance(X, Rows):
        hint_of_distances({"X": X})
    source = score.check_data(X)
    n_rows = len(source) if isinstance(source, Rows) else source.n_rows
    ordered = align_labels(source, y)
    known = None
    if covariates is not None:
        known = Covariates.build(align_labels(source, covariates, "covariates"), n_rows)
        source, known = _remove_covariates(source, known)
    return Request(
        score,
        source,
        score.check_labels(ordered, n_rows) if score.needs_labels else None,
        options=chosen,
        n_bootstrap=n_bootstrap,
        n_permutations=n_permutations,
        target_se=target_se,
        pairs=n_sampled,
        seed=int(seed) if isinstance(seed, np.integer) else seed,
        design=resolve_design(design, n_rows),
        covariates=known,
    )


def _require_scorable(variant: str | Variant, y: Any) -> Variant:
    """Return the variant; raise an error if it has no estimand, or if it needs labels and has none."""
    score = variant if isinstance(variant, Variant) else variant_named(variant)
    if not score.estimand:
        raise ValueError(
            f"variant must have an identifiable estimand, got {score.name!r}; "
            "use replicate_stability or anchor_profile_stability with two replicates"
        )
    if score.needs_labels and y is None:
        raise ValueError(f"y must be given for the supervised variant {score.name!r}, got None")
    if isinstance(y, str):
        raise TypeError(f"y must be labels, one per row, got the text {y!r}; to choose a score, pass variant={y!r}")
    return score


def _require_taken(name: str, value: object, variant: Variant, takers: list[Variant]) -> None:
    """Raise an error for an option that the variant does not use."""
    if value is not None and variant not in takers:
        known = ", ".join(taker.name for taker in takers)
        raise ValueError(f"{name} must be left out for {variant.name!r}; it applies to {known}")


def _remove_covariates(source: Rows | Rdm, known: Covariates) -> tuple[Rows, Covariates]:
    """Return the residuals of the features after regression on the covariates, and the fitted covariates."""
    if known.columns is None or not isinstance(source, Rows):
        raise ValueError("X must be features if covariates are given, got distances between rows")
    rows = source.whole.rows
    known = known.fit(rows)
    return Rows(known.residuals(rows), source.name), known


def resolve_design(design: Design | Exchange | None, n_rows: int) -> Exchange | None:
    """Return the requested exchange design; None means that all rows are exchangeable."""
    if isinstance(design, Exchange):
        return design if design.named else None
    options = nonempty_arguments(design)
    return exchange(n_rows, **options) if options else None


def evaluate(request: Request) -> ScoreDraws:
    """Compute value, interval and null for a request; a missing value has a reason."""
    estimator: Callable[[Request], ScoreDraws] = request.variant.estimator or estimate_one_by_one
    with explain_undirected_rows():
        try:
            return estimator(request)
        except NotEstimable as reason:
            if hasattr(reason, "rows"):
                raise
            return ScoreDraws(float("nan"), null=request.empty_null, reason=str(reason))


def _options(variant: Variant, options: dict[str, Any]) -> dict[str, Any]:
    defaults = variant.estimator_options
    known = tuple(defaults) + (_DRAWS if "n_draws" in defaults else ())
    require_known_options(variant, options, known)
    counts = [key for key in options if key in (*_DRAWS, "n_draws")] if "n_draws" in defaults else []
    if len(counts) > 1:
        raise TypeError(f"options of {variant.name!r} must give the number of draws once, got {', '.join(counts)}")
    renamed = {"n_draws" if key in _DRAWS and "n_draws" in defaults else key: value for key, value in options.items()}
    chosen = {**defaults, **renamed}
    if "metric" in chosen:
        check.choice(chosen["metric"], METRICS, "metric")
    if "n_draws" in chosen:
        chosen["n_draws"] = check.count(chosen["n_draws"], counts[0] if counts else "n_draws")
    if "subsample_frac" in chosen:
        check.fraction(chosen["subsample_frac"], "subsample_frac")
    return chosen
