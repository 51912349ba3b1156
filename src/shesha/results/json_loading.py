"""Results as JSON files, which preserve every digit and cannot run code.

Values that JSON cannot represent are stored as an object with a key that begins with a dollar sign. Reading a file only
builds results of this library from their fields: it never runs code, and it imports nothing that the file names except
known parts of this library.
"""

from __future__ import annotations

import base64
import math
import os
from dataclasses import MISSING, fields
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from shesha._version import __version__
from shesha.results.base import ARRAYS, FORMAT, PACKAGES, Result, kind_name
from shesha.support import types as argument_types
from shesha.support.files import read_json


def fits(value: Any, kind: Any) -> bool:
    """Return whether a value fits a type; integers and floats are interchangeable, as in Python.

    Examples
    --------
    >>> fits((1.0, 2), tuple[float, ...]), fits("a", float | None), fits({"a": 1}, dict[str, float])
    (True, False, True)
    """
    if kind is Any:
        return True
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union):
        return any(fits(value, option) for option in inner)
    if origin is Literal:
        return value in inner
    # Since NumPy 2.5, NDArray is a type alias; before, it was the class np.ndarray.
    if origin in (np.ndarray, NDArray):
        return isinstance(value, np.ndarray)
    if origin in _INSIDE:
        return isinstance(value, origin) and _INSIDE[origin](value, inner)
    if kind in (float, int):
        return isinstance(value, float | int)
    return isinstance(value, origin or kind)


def _tuple(value: tuple[Any, ...], inner: tuple[Any, ...]) -> bool:
    if len(inner) == 2 and inner[1] is Ellipsis:
        return all(fits(item, inner[0]) for item in value)
    return len(value) == len(inner) and all(map(fits, value, inner))


def _dict(value: dict[Any, Any], inner: tuple[Any, ...]) -> bool:
    return all(fits(key, inner[0]) and fits(item, inner[1]) for key, item in value.items())


_INSIDE: dict[Any, Any] = {tuple: _tuple, dict: _dict}


_ROOMS = {
    "shesha": (
        *("results", "auditing", "bio", "calibration", "changes", "coherence", "comparison", "descriptors", "doubting"),
        *("drift", "neuro", "stability", "steering"),
    ),
    "shesha_studies": ("perturbation_tables", "session_table", "steering_predictors"),
}
"""Parts of each package that define kinds of results."""
_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def load(path: str | os.PathLike[str]) -> Any:
    """Read a result from a file that `save` wrote.

    Parameters
    ----------
    path : path
        A JSON file. No code in it is run, and only results of this library are built.

    Returns
    -------
    Result
        A result equal to the saved one. All numbers are exact, including arrays, NaN and infinities.

    Raises
    ------
    ValueError
        If the file contains no saved result, or if this version does not know its format or kind.

    Examples
    --------
    >>> import numpy as np, shesha, tempfile
    >>> X = np.random.default_rng(0).standard_normal((30, 8))
    >>> found = shesha.estimate(X, n_draws=4, n_bootstrap=20, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shesha.load(found.save(f"{folder}/found.json")) == found
    True
    """
    content = _read(argument_types.path(path, "path"))
    if content["format"] != FORMAT:
        raise ValueError(
            f"path must contain a result of format {FORMAT}, which shesha {__version__} reads, got format "
            f"{content['format']!r} in {path}, saved by shesha {content.get('shesha')}: load it with that version"
        )
    try:
        return decode(content["result"])
    except RecursionError as error:
        raise ValueError(
            f"path must contain a result that `save` wrote, got JSON nested too deeply in {path}"
        ) from error
    except TypeError as error:
        raise ValueError(f"path must contain a saved result, got {error} in {path}") from error


def decode(plain: Any) -> Any:
    """Return the result of which `encode` made these plain values; raise TypeError if they are something else."""
    result = _decode(plain, "result")
    if not isinstance(result, Result):
        raise TypeError(type(result).__name__)
    return result


def _read(path: Path) -> dict[str, Any]:
    content = read_json(path, parse_constant=_refuse_constant)
    if not isinstance(content, dict) or not {"format", "result"} <= content.keys():
        raise ValueError(f"path must contain a result that `save` wrote, got JSON of another kind in {path}")
    return content


def _refuse_constant(token: str) -> Any:
    raise ValueError(f"{token} is not JSON")


def kinds() -> dict[str, type[Result]]:
    """All known result classes, by their names in files."""
    return {kind_name(kind): kind for kind in _subclasses(Result) if kind.__module__.split(".")[0] in PACKAGES}


