"""The page that shows the verdict of a drift monitor."""

from __future__ import annotations

from collections.abc import Iterator

from shesha.report import Column, Drawing, Explained, Item, Page, Part, Section, Strip, Table, Text
from shesha.results.drift.verdict import DriftScore, DriftVerdict, Moved
from shesha.results.drift.verdict_text import rates_sentence, sequence_sentence, short_names
from shesha.results.generic_page import run_details

_TIERS = {
    "primary": "Raises the alarm",
    "confirm": "Measures the extent of a change",
    "early": "Shows early signs of a change",
    "local": "Detects changes of neighbours",
}
_BARE = "Only the canary rows are checked, so a change that affects only other inputs is not detected."
_NO_FLOOR = (
    "Without re-encodings the noise floor is unknown, so only drift above the tolerance, {:g}, counts as a change. "
    "Pass re-encodings of the same rows (`--nulls`) to detect smaller changes."
)
_DRIFT = "Drift is 0 without a change. RDM drift is about 1 for an unrelated geometry."
_QUESTION = "Has the model changed? That is, do the same {} inputs, encoded again, keep the distances of the reference?"
_DRAWN, _MOST = 3.0, 1000
"""Largest multiple of the threshold that is drawn, and largest multiple that is shown as a number."""
_PICTURE = "Each drift (dot) and its threshold (tick), on a logarithmic scale."
_TITLES = {
    "ok": "no change found",
    "watch": "a sign of change",
    "alert": "alert",
    "not estimable": "not estimable",
}


def verdict_page(verdict: DriftVerdict) -> Page:
    """Return the page, which contains the same sentences as the text."""
    in_a_row = sequence_sentence(verdict)
    moved = {"Rows that moved most": verdict.rows, "Classes": verdict.classes}
    doubts = (*verdict.notes, _NO_FLOOR.format(verdict.tolerance) if verdict.basis == "row resamples" else "", _BARE)
    return Page(
        title=f"Drift monitor: {_TITLES[verdict.state]}",
        question=_QUESTION.format(f"{verdict.n_rows:,}"),
        answer=tuple(_answer_sentences(verdict)),
        numbers=(_scores(verdict), Text(_DRIFT)),
        doubts=(*(Item(text) for text in doubts if text), Item(rates_sentence(verdict))),
        sections=(
            *_picture(verdict),
            *((Section("Successive checks", (Text(in_a_row),)),) if in_a_row else ()),
            *(Section(title, (_movement_part(title, rows),), _MOVED) for title, rows in moved.items() if rows),
            Section("What each score is for", tuple(_explanations(verdict))),
        ),
        ran=(
            *((name, text) for name, text in sorted(verdict.about.items())),
            ("noise floor", f"{verdict.n_nulls:,} {verdict.basis}"),
            ("false alarm rate", f"{verdict.level:g}"),
            ("tolerance", f"{verdict.tolerance:g}"),
            *run_details(verdict)[1:],
        ),
    )


_MOVED = (
    "The column 'moved' has 1 minus the correlation of a row's distances to all other rows before and after. The "
    "last column has the largest such value in any re-encoding of the unchanged model."
)


def _answer_sentences(verdict: DriftVerdict) -> Iterator[str]:
    primary = verdict.scores[0]
    state = verdict.state_in_words[:1].upper() + verdict.state_in_words[1:]
    if primary.drift != primary.drift:
        yield f"{state}: {verdict.reason or primary.reason}."
    else:
        yield f"{state}: {_drift_against_floor(verdict, primary)}."
    yield "Nothing needs to be done." if verdict.advice == "Nothing." else f"What to do: {verdict.advice}"


def _drift_against_floor(verdict: DriftVerdict, score: DriftScore) -> str:
    """Compare the primary drift with that of unchanged encodings, or with the tolerance."""
    drift = f"{score.measure} is {score.drift:.3g}"
    if verdict.basis == "re-encodings":
        return (
            f"{drift}, compared with a mean of {score.unchanged:.3g} for encodings of the unchanged model, which "
            f"rarely exceed {score.threshold:.3g} (p = {score.p_value:.2g})"
        )
    return f"{drift}, and at least {score.low:.3g} for any sample of inputs of the same kind"


def _scores(verdict: DriftVerdict) -> Table:
    scores = verdict.scores
    columns = (
        Column("drift", tuple(_number(score.drift) for score in scores)),
        Column("lower limit", tuple(_number(score.low) for score in scores)),
        Column("mean if unchanged", tuple(_number(score.unchanged) for score in scores)),
        Column("threshold", tuple(_number(score.threshold) for score in scores)),
        Column(
            f"multiple of the threshold (drawn to {_DRAWN:g})",
            tuple(map(_format_ratio, scores)),
            ">",
            tuple(map(_strip, scores)),
        ),
        Column("p", tuple("" if score.p_value != score.p_value else f"{score.p_value:.2g}" for score in scores)),
        Column("verdict", tuple(map(_judgement, scores)), "<"),
    )
    names = short_names(scores)
    return Table(tuple(names[score.measure] for score in scores), (columns,), "Scores", "measure")


def _judgement(score: DriftScore) -> str:
    if score.drift != score.drift:
        return "no value"
    return "above threshold" if score.beyond else "below threshold"


def _threshold_ratio(score: DriftScore) -> float:
    return score.drift / score.threshold if score.threshold > 0 else float("nan")


def _format_ratio(score: DriftScore) -> str:
    ratio = _threshold_ratio(score)
    if ratio != ratio:
        return ""
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.0f}" if ratio <= _MOST else f"over {_MOST:,}"


def _strip(score: DriftScore) -> Strip | None:
    ratio = _threshold_ratio(score)
    if ratio != ratio:
        return None
    shown = min(ratio, _DRAWN)
    return Strip(shown, min(score.low / score.threshold, _DRAWN), shown, 1.0)


def _picture(verdict: DriftVerdict) -> tuple[Section, ...]:
    if all(score.drift != score.drift for score in verdict.scores):
        return ()
    return (Section("Drift and thresholds", (Drawing(_PICTURE, verdict.plot),)),)


def _movement_part(title: str, moved: tuple[Moved, ...]) -> Table:
    columns = (
        Column("label", tuple(row.label for row in moved), "<"),
        Column("moved", tuple(_number(row.movement) for row in moved)),
        Column("largest if unchanged", tuple(_number(row.floor) for row in moved)),
    )
    return Table(tuple(row.name for row in moved), (columns,), title, "name")


def _explanations(verdict: DriftVerdict) -> Iterator[Part]:
    where = "monitoring.md#what-a-verdict-says"
    for score in verdict.scores:
        base = score.measure.partition("(")[0]
        command = "" if ":" in base else f"shesha measures '{base}'"
        does = _TIERS.get(score.tier, score.tier)
        why = f" No value: {score.reason}." if score.reason else ""
        yield Explained(score.measure, f"{does}.{_SEES.get(base, '')}{why}", where, command)


_SEES = {
    "RDM drift": " The score is 1 minus the rank correlation of all distances between rows.",
    "unbiased CKA": " The score is 1 minus the alignment of the inner products of rows. Directions of large "
    "variance dominate it.",
    "Procrustes similarity": " The score is the difference that remains after the best rotation. It detects "
    "small changes of single rows.",
    "mutual kNN": " The score is the share of each row's nearest neighbours that changed.",
}


def _number(value: float) -> str:
    return "" if value != value else f"{value:.3g}"
