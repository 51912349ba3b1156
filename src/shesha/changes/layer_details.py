"""Describe what changed in one layer: the kind of change, the classes that moved, and how separable they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shesha.changes.class_distance_changes import ClassTest, class_changes, comparable_classes
from shesha.changes.class_separation import separation_change
from shesha.changes.kind_of_change import FOLDS, structure_change
from shesha.changes.layer_changes import LayerPair
from shesha.changes.row_intervals import deal_folds
from shesha.changes.vector_errors import error_limit
from shesha.results.changes.kind_of_change import StructureChange
from shesha.support.seeds import spawn
from shesha.support.types import Array, Index, Labels, Seed

_DEALING = 51
_SAME_FOR_ALL = {"none", "rescaling", "row rescaling", "offset", "rotation"}


def layer_details(
    pair: LayerPair, rows: Index, known: dict[str, Array], *, beyond_noise: bool, confidence: float, seed: Seed
) -> tuple[dict[str, Any], Sequence[str]]:
    """Return the kind of change, the classes that moved, the change in class separability, and notes.

    Without labels, only the kind of change is returned; if all rows of a side are equal, not even that. Classes with
    fewer than five rows are left out, and more than 30 classes are not compared.
    """
    if any(np.ptp(side.rows, axis=0).max() == 0 for side in (pair.before, pair.after)):
        return {}, ()
    groups, blocks = (_codes(known[name][rows]) if name in known else None for name in ("groups", "blocks"))
    fold = deal_folds(len(rows), groups, FOLDS, spawn(seed, _DEALING))
    details: dict[str, Any] = {
        "structure": structure_change(
            pair.name, pair.before, pair.after, pair.unchanged, fold, beyond_noise=beyond_noise
        )
    }
    classes = comparable_classes(known["labels"], rows) if "labels" in known else None
    if classes is None:
        return details, ()
    chosen, codes, names = classes
    groups, blocks = (None if labels is None else _codes(labels[chosen]) for labels in (groups, blocks))
    before, after, *unchanged = (side.take_rows(chosen) for side in (pair.before, pair.after, *sum(pair.unchanged, ())))
    noise = list(zip(unchanged[::2], unchanged[1::2], strict=True))
    test = ClassTest(1 - confidence, groups, blocks, seed)
    details["classes"], note = class_changes(before, after, noise, codes, names, test)
    if _moves_all_rows_alike(details["structure"], pair):
        details["classes"] = tuple(replace(change, significant=False) for change in details["classes"])
    fold = deal_folds(len(chosen), groups, FOLDS, spawn(seed, _DEALING))
    details["separation"] = separation_change(
        pair.name, before, after, codes, fold, confidence=confidence, groups=groups
    )
    return details, [note] if note else []


def _moves_all_rows_alike(structure: StructureChange, pair: LayerPair) -> bool:
    """Whether one map explains the change up to noise, so that no class moved by itself."""
    return structure.kind in _SAME_FOR_ALL and 1 - structure.explained <= error_limit(pair.unchanged)


def _codes(values: Array | Labels) -> Labels:
    codes: Labels = np.unique(values, return_inverse=True)[1]
    return codes
