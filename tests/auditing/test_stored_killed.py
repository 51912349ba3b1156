"""An audit that is killed goes on where it was."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from shesha.auditing import stored_audits

HERE = Path(__file__).parent
N_FILES, PATIENCE = 6, 120.0


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.slow
def test_killed_it_ends_with_the_same_findings(tmp_path, quick_audit, monkeypatch):
    folder, store, calls = tmp_path / "steps", tmp_path / "a.sqlite", tmp_path / "calls"
    folder.mkdir()
    for number in range(N_FILES):
        np.save(folder / f"step{number}.npy", np.random.default_rng(number).standard_normal((30, 8)))
    script = [sys.executable, str(HERE / "stored_run.py"), *map(str, (folder, store, calls))]

    def start():
        return subprocess.Popen(
            script, env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    for n_begun in (2, 4):
        with start() as program:
            end = time.monotonic() + PATIENCE
            while len(lines(calls)) < n_begun and program.poll() is None:
                assert time.monotonic() < end, "nothing happens"
                time.sleep(0.01)
            program.send_signal(signal.SIGKILL)
            program.communicate(timeout=PATIENCE)
        assert program.returncode == -signal.SIGKILL
    with start() as program:
        said, _ = program.communicate(timeout=PATIENCE)
    assert (program.returncode, said) == (0, "")
    begun = Counter(lines(calls))
    assert len(begun) == N_FILES
    # Each kill loses what was under way.
    assert N_FILES <= sum(begun.values()) <= N_FILES + 2
    arrays = {path.stem: np.load(path) for path in sorted(folder.iterdir())}
    monkeypatch.setattr(stored_audits, "audit_subject", lambda *_: pytest.fail("audits again"))
    assert quick_audit(folder, store=store) == quick_audit(arrays)
