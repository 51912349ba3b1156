"""Pairs of models that each kind of test compares, and scores of a measure from its values for these pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Protocol

from shesha.benchmark import layer_order_quality, measure_quality
from shesha.benchmark.measure_quality import Correlation, Quality, pair_value
from shesha.inputs import validation as check
from shesha.support import argument_types as kinds
from shesha.support.plurals import count
from shesha.support.types import Seed

Pair = tuple[str, str]
Values = Mapping[Pair, float]
BY_GROUPS = ("auprc", "conformity")
BY_LAYERS = ("conformity", "spearman")
"""Names of scores in the published results; `score_layers` computes an additional score."""


class Compared(Protocol):
    """Properties of a measure for scoring."""

    @property
    def name(self) -> str:
        """Name of the measure in the scores."""
        ...

    @property
    def closer(self) -> str:
        """Whether 'higher' or 'lower' values mean more similar."""
        ...

    @property
    def symmetric(self) -> bool:
        """Whether the order of a pair does not matter."""
        ...


@dataclass(frozen=True)
class ScoreRow:
    """One score of one measure in one test."""

    test: str
    quality: str
    measure: str
    value: float
    """Value of the score, where higher is better; NaN if it cannot be computed."""
    p_value: float
    """p-value of the score; NaN for a score without a p-value."""
    n: int
    """Number of pairs of models that were used, or of models for the test of layers."""
    dropped: int
    """Number of pairs or models left out because the measure gave no value."""
    reason: str
    """Reason for a missing value, or a note on values that are left out."""


def _require_measure(measure: Compared) -> None:
    if not (hasattr(measure, "closer") and hasattr(measure, "symmetric")):
        raise TypeError(f"measure must be a Measure, as `shesha.measures.get` returns, got {type(measure).__name__}")


def pairs_prediction(names: Sequence[str], symmetric: bool) -> list[Pair]:
    """Return the pairs of models that the tests by prediction compare, in both orders for asymmetric measures."""
    check.boolean(symmetric, "symmetric")
    kinds.iterable(names, "names")
    return list(combinations(names, 2) if symmetric else permutations(names, 2))


def pairs_groups(groups: Mapping[str, Sequence[str]], symmetric: bool) -> list[Pair]:
    """Return the pairs of models that the tests by groups compare.

    Each pair occurs once, in the given order. For asymmetric measures, pairs between groups occur in both orders.
    """
    check.boolean(symmetric, "symmetric")
    for members in kinds.mapping(groups, "groups").values():
        for member in kinds.iterable(members, "groups"):
            kinds.label(member, "groups")
    group_of = {member: group for group, members in groups.items() for member in kinds.iterable(members, "groups")}
    if len(group_of) < sum(map(len, groups.values())):
        raise ValueError("groups must contain each model once, got a model twice")
    if symmetric:
        return list(combinations(group_of, 2))
    place = {member: number for number, member in enumerate(group_of)}
    return [(a, b) for a, b in permutations(group_of, 2) if group_of[a] != group_of[b] or place[a] < place[b]]


def pairs_layers(models: Sequence[Sequence[str]], symmetric: bool) -> list[Pair]:
    """Return the pairs of layers of each model, in both orders for asymmetric measures."""
    check.boolean(symmetric, "symmetric")
    return [
        pair for layers in kinds.iterable(models, "models", "models") for pair in pairs_prediction(layers, symmetric)
    ]


def score_prediction(
    measure: Compared,
    values: Values,
    names: Sequence[str],
    differences: Mapping[str, Values],
    n_permutations: int = 9999,
    seed: Seed = 0,
) -> list[ScoreRow]:
    """Score a measure by the rank correlation of dissimilarity and difference of the outputs.

    Parameters
    ----------
    measure : Measure
    values : mapping of (name, name) to float
        Values of the measure for the `pairs_prediction`; NaN if missing.
    names : sequence of str
        Names of the models.
    differences : mapping of 'accuracy', 'jsd', 'disagreement' to mapping of (name, name) to float
        Differences between the outputs of two models, in either order.
    n_permutations : int
        Number of relabellings of the models for the p-value.
    seed : int, Generator or None
        Seed of the relabellings.
    """
    _require_measure(measure)
    kinds.mapping(values, "values")
    for name in kinds.iterable(names, "names"):
        kinds.text(name, "names")
    pairs = pairs_prediction(names, measure.symmetric)
    places = {name: place for place, name in enumerate(names)}
    sign = -1.0 if measure.closer == "higher" else 1.0
    distances = [sign * pair_value(values, pair, measure.symmetric) for pair in pairs]
    numbers = [(places[a], places[b]) for a, b in pairs]
    rows = []
    for test, known in kinds.mapping(differences, "differences").items():
        kinds.mapping(known, f"differences[{test!r}]")
        outputs = [pair_value(known, pair, True) for pair in pairs]
        correlation = measure_quality.spearman(distances, outputs, len(names), numbers, n_permutations, seed)
        rows.append(_row(test, "spearman", measure, correlation))
    return rows


def score_groups(
    test_name: str, measure: Compared, values: Values, groups: Mapping[str, Sequence[str]]
) -> list[ScoreRow]:
    """Score a measure by whether models of a group are closer to each other than to models of other groups.

    Parameters
    ----------
    test_name : str
        Name of the test: 'label_randomization', 'shortcut', 'augmentation', or the name of your own test.
    measure : Measure
    values : mapping of (name, name) to float
        Values of the measure for the `pairs_groups`; NaN if missing.
    groups : mapping of group name to names of models
    """
    _require_measure(measure)
    kinds.mapping(values, "values")
    for members in kinds.mapping(groups, "groups").values():
        kinds.iterable(members, "groups")
    both = measure_quality.groups(values, groups, measure.closer, measure.symmetric)
    return [_row(test_name, quality, measure, score) for quality, score in zip(BY_GROUPS, both, strict=True)]


def score_layers(
    measure: Compared, values: Values, models: Sequence[Sequence[str]], test_name: str = "layer_monotonicity"
) -> list[ScoreRow]:
    """Score a measure by whether layers are less similar the farther apart they are, averaged over models.

    `spearman` is the mean over the layers of each model, as in the published tables. `spearman_pooled` uses all pairs
    of a model's layers at once, as in the text of the paper.

    Parameters
    ----------
    measure : Measure
    values : mapping of (name, name) to float
        Values of the measure for the `pairs_layers`; NaN if missing.
    models : sequence of sequences of str
        Names of the layers of each model, from input to output.
    test_name : str
        Name of the test in the result.
    """
    _require_measure(measure)
    kinds.mapping(values, "values")
    parts: dict[str, list[Quality]] = {"conformity": [], "spearman": [], "spearman_pooled": []}
    for layers in kinds.iterable(models, "models", "models"):
        for name in kinds.iterable(layers, "models", "layers"):
            kinds.text(name, "models")
        places = {name: place for place, name in enumerate(layers)}
        wanted = pairs_prediction(layers, measure.symmetric)
        layer_values = {(places[a], places[b]): pair_value(values, (a, b), measure.symmetric) for a, b in wanted}
        scores = layer_order_quality.layers(layer_values, len(layers), measure.closer, measure.symmetric)
        for quality, part in zip(parts, (scores.conformity, scores.by_layer, scores.pooled), strict=True):
            parts[quality].append(part)
    return [_row(test_name, quality, measure, _mean(results)) for quality, results in parts.items()]


def _mean(parts: Sequence[Quality]) -> Quality:
    """Mean over the models that have a value, with a note on those left out."""
    usable = [part.value for part in parts if not math.isnan(part.value)]
    missing = [f"model {place}: {part.reason}" for place, part in enumerate(parts) if part.reason]
    partial = sum(part.dropped for part in parts if not part.reason)
    notes = [*missing, *([f"{count(partial, 'comparison')} of layers left out"] if partial else [])]
    value = sum(usable) / len(usable) if usable else math.nan
    return Quality(value, len(usable), len(parts) - len(usable), "; ".join(notes) if parts else "no models")


def _row(test: str, quality: str, measure: Compared, score: Quality) -> ScoreRow:
    p_value = score.p_value if isinstance(score, Correlation) else math.nan
    return ScoreRow(test, quality, measure.name, score.value, p_value, score.n, score.dropped, score.reason)
