"""A diff as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.report import Column, Drawing, Explained, Item, Page, Part, Section, Table, Text
from shesha.results.changes.sentences import headline, number, sentence
from shesha.results.changes.text import LEVEL, cell, head
from shesha.results.generic_page import what_was_run

if TYPE_CHECKING:
    from shesha.results.changes.diff import Diff

_VERDICTS = {
    "unchanged": "Distances agree to nine digits, which is what single precision leaves.",
    "within noise": "The layer moved, and no farther than encodings of an unchanged model may.",
    "changed": "The lower end of the interval is above the limit that noise sets.",
    "replaced": "The lower end is above 0.5: nearer to an unrelated geometry than to the old one.",
}
_PICTURE = "Change of each layer (dot, with its interval) over depth; the dashed line is what noise may reach."
_ROTATION = (
    "Rotating or rescaling all vectors changes no distance that is looked at here: an unchanged geometry does not mean "
    "that old and new vectors can be mixed in one index."
)


def diff_page(found: Diff) -> Page:
    """Return the page: the answer, every layer beside its noise, the rows that moved most."""
    return Page(
        title=f"{found.before} and {found.after}: what changed",
        question="Which layers changed, where does it begin, and is it more than noise?",
        answer=(headline(found), *((found.index.headline,) if found.index else ())),
        numbers=(_layers(found),),
        doubts=(*(Item(note) for note in found.notes), Item(_ROTATION)),
        sections=(
            Section("Over depth", (Drawing(_PICTURE, found.plot, wide=True),)),
            *_what_changed(found),
            *_index(found),
            *_moved(found),
            Section("In a sentence", (Text(sentence(found)),)),
            Section("What the verdicts mean", tuple(Explained(*one) for one in _VERDICTS.items())),
        ),
        ran=(
            ("stands for no change", found.noise_source),
            ("rows", f"{found.n_rows:,}, of which {found.n_scored:,} are scored"),
            *what_was_run(found),
        ),
    )


def _layers(found: Diff) -> Table:
    layers = list(found)
    measures = [score.measure for score in layers[0].scores] if layers else []
    columns = [
        Column("change", tuple(number(one.change) for one in layers)),
        Column("low", tuple(number(one.low) for one in layers)),
        Column("high", tuple(number(one.high) for one in layers)),
        Column("noise", tuple(number(one.noise) for one in layers)),
        Column("limit", tuple(number(one.limit) for one in layers)),
        *(
            Column(head(name), tuple(cell(name, one.scores[i].change) for one in layers))
            for i, name in enumerate(measures)
            if i
        ),
        Column("verdict", tuple(one.verdict for one in layers), "<"),
    ]
    return Table(tuple(one.name for one in layers), (tuple(columns),), "Layers", "layer")


def _what_changed(found: Diff) -> tuple[Section, ...]:
    said = [one.in_words for one in (found.structure, found.separation) if one is not None]
    if not said:
        return ()
    parts: list[Part] = [Text(f"{one[:1].upper()}{one[1:]}.") for one in said]
    if found.classes:
        parts.append(_classes(found))
    return (Section(f"What changed in {found.moved_layer}", tuple(parts), _CLASSES if found.classes else ""),)


def _classes(found: Diff) -> Table:
    columns = (
        Column("before", tuple(number(one.before) for one in found.classes)),
        Column("after", tuple(number(one.after) for one in found.classes)),
        Column("change", tuple(f"{one.change:+.3f}" for one in found.classes)),
        Column("p", tuple(number(one.p_value) for one in found.classes)),
        Column("corrected p", tuple(number(one.p_adjusted) for one in found.classes)),
        Column(
            "verdict", tuple(one.in_words if one.p_adjusted <= LEVEL else "no change" for one in found.classes), "<"
        ),
    )
    names = tuple(one.first if one.first == one.second else f"{one.first}, {one.second}" for one in found.classes)
    return Table(names, (columns,), "Classes", "classes")


_CLASSES = (
    "Mean distance between the rows of two classes (or within one), divided by the mean distance of all rows; p from "
    "shuffled labels."
)


def _index(found: Diff) -> tuple[Section, ...]:
    if found.index is None:
        return ()
    recalls = found.index.recalls
    columns = (
        Column(f"recall@{found.index.k}", tuple(number(one.recall) for one in recalls)),
        Column("low", tuple(number(one.low) for one in recalls)),
        Column("high", tuple(number(one.high) for one in recalls)),
        Column("note", tuple(one.reason for one in recalls), "<"),
    )
    table = Table(tuple(one.way for one in recalls), (columns,), "New queries among old vectors", "queries")
    return (Section("May the index be kept?", (table,), _INDEX.format(found.index.k, f"{found.index.n_rows:,}")),)


_INDEX = (
    "Recall: share of the {} nearest rows among new vectors that a new query finds among old vectors. Maps are "
    "fitted on one half of {} rows and tried within the other. In a larger index more vectors are near, "
    "and the loss is larger."
)


def _moved(found: Diff) -> tuple[Section, ...]:
    if not found.moved:
        return ()
    columns = (
        Column("label", tuple(one.label for one in found.moved), "<"),
        Column("neighbours lost", tuple(f"{one.neighbours_lost:.0%}" for one in found.moved)),
        Column(
            "of an unchanged model", tuple("" if one.noise != one.noise else f"{one.noise:.0%}" for one in found.moved)
        ),
        Column("moved", tuple(number(one.movement) for one in found.moved)),
    )
    table = Table(tuple(one.name for one in found.moved), (columns,), f"In {found.moved_layer}", "row")
    parts: list[Part] = [table]
    if found.lost_by_class:
        lost = Column("neighbours lost", tuple(f"{one:.0%}" for one in found.lost_by_class.values()))
        parts.insert(0, Table(tuple(found.lost_by_class), ((lost,),), "By class", "class"))
    return (Section("Rows that moved most", tuple(parts), _MOVED.format(found.k)),)


_MOVED = (
    "Neighbours lost: share of the {} nearest rows that are others now. Moved: 1 - correlation of the row's "
    "distances to all others, before and after."
)
