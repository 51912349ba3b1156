"""The changes that `mutate.py` makes: one operator or constant at a time, in rooms drawn by their number of lines."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path("src/shesha")
COMPARISONS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
COMPARISONS |= {ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in"}
ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*"}
BOOLEAN = {ast.And: "or", ast.Or: "and"}


@dataclass(frozen=True)
class Mutation:
    """A range of bytes in a file, and its replacement."""

    path: Path
    line: int
    column: int
    start: int
    end: int
    text: str

    def apply(self, source: bytes) -> bytes:
        """Return the changed source."""
        return source[: self.start] + self.text.encode() + source[self.end :]

    def describe(self, source: bytes) -> str:
        """Describe the change within its line; it is marked by arrows."""
        begin = source.rfind(b"\n", 0, self.start) + 1
        stop = source.find(b"\n", self.end)
        before, after = source[begin : self.start].decode().lstrip(), source[self.end : stop].decode()
        return f"{before}>>{source[self.start : self.end].decode()} -> {self.text}<<{after}"


def find_mutations(root: Path, path: Path) -> list[Mutation]:
    """List all mutations of a file outside annotations, errors, texts and `__all__`."""
    source = (root / path).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def at(line: int | None, column: int | None) -> int:
        return starts[(line or 1) - 1] + (column or 0)

    def between(whole: ast.expr, first: ast.expr, second: ast.expr, text: str) -> Mutation:
        """Replace the operator between two expressions, and keep brackets around them."""
        begin, end = at(first.end_lineno, first.end_col_offset), at(second.lineno, second.col_offset)
        operator = source[begin:end].strip(b" \n\t()")
        begin += source[begin:end].index(operator)
        return Mutation(path, second.lineno, whole.col_offset, begin, begin + len(operator), text)

    found = []
    for node in walk_code(ast.parse(source)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
            found.append(between(node, node.left, node.comparators[0], COMPARISONS[type(node.ops[0])]))
        elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            found.append(between(node, node.left, node.right, ARITHMETIC[type(node.op)]))
        elif isinstance(node, ast.BoolOp):
            found.append(between(node, node.values[0], node.values[1], BOOLEAN[type(node.op)]))
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)
        ):
            begin, end = at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)
            found.append(Mutation(path, node.lineno, node.col_offset, begin, end, repr(node.value + 1)))
    # Skip operands with a comment between them, because the text of the operator cannot be located safely.
    return [one for one in found if b"#" not in source[one.start : one.end]]


def walk_code(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes except annotations, raised errors, texts, `__all__` and blocks for type checkers."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "type_params"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.Raise | ast.JoinedStr):
                continue
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                continue
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                continue
            yield node
            yield from walk_code(node)


def find_rooms(root: Path) -> list[str]:
    """List the folders of the package."""
    return sorted(path.parent.name for path in (root / PACKAGE).glob("*/__init__.py"))


def list_files(root: Path, room: str) -> list[Path]:
    """List the files of a room."""
    return [path.relative_to(root) for path in sorted((root / PACKAGE / room).rglob("*.py"))]


def draw_mutations(root: Path, rooms: list[str], number: int, seed: int) -> list[Mutation]:
    """Draw mutations without repetition: first a room, by its lines of code, then one of its mutations."""
    draw = random.Random(seed)
    files = {room: list_files(root, room) for room in rooms}
    lines = [sum(len((root / path).read_bytes().splitlines()) for path in files[room]) for room in rooms]
    left = {room: [one for path in files[room] for one in find_mutations(root, path)] for room in rooms}
    number = min(number, sum(map(len, left.values())))
    chosen: list[Mutation] = []
    while len(chosen) < number:
        room = draw.choices(rooms, lines)[0]
        if left[room]:
            chosen.append(left[room].pop(draw.randrange(len(left[room]))))
    return chosen
