"""Rows are read ahead of the products, whatever holds them, and nothing depends on how many are read together."""

import os
import sys

import numpy as np
import pytest

from shesha import Moments
from shesha.moments import merge_all, row_sources as reading


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    return rng.standard_normal((5_000, 6)).astype(np.float32), rng.standard_normal((5_000, 5)).astype(np.float32)


def maps(tmp_path, pair, order="C"):
    for name, side in zip("xy", pair, strict=True):
        np.save(tmp_path / f"{name}.npy", np.asarray(side, order=order))
    return [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "xy"]


@pytest.mark.parametrize("order", ["C", "F"])
def test_maps_have_the_bits_of_arrays_however_many_rows_are_read_together(tmp_path, pair, order, monkeypatch):
    expected = merge_all(Moments.of(*pair).parts())
    for rows in (1, 700, 5_000):
        monkeypatch.setattr("shesha.moments.row_sources.stretch_rows", lambda sides, rows=rows: rows)
        found = merge_all(Moments.of(*maps(tmp_path, pair, order)).parts())
        assert (found.cross[0, 1] == expected.cross[0, 1]).all()
        assert (found.sides[1].products == expected.sides[1].products).all()


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="the system takes no advice about files")
def test_each_byte_of_a_map_is_announced_once_before_it_is_read(tmp_path, pair, monkeypatch):
    x, _ = maps(tmp_path, pair)
    asked = []
    monkeypatch.setattr(os, "posix_fadvise", lambda file, start, length, advice: asked.append((start, length, advice)))
    # Of an array that was cut out of a map, the place in the file is that of its first row.
    list(reading.read_ahead([x[1_000:]], range(0, 4_000, 300)))
    begin = x.offset + 1_000 * 6 * 4
    assert asked[0] == (begin, 900 * 6 * 4, os.POSIX_FADV_WILLNEED)
    assert [start for start, _, _ in asked[1:]] == [start + length for start, length, _ in asked[:-1]]
    assert sum(length for _, length, _ in asked) == 4_000 * 6 * 4


def test_a_map_whose_file_was_removed_or_refuses_advice_is_read(tmp_path, pair, monkeypatch):
    x, y = maps(tmp_path, pair)
    (tmp_path / "x.npy").unlink()
    if hasattr(os, "posix_fadvise"):
        monkeypatch.setattr(os, "posix_fadvise", lambda *_: (_ for _ in ()).throw(OSError("no advice")))
    assert len(Moments.of(x, y)) == 5_000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="page faults of one thread are counted on Linux")
def test_who_uses_rows_that_were_read_ahead_waits_for_no_page(tmp_path):
    import resource

    np.save(tmp_path / "x.npy", np.ones((4_096, 1_024)))
    x = np.load(tmp_path / "x.npy", mmap_mode="r")

    def faults(rows):
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
        assert rows.sum() == rows.size
        return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before

    (rows,) = next(reading.read_ahead([x], range(0, 2_048, 2_048)))
    faults(np.ones((2_048, 1_024)))
    assert 2 * faults(rows) < faults(x[2_048:])


def test_stretches_take_a_share_of_the_memory_budget(pair, monkeypatch):
    sides = [np.empty((0, 512), dtype=np.float64)] * 2
    monkeypatch.setenv("SHESHA_MEMORY", "8G")
    whole = reading.stretch_rows(sides)
    monkeypatch.setenv("SHESHA_MEMORY", "400M")
    few = reading.stretch_rows(sides)
    assert few < whole
    assert 3 * few * 8 * 1024 <= 400 * 2**20 / 8
    assert reading.stretch_rows([*sides, object.__new__(_OnDevice)]) > 0


class _OnDevice:
    """A tensor, whose dtype is none of NumPy's."""

    shape = (0, 4)
    dtype = "torch.float32"
