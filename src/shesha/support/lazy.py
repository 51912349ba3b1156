"""Lazy imports of the public names of a package."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, places: Mapping[str, Sequence[str]], modules: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's ``__getattr__`` and ``__dir__`` (PEP 562).

    Importing such a package does not import any of its modules; using a name imports only the module that defines it.
    For readers and type checkers, the package still lists its names in ``TYPE_CHECKING`` imports and in ``__all__``.

    Parameters
    ----------
    package : str
        The package's ``__name__``.
    places : mapping of str to sequence of str
        The names that each module defines; modules are given relative to the package.
    modules : sequence of str, optional
        Modules of the package that are public names themselves; none by default.

    Examples
    --------
    >>> get, names = lazy_names("shesha", {"stability.chance": ["chance"]}, ["results"])
    >>> get("chance").__name__, get("results").__name__, "chance" in names()
    ('chance', 'shesha.results', True)
    >>> get("chnace")
    Traceback (most recent call last):
        ...
    AttributeError: module 'shesha' has no attribute 'chnace'...
    """
    homes = {name: home for home, names in places.items() for name in names}

    def get(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes, *modules})

    return get, names
