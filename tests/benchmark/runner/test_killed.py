"""A run that is killed or interrupted goes on where it was: nothing is lost, changed or left behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from pathlib import Path

import pytest

from shesha.support import progress
from shesha_bench import run_suite
from shesha_bench.run_suite import run
from shesha_bench.store import StoreError

from .reading import cells
from .toy_run import CHUNK, WORKERS, Inline

HERE = Path(__file__).parent
MEASURES = ("toy_measures:logged", "CKA", "LinReg", "calibrated CKA")
PATIENCE = 120.0
"""Seconds that a busy machine may need for what takes moments."""
pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc")


class Program:
    """The toy run as a program of its own session, whose processes all carry a mark."""

    def __init__(self, store: Path, environment: dict[str, str]) -> None:
        self.mark = uuid.uuid4().hex
        script = [sys.executable, str(HERE / "toy_run.py"), str(store), *MEASURES]
        self.process = subprocess.Popen(
            script,
            # A slow machine would print progress, which is no complaint.
            env=environment | {"TOY_MARK": self.mark, progress.QUIET: "1"},
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def survivors(self) -> list[int]:
        """Return the processes that carry the mark."""
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    environment = (folder / "environ").read_bytes()
                    ended = "(zombie)" in (folder / "status").read_text()
                except OSError:
                    continue
                if self.mark.encode() in environment and not ended:
                    found.append(int(folder.name))
        return found

    def gone(self) -> bool:
        """Wait for its workers to end."""
        return until(lambda: not self.survivors(), 30)

    def clean_up(self) -> None:
        self.process.kill()
        self.process.communicate()
        for pid in self.survivors():
            os.kill(pid, signal.SIGKILL)


def until(condition, seconds=PATIENCE):
    """Wait for a condition; False if it does not come true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def start(tmp_path, script_environment):
    """Start the program in its folder, as often as wanted."""
    environment = script_environment | {
        "TOY_LOG": str(tmp_path / "trained"),
        "TOY_CALLS": str(tmp_path / "calls"),
        "TOY_PAUSE": "0.1",
        "TOY_SLEEP": "0.1",
    }
    started: list[Program] = []

    def begin() -> Program:
        started.append(Program(tmp_path / "toy.sqlite", environment))
        return started[-1]

    yield begin
    for program in started:
        program.clean_up()


@pytest.fixture(scope="module")
def uninterrupted(patch, toy, tmp_path_factory):
    """The cells of a run that nothing disturbed, in one process."""
    patch.setattr(run_suite, "_executor", lambda *_: Inline())
    store = tmp_path_factory.mktemp("reference") / "toy.sqlite"
    run(toy, store=store, measures=MEASURES)
    return cells(store)


def n_logged(path):
    """Number of comparisons by the logged measure that are written, none before there is a store."""
    try:
        return sum(row[2] == "logged" for row in cells(path))
    except (FileNotFoundError, StoreError):
        return 0


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def repeated(found):
    return sum(count - 1 for count in Counter(found).values())


def test_killed_again_and_again_it_ends_with_the_same_numbers(start, tmp_path, uninterrupted):
    draw = random.Random(3)
    calls, trained = tmp_path / "calls", tmp_path / "trained"
    models = tmp_path / "toy.sqlite.models"
    models.mkdir()
    # What a process leaves that is killed while it writes.
    (models / f"{uninterrupted[0][0].split('/')[0]}.npz.1.part").write_bytes(b"PK")
    store, lost = tmp_path / "toy.sqlite", 0
    for number, anywhere in enumerate((True, False)):
        program = start()
        if anywhere:
            time.sleep(draw.uniform(0.5, 3))
        else:
            before = len(lines(calls)) + len(lines(trained))
            assert until(lambda before=before: len(lines(calls)) + len(lines(trained)) > before)
            assert until(lambda: n_logged(store) > 0)
            time.sleep(draw.uniform(0, 2.5))
        os.kill(program.process.pid, signal.SIGKILL)
        said, _ = program.process.communicate(timeout=PATIENCE)
        assert program.process.returncode == -signal.SIGKILL, said
        assert program.gone(), "workers outlive their run"
        # Only what was lost before may have been computed again.
        assert repeated(lines(calls)) <= lost
        in_flight = len(set(lines(calls))) - n_logged(store)
        assert 0 <= in_flight <= CHUNK * 2 * WORKERS
        lost += in_flight
        assert repeated(lines(trained)) <= (number + 1) * WORKERS
    program = start()
    said, _ = program.process.communicate(timeout=5 * PATIENCE)
    assert program.process.returncode == 0, said
    assert said == ""
    assert cells(store) == uninterrupted
    assert repeated(lines(calls)) <= lost
    assert len(set(lines(calls))) == n_logged(store)
    assert list(models.glob("*.part")) == []
    keys = {name.split("/")[0] for row in uninterrupted for name in row[:2]}
    assert {path.stem for path in models.glob("*.npz")} == keys


def test_what_is_interrupted_ends_soon_and_goes_on_later(start, tmp_path, toy, uninterrupted, monkeypatch):
    store, calls = tmp_path / "toy.sqlite", tmp_path / "calls"
    program = start()
    assert until(lambda: len(lines(calls)) > 3 * CHUNK)
    asked = time.monotonic()
    os.kill(program.process.pid, signal.SIGINT)
    said, _ = program.process.communicate(timeout=PATIENCE)
    assert time.monotonic() - asked < 20
    assert program.process.returncode != 0
    assert "KeyboardInterrupt" in said
    assert program.gone(), "workers outlive their run"
    kept = cells(store)
    assert 0 < len(kept) < len(uninterrupted)
    monkeypatch.setenv("TOY_CALLS", str(calls))
    run(toy, store=store, measures=MEASURES)
    assert set(kept) <= set(cells(store))
    assert cells(store) == uninterrupted
    assert repeated(lines(calls)) <= CHUNK * 2 * WORKERS


def test_ctrl_c_on_the_terminal_reaches_workers_that_leave_it_to_the_run(start, tmp_path):
    program = start()
    assert until(lambda: len(lines(tmp_path / "calls")) > CHUNK)
    # The terminal signals the whole group.
    os.killpg(program.process.pid, signal.SIGINT)
    said, _ = program.process.communicate(timeout=PATIENCE)
    assert said.count("Traceback") <= 1, said
    assert "KeyboardInterrupt" in said
    assert program.gone(), "workers outlive their run"
