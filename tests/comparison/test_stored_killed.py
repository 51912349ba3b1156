"""A comparison that is killed, or whose workers die, goes on where it was, on processes and on a cluster."""

import importlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from shesha import compare_all
from shesha.comparison import resumable_pairs
from shesha.measures import registry as registry
from shesha.runs import ResultStore

HERE = Path(__file__).parent
N_FILES, N_KILLS, PATIENCE = 8, 3, 120.0
BLOCK = 3


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "steps"
    place.mkdir()
    for number in range(N_FILES):
        np.save(place / f"step{number}.npy", np.random.default_rng(number).standard_normal((20, 4)))
    return place


@pytest.fixture
def own(monkeypatch):
    """The measures of the program, which workers find by name; nothing of them stays."""
    kept = dict(registry.MEASURES.known), dict(registry.MEASURES.aliases)
    monkeypatch.syspath_prepend(HERE)
    module = importlib.import_module("stored_measures")
    for name in ("STORED_CALLS", "STORED_SLEEP", "STORED_VICTIM"):
        monkeypatch.delenv(name, raising=False)
    yield [module.stored_both, module.stored_one_way, "CKA"]
    sys.modules.pop("stored_measures", None)
    for table, before in zip((registry.MEASURES.known, registry.MEASURES.aliases), kept, strict=True):
        table.clear()
        table.update(before)


def table(found):
    return found.to_frame(full=True).drop(columns="seconds")


def cells(store):
    """Return the keys and values that a store keeps."""
    with ResultStore(store, create=False) as opened:
        return {key: text.split(",")[0] for key, text in opened.items(resumable_pairs.CELLS)}


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def until(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happens"
        time.sleep(0.02)


@pytest.mark.parametrize("workers", [1])
def test_killed_again_and_again_it_ends_with_the_same_numbers(folder, tmp_path, own, monkeypatch, workers):
    calls, store = tmp_path / "calls", tmp_path / "a.sqlite"
    paths = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH", ""))))
    environment = {**os.environ, "PYTHONPATH": paths, "STORED_CALLS": str(calls), "STORED_SLEEP": "0.02"}
    script = [sys.executable, str(HERE / "stored_run.py"), str(folder), str(store), str(workers)]

    def start():
        return subprocess.Popen(script, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    draw, n_killed = random.Random(workers), 0
    for number in range(N_KILLS):
        before = len(lines(calls))
        with start() as program:
            if number % 3:
                until(lambda seen=before, program=program: len(lines(calls)) > seen or program.poll() is not None)
            time.sleep(draw.uniform(0, 0.4))
            program.send_signal(signal.SIGKILL)
            said, _ = program.communicate(timeout=PATIENCE)
        assert "Traceback" not in said, said
        n_killed += program.returncode == -signal.SIGKILL
    assert n_killed > 1
    kept = cells(store)
    with start() as program:
        said, _ = program.communicate(timeout=PATIENCE)
    assert (program.returncode, said) == (0, "")
    assert kept.items() <= cells(store).items()
    expected = compare_all({path.stem: np.load(path) for path in sorted(folder.iterdir())}, own)
    monkeypatch.setenv("STORED_CALLS", str(calls))
    before = len(lines(calls))
    assert table(compare_all(folder, own, store=store)).equals(table(expected))
    assert len(lines(calls)) == before
    # Each kill loses what was under way: two blocks per worker at most.
    n_pairs = N_FILES * (N_FILES + 1) // 2 + N_FILES**2
    repeated = sum(Counter(line for line in lines(calls)).values()) - n_pairs
    assert 0 <= repeated <= N_KILLS * 2 * workers * 2 * BLOCK**2
    assert not (tmp_path / "a.sqlite.arrays").exists()


def test_a_pair_that_kills_its_worker_costs_its_block_and_only_for_now(folder, tmp_path, own, monkeypatch):
    monkeypatch.setattr(resumable_pairs, "BLOCK", 2)
    store, calls = tmp_path / "a.sqlite", tmp_path / "calls"
    arrays = {path.stem: np.load(path) for path in sorted(folder.iterdir())[:4]}
    expected = compare_all(arrays, own[:1])
    victim = expected.matrix("stored both").loc["step0", "step1"]
    monkeypatch.setenv("STORED_VICTIM", f"{victim:.9g}")
    monkeypatch.setenv("STORED_CALLS", str(calls))
    found = compare_all(arrays, own[:1], store=store, workers=2).to_frame(full=True)
    lost = found[found["value"].isna()]
    assert ("step0", "step1") in set(zip(lost["first"], lost["second"], strict=True))
    assert set(lost["reason"]) == {"the worker died 3 times (out of memory?)"}
    assert len(lost) <= 4
    monkeypatch.delenv("STORED_VICTIM")
    again = compare_all(arrays, own[:1], store=store)
    assert table(again).equals(table(expected))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_cluster_gives_the_numbers_of_this_process(folder, tmp_path, own):
    distributed = pytest.importorskip("distributed")
    arrays = {path.stem: np.load(path) for path in sorted(folder.iterdir())}
    expected = table(compare_all(arrays, own))
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster:
        address = cluster.scheduler_address
        assert table(compare_all(folder, own, scheduler=address, store=tmp_path / "a.sqlite")).equals(expected)
        assert table(compare_all(arrays, own, scheduler=address)).equals(expected)
    assert len(cells(tmp_path / "a.sqlite")) == 36 + 64 + 28
