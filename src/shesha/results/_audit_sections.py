"""An audit as sections: one per number, with a sentence that says what it means and what it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.report import Section
from shesha.report.text import wrapped
from shesha.results._estimate import Estimate

if TYPE_CHECKING:
    from shesha.results._audit import Audit, RepresentationAudit
    from shesha.results._doubts import Doubt

_NAMED = 5
_EFFECT = "Effect: how much of the feature split, or what share of the data, hangs on it. First what could change most."


def named(where: tuple[int, ...]) -> str:
    """Name the first few of some rows or columns."""
    text = ", ".join(map(str, where[:_NAMED]))
    return text if len(where) <= _NAMED else f"{text}, ..."


def sections(audit: Audit) -> list[Section]:
    """Return the parts of the report."""
    found = audit.representations
    width = max([len(one.name) for one in found] + [4])
    scored = [one for one in found if not one.reason]
    numbers = [_number(audit, name, scored, width) for name in audit.meanings]
    parts = [_doubts(audit), _data(audit, width), *numbers, _ranking(audit), _drift(audit), _notes(audit)]
    return [part for part in parts if part is not None]


def _doubts(audit: Audit) -> Section | None:
    """What could be wrong, what could change the most first; what several representations share is told once."""
    worst: dict[str, tuple[Doubt, str]] = {}
    with_it: dict[str, list[str]] = {}
    for one in audit.representations:
        for doubt in one.doubts or ():
            with_it.setdefault(doubt.name, []).append(one.name)
            if doubt.name not in worst or doubt.effect > worst[doubt.name][0].effect:
                worst[doubt.name] = doubt, one.name
    if not worst:
        return None
    lines = []
    several = len(audit.representations) > 1
    for doubt, name in sorted(worst.values(), key=lambda found: -found[0].effect):
        others = len(with_it[doubt.name]) - 1
        where = f"{name}{f' and {others} more' if others else ''}, " if several else ""
        p = "" if doubt.p_value is None else f", p = {doubt.p_value:.1g}"
        lines += wrapped(f"{doubt.name} ({where}effect {doubt.effect:.2f}{p}): {doubt.text}.", "")
        lines += [f"  {line}" for line in wrapped(f"-> {doubt.advice}.", "")]
    return Section("What could be wrong", tuple(lines), _EFFECT)


def _data(audit: Audit, width: int) -> Section:
    lines = []
    for one in audit.representations:
        features = f"{one.n_features:,} features" if one.n_features else "distances"
        lines.append(f"{one.name:<{width}}  {one.n_samples:,} rows x {features}")
        pad = " " * (width + 2)
        lines += [f"{pad}! {fault}" for fault in one.faults.lines()]
        if one.reason:
            lines.append(f"{pad}! no scores: {one.reason}")
        elif one.left_out:
            rows = f"{len(one.left_out):,} rows that have no direction: {named(one.left_out)}"
            lines.append(f"{pad}scored without the {rows}")
    return Section("Data", tuple(lines))


def _number(audit: Audit, name: str, scored: list[RepresentationAudit], width: int) -> Section | None:
    """One number of every representation that has it."""
    lines = [(one.name, text) for one in scored if (text := _value(one, name))]
    if not lines:
        return None
    meaning = audit.meanings[name]
    return Section(meaning.title, tuple(f"{one:<{width}}  {text}" for one, text in lines), meaning.line)


def _value(one: RepresentationAudit, name: str) -> str:
    if name in one.descriptors:
        return f"{one.descriptors[name]:7.4g}"
    found = one.scores.get(name) or one.supervised.get(name)
    return "" if found is None else _interval(found) + _chance(one, name)


def _interval(found: Estimate) -> str:
    if found.value != found.value:
        return f"none: {found.reason}"
    interval = f"  [{found.low:.3f}, {found.high:.3f}]" if found.low == found.low else ""
    return f"{found.value:7.3f}{interval}"


def _chance(one: RepresentationAudit, name: str) -> str:
    found = one.chances.get(name) or one.supervised_chances.get(name)
    if found is None or found.observed != found.observed:
        return ""
    beyond = "above" if found.observed > found.threshold else "not above"
    return f"  {beyond} chance ({found.level:.3f}, threshold {found.threshold:.3f}, p = {found.p_value:.2g})"


def _ranking(audit: Audit) -> Section | None:
    if len(audit.ranking) < 2:
        return None
    places = []
    for place, name in enumerate(audit.ranking, 1):
        own, last = audit[name].feature_split, audit[audit.ranking[place - 2]].feature_split
        tie = place > 1 and own is not None and last is not None and own.high >= last.low
        places.append(f"{place}. {name}{'  (interval overlaps the one above)' if tie else ''}")
    return Section("Ranking by feature-split stability", tuple(places))


def _drift(audit: Audit) -> Section | None:
    if audit.drift_reason:
        return Section("Drift", (f"none: {audit.drift_reason}",))
    if audit.drift is None:
        return None
    meaning = (
        "1 - rank correlation of all distances: 0 the same geometry, 1 unrelated. "
        "A rotation or a rescaling is no drift."
    )
    return Section("Drift along the order given", tuple(str(audit.drift).split("\n")), meaning)


def _notes(audit: Audit) -> Section | None:
    notes = []
    for one in audit.representations:
        for found in (*one.scores.values(), *one.supervised.values()):
            dropped = [f"{found.pairs_dropped:,} undefined pairs left out"] if found.pairs_dropped else []
            notes += [f"{one.name}, {found.variant}: {text}" for text in (*found.warnings, *dropped)]
    level = audit.options.get("confidence", float("nan"))
    resampled = any(found.low == found.low for one in audit.representations for found in one.scores.values())
    kinds = "rows (other inputs of the same kind) and partitions of features"
    head = [f"brackets: {100 * level:g}% intervals over {kinds}"] if resampled else []
    return Section("Notes", (*head, *notes)) if head or notes else None
