"""Three kinds of tests, which use predictions, groups of models or the order of layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from numpy.typing import ArrayLike

from shesha.support.types import Seed
from shesha_bench.model_descriptions import STANDARD, Setting
from shesha_bench.pairs_and_scores import (
    BY_GROUPS,
    BY_LAYERS,
    Compared,
    Pair,
    ScoreRow,
    Values,
    pairs_groups,
    pairs_layers,
    pairs_prediction,
    score_groups,
    score_layers,
    score_prediction,
)
from shesha_bench.tests._base import BenchmarkTest, Cast, Grounding

if TYPE_CHECKING:
    import pandas as pd

    from shesha_bench.model_descriptions import Model
    from shesha_bench.suite_tasks import Task
    from shesha_bench.user_representations import Choices, Models


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
        from shesha_bench.user_representations import score_by_prediction

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
        from shesha_bench.user_representations import score_by_groups

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
        from shesha_bench.user_representations import score_by_layers

        return score_by_layers(self, models, measures, seed)
