"""The store of a run: one SQLite file, one writer, every number written once."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from shesha.benchmark.models import Model

SCHEMA = 1
"""Number of the layout below; a store of another one is refused."""
_HEADER = b"SQLite format 3\0"
_TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE plan (
    domain TEXT, dataset TEXT, architecture TEXT, kind TEXT, degree REAL, seed INTEGER, key TEXT NOT NULL,
    PRIMARY KEY (domain, dataset, architecture, kind, degree, seed)
) WITHOUT ROWID;
CREATE TABLE model (
    key TEXT PRIMARY KEY, description TEXT NOT NULL, hyper TEXT NOT NULL,
    accuracy REAL, seconds REAL, reason TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE entry (
    measure TEXT PRIMARY KEY, version TEXT NOT NULL, base TEXT NOT NULL, closer TEXT NOT NULL,
    symmetric INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE cell (
    first TEXT, second TEXT, measure TEXT, version TEXT, value REAL, seconds REAL, reason TEXT NOT NULL,
    PRIMARY KEY (first, second, measure, version)
) WITHOUT ROWID;
CREATE TABLE output (
    first TEXT, second TEXT, accuracy REAL, jsd REAL, disagreement REAL, PRIMARY KEY (first, second)
) WITHOUT ROWID;
"""


class StoreError(ValueError):
    """A file that is no store of this version, or that another run is writing."""


@dataclass(frozen=True)
class Entry:
    """A measure that takes part, as the store knows it."""

    name: str
    version: str
    base: str
    """Its name without options."""
    closer: str
    symmetric: bool


@dataclass(frozen=True)
class Trained:
    """What became of one model: its accuracy, or why there is none."""

    key: str
    accuracy: float | None
    seconds: float
    reason: str = ""


@dataclass(frozen=True)
class Cell:
    """One comparison: its value, or why there is none."""

    first: str
    second: str
    measure: str
    version: str
    value: float | None
    seconds: float
    reason: str = ""


@dataclass(frozen=True)
class Difference:
    """How much the outputs of two models differ."""

    first: str
    second: str
    accuracy: float
    jsd: float
    disagreement: float


