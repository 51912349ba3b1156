"""Stop programs at random moments, and test that their files stay readable and that they resume with equal results.

    python scripts/kill_programs.py monitor [--kills 50]
    python scripts/kill_programs.py bench [--kills 50]

`monitor` kills a process that checks and updates a monitor. After every kill, the script reads the whole history, and
makes one more update, which must continue from the saved state. `bench` sends SIGKILL, SIGTERM or SIGINT to
`shesha bench run` and `shesha bench submit`, whose stores and files are compared with those of undisturbed runs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from shesha.drift import DriftMonitor

TOYS = Path(__file__).parents[1] / "tests" / "benchmark" / "runner"
WORK = """
import sys
import numpy as np
from shesha.drift import DriftMonitor

monitor, rng = DriftMonitor.load(sys.argv[1]), np.random.default_rng()
rows = monitor._setting.reference.rows
while True:
    monitor.check(rows + 1e-3 * rng.standard_normal(rows.shape))
    monitor.update(rng.standard_normal((5, rows.shape[1])))
    print(".", flush=True)
"""
SUITE = """
from shesha_bench import Suite
from toy_run import task

chosen = Suite("toy", (task(),))
"""
SHESHA = "import sys; from shesha.cli import main; sys.argv[0] = 'shesha'; main()"
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def look(folder: Path) -> tuple[int, int]:
    """Check that the history has consecutive numbers, and that the state belongs to the last event."""
    monitor = DriftMonitor.load(folder)
    checks, updates = monitor.history(), monitor.history("update")
    assert [one["sequence"]["number"] for one in checks] == list(range(1, len(checks) + 1))
    assert [one["n_seen"] for one in updates] == [5 * (i + 1) for i in range(len(updates))]
    found = monitor.update(np.random.default_rng([2, len(updates)]).standard_normal((5, 32)))
    assert found.n_seen == 5 * (len(updates) + 1)
    return len(checks), len(updates)


def stop_monitor(place: Path, kills: int) -> str:
    """Kill a process that uses a monitor."""
    folder, draw = place / "monitor", random.Random(0)
    rows = np.random.default_rng(0).standard_normal((80, 32))
    nulls = rows + 1e-3 * np.random.default_rng(1).standard_normal((99, *rows.shape))
    DriftMonitor(rows, nulls=nulls).save(folder, keep_rows=True)
    for _ in range(kills):
        worker = subprocess.Popen([sys.executable, "-c", WORK, folder], stdout=subprocess.PIPE)
        assert worker.stdout is not None
        assert worker.stdout.readline() == b".\n", "the process did not come to work"
        time.sleep(draw.uniform(0, 0.25))
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
        worker.stdout.close()
        found = look(folder)
    return f"{kills} kills: {found[0]} checks and {found[1]} updates, none lost, none half"


def command(place: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a command of the benchmark in its own group of processes."""
    (place / "stopped_suite.py").write_text(SUITE)
    paths = (str(place), str(TOYS), os.environ.get("PYTHONPATH", ""))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "TOY_PAUSE": "0.05"}
    environment |= {"SHESHA_QUIET": "1", "TOY_SLEEP": "0.02"}
    return subprocess.Popen(
        [sys.executable, "-c", SHESHA, "bench", *arguments],
        env=environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # Programs started in the background may ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def stop(program: subprocess.Popen[str], which: signal.Signals, seconds: float) -> bool:
    """Send a signal after some seconds; return whether the program was still running. It must end without workers."""
    try:
        said, _ = program.communicate(timeout=seconds)
        assert program.returncode == 0, said
        return False
    except subprocess.TimeoutExpired:
        program.send_signal(which)
    said, _ = program.communicate(timeout=60)
    assert program.returncode in (-which, 130 if which == signal.SIGINT else 0, 0), (which, program.returncode, said)
    # Python itself may be interrupted before the program has begun.
    assert "Traceback" not in said or (which, "from shesha.cli import main") == (signal.SIGINT, said), said
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.killpg(program.pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    raise AssertionError(f"workers outlive a program that ended by {which.name}")


def cells(store: Path) -> set[Any]:
    """Return the values in a store, which must be intact."""
    if not store.exists():
        return set()
    with closing(sqlite3.connect(store)) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        tables = [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return set(file.execute("SELECT first, second, measure, value FROM cell")) if "cell" in tables else set()


def submissions(folder: Path) -> dict[str, Any]:
    """Return the submissions in a folder, which must be complete."""
    return {path.name: json.loads(path.read_text()) for path in folder.rglob("*.json")}


def undisturbed(place: Path, *arguments: str) -> float:
    """Run a command to its end, and return its seconds."""
    began = time.monotonic()
    program = command(place, *arguments)
    said, _ = program.communicate()
    assert program.returncode == 0, said
    return time.monotonic() - began


def stop_bench(place: Path, kills: int) -> str:
    """Stop `bench run` and `bench submit`, and compare with undisturbed runs."""
    options = ("--measure", "CKA", "--measure", "toy_measures:logged", "--workers", "2", "--store")
    run = ("run", "stopped_suite:chosen", *options)
    draw, good = random.Random(0), place / "good.sqlite"
    needed = undisturbed(place, *run, str(good))
    of = ("--suite", "stopped_suite:chosen", "--store", str(good))
    seconds = undisturbed(place, "submit", str(place / "good"), *of)
    expected, sent = cells(good), submissions(place / "good")
    assert expected and sent
    counted = {"run": 0, "submit": 0}
    number = 0
    while sum(counted.values()) < kills:
        number += 1
        store, before, ended = place / f"{number}.sqlite", set[Any](), False
        while not ended and sum(counted.values()) < kills:
            ended = not stop(command(place, *run, str(store)), draw.choice(SIGNALS), draw.uniform(0.2, 0.7 * needed))
            kept = cells(store)
            assert before <= kept <= expected, "a comparison was lost or changed"
            before = kept
            counted["run"] += not ended
        undisturbed(place, *run, str(store))
        assert cells(store) == expected
        assert not list(place.glob(f"{number}.sqlite*/**/*.part")), "a draft is left"
        folder = place / f"submitted{number}"
        for _ in range(4):
            program = command(place, "submit", str(folder), *of)
            counted["submit"] += stop(program, draw.choice(SIGNALS), draw.uniform(0.5 * seconds, seconds))
            assert all(sent[name] == one for name, one in submissions(folder).items())
        undisturbed(place, "submit", str(folder), *of)
        assert submissions(folder) == sent
        assert not list(folder.rglob("*.part")), "a draft is left"
    return f"{counted['run']} stopped runs and {counted['submit']} stopped submissions: none lost, all results equal"


PROGRAMS = {"monitor": stop_monitor, "bench": stop_bench}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--kills", type=int, default=50)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        print(PROGRAMS[asked.program](Path(place), asked.kills))


if __name__ == "__main__":
    main()
