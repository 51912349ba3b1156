"""Models ranked by how well they explain data, with intervals, ties and the noise ceiling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.report import Page
from shesha.results.base import Result, reaches_level
from shesha.results.draw_docs import draws_axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

NAN = float("nan")


@dataclass(frozen=True)
class RankedModel(Result):
    """One model: how close it comes to the data, and which places it may have."""

    name: str
    value: float
    """Mean over subjects (or repeats); with one, the value itself."""
    low: float
    """Lower end of the interval over new rows and new subjects; NaN where there is none."""
    high: float
    rank_low: int
    """One more than the models that are significantly better."""
    rank_high: int
    """The number of models less those that are significantly worse."""
    p_value: float = NAN
    """Against chance: the model's rows permuted."""
    corrected_p_value: float = NAN
    """The same, corrected for the number of models (step-down maximum)."""
    p_ceiling: float = NAN
    """That the model reaches the lower end of the noise ceiling, two-sided."""
    alone: float = NAN
    """Share of the variance of the data that the model explains by itself (of ranks, for Spearman)."""
    unique: float = NAN
    """Share that no other model explains."""
    unique_low: float = NAN
    unique_high: float = NAN

    @property
    def shared(self) -> float:
        """Share that the model explains together with others; below 0 where models suppress one another's noise."""
        return self.alone - self.unique


@dataclass(frozen=True)
class ModelDifference(Result):
    """Two models of a ranking."""

    first: str
    second: str
    difference: float
    """The value of the first minus that of the second."""
    low: float
    high: float
    p_value: float
    """Two-sided, over new rows and new subjects."""
    corrected_p_value: float
    """Corrected for the number of pairs."""


@dataclass(frozen=True)
class ModelCombination(Result):
    """Several models with non-negative weights, held out: rows and subjects that judge did not choose the weights."""

    value: float
    """Held-out value of the weighted models."""
    best_single: str
    best_single_value: float
    """Held-out value of the best model alone, on the same rows and subjects."""
    weights: dict[str, float]
    """Mean weight over the folds, of distances of unit spread; their sum is 1."""
    n_folds: int
    n_divisions: int
    """Random divisions into folds that were averaged."""


@dataclass(frozen=True)
class ModelRanking(Result):
    """Models ranked by how well they explain data."""

    measure: str
    closer: str
    """Whether 'higher' or 'lower' values mean closer."""
    models: tuple[RankedModel, ...]
    """The closest first."""
    pairs: tuple[ModelDifference, ...]
    n_subjects: int
    n_rows: int
    resampled: str
    """Of what the intervals know: 'rows', or 'rows and subjects'."""
    ceiling_lower: float = NAN
    """Mean value of each subject with the mean of the others; NaN with one subject."""
    ceiling_upper: float = NAN
    """Mean value of each subject with the mean of all."""
    combination: ModelCombination | None = None
    explained: float = NAN
    """Share of the variance that all models together explain, in sample."""
    alpha: float = 0.05
    confidence: float = 0.95
    correction: str = "holm"
    n_resamples: int = 0
    exchanged: str = ""
    """What the p-values against chance permute."""
    notes: tuple[str, ...] = ()
    seed: int | None = None

    def __iter__(self) -> Iterator[RankedModel]:
        """Go through the models, the closest first."""
        return iter(self.models)

    def __getitem__(self, name: str) -> RankedModel:
        """Return a model."""
        for one in self.models:
            if one.name == name:
                return one
        raise KeyError(f"name must be one of {', '.join(one.name for one in self.models)}, got {name!r}")

    def pair(self, first: str, second: str) -> ModelDifference:
        """Return the difference of two models, in this order.

        Parameters
        ----------
        first, second : str
            Names of the models.
        """
        for one in self.pairs:
            if (one.first, one.second) == (first, second):
                return one
            if (one.second, one.first) == (first, second):
                p_values = one.p_value, one.corrected_p_value
                return ModelDifference(first, second, -one.difference, -one.high, -one.low, *p_values)
        raise KeyError(f"first and second must be two models of the ranking, got {first!r} and {second!r}")

    @property
    def best(self) -> tuple[str, ...]:
        """The models that no other beats significantly, the closest first."""
        return tuple(one.name for one in self.models if one.rank_low == 1)

    @property
    def has_ceiling(self) -> bool:
        """Whether several subjects say how close any model can come."""
        return self.ceiling_lower == self.ceiling_lower

    def is_different(self, pair: ModelDifference) -> bool:
        """Whether the corrected p-value of a pair reaches the level.

        Parameters
        ----------
        pair : ModelDifference
        """
        return reaches_level(pair.corrected_p_value, self.alpha)

    def to_frame(self) -> pd.DataFrame:
        """Return a line per model, the closest first."""
        import pandas as pd

        return pd.DataFrame([{**one.to_dict(), "shared": one.shared} for one in self.models])

    @draws_axes
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a bar per model with its interval, the noise ceiling as a band, and a line per pair that differs."""
        from shesha.charts import model_bars

        place = {one.name: number for number, one in enumerate(self.models)}
        return model_bars(
            [one.name for one in self.models],
            [one.value for one in self.models],
            [(one.low, one.high) for one in self.models],
            band=(self.ceiling_lower, self.ceiling_upper) if self.has_ceiling else None,
            different=[(place[one.first], place[one.second]) for one in self.pairs if self.is_different(one)],
            above_chance=[reaches_level(one.corrected_p_value, self.alpha) for one in self.models],
            label=f"{self.measure} ({self.closer} is closer)",
            ax=ax,
        )

    @property
    def headline(self) -> str:
        """Which model is closest, and whether others tie with it."""
        from shesha.results.similarity.model_ranking_text import headline

        return headline(self)

    def _page(self) -> Page:
        from shesha.results.similarity.model_ranking_text import ranking_page

        return ranking_page(self)

    def __str__(self) -> str:
        """Print the answer, a line per model, and what to doubt."""
        from shesha.results.similarity.model_ranking_text import ranking_text

        return ranking_text(self)
