"""Kinds of tests: by prediction, by groups and by layers, for the models of a run and for your own."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.comparison import engine
from shesha.inputs import validation as check
from shesha.measures import Measure, choose
from shesha.measures.registry import Choice
from shesha.support import types as kinds
from shesha.support.progress import track
from shesha.support.seeds import draw_seed
from shesha.support.types import Seed
from shesha.support.wording import count
from shesha.views import Rdm, check_named_arrays
from shesha_bench.catalogue import STANDARD, Setting
from shesha_bench.measure_entries import compare_directed
from shesha_bench.scores import (
    Correlation,
    Quality,
    groups as score_group_order,
    layers as score_layer_order,
    pair_value,
    probabilities as checked_probabilities,
    spearman,
)

if TYPE_CHECKING:
    import pandas as pd

    from shesha_bench.catalogue import Model
    from shesha_bench.suites import Task


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
    groups = {
        group: [kinds.label(member, "groups") for member in kinds.iterable(members, "groups")]
        for group, members in kinds.mapping(groups, "groups").items()
    }
    group_of = {member: group for group, members in groups.items() for member in members}
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
    names = [kinds.text(name, "names") for name in kinds.iterable(names, "names")]
    pairs = pairs_prediction(names, measure.symmetric)
    places = {name: place for place, name in enumerate(names)}
    sign = -1.0 if measure.closer == "higher" else 1.0
    distances = [sign * pair_value(values, pair, measure.symmetric) for pair in pairs]
    numbers = [(places[a], places[b]) for a, b in pairs]
    rows = []
    for test, known in kinds.mapping(differences, "differences").items():
        kinds.mapping(known, f"differences[{test!r}]")
        outputs = [pair_value(known, pair, True) for pair in pairs]
        correlation = spearman(distances, outputs, len(names), numbers, n_permutations, seed)
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
    groups = {
        group: [kinds.text(name, "groups") for name in kinds.iterable(members, "groups")]
        for group, members in kinds.mapping(groups, "groups").items()
    }
    if not groups:
        raise ValueError("groups must have at least one group of models, got none")
    both = score_group_order(values, groups, measure.closer, measure.symmetric)
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
        layers = [kinds.text(name, "models") for name in kinds.iterable(layers, "models", "layers")]
        places = {name: place for place, name in enumerate(layers)}
        wanted = pairs_prediction(layers, measure.symmetric)
        layer_values = {(places[a], places[b]): pair_value(values, (a, b), measure.symmetric) for a, b in wanted}
        scores = score_layer_order(layer_values, len(layers), measure.closer, measure.symmetric)
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


Grounding = Literal["prediction", "design"]


class Output(NamedTuple):
    """Class probabilities that a model predicts, and the true labels."""

    probabilities: ArrayLike
    """Predicted probabilities, of shape (n_rows, n_classes); each row sums to one."""
    labels: ArrayLike | None
    """True class of each row, or None if unknown."""


Difference = Callable[[Output, Output], float]
"""A symmetric function of two models' outputs that measures how much they differ."""


