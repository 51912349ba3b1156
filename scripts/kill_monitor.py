"""Kill a process that checks and updates a monitor, and test that its history and state stay readable and consistent.

    python scripts/kill_monitor.py [--kills 50]

After every kill, the script reads the whole history, and makes one more update, which must continue from the saved
state.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from shesha.drift import DriftMonitor

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


def look(folder: Path) -> tuple[int, int]:
    """Check that the history has consecutive numbers, and that the state belongs to the last event."""
    monitor = DriftMonitor.load(folder)
    checks, updates = monitor.history(), monitor.history("update")
    assert [one["sequence"]["number"] for one in checks] == list(range(1, len(checks) + 1))
    assert [one["n_seen"] for one in updates] == [5 * (i + 1) for i in range(len(updates))]
    found = monitor.update(np.random.default_rng(0).standard_normal((5, 32)))
    assert found.n_seen == 5 * (len(updates) + 1)
    return len(checks), len(updates)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    kills = parser.parse_args().kills
    folder, draw = Path(tempfile.mkdtemp()) / "monitor", random.Random(0)
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
    print(f"{kills} kills: {found[0]} checks and {found[1]} updates, none lost, none half")


if __name__ == "__main__":
    main()
