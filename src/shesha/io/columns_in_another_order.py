"""Columns that hold the same values in another order in two files whose rows are paired by position."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from shesha.inputs import Names
from shesha.io._array_selection import Contents
from shesha.io.read import read_labels
from shesha.support.provenance import state
from shesha.support.warnings import RowNamesWarning, warn

_MOST_COLUMNS = 20
_MOST_ROWS = 1_000_000


def check_column_orders(contents: Mapping[Path, Contents]) -> None:
    """Refuse to pair rows by position if two files have the same distinct texts in another order; warn of numbers."""
    files = list(contents.items())
    if len(files) < 2:
        return
    (first, a), (second, b) = files[:2]
    names, others = a.row_names, b.row_names
    if names is not None and others is not None and _decide(names, others):
        return
    n_rows = [len(next(iter(found.representations.values()), ())) for found in (a, b)]
    if n_rows[0] != n_rows[1] or n_rows[0] > _MOST_ROWS:
        return
    for column in [name for name in a.labels_available if name in b.labels_available][:_MOST_COLUMNS]:
        one, other = (_values(path, column) for path in (first, second))
        if one is None or other is None or not (one.distinct and other.distinct) or len(one) < 3:
            continue
        if one.has_same_names(other) and not one.has_same_order(other):
            text = f"column {column!r} has the same values in {first.name} and {second.name}, in another order"
            if one.kind == "text":
                raise ValueError(
                    f"{text}, but nothing else identifies the rows. If it does, pass ids={column!r} (--id {column}); "
                    "otherwise pass --by-position"
                )
            state(text)
            warn(
                f"{text}, but rows are paired by position. If it identifies rows, pass ids={column!r} (--id {column})",
                RowNamesWarning,
            )


def _decide(names: Names, others: Names) -> bool:
    """Return whether names decide how rows are paired, unlike numbers that only count the rows."""
    if names.counts_rows and others.counts_rows:
        return False
    return all(one.chosen or one.kind != "counted" for one in (names, others)) or names.has_same_names(others)


def _values(path: Path, column: str) -> Names | None:
    try:
        return Names.build(np.asarray(read_labels(path, column)))
    except (ValueError, TypeError, OSError):
        return None
