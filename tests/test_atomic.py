"""Files are whole or not there."""

from __future__ import annotations

import pytest

from shesha.support import atomic_files


def test_a_text_and_bytes_are_written_and_leave_nothing_else(tmp_path):
    atomic_files.write_text(tmp_path / "a.txt", "ä\n")
    atomic_files.write_bytes(tmp_path / "b.bin", b"\x00\r\n")
    assert (tmp_path / "a.txt").read_bytes() == "ä\n".encode()
    assert (tmp_path / "b.bin").read_bytes() == b"\x00\r\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.bin"]


def test_an_error_leaves_the_earlier_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")
    with pytest.raises(KeyboardInterrupt), atomic_files.replacing(path) as draft:
        draft.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_readers_see_the_earlier_file_until_the_last_moment(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")
    with atomic_files.replacing(path) as draft:
        draft.write_text("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"


def test_drafts_of_the_dead_are_swept(tmp_path):
    (tmp_path / f"a.txt.1{atomic_files.DRAFT}").write_text("half")
    (tmp_path / "a.txt").write_text("whole")
    atomic_files.sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
