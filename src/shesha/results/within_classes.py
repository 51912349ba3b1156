"""Representations compared within each class of rows: one with another, or several with a reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import nan
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shesha.report import Columns, Drawing, Item, Page, Part, Section, Strip, Table, Text, numeral
from shesha.results import sentence_parts as say
from shesha.results.base import Listed, Result, draws_axes, reaches_level
from shesha.results.comparison import Comparison, Score
from shesha.results.comparison_pages import measure_explained
from shesha.results.generic_page import run_details
from shesha.results.number import Number, frame_of_numbers
from shesha.results.sentence_parts import format_share
from shesha.support.seeds import ALPHA, undecided
from shesha.support.wording import agree, join_items

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_ALL = "all rows"
KEPT, PARTLY, LOST, UNDECIDED = "kept", "partly kept", "lost", "undecided"
"""Verdicts on a class, or on one measure within it."""


def mixing_sentence(mixing: Mapping[str, Mapping[str, Number]]) -> str:
    """Return how well blocks are mixed in each representation, and in blocks that are mixed at random."""
    texts = []
    for score in next(iter(mixing.values()), {}):
        numbers = {name: values[score] for name, values in mixing.items()}
        if all(each.has_value for each in numbers.values()):
            levels = [f"{each.chance:.2f}" for each in numbers.values() if each.chance == each.chance]
            random = f" ({' to '.join(sorted({min(levels), max(levels)}))} if mixed at random)" if levels else ""
            texts.append(
                f"{score} {', '.join(f'{each.value:.2f} in {name}' for name, each in numbers.items())}{random}"
            )
    silhouettes = [values.get("batch silhouette") for values in mixing.values()]
    if texts and any(one is not None and not one.has_value for one in silhouettes):
        return "Mixing of blocks cannot be judged, because no class has enough rows in two blocks."
    return f"Mixing of blocks (0 separate, 1 mixed): {'; '.join(texts)}." if texts else ""


@dataclass(frozen=True)
class WithinClasses(Listed[Comparison], Result):
    """Comparisons within each class (and block), and their mean over all classes."""

    ITEMS = "classes"

    first: str
    second: str
    classes: dict[str, Comparison]
    sizes: dict[str, int]
    """Number of rows that were compared in each class."""
    whole: Comparison
    """Mean over all classes, weighted by their rows; pairs of rows from different classes do not enter."""
    excluded: dict[str, str]
    """Classes that were not compared, each with the reason."""
    corrected: dict[str, dict[str, float]]
    """p-values by measure and class, corrected for the number of measures (step-down maximum over shared permutations)
    and of classes (Holm)."""
    kept_bars: dict[str, dict[str, float]] = field(default_factory=dict, kw_only=True)
    """By measure and class, the value of the first representation with itself after a fifth of its variance was
    exchanged between the rows of the class. A class is kept if the interval lies above it."""
    lost_bars: dict[str, dict[str, float]] = field(default_factory=dict, kw_only=True)
    """The same after four fifths were exchanged. A class that is not above chance is lost if the interval lies below
    it."""
    n_blocks: dict[str, int] = field(default_factory=dict, kw_only=True)
    """Number of blocks within which each class was compared; empty without blocks."""
    mixing: dict[str, dict[str, Number]] = field(default_factory=dict, kw_only=True)
    """How well blocks are mixed in each representation, by 'batch silhouette', 'iLISI' and 'graph connectivity': 1 if
    blocks are mixed, lower if they are separate. Chance levels are those of blocks that are mixed at random."""
    merged: dict[str, dict[str, float]] = field(default_factory=dict, kw_only=True)
    """Pairs of classes, such as 'B and T', that the first representation separates and the second does not: for both,
    the share of the squared distance between their rows that comes from the distance of their means."""
    apart: tuple[str, ...] = field(default=(), kw_only=True)
    """Those of these pairs that no block contains; a difference of blocks may have separated them."""
    alpha: float = field(default=ALPHA, kw_only=True)
    n_draws: int = field(default=0, kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    """Possible problems, such as batches that were not declared."""
    calibrated_note: ClassVar[str] = (
        "The chance level is the mean value when rows are matched at random within the class (and block). The "
        "calibrated value is 0 at or below the chance threshold, and 1 at the best possible value."
    )
    column_note: ClassVar[str] = (
        f"{calibrated_note} The line '{_ALL}' is the mean over classes, weighted by their rows. Kept: the interval "
        "lies above the value that remains if a fifth of the variance within the class is exchanged between its rows. "
        "Lost: not above chance, and the interval lies below the value that remains if four fifths are exchanged."
    )

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C interrupted a comparison."""
        return any(comparison.interrupted for comparison in (*self.classes.values(), self.whole))

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures that were used."""
        return tuple(score.name for score in self.whole.scores)

    def verdict(self, measure: str, name: str) -> str:
        """Return 'kept', 'partly kept', 'lost' or 'undecided' for one measure within a class.

        Significance is no measure of preservation: a class is kept if its interval lies above `kept_bars`, and lost if
        it is not above chance and its interval lies below `lost_bars`.

        Parameters
        ----------
        measure, name : str
            Names of the measure and the class.
        """
        score = self[name][measure]
        sign = 1.0 if score.closer == "higher" else -1.0
        best = sign * (score.possible_high if sign > 0 else score.possible_low)
        value, kept, lost = (
            sign * number
            for number in (
                score.value,
                self._bar(self.kept_bars, measure, name),
                self._bar(self.lost_bars, measure, name),
            )
        )
        low, high = sorted(sign * end for end in (score.low, score.high))
        # Every subset of a representation that is unchanged has the best value, so there is no interval.
        if low != low and best - value < _EXACT:
            low = high = value
        above = self.is_above(measure, name)
        if above and low >= kept:
            return KEPT
        if above:
            return PARTLY
        return LOST if high <= lost else UNDECIDED

    def _bar(self, bars: dict[str, dict[str, float]], measure: str, name: str) -> float:
        return bars.get(measure, {}).get(name, float("nan"))

    def class_verdict(self, name: str) -> str:
        """Return the verdict on a class: that of all measures if they agree, 'partly kept' if any is above chance.

        Parameters
        ----------
        name : str
            Name of the class.
        """
        known = [measure for measure in self.measures if self[name][measure].has_value]
        verdicts = {self.verdict(measure, name) for measure in known}
        if len(verdicts) == 1:
            return verdicts.pop()
        return PARTLY if verdicts & {KEPT, PARTLY} else UNDECIDED

    def classes_with(self, verdict: str) -> tuple[str, ...]:
        """Return the classes with a verdict: 'kept', 'partly kept', 'lost' or 'undecided'.

        Parameters
        ----------
        verdict : str
        """
        return tuple(name for name in self.classes if self.class_verdict(name) == verdict)

    @property
    def kept(self) -> tuple[str, ...]:
        """Classes that kept their geometry according to every measure."""
        return self.classes_with(KEPT)

    @property
    def lost(self) -> tuple[str, ...]:
        """Classes that lost their geometry according to every measure."""
        return self.classes_with(LOST)

    @property
    def headline(self) -> str:
        """In which classes the second representation lost the geometry of the first, partly kept it, and kept it."""
        parts, it = [], "the geometry"
        for verdict, verb in ((LOST, "lost"), (PARTLY, "partly kept"), (KEPT, "kept")):
            names = self.classes_with(verdict)
            if names:
                parts.append(f"{verb} {it} within {self._list_classes(names)} ({self._ranges(names)})")
                it = "it"
        undecided_classes = self.classes_with(UNDECIDED)
        unknown = [name for name in undecided_classes if self._ranges([name])]
        missing = [name for name in undecided_classes if name not in unknown]
        if unknown:
            parts.append(
                f"{'and ' * bool(parts)}it is undecided within {self._list_classes(unknown)} (not above chance, but "
                f"intervals include partial retention: {self._ranges(unknown)})"
            )
        if missing:
            parts.append(f"{'and ' * bool(parts)}no measure has a value within {self._list_classes(missing)}")
        clause = "; ".join(parts)
        few = self._too_few_permutations
        tested = f"{self.second}, compared with {self.first}: {clause}{f'. This {few}' if few else ''}."
        return f"{tested} {self.merged_note}".rstrip()

    @property
    def merged_note(self) -> str:
        """Which classes the second representation no longer separates; empty if there are none."""
        if not self.merged:
            return ""
        shares = {name: " to ".join(f"{value:.2f}" for value in pair.values()) for name, pair in self.merged.items()}
        listed = join_items((f"{name} ({text})" for name, text in shares.items()), most=_NAMED)
        text = f"But it no longer separates {listed}: the share of the squared distance between their rows that comes "
        text += "from their means."
        if self.apart:
            text += f" No block contains both {join_items(self.apart, most=_NAMED)}, so blocks may have separated them."
        return text

    @property
    def _too_few_permutations(self) -> str:
        """Whether the correction could not reject with so few permutations, in words."""
        for measure in self.measures if self.n_draws else ():
            p_values = [self[name][measure].p_value for name in self.classes]
            text = undecided(p_values, self.corrected.get(measure, {}).values(), self.n_draws, self.alpha)
            if text:
                return text
        return ""

    def _list_classes(self, names: Sequence[str]) -> str:
        """Name the classes, or count them if there are many or all of them."""
        compared = " compared" if self.excluded else ""
        if 1 < len(names) == len(self.classes):
            return f"both{compared} classes" if len(names) == 2 else f"all {len(names)}{compared} classes"
        return _join(names)

    def _ranges(self, names: Sequence[str]) -> str:
        """Return the range of each measure's values within the classes, and their chance level if it is not near 0."""
        texts = []
        for measure in self.measures:
            known = [self[name][measure] for name in names if self[name][measure].has_value]
            if known:
                low, high = (f"{round(end(score.value for score in known), 2) + 0.0:.2f}" for end in (min, max))
                values = low if low == high else f"{low} to {high}"
                top = known[0].possible_high
                has_top = known[0].closer == "higher" and top < float("inf")
                chance = max((score.chance for score in known), key=abs)
                level = f" (chance {chance:.2f})" if abs(chance) >= _NEAR_ZERO else ""
                texts.append(f"{measure} {values}{f' of {top:g}' if has_top else ''}{level}")
        return ", ".join(texts)

    @property
    def mixing_note(self) -> str:
        """How well blocks are mixed in both representations; empty without blocks."""
        return mixing_sentence(self.mixing)

    @property
    def levels_note(self) -> str:
        """Level of the tests, and confidence of the intervals that decide what was kept or lost."""
        return (
            f"Tests are at {self.alpha:g}, corrected for the number of measures and classes, with {self.n_draws:,} "
            f"permutations. Intervals are {format_share(self.whole.confidence)} intervals."
        )

    @property
    def excluded_note(self) -> str:
        """Which classes were not compared, and why; empty if all of them were."""
        reasons = "; ".join(f"{name} ({why})" for name, why in self.excluded.items())
        return f"Not compared: {reasons}." if reasons else ""

    def is_above(self, measure: str, name: str) -> bool:
        """Return whether a measure is above chance within a class, corrected for the number of measures and classes.

        Parameters
        ----------
        measure, name : str
            Names of the measure and the class.
        """
        return reaches_level(self.corrected.get(measure, {}).get(name, float("nan")), self.alpha)

    @draws_axes
    def plot(  # type: ignore[override]
        self, measure: str | None = None, ax: Axes | None = None, *, title: str | None = None
    ) -> Axes:
        """Draw each class's value of one measure (default: the first) with its interval and chance level."""
        from shesha.charts import class_values

        chosen = self.whole.scores[0].name if measure is None else self.whole[measure].name
        scores = [comparison[chosen] for comparison in self.classes.values()]
        return class_values(
            [f"{name} (n = {self.sizes[name]:,})" for name in self.classes],
            [score.value for score in scores],
            [score.chance for score in scores],
            [self.is_above(chosen, name) for name in self.classes],
            ends=([score.low for score in scores], [score.high for score in scores]),
            label=f"{chosen} ({scores[0].closer} is closer)" if scores else chosen,
            ax=ax,
        )

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return a table of one line per class and measure, then of all rows; p-values are corrected."""
        compared = {**self.classes, _ALL: self.whole}
        lines = [(name, score) for name, comparison in compared.items() for score in comparison.scores]
        lead: dict[str, Sequence[str | int]] = {
            "class": [name for name, _ in lines],
            "n_rows": [self.sizes.get(name, self.whole.shapes[0][0]) for name, _ in lines],
        }
        return frame_of_numbers((score for _, score in lines), full=full, lead=lead).assign(
            corrected_p_value=[self.corrected.get(score.name, {}).get(name, nan) for name, score in lines],
            verdict=[self.verdict(score.name, name) if name != _ALL else "" for name, score in lines],
        )

    def _claim(self) -> str:
        p_values = {name: sorted(p for p in known.values() if p == p) for name, known in self.corrected.items()}
        tested = [
            f"{say.add_source(name)} p {' to '.join(dict.fromkeys(map(say.format_p, (known[0], known[-1]))))}"
            for name, known in p_values.items()
            if known
        ]
        return say.listing(self.headline, (), *tested, self._null)

    @property
    def _null(self) -> str:
        rows = say.span(self.sizes[name] for name in self.classes)
        return (
            f"{rows} rows per class; {self.n_draws:,} permutations of rows within the class"
            f"{' and block' * bool(self.n_blocks)}, p corrected over measures and classes by Holm's method, level "
            f"{self.alpha:g}"
        )

    def _page(self) -> Page:
        return within_classes_page(self)


_EXACT, _NEAR_ZERO = 1e-9, 0.05
"""Distance from the best value below which a representation counts as unchanged."""
_NAMED = 3
"""Most classes that one sentence names."""


def _join(names: Sequence[str]) -> str:
    if len(names) > _NAMED:
        return f"{len(names)} classes"
    listed = ", ".join(names)
    return f"{agree(len(names), 'class', 'classes')} {listed}" if all(map(str.isdigit, names)) else listed


@dataclass(frozen=True)
class SeveralWithinClasses(Result):
    """How several representations compare with one reference representation within each class."""

    reference: str
    comparisons: tuple[WithinClasses, ...]
    """One comparison per representation, each corrected for the number of measures and classes."""

    def __iter__(self) -> Iterator[WithinClasses]:
        """Iterate over the comparisons with the reference."""
        return iter(self.comparisons)

    def __getitem__(self, name: str) -> WithinClasses:
        """Return how the representation with this name compares with the reference."""
        known = {comparison.second: comparison for comparison in self.comparisons}
        if name not in known:
            raise KeyError(f"name must be one of {', '.join(known)}, got {name!r}")
        return known[name]

    @property
    def notes(self) -> tuple[str, ...]:
        """Possible problems, such as batches that were not declared."""
        return tuple(dict.fromkeys(note for comparison in self for note in comparison.notes))

    @property
    def mixing_note(self) -> str:
        """How well blocks are mixed in each representation; empty without blocks."""
        return mixing_sentence({name: values for comparison in self for name, values in comparison.mixing.items()})

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes within which at least one representation was compared."""
        return tuple(dict.fromkeys(name for comparison in self for name in comparison.classes))

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures that were used."""
        return self.comparisons[0].measures

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended a comparison."""
        return any(comparison.is_interrupted for comparison in self)

    @property
    def column_note(self) -> str:
        """What the columns of the table mean."""
        return (
            f"{WithinClasses.calibrated_note} p-values are corrected for the number of measures and classes of one "
            f"representation. {self.levels_note}"
        )

    @property
    def levels_note(self) -> str:
        """Level of the tests and confidence of the intervals, which all comparisons share."""
        return self.comparisons[0].levels_note

    @property
    def headline(self) -> str:
        """One sentence per representation."""
        return " ".join(comparison.headline for comparison in self)

    def _frame(self, *, full: bool) -> pd.DataFrame:
        """Return a line per representation, class and measure."""
        import pandas as pd

        parts = [comparison.to_frame(full=full).assign(representation=comparison.second) for comparison in self]
        frame = pd.concat(parts, ignore_index=True)
        return frame[["representation", *(name for name in frame.columns if name != "representation")]]

    @draws_axes
    def plot(  # type: ignore[override]
        self, measure: str | None = None, ax: Axes | None = None, *, title: str | None = None
    ) -> Axes:
        """Draw one measure's calibrated score for each class and representation, with frames if above chance."""
        from shesha.charts import heat_map

        all_rows = self.comparisons[0].whole
        chosen = all_rows.scores[0].name if measure is None else all_rows[measure].name
        scores = [
            [comparison[name][chosen].calibrated if name in comparison.classes else np.nan for comparison in self]
            for name in self.classes
        ]
        others = [comparison.second for comparison in self]
        framed = [
            (row, column)
            for column, comparison in enumerate(self)
            for row, name in enumerate(self.classes)
            if name in comparison.classes and comparison.is_above(chosen, name)
        ]
        values, names = np.array(scores, dtype=float), list(self.classes)
        meaning = f"{chosen} with {self.reference}, calibrated"
        return heat_map(values, names, others, title=meaning, framed=framed, limits=(0.0, 1.0), ax=ax)

    def _claim(self) -> str:
        return ". ".join(comparison._claim() for comparison in self)

    def _page(self) -> Page:
        return several_within_classes_page(self)


