"""Use damaged stores: saved results, monitors, comparisons, submissions, pictures, rules, models.

    python scripts/fuzz_stores.py --minutes 5 --seed 0
    python scripts/fuzz_stores.py --only monitor --case 12

One file of a good store is damaged, as in `fuzz_files.py`, and the store is used. This must return a result, or raise
an error of the library. Everything else is reported once per place in the code.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _foreign_folders import make_images, make_models, make_rules, use_images, use_models, use_rules
from fuzz_calls import Late, judged, limit
from fuzz_files import _edited, mutated

import shesha
from shesha.drift import CanaryEncodings, DriftMonitor
from shesha.runs.store import _SEAL, _add_checksum

X = np.random.default_rng(0).standard_normal((40, 6))
Y = X[:, :4] + np.random.default_rng(1).standard_normal((40, 4))
Use = Callable[[Path], Any]


def make_results(folder: Path) -> None:
    """Save one result of each kind."""
    few: dict[str, Any] = {"n_permutations": 19, "seed": 0}
    found = {
        "audit": shesha.audit({"a": X, "b": Y}, np.arange(40) % 2, n_bootstrap=5, **few),
        "null": shesha.calibrate(X, Y, **few),
        "layers": shesha.compare_layers([X, Y], [Y, X], calibrate=True, **few),
        "comparison": shesha.compare(X, Y, ["CKA", "RSA"]),
        "pairs": shesha.compare_all({"a": X, "b": Y, "c": Y + X[:, :4]}, ["CKA"]),
        "consensus": shesha.consensus({"a": X, "b": Y, "c": X + 0.1}),
        "diff": shesha.diff({"a": X}, {"a": X + 0.1 * X**2}),
        "doubts": shesha.doubts(X),
        "ranking": shesha.rank_models([X], {"a": X, "b": Y}, n_resamples=20, **few),
        "matching": shesha.match_units(X, Y),
    }
    for name, one in found.items():
        one.save(folder / f"{name}.json")


def use_results(folder: Path) -> None:
    """Load every result, and print, convert and show it."""
    for path in sorted(folder.iterdir()):
        found = shesha.load(path)
        str(found), found.to_dict(), found.page({})


def make_monitor(folder: Path) -> None:
    """Save a monitor with rows, checks and updates, and the same in one file."""
    rng = np.random.default_rng(2)
    nulls = [X + 0.01 * rng.standard_normal(X.shape) for _ in range(19)]
    monitor = DriftMonitor(X, nulls=nulls, labels=np.arange(40) % 2, run_length=20)
    monitor.save(folder / "one.npz")
    monitor.save(folder / "monitor", keep_rows=True)
    monitor = DriftMonitor.load(folder / "monitor")
    for _ in range(3):
        monitor.check(X + 0.01 * rng.standard_normal(X.shape))
        monitor.update(X[:9] + 0.01 * rng.standard_normal((9, X.shape[1])))


def use_monitor(folder: Path) -> None:
    """Check, update, and answer the requests of a server."""
    from shesha.drift.monitor_server import server

    for place in (folder / "one.npz", folder / "monitor"):
        monitor = DriftMonitor.load(place)
        str(monitor.check(X + 0.02)), monitor.history("check"), monitor.history("update")
    str(monitor.update(X[:7] + 0.02))
    with server(folder / "monitor", port=0) as served:
        for answer in served.pages.values():
            answer()


def make_moments(folder: Path) -> None:
    """Save moments of two representations."""
    moments = shesha.Moments(names=("a", "b"))
    moments.update(X, Y)
    moments.save(folder / "moments.npz")


def use_moments(folder: Path) -> None:
    """Continue counting, and compare."""
    found = shesha.Moments.load(folder / "moments.npz")
    found.update(X, Y)
    str(shesha.compare(found, "CKA"))


def make_stores(folder: Path) -> None:
    """Compare and audit with stores."""
    use_stores(folder)


def use_stores(folder: Path) -> None:
    """Compare and audit files with stores, as the commands do, so that stored values are used again."""
    files = [folder / name for name in ("a.npy", "b.npy", "c.npy")]
    for path, rows in zip(files, (X, Y, X + Y[:, :1]), strict=True):
        np.save(path, rows)
    str(shesha.compare_all(files, ["CKA", "RSA"], store=folder / "pairs.sqlite"))
    str(shesha.audit(files, n_bootstrap=5, n_permutations=19, store=folder / "audit.sqlite"))


def make_submissions(folder: Path) -> None:
    """Write two submissions."""
    score = {"domain": "graphs", "dataset": "Cora", "architecture": "GCN", "pooling": "", "test": "accuracy"}
    score |= {"quality": "spearman", "value": 0.5, "without_training": [0.4, 0.6, 0.5]}
    for number, name in enumerate(("CKA", "RSA")):
        one = {"format": 1, "suite": "small", "measure": name, "code": "abc", "closer": "higher"}
        scores = [score | {"value": 0.5 + number / 9, "test": test} for test in ("accuracy", "output")]
        (folder / f"{name}.json").write_text(json.dumps(one | {"scores": scores}))


def use_submissions(folder: Path) -> None:
    """Make the table of all submissions."""
    from shesha_bench import leaderboard_page

    leaderboard_page(folder)


def make_encodings(folder: Path) -> None:
    """Write re-encodings."""
    for number in range(2):
        np.save(folder / f"{number}.npy", X + number)


def use_encodings(folder: Path) -> None:
    """Make a monitor from the re-encodings."""
    files = tuple(sorted(folder.iterdir()))
    DriftMonitor(X, nulls=CanaryEncodings("layer", X, files, {}), false_alarm=0.4)


STORES: dict[str, tuple[Callable[[Path], None], Use]] = {
    "results": (make_results, use_results),
    "monitor": (make_monitor, use_monitor),
    "moments": (make_moments, use_moments),
    "stores": (make_stores, use_stores),
    "submissions": (make_submissions, use_submissions),
    "encodings": (make_encodings, use_encodings),
    "images": (make_images, use_images),
    "rules": (make_rules, use_rules),
    "models": (make_models, use_models),
}


def write_case(kind: str, good: Path, number: int, seed: int, folder: Path) -> Path:
    """Write the damaged store of a number: edit a document, a row of a table, or bytes."""
    rng = np.random.default_rng([seed, sum(kind.encode()), number])
    target = folder / f"{kind}-{number}"
    shutil.copytree(good, target)
    # Do not damage the input arrays of comparisons, because they are written again before each use.
    # Code is not damaged either, because users run it on purpose.
    inside = sorted(path for path in target.rglob("*") if path.is_file() and path.suffix != ".py")
    inside = [path for path in inside if (kind, path.suffix) != ("stores", ".npy")]
    chosen = inside[int(rng.integers(len(inside)))]
    if kind not in ("moments", "encodings") and rng.random() < 0.1:
        _plant(target, chosen, rng)
    elif chosen.suffix == ".json" and rng.random() < 0.7:
        chosen.write_text(json.dumps(_edited(json.loads(chosen.read_text()), rng)))
    elif chosen.suffix == ".sqlite" and rng.random() < 0.7:
        _edit_row(chosen, rng)
    else:
        chosen.write_bytes(mutated(chosen.read_bytes(), rng))
    return target


_SCHEMA = (
    "CREATE VIEW more AS SELECT * FROM {table}",
    "CREATE TRIGGER gone AFTER INSERT ON {table} BEGIN DELETE FROM {table}; END",
    "CREATE INDEX more ON {table} (abs({column}))",
    "ALTER TABLE {table} ADD COLUMN more TEXT",
    "DROP TABLE {table}",
    "CREATE VIEW endless AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c",
)
"""Statements that change which tables, views and triggers a store has."""


def _plant(target: Path, chosen: Path, rng: np.random.Generator) -> None:
    """Replace a file, or one that a store keeps beside it, by a link, a pipe or a folder."""
    endings = ("", "-wal", "-shm", "-journal", ".lock") if chosen.suffix == ".sqlite" else ("",)
    place = chosen.with_name(chosen.name + endings[int(rng.integers(len(endings)))])
    place.unlink(missing_ok=True)
    make = (
        lambda: place.symlink_to(target / "nothing"),
        lambda: place.symlink_to("/dev/zero"),
        lambda: os.mkfifo(place),
        place.mkdir,
    )
    make[int(rng.integers(len(make)))]()


def _edit_row(path: Path, rng: np.random.Generator) -> None:
    """Replace one value of a table, or edit the JSON in it."""
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        tables = [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = tables[int(rng.integers(len(tables)))]
        columns = [row[1] for row in file.execute(f"PRAGMA table_info({table})")]
        column = columns[int(rng.integers(len(columns)))]
        values = [value for (value,) in file.execute(f"SELECT {column} FROM {table}")]
        if not values:
            return
        if rng.random() < 0.1:
            statement = _SCHEMA[int(rng.integers(len(_SCHEMA)))]
            with contextlib.suppress(sqlite3.OperationalError):
                file.execute(statement.format(table=table, column=column))
            return
        value = values[int(rng.integers(len(values)))]
        strange = [None, -1, 1.5, b"\xff\x00", "", "null", "[]", "{}", "NaN", '{"a":' * 2000, "9" * 30, float("inf")]
        new = strange[int(rng.integers(len(strange)))]
        has_checksum = table == "result" and column == "value" and rng.random() < 0.9
        with contextlib.suppress(ValueError, TypeError):
            if rng.random() < 0.6:
                new = json.dumps(_edited(json.loads(value[_SEAL:] if has_checksum else value), rng))
        if has_checksum and isinstance(new, str):
            # Otherwise the checksum would reveal the edit before anything reads the values.
            new = _add_checksum(new)
        with contextlib.suppress(sqlite3.IntegrityError, sqlite3.DataError):
            file.execute(f"UPDATE {table} SET {column} = ? WHERE {column} IS ?", (new, value))


def outcome(use: Use, place: Path) -> tuple[str, str]:
    """Use a store, and classify the outcome."""
    import signal

    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        signal.setitimer(signal.ITIMER_VIRTUAL, 20)
        try:
            use(place)
        except Late:
            return "LATE", ""
        except BaseException as error:
            return judged(error)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return "result", ""


def run(minutes: float, numbers: range, seed: int, only: str) -> int:
    """Test damaged stores for a given processor time; print each kind of fault once, and the number of stores."""
    until, tally, seen = time.process_time() + 60 * minutes, Counter[str](), set()
    with tempfile.TemporaryDirectory() as place:
        kinds = [kind for kind in STORES if only in ("", kind)]
        for kind in kinds:
            (Path(place) / kind).mkdir()
            STORES[kind][0](Path(place) / kind)
            word, where = outcome(
                STORES[kind][1], Path(shutil.copytree(Path(place) / kind, Path(place) / f"{kind}-good"))
            )
            if word != "result":
                raise RuntimeError(f"the good store {kind} does not work: {word} {where}")
        for number in numbers:
            if time.process_time() > until:
                break
            for kind in kinds:
                damaged = write_case(kind, Path(place) / kind, number, seed, Path(place))
                word, where = outcome(STORES[kind][1], damaged)
                shutil.rmtree(damaged)
                tally[f"{kind} {word}"] += 1
                where = where.replace(place, "")
                if word not in ("result", "refused") and (word, ":".join(where.split(":")[:3])) not in seen:
                    seen.add((word, ":".join(where.split(":")[:3])))
                    print(f"--seed {seed} --only {kind} --case {number}: {word}\n    {where}", flush=True)
    print(", ".join(f"{count:,} {word}" for word, count in sorted(tally.items())))
    return 1 if seen else 0


def main() -> int:
    """Test damaged stores, or use one case again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5, help="processor time")
    parser.add_argument("--cases", type=int, default=1 << 31, help="damage so many of each kind at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", choices=["", *STORES])
    parser.add_argument("--case", type=int, help="use this case only")
    asked = parser.parse_args()
    limit()
    numbers = range(asked.cases) if asked.case is None else range(asked.case, asked.case + 1)
    return run(asked.minutes, numbers, asked.seed, asked.only)


if __name__ == "__main__":
    sys.exit(main())
