"""Rows that depend on their neighbours are found, and no bound is promised for them."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from shesha.cli._app import app
from shesha.drift import DriftMonitor, conformal_stream, two_sample
from shesha.drift.row_dependence import dependence_text, group_means, neighbour_dependence
from shesha.drift.stream_evidence import Stream

LEVEL = 0.002


def independent(n, rng):
    return rng.standard_normal((n, 8))


def series(n, rng, memory=0.9):
    rows = rng.standard_normal((n, 8))
    for row in range(1, n):
        rows[row] = memory * rows[row - 1] + np.sqrt(1 - memory**2) * rows[row]
    return rows


def weak_series(n, rng):
    return series(n, rng, 0.5)


def chunks(n, rng):
    return np.repeat(rng.standard_normal((n // 5, 8)), 5, axis=0) + 0.5 * rng.standard_normal((n, 8))


def changed(n, rng):
    return rng.standard_normal((n, 8)) + 4.0 * (np.arange(n) > 0.47 * n)[:, None]


def sorted_by_class(n, rng):
    return rng.standard_normal((n, 8)) + 4 * np.eye(8)[np.sort(rng.integers(0, 3, n))]


@pytest.mark.parametrize("make", [series, weak_series, chunks])
@pytest.mark.parametrize("n", [60, 400])
def test_dependent_rows_are_found(make, n):
    assert all(dependence_text(make(n, np.random.default_rng(seed)), "rows") for seed in range(10))


@pytest.mark.parametrize("make", [independent, changed, sorted_by_class])
@pytest.mark.parametrize("scale", [1.0, 1e150, 1e-150])
def test_independent_rows_are_not(make, scale):
    found = [neighbour_dependence(scale * make(400, np.random.default_rng(s)))[1] <= LEVEL for s in range(40)]
    assert sum(found) <= 3


def test_a_slight_dependence_is_not_reported():
    rows = series(3000, np.random.default_rng(0), 0.06)
    assert neighbour_dependence(rows)[1] < LEVEL
    assert not dependence_text(rows, "rows")


@pytest.mark.parametrize("rows", [np.zeros((100, 3)), np.ones((47, 2)), np.repeat([[1.0, 2.0]], 60, axis=0)])
def test_equal_and_few_rows_are_no_sign(rows):
    assert neighbour_dependence(rows) == (0.0, 1.0)


def test_groups_are_averaged_in_the_order_of_their_first_rows():
    rows = np.arange(12.0).reshape(6, 2)
    found = group_means(rows, np.array([3, 3, 1, 1, 0, 1]))
    expected = [rows[[0, 1]].mean(axis=0), rows[[2, 3, 5]].mean(axis=0), rows[4]]
    np.testing.assert_allclose(found, expected)


def stream(make, seed=1, n=900, groups=None):
    rows = make(n + 400, np.random.default_rng(seed))
    of = None if groups is None else np.arange(len(rows)) // groups
    monitor = DriftMonitor(rows[:n], groups=None if of is None else of[:n])
    batches = [(rows[k : k + 50], None if of is None else of[k : k + 50]) for k in range(n, len(rows), 50)]
    return monitor, [monitor.update(batch, groups=part) for batch, part in batches]


def test_a_dependent_stream_promises_nothing_and_cannot_alarm():
    monitor, verdicts = stream(series)
    assert monitor.dependence
    assert {verdict.state for verdict in verdicts} <= {"ok", "watch", "not estimable"}
    for verdict in verdicts:
        assert "probability of any alarm is at most" not in str(verdict)
        assert verdict.dependence
        assert "depend on each other" in verdict.sentence() or verdict.state == "not estimable"
        assert json.loads(verdict.to_json())["dependence"] == verdict.dependence
    fine = " ".join(str(verdicts[0]).split())
    assert "The bound of 0.01 on false alarms does not hold: consecutive rows of the reference depend" in fine
    assert "Pass groups= (--groups) if rows share a document" in fine


def alarmed():
    """A dependent stream whose evidence reached the alarm."""
    for seed in range(40):
        monitor, verdicts = stream(lambda n, rng: series(n, rng, 0.98), seed)
        if verdicts[-1].alarm_since:
            return monitor, verdicts[-1]
    raise AssertionError


def test_an_alarm_of_dependent_rows_is_undecided():
    _, verdict = alarmed()
    assert verdict.state == "not estimable"
    assert verdict.needs_attention
    assert "on dependent rows it is no sign of a change" in " ".join(str(verdict).split())


def test_a_dependent_stream_is_found_if_the_reference_is_shuffled():
    rng = np.random.default_rng(0)
    rows = series(1300, rng)
    monitor = DriftMonitor(rng.permutation(rows[:900]))
    assert not monitor.dependence
    found = [monitor.update(rows[k : k + 10]).dependence for k in range(900, 1300, 10)]
    assert "consecutive rows of the stream depend on each other" in found[-1]
    assert not found[0]


@pytest.mark.parametrize("size", [1, 7, 200])
def test_the_last_rows_are_kept_for_the_search(size):
    rng = np.random.default_rng(0)
    monitor = DriftMonitor(independent(300, rng))
    rows = chunks(200, rng)
    verdict = [monitor.update(rows[k : k + size]) for k in range(0, 200, size)][-1]
    assert "of the stream depend" in verdict.dependence


def test_a_real_change_of_independent_rows_still_alarms():
    def spread(n, rng):
        return rng.standard_normal((n, 8)) * np.where(np.arange(n) >= 1100, 2.0, 1.0)[:, None]

    _, verdicts = stream(spread)
    assert verdicts[-1].state == "alert"
    assert not verdicts[-1].dependence


def test_groups_restore_the_promise():
    monitor, verdicts = stream(chunks, groups=5)
    assert not monitor.dependence
    assert {verdict.dependence for verdict in verdicts} == {""}
    assert verdicts[-1].n_seen == 80
    assert "For unchanged groups, the probability of any alarm is at most 0.01" in " ".join(str(verdicts[-1]).split())
    assert "new groups" in verdicts[-1].sentence()


def test_groups_are_needed_on_both_sides_or_on_none(tmp_path):
    rng = np.random.default_rng(0)
    grouped = DriftMonitor(chunks(200, rng), groups=np.arange(200) // 5)
    with pytest.raises(ValueError, match="groups must be a group for each new row, as the reference has groups"):
        grouped.update(chunks(20, rng))
    with pytest.raises(ValueError, match="groups must be None, as the reference has no groups"):
        DriftMonitor(chunks(200, rng)).update(chunks(20, rng), groups=np.arange(20) // 5)
    with pytest.raises(ValueError, match="reference must have at least 20 groups for a stream, got 10"):
        DriftMonitor(chunks(50, rng), groups=np.arange(50) // 5).update(chunks(20, rng), groups=np.arange(20) // 5)
    grouped.save(tmp_path / "m", keep_rows=True)
    loaded, new = DriftMonitor.load(tmp_path / "m"), chunks(20, rng)
    assert loaded.update(new, groups=np.arange(20) // 5).n_seen == 4


def test_checks_without_reencodings_say_when_their_confidence_does_not_hold():
    rng = np.random.default_rng(0)
    rows = series(200, rng)
    now = rows + 0.5 * rng.standard_normal(rows.shape)
    verdict = DriftMonitor(rows, n_resamples=99).check(now)
    for text in (str(verdict), verdict.sentence(), str(verdict.page())):
        assert "depend on each other" in " ".join(text.split())
    with_groups = DriftMonitor(rows, groups=np.arange(200) // 50, n_resamples=99).check(now)
    assert with_groups.scores[0].low != verdict.scores[0].low
    again = [rows + 1e-3 * rng.standard_normal(rows.shape) for _ in range(99)]
    assert not DriftMonitor(rows, nulls=again).check(now).dependence


def test_other_tests_of_new_rows_say_it_too():
    rng = np.random.default_rng(0)
    rows, kinds = chunks(400, rng), np.r_[np.zeros(200, int), np.arange(200) % 2]
    verdict = conformal_stream(rows[:200], rows[200:])
    assert "Pass one row, such as the mean, of each document" in verdict.dependence
    assert conformal_stream(independent(200, rng), independent(200, rng), groups=kinds).dependence == ""
    result = two_sample(series(100, rng, 0.98), series(60, rng, 0.98))
    assert result.significant
    assert "cannot decide" in str(result)
    assert "so that p is too small" in result.sentence()
    assert two_sample(independent(100, rng), independent(60, rng)).dependence == ""


def test_a_stream_with_damaged_rows_is_refused():
    stream = Stream()
    stream.remember(np.random.default_rng(0).standard_normal((200, 3)))
    restored = Stream.from_text(stream.as_text())
    np.testing.assert_array_equal(restored.recent, stream.recent)
    assert restored.recent.shape == (128, 3)
    damaged = {**json.loads(stream.as_text()), "recent_width": 5}
    with pytest.raises(Exception, match="numbers in rows of 5"):
        Stream.from_text(json.dumps(damaged))


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_command_says_it_and_takes_groups(tmp_path):
    rng = np.random.default_rng(0)
    rows = chunks(300, rng)
    columns = [f"x{i}" for i in range(8)]
    for name, part in (("reference", rows[:200]), ("new", rows[200:])):
        frame = pd.DataFrame(part, columns=columns)
        frame["document"] = [f"{name}{row // 5}" for row in range(len(part))]
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        np.save(tmp_path / f"{name}.npy", part)
    plain = run("monitor", "init", tmp_path / "reference.npy", "--out", tmp_path / "plain", "--keep-rows")
    assert "does not hold: consecutive rows of the reference depend on each other" in plain.output
    options = ("--out", tmp_path / "grouped", "--keep-rows", "--groups", "document")
    grouped = run("monitor", "init", tmp_path / "reference.csv", *options)
    assert grouped.exit_code == 0, grouped.output
    assert "does not hold" not in grouped.output
    update = run("monitor", "update", tmp_path / "grouped", tmp_path / "new.csv", "--groups", "document")
    assert update.exit_code == 0, update.output
    assert "20 new groups" in " ".join(update.output.split())
    assert "does not hold" in " ".join(
        run("monitor", "update", tmp_path / "plain", tmp_path / "new.npy").output.split()
    )