_KEPT = (
    "Above chance does not mean unchanged. A class counts as kept only if the interval lies above the value that "
    "remains if a fifth of the variance within the class is exchanged between its rows, and as lost only if the "
    "interval lies below the value that remains if four fifths are exchanged."
)
_PICTURE = "{} within each class (dot) with its interval (bar), and its mean for rows matched at random (tick)."
_SEVERAL = (
    "Calibrated {} within each class: 0 at the chance threshold, 1 for the same geometry. Framed cells are above "
    "chance."
)


def _title_as_text(tables: Sequence[Table]) -> tuple[Part, ...]:
    """Return tables with their titles as text, which names the measure."""
    return tuple(part for table in tables for part in (Text(f"{table.title}:", ""), table))


def within_classes_page(result: WithinClasses) -> Page:
    """Return the page for two representations."""
    tables = [measure_table(result, name) for name in result.measures]
    return Page(
        title=f"{result.second} compared with {result.first}, within {len(result.classes)} classes",
        question=f"Within which classes does {result.second} keep the geometry that {result.first} has?",
        answer=(result.headline, *filter(None, (result.mixing_note,))),
        numbers=(*_title_as_text(tables[:1]), Text(result.levels_note, "")),
        doubts=(*map(Item, result.notes), *_table_of_excluded_classes(result)),
        sections=(
            *(
                Section(f"{name} within each class", (Drawing(_PICTURE.format(name), partial(result.plot, name)),))
                for name in result.measures
            ),
            *(Section(table.title, (table,)) for table in tables[1:]),
            Section("What the measures respond to", _explanations(result)),
            Section("What the columns and verdicts mean", (Text(result.column_note, ""), Text(_KEPT, ""))),
        ),
        ran=(("data", f"{sum(result.sizes.values()):,} rows in {len(result.classes)} classes"), *run_details(result)),
    )


