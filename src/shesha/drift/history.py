"""The history of a monitor, in a file that survives crashes, and the files of a saved monitor."""

from __future__ import annotations

import hashlib
import io
import json
import re
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shesha._version import __version__
from shesha.inputs import validation as check
from shesha.io.file_checks import UnreadableFileError, reading
from shesha.runs import lock_for_writing
from shesha.support import files, sqlite
from shesha.support.files import read_bytes, read_json, require_no_link
from shesha.support.thread_locks import Locked
from shesha.support.types import Array
from shesha.support.warnings import MeasureWarning, warn

Kind = Literal["check", "update"]
LAYOUT = sqlite.Layout(
    "`shesha monitor`",
    "1",
    (
        """CREATE TABLE event (
    kind TEXT, number INTEGER, monitor TEXT NOT NULL, at TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (kind, number)
) WITHOUT ROWID""",
        "CREATE TABLE state (monitor TEXT, name TEXT, value TEXT NOT NULL, PRIMARY KEY (monitor, name)) WITHOUT ROWID",
    ),
    program="monitor",
)
_KEPT_IN_MEMORY = 1000


class MemoryHistory(Locked):
    """The history of an unsaved monitor, which keeps only the last thousand events."""

    def __init__(self) -> None:
        super().__init__()
        self._events: dict[str, deque[dict[str, Any]]] = {}
        self._states: dict[str, str] = {}

    @contextmanager
    def open_for_writing(self) -> Iterator[MemoryHistory]:
        """Lock out other threads while the state is read, changed and written; no other process can write to it."""
        with self._lock:
            yield self

    def state(self, name: str) -> str | None:
        """Return the state stored under a name."""
        return self._states.get(name)

    def add(self, kind: Kind, value: Mapping[str, Any], states: Mapping[str, str]) -> None:
        """Store an event together with the states that it changes."""
        self._states.update(states)
        self._events.setdefault(kind, deque(maxlen=_KEPT_IN_MEMORY)).append({"at": _now(), **value})

    def write(self, states: Mapping[str, str]) -> None:
        """Store states without an event."""
        self._states.update(states)

    def events(self, kind: Kind, last: int | None = None) -> list[dict[str, Any]]:
        """Return events in chronological order, each with its time `at`; with `last`, only that many."""
        events = list(self._events.get(kind, ()))
        return events if last is None else events[len(events) - min(last, len(events)) :]


class FileHistory:
    """The history of a saved monitor, in an SQLite file that also keeps events of earlier references.

    Parameters
    ----------
    path : Path
        The database file, which is created by the first write.
    monitor : str
        Name of the monitor, which is a hash of its arrays.
    """

    def __init__(self, path: Path, monitor: str) -> None:
        self.path, self.monitor = path, monitor

    @contextmanager
    def open_for_writing(self) -> Iterator[_InTransaction]:
        """Lock out other processes while the state is read, changed and written."""
        with lock_for_writing(self.path), closing(self._connect(create=True)) as connection:
            yield _InTransaction(connection, self.path, self.monitor)

    def state(self, name: str) -> str | None:
        """Return the state stored under a name."""
        with self._reading() as connection:
            return None if connection is None else _state(connection, self.monitor, name)

    def events(self, kind: Kind, last: int | None = None) -> list[dict[str, Any]]:
        """Return events in chronological order, including those of earlier references."""
        query = "SELECT monitor, at, value FROM event WHERE kind = ? ORDER BY number DESC LIMIT ?"
        with self._reading() as connection:
            rows = [] if connection is None else connection.execute(query, (kind, -1 if last is None else last))
            events = [{"monitor": monitor, "at": time, **self._decode_event(value)} for monitor, time, value in rows]
        return events[::-1]

    def _decode_event(self, text: Any) -> dict[str, Any]:
        """Return the values of an event; for a damaged event, raise an error that names the file."""
        try:
            event = json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise sqlite.StoreError(f"{self.path} must contain events as JSON, got a damaged event: {error}") from error
        if not isinstance(event, dict) or not isinstance(event.get("state"), str):
            raise sqlite.StoreError(
                f"{self.path} must contain events with a state, got {str(text)[:60]!r}; "
                "move the file away to start a new history"
            )
        return event

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        if not self.path.exists():
            yield None
            return
        with closing(self._connect(create=False)) as connection, sqlite.reading(self.path):
            yield connection

    def _connect(self, *, create: bool) -> sqlite3.Connection:
        """Open the file; a link in a folder of another person could lead to any file."""
        return sqlite.connect(self.path, LAYOUT, create=create, follow_links=False)


