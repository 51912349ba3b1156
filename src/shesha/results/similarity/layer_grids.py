"""Grids that compare every layer of one model with every layer of another, with or without chance levels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from shesha.charts import Style, full_range, heat_map, style_options
from shesha.report import Drawing, Explained, HeatMap, Metric, Page, Part, Section, Text
from shesha.results.audit.doubts import Doubts
from shesha.results.base import Result, reaches_level
from shesha.results.generic_page import run_details
from shesha.results.number import Number
from shesha.results.sentence_parts import equal_p
from shesha.results.similarity.comparison_pages import NO_CHANCE, measure_explained, measures_explained, points
from shesha.results.similarity.pairwise import PairTables
from shesha.results.similarity.score import Score
from shesha.support.wording import agree, count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    pass


_WIDTH = 120
"""Most characters per line; the lines of a wider grid would wrap and become unreadable."""


def printed_grid(measure: str, closer: str, grid: pd.DataFrame, *, digits: int = 4) -> list[str]:
    """Return the whole grid or, if it is too wide for a terminal, the closest column for each row."""
    title = f"{measure} ({closer} is closer)"
    text = grid.to_string(float_format=f"%.{digits}g")
    if len(text.split("\n", 1)[0]) <= _WIDTH:
        return [title, text]
    return [
        f"{title}: the closest layer of the second model for each layer of the first",
        _closest_columns(grid, closer).to_string(index=False, float_format=f"%.{digits}g"),
        f"The grid of {len(grid)} x {len(grid.columns)} layers is too wide to print. See matrix(), plot() or --html.",
    ]


def _closest_columns(grid: pd.DataFrame, closer: str) -> pd.DataFrame:
    import pandas as pd

    values = grid.to_numpy(dtype=float)
    known = np.isfinite(values).any(axis=1)
    ranked = np.where(np.isfinite(values), values if closer == "higher" else -values, -np.inf)
    best = ranked.argmax(axis=1)
    table = {
        "layer": list(grid.index),
        "closest layer": [grid.columns[place] if there else "" for place, there in zip(best, known, strict=True)],
        "value": values[np.arange(len(values)), best],
    }
    if list(grid.index) == list(grid.columns):
        table["layer with the same name"] = np.diagonal(values)
    return pd.DataFrame(table)


_BEST_OF_MANY = Text(
    "The closest of many pairs is close by chance alone. Use the p-value of the maximum, not the p-value of its cell."
)

_CORRECTED = Text(
    "Each pair has a p-value, corrected for the number of pairs (Holm). The null distribution permutes single rows, so "
    "p-values are too small if rows depend on one another."
)


def projection_lines(result: LayerComparison) -> list[str]:
    """Return how many values were estimated from projected layers, and their largest standard error."""
    errors = [pair.sampling_error for pair in result.scores if pair.sampling_error]
    return (
        [
            f"{len(errors)} of {len(result.scores)} values are estimates from random projections of wide layers. Their "
            f"standard error is at most {max(errors):.2g} (see the table of scores)"
        ]
        if errors
        else []
    )


def answer_lines(result: LayerComparison) -> list[str]:
    """Return sentences on the closest layers, and on the closest and farthest layers with the same name."""
    best, p = result.closest, result.closest.corrected_p_value
    chance = f" ({equal_p(p)}, corrected for {len(result.scores)} pairs)" if p == p else ""
    lines = [f"The closest layers are {result.pair_of_best}: {result.measure} {best.value:.4g}{chance}."]
    same = result.same_layers
    if same:
        most, least = ((pair.first, f"{pair.value:.4g}") for pair in (same[0], same[-1]))
        lines.append(
            f"All layers with the same name have {result.measure} {most[1]}."
            if most[1] == least[1]
            else f"Among layers with the same name, {most[0]} is most similar ({most[1]}) and {least[0]} least similar "
            f"({least[1]})."
        )
    return lines


def layers_page(result: LayerComparison) -> Page:
    """Return the page for a grid of layers without a null."""
    known = any(pair.has_value for pair in result.scores)
    values = tuple(map(tuple, result.matrix().to_numpy(dtype=float).tolist()))
    best = result.closest if known else None
    cells = () if best is None else ((result.rows.index(best.first), result.columns.index(best.second)),)
    has_null = best is not None and best.has_null
    chance = (_CORRECTED,) if has_null else (_BEST_OF_MANY, NO_CHANCE)
    answer = [f"No pair of layers has a value: {result.reason}."] if best is None else answer_lines(result)
    return Page(
        title=f"{len(result.rows)} x {len(result.columns)} layers by {result.measure}",
        question=f"Which layers of the two models match? {result.size}.",
        answer=tuple(answer),
        numbers=(HeatMap(result.measure, result.rows, result.columns, values, result.closer, cells),),
        doubts=(*map(Text, projection_lines(result)), *chance),
        sections=(Section("What the measure responds to", tuple(measures_explained([result.scores[0]]))),),
        ran=run_details(result),
    )


def calibrated_layers_page(result: CalibratedLayers) -> Page:
    """Return the page for a grid of layers that compares its aggregate with chance."""
    says = Explained(
        result.aggregate, "The summary of the grid, compared with that of grids with randomly matched rows.",
        "calibration.md",
    )  # fmt: skip
    return Page(
        title=f"{len(result.rows)} x {len(result.columns)} layers by {result.name}",
        question="Do the two models have layers that match better than the best match by chance?",
        answer=(result.headline, result.chance_sentence, result.n_above_chance_sentence),
        numbers=(_similarity_map(result),),
        doubts=(
            *points(result.doubts),
            _BEST_OF_MANY,
            Text(
                f"Permuted under the null: {result.exchanged}. If rows depend on one another, declare it with "
                "groups, blocks or shift."
            ),
        ),
        sections=(
            Section("The null", _null(result)),
            Section("Each pair by itself", (_p_value_map(result),), str(_BEST_OF_MANY.text)),
            Section("What the numbers mean", (says, measure_explained(result.name, result.family, result.closer))),
        ),
        ran=run_details(result, {"n_rows": result.n_rows, "aggregate": result.aggregate}),
    )


def _similarity_map(result: CalibratedLayers) -> HeatMap:
    return HeatMap(
        result.name,
        result.rows,
        result.columns,
        result.grid,
        result.closer,
        result.framed_cells,
        "above chance, corrected for the number of pairs" if len(result.framed_cells) > 1 else "",
    )


def _p_value_map(result: CalibratedLayers) -> HeatMap:
    return HeatMap(
        "p-value of each pair, valid only if the pair was chosen in advance",
        result.rows,
        result.columns,
        result.entry_p_values,
        "lower",
        digits=3,
        legend="Smaller is darker.",
    )


def _null(result: CalibratedLayers) -> tuple[Part, ...]:
    from shesha.charts import null_distribution

    shows = f"The summary of {len(result.null)} grids with randomly matched rows, and the summary of the observed grid."
    label = f"{result.aggregate} of {result.name}"
    return (Drawing(shows, lambda: null_distribution(result.null, result.value, result.threshold, label=label)),)


@dataclass(frozen=True)
class LayerComparison(PairTables, Result):
    """Every layer of one model compared with every layer of another."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    scores: tuple[Score, ...]
    closer: str
    seed: int | None = None
    interrupted: bool = False
    names: tuple[str, str] | tuple[()] = ()
    """Names of the two models, if known."""
    n_rows: int = 0
    """Number of rows (inputs) that were compared."""

    @property
    def measure(self) -> str:
        """Name of the measure that was used."""
        return self.scores[0].name

    @property
    def closest(self) -> Score:
        """The closest pair of layers."""
        pairs = [pair for pair in self.scores if pair.has_value]
        if not pairs:
            raise ValueError(f"there must be a value for at least one pair of layers, got none: {self.reason}")
        return (max if self.closer == "higher" else min)(pairs, key=lambda pair: pair.value)

    @property
    def reason(self) -> str:
        """Why values are missing; empty if none is."""
        return "; ".join(dict.fromkeys(pair.reason for pair in self.scores if pair.reason))

    @property
    def size(self) -> str:
        """The number of layers and inputs, and the names of the models if these are known."""
        sizes = f"{len(self.rows)} x {len(self.columns)} layers"
        if self.names:
            first, second = self.names
            sizes = f"{len(self.rows)} layers of {first} (rows) and {len(self.columns)} of {second} (columns)"
        return f"{sizes} over {self.n_rows:,} inputs" if self.n_rows else sizes

    @property
    def pair_of_best(self) -> str:
        """The closest layers, with the names of their models if these are known."""
        pair = (self.closest.first, self.closest.second)
        return " and ".join(map(" of ".join, zip(pair, self.names, strict=True)) if self.names else pair)

    @property
    def same_layers(self) -> tuple[Score, ...]:
        """Pairs of layers with the same name, closest first; empty if the models' layer names differ."""
        if self.rows != self.columns or len(self.rows) < 2:
            return ()
        pairs = [pair for pair in self.scores if pair.first == pair.second and pair.has_value]
        return tuple(sorted(pairs, key=lambda pair: pair.value, reverse=self.closer == "higher"))

    def matrix(self) -> pd.DataFrame:
        """Return the grid, with a row for each layer of the first model and a column for each of the second."""
        return self._grid(self.measure, self.rows, self.columns)

    def plot(self, ax: Axes | None = None, **style: Unpack[Style]) -> Axes:
        """Draw the grid as a heat map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. Default: a new figure.
        **style
            Appearance: `title`, `annotate`, `cmap`, `vmin`, `vmax` and `size`.

        Returns
        -------
        matplotlib Axes
        """
        grid = self.matrix().to_numpy(dtype=float)
        options = style_options(style, f"{self.measure} ({self.closer} is closer)", full_range(grid, self.closer))
        return heat_map(grid, self.rows, self.columns, closer=self.closer, ax=ax, **options)

    def _page(self) -> Page:
        pass

        return layers_page(self)

    def _text(self) -> str:
        """Return a text with the closest pair, how far apart layers with the same name are, and the grid."""
        pass

        lines = [self.size]
        if any(pair.has_value for pair in self.scores):
            lines += answer_lines(self)
            if not self.closest.has_null:
                lines.append(
                    "The closest of many pairs is close by chance alone. Calibrate the maximum, not a single entry."
                )
        lines += ["", *printed_grid(self.measure, self.closer, self.matrix())]
        lines += projection_lines(self)
        if self.reason:
            lines.append(f"no value: {self.reason}")
        if self.interrupted:
            lines.append("Interrupted: the remaining values were not computed.")
        return "\n".join(lines)