def several_within_classes_page(result: SeveralWithinClasses) -> Page:
    """Return the page for several representations that are compared with one reference."""
    tables = [several_table(result, name) for name in result.measures]
    return Page(
        title=f"{len(result.comparisons)} representations compared with {result.reference}, within classes",
        question=f"Within which classes does each representation keep the geometry that {result.reference} has?",
        answer=(*(comparison.headline for comparison in result), *filter(None, (result.mixing_note,))),
        numbers=(*_title_as_text(tables[:1]), Text(f"* above chance. {result.levels_note}", "")),
        doubts=(*map(Item, result.notes), *_table_of_excluded_classes(result.comparisons[0])),
        sections=(
            *(
                Section(f"{name} within each class", (Drawing(_SEVERAL.format(name), partial(result.plot, name)),))
                for name in result.measures
            ),
            *(Section(table.title, (table,)) for table in tables[1:]),
            *(
                Section(f"{comparison.second}: {table.title}", (table,))
                for comparison in result
                for table in (measure_table(comparison, name) for name in result.measures)
            ),
            Section("What the measures respond to", _explanations(result.comparisons[0])),
            Section("What the columns and verdicts mean", (Text(result.column_note, ""), Text(_KEPT, ""))),
        ),
        ran=run_details(result),
    )


