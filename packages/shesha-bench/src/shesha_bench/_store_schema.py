"""The tables of a store, and the upgrade from earlier layouts."""

from __future__ import annotations

import sqlite3

from shesha.support import sqlite

SCHEMA = "2"
"""Version of the table layout that is defined below."""
_ENTRY = """CREATE TABLE entry (
    measure TEXT PRIMARY KEY, version TEXT NOT NULL, closer TEXT NOT NULL, symmetric INTEGER NOT NULL
) WITHOUT ROWID"""
_PLAN_AND_MODEL = (
    """CREATE TABLE plan (
    domain TEXT, dataset TEXT, architecture TEXT, kind TEXT, degree REAL, seed INTEGER, key TEXT NOT NULL,
    PRIMARY KEY (domain, dataset, architecture, kind, degree, seed)
) WITHOUT ROWID""",
    """CREATE TABLE model (
    key TEXT PRIMARY KEY, description TEXT NOT NULL, hyper TEXT NOT NULL,
    accuracy REAL, seconds REAL, reason TEXT NOT NULL
) WITHOUT ROWID""",
)
_CELL = """CREATE TABLE cell (
    first TEXT, second TEXT, measure TEXT, version TEXT, value REAL, seconds REAL, reason TEXT NOT NULL,
    {}PRIMARY KEY (first, second, measure, version)
) WITHOUT ROWID"""
_OUTPUT = """CREATE TABLE output (
    first TEXT, second TEXT, accuracy REAL, jsd REAL, disagreement REAL, PRIMARY KEY (first, second)
) WITHOUT ROWID"""
_TABLES = (*_PLAN_AND_MODEL, _ENTRY, _CELL.format("rows_left_out INTEGER NOT NULL DEFAULT 0, "), _OUTPUT)
_FIRST = "1"
"""Version of the first layout: no comparison leaves out rows, and measures have another column."""
_FIRST_ENTRY = _ENTRY.replace("closer", "base TEXT NOT NULL, closer")
EARLIER = ((_FIRST, (*_PLAN_AND_MODEL, _FIRST_ENTRY, _CELL.format(""), _OUTPUT)),)
"""Earlier layouts that can be read."""
DIFFERENCE = """CREATE TABLE IF NOT EXISTS difference (
    first TEXT, second TEXT, kind TEXT, value REAL, PRIMARY KEY (first, second, kind)
) WITHOUT ROWID"""
"""Table of your own differences between outputs, which only stores of runs that use them have."""
_FROM_THE_FIRST = (
    "ALTER TABLE cell ADD COLUMN rows_left_out INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE entry RENAME TO earlier_entry",
    _ENTRY,
    "INSERT INTO entry SELECT measure, version, closer, symmetric FROM earlier_entry",
    "DROP TABLE earlier_entry",
)


def upgrade(connection: sqlite3.Connection) -> None:
    """Upgrade a store to the current layout, within the transaction that is open."""
    if sqlite.about(connection)["schema"] == _FIRST:
        for statement in _FROM_THE_FIRST:
            connection.execute(statement)
        connection.execute("UPDATE about SET value = ? WHERE name = 'schema'", (SCHEMA,))


LAYOUT = sqlite.Layout("`shesha bench run`", SCHEMA, _TABLES, optional=(DIFFERENCE,), earlier=EARLIER, upgrade=upgrade)
