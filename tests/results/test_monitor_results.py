"""Verdicts print within 80 columns whatever they hold, and come back from plain values."""

import json
import math
from dataclasses import FrozenInstanceError, replace

import pytest

from shesha.results import CheckSequence, DriftScore, DriftVerdict, Moved, StreamVerdict, TwoSample

NAN = float("nan")
SCORES = (
    DriftScore(
        name="RDM drift", tier="primary", value=0.0312, threshold=1.25e-5, p_value=0.005, chance=4e-6, beyond=True
    ),
    DriftScore(name="unbiased CKA", tier="confirm", value=0.001, threshold=0.002, p_value=0.3, chance=0.0015),
    DriftScore(
        name="mutual kNN(k=10, metric=cosine)",
        tier="local",
        value=NAN,
        threshold=0.1,
        p_value=NAN,
        reason="k must be below the number of rows",
    ),
)
VERDICT = DriftVerdict(
    "alert",
    SCORES,
    400,
    "re-encodings",
    200,
    0.01,
    0.0235,
    0.0,
    rows=(Moved("a long sentence that goes on and on and\nhas more lines", 0.5, 0.001, "positive"),),
    classes=(Moved("positive", 0.2, 0.001), Moved("negative", 0.1, 0.001)),
    sequence=CheckSequence(12, 1000.0, 7.07, 15.3, 12.1),
    advice="Measure the task.",
    notes=("batch_size changed from 32 (reference) to 8",),
    about={"revision": "a1"},
)
RESAMPLED = replace(
    VERDICT,
    basis="row resamples",
    n_nulls=199,
    realised=NAN,
    tolerance=0.05,
    sequence=None,
    scores=(DriftScore(name="RDM drift", tier="primary", value=0.0312, threshold=0.05, p_value=1.0, low=0.02),),
    state="ok",
    rows=(Moved("3", 0.5),),
    classes=(),
)
STREAM = StreamVerdict("watch", 20, 120, 0.01, 1.25, 1.5, 2.0, 0.31, (3, 4))
TEST = TwoSample(
    name="energy",
    value=0.81,
    p_value=0.03,
    n_reference=60,
    n_window=40,
    n_draws=199,
    alpha=0.05,
    threshold=0.76,
    chance=0.44,
    null=(0.4, 0.5),
)


def test_a_verdict_prints_state_scores_rates_and_what_to_do():
    text = str(VERDICT)
    said = " ".join(text.split())
    assert said.startswith("Alert: the geometry changed (400 rows). RDM drift is 0.0312, compared with a mean of 4e-06")
    assert "What to do: Measure the task." in said
    rows = [line.split() for line in text.split("\n")]
    assert ["RDM", "drift", "primary", "0.0312", "4e-06", "1.25e-05", "0.005", "above"] in rows
    assert ["unbiased", "CKA", "confirm", "0.001", "0.0015", "0.002", "0.3", "below"] in rows
    assert ["mutual", "kNN", "local", "0.1", "no", "value"] in rows
    assert "! batch_size changed from 32 (reference) to 8" in said
    everything = " ".join(VERDICT.full_text().split())
    assert "each score exceeds its threshold in 1 % of checks" in everything
    assert "is below 2.35 % (95 % confidence)" in everything
    assert "Check 12: the accumulated evidence of change is 15.3, and the alarm is at 1000" in everything
    assert "Rows that moved most" in everything and "a long sentence that goes on" in everything
    assert "k must be below the number of rows" in said


@pytest.mark.parametrize("result", [VERDICT, RESAMPLED, STREAM, TEST], ids=lambda one: type(one).__name__)
def test_results_fit_80_columns_never_change_and_come_back(result):
    assert max(map(len, str(result).splitlines())) <= 80
    back = type(result).from_dict(json.loads(json.dumps(result.to_dict(), default=str)))
    assert repr(back) == repr(result)
    with pytest.raises(FrozenInstanceError):
        result.state = "ok"
    assert len(result.to_frame()) == (len(result.scores) if isinstance(result, DriftVerdict) else 1)


def test_what_no_re_encodings_cannot_tell_is_said():
    said = " ".join(str(RESAMPLED).split())
    assert "with 99 % confidence, its drift is above 0.05" in said
    assert "Without re-encodings the noise floor is unknown" in said
    assert "largest if unchanged" not in said


def test_alarms_are_alerts_and_what_could_not_be_judged():
    states = {
        state: replace(VERDICT, state=state).needs_attention for state in ("ok", "watch", "alert", "not estimable")
    }
    assert states == {"ok": False, "watch": False, "alert": True, "not estimable": True}
    assert [replace(STREAM, state=state).needs_attention for state in states] == list(states.values())


def test_scores_are_found_by_their_measure():
    assert VERDICT["unbiased CKA"] is SCORES[1]
    with pytest.raises(KeyError, match=r"measure must be one of RDM drift, unbiased CKA, .* got 'CKA'"):
        VERDICT["CKA"]


def test_an_alarm_since_an_earlier_check_is_told():
    late = replace(VERDICT, sequence=replace(VERDICT.sequence, alarm_since=3))
    assert "The alarm was raised at check 3." in " ".join(str(late).split())
    assert "The alarm was raised at row 88." in " ".join(str(replace(STREAM, alarm_since=88)).split())


def test_results_draw_themselves():
    pytest.importorskip("matplotlib").use("agg")
    import matplotlib.pyplot as plt

    ax = VERDICT.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["RDM drift", "unbiased CKA"]
    assert ax.collections[0].get_offsets()[0][0] == pytest.approx(0.0312)
    assert TEST.plot().get_xlabel() == "energy"
    plt.close("all")


def test_missing_numbers_are_nan_again_after_json():
    plain = json.loads(json.dumps(VERDICT.scores[2].to_dict()).replace("NaN", "null"))
    assert math.isnan(DriftScore.from_dict(plain).value)