class _InTransaction:
    """The history of a saved monitor while no other process can write to it."""

    def __init__(self, connection: sqlite3.Connection, path: Path, monitor: str) -> None:
        self._connection, self._path, self._monitor = connection, path, monitor

    def state(self, name: str) -> str | None:
        with sqlite.reading(self._path):
            return _state(self._connection, self._monitor, name)

    def add(self, kind: Kind, value: Mapping[str, Any], states: Mapping[str, str]) -> None:
        """Store an event together with the states that it changes, in one transaction."""
        text = json.dumps(_replace_non_finite(value), allow_nan=False)
        with sqlite.transaction(self._connection, self._path):
            next_one = "SELECT coalesce(max(number), 0) + 1 FROM event WHERE kind = ?"
            number = self._connection.execute(next_one, (kind,)).fetchone()[0]
            row = (kind, number, self._monitor, _now(), text)
            self._connection.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?)", row)
            self._replace(states)

    def write(self, states: Mapping[str, str]) -> None:
        with sqlite.transaction(self._connection, self._path):
            self._replace(states)

    def _replace(self, states: Mapping[str, str]) -> None:
        rows = ((self._monitor, name, value) for name, value in states.items())
        self._connection.executemany("INSERT OR REPLACE INTO state VALUES (?, ?, ?)", rows)


History = MemoryHistory | FileHistory
Writer = MemoryHistory | _InTransaction


def write_or_warn(history: History, write: Callable[[Writer], None]) -> str:
    """Write to a history; if this fails, warn and return the problem instead of losing the verdict."""
    try:
        with history.open_for_writing() as writer:
            write(writer)
    except (OSError, sqlite.StoreError, sqlite3.Error) as error:
        problem = f"the verdict was not stored in the history and ignores earlier checks: {error}"
        warn(problem, MeasureWarning)
        return problem
    return ""


def _state(connection: sqlite3.Connection, monitor: str, name: str) -> str | None:
    query = "SELECT value FROM state WHERE monitor = ? AND name = ?"
    row = connection.execute(query, (monitor, name)).fetchone()
    return None if row is None else str(row[0])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _replace_non_finite(value: Any) -> Any:
    """Replace values that JSON lacks: NaN becomes null, and infinities the largest numbers."""
    if isinstance(value, Mapping):
        return {str(key): _replace_non_finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_non_finite(item) for item in value]
    if isinstance(value, float) and value - value != 0:
        return None if value != value else (1e308 if value > 0 else -1e308)
    return value


