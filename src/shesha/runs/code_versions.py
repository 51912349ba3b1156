"""Versions of code, which are part of the key of every stored result: code that changed computes anew."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

_LIBRARY = "shesha"
_SOURCE = Path(__file__).parents[1]
_PRESENTATION = {"charts", "citations", "cli", "report", "results"}
"""Folders that cannot change a stored number. New folders count, so that none is forgotten."""
_LENGTH = 12


def version_of_code(*functions: Callable[..., Any] | type) -> str:
    """Return a hash of the library's source files, and of the modules of functions from elsewhere.

    A hash of only the modules that a function uses would keep more results after an update, but it would have to follow
    imports, names that packages re-export, and calls by name.

    Parameters
    ----------
    *functions : functions or classes
        Objects from any module. If there is no source code, as in an interactive session, their compiled code is
        hashed.

    Returns
    -------
    str
        Twelve hexadecimal digits, which are the same in every process.

    Examples
    --------
    >>> from shesha.kernels import condensed_matrices, sorting
    >>> version_of_code(sorting.Ordering) == version_of_code(condensed_matrices.square)
    True
    """
    digest = hashlib.sha256(_library_version(_SOURCE).encode())
    for function in functions:
        if function.__module__.partition(".")[0] != _LIBRARY:
            digest.update(_own_source(function).encode())
    return digest.hexdigest()[:_LENGTH]


@cache
def _library_version(folder: Path) -> str:
    """Return a hash of all files of Python and C code below a folder, except those for presentation."""
    digest = hashlib.sha256()
    for path in sorted(path for kind in ("*.py", "*.c", "*.h") for path in folder.rglob(kind)):
        name = path.relative_to(folder)
        if name.parts[0] not in _PRESENTATION:
            digest.update(f"{name.as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _own_source(function: Callable[..., Any] | type) -> str:
    """Return the text of the module that defines a function, or a description of its compiled code."""
    try:
        return inspect.getsource(sys.modules[function.__module__])
    except (OSError, TypeError, KeyError):
        return repr(_code_object(function))


def _code_object(obj: Any) -> Any:
    if isinstance(obj, type):
        return [
            (name, _code_object(method)) for name, method in sorted(vars(obj).items()) if inspect.isfunction(method)
        ]
    code = obj if isinstance(obj, CodeType) else getattr(inspect.unwrap(obj), "__code__", None)
    if code is None:
        return obj.__qualname__
    constants = [_code_object(value) if isinstance(value, CodeType) else repr(value) for value in code.co_consts]
    return code.co_code.hex(), constants, code.co_names
