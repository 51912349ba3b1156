"""Change one comparison, operator or constant of a room at a time, and see whether the room's tests notice.

python scripts/mutate.py nulls --number 20 [--seed 0] [--tests tests/nulls]

Works in a copy of the checkout. A survivor is a mutation that passes all tests of the room: either it changes nothing
that matters, or a test is missing.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "build", "site", "studies")
COMPARISONS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
COMPARISONS |= {ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in"}
ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*"}
BOOLEAN = {ast.And: "or", ast.Or: "and"}


@dataclass(frozen=True)
class Mutation:
    """One stretch of a file, in bytes, and what takes its place."""

    path: Path
    line: int
    start: int
    end: int
    text: str

    def apply(self, source: bytes) -> bytes:
        """Return the changed source."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def find_mutations(path: Path) -> list[Mutation]:
    """List all mutations of a file that leave annotations, errors and texts alone."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def between(first: ast.expr, second: ast.expr, text: str) -> Mutation:
        """Replace the operator between two expressions; brackets around them stay."""
        begin = starts[(first.end_lineno or 1) - 1] + (first.end_col_offset or 0)
        end = starts[second.lineno - 1] + second.col_offset
        gap = source[begin:end]
        operator = gap.strip(b" \n\t()")
        at = begin + gap.index(operator)
        return Mutation(path, second.lineno, at, at + len(operator), text)

    found = []
    for node in walk_code(ast.parse(source)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
            found.append(between(node.left, node.comparators[0], COMPARISONS[type(node.ops[0])]))
        elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            found.append(between(node.left, node.right, ARITHMETIC[type(node.op)]))
        elif isinstance(node, ast.BoolOp):
            found.append(between(node.values[0], node.values[1], BOOLEAN[type(node.op)]))
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.lineno - 1] + (node.end_col_offset or 0)
            found.append(Mutation(path, node.lineno, begin, end, repr(node.value + 1)))
    # Comments between operands can hide an operator; such a change would not be one of the operator alone.
    return [one for one in found if b"#" not in source[one.start : one.end]]


def walk_code(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but those of annotations, raised errors, and blocks for type checkers."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "type_params"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.Raise | ast.JoinedStr):
                continue
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                continue
            yield node
            yield from walk_code(node)


def run_tests(copy: Path, tests: list[str], limit: float | None) -> bool:
    """Whether the tests pass in the copy within the limit of seconds."""
    paths = [copy / "src", copy / "packages" / "shesha-studies" / "src"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", *tests]
    try:
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def sort_tests(copy: Path, folder: str, module: Path) -> list[str]:
    """List the tests of a room, those that name the changed module first."""
    files = sorted((copy / folder).rglob("test_*.py")) if (copy / folder).is_dir() else [copy / folder]
    files.sort(key=lambda file: (module.stem.strip("_") not in file.name, module.stem not in file.read_text("utf-8")))
    return [str(file.relative_to(copy)) for file in files]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("room", help="folder of src/shesha")
    parser.add_argument("--number", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", help="folder of tests, default tests/ROOM")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT, symlinks=True)
        files = sorted((copy / "src" / "shesha" / asked.room).rglob("*.py"))
        mutations = [one for file in files for one in find_mutations(file)]
        tests = asked.tests or f"tests/{asked.room}"
        began = time.monotonic()
        if not run_tests(copy, [tests], None):
            sys.exit(f"{tests} must pass before anything is changed")
        limit = 30 + 3 * (time.monotonic() - began)
        chosen = random.Random(asked.seed).sample(mutations, min(asked.number, len(mutations)))
        killed = 0
        for one in chosen:
            source = one.path.read_bytes()
            one.path.write_bytes(one.apply(source))
            survived = run_tests(copy, sort_tests(copy, tests, one.path), limit)
            one.path.write_bytes(source)
            killed += not survived
            before = source.splitlines()[one.line - 1].decode().strip()
            change = f"{source[one.start : one.end].decode()} -> {one.text}"
            place = f"{one.path.relative_to(copy)}:{one.line}"
            print(f"{'survived' if survived else 'killed  '} {place}  {change}  in  {before}", flush=True)
        print(f"{killed} of {len(chosen)} killed (of {len(mutations)} possible mutations)")


if __name__ == "__main__":
    main()
