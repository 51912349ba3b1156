"""Versions of code, as hashes that ignore comments, docstrings and formatting."""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Any

_LIBRARY = "shesha"
FOLLOWED = ("inputs", "kernels", "measures", "nulls", "support.device_arrays", "support.seeds", "views")
"""Packages and modules of the library that are hashed if they are imported, directly or indirectly."""
_NEUTRAL = {
    "shesha.kernels.threads",
    "shesha.measures.registry",
    "shesha.views.registry",
}
"""Modules that cannot change a number, such as those for threads or for registering and finding measures."""
_TOLD = {"caveats", "formula", "reference"}
"""Names of keyword arguments that contain only documentation."""
_COMPILED = "shesha.kernels.native"
"""The package that contains the sources of the compiled code, whose loops are called by name."""
_LENGTH = 12


def version_of_code(*functions: Callable[..., Any] | type, follow: Collection[str] = FOLLOWED) -> str:
    """Return a hash of the modules that define some objects and of the library modules that they import.

    Parameters
    ----------
    *functions : functions or classes
        Objects from any module. If there is no source code, as in an interactive session, their compiled code is
        hashed.
    follow : collection of str
        Packages and modules of the library that are hashed if they are imported.

    Returns
    -------
    str
        Twelve hexadecimal digits, which are the same in every process and do not depend on earlier imports.

    Examples
    --------
    >>> from shesha.kernels import condensed_matrices, sorting
    >>> version_of_code(sorting.Ordering) == version_of_code(sorting.Ordering)
    True
    >>> version_of_code(sorting.Ordering) == version_of_code(condensed_matrices.square)
    False
    """
    digest = hashlib.sha256()
    modules: set[str] = set()
    for function in functions:
        name = function.__module__
        if _is_library(name):
            modules |= _closure(name, frozenset(follow))
            continue
        tree = _tree_of_own(name)
        if tree is None:
            digest.update(repr(_source_key(function)).encode())
            continue
        digest.update(_plain_module(tree).encode())
        for imported in _imports(tree, name):
            if _counts(imported, follow):
                modules |= _closure(imported, frozenset(follow))
    for name in sorted(modules):
        digest.update(f"{name}\n{_normalised_source(name)}\n".encode())
    return digest.hexdigest()[:_LENGTH]


def _is_library(module: str) -> bool:
    return module.partition(".")[0] == _LIBRARY


def _counts(module: str, follow: Collection[str]) -> bool:
    return module not in _NEUTRAL and any(f"{module}.".startswith(f"{_LIBRARY}.{part}.") for part in follow)


@lru_cache(maxsize=256)
def _closure(module: str, follow: frozenset[str]) -> frozenset[str]:
    """Return a library module and all modules that it imports, directly or indirectly."""
    modules: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in modules:
            modules.add(name)
            waiting += [other for other in _module_imports(name) if _counts(other, follow)]
    return frozenset(modules)


@lru_cache(maxsize=256)
def _module_imports(module: str) -> tuple[str, ...]:
    return tuple(_imports(_tree(module), module))


def _imports(tree: ast.Module, module: str) -> Iterator[str]:
    """Yield the library modules that a module imports; each imported name is traced to its definition."""
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_library(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module is not None and _is_library(node.module):
            for alias in node.names:
                yield _home(node.module, alias.name)


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes, except code that only the type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node
        yield from _statements(node)


@lru_cache(maxsize=1024)
def _home(module: str, name: str) -> str:
    """Return the module that really defines a name in `from module import name`; packages re-export names."""
    if _path(module).name != "__init__.py":
        return module
    if _path(f"{module}.{name}").exists():
        return f"{module}.{name}"
    for node in _statements(_tree(module)):
        if isinstance(node, ast.ImportFrom) and node.module is not None and _is_library(node.module):
            for alias in node.names:
                if name == (alias.asname or alias.name):
                    return _home(node.module, alias.name)
    return module


def _path(module: str) -> Path:
    """Return the path of a library module without importing it."""
    spec = find_spec(_LIBRARY)
    assert spec is not None and spec.origin is not None
    place = Path(spec.origin).parent.joinpath(*module.split(".")[1:])
    package = place / "__init__.py"
    return package if package.exists() else place.with_suffix(".py")


@lru_cache(maxsize=256)
def _tree(module: str) -> ast.Module:
    return ast.parse(_path(module).read_text(encoding="utf-8"))


@lru_cache(maxsize=256)
def _normalised_source(module: str) -> str:
    """Return the code of a library module as it is hashed, including the compiled code that it calls."""
    text = _plain_module(_tree(module))
    if module == _COMPILED:
        folder = _path(module).parent
        text += "".join(_plain_c(path) for path in sorted([*folder.glob("*.c"), *folder.glob("*.h")]))
    return text


def _plain_c(path: Path) -> str:
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(text.split())


def _tree_of_own(module: str) -> ast.Module | None:
    """Return the current code of a module outside the library; None if its source is unavailable."""
    try:
        return ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError, KeyError, SyntaxError):
        return None


def _source_key(obj: Callable[..., Any] | type) -> Any:
    """Return what is hashed for a function without source code, or for the methods of a class."""
    if isinstance(obj, type):
        return [(name, _source_key(method)) for name, method in sorted(vars(obj).items()) if inspect.isfunction(method)]
    code = getattr(inspect.unwrap(obj), "__code__", None)
    return repr(obj.__qualname__) if code is None else _plain_code(code)


def _plain_code(code: CodeType) -> Any:
    constants = [_plain_code(value) if isinstance(value, CodeType) else repr(value) for value in code.co_consts]
    return code.co_code.hex(), constants, code.co_names


def _plain_module(tree: ast.Module) -> str:
    """Return the code as text, without comments and docstrings, and independent of the order of imports."""
    imports = sorted(_plain(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
    rest = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom) and not _is_told(node)]
    return "\n".join([*imports, *map(_plain, rest)])


def _plain(node: Any) -> str:
    """Convert code to text without empty fields, so that all versions of Python give the same text."""
    if isinstance(node, list):
        return f"[{' '.join(map(_plain, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = []
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            value = [child for child in value if not _is_told(child)]
        if value not in (None, []):
            fields.append(f"{name}={_plain(value)}")
    return f"{type(node).__name__}({', '.join(fields)})"


def _is_told(node: Any) -> bool:
    """Return whether a node is only documentation: a docstring or a documentation argument."""
    if isinstance(node, ast.keyword):
        return node.arg in _TOLD
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
