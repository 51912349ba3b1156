"""The store of a run: one SQLite file with one writer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from shesha import runs
from shesha.benchmark._store_schema import LAYOUT
from shesha.benchmark.model_descriptions import Model
from shesha.support import argument_types as kinds
from shesha.support import sqlite

Place = tuple[str, str, str, str, float, int]
"""Domain, data set, architecture, kind and degree of the setting, seed."""


StoreError = sqlite.StoreError


@dataclass(frozen=True)
class Entry:
    """A measure of a run, as stored."""

    name: str
    version: str
    closer: str
    symmetric: bool


@dataclass(frozen=True)
class Trained:
    """The result of training one model: its accuracy, or the reason for none."""

    key: str
    accuracy: float | None
    seconds: float
    reason: str = ""


@dataclass(frozen=True)
class Cell:
    """One comparison: its value, or the reason for none."""

    first: str
    second: str
    measure: str
    version: str
    value: float | None
    seconds: float
    reason: str = ""
    rows_left_out: int = 0
    """Number of rows left out because they have no direction in one of the two representations."""


@dataclass(frozen=True)
class Difference:
    """The differences between the outputs of two models."""

    first: str
    second: str
    accuracy: float
    jsd: float
    disagreement: float


class Store(sqlite.Database):
    """The numbers of one run on disk. Open it with `with Store(path) as store`."""

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        """Open a file; unless `create`, it must exist and is opened for reading only."""
        super().__init__(kinds.path(path, "store"), LAYOUT, create=create)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a transaction, all or nothing."""
        with sqlite.transaction(self._connection, self.path):
            yield

    @property
    def models_folder(self) -> Path:
        """The folder of the trained models next to the store, as an absolute path."""
        return self.path.absolute().with_name(self.path.name + ".models")

    def about(self) -> dict[str, str]:
        """Return the metadata of the store: layout, suite, library version."""
        return sqlite.about(self._connection)

    def describe(self, **values: str) -> None:
        """Write the metadata of the store."""
        with self.transaction():
            self._connection.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", values.items())

    def plan(self, models: Mapping[str, Model]) -> None:
        """Write the key of the model for each place of the suite."""
        rows = [(*model_place(model), key) for key, model in models.items()]
        with self.transaction():
            self._connection.executemany("INSERT OR REPLACE INTO plan VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def keys(self) -> dict[Place, str]:
        """Return the keys of the planned models by domain, data set, architecture, kind, degree and seed."""
        return {tuple(row[:6]): row[6] for row in self.query("SELECT * FROM plan")}

    def add_entries(self, entries: Iterable[Entry]) -> None:
        """Write the measures of a run; a new version of a measure replaces the earlier one."""
        rows = [(entry.name, entry.version, entry.closer, int(entry.symmetric)) for entry in entries]
        with self.transaction():
            self._connection.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?)", rows)

    def entries(self) -> list[Entry]:
        """Return the measures of the run, in alphabetical order."""
        rows = self.query("SELECT measure, version, closer, symmetric FROM entry ORDER BY measure")
        return [Entry(name, version, closer, bool(symmetric)) for name, version, closer, symmetric in rows]

    def add_model(self, model: Model, trained: Trained) -> None:
        """Write the result of training a model; earlier failures are replaced."""
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
        """Return the results of training, by key."""
        rows = self.query("SELECT key, accuracy, seconds, reason FROM model")
        return {
            key: Trained(key, self._number(accuracy), self._number(seconds), reason)
            for key, accuracy, seconds, reason in rows
        }

    def add_cells(self, cells: Iterable[Cell]) -> None:
        """Write comparisons; existing ones are kept."""
        rows = [astuple(cell) for cell in cells]
        with self.transaction():
            self._connection.executemany("INSERT OR IGNORE INTO cell VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def stored_comparisons(self) -> set[tuple[str, str, str, str]]:
        """Return the stored comparisons: first, second, measure, version."""
        return set(self.query("SELECT first, second, measure, version FROM cell"))

    def cells(self, measure: str, version: str) -> dict[tuple[str, str], Cell]:
        """Return the comparisons by one measure, by pair."""
        # The first layout has no column for rows left out.
        query = "SELECT * FROM cell WHERE measure = ? AND version = ?"
        rows = self.query(query, (measure, version))
        return {row[:2]: Cell(*row[:4], *map(self._number, row[4:6]), *row[6:]) for row in rows}

    def forget_failures(self) -> int:
        """Remove the models and comparisons that have no value, so that the next run tries them again."""
        with self.transaction():
            removed = self._connection.execute("DELETE FROM cell WHERE value IS NULL").rowcount
            removed += self._connection.execute("DELETE FROM model WHERE accuracy IS NULL").rowcount
        return int(removed)

    def add_differences(self, differences: Iterable[Difference]) -> None:
        """Write differences of outputs."""
        rows = [astuple(difference) for difference in differences]
        with self.transaction():
            self._connection.executemany("INSERT OR IGNORE INTO output VALUES (?, ?, ?, ?, ?)", rows)

    def differences(self) -> dict[tuple[str, str], Difference]:
        """Return differences of outputs, by pair of models."""
        return {row[:2]: Difference(*row) for row in self.query("SELECT * FROM output")}

    def query(self, text: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """Run any other query."""
        with sqlite.reading(self.path):
            return self._connection.execute(text, tuple(values)).fetchall()

    def _number(self, value: Any) -> Any:
        """Return a number from the store, None for NULL; raise an error for other types, which SQLite permits."""
        if not isinstance(value, int | float | None):
            raise sqlite.damaged_store_error(self.path, f"{value!r:.40} instead of a number")
        return value


def model_place(model: Model) -> Place:
    """Return the properties that identify a model within its suite."""
    setting = model.setting
    return model.domain, model.dataset, model.architecture, setting.kind, setting.degree, model.seed


def require_place(path: Path) -> None:
    """Refuse a path that cannot be a store, before anything is written."""
    sqlite.require_place(path, LAYOUT.writer)


@contextmanager
def lock_run(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Lock a store against other runs; the lock ends with the process."""
    require_place(path)
    with runs.lock_for_writing(path, wait=wait):
        yield