def _subclasses(result: type[Result]) -> list[type[Result]]:
    return [kind for below in result.__subclasses__() for kind in (below, *_subclasses(below))]


def _class(kind: Any) -> type[Result]:
    *place, name = kind.split(".") if isinstance(kind, str) else [""]
    package = place.pop(0) if place[:1] == ["shesha_studies"] else "shesha"
    if (room := ".".join(place) or "results") in _ROOMS[package] and find_spec(package):
        # Some parts of the library import a class only when its name is accessed.
        getattr(import_module(f"{package}.{room}"), name, None)
    known = kinds()
    if not isinstance(kind, str) or kind not in known:
        # The message lists all kinds, so those that have not been used yet are imported first.
        results = import_module("shesha.results")
        _ = [getattr(results, export) for export in results.__all__]
        raise ValueError(
            f"kind must be one that shesha {__version__} knows ({', '.join(sorted(kinds()))}), got {kind!r}: a newer "
            "version may know it"
        )
    return known[kind]


def _decode(plain: Any, where: str) -> Any:
    if isinstance(plain, list):
        return tuple(_decode(item, where) for item in plain)
    if not isinstance(plain, dict):
        return plain
    mark = next((key for key in plain if key.startswith("$")), None)
    if mark is None:
        return {key: _decode(item, where) for key, item in plain.items()}
    try:
        if plain.keys() - {"fields"} != {mark}:
            raise KeyError(f"{', '.join(plain)} together")
        return _MARKS[mark](plain, where)
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"{where} must be marked as in files of `save`, got {mark!r}: {error}") from error


def _as_result(plain: dict[str, Any], where: str) -> Result:
    kind, entries = _class(plain["$result"]), plain["fields"]
    known_fields = {field.name: field for field in fields(kind)}
    if not isinstance(entries, dict):
        raise TypeError(f"fields are {type(entries).__name__}")
    if more := sorted(entries.keys() - known_fields.keys()):
        raise ValueError(f"{where} must have the fields of {kind.__name__}, got {', '.join(more)} as well")
    needed = [n for n, field in known_fields.items() if field.default is MISSING and field.default_factory is MISSING]
    if lacking := [name for name in needed if name not in entries]:
        raise ValueError(f"{where} must have the fields of {kind.__name__}, got none named {', '.join(lacking)}")
    values, types = {}, get_type_hints(kind)
    for name, entry in entries.items():
        values[name] = _decode(entry, f"{where}.{name}")
        if not fits(values[name], types[name]):
            raise ValueError(f"{where}.{name} must be {known_fields[name].type}, got {values[name]!r:.60}")
    result = kind(**values)
    _require_aligned(result, where)
    return result


def _require_aligned(result: Result, where: str) -> None:
    """Raise an error if fields that belong together differ in length, or if a table by name lacks a name."""
    columns = [tuple(result.COLUMNS.values())] if result.COLUMNS else []
    for first, *others in (*result.ALIGNED, *columns):
        names = getattr(result, first)
        for other in others:
            entries = getattr(result, other)
            # The values of an interrupted computation may be fewer than its tables allow for.
            fits_names = set(names) <= set(entries) if isinstance(entries, dict) else len(entries) == len(names)
            if not fits_names:
                raise ValueError(
                    f"{where} must have {other} for its {first}, got {len(names)} {first}, {len(entries)} {other}"
                )


def _parts(value: Any, n: int) -> list[Any]:
    if not isinstance(value, list) or len(value) != n:
        raise TypeError(f"{n} parts are needed, not {value!r:.40}")
    return value


def _as_array(plain: dict[str, Any], where: str) -> np.ndarray[Any, Any]:
    dtype, shape, content = _parts(plain["$array"], 3)
    kind = np.dtype(str(dtype))
    if kind.kind not in ARRAYS:
        raise ValueError(f"{where} must be an array of numbers or texts, got dtype {dtype!r}")
    try:
        return np.frombuffer(base64.b64decode(content, validate=True), dtype=kind).reshape(shape).copy()
    except ValueError as error:
        raise ValueError(f"{where} must be an array of shape {shape!r:.40}, got other bytes: {error}") from error


_MARKS: dict[str, Any] = {
    "$result": _as_result,
    "$array": _as_array,
    "$float": lambda plain, where: _NUMBERS[plain["$float"]],
    "$list": lambda plain, where: [_decode(one, where) for one in plain["$list"]],
    "$dict": lambda plain, where: {
        _decode(key, where): _decode(one, where) for key, one in (_parts(pair, 2) for pair in plain["$dict"])
    },
}