AGGREGATE_NAMES = {
    "max": "the value of the closest pair",
    "row_max": "the mean over layers of the closest match",
    "top_k": "the mean of the closest pairs",
    "mean": "the mean of all pairs",
}


@dataclass(frozen=True, kw_only=True)
class CalibratedLayers(Number):
    """A grid of layers, summarised by one number and compared with grids whose rows are matched at random."""

    ALIGNED = (("rows", "grid", "entry_p_values", "corrected_p_values"),)

    aggregate: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    grid: tuple[tuple[float, ...], ...]
    """Observed scores; each line contains the scores of one layer of the first model."""
    entry_p_values: tuple[tuple[float, ...], ...]
    """p-value of each pair by itself, which is valid only for a pair chosen in advance, not for the best of many pairs.
    """
    corrected_p_values: tuple[tuple[float, ...], ...]
    """p-value of each pair, corrected for the number of pairs (step-down maximum over shared permutations).
    """
    closest: tuple[str, str]
    """The closest pair of layers."""
    interrupted: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    family: str = ""
    """Name of the family to which the measure belongs."""
    doubts: Doubts | None = None
    """Possible problems with the closest pair; None if they were not checked."""

    def matrix(self) -> pd.DataFrame:
        """Return the observed grid as a table."""
        return self._table(self.grid)

    def p_values(self) -> pd.DataFrame:
        """Return the p-values of the single pairs as a table."""
        return self._table(self.entry_p_values)

    def _table(self, grid: tuple[tuple[float, ...], ...]) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame([list(row) for row in grid], index=list(self.rows), columns=list(self.columns))

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per pair of layers."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "first": a,
                    "second": b,
                    "measure": self.name,
                    "value": value,
                    "entry_p_value": p,
                    "corrected_p_value": q,
                }
                for a, *lines in zip(self.rows, self.grid, self.entry_p_values, self.corrected_p_values, strict=True)
                for b, value, p, q in zip(self.columns, *lines, strict=True)
            ]
        )

    def plot(self, ax: Axes | None = None, **style: Unpack[Style]) -> Axes:
        """Draw the grid as a heat map, with frames around pairs above chance, corrected for their number.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. Default: a new figure.
        **style
            Appearance: `title`, `annotate`, `cmap`, `vmin`, `vmax` and `size`.

        Returns
        -------
        matplotlib Axes
            If no pair or every pair is above chance, only the closest pair is framed.
        """
        grid = self.matrix().to_numpy(dtype=float)
        options = style_options(style, self.picture_title, full_range(grid, self.closer))
        return heat_map(grid, self.rows, self.columns, closer=self.closer, framed=self.framed_cells, ax=ax, **options)

    @property
    def picture_title(self) -> str:
        """The title for a picture of the grid."""
        score = f"calibrated {self.calibrated:.3g}, p = {self.p_value:.2g}"
        return f"{self.name}: {self.aggregate} {self.value:.3g}, {score}"

    @property
    def framed_cells(self) -> tuple[tuple[int, int], ...]:
        """Rows and columns of the pairs above chance (corrected), or of the closest pair if none or all are."""
        cells = self._cells_above_chance
        if 0 < len(cells) < len(self.rows) * len(self.columns):
            return cells
        return ((self.rows.index(self.closest[0]), self.columns.index(self.closest[1])),)

    @property
    def _cells_above_chance(self) -> tuple[tuple[int, int], ...]:
        """Pairs above chance, corrected for the number of pairs."""
        return tuple(
            (i, j)
            for i, line in enumerate(self.corrected_p_values)
            for j, p in enumerate(line)
            if reaches_level(p, self.alpha)
        )

    def _page(self) -> Page:
        pass

        return calibrated_layers_page(self)

    def _metrics(self, model: str) -> list[Metric]:
        # The grid contains the names of the layers but not of their models.
        what = f"{self.aggregate} {self.name} over {len(self.rows)} x {len(self.columns)} layers"
        null = {"chance": self.chance, "threshold": self.threshold, "p_value": self.p_value}
        return [Metric(model, what, self.value, **null)]

    @property
    def headline(self) -> str:
        """One sentence with the aggregate, whether it is above chance, and the closest layers."""
        verdict = "above" if self.significant else "not above"
        p = f"p = {self.p_value:.2g}"
        first, second = self.closest
        if self.aggregate == "max":
            n_pairs = len(self.rows) * len(self.columns)
            return (
                f"The closest layers are {first} and {second}: {self.name} {self.value:.3g}, {verdict} chance "
                f"({p} for the closest of {n_pairs} pairs)."
            )
        what = AGGREGATE_NAMES.get(self.aggregate, self.aggregate)
        value = self.grid[self.rows.index(first)][self.columns.index(second)]
        return (
            f"{self.name}, {what}: {self.value:.3g}, {verdict} chance ({p}). The closest layers are {first} and "
            f"{second} ({value:.3g})."
        )

    @property
    def chance_sentence(self) -> str:
        """A sentence with the values for randomly matched rows, and the calibrated value."""
        kind = "calibrated value" if self.best == self.best else "excess over the threshold"
        return (
            f"Random matchings of the rows give {self.chance:.3g} +- {self.chance_sd:.2g}, and at most "
            f"{100 * self.alpha:.3g}% of them are closer than {self.threshold:.3g}. The {kind} is "
            f"{self.calibrated:.3g}."
        )

    @property
    def n_above_chance_sentence(self) -> str:
        """A sentence with the number of pairs above chance, corrected for the number of pairs."""
        n = len(self._cells_above_chance)
        known = [p for line in self.corrected_p_values for p in line if p == p]
        smallest = f" The smallest corrected p-value is {min(known):.2g}." if known and not n else ""
        return (
            f"{n} of {len(self.rows) * len(self.columns)} pairs {agree(n, 'is', 'are')} above chance at "
            f"{self.alpha:g}, corrected for the number of pairs (step-down maximum).{smallest}"
        )

    def _text(self) -> str:
        """Return a text with the answer, its chance level and the grid."""
        lines = [
            self.headline,
            self.chance_sentence,
            self.n_above_chance_sentence,
            "",
            *printed_grid(self.name, self.closer, self.matrix(), digits=3),
            "",
            f"{self.n_draws} permutations of {self.exchanged}.",
            "Use `entry_p_values` for pairs chosen in advance, and `corrected_p_values` for all others.",
        ]
        if self.n_lost:
            were = agree(self.n_lost, "was", "were")
            lines.append(f"{count(self.n_lost, 'draw')} without a score {were} counted as at least as close")
        if self.interrupted:
            lines.append("Interrupted: fewer permutations than requested.")
        if self.doubts:
            lines += [
                "",
                "What could be wrong with the closest pair",
                *(f"  {line}" for line in str(self.doubts).split("\n")),
            ]
        return "\n".join(lines)
