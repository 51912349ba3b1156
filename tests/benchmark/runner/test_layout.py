"""Stores of earlier layouts: read as they are, brought up to date by a run, refused if nothing is known of them."""

import sqlite3

import pytest

from shesha_bench import _store_schema
from shesha_bench._markdown_report import report
from shesha_bench.run_suite import run
from shesha_bench.store import Store, StoreError
from shesha_bench.stored_results import comparisons, results

from .reading import cells

OPTIONS = {"measures": ["CKA"], "tests": ["shortcut"]}


def test_a_store_of_another_layout_is_refused_by_all(here, toy):
    with Store("a.sqlite") as opened:
        opened.describe(schema="99")
    expected = r"store must have layout 1 or 2, got 99 in a\.sqlite, .*Pass another file with --store"
    for use in (lambda: run(toy, store="a.sqlite", **OPTIONS), lambda: results("a.sqlite", toy)):
        with pytest.raises(StoreError, match=expected):
            use()


def first_layout(path):
    """Turn a store into one of the first layout."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in (
        "ALTER TABLE cell RENAME TO later",
        """CREATE TABLE cell (
            first TEXT, second TEXT, measure TEXT, version TEXT, value REAL, seconds REAL, reason TEXT NOT NULL,
            PRIMARY KEY (first, second, measure, version)
        ) WITHOUT ROWID""",
        "INSERT INTO cell SELECT first, second, measure, version, value, seconds, reason FROM later",
        "DROP TABLE later",
        "ALTER TABLE entry RENAME TO later",
        """CREATE TABLE entry (
            measure TEXT PRIMARY KEY, version TEXT NOT NULL, base TEXT NOT NULL, closer TEXT NOT NULL,
            symmetric INTEGER NOT NULL
        ) WITHOUT ROWID""",
        "INSERT INTO entry SELECT measure, version, measure, closer, symmetric FROM later",
        "DROP TABLE later",
        "UPDATE about SET value = '1' WHERE name = 'schema'",
    ):
        connection.execute(statement)
    connection.close()


def test_a_store_of_the_first_layout_is_read_as_it_is_and_goes_on_as_one_of_the_latest(here, toy):
    options = {"store": "a.sqlite", "tests": ["shortcut"]}
    found = run(toy, **options, measures=["CKA", "LinReg"])
    before, page = cells("a.sqlite"), report("a.sqlite", of=toy)
    first_layout("a.sqlite")
    assert results("a.sqlite", toy).equals(found)
    assert report("a.sqlite", of=toy) == page
    assert (comparisons("a.sqlite")["rows_left_out"] == 0).all()
    with Store("a.sqlite", create=False) as opened:
        assert opened.about()["schema"] == "1"
    again = run(toy, **options, measures=["CKA", "LinReg", "RSA"])
    assert again[again["measure"] != "RSA"].reset_index(drop=True).equals(found)
    assert [row for row in cells("a.sqlite") if row[2] != "RSA"] == before
    with Store("a.sqlite", create=False) as opened:
        assert opened.about()["schema"] == "2"
        assert [entry.name for entry in opened.entries()] == ["CKA", "LinReg", "RSA"]


def test_an_upgrade_that_is_interrupted_changes_nothing(here, toy, monkeypatch):
    run(toy, store="a.sqlite", **OPTIONS)
    first_layout("a.sqlite")
    statements = _store_schema._FROM_THE_FIRST
    with monkeypatch.context() as patching:
        patching.setattr(_store_schema, "_FROM_THE_FIRST", (*statements[:3], "INSERT INTO nowhere VALUES (1)"))
        with pytest.raises(StoreError, match="no such table: nowhere"):
            run(toy, store="a.sqlite", **OPTIONS)
    assert len(results("a.sqlite", toy)) == 2
    assert len(run(toy, store="a.sqlite", **OPTIONS)) == 2
