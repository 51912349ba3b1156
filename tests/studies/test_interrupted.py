"""Runs that are killed or interrupted at any moment, and folders that hold other things: nothing is lost."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from shesha.runs import ResultStore
from shesha_studies import find, run, write_page

MANY, MINE = "mine:many", "mine:mine"
SECONDS = "0.004"
"""That a cell takes: long enough for kills to fall between and into cells."""


pytestmark = pytest.mark.usefixtures("importable")


def started(out, log, workers, seconds=SECONDS):
    """Start the command in a process of its own, as a user does."""
    place = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    own = {"PYTHONPATH": place, "MINE_LOG": str(log), "MINE_SECONDS": seconds, "MPLBACKEND": "Agg"}
    command = [sys.executable, "-m", "shesha", "study", "run", MANY, "--out", str(out), "--workers", str(workers)]
    return subprocess.Popen(
        command,
        env={**os.environ, **own},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Tests that run in the background of a shell ignore Ctrl-C, and would hand that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def computed(log):
    return log.read_text().split() if log.exists() else []


def wait_for(condition, process, seconds=60.0):
    """Wait until it holds; a process that ends before does not keep us."""
    end = time.monotonic() + seconds
    while not condition() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)


def kept(out):
    with ResultStore(out / "studies.sqlite", create=False) as store:
        return dict(store.items(find(MANY).kind))


@pytest.mark.slow
def test_ten_kills_change_no_row(tmp_path):
    out, log, rng = tmp_path / "out", tmp_path / "log", random.Random(320)
    in_flight = 0
    for turn in range(10):
        workers = 1 + turn % 2
        before, wanted = len(computed(log)), rng.randrange(1, 30)
        with started(out, log, workers) as process:
            if turn in (3, 6):
                # Before it has begun, or while it does.
                time.sleep(rng.random() / 2)
            else:
                wait_for(lambda before=before, wanted=wanted: len(computed(log)) >= before + wanted, process)
                time.sleep(rng.random() / 100)
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        in_flight += 2 * workers
    done = kept(out)
    with started(out, log, 2) as last:
        _, told = last.communicate(timeout=60)
    assert last.returncode == 0, told.decode()
    undisturbed = tmp_path / "undisturbed"
    (whole,) = run([MANY], out=undisturbed)
    assert whole.complete
    for name in ("rows.csv", "checks.csv"):
        assert (out / "many" / name).read_bytes() == (undisturbed / "many" / name).read_bytes()
    # Only what was under way when a run was killed was computed again, and the kills did fall into the work.
    times = Counter(computed(log))
    assert 0 < len(done) < 400
    assert sum(times.values()) - 400 <= in_flight
    with closing(sqlite3.connect(out / "studies.sqlite")) as connection, connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ctrl_c_keeps_what_was_computed_and_says_how_to_go_on(tmp_path, workers):
    out, log = tmp_path / "out", tmp_path / "log"
    # Ten seconds in all: however busy the machine is, the signal comes before the end.
    with started(out, log, workers, seconds="0.025") as process:
        wait_for(lambda: len(computed(log)) >= 20, process)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"finished cells are in {out}. Rerun the same command" in told.decode()
    assert "Traceback" not in told.decode()
    done = kept(out)
    assert 10 <= len(done) < 400
    assert f"{len(done)} of the 400 cells of the full grid" in write_page(MANY, out, quick=False).read_text()
    (whole,) = run([MANY], out=out)
    assert whole.complete
    # What was kept is not computed again here: its seconds are those of the first run.
    assert set(kept(out).items()) >= set(done.items())
