"""Signatures and docstrings of the library's functions, read from its sources.

A help text or a completion must not wait until NumPy, SciPy and pandas are imported.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]


@cache
def _tree(module: str) -> ast.Module:
    place = _ROOT.joinpath(*module.split("."))
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def _find(module: str, name: str) -> tuple[str, Any]:
    """Return the module of a definition and its syntax tree: a function, a class, or the value of a constant."""
    body = _tree(module).body
    typed = [node for block in body if isinstance(block, ast.If) for node in block.body]
    for node in (*body, *typed):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return module, node
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if isinstance(target, ast.Name) and target.id == name:
                return module, node.value
        if isinstance(node, ast.ImportFrom):
            for imported in node.names:
                if name == (imported.asname or imported.name):
                    return _find(str(node.module), imported.name)
    raise LookupError(f"{module} does not define {name}")


def sections(docstring: str) -> tuple[str, dict[str, tuple[str, str]], str]:
    """Return the description of a docstring, type and text of each parameter, and the examples.

    Examples
    --------
    >>> sections("Add.\\n\\nParameters\\n----------\\na, b : int\\n    Terms.")[1]["b"]
    ('int', 'Terms.')
    """
    parts = re.split(r"^(\w[\w ]*)\n-+$", docstring, flags=re.MULTILINE)
    texts = {title: text.strip("\n") for title, text in zip(parts[1::2], parts[2::2], strict=True)}
    entry = r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : (.*))?((?:\n(?:    .*)?)*)"
    parameters = {
        name: (kind, " ".join(text.split()))
        for names, kind, text in re.findall(entry, texts.get("Parameters", ""), re.MULTILINE)
        for name in names.split(", ")
    }
    return parts[0].strip(), parameters, texts.get("Examples", "")


@dataclass(frozen=True)
class Declaration:
    """A function or class of the library."""

    module: str
    node: Any

    @classmethod
    def of(cls, module: str, name: str) -> Declaration:
        """Find a function or class by its name in a module or package."""
        return cls(*_find(module, name))

    @cached_property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The parameters with their annotations as text; a default that is no constant is None."""
        node = self.node
        if isinstance(node, ast.ClassDef):
            node = next(one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__")
        given = node.args
        positional = given.defaults, given.args[len(given.args) - len(given.defaults) :]
        defaults = zip([*positional[0], *given.kw_defaults], [*positional[1], *given.kwonlyargs], strict=True)
        return {
            argument.arg: inspect.Parameter(
                argument.arg,
                inspect.Parameter.KEYWORD_ONLY,
                default=self._value(default),
                annotation=ast.unparse(argument.annotation),
            )
            for default, argument in defaults
        }

    def _value(self, node: Any) -> Any:
        """Return the value of a constant or of the name of one."""
        if isinstance(node, ast.Name):
            return Declaration(*_find(self.module, node.id))._value(None)
        try:
            return ast.literal_eval(self.node if node is None else node)
        except ValueError:
            return None

    def text(self, name: str) -> tuple[str, str]:
        """Return type and text of a parameter; a reference to another function is followed."""
        kind, text = sections(ast.get_docstring(self.node) or "")[1].get(name, ("", ""))
        other = re.match(r"(?:As (?:for|in)|See) `(?:shesha\.)?(\w+)`", text)
        if not other:
            return kind, text
        try:
            return Declaration.of(self.module, other[1]).text(name)
        except LookupError:
            return Declaration.of("shesha", other[1]).text(name)
