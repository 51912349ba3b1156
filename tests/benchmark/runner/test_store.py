"""The store: what it keeps, refuses and reads of earlier versions."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import numpy as np
import pytest

from shesha.support import sqlite
from shesha_bench.catalogue import Model, Outcome, Setting
from shesha_bench.jobs import Archive, model_key, reference
from shesha_bench.run_suite import run, status
from shesha_bench.store import Cell, Store, StoreError, Trained, lock_run
from shesha_bench.stored_results import results
from shesha_bench.suites import Suite

from .reading import cells

OPTIONS = {"measures": ["CKA"], "tests": ["shortcut"]}


def test_a_store_of_another_layout_is_refused_by_all(here, toy):
    with Store("a.sqlite") as opened:
        opened.describe(schema="99")
    expected = r"store must have layout 2, got 99 in a\.sqlite, .*Pass another file with --store"
    for use in (lambda: run(toy, store="a.sqlite", **OPTIONS), lambda: results("a.sqlite", toy)):
        with pytest.raises(StoreError, match=expected):
            use()


N = 6


@pytest.fixture
def kept(rng, tmp_path):
    """An archive with a model of three layers, and the layers."""
    layers = [rng.standard_normal((N, width)).astype(np.float32) for width in (4, 3, 5)]
    archive = Archive(tmp_path)
    archive.save("key", Outcome({"mean": layers}, np.eye(N), np.arange(N)), 2.5)
    return archive, layers


def test_layers_are_found_by_their_numbers_and_the_last_by_its_name_as_well(kept):
    archive, layers = kept
    assert archive.n_layers("key", "mean") == 3
    for number, layer in enumerate(layers):
        assert np.array_equal(archive.layer(reference("key", "mean", number)), layer)
    assert np.array_equal(archive.layer(reference("key", "mean")), layers[-1])
    assert model_key(reference("key", "mean", 1)) == "key"


def test_outputs_are_kept_with_the_seconds_of_training(kept):
    probabilities, labels, seconds = kept[0].outputs("key")
    assert np.array_equal(probabilities, np.eye(N))
    assert labels.tolist() == list(range(N))
    assert seconds == 2.5


def test_the_last_layer_is_a_map_of_one_position_beside_maps_only(rng, tmp_path):
    archive = Archive(tmp_path)
    maps = rng.standard_normal((N, 2, 2, 3)).astype(np.float32)
    last = rng.standard_normal((N, 5)).astype(np.float32)
    archive.save("key", Outcome({"": [maps, last]}, np.eye(N), np.arange(N)), 1.0)
    # Stored with channels last, returned as torch has them.
    assert np.array_equal(archive.layer("key//0"), np.moveaxis(maps, -1, 1))
    assert archive.layer("key//1").shape == (N, 5, 1, 1)
    assert np.array_equal(archive.layer("key//1")[:, :, 0, 0], last)
    assert np.array_equal(archive.layer("key//last"), last)


def test_models_that_are_missing_or_damaged_are_not_there(kept):
    archive, _ = kept
    assert archive.has("key") and not archive.has("other")
    path = archive.outcome_path("key")
    path.write_bytes(path.read_bytes()[:200])
    assert not archive.has("key")
    with pytest.raises(ValueError, match=r"model file must be complete, got .*; remove it to train again"):
        archive.n_layers("key", "mean")


CELL = Cell("a//last", "b//last", "CKA", "1", 0.5, 0.1)


@pytest.mark.parametrize("content", [b"first,second\n" * 50, b"x"])
def test_a_file_of_another_kind_is_refused_and_left_alone(here, toy, content):
    path = here / "a.sqlite"
    path.write_bytes(content)
    for use in (lambda: run(toy, store=path, **OPTIONS), lambda: results(path, toy)):
        with pytest.raises(StoreError, match=r"store must be a file written by `shesha bench run`, got .*a\.sqlite"):
            use()
    assert path.read_bytes() == content


def test_a_store_of_another_suite_is_refused(here, toy):
    run(toy, store="a.sqlite", **OPTIONS)
    before = cells("a.sqlite")
    with pytest.raises(ValueError, match=r"store must belong to suite 'other', got a\.sqlite of suite 'toy'"):
        run(Suite("other", toy.tasks), store="a.sqlite", **OPTIONS)
    assert cells("a.sqlite") == before


def test_forgetting_failures_keeps_what_has_a_value(here):
    model = Model("toy_domain", "D", "A", Setting(), 0)
    with Store("a.sqlite") as opened:
        opened.add_model(model, Trained("good", 0.5, 1.0))
        opened.add_model(model, Trained("bad", None, 1.0, "why"))
        opened.add_cells([CELL, Cell("a//last", "c//last", "CKA", "1", None, 0.1, "why")])
        assert opened.forget_failures() == 2
        assert set(opened.models()) == {"good"}
        assert list(opened.cells("CKA", "1").values()) == [CELL]


def test_a_store_of_a_suite_of_ones_own_is_read_with_the_suite(here, toy):
    run(toy, store="a.sqlite", **OPTIONS)
    expected = (
        r"store must belong to a suite of the library, got a\.sqlite of suite 'toy'; pass your suite with --suite"
    )
    with pytest.raises(StoreError, match=expected):
        results("a.sqlite")
    assert len(results("a.sqlite", toy)) == 2


HOLDER = """
import sys
from pathlib import Path
from shesha_bench.store import lock_run
with lock_run(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def held(here):
    """Another process writes the store."""
    script = [sys.executable, "-c", HOLDER, str(here / "a.sqlite")]
    with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_files_half_written_are_swept_by_the_run_that_may_write_alone(held, toy, here):
    models = here / "a.sqlite.models"
    models.mkdir()
    half = models / "0123.npz.1.part"
    half.write_bytes(b"PK")
    with pytest.raises(StoreError, match="store must have only one writer"):
        run(toy, store=here / "a.sqlite", wait=False, **OPTIONS)
    assert half.exists()
    held.kill()
    held.wait()
    run(toy, store=here / "a.sqlite", **OPTIONS)
    assert not half.exists()


def test_the_lock_names_its_last_owner_alone(here):
    lock = here / "a.sqlite.lock"
    lock.write_text("999999999 and more")
    with lock_run(here / "a.sqlite", wait=False):
        assert lock.read_text() == str(os.getpid())


@pytest.fixture
def small_disk(monkeypatch):
    """Let stores grow by so many pages only."""
    prepare = sqlite.prepare

    def limit(pages):
        def limited(connection, *args, **options):
            prepare(connection, *args, **options)
            ((now,),) = connection.execute("PRAGMA page_count")
            connection.execute(f"PRAGMA max_page_count = {now + pages}")

        monkeypatch.setattr(sqlite, "prepare", limited)

    yield limit
    monkeypatch.setattr(sqlite, "prepare", prepare)


def test_a_full_disk_ends_the_run_and_one_with_room_completes_it(here, toy, small_disk):
    options = {"store": "a.sqlite", "measures": ["CKA", "RSA", "LinReg", "MagDiff", "DistCorr", "RankSim"]}
    whole = run(toy, **{**options, "store": "b.sqlite"})
    everything = cells("b.sqlite")
    small_disk(12)
    with pytest.raises(OSError, match=r"no space left for a\.sqlite; finished results are kept") as stopped:
        run(toy, **options)
    assert stopped.value.errno == errno.ENOSPC
    kept = cells("a.sqlite")
    assert 0 < len(kept) < len(everything)
    small_disk(10**6)
    assert run(toy, **options).equals(whole)
    assert set(kept) <= set(cells("a.sqlite"))
    assert cells("a.sqlite") == everything


def test_a_disk_that_is_full_while_a_model_is_written_ends_the_run(here, toy, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    import torch

    with monkeypatch.context() as patching:
        patching.setattr(torch, "save", full)
        with pytest.raises(OSError, match="No space left") as stopped:
            run(toy, store="a.sqlite", **OPTIONS)
    assert stopped.value.errno == errno.ENOSPC
    assert not [path for path in (here / "a.sqlite.models").iterdir() if path.suffix == ".part"]
    assert len(run(toy, store="a.sqlite", **OPTIONS)) == 2
    assert (status("a.sqlite", toy).set_index("test").loc["shortcut", "models failed"]) == 0
