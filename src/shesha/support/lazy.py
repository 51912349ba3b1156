"""Lazy imports of the public names of a package."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's ``__getattr__`` and ``__dir__`` (PEP 562) for the names that it imports for type checkers.

    Importing such a package does not import any of its modules; using a name imports only the module that defines it.
    The names and their modules are those of the imports under ``if TYPE_CHECKING:`` in the package's own source, where
    readers and type checkers see them. They become ``__all__``, unless the package defines it, and ``__dir__`` lists
    it.

    Parameters
    ----------
    package : str
        The package's ``__name__``.

    Examples
    --------
    >>> get, names = lazy_names("shesha")
    >>> get("estimate").__name__, get("measures").__name__, "estimate" in names()
    ('estimate', 'shesha.measures', True)
    >>> get("chnace")
    Traceback (most recent call last):
        ...
    AttributeError: module 'shesha' has no attribute 'chnace'...
    """
    own = sys.modules[package]
    source = ast.parse(Path(str(own.__file__)).read_text(encoding="utf-8"))
    later = [node for part in source.body if isinstance(part, ast.If) for node in part.body]
    homes = {name.name: node.module for node in later if isinstance(node, ast.ImportFrom) for name in node.names}
    vars(own)["__all__"] = sorted(homes)

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=own)
        if homes[name] == package:
            return import_module(f"{package}.{name}")
        value = getattr(import_module(str(homes[name])), name)
        setattr(own, name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(own)["__all__"], *(name for name in vars(own) if name.startswith("__"))})

    return get, names
