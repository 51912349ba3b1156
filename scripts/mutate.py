"""Change one operator or constant at a time, and check whether the tests of its room fail.

    python scripts/mutate.py nulls --number 20 --seed 1
    python scripts/mutate.py all --number 200

Rooms are drawn with probabilities proportional to their lines. All runs use copies of the checkout. The first run
records which tests reach each statement, and build/mutations keeps this until a file changes. Then each mutation is
made, and the tests that reach it run until the first fails, the quickest first. For code that runs on import, all tests
of the room run. If no test fails, either the mutation does not alter results, or a test is missing.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from _mutant_runs import LEFT_OUT, run_tests
from _mutations import PACKAGE, Mutation, draw_mutations, find_rooms
from _probes import find_place
from _reach import BrokenTests, Reach, find_reach

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "build" / "mutations"


def choose_tests(copy: Path, one: Mutation, reach: Reach, most: float) -> list[str]:
    """List the tests of a mutation: tests of the room, other tests, then examples; within each, the quickest first."""
    place = find_place(ast.parse((copy / one.path).read_bytes()), one)
    reached = reach.tests_of(one.path) if place is None else reach.tests_at(f"{one.path}:{place}")
    own = f"tests/{one.path.relative_to(PACKAGE).parts[0]}/"

    def turn(test: str) -> tuple[bool, bool, float]:
        return test.startswith("src"), not test.startswith(own), reach.seconds[test]

    order = sorted(reached, key=turn)
    if place is None:
        order += sorted(set(reach.seconds) - reached, key=turn)
    total, chosen = 0.0, list[str]()
    for test in order:
        total += reach.seconds[test]
        if total > most and chosen:
            break
        chosen.append(test)
    return chosen


def judge(copy: Path, one: Mutation, tests: list[str], seconds: float, count: int) -> tuple[str, str]:
    """Make one mutation, run its tests, and undo it. Return the verdict and the test that failed."""
    if not tests:
        return "survived", "no test reaches it"
    file = copy / one.path
    source, stat = file.read_bytes(), file.stat()
    file.write_bytes(one.apply(source))
    # Python recognises outdated compiled files by time in seconds and size, so each mutant needs a different time.
    os.utime(file, (stat.st_mtime + 10 * (count + 1),) * 2)
    began = time.monotonic()
    outcome = run_tests(copy, tests, 60 + 5 * seconds)
    file.write_bytes(source)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    by = " ".join(outcome.failed[:2]) or f"{len(tests)} tests"
    return outcome.verdict, f"{by}, {time.monotonic() - began:.0f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="+", help="folders of src/shesha, or all")
    parser.add_argument("--number", type=int, default=20, help="mutations in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0, help="run the tests of a mutation up to this long")
    parser.add_argument("--first", type=float, help="in the first run of a room begin no test after so many seconds")
    asked = parser.parse_args()
    verdicts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clean = folder / "clean"
        for copy in (clean, folder / "probed"):
            shutil.copytree(ROOT, copy, ignore=LEFT_OUT, symlinks=True)
        rooms = find_rooms(clean) if asked.rooms == ["all"] else asked.rooms
        chosen = draw_mutations(clean, sorted(rooms), asked.number, asked.seed)
        for room in rooms:
            own = {number: one for number, one in enumerate(chosen) if one.path.is_relative_to(PACKAGE / room)}
            if not own:
                continue
            try:
                reach = find_reach(clean, room, folder / "probed", KEPT, asked.first)
            except BrokenTests as broken:
                print(broken, flush=True)
                verdicts["not judged"] += len(own)
                continue
            for number, one in own.items():
                tests = choose_tests(clean, one, reach, asked.seconds)
                verdict, by = judge(clean, one, tests, sum(reach.seconds[test] for test in tests), number)
                if not tests and not reach.is_complete:
                    verdict, by = "not judged", "no test that has run reaches it, but some have not run"
                verdicts[verdict] += 1
                change = one.describe((clean / one.path).read_bytes())
                print(f"{verdict:9} {one.path}:{one.line}  {change}  [{by}]", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))


if __name__ == "__main__":
    main()
