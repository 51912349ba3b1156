"""Decide the state of a check, and give advice for it."""

from __future__ import annotations

from collections.abc import Sequence

from shesha.results import CheckSequence, DriftScore
from shesha.results.drift.verdict import State

_NEW = "If the change was intended, make a new reference and new re-encodings."
_SUSPECTS = (
    "Compare model revision, tokenizer, pooling, precision, batch size and library versions with those of the "
    "reference."
)


def decide_state(scores: Sequence[DriftScore], tolerance: float, sequence: CheckSequence | None) -> State:
    """Return the state; only the primary score, or its evidence over many checks, can raise an alert."""
    primary = scores[0]
    if primary.drift != primary.drift:
        return "not estimable"
    alert = primary.beyond if sequence is None else sequence.alarm_since > 0
    if alert and (primary.drift > tolerance or sequence is not None):
        return "alert"
    return "watch" if any(score.beyond for score in scores) else "ok"


def advice(state: State, scores: Sequence[DriftScore], alarm_since: int = 0) -> str:
    """Return advice for a state; `alarm_since` is the check that raised an unacknowledged alarm, or 0."""
    if state == "ok" and alarm_since:
        return (
            "This check alone shows no change, but the evidence of all checks raised an alarm at check "
            f"{alarm_since}, which is not acknowledged. Inspect the checks since then, then acknowledge the alarm."
        )
    tiers_beyond = {score.tier for score in scores if score.beyond}
    if state == "ok":
        return "Nothing."
    if state == "not estimable":
        return f"Inspect the encodings first, because the model may be broken. {_SUSPECTS}"
    if state == "watch":
        if "primary" in tiers_beyond:
            return (
                "The change is real, but within the tolerance or below the alarm threshold. Encode once more, and "
                "measure task performance if the change remains."
            )
        if tiers_beyond == {"early"}:
            return (
                "Only Procrustes similarity changed, which often reacts first. Encode once more. If the change "
                "remains, inspect the rows above."
            )
        return "Encode once more. If the change remains, inspect the rows above and measure task performance."
    if "confirm" in tiers_beyond:
        return (
            "The leading directions changed too (CKA), so task performance may drop. Measure performance now. "
            f"{_SUSPECTS} {_NEW}"
        )
    return f"Distances changed, but the leading directions did not (CKA). Measure task performance. {_SUSPECTS} {_NEW}"