class Store:
    """The numbers of one run on disk. Open it with `with Store(path) as store`."""

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self.path = Path(path)
        if not create and not self.path.is_file():
            raise FileNotFoundError(f"store must be the file of an earlier run, got {self.path}: no such file")
        require_place(self.path)
        _require_store(self.path)
        self._connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        try:
            self._prepare(create)
        except sqlite3.OperationalError as error:
            self._connection.close()
            raise StoreError(f"store must be a file that can be read and written, got {self.path}: {error}") from error
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self, create: bool) -> None:
        try:
            names = {row[0] for row in self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        except sqlite3.DatabaseError as error:
            raise StoreError(f"store must be a file written by `shesha bench run`, got {self.path}: {error}") from error
        if not names and create:
            self._connection.execute("PRAGMA journal_mode = WAL")
            with self.writing():
                for statement in _TABLES.split(";"):
                    self._connection.execute(statement)
                self._connection.execute("INSERT INTO about VALUES ('schema', ?)", (str(SCHEMA),))
        elif "about" not in names:
            raise StoreError(f"store must be a file written by `shesha bench run`, got {self.path}")
        found = self.about().get("schema")
        if found != str(SCHEMA):
            raise StoreError(
                f"store must have layout {SCHEMA}, got {found} in {self.path}: it was written by another version of "
                "shesha; give another file with --store, or use that version"
            )
        # A process that dies keeps what it committed; only a failing machine could lose the last moment.
        self._connection.execute("PRAGMA synchronous = NORMAL")

    def __enter__(self) -> Self:
        """Stay open for a while."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """All or nothing."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.OperationalError) and "full" in str(error):
                raise OSError(errno.ENOSPC, f"no space left for {self.path}; what is written stays") from error
            raise

    @property
    def models_folder(self) -> Path:
        """Where the trained models are: beside the store."""
        return self.path.with_name(self.path.name + ".models")

    def about(self) -> dict[str, str]:
        """Return what the store says of itself: layout, suite, library version."""
        return dict(self._connection.execute("SELECT name, value FROM about"))

    def describe(self, **values: str) -> None:
        """Write what the store says of itself."""
        with self.writing():
            self._connection.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", values.items())

    def plan(self, models: Mapping[str, Model]) -> None:
        """Write which model, by key, stands for which place of the suite."""
        rows = [
            (m.domain, m.dataset, m.architecture, m.setting.kind, m.setting.degree, m.seed, key)
            for key, m in models.items()
        ]
        with self.writing():
            self._connection.executemany("INSERT OR REPLACE INTO plan VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def keys(self) -> dict[tuple[str, str, str, str, float, int], str]:
        """Return the keys of the planned models by domain, data set, architecture, kind, degree and seed."""
        return {tuple(row[:6]): row[6] for row in self._connection.execute("SELECT * FROM plan")}

    def add_entries(self, entries: Iterable[Entry]) -> None:
        """Write which measures take part; of one that is there in another version, the new one counts from now on."""
        rows = [(one.name, one.version, one.base, one.closer, int(one.symmetric)) for one in entries]
        with self.writing():
            self._connection.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?)", rows)

    def entries(self) -> list[Entry]:
        """Return the measures that took part, in the order of their names."""
        found = self._connection.execute("SELECT * FROM entry ORDER BY measure, version")
        return [Entry(name, version, base, closer, bool(symmetric)) for name, version, base, closer, symmetric in found]

    def add_model(self, model: Model, trained: Trained) -> None:
        """Write what became of a model; one that failed before may be replaced."""
        row = (
            trained.key,
            str(model),
            json.dumps(dict(model.hyper), sort_keys=True),
            trained.accuracy,
            trained.seconds,
            trained.reason,
        )
        with self.writing():
            self._connection.execute("INSERT OR REPLACE INTO model VALUES (?, ?, ?, ?, ?, ?)", row)

    def models(self) -> dict[str, Trained]:
        """Return what became of the models, by key."""
        found = self._connection.execute("SELECT key, accuracy, seconds, reason FROM model")
        return {key: Trained(key, accuracy, seconds, reason) for key, accuracy, seconds, reason in found}

    def add_cells(self, cells: Iterable[Cell]) -> None:
        """Write comparisons; one that is there already stays as it is."""
        rows = [(c.first, c.second, c.measure, c.version, c.value, c.seconds, c.reason) for c in cells]
        with self.writing():
            self._connection.executemany("INSERT OR IGNORE INTO cell VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def done(self) -> set[tuple[str, str, str, str]]:
        """Return the comparisons that are there: first, second, measure, version."""
        return set(self._connection.execute("SELECT first, second, measure, version FROM cell"))

    def cells(self, measure: str, version: str) -> dict[tuple[str, str], Cell]:
        """Return the comparisons by one measure, by pair."""
        query = "SELECT * FROM cell WHERE measure = ? AND version = ?"
        return {row[:2]: Cell(*row) for row in self._connection.execute(query, (measure, version))}

    def forget_failures(self) -> int:
        """Remove the models and comparisons that have no value, so that the next run tries them again."""
        with self.writing():
            removed = self._connection.execute("DELETE FROM cell WHERE value IS NULL").rowcount
            removed += self._connection.execute("DELETE FROM model WHERE accuracy IS NULL").rowcount
        return int(removed)

    def add_differences(self, differences: Iterable[Difference]) -> None:
        """Write how much outputs differ."""
        rows = [(d.first, d.second, d.accuracy, d.jsd, d.disagreement) for d in differences]
        with self.writing():
            self._connection.executemany("INSERT OR IGNORE INTO output VALUES (?, ?, ?, ?, ?)", rows)

    def differences(self) -> dict[tuple[str, str], Difference]:
        """Return how much outputs differ, by pair of models."""
        return {row[:2]: Difference(*row) for row in self._connection.execute("SELECT * FROM output")}

    def query(self, text: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """Read anything else."""
        return self._connection.execute(text, tuple(values)).fetchall()


def require_place(path: Path) -> None:
    """Refuse a path where no store can be."""
    if path.is_dir():
        raise IsADirectoryError(f"store must be a file, got the folder {path}")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder of the store must exist, got {path}")


def _require_store(path: Path) -> None:
    """Refuse a file of another kind: SQLite takes a short one for an empty database and writes over it."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        start = file.read(len(_HEADER))
    if start not in (b"", _HEADER):
        raise StoreError(f"store must be a file written by `shesha bench run`, got {path}")


@contextmanager
def only_writer(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Keep other runs off a store; the lock goes with the process, however it ends."""
    require_place(path)
    try:
        import fcntl
    except ImportError:  # Other systems have SQLite's own lock, per transaction.
        yield
        return
    with path.with_name(path.name + ".lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = f"another run (process {file.read().strip() or 'unknown'})"
            if not wait:
                raise StoreError(f"store must have one writer, got a second: {owner} is writing {path}") from None
            from shesha.benchmark._telling import tell

            tell(f"{owner} is writing {path}: waiting for it to end")
            fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        yield
