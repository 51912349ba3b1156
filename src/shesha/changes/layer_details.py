"""Describe what changed in one layer: the kind of change, the classes that moved, and how separable they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shesha.changes.class_distance_changes import ClassTest, class_changes, comparable_classes
from shesha.changes.class_separation import separation_change
from shesha.changes.kind_of_change import FOLDS, structure_change
from shesha.changes.layer_changes import LayerPair
from shesha.changes.row_intervals import deal_folds
from shesha.support.seeds import spawn
from shesha.support.types import Array, Index, Labels, Seed

_DEALING = 51


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
    fold = deal_folds(len(chosen), groups, FOLDS, spawn(seed, _DEALING))
    details["separation"] = separation_change(
        pair.name, before, after, codes, fold, confidence=confidence, groups=groups
    )
    return details, [note] if note else []


def _codes(values: Array | Labels) -> Labels:
    codes: Labels = np.unique(values, return_inverse=True)[1]
    return codes
