"""Models ranked by how well they explain data, with intervals, ties and the noise ceiling."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from shesha.report import Columns, Drawing, Item, Page, Part, Section, Table, Text, numeral
from shesha.results import sentence_parts as say
from shesha.results.base import Listed, Result, draws_axes, reaches_level
from shesha.results.generic_page import run_details
from shesha.results.number import Number, format_value, frame_of_numbers
from shesha.support.seeds import ALPHA, CONFIDENCE
from shesha.support.wording import agree, count, join_names

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


NAN = float("nan")


@dataclass(frozen=True, kw_only=True)
class RankedModel(Number):
    """One model, with its similarity to the data and the ranks that it may have."""

    value: float
    """Value of the measure, averaged over subjects (or repeats)."""
    low: float
    """Lower end of the interval, which covers new rows and new subjects; NaN if there is none."""
    rank_low: int
    """1 plus the number of models that are significantly better."""
    rank_high: int
    """Number of models minus the number of models that are significantly worse."""
    p_value: float = NAN
    """p-value of the value compared with chance, from permutations of the model's rows."""
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


@dataclass(frozen=True, kw_only=True)
class ModelDifference(Number):
    """The difference between two models of a ranking."""

    first: str
    second: str
    value: float
    """Value of the first model minus value of the second model."""
    p_value: float
    """Two-sided p-value, which covers new rows and new subjects."""


WeightsOf = Literal["all subjects", "each subject"]


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
    weights_of: WeightsOf = "all subjects"
    """Whether weights are fitted to other subjects, or to other rows of each subject."""


