"""Results are kept under their keys, whatever ends the process; files of other kinds are refused and left alone."""

import os
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from shesha.runs import Here, Job, Kept, Meter, ResultStore, open_for_writing, run
from shesha.support import sqlite
from shesha.support.sqlite import StoreError
from shesha_bench.store import Store

FOREIGN = r"store must be a file written by `shesha compare --store` or `shesha study run`, got .*a\.sqlite"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.sqlite"


def test_what_was_put_is_there_for_whoever_opens_the_file_next(path):
    with ResultStore(path) as store:
        store.put("word", {"b/1": "one", "b/2": "two", "c": "three", "a": "zero"})
        store.put("other", {"b/1": "1"})
        store.put("word", {"b/2": "TWO"})
    with ResultStore(path, create=False) as store:
        assert list(store.items("word")) == [("a", "zero"), ("b/1", "one"), ("b/2", "TWO"), ("c", "three")]
        assert dict(store.items("word", "b/")) == {"b/1": "one", "b/2": "TWO"}
        assert store.get("other", "b/1") == "1"
        assert store.get("other", "a") is store.get("none", "a") is None
    with ResultStore(path) as store:
        store.forget("word", ["a", "b/1", "nothing"])
        assert dict(store.items("word")) == {"b/2": "TWO", "c": "three"}


def test_threads_that_open_the_store_themselves_lose_nothing(path):
    def add(thread: int) -> None:
        with ResultStore(path) as store:
            for number in range(5):
                store.put("number", {f"{thread}/{number}": "1"})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(8)))
    with ResultStore(path, create=False) as store:
        assert len(dict(store.items("number"))) == 40


@pytest.mark.parametrize("content", [b"first,second\n" * 50, b"x", b"SQLite format 3\0 but no more"])
def test_a_file_of_another_kind_is_refused_and_left_alone(path, content):
    path.write_bytes(content)
    with pytest.raises(StoreError, match=FOREIGN), open_for_writing(path):
        pass
    assert path.read_bytes() == content


def test_the_store_of_a_benchmark_is_another_kind_and_the_other_way_round(tmp_path, path):
    with Store(path):
        pass
    with pytest.raises(StoreError, match=FOREIGN):
        ResultStore(path)
    with ResultStore(tmp_path / "b.sqlite"):
        pass
    with pytest.raises(StoreError, match=r"store must be a file written by `shesha bench run`, got .*b\.sqlite"):
        Store(tmp_path / "b.sqlite")


def test_a_store_of_another_version_is_refused(path):
    with ResultStore(path):
        pass
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE about SET value = '99' WHERE name = 'schema'")
    connection.close()
    with pytest.raises(
        StoreError, match=r"store must have layout 2, got 99 in .*a\.sqlite, .*another version of shesha"
    ):
        ResultStore(path)


