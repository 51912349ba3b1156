"""The verdict of a drift monitor as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.report import columns, page_width, wrap
from shesha.support.shortened_names import shorten

if TYPE_CHECKING:
    from shesha.results.drift.verdict import DriftScore, DriftVerdict, Moved

LIMIT_CONFIDENCE = 0.95
"""Confidence of the upper limit of a monitor's own share of false alarms."""
_WIDE = 28
"""Largest number of characters of a name in a table."""


def verdict_text(verdict: DriftVerdict) -> str:
    """Return the state, the scores, the rows that moved, and advice."""
    lines = wrap(f"{verdict.state}: {verdict.state_in_words} ({verdict.n_rows:,} rows)", page_width())
    if verdict.reason:
        lines += wrap(verdict.reason, page_width(), "  ", "")
    lines += ["", *_score_table(verdict), "", *_paragraph(rates_sentence(verdict))]
    if verdict.sequence is not None:
        lines += ["", *_paragraph(sequence_sentence(verdict))]
    for title, moved in (("Rows that moved most", verdict.rows), ("Classes", verdict.classes)):
        if moved:
            lines += ["", title, *_movement_table(moved)]
    lines += ["", *_paragraph(f"What to do: {verdict.advice}")] if verdict.advice else []
    for note in verdict.notes:
        lines += wrap(f"! {note}", page_width())
    return "\n".join(lines)


def _paragraph(text: str) -> list[str]:
    return wrap(text, page_width(), hanging="")


def short_names(scores: tuple[DriftScore, ...]) -> dict[str, str]:
    """Return names of the measures that omit options where names alone distinguish them."""
    bases = [score.measure.partition("(")[0] for score in scores]
    return {s.measure: base if bases.count(base) == 1 else s.measure for s, base in zip(scores, bases, strict=True)}


def _score_table(verdict: DriftVerdict) -> list[str]:
    resampled = verdict.basis == "row resamples"
    rows = [["", "", "drift", "low" if resampled else "unchanged", "threshold", "p", "verdict"]]
    missing, names = [], short_names(verdict.scores)
    for score in verdict.scores:
        if score.drift != score.drift:
            missing.append((score.measure, score.reason))
            continue
        floor = score.low if resampled else score.unchanged
        numbers = [f"{value:.3g}" for value in (score.drift, floor, score.threshold, score.p_value)]
        rows.append([score.tier, names[score.measure], *numbers, "above" if score.beyond else ""])
    lines = columns(rows, "<<>>>><", indent="  ") if len(rows) > 1 else []
    for measure, reason in missing:
        lines += wrap(f"{measure}: no value ({reason})", page_width(), "  ", "    ")
    return lines


def rates_sentence(verdict: DriftVerdict) -> str:
    """Return how often scores exceed their thresholds without a change."""
    if verdict.basis == "row resamples":
        dependent = f" This confidence does not hold: {verdict.dependence}." if verdict.dependence else ""
        return (
            f"A score exceeds its threshold if, with {100 * (1 - verdict.level):g} % confidence, its drift is above "
            f"{verdict.tolerance:g} for any sample of inputs of the same kind.{dependent} Without re-encodings the "
            "noise floor is unknown."
        )
    rate = f"Without a change, each score exceeds its threshold in {100 * verdict.level:.3g} % of checks"
    return (
        f"{rate}, averaged over monitors like this one. The rate of this monitor, with {verdict.n_nulls:,} "
        f"re-encodings, is below {100 * verdict.realised:.3g} % ({100 * LIMIT_CONFIDENCE:g} % confidence)."
    )


def sequence_sentence(verdict: DriftVerdict) -> str:
    """Return the evidence accumulated over successive checks, its alarm threshold, and which rule raises alerts."""
    sequence = verdict.sequence
    if sequence is None:
        return ""
    limit = sequence.run_length if sequence.threshold != sequence.threshold else sequence.threshold
    sentence = (
        f"Check {sequence.number}: the accumulated evidence of change is {sequence.shiryaev_roberts:.3g}, and the "
        f"alarm is at {round(limit, 1):g} (one false alarm in {sequence.run_length:g} checks on average; CUSUM "
        f"{sequence.cusum:.3g})."
    )
    rule = (
        "This evidence raises alerts, not a single check (run_length)."
        if verdict.by_sequence
        else "This is a second rule, for information: here a single check raises alerts (false_alarm), so the two can "
        "differ."
    )
    alarm = f" The alarm was raised at check {sequence.alarm_since}." if sequence.alarm_since else ""
    return f"{sentence}{alarm} {rule}"


def _movement_table(moved: tuple[Moved, ...]) -> list[str]:
    known = any(row.floor == row.floor for row in moved)
    rows = [["", "", "moved", "largest if unchanged" if known else ""]]
    for row in moved:
        floor = f"{row.floor:.3g}" if row.floor == row.floor else ""
        rows.append([shorten(row.name, _WIDE), shorten(row.label, _WIDE), f"{row.movement:.3g}", floor])
    return columns(rows, "<<>>", indent="  ")
