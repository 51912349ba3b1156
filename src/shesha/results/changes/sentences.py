"""Sentences that summarise a diff."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shesha.support.item_lists import join_names
from shesha.support.plurals import count

if TYPE_CHECKING:
    from shesha.results.changes.diff import Diff, LayerChange

_MORE_THAN_ROUNDING = 1e-3


def headline(result: Diff) -> str:
    """Return the answer: which layers changed, where the change begins, and whether it exceeds the noise."""
    layers = list(result)
    n_left_out = result.n_layers - len(layers)
    compared = f"{len(layers)} of {result.n_layers} layers compared. " if n_left_out > 0 else ""
    known = [layer for layer in layers if layer.verdict != "not estimable"]
    changed = [layer for layer in known if layer.is_beyond_noise]
    if not known:
        return f"{compared}No layer could be evaluated: {layers[0].reason}."
    undecided = [layer for layer in known if layer.verdict == "cannot decide"]
    largest = max(changed or undecided or known, key=lambda layer: layer.change)
    if largest.verdict == "unchanged":
        if rescaled := [layer.name for layer in layers if _lengths_changed(layer)]:
            return (
                f"{compared}Lengths of vectors changed in {join_names(rescaled)}, but not the angles between vectors: "
                f"{_count_with_verb(len(layers))} the same cosine distances to nine digits."
            )
        if any(layer.vectors_differ for layer in layers):
            return (
                f"{compared}Nothing changed in the geometry: {_count_with_verb(len(layers))} the same distances to "
                "nine digits, but not the same vectors."
            )
        return f"{compared}Nothing changed: {_count_with_verb(len(layers))} the same geometry to nine digits."
    answer = _count_changes(layers, changed) if changed else _no_change(len(layers), undecided)
    if changed and undecided:
        answer = f"{answer}; {_count_undecided(len(undecided))}"
    if len(layers) > 1:
        beyond = " beyond noise" if any(layer.change > largest.change for layer in known) else ""
        beyond = beyond if changed else " among them" if beyond else ""
        answer = f"{answer}. The largest change{beyond} is in {largest.name}"
    limit = (
        ""
        if changed or largest.limit == largest.noise
        else f", and a change must exceed {format_number(largest.limit)}"
    )
    noise = f"Noise alone reaches {_format_noise(largest)} ({result.noise_source}){limit}"
    return f"{compared}{answer}: {_format_drift(largest)}. {noise}."


def _lengths_changed(layer: LayerChange) -> bool:
    """Return whether a measure that depends on the lengths of vectors differs, while cosine distances do not."""
    return layer.vectors_differ and any(score.change > _MORE_THAN_ROUNDING for score in layer.scores[1:])


def _no_change(n: int, undecided: Sequence[LayerChange]) -> str:
    """Return the answer if no layer changed by more than noise."""
    if not undecided:
        return "No change exceeds noise"
    if n == 1:
        return "It cannot be decided whether the geometry changed beyond noise"
    return f"No change certainly exceeds noise; {_count_undecided(len(undecided))}"


def _count_undecided(n: int) -> str:
    return f"for {count(n, 'layer')}, this cannot be decided"


def _format_noise(layer: LayerChange) -> str:
    """Return the noise, and each kind of noise if there are several."""
    if len(layer.floors) < 2:
        return format_number(layer.noise)
    kinds = ", ".join(f"{kind} {format_number(noise)}" for kind, noise in layer.floors.items())
    return f"{format_number(layer.noise)}, with {kinds}"


def _count_with_verb(n: int) -> str:
    return "the representation has" if n == 1 else f"{_all_layers(n)} have"


def _all_layers(n: int) -> str:
    return "both layers" if n == 2 else f"all {n} layers"


def _count_changes(layers: Sequence[LayerChange], changed: Sequence[LayerChange]) -> str:
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
    name = change.scores[0].title if change.scores else "change"
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
        level = f"{100 * result.confidence:g} % interval; " if largest.low == largest.low else ""
        measured = (
            f"; the largest change was in {largest.name} ({_format_drift(largest, 'of ')}, {level}noise floor "
            f"{format_number(largest.noise)}, estimated from {result.noise_source})"
        )
    of = f" of {result.n_layers}" if result.n_layers > len(result.layers) else ""
    scored = "" if result.n_scored == result.n_rows else f"{result.n_scored:,} random rows of "
    return (
        f"The geometry of {count(len(result.layers), 'layer')}{of} was compared between {result.before} and "
        f"{result.after} on {scored}{result.n_rows:,} inputs: {layer_counts}{measured}"
        f"{_RDM_DRIFT if measured and first_title(result) == 'RDM drift' else ''}"
    )


def first_title(result: Diff) -> str:
    """Return what the change by the first measure is called."""
    layers = list(result)
    return layers[0].scores[0].title if layers and layers[0].scores else "change"


_RDM_DRIFT = "; RDM drift is 1 - Spearman correlation of the cosine distances between all pairs of rows (Raju 2026)"


def format_number(value: float) -> str:
    """Format a number with three significant digits."""
    return "none" if value != value else "0" if value == 0 else f"{value:.2g}" if value < 0.01 else f"{value:.3f}"