def measure_table(result: WithinClasses, measure: str) -> Table:
    """Return a table with one line per class, and one for all rows."""
    scores = {name: comparison[measure] for name, comparison in result.classes.items()}
    known = [*scores.values(), result.whole[measure]]
    columns: Columns = {
        "n": [*(result.sizes[name] for name in scores), result.whole.shapes[0][0]],
        "calibrated": [score.calibrated for score in known],
        "value": [score.value for score in known],
        "chance": [score.chance for score in known],
        "corrected p": [*(result.corrected.get(measure, {}).get(name, nan) for name in scores), nan],
        "verdict": [*(result.verdict(measure, name) for name in scores), ""],
    }
    strips = {"calibrated": map(_strip, known)}
    return Table.of((*scores, "all rows"), columns, f"{measure} within each class", "class", strips=strips)


def several_table(result: SeveralWithinClasses, measure: str) -> Table:
    """Return a table of calibrated scores, with a line per class and a column per representation."""
    sizes = {name: size for comparison in result for name, size in comparison.sizes.items()}
    columns: Columns = {"rows": [sizes[name] for name in result.classes]}
    for comparison in result:
        columns[comparison.second] = [calibrated_cell(comparison, measure, name) for name in result.classes]
    return Table.of(result.classes, columns, f"{measure}, calibrated", "class")


def calibrated_cell(result: WithinClasses, measure: str, name: str) -> str:
    """Format the calibrated score within a class, with a star if it is above chance."""
    if name not in result.classes:
        return ""
    return f"{numeral(result[name][measure].calibrated)}{' *' if result.is_above(measure, name) else '  '}"


def _table_of_excluded_classes(result: WithinClasses) -> tuple[Part, ...]:
    return (Item(result.excluded_note),) if result.excluded else ()


def _explanations(result: WithinClasses) -> tuple[Part, ...]:
    return tuple(measure_explained(score.name, score.family, score.closer) for score in result.whole.scores)


def _strip(score: Score) -> Strip | None:
    return Strip(score.calibrated, float("nan"), float("nan"), 0.0) if score.calibrated == score.calibrated else None
