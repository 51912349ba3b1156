"""Stores that another person prepared run nothing, hang nothing and change no other file."""

import os
import sqlite3
import time
from contextlib import closing
from itertools import product

import numpy as np
import pytest

import shesha
from shesha.runs import ResultStore, lock_for_writing, open_for_writing
from shesha.runs.store import _add_checksum
from shesha.support import sqlite
from shesha.support.sqlite import StoreError

ENDLESS = (
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS kind, x AS key, x AS value FROM c"
)
DROP = "DROP TABLE result"
PREPARED = {
    "a view in place of the table": (DROP, f"CREATE VIEW result AS {ENDLESS}"),
    "a view in place of the description": (
        "ALTER TABLE about RENAME TO other",
        "CREATE VIEW about AS SELECT 'schema' AS name, '2' AS value",
    ),
    "a trigger": ("CREATE TRIGGER gone AFTER INSERT ON result BEGIN DELETE FROM result; END",),
    "a further table": ("CREATE TABLE more (x)",),
    "an index with an expression": ("CREATE INDEX slow ON result (abs(kind))",),
    "a further column": ("ALTER TABLE result ADD COLUMN more TEXT",),
    "a generated column": (DROP, "CREATE TABLE result (kind TEXT, key TEXT, value TEXT AS (hex(zeroblob(1000000))))"),
}


@pytest.fixture
def path(tmp_path):
    with ResultStore(tmp_path / "a.sqlite") as store:
        store.put("word", {"a": "1"})
    return tmp_path / "a.sqlite"


@pytest.mark.parametrize("statements", PREPARED.values(), ids=PREPARED)
def test_a_store_with_another_schema_is_refused(path, statements):
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    before = path.read_bytes()
    for create in (True, False):
        with pytest.raises(StoreError, match=r"store must be a file written by .*a\.sqlite"):
            ResultStore(path, create=create)
    assert path.read_bytes() == before


def test_a_statement_without_end_is_ended(path, monkeypatch):
    monkeypatch.setattr(sqlite, "_FEWEST_STEPS", 2)
    with ResultStore(path) as store:
        connection = store._connection
        assert store.get("word", "a") == "1"
        with pytest.raises(sqlite3.DatabaseError, match=r"prohibited|not authorized"):
            connection.execute(ENDLESS).fetchall()
        numbers = "(SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4)"
        start = time.process_time()
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            connection.execute(f"SELECT count(*) FROM {', '.join([numbers] * 16)}").fetchall()
        assert time.process_time() - start < 5
        with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
            connection.execute("ATTACH ':memory:' AS other")


def test_nothing_but_regular_files_belongs_to_a_store(path, tmp_path):
    os.mkfifo(tmp_path / "pipe.sqlite")
    with pytest.raises(StoreError, match="a pipe or a device"):
        ResultStore(tmp_path / "pipe.sqlite")
    (tmp_path / "dangling.sqlite").symlink_to(tmp_path / "elsewhere.sqlite")
    with pytest.raises(StoreError, match="which is a link to nothing"), open_for_writing(tmp_path / "dangling.sqlite"):
        pass
    precious = tmp_path / "precious.txt"
    precious.write_text("mine")
    for ending in ("-wal", "-shm", "-journal", ".lock"):
        extra = path.with_name(path.name + ending)
        for make in (lambda extra=extra: extra.symlink_to(precious), lambda extra=extra: os.mkfifo(extra)):
            make()
            with pytest.raises(StoreError, match="must be a regular file, got"), open_for_writing(path):
                pass
            extra.unlink()
    os.mkfifo(tmp_path / "b.sqlite.lock")
    with (
        pytest.raises(StoreError, match="lock of a store must be a regular file"),
        lock_for_writing(tmp_path / "b.sqlite"),
    ):
        pass
    assert precious.read_text() == "mine"
    assert not (tmp_path / "elsewhere.sqlite").exists()


def test_a_journal_that_names_another_file_is_refused(path):
    path.with_name("a.sqlite-journal").write_bytes(b"x" * 20 + sqlite._SUPER_JOURNAL)
    with pytest.raises(StoreError, match="whose journal names another file"):
        ResultStore(path)


SHAPES = ["[]", "{}", "null", "[[1]]", "["]


@pytest.mark.parametrize("command", ["compare", "audit"])
def test_records_of_another_shape_are_named_or_made_again(tmp_path, command):
    """Texts with a right checksum, but with other values than a run writes."""
    X = np.random.default_rng(0).standard_normal((20, 4))
    files = [tmp_path / "a.npy", tmp_path / "b.npy"]
    for number, file in enumerate(files):
        np.save(file, X[:, : 4 - number] ** (number + 1))
    store = tmp_path / "s.sqlite"

    def use():
        if command == "compare":
            return shesha.compare_all(files, ["CKA"], store=store).scores[0].value
        return shesha.audit(files, n_bootstrap=0, n_permutations=0, store=store)["a"].scores["feature_split"].value

    expected = use()
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        good = connection.execute("SELECT kind, key, value FROM result").fetchall()
        kinds = {row[0] for row in good}
        assert len(kinds) >= 2
        for kind, text in product(kinds, SHAPES):
            connection.execute("UPDATE result SET value = ? WHERE kind = ?", (_add_checksum(text), kind))
            try:
                assert use() == expected
            except StoreError as error:
                assert "store must be undamaged" in str(error)
            connection.execute("DELETE FROM result")
            connection.executemany("INSERT INTO result VALUES (?, ?, ?)", good)
    assert use() == expected
