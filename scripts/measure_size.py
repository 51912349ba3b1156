"""Print the size of the library: lines, files, functions that one call passes, fields of results, names and options.

Usage: measure_size.py
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import io
import pkgutil
import sys
import threading
import tokenize
from collections.abc import Callable
from pathlib import Path

import numpy as np
import typer

import shesha
from shesha.cli._app import app
from shesha.results.base import Result

ROOT = Path(__file__).parents[1]


def count_lines(folder: Path) -> tuple[int, int, int, int]:
    """Return files, lines, lines of code (no blanks, comments, docstrings, imports) and lines that are imports."""
    sizes = [_lines_of(path.read_text(encoding="utf-8")) for path in folder.rglob("*.py")]
    return len(sizes), *(sum(column) for column in zip(*sizes, strict=True))  # type: ignore[return-value]


def _lines_of(text: str) -> tuple[int, int, int]:
    lines, other, imports = text.splitlines(), set[int](), set[int]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.update(range(node.lineno, (node.end_lineno or 0) + 1))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            other.update(range(node.lineno, (node.end_lineno or 0) + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
    other |= {n for n in comments if lines[n - 1].lstrip().startswith("#")}
    other |= {n for n, line in enumerate(lines, 1) if not line.strip()}
    return len(lines), len(lines) - len(other | imports), len(imports)


def passed_by(call: Callable[[], object]) -> tuple[int, int]:
    """Return how many named functions of the library a call passes, in all threads, and in how many files."""
    own, places = str(Path(shesha.__file__).parent), set[tuple[str, int]]()

    def note(frame: object, event: str, _: object) -> None:
        code = frame.f_code  # type: ignore[attr-defined]
        if event == "call" and code.co_filename.startswith(own) and not code.co_name.startswith("<"):
            places.add((code.co_filename, code.co_firstlineno))

    call()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return len(places), len({file for file, _ in places})


def result_classes() -> list[type]:
    """Return every class of results that the library's modules define."""
    for found in pkgutil.walk_packages(shesha.__path__, "shesha."):
        if "native" not in found.name:
            importlib.import_module(found.name)
    classes, found_classes = [Result], set[type]()
    while classes:
        more = [one for one in classes.pop().__subclasses__() if one not in found_classes]
        found_classes.update(more)
        classes += more
    return [one for one in found_classes if one.__module__.startswith("shesha.") and dataclasses.is_dataclass(one)]


def options() -> tuple[int, int]:
    """Return the options of all commands of the library, and how many of their names are distinct."""
    group = typer.main.get_group(app)
    commands = [*group.commands.values(), *group.commands["monitor"].commands.values()]  # type: ignore[attr-defined]
    names = [one.name for command in commands for one in command.params if one.param_type_name == "option"]
    return len(names), len(set(names))


if __name__ == "__main__":
    for folder in ("src/shesha", "packages/shesha-bench", "packages/shesha-studies", "tests"):
        files, lines, code, imports = count_lines(ROOT / folder)
        print(f"{folder}: {files} files, {lines:,} lines, {code:,} of code, {100 * imports / lines:.1f} % imports")
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 60, 8))
    for name, call in {"compare(X, Y)": lambda: shesha.compare(X, Y), "audit(X)": lambda: shesha.audit(X)}.items():
        print("{} passes {} functions in {} files".format(name, *passed_by(call)))
    classes = result_classes()
    fields = {field.name for one in classes for field in dataclasses.fields(one)}
    print(f"results: {len(classes)} classes, {len(fields)} distinct names of fields")
    print(f"names at top level: {len(shesha.__all__)}")
    print("options of commands: {}, {} distinct".format(*options()))
