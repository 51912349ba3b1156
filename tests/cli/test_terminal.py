"""Help, version, progress and interruption."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from io import StringIO

import numpy as np
import pytest

from shesha import __version__
from shesha.support import progress

TERMINAL = {"TERM": "xterm", "COLUMNS": "80"}
_OVERRIDES = {"NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"}


def test_version(process):
    ended = process("--version")
    assert (ended.status, ended.err) == (0, "")
    assert re.fullmatch(
        rf"shesha-representations {re.escape(__version__)} \(Python 3[\d.]+, numpy [\d.]+, .*\)\n", ended.out
    )


class Terminal(StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch):
    for name in _OVERRIDES:
        monkeypatch.delenv(name, raising=False)
    for name, value in TERMINAL.items():
        monkeypatch.setenv(name, value)

    def put_in_place(delay=-1):
        # Not in the fixture: pytest gives every phase of a test its own standard error.
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(progress, "_DELAY", delay)
        return stream

    return put_in_place


def test_long_work_shows_progress_on_a_terminal(terminal, capsys):
    stream = terminal()
    assert list(progress.track("abcd", 4, "layers")) == list("abcd")
    assert "layers" in stream.getvalue()
    assert "4/4" in stream.getvalue()
    assert capsys.readouterr().out == ""


def test_long_work_tells_a_line_now_and_then_where_there_is_no_terminal(monkeypatch, capsys):
    now = iter([0.0, *(20.0 * step for step in range(1, 5))])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    assert list(progress.track("abcd", 4, "layers")) == list("abcd")
    out, err = capsys.readouterr()
    assert (out, err) == (
        "",
        "shesha: 2 of 4 layers, 40 s so far, about 40 s left\nshesha: 4 of 4 layers, 80 s so far, about 0 s left\n",
    )
    with progress.mute_progress():
        assert list(progress.track("abcd", 4, "layers")) == list("abcd")


def test_quick_work_is_silent(terminal):
    stream = terminal(delay=60)
    assert list(progress.track("abcd", 4, "layers")) == list("abcd")
    assert stream.getvalue() == ""


def test_inner_work_is_silent_while_an_outer_loop_reports(terminal):
    stream = terminal()
    with progress.mute_progress():
        assert list(progress.track("abcd", 4, "inner")) == list("abcd")
        with progress.mute_progress():
            pass
        assert list(progress.track("ab", 2, "inner")) == list("ab")
    assert list(progress.track("abc", 3, "outer")) == list("abc")
    assert "inner" not in stream.getvalue()
    assert "outer" in stream.getvalue()


def test_progress_ends_with_the_work_that_fails(terminal):
    stream = terminal()

    def failing():
        yield from (1, 2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(progress.track(failing(), 3, "layers"))
    shown = stream.getvalue()
    assert shown.rindex("\x1b[?25h") > shown.rindex("layers")  # The cursor is shown again.


PROGRAM = """
from shesha import __version__
from shesha.support import progress
from shesha.runs import Meter
from shesha.cli import main
progress._DELAY = -1
main()
"""


@pytest.fixture
def run_eager(tmp_path, X):
    """Run the program with progress from the first moment on; standard error goes where the test says."""
    np.savez(tmp_path / "layers.npz", first=X, second=X**3, third=X + 1)
    environment = {name: value for name, value in os.environ.items() if name not in _OVERRIDES} | TERMINAL
    args = ["audit", "layers.npz", "--bootstrap", "0", "--permutations", "19", "--json", "-"]

    def start(stderr):
        with (tmp_path / "out").open("wb") as out:
            command = [sys.executable, "-c", PROGRAM, *args]
            return subprocess.Popen(command, cwd=tmp_path, stdout=out, stderr=stderr, env=environment)

    return start, tmp_path / "out"


def test_progress_goes_to_a_terminal_and_output_stays_clean(run_eager, strict_json):
    pty = pytest.importorskip("pty")
    start, out = run_eager
    reader, writer = pty.openpty()
    program = start(writer)
    os.close(writer)
    shown = b""
    while chunk := _read(reader):
        shown += chunk
    os.close(reader)
    assert program.wait() == 0
    assert b"representations" in shown
    assert b"3/3" in shown
    assert b"matchings" not in shown
    assert len(strict_json(out.read_text())["representations"]) == 3


def _read(reader):
    try:
        return os.read(reader, 4096)
    except OSError:  # How Linux tells that the other side was closed.
        return b""


def test_progress_is_silent_elsewhere(run_eager, strict_json):
    start, out = run_eager
    program = start(subprocess.PIPE)
    _, shown = program.communicate()
    assert (program.returncode, shown) == (0, b"")
    assert len(strict_json(out.read_text())["representations"]) == 3


@pytest.fixture
def interrupted(invoke_main, monkeypatch, tmp_path, X):
    def stop(*args, **options):
        raise KeyboardInterrupt

    np.save(tmp_path / "m.npy", X)
    monkeypatch.setattr("shesha.auditing.audit", stop)
    return invoke_main("audit", tmp_path / "m.npy")


def test_interruption_ends_with_its_status(interrupted):
    assert (interrupted.status, interrupted.out) == (130, "")


@pytest.mark.parametrize("options", [(), ("--store", "kept.sqlite")])
def test_an_interrupted_audit_tells_what_is_finished(invoke_main, monkeypatch, tmp_path, X, options):
    from shesha.auditing import representation_audit

    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "layers.npz", layer1=X, layer2=X**3, layer3=X + 1)
    measured, done = representation_audit.find_faults, []

    def until_the_second(rows):
        if done:
            raise KeyboardInterrupt
        done.append(1)
        return measured(rows)

    monkeypatch.setattr(representation_audit, "find_faults", until_the_second)
    ended = invoke_main("audit", "layers.npz", "--bootstrap", "0", "--permutations", "19", *options)
    assert ended.status == 130
    assert "1 representation of 60 rows x 12 features" in " ".join(ended.out.split())
    assert "Interrupted: the other representations were not audited." in ended.out
    assert ended.err.endswith("shesha: interrupted\n")


def test_without_a_standard_output_files_are_written(tmp_path):
    path = tmp_path / "two.npz"
    np.savez(path, a=np.random.default_rng(0).standard_normal((20, 4)), b=np.ones((20, 4)) * np.arange(20)[:, None])
    command = f"exec {sys.executable} -m shesha compare {path} --measures CKA --json {tmp_path / 'out.json'} >&-"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "out.json").exists()


@pytest.mark.parametrize("command", [["measures"], ["--help"], ["audit", "m.npy", "--bootstrap", "0", "--full"]])
def test_a_reader_who_left_is_no_failure(command, tmp_path, X):
    np.save(tmp_path / "m.npy", X)
    reader, writer = os.pipe()
    os.close(reader)
    program = [sys.executable, "-m", "shesha", *command]
    done = subprocess.run(program, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
