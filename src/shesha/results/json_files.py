"""Results as JSON files that keep every digit and cannot run code.

Values that JSON does not know carry a mark, an object with one key that begins with a dollar sign. Reading builds
results of this library from their fields and nothing else: no code is run and nothing is imported that a file names.
"""

from __future__ import annotations

import base64
import json
import math
import os
from dataclasses import MISSING, fields
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from shesha._version import __version__
from shesha.results.base import Result
from shesha.results.field_types import fits
from shesha.support import argument_types
from shesha.support.atomic_files import write_text

FORMAT = 1
"""Format number of files; other formats are refused."""
_ROOMS = (
    *(
        "auditing",
        "benchmark",
        "bio",
        "calibration",
        "changes",
        "coherence",
        "comparison",
        "descriptors",
        "doubting",
        "drift",
    ),
    *("neuro", "stability", "steering", "studies", "transfer"),
)
"""Packages with their own result classes, which are imported when a file has one."""
_ARRAYS = "biufU"
_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def save(result: Result, path: str | os.PathLike[str]) -> Path:
    """Write a result, so that `load` returns an equal one."""
    content = {"shesha": __version__, "format": FORMAT, "result": _encode(result, "result")}
    place = argument_types.path(path, "path")
    write_text(place, json.dumps(content, allow_nan=False, ensure_ascii=False) + "\n")
    return place


