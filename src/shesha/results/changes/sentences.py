"""Sentences that summarise a diff."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shesha.results.changes.diff import Diff, LayerChange


def headline(result: Diff) -> str:
    """Return the answer: which layers changed, where the change begins, and whether it exceeds noise."""
    layers = list(result)
    changes = [layer for layer in layers if layer.is_beyond_noise]
    unknown = [layer for layer in layers if layer.verdict == "not estimable"]
    if len(unknown) == len(layers):
        return f"No layer could be evaluated: {unknown[0].reason}."
    if changes:
        return _change_sentence(result, changes, len(layers))
    most = max((layer for layer in layers if layer not in unknown), key=lambda layer: layer.change)
    if most.verdict == "unchanged":
        return f"Nothing changed: {_count_with_verb(len(layers))} the same geometry to nine digits."
    return f"No change beyond noise: the largest is in {most.name}: {_format_drift(most)}; {_noise(result, most)}."


def _count_with_verb(n: int) -> str:
    return "the representation has" if n == 1 else f"all {n} layers have"


def _change_sentence(result: Diff, changed_layers: list[LayerChange], n_layers: int) -> str:
    most = max(changed_layers, key=lambda layer: layer.change)
    replaced = sum(layer.verdict == "replaced" for layer in changed_layers)
    many = f" ({replaced} replaced)" if 0 < replaced < len(changed_layers) else ""
    if n_layers == 1:
        clause = "The geometry was replaced" if replaced else "The geometry changed"
        return f"{clause}, beyond noise: {_format_drift(most)}; {_noise(result, most)}."
    what = "were replaced" if replaced == len(changed_layers) else f"changed{many}"
    how_many = f"All {n_layers}" if len(changed_layers) == n_layers else f"{len(changed_layers)} of {n_layers}"
    begins = "" if len(changed_layers) == n_layers else f", from {changed_layers[0].name} on"
    largest = f"most in {most.name}: {_format_drift(most)}; {_noise(result, most)}."
    return f"{how_many} layers {what}, beyond noise{begins}; {largest}"


def _format_drift(change: LayerChange) -> str:
    name = change.scores[0].measure if change.scores else "change"
    interval = f" [{format_number(change.low)}, {format_number(change.high)}]" if change.low == change.low else ""
    return f"{name} of {format_number(change.change)}{interval}"


def _noise(result: Diff, change: LayerChange) -> str:
    return f"noise reaches {format_number(change.noise)} ({result.noise_source})"


def diff_claim(result: Diff) -> str:
    """Return a claim that can be pasted: what, how much, beside which noise, of how many rows, by what."""
    verdicts = Counter(layer.verdict for layer in result)
    layer_counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    known = [layer for layer in result if layer.change == layer.change]
    largest = max(known, key=lambda layer: layer.change) if known else None
    measured = ""
    if largest is not None:
        measured = (
            f"; the largest change was in {largest.name} ({_format_drift(largest)}, 95 % interval; noise floor "
            f"{format_number(largest.noise)} from {result.noise_source})"
        )
    return (
        f"Of {len(result.layers)} layers compared between {result.before} and {result.after} on "
        f"{result.n_rows:,} inputs, the geometry of {layer_counts}{measured}; RDM drift is 1 - Spearman correlation "
        "of the cosine distances between all pairs of rows (Raju 2026)"
    )


def format_number(value: float) -> str:
    """Return a number with three significant digits."""
    return "none" if value != value else "0" if value == 0 else f"{value:.2g}" if value < 0.01 else f"{value:.3f}"
