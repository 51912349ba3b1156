"""Sentences that summarise a diff."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from shesha.support.plurals import count

if TYPE_CHECKING:
    from shesha.results.changes.diff import Diff, LayerChange


def headline(result: Diff) -> str:
    """Return the answer: which layers changed, where the change begins, and whether it exceeds the noise."""
    layers = list(result)
    known = [layer for layer in layers if layer.verdict != "not estimable"]
    changed = [layer for layer in known if layer.is_beyond_noise]
    if not known:
        return f"No layer could be evaluated: {layers[0].reason}."
    largest = max(changed or known, key=lambda layer: layer.change)
    if largest.verdict == "unchanged":
        return f"Nothing changed: {_count_with_verb(len(layers))} the same geometry to nine digits."
    answer = _count_changes(layers, changed) if changed else "No change exceeds noise"
    if len(layers) > 1:
        beyond = " beyond noise" if any(layer.change > largest.change for layer in known) else ""
        answer = f"{answer}. The largest change{beyond} is in {largest.name}"
    limit = (
        ""
        if changed or largest.limit == largest.noise
        else f", and a change must exceed {format_number(largest.limit)}"
    )
    noise = f"Noise alone reaches {format_number(largest.noise)} ({result.noise_source}){limit}"
    return f"{answer}: {_format_drift(largest)}. {noise}."


def _count_with_verb(n: int) -> str:
    return "the representation has" if n == 1 else f"{_all_layers(n)} have"


def _all_layers(n: int) -> str:
    return "both layers" if n == 2 else f"all {n} layers"


def _count_changes(layers: list[LayerChange], changed: list[LayerChange]) -> str:
    n, n_changed, n_replaced = len(layers), len(changed), sum(layer.verdict == "replaced" for layer in changed)
    replaced = "was replaced" if n_replaced == 1 else "were replaced"
    some_replaced = f" ({n_replaced} {replaced})" if n_replaced else ""
    what = replaced if n_replaced == n_changed else f"changed beyond noise{some_replaced}"
    if n == 1:
        return f"The geometry {what}"
    if n_changed == n:
        return f"{_all_layers(n).capitalize()} {what}"
    # A layer between or after changed layers may itself be within the noise.
    all_later = layers.index(changed[0]) + n_changed == n
    where = f", from {changed[0].name} on" if all_later else f", starting with {changed[0].name}"
    return f"{n_changed} of {n} layers {what}{where if n_changed > 1 else ''}"


def _format_drift(change: LayerChange, of: str = "") -> str:
    name = change.scores[0].measure if change.scores else "change"
    interval = f" [{format_number(change.low)}, {format_number(change.high)}]" if change.low == change.low else ""
    return f"{name} {of}{format_number(change.change)}{interval}"


def diff_claim(result: Diff) -> str:
    """Return the sentence with which a paper can report what changed, by how much, and the noise floor."""
    verdicts = Counter(layer.verdict for layer in result)
    layer_counts = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.items())
    known = [layer for layer in result if layer.change == layer.change]
    largest = max(known, key=lambda layer: layer.change) if known else None
    measured = ""
    if largest is not None:
        measured = (
            f"; the largest change was in {largest.name} ({_format_drift(largest, 'of ')}, 95 % interval; noise floor "
            f"{format_number(largest.noise)}, estimated from {result.noise_source})"
        )
    return (
        f"The geometry of {count(len(result.layers), 'layer')} was compared between {result.before} and {result.after} "
        f"on {result.n_rows:,} inputs: {layer_counts}{measured}; RDM drift is 1 - Spearman correlation of the cosine "
        "distances between all pairs of rows (Raju 2026)"
    )


def format_number(value: float) -> str:
    """Format a number with three significant digits."""
    return "none" if value != value else "0" if value == 0 else f"{value:.2g}" if value < 0.01 else f"{value:.3f}"
