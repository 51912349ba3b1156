"""Similarity of representations: one score, the scores of one pair, and tables of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from shesha.charts import Style, full_range, heat_map, leaf_order, similarity_map, style_options
from shesha.report import Columns, Metric, Page, Section, Table, numeral
from shesha.results import sentence_parts as say
from shesha.results.base import Result, reaches_level
from shesha.results.doubts import Doubts
from shesha.results.number import Number, format_value, frame_of_numbers
from shesha.support import types as kinds
from shesha.support.seeds import ALPHA, CONFIDENCE, undecided
from shesha.support.wording import count, duration

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


RECOMMENDED = {
    "unbiased CKA": "the whole geometry",
    "RSA": "the order of distances",
    "mutual kNN": "the nearest neighbours",
}
"""The recommended measures, each with what it compares. Their chance levels do not rise with the number of features."""


@dataclass(frozen=True)
class NoiseCeiling(Result):
    """The score that the true representation would have with single repeats of a noisy measurement of it."""

    measure: str
    closer: str
    """Whether 'higher' or 'lower' values mean that representations are more similar."""
    lower: float
    """Lower end: average value between a repeat and the mean of the other repeats, which is itself noisy."""
    upper: float
    """Upper end: average value between a repeat and the mean of all repeats, which includes that repeat."""
    reliability: float
    """Average value between two different repeats."""
    n_repeats: int
    n_rows: int
    left_out: tuple[float, ...] = ()
    """Value between each repeat and the mean of the other repeats; the average of these values is `lower`."""
    included: tuple[float, ...] = ()
    """Value between each repeat and the mean of all repeats; the average of these values is `upper`."""
    n_pairs: int = 0
    """Number of pairs of rows, for ceilings of distances."""
    n_known_pairs: tuple[int, ...] = ()
    """Number of pairs of rows with a distance in each repeat; fewer than `n_pairs` if some are missing."""
    reason: str = ""
    """Why there is no ceiling; empty if there is one."""
    notes: tuple[str, ...] = ()
    seed: int | None = None

    @property
    def has_value(self) -> bool:
        """Whether there is a ceiling."""
        return self.lower == self.lower

    def _text(self) -> str:
        """Return a text with the ceiling."""
        return "\n".join([f"{self.measure}: {self._ceiling}", *(f"  note: {text}" for text in self.notes)])

    @property
    def _ceiling(self) -> str:
        if not self.has_value:
            return f"no noise ceiling ({self.reason})"
        return (
            f"noise ceiling {self.lower:.4g} to {self.upper:.4g}, reliability {self.reliability:.4g} "
            f"({self.n_repeats} repeats of {self.n_rows:,} rows{self._clause_on_known_pairs}; {self.closer} is closer)"
        )

    def _claim(self) -> str:
        return f"{say.add_source(self.measure)}: {self._ceiling}"

    @property
    def _clause_on_known_pairs(self) -> str:
        if not self.n_known_pairs or min(self.n_known_pairs) == self.n_pairs:
            return ""
        low, high = min(self.n_known_pairs), max(self.n_known_pairs)
        return f", {low:,}{'' if low == high else f' to {high:,}'} of {self.n_pairs:,} pairs of rows known in each"


@dataclass(frozen=True, kw_only=True)
class NoiseCeilingFields(Result):
    """A value with its noise ceiling from repeats; fields are None without repeats, and NaN if undefined."""

    over_repeats: float | None = None
    """Mean value over the repeats, to which the ceiling applies."""
    ceiling_lower: float | None = None
    """Lower end of the ceiling: average value between a repeat and the mean of the other repeats."""
    ceiling_upper: float | None = None
    """Upper end of the ceiling: average value between a repeat and the mean of all repeats."""
    reliability_first: float | None = None
    """Average value between two different repeats of the first representation."""
    reliability_second: float | None = None
    """Average value between two different repeats of the second representation."""
    disattenuated: float | None = None
    """`over_repeats` divided by the square roots of both reliabilities, which estimates the value without noise."""

    @property
    def has_ceiling(self) -> bool:
        """Whether there is a ceiling."""
        return self.ceiling_lower is not None and self.ceiling_lower == self.ceiling_lower


@dataclass(frozen=True, kw_only=True)
class Score(Number, NoiseCeilingFields):
    """The value of one measure for one pair of representations."""

    first: str = ""
    """Name of the first representation, or of the pair."""
    second: str = ""
    family: str = ""
    possible_low: float = float("-inf")
    """Smallest value that the measure can have."""
    possible_high: float = float("inf")
    """Largest value that the measure can have."""
    seconds: float = 0.0
    """Computing time in seconds, including a share of the time for intermediate results that several measures use."""
    held_out: float | None = None
    """Value for held-out rows; None if the measure fits no map or if it was not requested."""
    sampling_error: float | None = None
    """Monte Carlo standard error if the value was estimated from sampled rows or pairs; None if it is exact."""
    sampling_low: float | None = None
    """Lower end of an interval for the exact value, computed from the sample."""
    sampling_high: float | None = None
    interrupted: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    doubts: Doubts | None = None
    """Possible problems with the conclusion, if they were checked."""

    def pair(self, joint: str = " and ") -> str:
        """Return the names of both representations, or the name of the pair."""
        return joint.join(filter(None, (self.first, self.second)))

    def _further_lines(self) -> Iterable[str]:
        """Yield the possible range, the calibration, and what could be wrong."""
        if self.has_value and self.family:
            direction = "higher is closer, " if self.closer == "higher" else ""
            yield f"{direction}possible values {format_range(self.possible_low, self.possible_high)}"
        yield from super()._further_lines()
        if self.interrupted:
            yield "interrupted: fewer permutations than requested"
        if self.doubts:
            yield from (f"! {sentence}" for sentence in self.doubts.sentences)

    def _claim(self) -> str:
        return say.statement(self, f"{say.add_source(self.name)} of the two representations", f"{self.n_rows:,} rows")


def format_range(low: float, high: float) -> str:
    """Format the range of possible values."""
    return f"from {low:.4g}" if high == float("inf") else f"{low:.4g} to {high:.4g}"


def plain_name(name: str) -> str:
    """Return the name of a measure in the form in which names are looked up."""
    base, bracket, options = kinds.text(name, "measure").lower().partition("(")
    # Signs in options are kept, because 1e-16 differs from 1e16.
    return "".join(c for c in base if c.isalnum()) + bracket + "".join(c for c in options if not c.isspace())


def pair_sentences(first: str, second: str, scores: Sequence[Score], alpha: float) -> Iterable[str]:
    """Yield sentences that say, from the scores with a value, whether two representations are similar."""
    if not scores:
        yield f"No measure could be computed for {first} and {second}."
        return
    tested = [score for score in scores if score.has_null]
    if not tested:
        shown = [score for score in scores if score.name in RECOMMENDED] or [scores[0]]
        yield f"Raw values, not tested against chance: {', '.join(_raw_value(score) for score in shown)}."
        return
    above = [score for score in tested if reaches_level(score.deciding_p_value, alpha)]
    best = max(tested, key=lambda score: -score.deciding_p_value)
    corrected = ", corrected for the number of measures" if len(tested) > 1 else ""
    n_untested = len(scores) - len(tested)
    untested = f" ({count(n_untested, 'other measure')} not tested)" if n_untested else ""
    yield (
        f"{_count_phrase(len(above), tested)} above chance at {alpha:g}{corrected}{untested}."
        f"{'' if above else f' The smallest p-value is {best.deciding_p_value:.2g} ({best.name}).'}"
    )
    if not above:
        yield "Rows in another order give such values: check that row i is the same input in both."
    led = next((score for score in tested if score.name in RECOMMENDED), best)
    yield (
        f"{led.name} is {format_value(led)}, and {led.chance:.3g} on average for randomly "
        f"matched rows (p = {led.p_value:.2g}). The calibrated value is {led.calibrated:.2f} (0 at the chance "
        "threshold, 1 at the best value)."
    )
    if led.closer == "higher" and led.value < REVERSED and led.high < 0:
        yield (
            "It is far below chance: rows that are close in one are far apart in the other, as if one of them held "
            "similarities instead of distances."
        )


REVERSED = -0.3
"""Value of a rank correlation of distances below which one side may hold similarities."""


def _raw_value(score: Score) -> str:
    by_chance = f" (chance level {numeral(score.chance)})" if score.chance == score.chance else ""
    return f"{score.name} {numeral(score.value)}{by_chance}"


def _count_phrase(n: int, tested: Sequence[Score]) -> str:
    total = len(tested)
    if total == 1:
        return f"{tested[0].name} is" if n else f"{tested[0].name} is not"
    if n == total:
        return "Both measures are" if total == 2 else f"All {total} measures are"
    return f"{n or 'None'} of {total} measures {'is' if n == 1 else 'are'}"


_HELD_OUT_NOTE = (
    "Held out: the map is fitted on the rows outside each fold and evaluated on the rows of the fold. All rows: the "
    "map is evaluated on the rows on which it was fitted, so the representations look closer than they are."
)


def sections_of_held_out_values(scores: Sequence[Score], folds: int | None) -> tuple[Section, ...]:
    """Return the section of a page with held-out values; empty if not requested."""
    held_out_scores = [score for score in scores if score.held_out is not None]
    if not held_out_scores:
        return ()
    columns: Columns = {
        "all rows": [score.value for score in held_out_scores],
        "held out": [score.held_out for score in held_out_scores],
    }
    table = Table.of([score.name for score in held_out_scores], columns, f"{folds} folds", "measure")
    return (Section(f"Held out, {count(folds or 0, 'fold')}", (table,), _HELD_OUT_NOTE),)


@dataclass(frozen=True)
class Comparison(Result):
    """How two representations of the same inputs compare according to several measures."""

    first: str
    second: str
    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    scores: tuple[Score, ...]
    seed: int | None = None
    interrupted: bool = False
    exchanged: str = ""
    """Which rows are exchangeable under the null hypothesis; empty without calibration."""
    doubts: Doubts | None = None
    """Possible problems with the conclusion. If there are fewer than five measures, only quick checks are made."""
    folds: int | None = None
    """Number of folds that the held-out values used; None if there are no such values."""
    alpha: float = ALPHA
    """Significance level of the verdicts and thresholds."""
    confidence: float = CONFIDENCE
    """Confidence level of the intervals."""
    n_draws: int = 0
    """Number of permutations for the chance levels; 0 if there are none."""
    exact_seconds: float = 0.0
    """About how long the exact values would take, if scores were estimated from a sample to save time; otherwise 0."""

    def __getitem__(self, measure: str) -> Score:
        """Return the score according to the measure with this name."""
        key = plain_name(measure)
        for score in self.scores:
            if plain_name(score.name) == key:
                return score
        raise KeyError(f"measure must be one of {', '.join(s.name for s in self.scores)}, got {measure!r}")

    def __iter__(self) -> Iterator[Score]:
        """Iterate over the scores; there is one per measure."""
        return iter(self.scores)

    @property
    def headline(self) -> str:
        """How many measures are above chance, or the raw values if none was tested."""
        known = [score for score in self.scores if score.has_value]
        return " ".join([next(iter(pair_sentences(self.first, self.second, known, self.alpha))), *self.sampled()])

    def sampled(self) -> Iterator[str]:
        """Yield a sentence on the scores that were estimated from a sample, and how long exact values take."""
        errors = [
            f"{score.name} +-{(score.sampling_high - score.sampling_low) / 2:.1g}"
            for score in self.scores
            if score.sampling_error and score.sampling_low is not None and score.sampling_high is not None
        ]
        if errors:
            time = (
                f"; `--exact` (`exact=True`) takes about {duration(self.exact_seconds)}" if self.exact_seconds else ""
            )
            yield f"Estimated from a sample: {', '.join(errors)}{time}."

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per measure."""
        return frame_of_numbers(self.scores, full=full)

    def _claim(self) -> str:
        known = [score for score in self.scores if score.has_value]
        if len(known) > say.MOST + 1:
            known.sort(key=lambda score: score.name not in RECOMMENDED)
        clauses = [
            say.clause(score, say.add_source(score.name), self.confidence)
            + ("" if score.held_out is None else f", held out {say.format_number(score.held_out)} ({self.folds} folds)")
            for score in known
        ]
        drawn = say.draws(self.n_draws, self.exchanged) if self.n_draws else ""
        head = f"Similarity of {self.first} and {self.second} over {self.shapes[0][0]:,} rows"
        return say.listing(
            head,
            clauses or ["no measure has a value"],
            drawn or (self.exchanged and f"permutations of {self.exchanged}"),
            others="measures",
        )

    def _page(self) -> Page:
        from shesha.results.comparison_pages import comparison_page

        return comparison_page(self)

    def _metrics(self, model: str) -> list[Metric]:
        tested = [score for score in self.scores if score.has_null]
        return [score.as_metric(self.first, f"{score.name} with {self.second}") for score in tested]