def load(path: str | os.PathLike[str]) -> Any:
    """Read a result that `save` wrote.

    Parameters
    ----------
    path : path
        A file of JSON. It is data and nothing else: no code is run, and what is no result of this library is refused.

    Returns
    -------
    Result
        Equal to the one that was saved: every number to the last bit, NaN, infinities and arrays among them.

    Raises
    ------
    ValueError
        The file holds no saved result, one of a format that this version does not know, or one of an unknown kind.

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
            f"path must hold a result of format {FORMAT}, which shesha {__version__} reads, got format "
            f"{content['format']!r} in {path}, saved by shesha {content.get('shesha')}: load it with that version"
        )
    try:
        found = _decode(content["result"], "result")
    except RecursionError as error:
        raise ValueError(f"path must hold a result that `save` wrote, got JSON nested too deeply in {path}") from error
    if not isinstance(found, Result):
        raise ValueError(f"path must hold a saved result, got {type(found).__name__} in {path}")
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except IsADirectoryError as error:
        raise ValueError(f"path must be a file, got the folder {path}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"path must hold a result that `save` wrote, got no such JSON in {path}: {error}") from error
    if not isinstance(content, dict) or not {"format", "result"} <= content.keys():
        raise ValueError(f"path must hold a result that `save` wrote, got other JSON in {path}")
    return content


def _refuse_constant(token: str) -> Any:
    raise ValueError(f"{token} is not JSON")


def kind_name(result: type[Result]) -> str:
    """Return the name of a class in files, with its package if it is not in `shesha.results`.

    Raises
    ------
    TypeError
        The class is none of this library.
    """
    package, room, *_ = [*result.__module__.split("."), ""]
    if package != "shesha":
        raise TypeError(f"result must be of a class of this library, got {result.__module__}.{result.__name__}")
    return result.__name__ if room == "results" else f"{room}.{result.__name__}"


def kinds() -> dict[str, type[Result]]:
    """All known classes of results, by their names in files."""
    return {kind_name(one): one for one in _subclasses(Result) if one.__module__.split(".")[0] == "shesha"}


def _subclasses(result: type[Result]) -> list[type[Result]]:
    return [one for below in result.__subclasses__() for one in (below, *_subclasses(below))]


def _class(kind: Any) -> type[Result]:
    room, _, name = kind.rpartition(".") if isinstance(kind, str) else ("", "", "")
    if (room or "results") in (*_ROOMS, "results"):
        # Asking for the name imports it where a part of the library does not import it by itself.
        getattr(import_module(f"shesha.{room or 'results'}"), name, None)
    known = kinds()
    if not isinstance(kind, str) or kind not in known:
        # To name all that there are, those that nobody has asked for yet must be there.
        package = import_module("shesha.results")
        _ = [getattr(package, one) for one in package.__all__]
        raise ValueError(
            f"kind must be one that shesha {__version__} knows ({', '.join(sorted(kinds()))}), got {kind!r}: a newer "
            "version may know it"
        )
    return known[kind]


def _encode(value: Any, where: str) -> Any:
    """Return JSON values; tuples become lists, because results have hardly any other lists."""
    if isinstance(value, Result):
        told = {one.name: _encode(getattr(value, one.name), f"{where}.{one.name}") for one in fields(value)}  # type: ignore[arg-type]
        return {"$result": kind_name(type(value)), "fields": told}
    if isinstance(value, np.ndarray):
        return {"$array": _array(value, where)}
    if isinstance(value, np.generic):
        return _encode(value.item(), where)
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(float(value))}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return [_encode(one, where) for one in value]
    if isinstance(value, list):
        return {"$list": [_encode(one, where) for one in value]}
    if isinstance(value, dict):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {str(key): _encode(one, where) for key, one in value.items()}
        return {"$dict": [[_encode(key, where), _encode(one, where)] for key, one in value.items()]}
    raise TypeError(f"{where} must be numbers, texts, arrays or results to be saved, got {type(value).__name__}")


def _array(value: np.ndarray[Any, Any], where: str) -> list[Any]:
    if value.dtype.kind not in _ARRAYS:
        raise TypeError(f"{where} must be an array of numbers or texts to be saved, got dtype {value.dtype}")
    content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode("ascii")
    return [value.dtype.str, list(value.shape), content]


def _decode(plain: Any, where: str) -> Any:
    if isinstance(plain, list):
        return tuple(_decode(one, where) for one in plain)
    if not isinstance(plain, dict):
        return plain
    mark = next((key for key in plain if key.startswith("$")), None)
    if mark is None:
        return {key: _decode(one, where) for key, one in plain.items()}
    try:
        if plain.keys() - {"fields"} != {mark}:
            raise KeyError(f"{', '.join(plain)} together")
        return _MARKS[mark](plain, where)
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"{where} must be marked as in files of `save`, got {mark!r}: {error}") from error


def _as_result(plain: dict[str, Any], where: str) -> Result:
    kind, given = _class(plain["$result"]), plain["fields"]
    own = {one.name: one for one in fields(kind)}  # type: ignore[arg-type]
    if not isinstance(given, dict):
        raise TypeError(f"fields are {type(given).__name__}")
    if more := sorted(given.keys() - own.keys()):
        raise ValueError(f"{where} must have the fields of {kind.__name__}, got {', '.join(more)} as well")
    needed = [n for n, one in own.items() if one.default is MISSING and one.default_factory is MISSING]
    if lacking := [name for name in needed if name not in given]:
        raise ValueError(f"{where} must have the fields of {kind.__name__}, got none named {', '.join(lacking)}")
    values, types = {}, get_type_hints(kind)
    for name, one in given.items():
        values[name] = _decode(one, f"{where}.{name}")
        if not fits(values[name], types[name]):
            raise ValueError(f"{where}.{name} must be {own[name].type}, got {values[name]!r:.60}")
    made = kind(**values)
    _require_aligned(made, where)
    return made


def _require_aligned(result: Result, where: str) -> None:
    """Refuse fields of unequal length that belong together, which would mismatch names and numbers."""
    for group in result.ALIGNED:
        lengths = {name: len(getattr(result, name)) for name in group}
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{length} {name}" for name, length in lengths.items())
            raise ValueError(f"{where} must have as many {' as '.join(group)}, got {listed}")


def _as_array(plain: dict[str, Any], where: str) -> np.ndarray[Any, Any]:
    dtype, shape, content = plain["$array"]
    kind = np.dtype(str(dtype))
    if kind.kind not in _ARRAYS:
        raise ValueError(f"{where} must be an array of numbers or texts, got dtype {dtype!r}")
    flat = np.frombuffer(base64.b64decode(content, validate=True), dtype=kind)
    return flat.reshape(shape).copy()


_MARKS: dict[str, Any] = {
    "$result": _as_result,
    "$array": _as_array,
    "$float": lambda plain, where: _NUMBERS[plain["$float"]],
    "$list": lambda plain, where: [_decode(one, where) for one in plain["$list"]],
    "$dict": lambda plain, where: {_decode(key, where): _decode(one, where) for key, one in plain["$dict"]},
}
