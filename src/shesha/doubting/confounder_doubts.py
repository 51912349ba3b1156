"""Doubts about known properties of the rows: covariates, groups and labels."""

from __future__ import annotations

import numpy as np

from shesha.doubting.doubt_input import CovariateShare, Subject, doubt
from shesha.doubting.row_doubts import classes_follow_order
from shesha.results import Doubt
from shesha.results.doubts import LEVEL
from shesha.support.types import Labels, Vector

_CONFOUNDED, _CONFOUNDED_LEVEL = 0.3, 1e-4
_EXPLAINED, _LEAST = 0.2, 0.05
"""Smallest share of a score, and smallest absolute part, that a covariate must explain to be reported."""


@doubt("covariate", of="both")
def covariate(subject: Subject) -> Doubt | None:
    """Check whether a covariate explains which rows are close to each other."""
    headline = subject.headline
    least = max(_LEAST, _EXPLAINED * abs(headline.value))
    explanations = [
        CovariateShare(headline, quantity[subject.places], name) for name, quantity in subject.known.items()
    ]
    explanations = sorted(
        (explanation for explanation in explanations if explanation.effect >= least),
        key=lambda explanation: -explanation.effect,
    )
    tested = ((explanation, explanation.p_value(subject.generator)) for explanation in explanations)
    strongest, p_value = next(((explanation, p) for explanation, p in tested if p <= LEVEL), (None, 1.0))
    if strongest is None:
        return None
    name = strongest.name
    text = f"controlling for {name}, {headline.name} changes from {headline.value:.2f} to {strongest.partial_score:.2f}"
    remedy = "groups=" if name == "groups" else "covariates=. For stability, pass it as keep= to chance"
    return Doubt("covariate", strongest.effect, p_value, text, f"Pass {name} as {remedy}")


@doubt("confounded labels")
def label_confounding(subject: Subject) -> Doubt | None:
    """Check whether classes are confounded with the row order, a covariate or groups."""
    if subject.classes is None:
        return None
    both = {**subject.known, **subject.design}
    associations = [(*_association(subject.classes, quantity), name) for name, quantity in both.items()]
    associations = [
        association
        for association in associations
        if association[1] <= _CONFOUNDED_LEVEL and association[0] >= _CONFOUNDED
    ]
    if associations:
        strength, p_value, name = max(associations)
        named = f"{name}=" if name in subject.design else name
        text = (
            f"classes are confounded with {named} (association {strength:.2f}), so no score can separate their effects"
        )
        advice = (
            "The null distribution accounts for the confounder, but the score does not, so rely on the p-value. If "
            "each class has its own value of the confounder, no analysis can separate the effects"
            if name in subject.design
            else f"Compare classes within {name}: pass {name} as blocks= or covariates=. If each class has its own "
            f"{name}, pass {name} as groups=; no analysis can then separate the effects"
        )
        return Doubt("confounded labels", strength, p_value, text, advice)
    here = subject.classes_here
    if not subject.ordered or here is None or (p_value := classes_follow_order(subject, here)) > _CONFOUNDED_LEVEL:
        return None
    text = "classes follow the order of the rows, so batch effects or drift look like class differences"
    advice = (
        "Pass the batch, session or plate as covariates=. If rows were only sorted by class, shuffle them or "
        "pass order=False"
    )
    # The order of the rows could explain everything that the classes explain.
    effect = CovariateShare(subject.headline, here, "classes").effect
    return Doubt("confounded labels", effect, p_value, text, advice)


def _association(classes: Labels, quantity: Vector | Labels) -> tuple[float, float]:
    """Return the association between a quantity and the class, from 0 to 1 beyond chance, and its p-value."""
    from scipy.special import chdtrc, fdtrc

    n, n_classes = len(classes), int(classes.max()) + 1
    if quantity.dtype.kind == "f":
        ranks = np.argsort(np.argsort(quantity, kind="stable"), kind="stable").astype(np.float64)
        means = np.bincount(classes, ranks) / np.maximum(np.bincount(classes), 1)
        between_classes = float(np.sum((means[classes] - ranks.mean()) ** 2))
        total = float(np.sum((ranks - ranks.mean()) ** 2))
        share, spare = between_classes / total, n - n_classes
        if spare < 1:
            return 0.0, 1.0
        ratio = share / (n_classes - 1) / max((1 - share) / spare, 1e-300)
        return float(np.sqrt(max(0.0, 1 - (1 - share) * (n - 1) / spare))), float(fdtrc(n_classes - 1, spare, ratio))
    codes = np.unique(quantity, return_inverse=True)[1]
    n_codes = int(codes.max()) + 1
    if n_codes < 2:
        return 0.0, 1.0
    table = np.bincount(classes * n_codes + codes, minlength=n_classes * n_codes).reshape(n_classes, n_codes)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    statistic = float(np.sum((table - expected) ** 2 / np.where(expected > 0, expected, 1.0)))
    freedom = (n_classes - 1) * (n_codes - 1)
    # Cramer's V with bias correction (Bergsma 2013), because the bias is large for many groups.
    phi = max(0.0, statistic / n - freedom / (n - 1))
    sides = [k - (k - 1) ** 2 / (n - 1) for k in (n_classes, n_codes)]
    strength = float(np.sqrt(phi / max(min(sides) - 1, 1e-9)))
    return min(1.0, strength), float(chdtrc(freedom, statistic))