_REPEATS_NOTE = (
    "Single repeats are noisy, so on average even the true model would score between the two ends of the ceiling. "
    "The corrected value is the value over repeats divided by the square roots of the reliabilities. It estimates the "
    "value without noise."
)


def repeats_sections(scores: Sequence[Score]) -> tuple[Section, ...]:
    """Return the section of a page with the noise ceilings of scores over repeats; empty if there are none."""
    repeated = [score for score in scores if score.over_repeats is not None]
    if not repeated:
        return ()
    columns: Columns = {
        "over repeats": [score.over_repeats for score in repeated],
        "ceiling": [
            f"{numeral(score.ceiling_lower)} to {numeral(score.ceiling_upper)}" if score.has_ceiling else ""
            for score in repeated
        ],
        "reliability": [
            ", ".join(filter(None, map(numeral, (score.reliability_first, score.reliability_second))))
            for score in repeated
        ],
        "corrected": [score.disattenuated for score in repeated],
    }
    table = Table.of([score.name for score in repeated], columns, "Over repeats", "measure")
    return (Section("Compared with repeats", (table,), _REPEATS_NOTE),)


PairNumber = Literal["value", "calibrated", "p_value", "corrected_p_value", "chance"]
"""Names of the numbers that each pair of representations has."""


class PairTables:
    """Scores of pairs, which can be shown as tables and plots."""

    scores: tuple[Score, ...]

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures that were used."""
        return tuple(dict.fromkeys(pair.name for pair in self.scores))

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return one row per pair and measure."""
        if self.scores and not any(score.second for score in self.scores):
            frame = frame_of_numbers(self.scores, full=full, lead={"pair": [score.first for score in self.scores]})
            return frame.drop(columns=["first", "second"], errors="ignore")
        return frame_of_numbers(self.scores, "first", "second", "name", full=full)

    def _pairs_for(self, measure: str) -> list[Score]:
        pairs = self._pairs_by_measure.get(plain_name(measure))
        if pairs is None:
            raise KeyError(f"measure must be one of {', '.join(self.measures)}, got {measure!r}")
        return pairs

    @cached_property
    def _pairs_by_measure(self) -> dict[str, list[Score]]:
        groups: dict[str, list[Score]] = {}
        plain = {name: plain_name(name) for name in self.measures}
        for pair in self.scores:
            groups.setdefault(plain[pair.name], []).append(pair)
        return groups

    def _grid(
        self, measure: str, rows: tuple[str, ...], columns: tuple[str, ...], what: PairNumber = "value"
    ) -> pd.DataFrame:
        import pandas as pd

        values = np.full((len(rows), len(columns)), np.nan)
        row, column = ({name: place for place, name in enumerate(names)} for names in (rows, columns))
        for pair in self._pairs_for(measure):
            if pair.first not in row or pair.second not in column:
                raise ValueError(f"scores must be of the named representations, got {pair.first!r} and {pair.second!r}")
            values[row[pair.first], column[pair.second]] = getattr(pair, what)
        return pd.DataFrame(values, index=list(rows), columns=list(columns))


