"""What a diff says in a sentence."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from shesha._version import DISTRIBUTION, __version__

if TYPE_CHECKING:
    from shesha.results.changes.diff import Diff, LayerChange


def headline(found: Diff) -> str:
    """Return the answer: which layers changed, where it begins, and whether it is beyond noise."""
    layers = list(found)
    beyond = [one for one in layers if one.is_beyond_noise]
    unknown = [one for one in layers if one.verdict == "not estimable"]
    if len(unknown) == len(layers):
        return f"No layer could be judged: {unknown[0].reason}."
    if beyond:
        return _changed(found, beyond, len(layers))
    most = max((one for one in layers if one not in unknown), key=lambda one: one.change)
    if most.verdict == "unchanged":
        return f"Nothing changed: {_every(len(layers))} the same geometry to nine digits."
    return f"No change beyond noise: the largest is in {most.name}: {_drift(most)}; {_noise(found, most)}."


def _every(n: int) -> str:
    return "the representation has" if n == 1 else f"all {n} layers have"


def _changed(found: Diff, beyond: list[LayerChange], n_layers: int) -> str:
    most = max(beyond, key=lambda one: one.change)
    replaced = sum(one.verdict == "replaced" for one in beyond)
    many = f" ({replaced} replaced)" if 0 < replaced < len(beyond) else ""
    if n_layers == 1:
        said = "The geometry was replaced" if replaced else "The geometry changed"
        return f"{said}, beyond noise: {_drift(most)}; {_noise(found, most)}."
    what = "were replaced" if replaced == len(beyond) else f"changed{many}"
    how_many = f"All {n_layers}" if len(beyond) == n_layers else f"{len(beyond)} of {n_layers}"
    begins = "" if len(beyond) == n_layers else f", from {beyond[0].name} on"
    return (
        f"{how_many} layers {what}, beyond noise{begins}; most in {most.name}: {_drift(most)}; {_noise(found, most)}."
    )


def _drift(one: LayerChange) -> str:
    name = one.scores[0].measure if one.scores else "change"
    interval = f" [{number(one.low)}, {number(one.high)}]" if one.low == one.low else ""
    return f"{name} of {number(one.change)}{interval}"


def _noise(found: Diff, one: LayerChange) -> str:
    return f"noise reaches {number(one.noise)} ({found.noise_source})"


def sentence(found: Diff) -> str:
    """Return a sentence that can be pasted: what, how much, beside which noise, of how many rows, by what."""
    verdicts = Counter(one.verdict for one in found)
    told = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    known = [one for one in found if one.change == one.change]
    largest = max(known, key=lambda one: one.change) if known else None
    measured = (
        ""
        if largest is None
        else (
            f" The largest change was in {largest.name} ({_drift(largest)}, 95 % interval; noise floor "
            f"{number(largest.noise)} from {found.noise_source})."
        )
    )
    return (
        f"Of {len(found.layers)} layers compared between {found.before} and {found.after} on {found.n_rows:,} inputs, "
        f"the geometry of {told}.{measured} RDM drift is 1 - Spearman correlation of the cosine distances between all "
        f"pairs of rows (Raju 2026); {DISTRIBUTION} {__version__}."
    )


def number(value: float) -> str:
    """Return a number with three digits that matter."""
    return "none" if value != value else "0" if value == 0 else f"{value:.2g}" if value < 0.01 else f"{value:.3f}"