def require_whole(place: Path, plain: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Refuse a monitor in which a value is missing, out of range, or of the wrong type or shape.

    Raises
    ------
    ValueError
        If a value is invalid; the message names the file and the fault.
    """
    for name, (holds, expected) in _VALUES.items():
        if name not in plain:
            raise ValueError(_damage(place, f"no {name}"))
        if not holds(plain[name]):
            raise ValueError(_damage(place, f"{name} = {plain[name]!r:.60}, which must be {expected}"))
    rows = arrays.get("rows", arrays.get("geometry"))
    if rows is None or rows.ndim != 2 or not _finite(rows):
        raise ValueError(_damage(place, "rows that are not a finite matrix"))
    n_classes, nulls = len(plain["classes"]), {name: arrays[name] for name in _NULLS if name in arrays}
    if nulls and (len(nulls) < len(_NULLS) or any(array.dtype.kind != "f" for array in nulls.values())):
        raise ValueError(_damage(place, f"values that are not numbers in {', '.join(_NULLS)}"))
    shapes = {name: (len(rows),) for name in ("names", "codes", "groups", "positions", "null_rows")}
    shapes |= {"null_classes": (n_classes,), "features": (plain["n_features"],)}
    shapes["null_drifts"] = (*nulls.get("null_drifts", rows).shape[:1], len(plain["measures"]))
    for name in shapes.keys() & arrays.keys():
        if arrays[name].shape != shapes[name]:
            raise ValueError(_damage(place, f"{name} of shape {arrays[name].shape} instead of {shapes[name]}"))
    codes = arrays.get("codes", np.zeros(0, dtype=np.intp))
    if codes.dtype.kind not in "iu" or not ((codes >= 0) & (codes < n_classes)).all():
        raise ValueError(_damage(place, "class codes without a class name"))
    positions, n_inputs = arrays.get("positions", np.zeros(0, dtype=np.intp)), plain.get("n_inputs")
    numbers = positions.dtype.kind in "iu" and bool(((positions >= 0) & (positions < (n_inputs or 0))).all())
    if not (numbers and (np.diff(positions) > 0).all()):
        raise ValueError(_damage(place, "positions of rows that are not numbers of canary inputs"))


def _damage(place: Path, fault: str) -> str:
    return f"{place} must contain an undamaged monitor, got {fault}; copy it again, or make the monitor again"


def _finite(values: Array) -> bool:
    return values.dtype.kind == "f" and bool(np.isfinite(values).all())


def _number(low: float, high: float = inf, *, whole: bool = False) -> Callable[[Any], bool]:
    def holds(value: Any) -> bool:
        right = isinstance(value, int) if whole else isinstance(value, int | float)
        return right and not isinstance(value, bool) and bool(low <= value <= high)

    return holds


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


_NULLS = ("null_drifts", "null_rows", "null_classes")
_VALUES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "measures": (lambda value: _texts(value) and bool(value), "names of measures"),
    "classes": (_texts, "names of classes"),
    "n_features": (_number(1, whole=True), "a whole number of at least 1"),
    "precision": (_number(0, 1), "a number from 0 to 1"),
    "level": (_number(1e-15, 1), "a number above 0, up to 1"),
    "tolerance": (_number(0, 1e308), "a number of at least 0"),
    "n_resamples": (_number(1, whole=True), "a whole number of at least 1"),
    "seed": (_number(0, whole=True), "a whole number of at least 0"),
    "n_inputs": (lambda value: value is None or _number(4, whole=True)(value), "a whole number, or nothing"),
    "id_column": (lambda value: value is None or isinstance(value, str), "the name of a column, or nothing"),
    "ids_chosen_by": (lambda value: value in (None, "", "column", "format"), "column, format, or nothing"),
    "run_length": (lambda value: value is None or _number(2, 1e308)(value), "a number of at least 2, or nothing"),
    "doubts": (lambda value: value is None or _texts(value), "texts, or nothing"),
    "about": (lambda value: isinstance(value, dict) and _texts(list(value.values())), "a mapping of names to texts"),
}


FOLDER_LAYOUT = 1
ABOUT, HISTORY = "monitor.json", "history.sqlite"
_OWN = re.compile(r"arrays-[0-9a-f]{16}\.npz")
_ENTRY = "monitor"
"""Name of the .npz entry that takes the place of `monitor.json` in a single-file monitor."""


def write(place: Path, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], *, overwrite: bool) -> History:
    """Write a monitor and return its history; a name that ends in .npz gives a single file."""
    check.boolean(overwrite, "overwrite")
    if place.suffix != ".npz" or place.is_dir():
        return FileHistory(place / HISTORY, _write_folder(place, plain, arrays, overwrite=overwrite))
    if place.exists():
        if not overwrite:
            raise FileExistsError(
                f"folder must not contain a monitor yet, got {place}; pass overwrite=True to replace it"
            )
        # Reading raises an error for other .npz files, so that they are not overwritten.
        _read_file(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    about = json.dumps({"layout": FOLDER_LAYOUT, "shesha": __version__, **plain}, allow_nan=False)
    files.write_bytes(place, _pack_arrays({_ENTRY: np.array(about), **arrays}))
    return MemoryHistory()


def read(place: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]], History]:
    """Read a monitor that `write` wrote; raise ValueError if it is damaged."""
    if place.suffix == ".npz" and place.is_file():
        return *_read_file(place), MemoryHistory()
    about, arrays, name = _read_folder(place)
    return about, arrays, FileHistory(place / HISTORY, name)


def _read_file(place: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    try:
        with reading(place), np.load(place, allow_pickle=False) as file:
            arrays = dict(file)
            about = json.loads(str(arrays.pop(_ENTRY)))
            layout = about["layout"]
    except UnreadableFileError as error:
        message = f"{place} must be a monitor that was saved as one file, got another file: {error}"
        raise ValueError(message) from error
    _require_layout(layout, about)
    require_whole(place, about, arrays)
    return about, arrays


def _require_layout(layout: Any, about: Mapping[str, Any]) -> None:
    if layout != FOLDER_LAYOUT:
        raise ValueError(
            f"folder must contain a monitor of layout {FOLDER_LAYOUT}, got layout {layout}, written by shesha "
            f"{about.get('shesha')}; use that version, or make the monitor again"
        )


def _write_folder(
    folder: Path, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], *, overwrite: bool
) -> str:
    """Write a monitor to a directory, and return the monitor's name, which is a hash of its arrays.

    The arrays are written first, to a file with a new name. The JSON file, which contains this name, is replaced last,
    so a reader always finds either the old or the new monitor.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"folder must be a directory, got the file {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    for inside in (ABOUT, HISTORY):
        require_no_link(folder / inside, "file of a monitor")
    if (folder / ABOUT).exists() and not overwrite:
        raise FileExistsError(
            f"folder must not contain a monitor yet, got {folder}; pass overwrite=True for a new reference"
        )
    content = _pack_arrays(arrays)
    name = hashlib.sha256(content).hexdigest()
    file = f"arrays-{name[:16]}.npz"
    files.write_bytes(folder / file, content)
    about = {"layout": FOLDER_LAYOUT, "shesha": __version__, "arrays": file, "sha256": name, **plain}
    files.write_text(folder / ABOUT, json.dumps(about, indent=2, allow_nan=False) + "\n")
    for old in folder.glob("arrays-*.npz"):
        # Other files may have similar names, so only names of the exact form are deleted.
        if old.name != file and _OWN.fullmatch(old.name):
            old.unlink(missing_ok=True)
    return name[:16]


def _read_folder(folder: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]], str]:
    if not (folder / ABOUT).is_file():
        missing = "no such directory" if not folder.is_dir() else f"no {ABOUT} in it"
        raise FileNotFoundError(
            f"folder must be a directory made by save or `shesha monitor init`, got {folder} ({missing})"
        )
    try:
        about = read_json(folder / ABOUT, "monitor", follow_links=False)
        layout = about["layout"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{folder / ABOUT} must describe a monitor, got other contents: {error}") from error
    _require_layout(layout, about)
    name = Path(str(about.get("arrays"))).name
    content = read_bytes(folder / name, "monitor", follow_links=False) if (folder / name).is_file() else b""
    if hashlib.sha256(content).hexdigest() != about.get("sha256"):
        raise ValueError(
            f"folder must contain a complete monitor, got {folder}, where {name} is missing or damaged, perhaps by an "
            "incomplete copy. Copy the directory again, or make the monitor again"
        )
    with reading(folder / name), np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = dict(file)
    require_whole(folder / ABOUT, about, arrays)
    return about, arrays, about["sha256"][:16]


def _pack_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()
