"""A check holds its rate on unchanged encodings, finds a change, and says where it is."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, ortho_group

import shesha
from shesha.drift import DriftMonitor
from shesha.drift.canary_check import choose_measures
from shesha.inputs import NamedRows, Names
from shesha.measures import get


def monitor(X, again, n_nulls=99, **options):
    return DriftMonitor(X, nulls=[again() for _ in range(n_nulls)], **options)


def test_scores_are_the_drifts_of_the_documented_measures(canaries, again):
    current = again(0.2)
    found = monitor(canaries, again, 19, false_alarm=0.05).check(current)
    assert found["RDM drift"].value == pytest.approx(shesha.rdm_drift(canaries, current))
    assert found["unbiased CKA"].value == pytest.approx(1 - shesha.sim.cka_debiased(canaries, current), abs=0.2)
    for name in ("unbiased CKA", "Procrustes similarity", "mutual kNN(k=10, metric=cosine)"):
        assert found[name].value == pytest.approx(1 - get(name).score(canaries, current))
    assert [score.tier for score in found.scores] == ["primary", "confirm", "early", "local"]


@pytest.mark.parametrize(("n_rows", "k"), [(4, 1), (6, 1), (7, 2), (30, 9), (31, 10), (1000, 10)])
def test_few_rows_have_a_third_of_them_as_neighbours(n_rows, k):
    assert choose_measures(None, n_rows)[-1].name == f"mutual kNN(k={k}, metric=cosine)"


def test_p_values_are_ranks_among_the_re_encodings(canaries, again):
    nulls, current = [again() for _ in range(39)], again()
    found = DriftMonitor(canaries, nulls=nulls, false_alarm=0.05).check(current).scores[0]
    drifts = [shesha.rdm_drift(canaries, one) for one in nulls]
    assert found.p_value == (1 + sum(one >= found.value for one in drifts)) / 40
    assert found.threshold == pytest.approx(sorted(drifts)[-2])
    assert found.chance == pytest.approx(np.mean(drifts))


def test_the_rate_of_false_alarms_is_the_one_stated(rng):
    alerts, beyond, n, level = 0, 0, 80, 0.2
    for _ in range(n):
        X = rng.standard_normal((12, 4))
        nulls = X + 0.1 * rng.standard_normal((4, 12, 4))
        watched = DriftMonitor(X, nulls=nulls, false_alarm=level, measures=["RDM drift", "Procrustes similarity"])
        verdict = watched.check(X + 0.1 * rng.standard_normal((12, 4)))
        alerts += verdict.state == "alert"
        beyond += verdict.scores[1].beyond
    low, high = binom.ppf([0.0005, 0.9995], n, level)
    assert low <= alerts <= high
    assert low <= beyond <= high


def test_a_planted_change_is_found_and_placed(canaries, again, rng):
    labels = np.repeat(["a", "b", "c"], 16)
    watched = monitor(canaries, again, labels=labels)
    current = again()
    current[7] = rng.standard_normal(12)
    verdict = watched.check(current)
    assert (verdict.state, verdict.needs_attention) == ("alert", True)
    assert (verdict.rows[0].name, verdict.rows[0].label, verdict.classes[0].name) == ("7", "a", "a")
    assert verdict.rows[0].movement > 100 * verdict.rows[0].floor
    assert verdict.advice.startswith(("The leading directions changed", "Distances changed"))


def test_rotating_scaling_and_moving_the_encoder_is_told_by_no_measure_that_should_not(canaries, again):
    verdict = monitor(canaries, again).check(3 * again() @ ortho_group.rvs(12, random_state=0))
    assert [score.beyond for score in verdict.scores] == [False] * 4


def test_identical_encodings_are_unchanged(canaries):
    watched = DriftMonitor(canaries, nulls=[canaries] * 99)
    verdict = watched.check(canaries)
    assert verdict.state == "ok"
    assert [score.p_value for score in verdict.scores] == [1.0] * 4
    assert [score.value for score in verdict.scores] == [0.0] * 4
    # The same rows, turned: whatever another machine's last digits are, they are no drift.
    turned = watched.check(canaries @ ortho_group.rvs(12, random_state=1))
    assert [score.value for score in turned.scores] == [0.0] * 4


def test_broken_rows_are_not_estimable_and_alarm(canaries, again):
    current = again()
    current[[3, 5]] = np.nan
    verdict = monitor(canaries, again).check(current)
    assert (verdict.state, verdict.needs_attention) == ("not estimable", True)
    assert verdict.reason.startswith("current has NaN or infinity in 2 of 48 rows: 3, 5; missing=")
    assert np.isnan(verdict.scores[0].value)
    assert "model may be broken" in verdict.advice


def test_a_collapsed_model_is_not_estimable(canaries, again):
    verdict = monitor(canaries, again).check(np.ones((48, 12)))
    assert verdict.state == "not estimable"
    assert "equal" in verdict.reason
    zero = again()
    zero[4] = 0
    verdict = monitor(canaries, again).check(zero)
    assert verdict.state == "not estimable"
    assert verdict["unbiased CKA"].beyond


def test_another_width_is_compared_by_what_can(canaries, again):
    wider = np.hstack([again(), np.zeros((48, 3))])
    verdict = monitor(canaries, again).check(wider)
    assert verdict.state == "ok"
    assert all(score.value == score.value for score in verdict.scores)
    same_width = DriftMonitor(canaries, measures=["RDM drift", replace(get("CKA"), equal_widths=True)])
    told = same_width.check(wider)
    assert told.scores[1].reason == "needs equal widths, got 12 and 15 features"
    assert told.state == "ok"


def test_other_rows_are_refused_with_what_to_do(canaries, again):
    watched = monitor(canaries, again, 19, false_alarm=0.05)
    with pytest.raises(
        ValueError, match=r"current must be the 48 rows of the reference encoded again, got 47 rows; .*update"
    ):
        watched.check(canaries[1:])
    named = DriftMonitor(NamedRows(canaries, [f"text {i}" for i in range(48)]))
    with pytest.raises(
        ValueError, match="rows of current must have the same names as those of reference, got 47 shared names"
    ):
        named.check(NamedRows(canaries, [f"text {i}" for i in range(1, 49)]))


def test_named_rows_are_matched(canaries, again):
    names = [f"text {i}" for i in range(48)]
    watched = DriftMonitor(NamedRows(canaries, names), nulls=[again() for _ in range(99)])
    verdict = watched.check(NamedRows(again()[::-1], names[::-1]))
    assert verdict.inputs == ("rows matched by name, in another order in current",)
    assert verdict.state == "ok"
    moved = pd.DataFrame(again(), index=names)
    moved.loc["text 9"] = np.arange(12.0)
    assert watched.check(moved).rows[0].name == "text 9"


@pytest.mark.filterwarnings("ignore::shesha.RowNamesWarning")
def test_labels_and_groups_of_named_rows_are_matched(rng):
    names = [f"text {i}" for i in rng.permutation(48)]
    frame, labels = pd.DataFrame(rng.standard_normal((48, 6)), index=names), pd.Series(np.arange(48) // 8, index=names)
    in_order, shuffled = (
        DriftMonitor(frame, labels=values, groups=values)._setting.reference for values in (labels, labels.sample(48))
    )
    np.testing.assert_array_equal(shuffled.codes, in_order.codes)
    np.testing.assert_array_equal(shuffled.groups, in_order.groups)


def test_without_re_encodings_the_question_is_whether_the_tolerance_is_passed(canaries, again):
    watched = DriftMonitor(canaries, n_resamples=99)
    verdict = watched.check(again(0.02))
    assert (verdict.state, verdict.basis, verdict.tolerance) == ("ok", "row resamples", 0.05)
    assert verdict.scores[0].p_value == 1
    worse = watched.check(again(3.0))
    assert worse.state == "alert"
    assert 0.05 < worse.scores[0].low < worse.scores[0].value
    assert worse.sequence is None
    assert "the noise floor is unknown" in " ".join(str(worse).split())


def test_the_rate_at_the_tolerance_is_the_one_stated(rng):
    """Rows whose true drift lies at the tolerance pass it at about the level."""
    spread, level, n = 0.35, 0.2, 40
    many = rng.standard_normal((700, 6))
    tolerance = shesha.rdm_drift(many, many + spread * rng.standard_normal(many.shape))
    alerts = 0
    for _ in range(n):
        X = rng.standard_normal((40, 6))
        watched = DriftMonitor(X, measures="RDM drift", tolerance=tolerance, false_alarm=level, n_resamples=19)
        alerts += watched.check(X + spread * rng.standard_normal(X.shape)).state == "alert"
    low, high = binom.ppf([0.001, 0.999], n, level)
    assert low - 3 <= alerts <= high + 3


def test_tolerance_keeps_small_but_sure_changes_from_alerting(canaries, again):
    nulls = [again() for _ in range(99)]
    assert DriftMonitor(canaries, nulls=nulls).check(again(0.02)).state == "alert"
    tolerant = DriftMonitor(canaries, nulls=nulls, tolerance=0.05).check(again(0.02))
    assert tolerant.state == "watch"
    assert "within the tolerance" in tolerant.advice


def test_small_changes_that_last_alarm_over_many_checks(canaries, again):
    watched = monitor(canaries, again, run_length=100)
    states = [watched.check(again(1.25e-3)).state for _ in range(12)]
    assert states[-1] == "alert"
    since = watched.history()[-1]["sequence"]["alarm_since"]
    assert 1 < since <= 12
    watched.acknowledge()
    assert watched.check(again()).state != "alert"
    assert watched.history()[-1]["sequence"]["number"] == 13


def test_damaged_evidence_is_told_and_starts_anew_once_acknowledged(canaries, again, tmp_path):
    watched = monitor(canaries, again, run_length=100)
    watched.save(tmp_path / "kept")
    watched.check(again())
    with watched._history.open_for_writing() as history:
        history.write({"evidence": '{"number": "one"}'})
    with pytest.warns(shesha.MeasureWarning, match="not stored in the history.*: the evidence of earlier"):
        verdict = watched.check(again())
    assert verdict.scores[0].value == verdict.scores[0].value
    assert verdict.sequence.number == 1
    watched.acknowledge()
    assert watched.check(again()).sequence.number == 1


def _rows_with_gaps() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5)) @ rng.standard_normal((5, 12))
    X[[4, 9]] = 0
    return X, X + 1e-4 * rng.standard_normal(X.shape)


def test_rows_left_out_of_the_reference_are_left_out_of_an_encoding_of_all_inputs(tmp_path: Path) -> None:
    X, Y = _rows_with_gaps()
    Y[20] = np.nan
    made = DriftMonitor(X, missing="drop", n_resamples=99)
    made.save(tmp_path / "canary")
    for monitor in (made, DriftMonitor.load(tmp_path / "canary")):
        verdict = monitor.check(Y, missing="drop")
        assert (verdict.state, verdict.n_rows) == ("ok", 37)
        assert "38 of 40 rows used: the reference leaves out rows 4, 9" in verdict.inputs
        assert {row.name for row in verdict.rows}.isdisjoint({"4", "9", "20"})
    with pytest.raises(ValueError, match="38 rows of the reference encoded again, got 39 rows"):
        made.check(Y[1:])


@pytest.mark.parametrize("ids", [np.arange(40) + 1000, 3 * np.arange(40), [f"c{i}" for i in range(40)]])
def test_identifiers_of_any_type_match_rows_after_loading(tmp_path: Path, ids: Any) -> None:
    X = _rows_with_gaps()[1]
    order = np.random.default_rng(1).permutation(40)
    named = Names.build(np.asarray(ids), "id")
    DriftMonitor(NamedRows(X, named), n_resamples=99).save(tmp_path / "canary")
    monitor = DriftMonitor.load(tmp_path / "canary")
    verdict = monitor.check(NamedRows(X[order], named.take(order)))
    assert verdict.state == "ok"
    assert any("rows matched by id" in statement for statement in verdict.inputs)
    part = NamedRows(X[order[:30]], named.take(order[:30]))
    with pytest.raises(ValueError, match="30 shared ids of 30 and 40"):
        monitor.check(part)
    assert monitor.check(part, rows="shared").n_rows == 30


def test_groups_follow_the_shared_rows() -> None:
    X, Y = (half[10:] for half in _rows_with_gaps())
    named = Names.build(np.arange(30), "id")
    monitor = DriftMonitor(NamedRows(X, named), groups=np.repeat(np.arange(10), 3))
    kept = np.arange(3, 24)
    assert monitor.check(NamedRows(Y[kept], named.take(kept)), rows="shared").state == "ok"


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_the_movement_of_classes_is_reported_if_there_are_several(n_classes):
    rows = np.random.default_rng(0).standard_normal((30, 4))
    verdict = DriftMonitor(rows, labels=np.arange(30) % n_classes, n_resamples=99).check(rows**2)
    assert len(verdict.classes) == (n_classes if n_classes > 1 else 0)


def test_rounding_is_no_drift_if_all_re_encodings_are_equal(canaries):
    from shesha.support.provenance import collect_statements

    with collect_statements() as stated:
        found = DriftMonitor(canaries, nulls=[canaries] * 99)
    assert any("all 99 re-encodings equal the reference" in text for text in stated)
    single = (canaries * (1 + 1e-6 * np.random.default_rng(0).standard_normal(canaries.shape))).astype(np.float32)
    assert found.check(single).scores[0].value == 0
    changed = found.check(canaries + 1e-3 * np.random.default_rng(1).standard_normal(canaries.shape))
    assert changed.state == "alert"
    assert changed.advice.startswith("Encode the same inputs again with the unchanged model")
    assert "it is unknown how much unchanged encodings vary" in " ".join(changed.full_text().split())
    wide = found.check(np.hstack([canaries, canaries]))
    assert any("from different models, layers" in text for text in wide.inputs)


def test_a_stream_refuses_rows_of_the_reference(canaries, rng):
    found = DriftMonitor(canaries, nulls=[canaries] * 19, false_alarm=0.05)
    new = rng.standard_normal((20, canaries.shape[1]))
    with pytest.raises(ValueError, match="got 10 of 20 rows equal to rows of the reference"):
        found.update(np.concatenate([new[:10], canaries[5:15]]))
    assert found.update(new).n_rows == 20


@pytest.mark.parametrize("keep_rows", [True, False])
def test_vectors_that_rotate_and_rows_in_another_order_are_named(tmp_path, keep_rows):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8)) + 3 * rng.standard_normal((4, 8))[rng.integers(4, size=60)]
    DriftMonitor(X, n_resamples=99).save(tmp_path / "m", keep_rows=keep_rows)
    rotated = DriftMonitor.load(tmp_path / "m").check(X @ np.linalg.qr(rng.standard_normal((8, 8)))[0])
    assert rotated.state == "ok"
    assert any("vectors themselves changed" in text for text in rotated.inputs) == keep_rows
    assert ("Encode stored vectors again" in rotated.advice) == keep_rows
    assert ("as far as distances tell" in rotated.advice) == (not keep_rows)
    if not keep_rows:  # With rows, a check refuses another order.
        moved = DriftMonitor.load(tmp_path / "m").check(X[rng.permutation(60)] + 0.03 * rng.standard_normal(X.shape))
        other = DriftMonitor.load(tmp_path / "m").check(X[rng.integers(60, size=60)] + rng.standard_normal(X.shape))
        assert any("in another order" in text for text in moved.inputs)
        assert not any("in another order" in text for text in other.inputs)


def test_a_line_that_was_inserted_into_the_inputs_is_told(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((200, 16))
    nulls = [rows + 1e-4 * rng.standard_normal(rows.shape) for _ in range(19)]
    shifted = np.concatenate([rows[:80], rng.standard_normal((1, 16)), rows[80:-1]])
    monitor = DriftMonitor(rows, nulls=nulls)
    monitor.save(tmp_path / "m")
    found = DriftMonitor.load(tmp_path / "m").check(shifted)
    assert str(found).startswith("Check first: row offset: rows of the reference fit those 1 place later")


@pytest.mark.parametrize("n_far", [0, 1, 6])
def test_re_encodings_of_another_version_are_told(n_far):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((100, 16))
    other = rows + 0.2 * np.tanh(rows @ rng.standard_normal((16, 16)))
    nulls = [side + 1e-3 * rng.standard_normal(rows.shape) for side in [rows] * (20 - n_far) + [other] * n_far]
    said = str(DriftMonitor(rows, nulls=nulls)._setting.doubts)
    assert ("as if another version or machine had made them" in said) == (n_far > 1)
