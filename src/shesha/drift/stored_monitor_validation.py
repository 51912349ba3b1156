"""Check the stored values of a monitor before anything is computed from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from shesha.support.types import Array


def require_whole(place: Path, plain: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Refuse a monitor in which a value is missing, out of range, or of the wrong type or shape.

    Raises
    ------
    ValueError
        If a value is invalid; the message names the file and the fault.
    """
    for name, (holds, expected) in _VALUES.items():
        if not holds(plain.get(name)):
            raise ValueError(_damage(place, f"{name} = {plain.get(name)!r:.60}, which must be {expected}"))
    rows = arrays.get("rows", arrays.get("geometry"))
    if rows is None or rows.ndim != 2 or not _finite(rows):
        raise ValueError(_damage(place, "rows that are not a finite matrix"))
    n_classes, nulls = len(plain["classes"]), {name: arrays[name] for name in _NULLS if name in arrays}
    if nulls and (len(nulls) < len(_NULLS) or any(array.dtype.kind != "f" for array in nulls.values())):
        raise ValueError(_damage(place, f"values that are not numbers in {', '.join(_NULLS)}"))
    shapes = {name: (len(rows),) for name in ("names", "codes", "groups", "positions", "null_rows")}
    shapes["null_classes"] = (n_classes,)
    shapes["null_drifts"] = (*nulls.get("null_drifts", rows).shape[:1], len(plain["measures"]))
    for name in shapes.keys() & arrays.keys():
        if arrays[name].shape != shapes[name]:
            raise ValueError(_damage(place, f"{name} of shape {arrays[name].shape} instead of {shapes[name]}"))
    codes = arrays.get("codes", np.zeros(0, dtype=np.intp))
    if codes.dtype.kind not in "iu" or not ((codes >= 0) & (codes < n_classes)).all():
        raise ValueError(_damage(place, "class codes without a class name"))
    positions, n_inputs = arrays.get("positions", np.zeros(0, dtype=np.intp)), plain.get("n_inputs")
    if positions.dtype.kind not in "iu" or (len(positions) and n_inputs is None):
        raise ValueError(_damage(place, "positions of rows that are not numbers of canary inputs"))
    if not (((positions >= 0) & (positions < (n_inputs or 0))).all() and (np.diff(positions) > 0).all()):
        raise ValueError(_damage(place, "positions of rows that are not numbers of canary inputs"))


def _damage(place: Path, fault: str) -> str:
    return f"{place} must contain an undamaged monitor, got {fault}; copy it again, or make the monitor again"


def _finite(values: Array) -> bool:
    return values.dtype.kind == "f" and bool(np.isfinite(values).all())


def _number(low: float, high: float = inf, *, whole: bool = False) -> Callable[[Any], bool]:
    def holds(value: Any) -> bool:
        right = isinstance(value, int) if whole else isinstance(value, int | float)
        return right and not isinstance(value, bool) and bool(low <= value <= high)

    return holds


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


_NULLS = ("null_drifts", "null_rows", "null_classes")
_VALUES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "measures": (lambda value: _texts(value) and bool(value), "names of measures"),
    "classes": (_texts, "names of classes"),
    "n_features": (_number(1, whole=True), "a whole number of at least 1"),
    "precision": (_number(0, 1), "a number from 0 to 1"),
    "level": (_number(1e-15, 1), "a number above 0, up to 1"),
    "tolerance": (_number(0, 1e308), "a number of at least 0"),
    "n_resamples": (_number(1, whole=True), "a whole number of at least 1"),
    "seed": (_number(0, whole=True), "a whole number of at least 0"),
    "n_inputs": (lambda value: value is None or _number(4, whole=True)(value), "a whole number, or nothing"),
    "id_column": (lambda value: value is None or isinstance(value, str), "the name of a column, or nothing"),
    "ids_chosen_by": (lambda value: value in (None, "", "column", "format"), "column, format, or nothing"),
    "run_length": (lambda value: value is None or _number(2, 1e308)(value), "a number of at least 2, or nothing"),
    "about": (lambda value: isinstance(value, dict) and _texts(list(value.values())), "a mapping of names to texts"),
}
