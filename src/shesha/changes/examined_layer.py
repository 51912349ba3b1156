"""The kind of change in the examined layer, and its effect on classes."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from shesha.changes.kind_of_change import deal_folds, separation_change, structure_change
from shesha.changes.layer_sources import Sides
from shesha.changes.moved_classes import class_changes
from shesha.inputs import validation as check
from shesha.nulls.permutations import Design
from shesha.results.changes.kind_of_change import ClassChange, SeparationChange, StructureChange
from shesha.support.types import Array, Index, Labels, Seed

_MOST_CLASSES = 30
_LEAST_ROWS = 5
"""Smallest number of rows of a class."""
Details = tuple[StructureChange | None, tuple[ClassChange, ...], SeparationChange | None]


def what_changed(
    layer: str, sides: Sides, rows: Index, known: dict[str, Array], *, beyond_noise: bool, seed: Seed
) -> Details:
    """Return the kind of change, the classes that moved, and their separability.

    Without labels only the first, and nothing where all rows are equal.
    Classes of fewer than five rows take no part; more than 30 classes are not compared.
    """
    before, after = (side[layer].to_numpy.take_rows(rows) for side in (sides.before, sides.after))
    groups = None if known.get("groups") is None else _codes(known["groups"][rows])
    if any(np.ptp(side.rows, axis=0).max() == 0 for side in (before, after)):
        return None, (), None
    structure = structure_change(layer, before, after, deal_folds(len(rows), groups, seed), beyond_noise=beyond_noise)
    if known.get("labels") is None:
        return structure, (), None
    codes, names, large = _large_classes(known, rows)
    if not 2 <= len(large) <= _MOST_CLASSES:
        return structure, (), None
    chosen = np.flatnonzero(np.isin(codes, large))
    before, after = (side.take_rows(chosen) for side in (before, after))
    codes = _codes(codes[chosen])
    design = {name: known[name][rows][chosen] for name in ("blocks",) if known.get(name) is not None}
    moved = class_changes(
        *(before, after, codes, [str(names[one]) for one in large]), design=cast(Design, design), seed=seed
    )
    fold = deal_folds(len(chosen), None if groups is None else _codes(groups[chosen]), seed)
    return structure, moved, separation_change(layer, before, after, codes, fold)


def note_of_classes(known: dict[str, Array], rows: Index) -> list[str]:
    """Return a note on why classes are not compared, if there are labels."""
    if known.get("labels") is None:
        return []
    n_classes = len(_large_classes(known, rows)[2])
    if 2 <= n_classes <= _MOST_CLASSES:
        return []
    if n_classes > _MOST_CLASSES:
        return [
            f"Classes were not compared: the labels have {n_classes} classes of at least {_LEAST_ROWS} rows, more "
            f"than the limit of {_MOST_CLASSES}. Pass coarser labels."
        ]
    return [
        f"Classes were not compared: {n_classes} of them have at least {_LEAST_ROWS} rows. Cut labels that are numbers "
        "into classes first."
    ]


def _large_classes(known: dict[str, Array], rows: Index) -> tuple[Labels, Array, Index]:
    """Return the class of each row as a code, the names, and the codes of the classes that are large enough."""
    codes, names = check.labels(known["labels"][rows], len(rows), "labels", min_classes=1)
    return codes, names, np.flatnonzero(np.bincount(codes) >= _LEAST_ROWS)


def _codes(values: Any) -> Labels:
    found: Labels = np.unique(values, return_inverse=True)[1]
    return found
