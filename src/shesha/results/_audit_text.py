"""An audit as text: one block per number, with a line that says what it means and what it does not."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha.results._estimate import Estimate

if TYPE_CHECKING:
    from shesha.results._audit import Audit, RepresentationAudit


def named(where: tuple[int, ...]) -> str:
    """Name the first few of some rows or columns."""
    text = ", ".join(map(str, where[:_NAMED]))
    return text if len(where) <= _NAMED else f"{text}, ..."


@dataclass(frozen=True)
class Meaning:
    """How one number is called and read."""

    title: str
    line: str


MEANINGS = {
    "feature_split": Meaning(
        "Feature-split stability",
        "Do random halves of the features see the same geometry? High stability is not correctness; "
        "low is not information loss.",
    ),
    "basis_averaged_split": Meaning(
        "Basis-averaged stability",
        "The same after random rotations: a property of the geometry, not of the axes. Well above the "
        "score above: few axes carry the geometry.",
    ),
    "effective_rank": Meaning(
        "Effective rank",
        "How many directions carry the spread (exp of the entropy of the singular values). More is "
        "not better: noise fills all of them.",
    ),
    "participation_ratio": Meaning(
        "Participation ratio",
        "The same, counting mostly the largest directions. Well below the effective rank: a few "
        "directions dominate a long tail.",
    ),
    "anisotropy": Meaning(
        "Anisotropy",
        "Share of the variance along the first principal direction. High may be one strong signal or "
        "one artefact; look at it.",
    ),
    "supervised_alignment": Meaning(
        "Alignment with the labels",
        "Are rows of the same label closer? Ties keep it below 1 even for perfect classes; 0 does not "
        "mean that the labels cannot be decoded.",
    ),
    "variance_ratio": Meaning(
        "Variance between classes",
        "Share of the variance that the labels explain. Random labels give about (classes - 1) / (rows - 1), not 0.",
    ),
    "class_separation_ratio": Meaning(
        "Class separation",
        "Mean distance between classes over mean distance within; 1 is none. In many dimensions even "
        "good classes come close to 1.",
    ),
    "zscore_separation": Meaning(
        "Distance from other classes",
        "(inter - intra) / (inter + intra), about class means; 0 is none. Random labels give a little more, "
        "the smaller the classes the more.",
    ),
    "label_conditioned_split": Meaning(
        "Stability of class centroids",
        "Do halves of each class agree on which classes are close? It says nothing of single rows, "
        "and is rough for few classes.",
    ),
}
SPECTRUM = ("effective_rank", "participation_ratio", "anisotropy")

_WIDTH = 100
_NAMED = 5


def render(audit: Audit) -> str:
    """Return the whole audit as text."""
    found = audit.representations
    width = max([len(one.name) for one in found] + [4])
    parts = [_data(audit, width)]
    scored = [one for one in found if not one.reason]
    if scored:
        parts.append(_block("feature_split", [(one.name, _with_chance(one)) for one in scored], width))
        rotated = [(one.name, _interval(one.basis_averaged_split)) for one in scored]
        parts.append(_block("basis_averaged_split", rotated, width))
        values = {name: [(one.name, f"{getattr(one, name):7.4g}") for one in scored] for name in SPECTRUM}
        for name in scored[0].supervised:
            values[name] = [(one.name, _interval(one.supervised.get(name))) for one in scored]
        parts += [_block(name, lines, width) for name, lines in values.items()]
    parts += [part for part in (_ranking(audit), _drift(audit), _notes(audit)) if part]
    return "\n\n".join(parts)


def _data(audit: Audit, width: int) -> str:
    lines = ["Data"]
    for one in audit.representations:
        lines.append(f"  {one.name:<{width}}  {one.n_samples:,} rows x {one.n_features:,} features")
        pad = " " * (width + 4)
        lines += [f"{pad}! {fault}" for fault in one.faults.lines()]
        if one.reason:
            lines.append(f"{pad}! no scores: {one.reason}")
        elif one.left_out:
            rows = f"{len(one.left_out):,} rows that have no direction: {named(one.left_out)}"
            lines.append(f"{pad}scored without the {rows}")
    return "\n".join(lines)


def _block(name: str, values: list[tuple[str, str]], width: int) -> str:
    meaning = MEANINGS[name]
    return "\n".join([meaning.title, *(f"  {one:<{width}}  {text}" for one, text in values), *_wrapped(meaning.line)])


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="    ", subsequent_indent="    ")


def _interval(found: Estimate | None) -> str:
    if found is None:
        return "-"
    if found.value != found.value:
        return f"none: {found.reason}"
    interval = f"  [{found.low:.3f}, {found.high:.3f}]" if found.low == found.low else ""
    return f"{found.value:7.3f}{interval}"


def _with_chance(one: RepresentationAudit) -> str:
    text = _interval(one.feature_split)
    if one.chance is None or one.chance.observed != one.chance.observed:
        return text
    beyond = "above" if one.chance.observed > one.chance.threshold else "not above"
    null = f"{one.chance.level:.3f}, threshold {one.chance.threshold:.3f}, p = {one.chance.p_value:.2g}"
    return f"{text}  {beyond} chance ({null})"


def _ranking(audit: Audit) -> str:
    if len(audit.ranking) < 2:
        return ""
    places = []
    for place, name in enumerate(audit.ranking, 1):
        own, last = audit[name].feature_split, audit[audit.ranking[place - 2]].feature_split
        tie = place > 1 and own is not None and last is not None and own.high >= last.low
        places.append(f"  {place}. {name}{'  (interval overlaps the one above)' if tie else ''}")
    return "\n".join(["Ranking by feature-split stability", *places])


def _drift(audit: Audit) -> str:
    if audit.drift_reason:
        return f"Drift\n  none: {audit.drift_reason}"
    if audit.drift is None:
        return ""
    meaning = (
        "1 - rank correlation of all distances: 0 the same geometry, 1 unrelated. "
        "A rotation or a rescaling is no drift."
    )
    return "\n".join(
        ["Drift along the order given", *(f"  {line}" for line in str(audit.drift).split("\n")), *_wrapped(meaning)]
    )


def _notes(audit: Audit) -> str:
    notes = []
    for one in audit.representations:
        for found in (one.feature_split, one.basis_averaged_split, *one.supervised.values()):
            if found is not None:
                dropped = [f"{found.pairs_dropped:,} undefined pairs left out"] if found.pairs_dropped else []
                notes += [f"  {one.name}, {found.variant}: {text}" for text in (*found.warnings, *dropped)]
    level = audit.options.get("confidence", float("nan"))
    scores = [one.feature_split for one in audit.representations if one.feature_split is not None]
    resampled = any(found.low == found.low for found in scores)
    head = [f"  brackets: {100 * level:g}% intervals over rows (other inputs of the same kind)"] if resampled else []
    return "\n".join(["Notes", *head, *notes]) if head or notes else ""
