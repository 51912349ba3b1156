"""Tests that reach each statement: probes in a copy of the sources record the running test, also in subprocesses."""

from __future__ import annotations

import ast
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from _mutations import Mutation, find_mutations

HITS = "SHESHA_PROBES"
"""Environment variable that names the file in which reached statements are recorded."""
MODULE = f'''"""Note each test that reaches a probe, once per process."""
import os

_seen = set()


def probe(place):
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    if (place, test) not in _seen and "{HITS}" in os.environ:
        _seen.add((place, test))
        with open(os.environ["{HITS}"], "a") as notes:
            notes.write(f"{{place}} {{test}}\\n")
'''

IMPORT = "try:\n    from shesha_probe import probe as _probe\nexcept ImportError:\n    _probe = bool"
"""Import of the probes. Tests that copy some files of the package elsewhere run without them."""


def insert_probes(copy: Path, path: Path) -> None:
    """Insert a probe before each statement of a function that a mutation can change."""
    mutations = find_mutations(copy, path)
    tree = ast.parse((copy / path).read_bytes())
    places = {find_place(tree, one) for one in mutations} - {None}
    for body in list(_bodies(tree)):
        for statement in list(body):
            if statement.lineno in places:
                body.insert(body.index(statement), ast.parse(f"_probe('{path}:{statement.lineno}')").body[0])
    at = sum(isinstance(first, ast.Expr | ast.ImportFrom) and _is_prelude(first) for first in tree.body[:3])
    tree.body.insert(at, ast.parse(IMPORT).body[0])
    (copy / path).write_text(ast.unparse(ast.fix_missing_locations(tree)))


def _is_prelude(statement: ast.stmt) -> bool:
    """Return whether a statement must stay at the top of a file: a docstring or a future import."""
    if isinstance(statement, ast.ImportFrom):
        return statement.module == "__future__"
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list):
                yield body


def find_place(tree: ast.Module, one: Mutation) -> int | None:
    """Return the line of the innermost function statement with a mutation; None for code that runs on import."""
    covering = [
        statement.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for body in _bodies(node)
        for statement in body
        if (statement.lineno, statement.col_offset) <= (one.line, one.column)
        and one.line <= (statement.end_lineno or 0)
    ]
    return max(covering, default=None)


class Recorder:
    """Record the processor seconds and the fixtures of each test, and name a shared fixture while it is created.

    No further test starts after `most` seconds. The first case of every test runs before the second case of any test,
    so skipped cases only repeat tests that were run.
    """

    def __init__(self, most: float | None = None) -> None:
        self.stop = None if most is None else time.monotonic() + most
        self.seconds: dict[str, float] = defaultdict(float)
        self.fixtures: dict[str, list[str]] = {}
        self.failed: list[str] = []
        self.began = 0.0
        self.session: pytest.Session | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.stop is not None:
            seen: Counter[str] = Counter()
            turns = []
            for item in items:
                name = item.nodeid.partition("[")[0]
                turns.append(seen[name])
                seen[name] += 1
            items[:] = [items[at] for at in sorted(range(len(items)), key=lambda at: turns[at])]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.began = sum(os.times()[:4])

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.seconds[nodeid] += sum(os.times()[:4]) - self.began
        if self.stop is not None and time.monotonic() > self.stop and self.session is not None:
            self.session.shouldstop = "no time is left"

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.session = session

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.fixtures[item.nodeid] = list(getattr(item, "fixturenames", []))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        before = os.environ.get("PYTEST_CURRENT_TEST", "")
        if fixturedef.scope != "function":
            os.environ["PYTEST_CURRENT_TEST"] = f"fixture {fixturedef.argname}"
        try:
            return (yield)
        finally:
            os.environ["PYTEST_CURRENT_TEST"] = before


def read_hits(notes: Path, fixtures: dict[str, list[str]]) -> dict[str, set[str]]:
    """Return the tests that reached each probe, directly or through a shared fixture."""
    users = defaultdict(set)
    for test, names in fixtures.items():
        for name in names:
            users[name].add(test)
    hits: dict[str, set[str]] = defaultdict(set)
    for line in notes.read_text().splitlines() if notes.exists() else []:
        place, _, test = line.partition(" ")
        if test.startswith("fixture "):
            hits[place] |= users[test.removeprefix("fixture ")]
        elif test:
            hits[place].add(test.rsplit(" ", 1)[0])
    return hits
