"""Choose the pairs of models that each kind of test compares, and score a measure from its values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Protocol

from shesha.inputs import validation as check
from shesha.support import argument_types as kinds
from shesha.support.plurals import count
from shesha.support.types import Seed
from shesha_bench import layer_order_quality, measure_quality
from shesha_bench.measure_quality import Correlation, Quality, pair_value

Pair = tuple[str, str]
Values = Mapping[Pair, float]
BY_GROUPS = ("auprc", "conformity")
BY_LAYERS = ("conformity", "spearman")
"""Names of the scores in the published results; `score_layers` computes one more."""


class Compared(Protocol):
    """What the scores need to know about a measure."""

    @property
    def name(self) -> str:
        """Name under which the measure appears in the scores."""
        ...

    @property
    def closer(self) -> str:
        """Whether more similar models have 'higher' or 'lower' values."""
        ...

    @property
    def symmetric(self) -> bool:
        """Whether the two models of a pair can be exchanged without changing the value."""
        ...


@dataclass(frozen=True)
class ScoreRow:
    """One score that one measure obtains in one test."""

    test: str
    quality: str
    measure: str
    value: float
    """Value of the score, where higher is better; NaN if it cannot be computed."""
    p_value: float
    """p-value of the score; NaN for a score without a p-value."""
    n: int
    """Number of model pairs used, or number of models in the layer test."""
    dropped: int
    """Number of pairs or models left out because the measure gave no value for them."""
    reason: str
    """Reason why the value is missing, or a note on values that were left out."""


def _require_measure(measure: Compared) -> None:
    if not (hasattr(measure, "closer") and hasattr(measure, "symmetric")):
        raise TypeError(f"measure must be a Measure, as `shesha.measures.get` returns, got {type(measure).__name__}")


def pairs_prediction(names: Sequence[str], symmetric: bool) -> list[Pair]:
    """Return all pairs of models, in both orders for asymmetric measures."""
    check.boolean(symmetric, "symmetric")
    kinds.iterable(names, "names")
    return list(combinations(names, 2) if symmetric else permutations(names, 2))


def pairs_groups(groups: Mapping[str, Sequence[str]], symmetric: bool) -> list[Pair]:
    """Return the pairs that tests of groups compare, both within and between groups.

    Each pair within a group occurs once, in the given order. Pairs between groups occur once for symmetric measures,
    and in both orders for asymmetric ones.
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
    """Return all pairs of layers within each model, in both orders for asymmetric measures."""
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
    """Score how well a measure's dissimilarities correlate in rank with differences in the outputs.

    Parameters
    ----------
    measure : Measure
    values : mapping of (name, name) to float
        Value of the measure for each pair from `pairs_prediction`, NaN if missing.
    names : sequence of str
        Names of the models.
    differences : mapping of 'accuracy', 'jsd', 'disagreement' to mapping of (name, name) to float
        How much the outputs of two models differ; each pair may be given in either order.
    n_permutations : int
        Number of random relabellings of the models from which the p-value is computed.
    seed : int, Generator or None
        Seed for drawing the relabellings.
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
    """Score whether a measure finds models closer within their group than across groups.

    Parameters
    ----------
    test_name : str
        Name of the test: 'label_randomization', 'shortcut', 'augmentation', or the name of your own test.
    measure : Measure
    values : mapping of (name, name) to float
        Value of the measure for each pair from `pairs_groups`, NaN if missing.
    groups : mapping of group name to sequence of model names
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
    """Score whether a measure finds layers less similar the farther apart they are, averaged over models.

    `spearman` averages the correlations found for the single layers of a model, as in the published tables.
    `spearman_pooled` correlates all pairs of a model's layers at once, as the text of the paper describes.

    Parameters
    ----------
    measure : Measure
    values : mapping of (name, name) to float
        Value of the measure for each pair from `pairs_layers`, NaN if missing.
    models : sequence of sequences of str
        Names of the layers of each model, from input to output.
    test_name : str
        Name under which the test appears in the result.
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
    """Average the scores of those models that have one, and note which models were left out."""
    usable = [part.value for part in parts if not math.isnan(part.value)]
    missing = [f"model {place}: {part.reason}" for place, part in enumerate(parts) if part.reason]
    partial = sum(part.dropped for part in parts if not part.reason)
    notes = [*missing, *([f"{count(partial, 'comparison')} of layers left out"] if partial else [])]
    value = sum(usable) / len(usable) if usable else math.nan
    return Quality(value, len(usable), len(parts) - len(usable), "; ".join(notes) if parts else "no models")


def _row(test: str, quality: str, measure: Compared, score: Quality) -> ScoreRow:
    p_value = score.p_value if isinstance(score, Correlation) else math.nan
    return ScoreRow(test, quality, measure.name, score.value, p_value, score.n, score.dropped, score.reason)