def test_places_where_no_store_can_be_are_named(tmp_path):
    with pytest.raises(IsADirectoryError, match="store must be a file, got the folder"), open_for_writing(tmp_path):
        pass
    with (
        pytest.raises(FileNotFoundError, match=r"the folder of the store must exist, got .*a\.sqlite"),
        open_for_writing(tmp_path / "none" / "a.sqlite"),
    ):
        pass
    with pytest.raises(
        FileNotFoundError, match=r"store must be the file of an earlier run, got .*, which does not exist"
    ):
        ResultStore(tmp_path / "b.sqlite", create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_read_only_folder_is_named(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with (
            pytest.raises(OSError, match="store must be in a writable folder"),
            open_for_writing(tmp_path / "a"),
        ):
            pass
    finally:
        tmp_path.chmod(0o700)


def test_what_is_begun_and_fails_is_not_written_at_all(path):
    def values():
        yield "a", "zero"
        raise KeyboardInterrupt

    class Half(dict):
        def items(self):
            return values()

    with ResultStore(path) as store:
        with pytest.raises(KeyboardInterrupt):
            store.put("word", Half())
        assert dict(store.items("word")) == {}
        store.put("word", {"b": "one"})
        assert dict(store.items("word")) == {"b": "one"}


def test_a_store_that_cannot_be_written_is_named(path):
    """SQLite opens a file whose header demands a newer writer, and refuses the first change."""
    with ResultStore(path) as store:
        store.put("a", {"b": "1"})
    content = bytearray(path.read_bytes())
    content[18] = 9
    path.write_bytes(content)
    with ResultStore(path) as store, pytest.raises(StoreError, match=rf"read and written, got {path}: .*readonly"):
        store.put("a", {"b": "2"})


def test_a_full_disk_is_told_and_what_is_written_stays(path):
    with ResultStore(path) as store:
        store.put("word", {"a": "zero"})
        ((pages,),) = store._connection.execute("PRAGMA page_count")
        store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(OSError, match=r"no space left for .*a\.sqlite; finished results are kept"):
            store.put("word", {f"b{number}": "x" * 1000 for number in range(100)})
        assert dict(store.items("word")) == {"a": "zero"}


HOLDER = """
import sys
from shesha.runs import open_for_writing
with open_for_writing(sys.argv[1]) as store:
    store.put("word", {"a": "zero"})
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def held(path):
    """Another process writes the store."""
    script = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_writer_that_does_not_wait_names_the_first(held, path):
    expected = rf"store must have only one writer, but another run \(process {held.pid}\) is writing .*a\.sqlite"
    with pytest.raises(StoreError, match=expected), open_for_writing(path, wait=False):
        pass


def test_a_writer_that_waits_says_so_and_goes_on_when_the_first_is_killed(held, path, caplog):
    found = []

    def wait():
        with open_for_writing(path) as store:
            found.append(store.get("word", "a"))

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.5)
    assert not found
    held.kill()
    held.wait()
    waiting.join(60)
    assert found == ["zero"]
    assert f"another run (process {held.pid}) is writing {path}; this run waits until the other run ends" in caplog.text


def jobs(calls, *numbers):
    def half(n):
        calls.append(n)
        if n == 13:
            raise ArithmeticError("thirteen")
        return {"half": n / 2, "all": [n]}

    return [Job(str(n), "halving", 2, half, (n,)) for n in numbers]


def test_kept_results_are_not_computed_again(path):
    calls = []
    with open_for_writing(path) as store:
        first, meter = Kept(store, "halves", jobs(calls, 1, 2, 13)), Meter(1)
        run(first, Here())
    with open_for_writing(path) as store:
        second = Kept(store, "halves", jobs(calls, 2, 13, 3, 1), meter)
        assert meter.text() == "0/4 pieces"
        run(second, Here(), meter)
        third = Kept(store, "other halves", jobs(calls, 2))
        run(third, Here())
    assert calls == [1, 2, 13, 13, 3, 2]
    assert first.results == {"1": {"half": 0.5, "all": [1]}, "2": {"half": 1.0, "all": [2]}}
    assert second.results == first.results | {"3": {"half": 1.5, "all": [3]}}
    assert first.failures == second.failures == {"13": "ArithmeticError: thirteen"}


def test_importing_the_library_and_its_runs_brings_neither_locks_nor_folders():
    code = "import shesha, shesha.runs, sys; print({'filelock', 'platformdirs', 'pooch'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_a_layout_that_is_read_is_not_changed(path):
    with ResultStore(path):
        pass
    before = path.read_bytes()
    with ResultStore(path, create=False) as store:
        assert sqlite.about(store._connection) == {"schema": "2", "program": "results"}
    assert path.read_bytes() == before


@pytest.mark.parametrize("value", [b"\x00\x01", "null", "[]", "{}", "NaN", "", "00000000[1]", 7])
def test_a_value_that_was_altered_is_refused(path, value):
    with ResultStore(path) as store:
        store.put("number", {"a": "[1.5]"})
    connection = sqlite3.connect(path)
    connection.execute("UPDATE result SET value = ?", (value,))
    connection.commit()
    connection.close()
    expected = rf"got {path}, which is damaged \(number a\). Move the file away, or pass another"
    with ResultStore(path, create=False) as store:
        with pytest.raises(sqlite.StoreError, match=expected):
            store.get("number", "a")
        with pytest.raises(sqlite.StoreError, match=expected):
            dict(store.items("number"))


def test_a_file_with_overwritten_pages_is_refused(path):
    with ResultStore(path) as store:
        store.put("number", {str(key): "1" * 3000 for key in range(50)})
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xff" * (len(content) - 8192)
    path.write_bytes(content)
    with ResultStore(path, create=False) as store, pytest.raises(sqlite.StoreError, match="which is damaged"):
        dict(store.items("number"))
