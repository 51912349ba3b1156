"""Moments in .npz files, which are checked when they are read and never unpickled."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from shesha.io.file_checks import UnreadableFileError, reading
from shesha.moments.jackknife_accumulator import Accumulator
from shesha.moments.row_register import RowRegister
from shesha.moments.sums import SideSums, Sums
from shesha.support import argument_types as kinds
from shesha.support.atomic_files import replacing
from shesha.support.regular_files import open_regular
from shesha.support.types import Array

FORMAT = "shesha moments 1"


class DamagedStateError(ValueError):
    """Raised if a file does not contain complete moments."""


def save(path: str | os.PathLike[str], state: Accumulator, header: Mapping[str, Any], register: RowRegister) -> None:
    """Write everything that is needed to resume a pass."""
    arrays: dict[str, Array] = {"rows": register.seen}
    for place, part in enumerate([*state.parts, *([] if state.current is None else [state.current])]):
        arrays |= _part_arrays(f"part {place}", part)
    pending = state.join_pending() if state.n_pending else []
    for place, side in enumerate(pending):
        arrays[f"pending {place}"] = _plain(side)
    description = dict(header) | {
        "format": FORMAT,
        "widths": list(state.widths),
        "pairs": [list(pair) for pair in state.pairs],
        "n_parts": len(state.parts),
        "has_current": state.current is not None,
        "n_pending": state.n_pending,
        "part_rows": state.part_rows,
        "n_rows": state.n_rows,
        "n_repeated": register.n_repeated,
    }
    arrays["header"] = np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)
    with replacing(kinds.path(path, "path")) as draft, draft.open("wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]


def load(path: str | os.PathLike[str]) -> tuple[Accumulator, dict[str, Any], RowRegister]:
    """Read a file that `save` wrote.

    Raises
    ------
    DamagedStateError
        If the file is incomplete or damaged, or if it has another format.
    """
    place = kinds.path(path, "path")
    with open_regular(place) as stream:
        try:
            with reading(place), np.load(stream, allow_pickle=False) as arrays:
                header = json.loads(bytes(arrays["header"]))
                if header["format"] == FORMAT:
                    return _state(arrays, header), header, RowRegister(arrays["rows"], header["n_repeated"])
        except UnreadableFileError as error:
            raise DamagedStateError(
                f"{place} must contain moments that shesha.Moments.save wrote, got a file that is damaged or has "
                "another "
                "format; sum over the rows again"
            ) from error
    raise DamagedStateError(f"{place} must be in the format {FORMAT!r}, got {header['format']!r:.60}")


def _state(arrays: Any, header: Mapping[str, Any]) -> Accumulator:
    widths = tuple(int(width) for width in header["widths"])
    pairs = [(int(i), int(j)) for i, j in header["pairs"]]
    count = header["n_parts"] + bool(header["has_current"])
    parts = [_part(arrays, f"part {place}", widths, pairs) for place in range(count)]
    pending = [tuple(arrays[f"pending {place}"] for place in range(len(widths)))] if header["n_pending"] else []
    accumulator = Accumulator(
        widths,
        pairs,
        parts[: header["n_parts"]],
        parts[-1] if header["has_current"] else None,
        pending,
        int(header["n_pending"]),
        int(header["part_rows"]),
    )
    if accumulator.n_rows != header["n_rows"] or any(
        len(side) != accumulator.n_pending for side in pending[:1] for side in side
    ):
        raise ValueError("rows are missing")
    return accumulator


def _part_arrays(name: str, part: Sums) -> dict[str, Array]:
    arrays: dict[str, Array] = {f"{name} n": np.array(part.n_rows)}
    for i, side in enumerate(part.sides):
        arrays[f"{name} side {i}"] = side.products
        arrays[f"{name} mean {i}"] = np.stack([side.origin, side.offset])
        arrays[f"{name} unit {i}"] = np.array(side.unit)
    return arrays | {f"{name} cross {i} {j}": block for (i, j), block in part.cross.items()}


def _part(arrays: Any, name: str, widths: tuple[int, ...], pairs: list[tuple[int, int]]) -> Sums:
    sides = []
    for i, width in enumerate(widths):
        mean, products = arrays[f"{name} mean {i}"], arrays[f"{name} side {i}"]
        _require_shape(mean, (2, width))
        _require_shape(products, (width + 1, width + 1))
        sides.append(SideSums(mean[0], mean[1], float(arrays[f"{name} unit {i}"]), products))
    cross = {}
    for i, j in pairs:
        cross[i, j] = arrays[f"{name} cross {i} {j}"]
        _require_shape(cross[i, j], (widths[i] + 1, widths[j] + 1))
    return Sums(int(arrays[f"{name} n"]), tuple(sides), cross)


def _require_shape(array: Array, shape: tuple[int, ...]) -> None:
    if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError(f"array must have shape {shape}, got {array.shape}")


def _plain(side: Any) -> Array:
    from shesha.support.device_arrays import to_host

    return np.asarray(side.toarray() if hasattr(side, "toarray") else to_host(side))
