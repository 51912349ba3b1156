"""A stamp changes with the file, even if size and time of modification are those of the file before."""

import os

from shesha.support.files import file_stamp


def test_a_replaced_file_of_equal_size_and_time_has_another_stamp(tmp_path):
    path, other = tmp_path / "a.npy", tmp_path / "b.npy"
    path.write_bytes(b"first")
    stamp = file_stamp(path)
    other.write_bytes(b"other")
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    other.replace(path)
    assert file_stamp(path) != stamp


def test_an_unchanged_file_or_folder_keeps_its_stamp(tmp_path):
    (tmp_path / "a").write_bytes(b"first")
    assert file_stamp(tmp_path) == file_stamp(tmp_path)
    stamp = file_stamp(tmp_path)
    (tmp_path / "a").write_bytes(b"other")
    assert file_stamp(tmp_path) != stamp
