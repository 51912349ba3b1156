"""Models ranked by how well they explain data, with intervals, ties and the noise ceiling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import Page
from shesha.results.base import Result, reaches_level
from shesha.results.plot_docstring import draws_axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

NAN = float("nan")


@dataclass(frozen=True)
class RankedModel(Result):
    """One model, with its similarity to the data and the ranks that it may have."""

    name: str
    value: float
    """Value of the measure, averaged over subjects (or repeats)."""
    low: float
    """Lower end of the interval, which covers new rows and new subjects; NaN if there is none."""
    high: float
    rank_low: int
    """1 plus the number of models that are significantly better."""
    rank_high: int
    """Number of models minus the number of models that are significantly worse."""
    p_value: float = NAN
    """p-value of the value compared with chance, from permutations of the model's rows."""
    corrected_p_value: float = NAN
    """p-value of the comparison with chance after correction for the number of models (step-down maximum)."""
    p_ceiling: float = NAN
    """One-sided p-value of the value falling short of the lower end of the noise ceiling."""
    alone: float = NAN
    """Share of the variance of the data (of its ranks, for Spearman) that the model explains by itself."""
    unique: float = NAN
    """Share of the variance that no other model explains."""
    unique_low: float = NAN
    unique_high: float = NAN

    @property
    def shared(self) -> float:
        """Share of the variance explained jointly with other models; negative if models suppress noise."""
        return self.alone - self.unique


@dataclass(frozen=True)
class ModelDifference(Result):
    """The difference between two models of a ranking."""

    first: str
    second: str
    difference: float
    """Value of the first model minus value of the second model."""
    low: float
    high: float
    p_value: float
    """Two-sided p-value, which covers new rows and new subjects."""
    corrected_p_value: float
    """p-value corrected for the number of pairs."""


@dataclass(frozen=True)
class ModelCombination(Result):
    """Several models combined with non-negative weights and evaluated on held-out rows and subjects."""

    value: float
    """Value of the weighted combination for held-out data."""
    best_single: str
    best_single_value: float
    """Value of the best single model for the same held-out rows and subjects."""
    weights: dict[str, float]
    """Weight of each model, averaged over the folds, for distances scaled to unit spread; the weights sum to 1."""
    n_folds: int
    n_divisions: int
    """Number of random divisions into folds over which the value is averaged."""


@dataclass(frozen=True)
class ModelRanking(Result):
    """Models ranked by how well they explain data."""

    measure: str
    closer: str
    """Whether 'higher' or 'lower' values mean that a model is closer to the data."""
    models: tuple[RankedModel, ...]
    """The models, sorted from the closest to the farthest."""
    pairs: tuple[ModelDifference, ...]
    n_subjects: int
    n_rows: int
    resampled: str
    """What the intervals cover: new 'rows', or new 'rows and subjects'."""
    ceiling_lower: float = NAN
    """Lower end of the ceiling: average value between a subject and the mean of the others; NaN with one subject."""
    ceiling_upper: float = NAN
    """Upper end of the ceiling: average value between a subject and the mean of all subjects."""
    combination: ModelCombination | None = None
    explained: float = NAN
    """Share of the variance that all models together explain, without held-out data."""
    alpha: float = 0.05
    confidence: float = 0.95
    correction: str = "holm"
    n_resamples: int = 0
    n_permutations: int = 0
    exchanged: str = ""
    """Which rows were permuted for the p-values of the comparison with chance."""
    n_known_pairs: tuple[int, ...] = ()
    """Number of pairs of rows with a distance in each subject, if some are missing; empty if all are known."""
    notes: tuple[str, ...] = ()
    seed: int | None = None

    def __iter__(self) -> Iterator[RankedModel]:
        """Iterate over the models, the closest first."""
        return iter(self.models)

    def __getitem__(self, name: str) -> RankedModel:
        """Return the model with this name."""
        for model in self.models:
            if model.name == name:
                return model
        raise KeyError(f"name must be one of {', '.join(model.name for model in self.models)}, got {name!r}")

    def pair(self, first: str, second: str) -> ModelDifference:
        """Return the difference between two models, in this order.

        Parameters
        ----------
        first, second : str
            Names of the models.
        """
        for pair in self.pairs:
            if (pair.first, pair.second) == (first, second):
                return pair
            if (pair.second, pair.first) == (first, second):
                p_values = pair.p_value, pair.corrected_p_value
                return ModelDifference(first, second, -pair.difference, -pair.high, -pair.low, *p_values)
        raise KeyError(f"first and second must be two models of the ranking, got {first!r} and {second!r}")

    @property
    def best(self) -> tuple[str, ...]:
        """The models that no other model exceeds significantly, closest first."""
        return tuple(model.name for model in self.models if model.rank_low == 1)

    def reaches_ceiling(self, model: RankedModel) -> bool:
        """Return whether the value of a model lies within the noise ceiling or beyond it.

        Parameters
        ----------
        model : RankedModel
            One of the models.
        """
        if self.closer == "higher":
            return model.value >= self.ceiling_lower
        return model.value <= self.ceiling_lower

    @property
    def has_ceiling(self) -> bool:
        """Whether there is a noise ceiling, which requires several subjects."""
        return self.ceiling_lower == self.ceiling_lower

    def is_different(self, pair: ModelDifference) -> bool:
        """Return whether the corrected p-value of a pair is significant.

        Parameters
        ----------
        pair : ModelDifference
            One of the differences in `pairs`.
        """
        return reaches_level(pair.corrected_p_value, self.alpha)

    def to_frame(self) -> pd.DataFrame:
        """Return one line per model, the closest first."""
        import pandas as pd

        return pd.DataFrame([{**model.to_dict(), "shared": model.shared} for model in self.models])

    @draws_axes
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw bars with intervals, the noise ceiling as a band, and a line for each pair that differs."""
        from shesha.charts import model_bars

        place = {model.name: number for number, model in enumerate(self.models)}
        return model_bars(
            [model.name for model in self.models],
            [model.value for model in self.models],
            [(model.low, model.high) for model in self.models],
            band=(self.ceiling_lower, self.ceiling_upper) if self.has_ceiling else None,
            different=[(place[pair.first], place[pair.second]) for pair in self.pairs if self.is_different(pair)],
            above_chance=[reaches_level(model.corrected_p_value, self.alpha) for model in self.models],
            label=f"{self.measure} ({self.closer} is closer)",
            ax=ax,
        )

    @property
    def headline(self) -> str:
        """The closest model, and the models that are not significantly worse."""
        from shesha.results.similarity.model_ranking_text import headline

        return headline(self)

    def _page(self) -> Page:
        from shesha.results.similarity.model_ranking_page import ranking_page

        return ranking_page(self)

    def _text(self) -> str:
        """Return a text with the answer, one line per model, and notes."""
        from shesha.results.similarity.model_ranking_text import ranking_text

        return ranking_text(self)
