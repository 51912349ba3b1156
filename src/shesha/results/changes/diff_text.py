"""A diff as a text of at most thirty lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.report import columns, page_width, wrap
from shesha.results.changes.diff import ENOUGH
from shesha.results.changes.sentences import first_title, format_number, headline
from shesha.support.shortened_names import shorten

if TYPE_CHECKING:
    from shesha.results.changes.diff import Diff, LayerChange, MeasureChange

_SCREEN = 30
"""Most lines that the text has."""
_FEWEST = 5
_ROWS = 3
_PAIRS = 3
_WIDE = 44
"""Largest number of characters of a name."""


def diff_text(result: Diff) -> str:
    """Return the headline, as many layers as fit on the screen, the kind of change, and notes."""
    width = page_width()
    head = [*_index_lines(result, width), *wrap(headline(result), width, hanging="")]
    # The statements on the inputs need up to two lines.
    most = _SCREEN - len(head) - 3 - 2 * bool(result.inputs)
    tails = (_detail_lines(result, width, n_rows) for n_rows in range(_ROWS, -1, -1))
    tail = next((lines for lines in tails if len(lines) + _FEWEST <= most), _detail_lines(result, width, 0))
    layers = choose_layers(result, max(_FEWEST, most - len(tail)))
    lines = [*head, "", *_layer_table(layers)]
    left_out = len(result.layers) - len(layers)
    if left_out:
        lines.append(f"  {left_out} more layers: see to_frame(), --json or --html")
    return "\n".join([*lines, *tail])


def _index_lines(result: Diff, width: int) -> list[str]:
    """Return the advice on the index, which comes first because the user asked for it."""
    if result.index is None:
        return []
    return [*wrap(result.index.headline, width, hanging=""), *wrap(result.index.in_numbers, width, "  ", "  "), ""]


def _detail_lines(result: Diff, width: int, n_rows: int) -> list[str]:
    lines = _change_lines(result, width)
    if result.moved and n_rows:
        lines += [
            "",
            f"Rows that lost the largest share of their {result.k} nearest neighbours in {result.moved_layer}",
        ]
        lines += columns(
            [_row(row.name, row.label, row.neighbours_lost) for row in result.moved[:n_rows]], "<<>", indent="  "
        )
    lines += ["", *wrap(_scale_note(result), width, hanging="")]
    for note in result.notes:
        lines += wrap(f"! {note}", width)
    return lines


def _change_lines(result: Diff, width: int) -> list[str]:
    """Return short sentences on the kind of change, the classes that moved, and how a task is affected."""
    structure = result.structure
    # Noise alone is no kind of change.
    is_known = structure is not None and structure.kind != "none"
    sentences = [f"In {result.moved_layer}: {structure.in_words}."] if structure is not None and is_known else []
    if result.classes:
        sentences.append(_class_sentence(result))
    if result.lost_by_class and result.moved:
        sentences.append(_lost_sentence(result))
    if result.separation is not None:
        sentences.append(f"Task: {result.separation.in_words}.")
    return ["", *(line for sentence in sentences for line in wrap(sentence, width))] if sentences else []


def _class_sentence(result: Diff) -> str:
    significant = [pair for pair in result.classes if pair.significant]
    if not significant:
        return f"Classes: no movement of a class was found (level {1 - result.confidence:.3g})."
    first = "; ".join(
        f"{pair.in_words} ({pair.change:+.3f}, p = {pair.p_adjusted:.2g})" for pair in significant[:_PAIRS]
    )
    more = f"; {len(significant) - _PAIRS} more" if len(significant) > _PAIRS else ""
    return f"Classes: {first}{more}."


def _lost_sentence(result: Diff) -> str:
    shown = list(result.lost_by_class.items())[:_PAIRS]
    first = ", ".join(f"{lost:.0%} in {shorten(name, 24)}" for name, lost in shown)
    others = len(result.lost_by_class) - _PAIRS
    rest = f", and {others} more" if others > 0 else ""
    return f"Neighbours lost by class: {first}{rest}."


def choose_layers(result: Diff, most: int) -> list[LayerChange]:
    """Choose as many layers as fit: the first that changed, the most changed, and evenly spaced others."""
    layers = list(result)
    if len(layers) <= most:
        return layers
    changes = [i for i, layer in enumerate(layers) if layer.is_beyond_noise]
    known = [i for i, layer in enumerate(layers) if layer.change == layer.change]
    largest = [max(known, key=lambda i: layers[i].change)] if known else []
    first = [max(0, index - before) for index in changes[:1] for before in (0, 1)]
    needed = {0, len(layers) - 1, *first, *largest}
    # One line is needed to say how many layers were omitted.
    for place in (round(i * (len(layers) - 1) / (most - 2)) for i in range(most - 1)):
        if len(needed) < most - 1:
            needed.add(place)
    return [layers[i] for i in sorted(needed)]


def _layer_table(layers: list[LayerChange]) -> list[str]:
    scores = layers[0].scores if layers else ()
    titles = [score.title for score in scores] or ["change"]
    rows = [["layer", titles[0], "interval", "noise", *titles[1:], "verdict"]]
    for layer in layers:
        interval = f"[{format_number(layer.low)}, {format_number(layer.high)}]" if layer.low == layer.low else ""
        values = [cell(score) for score in layer.scores[1:]]
        rows.append(
            [
                shorten(layer.name, _WIDE),
                format_number(layer.change),
                interval,
                format_number(layer.noise),
                *values,
                layer.verdict,
            ]
        )
    return columns(rows, "<>>>" + ">" * (len(titles) - 1) + "<", indent="  ")


def cell(score: MeasureChange) -> str:
    """Format a change for the table; a share of neighbours is given in percent."""
    is_share = score.title == "neighbours lost" and score.change == score.change
    return f"{score.change:.1%}" if is_share else format_number(score.change)


def _row(name: str, label: str, lost: float) -> list[str]:
    return [shorten(name, _WIDE), shorten(label, 16), f"{lost:.0%}"]


def _scale_note(result: Diff) -> str:
    rows = (
        f"{result.n_rows:,} rows"
        if result.n_scored == result.n_rows
        else f"{result.n_scored:,} of {result.n_rows:,} rows"
    )
    limit = "the noise" if result.n_noise >= ENOUGH else "twice the noise"
    title, level = first_title(result), f"{100 * result.confidence:g}%"
    scale = "0 for the same geometry"
    scale += " and about 1 for an unrelated one" if title == "RDM drift" else ""
    return f"{title} is {scale}. A layer counts as changed if its {level} interval is above {limit} ({rows})."
