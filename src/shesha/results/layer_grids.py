"""The grid of all pairs of layers of two models, with or without chance levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Self, Unpack

from shesha.charts import Style, full_range, heat_map, null_distribution, style_options
from shesha.report import (
    Columns,
    Drawing,
    Explained,
    HeatMap,
    Metric,
    Page,
    Section,
    Table,
    Text,
)
from shesha.results import sentence_parts as say
from shesha.results.base import reaches_level
from shesha.results.comparison import PairNumber, PairTables, Score
from shesha.results.comparison_pages import NO_CHANCE, measures_explained, points
from shesha.results.doubts import Doubts
from shesha.results.generic_page import run_details
from shesha.results.number import NAN, Number, format_value
from shesha.results.sentence_parts import equal_p, format_share
from shesha.support.wording import agree, count, differing_parts

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_LONGEST = 160
"""Most characters of the partners that a sentence names; the table has all."""
_LONG_NAME = 16
"""Characters of a name beyond which tables leave out what all names share."""
_BEST_OF_MANY = (
    "The closest of many pairs is close by chance alone. Calibrate the maximum, not a single entry (`calibrate=True`)."
)
AGGREGATE_NAMES = {
    "max": "the value of the closest pair",
    "row_max": "the mean over layers of the closest match",
    "top_k": "the mean of the closest pairs",
    "mean": "the mean of all pairs",
}


@dataclass(frozen=True, kw_only=True)
class LayerComparison(PairTables, Number):
    """Every layer of one model compared with every layer of another.

    As a number, it is the summary of the grid, such as the value of the closest pair. With calibration, this summary is
    compared with that of grids whose rows are matched at random.
    """

    rows: tuple[str, ...]
    """Layers of the first model."""
    columns: tuple[str, ...]
    """Layers of the second model."""
    scores: tuple[Score, ...]
    """Every pair of layers. With calibration, `p_value` is valid for a pair chosen in advance, and `corrected_p_value`
    accounts for the number of pairs (step-down maximum over shared permutations)."""
    aggregate: str = "max"
    names: tuple[str, str] | tuple[()] = ()
    """Names of the two models, if known."""
    interrupted: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    doubts: Doubts | None = None
    """Possible problems with the closest pair; None if they were not checked."""

    @classmethod
    def untested(cls, rows: Sequence[str], columns: Sequence[str], scores: Sequence[Score], **fields: Any) -> Self:
        """Return a grid whose summary, the value of the closest pair, was not compared with chance."""
        first, known = scores[0], [score.value for score in scores if score.has_value]
        value = (max if first.closer == "higher" else min)(known) if known else NAN
        reason = "; ".join(dict.fromkeys(score.reason for score in scores if score.reason))
        common: dict[str, Any] = {"name": first.name, "closer": first.closer, "value": value, "reason": reason}
        return cls(rows=tuple(rows), columns=tuple(columns), scores=tuple(scores), **common, **fields)

    @property
    def closest(self) -> Score:
        """The closest pair of layers."""
        known = [pair for pair in self.scores if pair.has_value]
        if not known:
            raise ValueError(f"there must be a value for at least one pair of layers, got none: {self.reason}")
        return self._find_closest(known)

    def _find_closest(self, pairs: Sequence[Score]) -> Score:
        return (max if self.closer == "higher" else min)(pairs, key=lambda pair: pair.value)

    @property
    def partners(self) -> tuple[Score, ...]:
        """For each layer of the first model, its closest layer of the second; layers without a value are left out."""
        known: dict[str, list[Score]] = {}
        for pair in self.scores:
            if pair.has_value:
                known.setdefault(pair.first, []).append(pair)
        return tuple(self._find_closest(pairs) for pairs in known.values())

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

    @property
    def _labels(self) -> tuple[dict[str, str], str]:
        """Names of layers for tables, and the pattern of the full names if long names are shown by what differs."""
        names = [*self.rows, *self.columns]
        is_long = max(map(len, names), default=0) > _LONG_NAME
        return differing_parts(names) if is_long else ({name: name for name in names}, "")

    def matrix(self, what: PairNumber = "value") -> pd.DataFrame:
        """Return the grid, with a row for each layer of the first model and a column for each of the second.

        Parameters
        ----------
        what : {'value', 'calibrated', 'p_value', 'corrected_p_value', 'chance'}
            The numbers to return; NaN for pairs that lack them.
        """
        return self._grid(self.name, self.rows, self.columns, what)

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per pair of layers; `partner` marks the closest layer for each layer of the first model."""
        partners = {id(pair) for pair in self.partners}
        return super()._frame(full=full).assign(partner=[id(pair) in partners for pair in self.scores])

    def plot(self, ax: Axes | None = None, **style: Unpack[Style]) -> Axes:
        """Draw the grid as a heat map, with a frame around the closest partner of each layer of the first model.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. Default: a new figure.
        **style
            Appearance: `title`, `annotate`, `cmap`, `vmin`, `vmax` and `size`.

        Returns
        -------
        matplotlib Axes
            With chance levels, only partners above chance are framed, or the closest pair if there are none.
        """
        grid = self.matrix().to_numpy(dtype=float)
        options = style_options(style, self._picture_title, full_range(grid, self.closer))
        return heat_map(grid, self.rows, self.columns, closer=self.closer, framed=self.cells_to_frame, ax=ax, **options)

    @property
    def _picture_title(self) -> str:
        if not self.has_null:
            return f"{self.name} ({self.closer} is closer)"
        score = f"calibrated {self.calibrated:.3g}, p = {self.p_value:.2g}"
        return f"{self.name}: {self.aggregate} {self.value:.3g}, {score}"

    @property
    def cells_to_frame(self) -> tuple[tuple[int, int], ...]:
        """Rows and columns of the partners of the layers; if pairs were tested, of those above chance (corrected)."""
        framed = [pair for pair in self.partners if pair.significant or not pair.has_null]
        framed = framed or ([self.closest] if self.partners else [])
        return tuple((self.rows.index(pair.first), self.columns.index(pair.second)) for pair in framed)

    @property
    def headline(self) -> str:
        """One sentence with the closest layers, and whether the summary of the grid is above chance."""
        if not self.partners:
            return f"No pair of layers has a value: {self.reason}."
        best, pair = self.closest, self.pair_of_best
        verdict = f"{'above' if self.significant else 'not above'} chance (p = {self.p_value:.2g}"
        if self.aggregate != "max":
            what = AGGREGATE_NAMES.get(self.aggregate, self.aggregate)
            return (
                f"{self.name}, {what}: {self.value:.3g}, {verdict}). The closest layers are {pair} ({best.value:.3g})."
            )
        n, p = len(self.scores), best.corrected_p_value
        tested = f" ({equal_p(p)}, corrected for {n} pairs)" if best.has_null else ", not tested against chance"
        tested = f", {verdict} for the closest of {n} pairs)" if self.has_null else tested
        return f"The closest layers are {pair}: {self.name} {best.value:.3g}{tested}."

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
        known = [pair.corrected_p_value for pair in self.scores if pair.has_null]
        n = sum(reaches_level(p, self.alpha) for p in known)
        smallest = f" The smallest corrected p-value is {min(known):.2g}." if known and not n else ""
        return (
            f"{n} of {len(self.scores)} pairs {agree(n, 'is', 'are')} above chance at {self.alpha:g}, corrected for "
            f"the number of pairs.{smallest}"
        )

    @property
    def correspondence(self) -> str:
        """A sentence with the closest partner of each layer of the first model, and whether they keep the order."""
        places = [self.columns.index(pair.second) for pair in self.partners]
        rises = len(set(places)) > 1 and all(a <= b for a, b in pairwise(places))
        order = ", in the same order in both models" * rises
        label, _ = self._labels
        named = [f"{label[pair.first]} - {label[pair.second]}" for pair in self.partners]
        n_shown = max(1, sum(length <= _LONGEST for length in accumulate(len(pair) + 2 for pair in named)))
        return f"Closest partners{order}: {', '.join(named[:n_shown])}{', ...' * (n_shown < len(named))}."

    @property
    def _same_sentence(self) -> str:
        """A sentence on the closest and the farthest layers that have the same name in both models."""
        if not self.same_layers:
            return ""
        most, least = ((pair.first, f"{pair.value:.3g}") for pair in (self.same_layers[0], self.same_layers[-1]))
        if most[1] == least[1]:
            return f"All layers with the same name have {self.name} {most[1]}."
        return (
            f"Among layers with the same name, {most[0]} is most similar ({most[1]}) and {least[0]} least similar "
            f"({least[1]})."
        )

    def _answer(self) -> list[str]:
        """Return the sentences that answer the question, the most important first."""
        if not self.partners:
            return [self.headline]
        tested = any(pair.has_null for pair in self.scores)
        sentences = [
            self.headline,
            self.chance_sentence * self.has_null,
            self.n_above_chance_sentence * tested,
            self.correspondence,
            self._same_sentence,
        ]
        return [sentence for sentence in sentences if sentence]

    def _remarks(self) -> list[str]:
        """Return what is to be known about the values: the null, and what is missing."""
        tested = any(pair.has_null for pair in self.scores)
        dependent = "If rows depend on one another, declare it with groups, blocks or shift."
        remarks = {
            _BEST_OF_MANY: bool(self.partners) and not tested,
            f"{self.n_draws:,} permutations of {self.exchanged}. {dependent}": self.has_null,
            "The null distribution permutes single rows, so p-values are too small if rows depend on one another.": (
                tested and not self.has_null
            ),
            "`p_value` is for pairs chosen in advance, and `corrected_p_value` for all others.": tested,
            f"Intervals are {format_share(self.confidence)} intervals for partners that were chosen in advance.": (
                any(pair.has_interval for pair in self.scores)
            ),
            f"{count(self.n_lost, 'draw')} without a score {agree(self.n_lost, 'was', 'were')} counted as at least as "
            "close.": self.n_lost > 0,
            f"No value: {self.reason}.": bool(self.reason and self.partners),
            "Interrupted: fewer permutations than requested.": self.interrupted and self.has_null,
            "Interrupted: the remaining values were not computed.": self.interrupted and not self.has_null,
        }
        return [text for text, applies in remarks.items() if applies]

    def _partners(self) -> Table:
        """Return the table of each layer's closest partner."""
        pairs, same = self.partners, {pair.first: pair.value for pair in self.same_layers}
        label, _ = self._labels
        columns: Columns = {
            "closest": [label[pair.second] for pair in pairs],
            "value": map(format_value, pairs),
            "chance": [pair.chance for pair in pairs],
            "corrected p": [pair.corrected_p_value for pair in pairs],
            "same name": [same.get(pair.first) for pair in pairs],
        }
        return Table.of([label[pair.first] for pair in pairs], columns, "", "layer")

    def _claim(self) -> str:
        measure, over = say.add_source(self.name), f"{self.n_rows:,} inputs"
        size = self.size.removesuffix(f" over {over}").replace(" (rows)", "").replace(" (columns)", "")
        if not self.partners:
            return f"No pair of {size} has a value of {measure}: {self.reason}"
        if not self.has_null:
            level = f"corrected for {count(len(self.scores), 'pair')}"
            level = level if self.closest.has_null else "without a chance level"
            closest = say.clause(self.closest, measure)
            return f"Of {size} over {over}, {self.pair_of_best} are closest: {closest}, {level}"
        subject = f"{measure} of {size}, {AGGREGATE_NAMES.get(self.aggregate, self.aggregate)},"
        null = say.statement(self, subject, over, null="null of the same aggregate:")
        return f"{null}; the closest layers are {self.pair_of_best}"

    def _page(self) -> Page:
        values = tuple(map(tuple, self.matrix().to_numpy(dtype=float).tolist()))
        tested = any(pair.has_null for pair in self.scores)
        legend = f"closest partner of each layer{', if above chance' * tested}"
        framed = self.cells_to_frame if self.partners else ()
        label, pattern = self._labels
        rows, columns = (tuple(label[name] for name in names) for names in (self.rows, self.columns))
        size = f"{self.size}.{f' Tables leave out what the names share: {pattern}.' if pattern else ''}"
        grid = HeatMap(
            self.name,
            rows,
            columns,
            values=values,
            closer=self.closer,
            framed=framed,
            frame_legend=legend if len(framed) > 1 else "",
        )
        explained = (Explained(
            self.aggregate,
            "The summary of the grid, compared with that of grids with randomly matched rows.",
            "calibration.md",
        ),) if self.has_null else ()  # fmt: skip
        return Page(
            title=f"{len(self.rows)} x {len(self.columns)} layers by {self.name}",
            question=f"Which layers of the two models match? {self.size}.",
            answer=tuple(self._answer()),
            numbers=(*((self._partners(),) if self.partners else ()), grid, Text(size)),
            doubts=(*points(self.doubts), *map(Text, self._remarks()), *(() if tested else (NO_CHANCE,))),
            sections=(
                *((Section("The null", (self._null_drawing(),)),) if self.null else ()),
                Section("What the numbers mean", (*explained, *measures_explained([self.scores[0]]))),
            ),
            ran=run_details(self, {"n_rows": self.n_rows, "aggregate": self.aggregate}),
        )

    def _null_drawing(self) -> Drawing:
        shows = f"The summary of {len(self.null)} grids with randomly matched rows, and that of the observed grid."
        label = f"{self.aggregate} of {self.name}"
        return Drawing(shows, lambda: null_distribution(self.null, self.value, self.threshold, label=label))

    def _metrics(self, model: str) -> list[Metric]:
        if not self.has_null:
            return []
        # The grid contains the names of the layers but not of their models.
        what = f"{self.aggregate} {self.name} over {len(self.rows)} x {len(self.columns)} layers"
        return [self.as_metric(model, what)]
