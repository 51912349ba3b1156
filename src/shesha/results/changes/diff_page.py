"""The page that shows a diff."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.report import Column, Drawing, Explained, Item, Page, Part, Section, Table, Text
from shesha.results.changes.diff_text import cell
from shesha.results.changes.sentences import format_number, headline
from shesha.results.changes.vector_index_verdict import METRICS
from shesha.results.generic_page import run_details

if TYPE_CHECKING:
    from shesha.results.changes.diff import Diff

_VERDICTS = {
    "unchanged": "Distances agree to nine digits, the limit of single precision.",
    "within noise": "The layer changed no more than the noise limit.",
    "cannot decide": (
        "The change is above the noise limit but the lower end of its interval is not, or noise alone may cause a "
        "change as large as that of a replaced layer."
    ),
    "changed": "The lower end of the interval is above the noise limit.",
    "replaced": (
        "The lower end of the interval is above half the change of an unrelated geometry (0.5 for RDM drift)."
    ),
}
_PICTURE = "Change of each layer over depth (dots with intervals). The dashed line is the noise limit."
_ROTATION = (
    "Rotating or rescaling all vectors does not change the distances used here, so an unchanged geometry does not "
    "mean that old and new vectors can be mixed in one index."
)


def diff_page(result: Diff) -> Page:
    """Return the page: the answer, every layer with its noise floor, and the rows that moved most."""
    return Page(
        title=f"{result.before} and {result.after}: what changed",
        question="Which layers changed, where does the change begin, and does it exceed noise?",
        answer=(*((result.index.headline,) if result.index else ()), headline(result)),
        numbers=(_layers(result),),
        doubts=(*(Item(note) for note in result.notes), Item(_ROTATION)),
        sections=(
            Section("Change over depth", (Drawing(_PICTURE, result.plot, wide=True),)),
            *_change_sections(result),
            *_index(result),
            *_movement_sections(result),
            Section("What the verdicts mean", tuple(Explained(*verdict) for verdict in _VERDICTS.items())),
        ),
        ran=(
            ("noise floor", result.noise_source),
            ("rows", f"{result.n_rows:,}, of which {result.n_scored:,} were scored"),
            ("intervals", f"{100 * result.confidence:g} %"),
            ("layers", f"{len(result.layers)} of {max(result.n_layers, len(result.layers))} compared"),
            *run_details(result),
        ),
    )


def _layers(result: Diff) -> Table:
    layers = list(result)
    titles = [score.title for score in layers[0].scores] if layers else []
    columns = [
        # This column comes first, because phones show only the first columns of a table.
        Column("verdict", tuple(layer.verdict for layer in layers), "<"),
        Column(titles[0] if titles else "change", tuple(format_number(layer.change) for layer in layers)),
        Column("low", tuple(format_number(layer.low) for layer in layers)),
        Column("high", tuple(format_number(layer.high) for layer in layers)),
        Column("noise", tuple(format_number(layer.noise) for layer in layers)),
        Column("limit", tuple(format_number(layer.limit) for layer in layers)),
        *(Column(title, tuple(cell(layer.scores[i]) for layer in layers)) for i, title in enumerate(titles) if i),
    ]
    return Table(tuple(layer.name for layer in layers), (tuple(columns),), "Layers", "layer")


def _change_sections(result: Diff) -> tuple[Section, ...]:
    structure = None if result.structure is None or result.structure.kind == "none" else result.structure
    sentences = [change.in_words for change in (structure, result.separation) if change is not None]
    if not sentences:
        return ()
    parts: list[Part] = [Text(f"{sentence[:1].upper()}{sentence[1:]}.") for sentence in sentences]
    if result.classes:
        parts.append(_classes(result))
    return (Section(f"What changed in {result.moved_layer}", tuple(parts), _CLASSES if result.classes else ""),)


def _classes(result: Diff) -> Table:
    columns = (
        Column(
            "verdict", tuple(pair.in_words if pair.significant else "no movement found" for pair in result.classes), "<"
        ),
        Column("before", tuple(format_number(pair.before) for pair in result.classes)),
        Column("after", tuple(format_number(pair.after) for pair in result.classes)),
        Column("change", tuple(f"{pair.change:+.3f}" for pair in result.classes)),
        Column("p", tuple(format_number(pair.p_value) for pair in result.classes)),
        Column("corrected p", tuple(format_number(pair.p_adjusted) for pair in result.classes)),
    )
    names = tuple(
        pair.first if pair.first == pair.second else f"{pair.first}, {pair.second}" for pair in result.classes
    )
    return Table(names, (columns,), "Classes", "classes")


_CLASSES = (
    "Mean cosine distance between the rows of two classes, or within one class. A movement must exceed the noise, and "
    "that of permuted labels (or of groups with random signs), also after division by a factor common to all classes."
)


def _index(result: Diff) -> tuple[Section, ...]:
    if result.index is None:
        return ()
    recalls = result.index.recalls
    columns = (
        Column(f"recall@{result.index.k}", tuple(format_number(recall.recall) for recall in recalls)),
        Column("low", tuple(format_number(recall.low) for recall in recalls)),
        Column("high", tuple(format_number(recall.high) for recall in recalls)),
        Column("note", tuple(recall.reason for recall in recalls), "<"),
    )
    table = Table(tuple(recall.way for recall in recalls), (columns,), "New queries among old vectors", "queries")
    about = _INDEX.format(result.index.k, METRICS[result.index.metric], result.index.n_rows, result.index.chance)
    return (Section("May the index be kept?", (table,), about),)


_INDEX = (
    "Recall is the share of a query's {} nearest rows among new vectors (by {}) that the query also finds among old "
    "vectors. Maps are fitted on one half of {:,} rows and tested on the other half. Without a map, unrelated "
    "vectors reach a recall of {:.3f}. In a larger index more vectors are near each other, so the loss is larger."
)


def _movement_sections(result: Diff) -> tuple[Section, ...]:
    if not result.moved:
        return ()
    columns = (
        Column("label", tuple(row.label for row in result.moved), "<"),
        Column("neighbours lost", tuple(f"{row.neighbours_lost:.0%}" for row in result.moved)),
        Column(
            "in an unchanged model", tuple("" if row.noise != row.noise else f"{row.noise:.0%}" for row in result.moved)
        ),
        Column("moved", tuple(format_number(row.movement) for row in result.moved)),
    )
    table = Table(tuple(row.name for row in result.moved), (columns,), f"In {result.moved_layer}", "row")
    parts: list[Part] = [table]
    if result.lost_by_class:
        lost = Column("neighbours lost", tuple(f"{share:.0%}" for share in result.lost_by_class.values()))
        parts.insert(0, Table(tuple(result.lost_by_class), ((lost,),), "By class", "class"))
    return (Section("Rows that moved most", tuple(parts), _MOVED.format(result.k)),)


_MOVED = (
    "The column 'neighbours lost' has the share of the {} nearest rows that changed. The column 'moved' has 1 "
    "minus the correlation of the row's distances to all other rows before and after."
)
