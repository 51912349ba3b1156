"""A saved monitor is the same monitor; what is broken or half written is refused; any death leaves it whole."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import numpy as np
import pytest

from shesha import MeasureWarning
from shesha.drift import DriftMonitor
from shesha.inputs import NamedRows
from shesha.measures import get


@pytest.fixture
def folder(tmp_path, canaries, again):
    nulls = [again() for _ in range(19)]
    labels = np.repeat(["a", "b"], 24)
    reference = NamedRows(canaries, [f"text {i}" for i in range(48)])
    monitor = DriftMonitor(reference, nulls=nulls, labels=labels, false_alarm=0.05, about={"revision": "a1"})
    monitor.save(tmp_path / "canary", keep_rows=True)
    return tmp_path / "canary"


def test_a_loaded_monitor_finds_the_same_to_the_last_bit(tmp_path, canaries, again):
    nulls = [again() for _ in range(19)]
    monitor = DriftMonitor(canaries, nulls=nulls, false_alarm=0.05, tolerance=0.01, about={"a": "b"})
    current = again(0.02)
    there = monitor.check(current)
    monitor.save(tmp_path / "m")
    back = DriftMonitor.load(tmp_path / "m")
    here = back.check(current)
    assert here == there
    assert (back.n_nulls, back.false_alarm, back.about, back.n_rows) == (19, 0.05, {"a": "b"}, 48)


def test_one_file_holds_the_same_monitor_without_a_history(tmp_path, canaries, again):
    named = NamedRows(canaries, [f"text {i}" for i in range(48)])
    monitor = DriftMonitor(named, nulls=[again() for _ in range(19)], false_alarm=0.05, about={"a": "b"})
    file, current = tmp_path / "new" / "canary.npz", again(0.02)
    monitor.save(file)
    back = DriftMonitor.load(file)
    assert back.check(current) == monitor.check(current)
    assert (back.n_nulls, back.about, [path.name for path in file.parent.iterdir()]) == (19, {"a": "b"}, [file.name])
    with pytest.raises(FileExistsError, match="overwrite=True"):
        monitor.save(file)
    DriftMonitor(named).save(file, overwrite=True)
    assert DriftMonitor.load(file).n_nulls == 0


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.eye(3)}, "must be a monitor that was saved as one file, got another file"),
        ({"monitor": np.array('{"layout": 9, "shesha": "9.9"}')}, "layout 1, got layout 9, written by shesha 9.9"),
        ({"monitor": np.array([{}], dtype=object)}, "must be a monitor that was saved as one file"),
    ],
)
def test_files_that_are_no_monitors_are_refused_and_kept(tmp_path, canaries, arrays, message):
    file = tmp_path / "canary.npz"
    np.savez(file, **arrays)
    before = file.read_bytes()
    with pytest.raises(ValueError, match=message):
        DriftMonitor.load(file)
    with pytest.raises(ValueError, match=message):
        DriftMonitor(canaries).save(file, overwrite=True)
    assert file.read_bytes() == before


@pytest.mark.parametrize("shape", [(30, 8), (8, 30)])
def test_without_its_rows_a_monitor_keeps_their_geometry_alone(tmp_path, rng, shape):
    X = rng.standard_normal(shape)
    DriftMonitor(X).save(tmp_path / "m")
    (file,) = (tmp_path / "m").glob("arrays-*.npz")
    with np.load(file, allow_pickle=False) as arrays:
        assert set(arrays) == {"geometry"}
        kept = arrays["geometry"]
    assert kept.shape == (shape[0], min(shape))
    assert kept @ kept.T == pytest.approx(X @ X.T)
    # Of the encoder's axes nothing is left: the first row has one direction.
    assert np.abs(kept[0, 1:]).max() < 1e-12
    with pytest.raises(ValueError, match=r"update needs the rows of the reference, .*keep_rows=True"):
        DriftMonitor.load(tmp_path / "m").update(X + 1)


def test_a_monitor_of_one_feature_is_loaded_and_refuses_names_of_its_reference(tmp_path, rng):
    rows, names = rng.standard_normal((20, 1)), [f"r{i}" for i in range(20)]
    nulls = rows + 1e-3 * rng.standard_normal((19, *rows.shape))
    DriftMonitor(NamedRows(rows, names), nulls=nulls, false_alarm=0.1).save(tmp_path / "m", keep_rows=True)
    with pytest.raises(
        ValueError, match=r"batch must contain new inputs, got rows with names of the reference \(r0, r1"
    ):
        DriftMonitor.load(tmp_path / "m").update(NamedRows(rows[:5] + 1, names[:5]))


def test_measures_that_see_the_axes_need_the_rows(tmp_path, canaries):
    monitor = DriftMonitor(canaries, measures=["RSA"])
    with pytest.raises(
        ValueError, match="keep_rows must be True if a measure depends on the axes of the features, got False"
    ):
        monitor.save(tmp_path / "m")
    monitor.save(tmp_path / "m", keep_rows=True)
    assert DriftMonitor.load(tmp_path / "m").measures[0] == get("RSA")


def test_history_goes_on_over_processes(folder, canaries, rng):
    for number in (1, 2):
        assert DriftMonitor.load(folder).check(canaries).sequence.number == number
        assert DriftMonitor.load(folder).update(rng.standard_normal((5, 12))).n_seen == 5 * number
    monitor = DriftMonitor.load(folder)
    events = monitor.history()
    assert [one["sequence"]["number"] for one in events] == [1, 2]
    assert [one["state"] for one in events] == ["ok", "ok"]
    assert monitor.history(last=1) == events[1:]
    assert len(monitor.history("update")) == 2
    assert events[0]["at"] <= events[1]["at"]


def test_a_new_reference_starts_evidence_anew_and_keeps_the_history(folder, canaries, again):
    DriftMonitor.load(folder).check(canaries)
    other = DriftMonitor(again(1.0))
    with pytest.raises(FileExistsError, match=r"folder must not contain a monitor yet, got .*overwrite=True"):
        other.save(folder)
    other.save(folder, overwrite=True)
    back = DriftMonitor.load(folder)
    assert len(back.history()) == 1
    back.check(canaries)
    assert len(back.history()) == 2
    assert len(list(folder.glob("arrays-*.npz"))) == 1


def test_what_is_no_monitor_is_refused(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"folder must be a directory made by save .* \(no such directory"):
        DriftMonitor.load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match=r"no monitor.json in it"):
        DriftMonitor.load(tmp_path)
    about = folder / "monitor.json"
    good = about.read_text()
    about.write_text(json.dumps(json.loads(good) | {"layout": 2, "shesha": "9.9"}))
    with pytest.raises(ValueError, match=r"layout 1, got layout 2, written by shesha 9.9; use that version"):
        DriftMonitor.load(folder)
    about.write_text(good[: len(good) // 2])
    with pytest.raises(ValueError, match="must describe a monitor, got other contents"):
        DriftMonitor.load(folder)
    about.write_text(good)
    (file,) = folder.glob("arrays-*.npz")
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"folder must contain a complete monitor, .* is missing or damaged"):
        DriftMonitor.load(folder)
    about.write_text(json.dumps(json.loads(good) | {"arrays": "../../secret.npz"}))
    with pytest.raises(ValueError, match=r"secret.npz is missing or damaged"):
        DriftMonitor.load(folder)
    with pytest.raises(NotADirectoryError, match="folder must be a directory, got the file"):
        DriftMonitor(np.eye(5)).save(about)


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TRIGGER gone AFTER INSERT ON event BEGIN DELETE FROM event; END",),
        ("ALTER TABLE event RENAME TO other", "CREATE VIEW event AS SELECT * FROM other"),
    ],
)
def test_a_history_with_another_schema_is_neither_read_nor_changed(folder, again, statements):
    monitor = DriftMonitor.load(folder)
    monitor.check(again())
    with closing(sqlite3.connect(folder / "history.sqlite", isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
    before = (folder / "history.sqlite").read_bytes()
    with pytest.raises(ValueError, match=r"must be a file written by .*history\.sqlite"):
        monitor.history("check")
    with pytest.warns(MeasureWarning, match=r"history\.sqlite"):
        monitor.check(again())
    assert (folder / "history.sqlite").read_bytes() == before


def test_arrays_with_objects_are_not_unpickled(folder):
    (file,) = folder.glob("arrays-*.npz")
    np.savez(file, geometry=np.array([{}], dtype=object))
    content, about = file.read_bytes(), folder / "monitor.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"sha256": hashlib.sha256(content).hexdigest()}))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        DriftMonitor.load(folder)


def test_a_verdict_that_cannot_be_kept_is_given_all_the_same(folder, again):
    history = folder / "history.sqlite"
    history.write_text("no database")
    with pytest.warns(MeasureWarning, match=r"not stored in the history.*written by `shesha monitor`"):
        assert DriftMonitor.load(folder).check(again(1.0)).state == "alert"
    history.unlink()
    history.mkdir()
    with pytest.warns(MeasureWarning, match="not stored in the history"):
        verdict = DriftMonitor.load(folder).check(again(1.0))
    assert verdict.state == "alert"
    assert verdict.notes[-1].startswith("the verdict was not stored in the history and ignores earlier checks")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_directory_can_be_read_and_checked_against(folder, again):
    folder.chmod(0o500)
    try:
        with pytest.warns(MeasureWarning, match="not stored in the history"):
            assert DriftMonitor.load(folder).check(again(1.0)).state == "alert"
    finally:
        folder.chmod(0o700)


def test_the_history_in_a_folder_without_write_access_can_be_read(folder, again, monkeypatch):
    before = DriftMonitor.load(folder).check(again(1.0))
    monkeypatch.setattr("shesha.support.sqlite.os.access", lambda *_: False)
    assert [one["state"] for one in DriftMonitor.load(folder).history()] == [before.state]
    with pytest.warns(MeasureWarning, match="not stored in the history.*readonly"):
        DriftMonitor.load(folder).check(again(1.0))


WORK = """
import sys
import numpy as np
from shesha.drift import DriftMonitor

