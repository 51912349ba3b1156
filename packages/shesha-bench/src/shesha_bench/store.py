"""The store of a run: models, comparisons and output differences in one SQLite file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from shesha import runs
from shesha.support import sqlite, types as kinds
from shesha_bench.catalogue import Model

SCHEMA = "2"
"""Version of the table layout that is defined below."""
_TABLES = (
    """CREATE TABLE plan (
    domain TEXT, dataset TEXT, architecture TEXT, kind TEXT, degree REAL, seed INTEGER, key TEXT NOT NULL,
    PRIMARY KEY (domain, dataset, architecture, kind, degree, seed)
) WITHOUT ROWID""",
    """CREATE TABLE model (
    key TEXT PRIMARY KEY, description TEXT NOT NULL, hyper TEXT NOT NULL,
    accuracy REAL, seconds REAL, reason TEXT NOT NULL
) WITHOUT ROWID""",
    """CREATE TABLE entry (
    measure TEXT PRIMARY KEY, version TEXT NOT NULL, closer TEXT NOT NULL, symmetric INTEGER NOT NULL
) WITHOUT ROWID""",
    """CREATE TABLE cell (
    first TEXT, second TEXT, measure TEXT, version TEXT, value REAL, seconds REAL, reason TEXT NOT NULL,
    rows_left_out INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (first, second, measure, version)
) WITHOUT ROWID""",
    """CREATE TABLE output (
    first TEXT, second TEXT, accuracy REAL, jsd REAL, disagreement REAL, PRIMARY KEY (first, second)
) WITHOUT ROWID""",
)
DIFFERENCE = """CREATE TABLE IF NOT EXISTS difference (
    first TEXT, second TEXT, kind TEXT, value REAL, PRIMARY KEY (first, second, kind)
) WITHOUT ROWID"""
"""Table of your own differences between outputs, which only stores of runs that use them have."""
LAYOUT = sqlite.Layout("`shesha bench run`", SCHEMA, _TABLES, optional=(DIFFERENCE,))


Place = tuple[str, str, str, str, float, int]
"""Domain, data set, architecture, kind of setting, degree of the setting, and seed."""


StoreError = sqlite.StoreError


@dataclass(frozen=True)
class Entry:
    """A measure that takes part in a run, as recorded in the store."""

    name: str
    version: str
    closer: str
    symmetric: bool


@dataclass(frozen=True)
class Trained:
    """Result of training one model: its accuracy, or the reason why it has none."""

    key: str
    accuracy: float | None
    seconds: float
    reason: str = ""


@dataclass(frozen=True)
class Cell:
    """One comparison: its value, or the reason why it has none."""

    first: str
    second: str
    measure: str
    version: str
    value: float | None
    seconds: float
    reason: str = ""
    rows_left_out: int = 0
    """Number of rows left out because they have no direction in at least one of the two representations."""


@dataclass(frozen=True)
class Difference:
    """How much the outputs of two models differ."""

    first: str
    second: str
    accuracy: float
    jsd: float
    disagreement: float


class Store(sqlite.Database):
    """The results of one run on disk. Open it with `with Store(path) as store`."""

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        """Open the file. If not `create`, it must exist and is opened read-only."""
        super().__init__(kinds.path(path, "store"), LAYOUT, create=create)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the body as one transaction, of which either all or nothing is written."""
        with sqlite.transaction(self._connection, self.path):
            yield

    @property
    def models_folder(self) -> Path:
        """Absolute path of the folder next to the store that contains the trained models."""
        return self.path.absolute().with_name(self.path.name + ".models")

    def about(self) -> dict[str, str]:
        """Return the store's metadata, such as its layout, suite and library version."""
        return sqlite.about(self._connection)

    def describe(self, **values: str) -> None:
        """Write metadata to the store."""
        with self.transaction():
            self._connection.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", values.items())

    def plan(self, models: Mapping[str, Model]) -> None:
        """Record which model key belongs to each place in the suite."""
        rows = [(*model_place(model), key) for key, model in models.items()]
        with self.transaction():
            self._connection.executemany("INSERT OR REPLACE INTO plan VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def keys(self) -> dict[Place, str]:
        """Return the keys of the planned models, by domain, data set, architecture, kind, degree and seed."""
        return {tuple(row[:6]): row[6] for row in self.query("SELECT * FROM plan")}

    def add_entries(self, entries: Iterable[Entry]) -> None:
        """Record the measures of a run; a new version of a measure replaces the earlier one."""
        rows = [(entry.name, entry.version, entry.closer, int(entry.symmetric)) for entry in entries]
        with self.transaction():
            self._connection.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?)", rows)

    def entries(self) -> list[Entry]:
        """Return the measures of the run in alphabetical order."""
        rows = self.query("SELECT measure, version, closer, symmetric FROM entry ORDER BY measure")
        return [Entry(name, version, closer, bool(symmetric)) for name, version, closer, symmetric in rows]

    def add_model(self, model: Model, trained: Trained) -> None:
        """Record the result of training a model, replacing an earlier failure."""
        row = (
            trained.key,
            str(model),
            json.dumps(dict(model.hyper), sort_keys=True),
            trained.accuracy,
            trained.seconds,
            trained.reason,
        )
        with self.transaction():
            self._connection.execute("INSERT OR REPLACE INTO model VALUES (?, ?, ?, ?, ?, ?)", row)

    def models(self) -> dict[str, Trained]:
        """Return the training results by model key."""
        rows = self.query("SELECT key, accuracy, seconds, reason FROM model")
        return {
            key: Trained(key, self._number(accuracy), self._number(seconds), reason)
            for key, accuracy, seconds, reason in rows
        }

    def add_cells(self, cells: Iterable[Cell]) -> None:
        """Record comparisons; those that are stored already are kept."""
        rows = [astuple(cell) for cell in cells]
        with self.transaction():
            self._connection.executemany("INSERT OR IGNORE INTO cell VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def stored_comparisons(self) -> set[tuple[str, str, str, str]]:
        """Return first, second, measure and version of each stored comparison."""
        return set(self.query("SELECT first, second, measure, version FROM cell"))

    def cells(self, measure: str, version: str) -> dict[tuple[str, str], Cell]:
        """Return the comparisons by one version of a measure, by pair."""
        # The first layout has no column for rows left out.
        query = "SELECT * FROM cell WHERE measure = ? AND version = ?"
        rows = self.query(query, (measure, version))
        return {row[:2]: Cell(*row[:4], *map(self._number, row[4:6]), *row[6:]) for row in rows}

    def forget_failures(self) -> int:
        """Remove the models and comparisons without a value, so that the next run tries them again."""
        with self.transaction():
            removed = self._connection.execute("DELETE FROM cell WHERE value IS NULL").rowcount
            removed += self._connection.execute("DELETE FROM model WHERE accuracy IS NULL").rowcount
        return int(removed)

    def add_differences(self, differences: Iterable[Difference]) -> None:
        """Record how much the outputs of pairs of models differ."""
        rows = [astuple(difference) for difference in differences]
        with self.transaction():
            self._connection.executemany("INSERT OR IGNORE INTO output VALUES (?, ?, ?, ?, ?)", rows)

    def differences(self) -> dict[tuple[str, str], Difference]:
        """Return the recorded output differences by pair of models."""
        return {row[:2]: Difference(*row) for row in self.query("SELECT * FROM output")}

    def query(self, text: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows that any other SQL query finds."""
        with sqlite.reading(self.path):
            return self._connection.execute(text, tuple(values)).fetchall()

    def _number(self, value: Any) -> Any:
        """Return the value if it is a number or None; raise for other types, which SQLite permits."""
        if not isinstance(value, int | float | None):
            raise sqlite.store_damage(self.path, f"{value!r:.40} instead of a number")
        return value


def model_place(model: Model) -> Place:
    """Return the properties that identify a model within its suite."""
    setting = model.setting
    return model.domain, model.dataset, model.architecture, setting.kind, setting.degree, model.seed


def require_place(path: Path) -> None:
    """Raise an error, before anything is written, if the path cannot be a store."""
    sqlite.require_place(path, LAYOUT.writer)


@contextmanager
def lock_run(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Lock a store against other runs until the block or the process ends."""
    require_place(path)
    with runs.lock_for_writing(path, wait=wait):
        yield