@dataclass(frozen=True)
class ModelRanking(Listed[RankedModel], Result):
    """Models ranked by how well they explain data."""

    ITEMS = "models"

    measure: str
    closer: str
    """Whether 'higher' or 'lower' values mean that a model is closer to the data."""
    models: tuple[RankedModel, ...]
    """The models, sorted from the closest to the farthest."""
    pairs: tuple[ModelDifference, ...]
    n_subjects: int
    n_rows: int
    resampled: str
    """What the intervals cover, such as new 'rows', '8 groups of rows' or 'rows and subjects'."""
    ceiling_lower: float = NAN
    """Lower end of the ceiling: average value between a subject and the mean of the others; NaN with one subject."""
    ceiling_upper: float = NAN
    """Upper end of the ceiling: average value between a subject and the mean of all subjects."""
    combination: ModelCombination | None = None
    explained: float = NAN
    """Share of the variance that all models together explain, without held-out data."""
    alpha: float = ALPHA
    confidence: float = CONFIDENCE
    correction: str = "holm"
    n_resamples: int = 0
    n_draws: int = 0
    exchanged: str = ""
    """Which rows were permuted for the p-values of the comparison with chance."""
    n_known_pairs: tuple[int, ...] = ()
    """Number of pairs of rows with a distance in each subject, if some are missing; empty if all are known."""
    notes: tuple[str, ...] = ()
    seed: int | None = None

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
                return replace(pair, first=first, second=second, value=-pair.value, low=-pair.high, high=-pair.low)
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

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one line per model, the closest first."""
        further = ("p_ceiling", "alone", "unique", "unique_low", "unique_high", "shared")
        return frame_of_numbers(self.models, "name", "rank_low", "rank_high", full=full, further=further)

    @draws_axes
    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
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
        return headline(self)

    def _claim(self) -> str:
        ends = f"{say.format_number(self.ceiling_lower)} to {say.format_number(self.ceiling_upper)}"
        correction = say.CORRECTIONS.get(self.correction, self.correction)
        return say.listing(
            self.headline,
            [say.clause(model, confidence=self.confidence) for model in self.models],
            f"{say.add_source(self.measure)}, {count(self.n_subjects, 'subject')} of {self.n_rows:,} rows",
            f"noise ceiling {ends}" if self.has_ceiling else "",
            f"p against chance from {say.draws(self.n_draws, self.exchanged)}" if self.n_draws else "",
            f"differences tested over resampled {self.resampled}, corrected by {correction}" * bool(self.n_resamples),
            others="models",
        )

    def _page(self) -> Page:
        return ranking_page(self)


_SAME = 1e-9
"""Largest difference between scores of copies of one model, which rounding causes."""


def _copies_sentence(result: ModelRanking) -> str:
    """Return a sentence on the models that have equal scores in every resample; empty if there are none."""
    copies: dict[str, list[str]] = {}
    for pair in result.pairs:
        if all(abs(each) <= _SAME for each in (pair.value, pair.low, pair.high)):
            known = next((names for names in copies.values() if pair.first in names), None)
            names = copies.setdefault(pair.first, [pair.first]) if known is None else known
            names += [pair.second] * (pair.second not in names)
    return "".join(
        f" {join_names(names)} have the same score in every resample, so they are copies for {result.measure}."
        for names in copies.values()
    )


def headline(result: ModelRanking) -> str:
    """Return which model is closest, which models are not significantly worse, and which are copies."""
    return _closest_sentence(result) + _chance_sentence(result) + _copies_sentence(result)


def _closest_sentence(result: ModelRanking) -> str:
    first, best = result.models[0], result.best
    value = f"{result.measure} {numeral(first.value)}"
    if len(result.models) == 1:
        return f"{first.name}: {value}. A single model is not ranked."
    if not result.pairs or result.pairs[0].corrected_p_value != result.pairs[0].corrected_p_value:
        return f"{first.name} is closest ({value}). It was not tested whether other rows would change the order."
    ties = [name for name in best if name != first.name]
    if ties:
        several = f"{', '.join(ties[:4])}{f' and {len(ties) - 4} more' if len(ties) > 4 else ''}"
        return f"{first.name} is closest ({value}), but not significantly closer than {several} at {result.alpha:g}."
    others = {2: result.models[1].name, 3: "both others"}.get(
        len(result.models), f"all {len(result.models) - 1} others"
    )
    verb = "is closest" if _chance_sentence(result) else "explains the data best"
    better = "significantly closer" if _chance_sentence(result) else "significantly better"
    return f"{first.name} {verb} ({value}), {better} than {others} at {result.alpha:g}."


def _chance_sentence(result: ModelRanking) -> str:
    """Say that no model explains the data, if all were tested and none is above chance; otherwise an empty text."""
    p_values = [model.corrected_p_value for model in result.models]
    if any(p != p or reaches_level(p, result.alpha) for p in p_values):
        return ""
    return " It is not above chance." if len(p_values) == 1 else " No model is above chance."


def ceiling_sentence(result: ModelRanking) -> str:
    """Return a sentence about the noise ceiling."""
    if not result.has_ceiling:
        return ""
    reaching = [model.name for model in result.models if result.reaches_ceiling(model)]
    short = [model for model in result.models if model.value == model.value and model.name not in reaching]
    below = [model.name for model in short if reaches_level(model.p_ceiling, result.alpha)]
    open_ones = [model.name for model in short if model.p_ceiling == model.p_ceiling and model.name not in below]
    untested = [model.name for model in short if model.p_ceiling != model.p_ceiling]
    clauses = (
        (reaching, f"{agree(len(reaching), 'reaches', 'reach')} it"),
        (below, f"{agree(len(below), 'falls', 'fall')} short of it significantly"),
        (open_ones, f"{agree(len(open_ones), 'falls', 'fall')} short of it, but not significantly"),
        (untested, f"{agree(len(untested), 'falls', 'fall')} short of it (not tested)"),
    )
    clause = "; ".join(f"{', '.join(names)} {text}" for names, text in clauses if names)
    low, high = numeral(result.ceiling_lower), numeral(result.ceiling_upper)
    return f"The noise ceiling is {low} to {high}; {clause}."


def combination_sentence(result: ModelRanking) -> str:
    """Return a sentence on what a weighted combination of models gains on held-out data."""
    combination = result.combination
    if combination is None:
        return ""
    weights = sorted(combination.weights.items(), key=lambda pair: -pair[1])
    shares = ", ".join(f"{name} {weight:.2f}" for name, weight in weights[:5] if weight >= 0.005)
    fitted = "weights" if combination.weights_of == "all subjects" else "mean weights, fitted to each subject"
    return (
        f"A weighted combination of the models reaches {numeral(combination.value)} on held-out rows ({fitted}: "
        f"{shares}). {combination.best_single} alone reaches {numeral(combination.best_single_value)} on the "
        "same rows."
    )


def variance_sentence(result: ModelRanking) -> str:
    """Return a sentence on the variance that all models together explain."""
    if result.explained != result.explained:
        return ""
    return f"All models together explain {result.explained:.1%} of the variance of the distances, in sample."


def _design_note(result: ModelRanking) -> str:
    subjects = f"{result.n_subjects} subjects" if result.n_subjects > 1 else "one subject"
    return (
        f"{result.closer.capitalize()} is closer. The data have {result.n_rows:,} rows and {subjects}. Brackets are "
        f"{100 * result.confidence:g} % intervals from {result.n_resamples:,} resamples of {result.resampled}. Places "
        f"follow from tests of the differences between pairs of models ({result.correction})."
    )


def format_place(model: RankedModel) -> str:
    """Format the rank of a model, or its range of ranks if it ties with others."""
    return f"{model.rank_low}" if model.rank_low == model.rank_high else f"{model.rank_low} to {model.rank_high}"


def format_share(value: float) -> str:
    """Format a share as a percentage; empty for NaN."""
    return "" if value != value else f"{value:.1%}"


def ranking_page(result: ModelRanking) -> Page:
    """Return the page: the answer, the picture, every model, and every pair of models."""
    sentences = (headline(result), ceiling_sentence(result), combination_sentence(result))
    return Page(
        title="Which model explains the data best",
        question="Which model is closest to the data, is the difference significant, and how close could any model be?",
        answer=tuple(filter(None, sentences)),
        numbers=(_model_table(result), Text(_design_note(result), "")),
        doubts=tuple(Item(note) for note in result.notes),
        sections=(
            *_share_sections(result),
            Section("Models and the noise ceiling", (Drawing(_PICTURE, result.plot),)),
            *((Section("Pairs", (_pair_table(result),), _PAIRS),) if result.pairs else ()),
        ),
        ran=(
            ("resamples", f"{result.n_resamples:,} of {result.resampled}"),
            ("permutations", f"{result.n_draws:,}"),
            *run_details(result),
        ),
    )


def _model_table(result: ModelRanking) -> Table:
    columns: Columns = {
        "value": map(format_value, result.models),
        "place": map(format_place, result.models),
        "corrected p, chance": [model.corrected_p_value for model in result.models],
        "p, ceiling": [model.p_ceiling for model in result.models],
    }
    return Table.of([model.name for model in result.models], columns, result.measure, "model")


def _pair_table(result: ModelRanking) -> Table:
    columns: Columns = {
        "difference": map(format_value, result.pairs),
        "p": [pair.p_value for pair in result.pairs],
        "corrected p": [pair.corrected_p_value for pair in result.pairs],
        "verdict": ["differ" if result.is_different(pair) else "tie" for pair in result.pairs],
    }
    return Table.of([f"{pair.first}, {pair.second}" for pair in result.pairs], columns, "Differences", "pair")


def _share_sections(result: ModelRanking) -> tuple[Section, ...]:
    if result.explained != result.explained:
        return ()
    columns = {
        "alone": [format_share(model.alone) for model in result.models],
        "unique": [
            f"{format_share(model.unique)} [{format_share(model.unique_low)}, {format_share(model.unique_high)}]"
            for model in result.models
        ],
        "shared": [format_share(model.shared) for model in result.models],
    }
    table = Table.of([model.name for model in result.models], columns, "Shares of the variance", "model")
    parts: list[Part] = [Text(variance_sentence(result)), table]
    return (Section("Variance explained by each model alone, and by no other model", tuple(parts), _SHARES),)


_PICTURE = (
    "Each bar is a model with its interval. The grey band is the noise ceiling. Lines above the bars connect pairs "
    "that differ significantly after correction. A dot at the foot of a bar marks a model above chance."
)
_PAIRS = (
    "Intervals and p-values are for new rows and, with several subjects, new subjects. 'Tie' means no significant "
    "difference."
)
_SHARES = (
    "Shares are squared correlations with the distances of each subject, averaged over subjects. They are in sample, "
    "so even an unrelated model has a small positive share. Compare intervals, not single values."
)