@dataclass(frozen=True)
class Cast:
    """The models of a test by group, where each model is given by the names of its representations.

    If the test compares layers, these are all layers of the model, from input to output. Otherwise, each model has a
    single representation, its last hidden layer.
    """

    groups: Mapping[str, tuple[tuple[str, ...], ...]]

    @property
    def models(self) -> tuple[tuple[str, ...], ...]:
        """Names of each model's representations, in order."""
        return tuple(model for group in self.groups.values() for model in group)

    @property
    def last(self) -> dict[str, tuple[str, ...]]:
        """Name of each model's last representation, by group."""
        return {group: tuple(model[-1] for model in models if model) for group, models in self.groups.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each model's last representation, in order."""
        return tuple(name for group in self.last.values() for name in group)


@dataclass(frozen=True, kw_only=True)
class BenchmarkTest(ABC):
    """A test of the benchmark.

    To define your own test, create an object of one of this package's classes (`ByPrediction`, `ByGroups`, `ByLayers`),
    or write a subclass with the methods `models`, `pairs` and `score`. `register` adds the test to the known ones.
    """

    name: str
    title: str
    claim: str
    """How a good measure is expected to behave."""
    grounding: Grounding
    """Whether the test relies on what models predict or on how they were trained."""
    rows: tuple[str, ...]
    """Names under which tables list the test's results."""
    qualities: tuple[str, ...]
    """Names of the scores that each result has."""
    counts: Mapping[str, str] = field(hash=False)
    """The results that determine ranks, each with the name of the score that is used."""
    differences: Mapping[str, Difference] = field(default_factory=dict, hash=False)
    """Functions that compute the output differences that the test needs, by name."""
    layered: ClassVar[bool] = False
    """Whether the test compares all layers of a model instead of only the last hidden layer."""

    def takes_part(self, task: Task) -> bool:
        """Return whether a task provides the models that the test needs."""
        return True

    @abstractmethod
    def models(self, task: Task) -> Mapping[str, tuple[Model, ...]]:
        """Return the models of a task that the test needs, by group."""

    @abstractmethod
    def pairs(self, cast: Cast, symmetric: bool) -> list[Pair]:
        """Return the pairs of representations that a measure has to compare."""

    @abstractmethod
    def score(
        self, measure: Compared, values: Values, cast: Cast, differences: Mapping[str, Values], seed: Seed = 0
    ) -> list[ScoreRow]:
        """Return the scores that a measure obtains.

        Parameters
        ----------
        measure : Measure
        values : mapping of (name, name) to float
            Value of the measure for each pair from `pairs`, NaN if missing.
        cast : Cast
        differences : mapping of name to mapping of (name, name) to float
            The output differences that the test needs, by the names of the two models' last representations; NaN if a
            model failed.
        seed : int, Generator or None
            Seed for the p-values.
        """


Choices = Choice | Iterable[Choice]
Models = Mapping[str, ArrayLike] | Sequence[ArrayLike]
Rows = NDArray[np.float64]


@dataclass(frozen=True)
class _Found:
    """For each measure, its values, the first reason for a missing value, and how many rows were left out."""

    values: dict[str, dict[Pair, float]]
    reasons: dict[str, str] = field(default_factory=dict)
    rows_left_out: dict[str, list[int]] = field(default_factory=dict)

    def note(self, measure: str) -> str:
        """Return a note on rows that a measure left out, or '' if there are none."""
        rows = self.rows_left_out.get(measure)
        return (
            f"rows without a direction were left out of {count(len(rows), 'comparison')}, at most {max(rows)} each"
            if rows
            else ""
        )


def score_by_prediction(
    test: BenchmarkTest,
    representations: Models,
    probabilities: Models,
    labels: ArrayLike | None,
    measures: Choices,
    seed: Seed,
) -> pd.DataFrame:
    """Score measures on models whose outputs differ; parameters as in `tests.accuracy_correlation`."""
    models = _name_models(representations, "representations", "model", 2)
    _require_same_rows(models, "representations")
    outputs = {name: Output(rows, labels) for name, rows in _outputs(probabilities, models).items()}
    known = {
        kind: {(a, b): difference(outputs[a], outputs[b]) for a, b in combinations(models, 2)}
        for kind, difference in test.differences.items()
    }
    cast = Cast({"models": tuple((name,) for name in models)})
    return _score(test, cast, models, measures, seed, known)


def score_by_groups(
    test: BenchmarkTest, groups: Mapping[str, Sequence[ArrayLike]], measures: Choices, seed: Seed
) -> pd.DataFrame:
    """Score measures on groups of models; parameters as in `tests.label_randomization`."""
    if not isinstance(groups, Mapping) or len(groups) < 2:
        what = f"{len(groups)}" if isinstance(groups, Mapping) else type(groups).__name__
        raise ValueError(f"groups must be a mapping of at least two names to models, got {what}")
    members = {
        group: _name_models(models, f"groups[{group!r}]", f"{group}, model", 1) for group, models in groups.items()
    }
    everything = {name: model for models in members.values() for name, model in models.items()}
    if len(everything) < sum(map(len, members.values())):
        raise ValueError("groups must contain each model once, got a name twice")
    _require_same_rows(everything, "groups")
    cast = Cast({group: tuple((name,) for name in models) for group, models in members.items()})
    return _score(test, cast, everything, measures, seed)


def score_by_layers(
    test: BenchmarkTest, models: Sequence[Sequence[ArrayLike]], measures: Choices, seed: Seed
) -> pd.DataFrame:
    """Score measures on the order of layers; parameters as in `tests.layer_monotonicity`."""
    if not isinstance(models, Sequence) or isinstance(models, str) or len(models) == 0:
        raise ValueError(f"models must be a sequence of at least one model's layers, got {_kind(models)}")
    everything: dict[str, ArrayLike] = {}
    names = []
    for place, layers in enumerate(models):
        arrays = _name_models(layers, f"models[{place}]", f"model {place}, layer", 2)
        _require_same_rows(arrays, f"models[{place}]")
        everything |= arrays
        names.append(tuple(arrays))
    return _score(test, Cast({"models": tuple(names)}), everything, measures, seed)


def _score(
    test: BenchmarkTest,
    cast: Cast,
    arrays: Mapping[str, ArrayLike],
    measures: Choices,
    seed: Seed,
    known: Mapping[str, Values] | None = None,
) -> pd.DataFrame:
    """Compare the pairs that the test needs, and score the measures by the rules of the test."""
    chosen, number = choose(measures), draw_seed(seed)
    pairs = {measure.name: test.pairs(cast, measure.symmetric) for measure in chosen}
    result = _compare(arrays, pairs, chosen, number)
    return _frame([test.score(entry, result.values[entry.name], cast, known or {}, number) for entry in chosen], result)


def _name_models(models: Models, argument: str, label: str, minimum: int) -> dict[str, ArrayLike]:
    """Return the arrays by name; in a sequence, the names are numbered."""
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
    else:
        if not kinds.is_sequence(models):
            raise ValueError(f"{argument} must be a sequence or mapping of arrays, got {_kind(models)}")
        named = {f"{label} {place}": model for place, model in enumerate(models)}
    if len(named) < minimum:
        raise ValueError(f"{argument} must contain at least {minimum}, got {len(named)}")
    return named


def _kind(value: Any) -> str:
    return f"{len(value)}" if isinstance(value, Sequence) and not isinstance(value, str) else type(value).__name__


def _require_same_rows(models: Mapping[str, ArrayLike], argument: str) -> None:
    for name, model in models.items():
        if not isinstance(model, Rdm) and np.ndim(check.dense(model, name)) == 0:
            raise ValueError(f"{argument} must contain arrays of rows, got {model!r} as {name}")
    counts = {name: m.n_rows if isinstance(m, Rdm) else len(check.dense(m, name)) for name, m in models.items()}
    if len(set(counts.values())) > 1:
        listed = check.join_items(f"{name} ({n})" for name, n in counts.items())
        raise ValueError(f"{argument} must have equal numbers of rows, got {listed}")


def _outputs(probabilities: Models, models: Mapping[str, ArrayLike]) -> dict[str, Rows]:
    """Return each model's output probabilities after checking them."""
    outputs = _name_models(probabilities, "probabilities", "model", 2)
    if set(outputs) != set(models):
        raise ValueError(
            f"probabilities must be of the same models as representations ({check.join_items(models)}), "
            f"got {check.join_items(outputs)}"
        )
    checked = {name: checked_probabilities(outputs[name], f"probabilities of {name}") for name in models}
    _require_same_rows({"representations": next(iter(models.values())), **checked}, "probabilities")
    return checked


def _compare(
    models: Mapping[str, ArrayLike], pairs: Mapping[str, list[Pair]], chosen: Sequence[Measure], seed: int
) -> _Found:
    sources = check_named_arrays(models, "models", "{}")
    drawn = [measure.with_seed(seed) for measure in chosen]
    groups = engine.group_by_view(drawn, pairs)
    skipped = engine.too_large(groups, sources)
    scores = (result for group in groups for result in compare_directed(group, sources, skipped))
    comparisons = _Found({measure.name: {} for measure in chosen})
    for result in track(scores, sum(map(len, pairs.values())), "comparing"):
        score = result.pair
        comparisons.values[score.name][result.pair.first, result.pair.second] = score.value
        if score.reason:
            comparisons.reasons.setdefault(score.name, score.reason)
        elif result.rows_left_out:
            comparisons.rows_left_out.setdefault(score.name, []).append(result.rows_left_out)
    return comparisons


def _frame(scored: Iterable[Sequence[ScoreRow]], comparisons: _Found) -> pd.DataFrame:
    """Return the scores as a table, with notes on values that are missing or based on fewer rows."""
    import pandas as pd

    rows = []
    for row in (row for rows in scored for row in rows):
        why = comparisons.reasons.get(row.measure, "") if row.dropped or math.isnan(row.value) else ""
        rows.append(asdict(row) | {"reason": "; ".join(filter(None, (row.reason, why, comparisons.note(row.measure))))})
    return pd.DataFrame(rows)


@dataclass(frozen=True, kw_only=True)
class ByPrediction(BenchmarkTest):
    """Tests whether models are less similar the more their outputs differ; one result per difference."""

    grounding: Grounding = "prediction"
    qualities: tuple[str, ...] = ("spearman",)

    def models(self, task: Task) -> dict[str, tuple[Model, ...]]:
        """Return the task's models with the standard training."""
        return {str(STANDARD): tuple(task.model(STANDARD, seed) for seed in range(task.n_models))}

    def pairs(self, cast: Cast, symmetric: bool) -> list[Pair]:
        """Return all pairs of models."""
        return pairs_prediction(cast.names, symmetric)

    def score(
        self, measure: Compared, values: Values, cast: Cast, differences: Mapping[str, Values], seed: Seed = 0
    ) -> list[ScoreRow]:
        """Return the rank correlation between dissimilarity and each output difference."""
        return score_prediction(measure, values, cast.names, differences, seed=seed)

    def score_arrays(
        self,
        representations: Models,
        probabilities: Models,
        measures: Choices = "ReSi",
        seed: Seed = 0,
        *,
        labels: ArrayLike | None = None,
    ) -> pd.DataFrame:
        """Score measures on your own models, as `accuracy_correlation` does."""
        return score_by_prediction(self, representations, probabilities, labels, measures, seed)


@dataclass(frozen=True, kw_only=True)
class ByGroups(BenchmarkTest):
    """Tests whether models trained alike are more similar than models trained differently.

    A task takes part if its `groups` contain settings for this test.
    """

    grounding: Grounding = "design"
    qualities: tuple[str, ...] = BY_GROUPS
    kind: str
    """Kind of setting by which the groups differ."""
    zero_is_standard: bool = True
    """Whether a setting of degree zero is the standard training."""

    def settings(self, *degrees: float) -> tuple[Setting, ...]:
        """Return the settings of the given degrees, which can be used in `Task.groups`."""
        return tuple(
            STANDARD if degree == 0 and self.zero_is_standard else Setting(self.kind, degree) for degree in degrees
        )

    def takes_part(self, task: Task) -> bool:
        """Return whether the task has groups for this test."""
        return self.name in task.groups

    def models(self, task: Task) -> dict[str, tuple[Model, ...]]:
        """Return the models of each setting, by name of the setting."""
        seeds = range(task.n_per_group)
        return {str(setting): tuple(task.model(setting, seed) for seed in seeds) for setting in task.groups[self.name]}

    def pairs(self, cast: Cast, symmetric: bool) -> list[Pair]:
        """Return the pairs of models within and between groups."""
        return pairs_groups(cast.last, symmetric)

    def score(
        self, measure: Compared, values: Values, cast: Cast, differences: Mapping[str, Values], seed: Seed = 0
    ) -> list[ScoreRow]:
        """Score how well values within groups are separated from values between groups."""
        return score_groups(self.name, measure, values, cast.last)

    def score_arrays(
        self, groups: Mapping[str, Sequence[ArrayLike]], measures: Choices = "ReSi", seed: Seed = 0
    ) -> pd.DataFrame:
        """Score measures on your own models, as `label_randomization` does."""
        return score_by_groups(self, groups, measures, seed)


@dataclass(frozen=True, kw_only=True)
class ByLayers(BenchmarkTest):
    """Tests whether a model's layers are less similar the more layers lie between them."""

    grounding: Grounding = "design"
    qualities: tuple[str, ...] = BY_LAYERS
    layered: ClassVar[bool] = True

    def models(self, task: Task) -> dict[str, tuple[Model, ...]]:
        """Return the task's models whose layers are compared."""
        return {str(task.layers): tuple(task.model(task.layers, seed) for seed in range(task.n_layered))}

    def pairs(self, cast: Cast, symmetric: bool) -> list[Pair]:
        """Return the pairs of layers within each model."""
        return pairs_layers(cast.models, symmetric)

    def score(
        self, measure: Compared, values: Values, cast: Cast, differences: Mapping[str, Values], seed: Seed = 0
    ) -> list[ScoreRow]:
        """Score how well similarity agrees with the order of the layers."""
        return score_layers(measure, values, cast.models, self.name)

    def score_arrays(
        self, models: Sequence[Sequence[ArrayLike]], measures: Choices = "ReSi", seed: Seed = 0
    ) -> pd.DataFrame:
        """Score measures on your own models, as `layer_monotonicity` does."""
        return score_by_layers(self, models, measures, seed)
