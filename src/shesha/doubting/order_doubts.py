"""Doubts about the order of the rows: similar neighbours, and alternating rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from shesha.doubting._registry import doubt
from shesha.doubting.doubt_input import Subject
from shesha.nulls.dependence import p_of_first, pairs_of_places
from shesha.results import Doubt
from shesha.results.audit.dependence import LEVEL, describe_period
from shesha.support.types import Index, Labels

_N_ORDERS = 60
_CLASS_LEVEL = 1e-4
"""Largest permutation p-value at which classes follow the order of the rows."""
_PERIODS = 4
"""Maximum number of periods whose total length is compared with a whole number of rows."""
_ORDER_ADVICE = (
    "For a time series, pass shift=True, and sessions as blocks=. Pass batches as blocks=, and subjects with several "
    "trials as groups=. If rows were only sorted, shuffle all data in the same way. No permutation of rows corrects "
    "for a drift over all rows: remove the drift, or pass it as covariates="
)
_ALTERNATION_ADVICE = (
    "Pass the alternating variable (such as the condition) as within= or covariates=. If rows were only interleaved, "
    "shuffle all data in the same way"
)


@doubt("order", of="both", cheap=True)
def order(subject: Subject) -> Doubt | None:
    """Check whether neighbouring rows are closer than random rows."""
    dependence = subject.dependence
    if not subject.ordered or not dependence.has_order:
        return None
    classes, p_value = subject.classes_here, dependence.p_value
    if classes is not None and classes_follow_order(subject, classes) <= _CLASS_LEVEL:
        # Rows sorted by class explain similar neighbours, so only an order within classes raises the doubt.
        p_value = _order_p_value(subject, classes)
        if p_value > LEVEL:
            return None
    score = _neighbour_swapped_score(subject)
    text = (
        "neighbouring rows are closer than random pairs of rows. Even with each row of one side replaced by the next "
        f"row, {subject.headline.name} is {score:.2f} (originally {subject.headline.value:.2f})"
    )
    advice = describe_period(dependence.period) if dependence.period else _ORDER_ADVICE
    return Doubt("order", max(0.0, score), p_value, text, advice)


def _neighbour_swapped_score(subject: Subject) -> float:
    """Return the target score after each row of one side is replaced by its neighbour."""
    steps = [_rotate_stretches(subject, step) for step in (1, -1)]
    return float(np.clip(subject.headline.permuted_scores(steps).mean(), -1.0, 1.0))


def _rotate_stretches(subject: Subject, step: int) -> Index:
    """Return an order that replaces each row by the one `step` places later in its stretch, cyclically."""
    ends = np.cumsum([0, *(len(window) for window in subject.windows)])
    parts = [np.roll(np.arange(start, stop), -step) for start, stop in pairwise(ends)]
    return np.concatenate(parts)


@doubt("alternating order", of="both", cheap=True)
def alternating_order(subject: Subject) -> Doubt | None:
    """Check whether rows alternate or have a period, as with interleaved conditions or batches."""
    dependence = subject.dependence
    classes = subject.classes_here
    in_turn = dependence.has_alternation or (dependence.period > 0 and not dependence.has_order)
    if not subject.ordered or not in_turn or (classes is not None and _classes_alternate(subject)):
        return None
    step = 2 if dependence.has_alternation else _whole_periods(dependence.period)
    headline, steps = subject.headline, [_rotate_stretches(subject, shift) for shift in (step, -step)]
    score = float(np.clip(headline.permuted_scores(steps).mean(), -1.0, 1.0))
    what = (
        "rows two apart are closer than random pairs of rows, but neighbouring rows are not"
        if dependence.has_alternation
        else f"the rows have a period of about {dependence.period:.3g} rows"
    )
    text = (
        f"{what}. Even with each row of one side replaced by the row {step} places later, {headline.name} is "
        f"{score:.2f} (originally {headline.value:.2f})"
    )
    p_value = dependence.alternation_p_value if dependence.has_alternation else None
    advice = _ALTERNATION_ADVICE if dependence.has_alternation else describe_period(dependence.period)
    return Doubt("alternating order", max(0.0, score), p_value, text, advice)


def _whole_periods(period: float) -> int:
    """Return a number of rows close to one or a few whole periods; a detected period may be a harmonic."""
    periods = period * np.arange(1, _PERIODS + 1)
    return round(float(periods[np.argmin(np.abs(periods - np.round(periods)).round(1))]))


def _classes_alternate(subject: Subject) -> bool:
    """Return whether the classes alternate, i.e. neighbours differ in class more often than by chance."""
    classes = subject.classes_here
    assert classes is not None
    first, second = pairs_of_places(subject.windows)
    rng = subject.generator
    orders = [np.arange(len(classes)), *(rng.permutation(len(classes)) for _ in range(_N_ORDERS))]
    return p_of_first(np.array([np.mean(classes[order][first] != classes[order][second]) for order in orders])) <= LEVEL


def classes_follow_order(subject: Subject, classes: Labels) -> float:
    """Return the p-value for the number of neighbours with the same class, from permuted rows."""
    first, second = pairs_of_places(subject.windows)
    rng = subject.generator
    orders = [np.arange(len(classes)), *(rng.permutation(len(classes)) for _ in range(_N_ORDERS))]
    same = np.array([np.mean(classes[order][first] == classes[order][second]) for order in orders])
    return p_of_first(same)


def _order_p_value(subject: Subject, classes: Labels) -> float:
    """Return the p-value for how close neighbours of the same class are, from permutations within classes."""
    first, second = pairs_of_places(subject.windows)
    same = classes[first] == classes[second]
    first, second = first[same], second[same]
    if len(first) < 2:
        return 1.0
    ranks = (subject.headline.first + subject.headline.second).mean(axis=0)
    n, rng = len(classes), subject.generator

    def closeness(order: Index) -> float:
        low, high = np.sort([order[first], order[second]], axis=0)
        # The feature split ranks similarities, but the comparison of two representations ranks distances.
        sign = -1 if subject.is_pair else 1
        return sign * float(ranks[low * n - low * (low + 1) // 2 + high - low - 1].mean())

    orders = [np.arange(n), *(_shuffle_classes(classes, rng) for _ in range(_N_ORDERS))]
    return p_of_first(np.array([closeness(order) for order in orders]))


def _shuffle_classes(classes: Labels, rng: np.random.Generator) -> Index:
    order = np.arange(len(classes))
    for label in np.unique(classes):
        places = np.flatnonzero(classes == label)
        order[places] = places[rng.permutation(len(places))]
    return order
