"""Files are whole or not there."""

import errno
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from shesha.support import files


def test_a_text_and_bytes_are_written_and_leave_nothing_else(tmp_path):
    files.write_text(tmp_path / "a.txt", "ä\udcff\n")
    files.write_bytes(tmp_path / "b.bin", b"\x00\r\n")
    assert (tmp_path / "a.txt").read_bytes() == "ä\\udcff\n".encode()
    assert (tmp_path / "b.bin").read_bytes() == b"\x00\r\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.bin"]


def test_an_error_leaves_the_earlier_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")
    with pytest.raises(KeyboardInterrupt), files.replacing(path) as draft:
        draft.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_readers_see_the_earlier_file_until_the_last_moment(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")
    with files.replacing(path) as draft:
        draft.write_text("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"


def test_drafts_of_the_dead_are_swept(tmp_path):
    (tmp_path / f"a.txt.1{files.DRAFT}").write_text("half")
    (tmp_path / "a.txt").write_text("whole")
    files.sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_the_mode_stays(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")
    path.chmod(0o600)
    files.write_text(path, "after")
    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_stays(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")
    os.chown(path, 1234, 2345)
    files.write_text(path, "after")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def test_a_link_stays_and_leads_to_the_new_file(tmp_path):
    (tmp_path / "kept").mkdir()
    target, link = tmp_path / "kept" / "a.txt", tmp_path / "link.txt"
    target.write_text("before")
    link.symlink_to(target)
    files.write_text(link, "after")
    assert link.is_symlink()
    assert target.read_text() == "after"


def test_a_link_to_nothing_yet_makes_the_file_that_it_names(tmp_path):
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "a.txt")
    files.write_text(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "a.txt").read_text() == "new"


def test_a_read_only_file_is_not_replaced(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match=r"output must be writable, got .*a\.txt, which is read-only"):
        files.write_text(path, "after")
    assert path.read_text() == "before"


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    files.write_text(pipe, "through")
    reader.join(timeout=10)
    assert read == ["through"]
    assert pipe.is_fifo()


def test_standard_output_by_its_name_is_written_to(tmp_path):
    code = "from shesha.support.files import write_text; write_text('/dev/stdout', 'through')"
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "through"


def test_threads_that_write_one_file_leave_one_of_their_texts(tmp_path):
    path = tmp_path / "a.txt"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: files.write_text(path, str(number) * 1000), range(200)))
    assert len(set(path.read_text())) <= 3
    assert list(tmp_path.iterdir()) == [path]


def test_the_longest_name_can_be_written(tmp_path):
    path = tmp_path / ("a" * 255)
    files.write_text(path, "text")
    assert path.read_text() == "text"


def test_a_full_disk_is_reported_with_the_path(tmp_path):
    path = tmp_path / "a.txt"
    with pytest.raises(OSError, match=r"No space left on device: '.*a.txt'"), files.replacing(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(OSError, match="other"), files.replacing(path):
        raise OSError(errno.ENOSPC, "No space left on device", "other.txt")
    assert not list(tmp_path.iterdir())