monitor = DriftMonitor.load(sys.argv[1])
rng = np.random.default_rng()
rows = np.load(sys.argv[2])
begun = False
while True:
    monitor.check(rows)
    monitor.update(rng.standard_normal((5, 12)))
    begun = begun or print("begun", flush=True) is None
"""


def consistent(folder) -> int:
    """Look at a history that a process left behind, go on with it, and return how many checks it holds."""
    monitor = DriftMonitor.load(folder)
    checks, updates = monitor.history(), monitor.history("update")
    assert [one["sequence"]["number"] for one in checks] == list(range(1, len(checks) + 1))
    assert [one["n_seen"] for one in updates] == [5 * (i + 1) for i in range(len(updates))]
    assert monitor.update(np.random.default_rng([1, len(updates)]).standard_normal((5, 12))).n_seen == 5 * (len(updates) + 1)
    return len(checks)


def killed(folder, rows, seconds: float) -> None:
    """Let a process check and update, and kill it."""
    worker = subprocess.Popen([sys.executable, "-c", WORK, folder, rows], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    with worker.stdout as said:
        assert said.readline() == "begun\n"
        time.sleep(seconds)
        os.kill(worker.pid, signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        worker.wait()


def test_killing_the_process_leaves_a_whole_history(folder, canaries, tmp_path):
    np.save(tmp_path / "rows.npy", canaries)
    for _ in range(2):
        killed(folder, tmp_path / "rows.npy", random.Random(4).uniform(0.05, 0.3))
        found = consistent(folder)
    assert found >= 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"level": "0.05"}, "level = '0.05', which must be a number above 0"),
        ({"level": None}, "level = None"),
        ({"tolerance": float("nan")}, "tolerance = nan"),
        ({"measures": []}, r"measures = \[\], which must be names"),
        ({"measures": {"CKA": 1}}, "measures = "),
        ({"classes": ["a"]}, r"null_classes of shape \(2,\) instead of \(1,\)"),
        ({"measures": ["CKA"]}, r"null_drifts of shape .* instead of \(19, 1\)"),
        ({"run_length": []}, r"run_length = \[\]"),
        ({"about": {"a": 1}}, "about = "),
        ({"seed": True}, "seed = True"),
    ],
)
def test_a_monitor_of_which_a_value_is_odd_is_refused_when_it_is_loaded(folder, changes, message):
    about = folder / "monitor.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | changes))
    with pytest.raises(ValueError, match=rf"monitor.json must contain an undamaged monitor, got .*{message}"):
        DriftMonitor.load(folder)


@pytest.mark.parametrize("name", ["run_length", "n_inputs", "doubts"])
def test_a_monitor_that_lacks_a_value_is_refused_even_if_nothing_is_a_value(folder, name):
    about = folder / "monitor.json"
    about.write_text(json.dumps({key: value for key, value in json.loads(about.read_text()).items() if key != name}))
    with pytest.raises(ValueError, match=rf"must contain an undamaged monitor, got no {name};"):
        DriftMonitor.load(folder)


def test_arrays_of_which_a_value_is_odd_are_refused(tmp_path, canaries, again):
    good = DriftMonitor(canaries, nulls=[again() for _ in range(19)], labels=np.arange(48) % 2, false_alarm=0.05)
    good.save(tmp_path / "good.npz", keep_rows=True)
    with np.load(tmp_path / "good.npz") as found:
        arrays = dict(found)
    for name, odd in (("codes", arrays["codes"] + 1), ("rows", arrays["rows"][:-1]), ("null_rows", None)):
        kept = {key: value for key, value in (arrays | {name: odd}).items() if value is not None}
        np.savez(tmp_path / "odd.npz", **kept)
        with pytest.raises(ValueError, match=r"odd.npz must contain an undamaged monitor, got"):
            DriftMonitor.load(tmp_path / "odd.npz")


def test_an_empty_file_is_no_monitor(tmp_path):
    (tmp_path / "empty.npz").touch()
    with pytest.raises(ValueError, match=r"empty.npz must be a monitor that was saved as one file"):
        DriftMonitor.load(tmp_path / "empty.npz")


def test_any_run_length_has_a_threshold(canaries, again):
    nulls = [again() for _ in range(19)]
    verdict = DriftMonitor(canaries, nulls=nulls, run_length=1e300).check(canaries)
    assert verdict.sequence.threshold == 1e300


def test_equal_rows_are_no_reference():
    with pytest.raises(ValueError, match="reference must have rows that differ, got 9 equal rows"):
        DriftMonitor(np.full((9, 3), 0.3))
