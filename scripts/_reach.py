"""Statements that each test of a room reaches, kept between runs for test files that did not change."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from _mutant_runs import list_files_of, list_tests, load_libraries, run_tests
from _mutations import list_files
from _probes import MODULE, insert_probes, read_hits


class BrokenTests(Exception):
    """Raised if the tests of a room fail without any mutation."""


@dataclass(frozen=True)
class Reach:
    """Seconds of each test, and the tests that reach each statement, named file:line."""

    seconds: dict[str, float]
    places: dict[str, set[str]]
    is_complete: bool = True
    """Whether all test files of the room have run."""

    def tests_at(self, place: str) -> set[str]:
        """Return the tests that reach a statement."""
        return self.places.get(place, set())

    def tests_of(self, path: Path) -> set[str]:
        """Return the tests that reach any statement of a file."""
        return set().union(*(tests for place, tests in self.places.items() if place.startswith(f"{path}:")))


def find_reach(root: Path, room: str, probed: Path, kept: Path, most: float | None) -> Reach:
    """Run the test files that changed since the last run, and add the stored results of the others."""
    files = [file for test in list_tests(root, room) for file in list_files_of(root, test)]
    shared = _digest([*(root / "src" / "shesha" / room).rglob("*.py"), *(root / "tests").rglob("conftest.py")])
    known = json.loads((kept / f"{room}.json").read_text()) if (kept / f"{room}.json").exists() else {}
    keys = {str(file.relative_to(root)): shared + _digest([file]) for file in files}
    known = {name: entry for name, entry in known.items() if entry["key"] == keys.get(name)}
    stale = [name for name in keys if name not in known]
    load_libraries(root, list(keys))
    if stale:
        fresh = _run(root, probed, room, stale, most)
        known |= {name: {"key": keys[name]} | entry for name, entry in _whole(fresh, most).items()}
        kept.mkdir(parents=True, exist_ok=True)
        (kept / f"{room}.json").write_text(json.dumps(known))
    places: dict[str, set[str]] = {}
    for entry in known.values():
        for place, tests in entry["places"].items():
            places.setdefault(place, set()).update(tests)
    return Reach(
        {test: s for entry in known.values() for test, s in entry["seconds"].items()},
        places,
        keys.keys() <= known.keys(),
    )


def _whole(fresh: dict[str, dict[str, object]], most: float | None) -> dict[str, dict[str, object]]:
    """Omit the files that did not run, and the last one, some of whose tests may not have run."""
    begun = [name for name, entry in fresh.items() if entry["seconds"]]
    if not most or len(begun) == len(fresh):
        return fresh
    return {name: fresh[name] for name in begun[:-1]}


def _digest(files: list[Path]) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()


def _run(root: Path, copy: Path, room: str, names: list[str], most: float | None) -> dict[str, dict[str, object]]:
    """Run test files in a copy with probes; return the seconds and the reach of each file."""
    notes, began = copy.parent / f"{room}.hits", time.monotonic()
    shutil.copytree(root / "src", copy / "src", dirs_exist_ok=True)
    (copy / "src" / "shesha_probe.py").write_text(MODULE)
    for path in list_files(root, room):
        insert_probes(copy, path)
    outcome = run_tests(copy, names, notes=notes, most=most)
    print(f"{room}: {len(outcome.seconds)} tests in {time.monotonic() - began:.0f} s", flush=True)
    if outcome.verdict != "survived":
        print(Path(f"{copy}.log").read_text()[-3000:])
        raise BrokenTests(f"the tests of {room} must pass before anything is changed, but failed: {outcome.failed}")
    hits = read_hits(notes, outcome.fixtures)

    def of(name: str, tests: set[str]) -> list[str]:
        return sorted(test for test in tests if test.partition("::")[0] == name)

    return {
        name: {
            "seconds": {test: outcome.seconds[test] for test in of(name, set(outcome.seconds))},
            "places": {place: kept for place, tests in hits.items() if (kept := of(name, tests))},
        }
        for name in names
    }