@dataclass(frozen=True)
class PairwiseComparison(PairTables, Result):
    """How pairs of representations compare according to several measures: all pairs of several, or named pairs."""

    ALIGNED = (("names", "shapes"), ("measures", "symmetric", "self_values"))

    names: tuple[str, ...]
    """Names of the representations; empty for named pairs, each of which may have its own rows."""
    shapes: tuple[tuple[int, ...], ...]
    scores: tuple[Score, ...]
    symmetric: dict[str, bool]
    """Whether each measure is symmetric, that is, has the same value for (a, b) and (b, a)."""
    self_values: dict[str, float | None]
    """For each measure, the value between a representation and itself, if it is a constant."""
    seed: int | None = None
    interrupted: bool = False
    exchanged: str = ""
    """Which rows are exchangeable under the null hypothesis; empty without calibration."""
    n_draws: int = 0
    """Number of permutations of the rows; all pairs use the same ones."""
    alpha: float = ALPHA
    confidence: float | None = None
    """Confidence level of the intervals; None if there are none."""
    correction: str = ""
    """Correction of the p-values of named pairs; empty for the step-down maximum over shared permutations."""

    def __getitem__(self, pair: str | tuple[str, ...]) -> Score:
        """Return the score of a pair: its name, or both names, with the measure unless it is the first."""
        key = (pair,) if isinstance(pair, str) else pair
        for score in self.scores:
            names = tuple(filter(None, (score.first, score.second)))
            orders = (names, names[::-1]) if self.symmetric[score.name] else (names,)
            if any(key in (order, (*order, score.name)) for order in orders):
                return score
        known = dict.fromkeys(score.pair(", ") for score in self.scores)
        raise KeyError(f"pair must be one of {'; '.join(known)}, got {', '.join(map(str, key))}")

    @property
    def undecided(self) -> dict[str, str]:
        """For each measure, why the correction could not reject with so few permutations; empty if it could."""
        known: dict[str, str] = {}
        for name in self.measures if self.correction else ():
            scores = self._pairs_for(name)
            p_values, corrected = ([getattr(s, p) for s in scores] for p in ("p_value", "corrected_p_value"))
            if text := undecided(p_values, corrected, self.n_draws, self.alpha):
                known[name] = text
        return known

    def matrix(self, measure: str, what: PairNumber = "value") -> pd.DataFrame:
        """Return a square table for one measure, with first arguments as rows and second arguments as columns.

        Parameters
        ----------
        measure : str
            Name of a measure that was compared.
        what : {'value', 'calibrated', 'p_value', 'corrected_p_value', 'chance'}
            The numbers to return. All except 'value' are NaN on the diagonal and for pairs that were not calibrated.
        """
        self._require_known(what)
        if not self.names:
            raise ValueError("a matrix needs all pairs of several representations, got named pairs: use to_frame()")
        values = self._grid(measure, self.names, self.names, what)
        name = self._pairs_for(measure)[0].name
        if self.symmetric[name]:
            values = values.combine_first(values.T)
        self_value = self.self_values[name]
        if self_value is not None and what == "value":
            for label in self.names:
                others = values.loc[label].drop(label).to_numpy()
                values.loc[label, label] = self_value if len(others) == 0 or np.isfinite(others).any() else np.nan
        return values.loc[list(self.names), list(self.names)]

    def _require_known(self, what: str) -> None:
        if what not in get_args(PairNumber):
            raise ValueError(f"what must be one of {', '.join(get_args(PairNumber))}, got {what!r}")
        if what != "value" and not self.exchanged:
            raise ValueError(f"what must be 'value' without calibration, got {what!r}: pass calibrate=True")

    def plot(  # type: ignore[override]
        self,
        measure: str | None = None,
        ax: Axes | None = None,
        what: PairNumber = "value",
        *,
        cluster: bool = False,
        **style: Unpack[Style],
    ) -> Axes:
        """Draw one of the numbers of a measure as a heat map, with frames around pairs above chance.

        Parameters
        ----------
        measure : str, optional
            Name of a measure that was compared. Default: the first.
        ax : matplotlib Axes, optional
            Axes to draw on. Default: a new figure.
        what : {'value', 'calibrated', 'p_value', 'corrected_p_value', 'chance'}
            The number to draw, as for `matrix`.
        cluster : bool
            Whether to place similar representations next to each other (average linkage). For this purpose, asymmetric
            measures are averaged over both orders.
        **style
            Appearance: `title`, `annotate`, `cmap`, `vmin`, `vmax` and `size`.

        Returns
        -------
        matplotlib Axes
            If the pairs were calibrated, those whose corrected p-value is at most `alpha` are framed. Named pairs are
            drawn as a list.
        """
        scores = self._pairs_for(self.measures[0] if measure is None else measure)
        if not self.names:
            return Result.plot(replace(self, scores=tuple(scores)), ax, title=style.get("title"))
        score = scores[0]
        closer = {"value": score.closer, "chance": score.closer, "calibrated": "higher"}.get(what, "lower")
        name = score.name if what == "value" else f"{score.name}, {what.replace('_', ' ')}"
        table = self.matrix(score.name, what)
        places = leaf_order(table.to_numpy(dtype=float), closer) if cluster else range(len(self.names))
        order = [self.names[place] for place in places]
        shown = table.loc[order, order].to_numpy(dtype=float)
        return heat_map(
            shown,
            order,
            order,
            closer=closer,
            framed=self._cells_above_chance(score.name, order),
            ax=ax,
            logarithmic=what in ("p_value", "corrected_p_value"),
            **style_options(style, f"{name} ({closer} is closer)", full_range(shown, closer)),
        )

    def _cells_above_chance(self, measure: str, order: Sequence[str]) -> list[tuple[int, int]]:
        place = {name: number for number, name in enumerate(order)}
        cells = [
            (place[pair.first], place[pair.second])
            for pair in self._pairs_for(measure)
            if pair.first != pair.second and pair.deciding_p_value <= self.alpha
        ]
        return cells + ([(column, row) for row, column in cells] if self.symmetric[measure] else [])

    def plot_map(
        self, measure: str | None = None, ax: Axes | None = None, *, groups: Sequence[str] | None = None
    ) -> Axes:
        """Draw the representations in a plane, so that similar ones are close together (classical scaling).

        Parameters
        ----------
        measure : str, optional
            Name of a measure that was compared. Default: the first.
        ax : matplotlib Axes, optional
            Axes to draw on. Default: a new figure.
        groups : sequence of str, optional
            The group of each representation, such as a model family, shown by colour and shape.

        Returns
        -------
        matplotlib Axes
            The axis label states which share of the squared distances the plane shows.
        """
        name = self._pairs_for(self.measures[0] if measure is None else measure)[0].name
        table = self.embed(name)
        explained = float(table.attrs["explained"])
        return similarity_map(
            table.to_numpy(dtype=float), list(table.index), explained=explained, groups=groups, title=name, ax=ax
        )

    def embed(self, measure: str, n_dimensions: int = 2) -> pd.DataFrame:
        """Place the representations so that their distances show one measure (classical scaling).

        A similarity s is converted to the distance (best value - s). The values of an asymmetric measure are averaged
        over both orders.

        Parameters
        ----------
        measure : str
            Name of a measure that was compared.
        n_dimensions : int
            Number of coordinates for each representation.

        Returns
        -------
        pandas.DataFrame
            One row per representation; `attrs["explained"]` is the share of the squared distances that these
            coordinates show.
        """
        import pandas as pd

        if n_dimensions < 1:
            raise ValueError(f"n_dimensions must be at least 1, got {n_dimensions}")
        score = self._pairs_for(measure)[0]
        values = self.matrix(measure).to_numpy(dtype=np.float64, copy=True)
        if np.isnan(values).any():
            raise ValueError(f"{score.name} must have a value for every pair to be embedded, got NaN for some")
        values = (values + values.T) / 2
        distances = values if score.closer == "lower" else np.diagonal(values).max() - values
        coordinates, explained = _classical_scaling(np.maximum(distances, 0.0), n_dimensions)
        table = pd.DataFrame(coordinates, index=list(self.names), columns=[f"x{i + 1}" for i in range(n_dimensions)])
        table.attrs["explained"] = explained
        return table

    def _claim(self) -> str:
        from shesha.results.comparison_pages import significance_sentence

        n_rows = [shape[0] for shape in self.shapes] or [pair.n_rows for pair in self.scores]
        clauses = []
        few = len(self.measures) <= say.MOST + 1
        for name in sorted(self.measures, key=lambda name: not few and name not in RECOMMENDED):
            known = [pair for pair in self._pairs_for(name) if pair.has_value and pair.first != pair.second]
            ordered = sorted(known, key=lambda pair: pair.value, reverse=bool(known) and known[0].closer == "higher")
            ends = " to ".join(say.clause(pair, pair.pair()) for pair in dict.fromkeys((*ordered[:1], *ordered[-1:])))
            tested = f", {significance_sentence(self, name)}" if known else ""
            clauses.append(f"{say.add_source(name)} {f'from {ends}' if ends else 'not estimable'}{tested}")
        n_pairs = len({(pair.first, pair.second) for pair in self.scores})
        what = count(len(self.names), "representation") if self.names else count(n_pairs, "pair")
        null = say.draws(self.n_draws, self.exchanged) if self.exchanged else ""
        way = say.CORRECTIONS.get(self.correction, self.correction)
        corrected = f"p corrected for the number of pairs ({way})" if null else ""
        return say.listing(
            f"Similarity of {what} over {say.span(n_rows)} rows", clauses, null, corrected, others="measures"
        )

    def _page(self) -> Page:
        from shesha.results.comparison_pages import pairwise_page

        return pairwise_page(self)

    def _metrics(self, model: str) -> list[Metric]:
        tested = [pair for pair in self.scores if pair.has_null]
        return [pair.as_metric(pair.first, " with ".join(filter(None, (pair.name, pair.second)))) for pair in tested]


def _classical_scaling(distances: NDArray[np.float64], n_dimensions: int) -> tuple[NDArray[np.float64], float]:
    """Return coordinates from double-centred squared distances (Torgerson 1952), and the share they show."""
    n = len(distances)
    squared = distances**2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    kept = np.argsort(values)[::-1][:n_dimensions]
    coordinates = np.zeros((n, n_dimensions))
    coordinates[:, : len(kept)] = vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0.0))
    # The signs of the coordinates are arbitrary; they are chosen so that the largest entry of each is positive.
    signs = np.sign(coordinates[np.abs(coordinates).argmax(axis=0), np.arange(n_dimensions)])
    total = float(np.abs(values).sum())
    return coordinates * np.where(signs == 0, 1.0, signs), (
        float(np.maximum(values[kept], 0.0).sum() / total) if total > 0 else 1.0
    )
