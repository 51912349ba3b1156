"""Files of other people: only regular files are opened, and text that is damaged is named with its line."""

import os
import socket
import threading
from pathlib import Path

import numpy as np
import pytest

import shesha
from shesha.support import files


@pytest.fixture
def special(tmp_path):
    """A pipe, a device that never ends, a socket and a folder."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    yield [tmp_path / "pipe", Path("/dev/zero"), tmp_path / "folder", tmp_path / "s"]
    listener.close()


def within_seconds(work):
    """Run work in a thread, so that a hanging read fails the test, and return its error."""
    found = []

    def run():
        try:
            work()
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "the call waits for ever"
    return found[0]


@pytest.mark.parametrize("read", [shesha.load, files.read_text, files.read_toml])
def test_pipes_devices_and_folders_are_refused_at_once(special, read):
    for path in special:
        error = within_seconds(lambda path=path: read(path))
        assert isinstance(error, ValueError | OSError)
        assert str(path) in str(error)


BAD_TEXT = [
    (b"one\ntwo\nthr\xffee\n", r"must be text in UTF-8, got the byte 0xff in line 3 of .*a\.txt"),
    ("name\n".encode("utf-16"), r"must be text in UTF-8, got UTF-16 in line 1 of .*a\.txt"),
    ("a\nb\n".encode("utf-16-le"), r"got the byte 0x00 in line 1 of .*a\.txt"),
]


@pytest.mark.parametrize(("content", "message"), BAD_TEXT)
def test_other_text_than_utf8_is_refused_with_its_line(tmp_path, content, message):
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        files.read_lines(tmp_path / "a.txt")


def test_a_mark_of_utf8_and_all_kinds_of_line_ends_are_read(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n\xe2\x80\xa8four")
    assert files.read_lines(tmp_path / "a.txt") == ["one", "two", "three", "\u2028four"]


DOCUMENTS = [
    (files.read_json, "[" * 100_000, "must be valid JSON, got too many nested levels in"),
    (files.read_json, "9" * 5000, "must be valid JSON, got an error in"),
    (files.read_json, "{", "must be valid JSON, got an error in"),
    (files.read_toml, "a = " + "[" * 5000, "must be valid TOML, got too many nested levels in"),
    (files.read_toml, "a = " + "9" * 5000, "must be valid TOML, got an error in"),
]


@pytest.mark.parametrize(("read", "text", "message"), DOCUMENTS)
def test_documents_that_exhaust_the_parser_are_refused(tmp_path, read, text, message):
    (tmp_path / "a").write_text(text)
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "a")


def test_a_file_larger_than_the_budget_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("SHESHA_MEMORY", "1M")
    with (tmp_path / "a").open("wb") as stream:
        stream.truncate(1 << 34)
    with pytest.raises(ValueError, match=r"must fit the memory budget of 1 MiB, got 16\.0 GiB in"):
        files.read_bytes(tmp_path / "a")


def test_a_link_is_followed_only_if_the_user_named_it(tmp_path):
    (tmp_path / "a").write_text("{}")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "nothing").symlink_to(tmp_path / "b")
    assert files.read_json(tmp_path / "link") == {}
    for name in ("link", "nothing"):
        with pytest.raises(ValueError, match=r"must be a regular file, got .*, which is a link"):
            files.read_json(tmp_path / name, follow_links=False)


def test_pictures_are_read_from_undamaged_regular_files_only(special, tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (300, 200)).save(tmp_path / "a.png")
    assert files.read_image(tmp_path / "a.png").size == (300, 200)
    (tmp_path / "half.png").write_bytes((tmp_path / "a.png").read_bytes()[:60])
    (tmp_path / "text.png").write_text("not a picture")
    (tmp_path / "program.eps").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n")
    bright = np.full((4, 4), 300)
    image.fromarray(bright.astype(np.uint16)).save(tmp_path / "sixteen.png")
    image.fromarray(bright.astype(np.float32)).save(tmp_path / "single.tif")
    reasons = {
        "half.png": "",
        "text.png": "",
        "program.eps": "a program",
        "sixteen.png": "I;16",
        "single.tif": "mode F",
    }
    for name, reason in reasons.items():
        with pytest.raises(
            ValueError, match=rf"^image must be an undamaged 8-bit image file, got .*{name}: .*{reason}"
        ):
            files.read_image(tmp_path / name)
    for path in special:
        error = within_seconds(lambda path=path: files.read_image(path))
        assert str(path) in str(error)
    monkeypatch.setenv("SHESHA_MEMORY", "100K")
    with pytest.raises(ValueError, match="300 x 200 pixels exceed the memory budget"):
        files.read_image(tmp_path / "a.png")
