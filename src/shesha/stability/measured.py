"""From what a caller asks to evidence: everything is checked once, then measured in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha import _validate as check
from shesha._random import generator
from shesha._types import Seed
from shesha._warnings import NotEstimable
from shesha.given import in_order_of
from shesha.kernels.distances import METRICS
from shesha.nulls.designs import exchange
from shesha.nulls.exchange import Exchange
from shesha.nulls.orders import Design, asked_for
from shesha.stability._registry import Variant, registered
from shesha.stability.evidence import Evidence, Request
from shesha.stability.label_estimators import estimate_one_by_one
from shesha.stability.told import told_to_the_caller
from shesha.stability.variants import require_known_options, variant_named
from shesha.views import Covariates, Rdm, Rows, hint_of_distances

_DRAWS = ("n_splits", "n_rotations")
"""The documented names of what is called n_draws here."""


def requested(
    X: Any,
    y: Any,
    variant: str | Variant,
    options: dict[str, Any],
    *,
    n_bootstrap: int = 0,
    n_permutations: int = 0,
    target_se: float | None = None,
    pairs: int | None = None,
    seed: Seed = None,
    design: Design | Exchange | None = None,
    covariates: ArrayLike | Rdm | None = None,
) -> Request:
    """Check what is asked, and the kind and shape of the data."""
    found = variant if isinstance(variant, Variant) else variant_named(variant)
    if not found.estimand:
        raise ValueError(
            f"variant must have an identifiable estimand, got {found.name!r}: "
            "use replicate_stability or anchor_profile_stability with two replicates"
        )
    if found.needs_labels and y is None:
        raise ValueError(f"y must be given for the supervised variant {found.name!r}, got None")
    chosen = _options(found, options)
    check.count(n_bootstrap, "n_bootstrap", minimum=0)
    if not found.samples_pairs and (pairs is not None or target_se is not None):
        takers = ", ".join(one.name for one in registered().values() if one.samples_pairs)
        raise ValueError(f"pairs and target_se must be left out for {found.name!r}, they apply to {takers}")
    if target_se is not None:
        check.positive(target_se, "target_se")
    pairs = check.optional_count(pairs, "pairs", minimum=100)
    generator(seed)
    if not isinstance(X, Rows):
        hint_of_distances({"X": X})
    source = found.rows_of(X)
    n_rows = len(source) if isinstance(source, Rows) else source.n_rows
    ordered = in_order_of(source, y)
    if covariates is not None:
        source = _less(source, Covariates.of(in_order_of(source, covariates, "covariates"), n_rows))
    classes = found.classes_of(ordered, n_rows) if found.needs_labels else None
    number = int(seed) if isinstance(seed, np.integer) else seed
    return Request(
        found,
        source,
        classes,
        chosen,
        n_bootstrap,
        n_permutations,
        target_se,
        pairs,
        number,
        design_of(design, n_rows),
    )


def _less(source: Rows | Rdm, known: Covariates) -> Rows:
    """Return what the covariates leave of the features."""
    if known.columns is None or not isinstance(source, Rows):
        raise ValueError("covariates must be columns beside features, got distances between rows")
    return Rows(known.residuals(source.whole.rows), source.name)


def design_of(design: Design | Exchange | None, n_rows: int) -> Exchange | None:
    """Return the design that is asked for; None where nothing is, so that all rows may take each other's place."""
    if isinstance(design, Exchange):
        return design if design.named else None
    asked = asked_for(design)
    return exchange(n_rows, **asked) if asked else None


def measured(request: Request) -> Evidence:
    """Measure what is asked; what the data cannot give has a reason."""
    estimator = request.variant.estimator or estimate_one_by_one
    with told_to_the_caller():
        try:
            found: Evidence = estimator(request)
        except NotEstimable as reason:
            if hasattr(reason, "rows"):
                raise
            return Evidence(float("nan"), null=np.full(request.n_permutations, np.nan), reason=str(reason))
    return found


def _options(variant: Variant, given: dict[str, Any]) -> dict[str, Any]:
    defaults = variant.estimator_options
    known = tuple(defaults) + (_DRAWS if "n_draws" in defaults else ())
    require_known_options(variant, given, known)
    counts = [key for key in given if key in (*_DRAWS, "n_draws")] if "n_draws" in defaults else []
    if len(counts) > 1:
        raise TypeError(f"options of {variant.name!r} must give the number of draws once, got {', '.join(counts)}")
    renamed = {"n_draws" if key in _DRAWS and "n_draws" in defaults else key: value for key, value in given.items()}
    chosen = {**defaults, **renamed}
    if "metric" in chosen:
        check.choice(chosen["metric"], METRICS, "metric")
    if "n_draws" in chosen:
        check.count(chosen["n_draws"], counts[0] if counts else "n_draws")
    if "subsample_frac" in chosen:
        check.fraction(chosen["subsample_frac"], "subsample_frac")
    return chosen
