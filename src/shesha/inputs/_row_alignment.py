"""Align the rows of representations by name, and refuse representations of different rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from shesha.inputs._other_libraries import split_names
from shesha.inputs._row_names import Names
from shesha.support.types import Index
from shesha.support.warnings import RowNamesWarning, warn

_TOLD = 3
"""Maximum number of reordered representations that a warning names."""


def orders(named: Mapping[str, Names | None]) -> dict[str, Index]:
    """Return, for each representation in another order, the row order that matches the first with names.

    Representations without names, or already in the right order, are omitted. If the names are integers and differ,
    rows are paired by position, provided that no integer is shared or that the integers are consecutive, as in slices
    of a table.

    Raises
    ------
    ValueError
        If not only the order of the names differs, but the names themselves.
    """
    index_by_name: dict[str, Index] = {}
    known = {name: names for name, names in named.items() if names is not None}
    if len(known) > 1:
        # The first column of a table serves as names only if its values are distinct.
        known = {name: names for name, names in known.items() if names.distinct or not names.doubtful}
        text = {name: names for name, names in known.items() if names.kind == "text"}
        index_by_name = _family(text) | _family({name: names for name, names in known.items() if name not in text})
    if index_by_name:
        first = next(name for name in known if name not in index_by_name)
        listing = ", ".join(list(index_by_name)[:_TOLD]) + (
            f" and {len(index_by_name) - _TOLD} more" if len(index_by_name) > _TOLD else ""
        )
        warn(
            f"rows of {listing} are in a different order from those of {first}, so they were matched by name. If this "
            "is "
            "wrong, pass arrays without row names",
            RowNamesWarning,
        )
    return index_by_name


def _family(known: Mapping[str, Names]) -> dict[str, Index]:
    index_by_name: dict[str, Index] = {}
    reference: tuple[str, Names] | None = None
    for name, names in known.items():
        if reference is None:
            reference = name, names
        elif (order := _order(*reference, name, names)) is not None:
            index_by_name[name] = order
    return index_by_name


def _order(first: str, reference: Names, name: str, names: Names) -> Index | None:
    if names.has_same_order(reference):
        return None
    if not (names.distinct and reference.distinct):
        culprit = name if not names.distinct else first
        warn(
            f"row names of {culprit} contain duplicates, so rows of {name} and {first} were paired by position. If the "
            "orders differ, pass unique row names",
            RowNamesWarning,
        )
        return None
    if names.has_same_names(reference):
        return names.positions(reference)
    if "counted" in (names.kind, reference.kind):
        return None
    shared = len(np.intersect1d(names.values, reference.values))
    if shared == 0 and (names.kind == "numbered" or (names.doubtful and reference.doubtful)):
        return None
    raise ValueError(
        f"rows of {name} must have the same names as those of {first}, got {shared:,} shared names of {len(names):,} "
        f"and {len(reference):,} ({_example(names, reference)}). Pass only the shared rows. If row i of both is the "
        "same input, pass arrays without names (.to_numpy(), --by-position)"
    )


def _example(names: Names, reference: Names) -> str:
    alone = np.setdiff1d(names.values, reference.values)
    other = np.setdiff1d(reference.values, names.values)
    return f"only one contains {alone[0]!s}" if len(alone) else f"only one contains {other[0]!s}"


def align_labels(X: Any, y: Any, name: str = "y", other: str = "X") -> Any:
    """Reorder labels to match the rows of a representation, if both have names."""
    if hasattr(y, "iloc") and hasattr(y, "columns"):
        # Tables are reordered without converting them to an array, because some columns may contain text.
        order = orders({other: _row_names(X, other), name: Names.build(y.index)}).get(name)
        return y if order is None else y.iloc[order]
    values, names = split_names(y, name)
    if names is None:
        return y
    order = orders({other: _row_names(X, other), name: names}).get(name)
    return y if order is None else np.asarray(values)[order]


def _row_names(X: Any, name: str) -> Names | None:
    names = X if isinstance(X, Names) else getattr(X, "names", None)
    return names if isinstance(names, Names) else split_names(X, name)[1]


def align_all_labels(X: Any, labels: Mapping[str, Any]) -> dict[str, Any]:
    """Reorder several labels to match a representation's rows; labels without names are unchanged."""
    return {name: align_labels(X, y, name) for name, y in labels.items()}


def labels_in_order(rows: Iterable[Names | None], labels: Mapping[str, Any]) -> dict[str, Any]:
    """Reorder several labels to match representations that were aligned with one another."""
    known = sorted((names for names in rows if names is not None), key=lambda names: names.kind != "text")
    return align_all_labels(known[0], labels) if known else dict(labels)
