"""Lines of progress: one each half minute, with the time that is left."""

import importlib

import numpy as np
import pytest

import shesha
from shesha.changes import stored_vectors
from shesha.coherence import coherence_by_group
from shesha.drift import two_sample_tests
from shesha.support import progress
from shesha.support.progress import ProgressLines, best_answer, collect, mute_progress, track


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand; no variable silences what is printed."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.delenv(progress.QUIET, raising=False)
    return now


def test_a_line_comes_every_half_minute_and_says_what_is_left(clock, capsys):
    lines = ProgressLines()
    for seconds, share, printed in [
        (29.9, 0.1, ""),
        (30.0, 0.25, "shesha: pairs, 30 s so far, about 90 s left\n"),
        (59.0, 0.5, ""),
        (60.0, 0.5, "shesha: pairs, 60 s so far, about 60 s left\n"),
        (95.0, 0.0, "shesha: pairs, 95 s so far\n"),
    ]:
        clock[0] = 100.0 + seconds
        lines.say("pairs", share)
        assert capsys.readouterr().err == printed


def test_items_are_counted_from_one(clock, capsys):
    for item in track(iter("abcd"), 4, "steps"):
        clock[0] += 20
        assert item in "abcd"
    assert capsys.readouterr().err == "shesha: 2 of 4 steps, 40 s so far, about 40 s left\n" + (
        "shesha: 4 of 4 steps, 80 s so far, about 0 s left\n"
    )


def test_work_of_unknown_length_has_no_time_left(clock, capsys):
    for _ in track(range(2), 0, "batches"):
        clock[0] += 40
    assert capsys.readouterr().err == "shesha: 1 of 0 batches, 40 s so far\nshesha: 2 of 0 batches, 80 s so far\n"


def test_progress_can_be_silenced_and_inner_work_muted(clock, capsys, monkeypatch):
    with mute_progress():
        for _ in track(range(2), 2, "inner"):
            clock[0] += 40
    monkeypatch.setenv(progress.QUIET, "1")
    for _ in track(range(2), 2, "outer"):
        clock[0] += 40
    lines = ProgressLines()
    clock[0] += 40
    lines.say("later")
    assert capsys.readouterr().err == ""
    monkeypatch.delenv(progress.QUIET)
    lines.say("later")
    assert capsys.readouterr().err == "shesha: later, 40 s so far\n"


def test_the_best_answer_follows_each_line(clock, capsys):
    found, interrupted = [], None
    with best_answer(lambda: "\x1b[2Jouter\nshesha: forged"):
        for _ in track(range(1), 1, "steps"):
            clock[0] += 30

    def items():
        for k in range(3):
            clock[0] += 30
            yield k

    found, interrupted = collect(items(), 3, "values", describe=lambda values: f"sum {sum(values)}")
    assert (found, interrupted) == ([0, 1, 2], False)
    assert [line.rpartition("; ")[2] for line in capsys.readouterr().err.splitlines()[:3]] == [
        r"\x1b[2Jouter\nshesha: forged",
        "sum 0",
        "sum 1",
    ]


RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((120, 8))
LABELS = np.repeat(["control", "a", "b"], [100, 10, 10])
SIDES = {name: ROWS + RNG.standard_normal(ROWS.shape) for name in "abc"}
CALLS = {
    "audit": (lambda: shesha.audit(ROWS), "", 1),
    "audit with labels": (lambda: shesha.audit(ROWS, LABELS), "", 4),
    "coherence": (lambda: coherence_by_group(ROWS, LABELS, "control"), "draws", 25),
    "coherence, pooled": (lambda: coherence_by_group(ROWS, LABELS, "control", null="pooled"), "groups", 1),
    "consensus": (lambda: shesha.consensus(SIDES), "permutations", 3),
    "compare": (lambda: shesha.compare(ROWS, SIDES["a"], calibrate=True), "comparing", 70),
    "calibrate": (lambda: shesha.calibrate(ROWS, SIDES["a"], "CKA"), "permuting", 30),
    "layers": (lambda: shesha.compare_layers(SIDES, SIDES), "comparing", 3),
    "drift": (lambda: two_sample_tests(ROWS, ROWS + 1), "tests", 1),
    "drift, rows of unit length": (lambda: two_sample_tests(ROWS, 3 * ROWS), "tests of unit rows", 1),
    "index": (lambda: stored_vectors(ROWS, [4, "int8"], k=5), "ways of storing vectors", 1),
    "diff": (lambda: shesha.diff(SIDES, dict.fromkeys(SIDES, ROWS)), "layers", 2),
}


@pytest.fixture
def stop_after(monkeypatch):
    """Press Ctrl-C after some steps of the work with a label."""

    def stop(label, n):
        def stopped(items, total, its_label):
            for done, item in enumerate(items):
                if its_label == label and done == n:
                    raise KeyboardInterrupt
                yield item

        monkeypatch.setattr(progress, "track", stopped)

    return stop


@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_returns_the_best_answer_so_far(call, stop_after):
    work, label, n = CALLS[call]
    stop_after(label, n)
    found = work()
    assert found.interrupted
    assert "nterrupted" in str(found.full if hasattr(found, "full") else found)


BEFORE = {
    "rank": (
        ("shesha.ranking.resampling", "track", 1),
        lambda: shesha.rank_models(ROWS, {"same": ROWS, "other": SIDES["a"]}),
        "best so far: same 1, other ",
    ),
    "consensus": (
        ("shesha.kernels.shapes", "_rotate_each", 2),
        lambda: shesha.consensus(SIDES),
        "distances from the mean so far: ",
    ),
    "drift": (
        ("shesha.drift.two_sample_tests", "_few_rows", 1),
        lambda: two_sample_tests(ROWS, ROWS + 1),
        "energy p = 0.01, 240 rows",
    ),
    "index": (
        ("shesha.changes.index_recall", "_rank_biased_overlap", 1),
        lambda: stored_vectors(ROWS, [8, 4], k=5),
        "among 120 of the rows: 8 dimensions 100.0%, 4 dimensions ",
    ),
}


@pytest.mark.parametrize("name", BEFORE)
def test_ctrl_c_before_there_is_a_result_names_the_best_answer(name, monkeypatch):
    (module, function, n_calls), work, answer = BEFORE[name]
    place = importlib.import_module(module)
    real, calls = getattr(place, function), []

    def stopped(*arguments):
        calls.append(arguments)
        if len(calls) == n_calls:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(place, function, stopped)
    with pytest.raises(KeyboardInterrupt) as interrupt:
        work()
    assert interrupt.value.__notes__[0].startswith(answer)


def test_an_interrupted_audit_is_not_kept(stop_after, tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", ROWS)
    store = tmp_path / "store.sqlite"
    with monkeypatch.context():
        stop_after("", 1)
        assert shesha.audit(tmp_path / "x.npy", store=store).interrupted
    monkeypatch.undo()
    assert not shesha.audit(tmp_path / "x.npy", store=store).interrupted
