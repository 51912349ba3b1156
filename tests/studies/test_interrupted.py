"""Runs that are killed or interrupted at any moment, and folders that hold other things: nothing is lost."""

import os
import signal
import subprocess
import sys
import time
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


@pytest.mark.parametrize("workers", [1])
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
