"""The pages that show in which classes the geometry was kept or lost."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from shesha.report import Column, Drawing, Item, Page, Part, Section, Strip, Table, Text
from shesha.results.generic_page import run_details
from shesha.results.similarity.comparison_pages import measure_explained

if TYPE_CHECKING:
    from shesha.results.similarity.models_with_reference_within_classes import SeveralWithinClasses
    from shesha.results.similarity.score import Score
    from shesha.results.similarity.within_classes import WithinClasses

_KEPT = Text(
    "Above chance does not mean unchanged. A class counts as kept only if the interval lies above the value that "
    "remains if a fifth of the variance within the class is exchanged between its rows, and as lost only if the "
    "interval lies below the value that remains if four fifths are exchanged."
)
_PICTURE = "{} within each class (dot), and its mean for rows matched at random within the class (tick)."
_SEVERAL = (
    "Calibrated {} within each class: 0 at the chance threshold, 1 for the same geometry. Framed cells are above "
    "chance."
)


def within_classes_page(result: WithinClasses) -> Page:
    """Return the page for two representations."""
    tables = [measure_table(result, name) for name in result.measures]
    return Page(
        title=f"{result.second} compared with {result.first}, within {len(result.classes)} classes",
        question=f"Within which classes does {result.second} keep the geometry that {result.first} has?",
        answer=(result.headline, *filter(None, (result.mixing_note,))),
        numbers=tuple(tables[:1]),
        doubts=(*map(Text, result.notes), _KEPT, *_excluded_classes(result)),
        sections=(
            *(
                Section(f"{name} within each class", (Drawing(_PICTURE.format(name), partial(result.plot, name)),))
                for name in result.measures
            ),
            *(Section(table.title, (table,)) for table in tables[1:]),
            Section("What the measures respond to", _explanations(result)),
            Section("What the columns mean", (Text(f"{result.column_note} {result.levels_note}"),)),
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
        numbers=(*tables[:1], *(Text(f"{table.title}.") for table in tables[:1])),
        doubts=(*map(Text, result.notes), _KEPT, *_excluded_classes(result.comparisons[0])),
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
            Section("What the columns mean", (Text(f"{result.column_note} {result.levels_note}"),)),
        ),
        ran=run_details(result),
    )


def measure_table(result: WithinClasses, measure: str) -> Table:
    """Return a table with one line per class, and one for all rows."""
    scores = {name: comparison[measure] for name, comparison in result.classes.items()}
    known = [*scores.values(), result.whole[measure]]
    sizes = [*(f"{result.sizes[name]:,}" for name in scores), f"{result.whole.shapes[0][0]:,}"]
    corrected = [result.corrected.get(measure, {}).get(name, float("nan")) for name in scores]
    verdicts = [result.verdict(measure, name) for name in scores]
    columns = (
        Column("n", tuple(sizes)),
        Column("calibrated", tuple(_number(score.score) for score in known), ">", tuple(map(_strip, known))),
        Column("value", tuple(_number(score.value) for score in known)),
        Column("chance", tuple(_number(score.null_mean) for score in known)),
        Column("corrected p", (*(f"{p:.2g}" if p == p else "" for p in corrected), "")),
        Column("verdict", (*verdicts, ""), "<"),
    )
    return Table((*scores, "all rows"), (columns,), f"{measure} within each class", "class")


def several_table(result: SeveralWithinClasses, measure: str) -> Table:
    """Return a table of calibrated scores, with a line per class and a column per representation."""
    return Table(
        result.classes, (several_columns(result, measure),), f"{measure}, calibrated (* above chance)", "class"
    )


def several_columns(result: SeveralWithinClasses, measure: str) -> tuple[Column, ...]:
    """Return the numbers of rows by class, and a column of calibrated scores per representation."""
    sizes = {name: size for comparison in result for name, size in comparison.sizes.items()}
    cells = (
        Column(comparison.second, tuple(calibrated_cell(comparison, measure, name) for name in result.classes))
        for comparison in result
    )
    return (Column("rows", tuple(f"{sizes[name]:,}" for name in result.classes)), *cells)


def calibrated_cell(result: WithinClasses, measure: str, name: str) -> str:
    """Format the calibrated score within a class, with a star if it is above chance."""
    if name not in result.classes:
        return ""
    return f"{_number(result[name][measure].score)}{' *' if result.is_above(measure, name) else '  '}"


def _excluded_classes(result: WithinClasses) -> tuple[Part, ...]:
    return (Item(result.excluded_note),) if result.excluded else ()


def _explanations(result: WithinClasses) -> tuple[Part, ...]:
    return tuple(measure_explained(score.measure, score.family, score.closer) for score in result.whole.scores)


def _strip(score: Score) -> Strip | None:
    return Strip(score.score, float("nan"), float("nan"), 0.0) if score.score == score.score else None


def _number(value: float) -> str:
    return "" if value != value else f"{value:.3f}"
