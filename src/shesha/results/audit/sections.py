"""The sections of an audit's report: headline, data, tables of numbers, and how to read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from shesha.report import Column, Either, Section, Table, Text
from shesha.results.audit.doubts_section import doubts
from shesha.results.audit.headline import headline
from shesha.results.audit.name_lists import list_names
from shesha.results.audit.reading_hints import readings
from shesha.results.audit.tables import tables
from shesha.support.plurals import count

if TYPE_CHECKING:
    from shesha.results.audit.audit import Audit, RepresentationAudit

_DRIFT = (
    "Drift is 1 minus the rank correlation of all distances between rows. It is 0 for the same geometry and about 1 "
    "for an unrelated one. Rotations and rescalings do not change it."
)
_STABLE = "A stable geometry is not necessarily correct, and an unstable one has not necessarily lost information."
_MORE = "`shesha scores NAME` explains the meaning and limits of a number."


def sections(audit: Audit, words: Callable[[str], str] = str) -> list[Section]:
    """Return the sections of the report; the function `words` rewords reasons for the caller."""
    parts = [
        headline(audit),
        doubts(audit, words),
        data(audit, words),
        *tables(audit, words),
        drift(audit),
        readings(audit),
        notes(audit),
    ]
    return [part for part in parts if part is not None]


def data(audit: Audit, words: Callable[[str], str] = str) -> Section | None:
    """List faults in the data, each once, with the representations that have it."""
    several = len(audit.representations)
    names_by_fault: dict[str, list[str]] = {}
    for finding in audit.representations:
        for fault in _fault_lines(finding):
            names_by_fault.setdefault(fault, []).append(finding.name)
    parts = tuple(Text(_prefix_names(names, several, words(text))) for text, names in names_by_fault.items())
    return Section("Data", parts) if parts else None


def _prefix_names(names: list[str], several: int, text: str) -> str:
    return text if several == 1 else f"{list_names(names, several)}: {text}"


def _fault_lines(finding: RepresentationAudit) -> Iterable[str]:
    yield from (f"! {fault}" for fault in finding.faults.lines())
    if finding.reason:
        yield f"! no scores: {finding.reason}"


def drift(audit: Audit) -> Section | None:
    """Describe how far each representation has drifted along the sequence."""
    drift_path = audit.drift
    if audit.drift_reason:
        return Section("Drift", (Text(f"No drift was computed: {audit.drift_reason}"),))
    if drift_path is None:
        return None
    kinds = {"from the first": drift_path.from_first, "from the previous": drift_path.from_previous}
    columns = [Column(head, tuple(_describe_drift(value) for value in values)) for head, values in kinds.items()]
    why = tuple(
        Text(f"{name}: {reason}") for name, reason in zip(drift_path.names, drift_path.reasons, strict=False) if reason
    )
    table = Table(drift_path.names, (tuple(columns),), "Drift", "representation")
    return Section("Drift along the given order", (Either(tuple(str(drift_path).split("\n")), (table, *why)),), _DRIFT)


def _describe_drift(value: float) -> str:
    return "none" if value != value else f"{value:.4f}"


def notes(audit: Audit) -> Section | None:
    """Explain brackets and p-values, and mention omitted pairs."""
    names_by_note: dict[str, list[str]] = {}
    for finding in audit.representations:
        for score in (*finding.scores.values(), *finding.supervised.values()):
            dropped = [f"{count(score.pairs_dropped, 'undefined pair')} left out"] if score.pairs_dropped else []
            sampled = (
                [f"sampling pairs adds a standard error of {score.pair_error:.1g}"] if score.pair_error > 0 else []
            )
            for text in (*score.warnings, *sampled, *dropped):
                names_by_note.setdefault(text, []).append(f"{finding.name}, {score.variant}")
    lines = [f"{'; '.join(where)}: {text}" for text, where in names_by_note.items()]
    parts = tuple(Text(text) for text in (*_general(audit), *lines))
    return Section("Notes", parts) if parts else None


def _general(audit: Audit) -> Iterable[str]:
    if audit.interrupted:
        yield "Interrupted: the other representations were not audited."
    level = audit.options.get("confidence", float("nan"))
    if any(score.low == score.low for finding in audit.representations for score in finding.scores.values()):
        kinds = "other rows of the same kind and other partitions of the features"
        yield f"Brackets are {100 * level:g}% intervals for {kinds}."
    if any(score.pair_error > 0 for finding in audit.representations for score in finding.scores.values()):
        yield "Scores with a standard error from sampling use random pairs of rows. Numbers under Shape use all rows."
    draws = {chance.n_permutations for finding in audit.representations for chance in finding.chances.values()}
    if draws:
        least = min(draws)
        smallest = 1 / (least + 1)
        yield f"With {least:,} random matchings of rows, the smallest possible p-value is {smallest:.2g}."
    if any(finding.feature_split is not None for finding in audit.representations):
        yield f"{_STABLE} {_MORE}"
