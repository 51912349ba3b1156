"""Classify a change and its effect on class separation, by linear maps and held-out classification."""

from __future__ import annotations

from typing import cast

import numpy as np

from shesha.changes.class_distance_changes import class_changes, comparable_classes
from shesha.changes.layer_sources import Sides
from shesha.descriptors.spectrum import anisotropy, participation_ratio
from shesha.kernels.ridge_regression import decompose_folds, predict_held_out
from shesha.kernels.threads import single_threaded_blas
from shesha.nulls.permutations import Design
from shesha.results.changes.kind_of_change import ClassChange, Kind, SeparationChange, StructureChange
from shesha.support.seeds import spawn
from shesha.support.types import Array, Index, Labels, Matrix, Seed, Vector
from shesha.views import Representation

FOLDS = 5
SAME = 0.99
"""Share of common variance above which vectors count as unchanged."""
LITTLE = 0.9
"""Share of common variance above which vectors count as slightly moved."""
COLLAPSED = 0.5
"""A representation has collapsed if at most this share of its effective rank remains."""
_DEALING = 51
Details = tuple[StructureChange | None, tuple[ClassChange, ...], SeparationChange | None]


def what_changed(
    layer: str, sides: Sides, rows: Index, known: dict[str, Array], *, beyond_noise: bool, seed: Seed
) -> Details:
    """Return the kind of change, the classes that moved, and the change in class separability.

    Without labels, only the kind of change is returned; if all rows of a side are equal, not even that. Classes with
    fewer than five rows are left out, and more than 30 classes are not compared.
    """
    before, after = (side[layer].to_numpy.take_rows(rows) for side in (sides.before, sides.after))
    groups = None if known.get("groups") is None else _codes(known["groups"][rows])
    if any(np.ptp(side.rows, axis=0).max() == 0 for side in (before, after)):
        return None, (), None
    structure = structure_change(layer, before, after, deal_folds(len(rows), groups, seed), beyond_noise=beyond_noise)
    classes = None if known.get("labels") is None else comparable_classes(known["labels"], rows)
    if classes is None:
        return structure, (), None
    chosen, codes, names = classes
    before, after = (side.take_rows(chosen) for side in (before, after))
    design = {name: known[name][rows][chosen] for name in ("blocks",) if known.get(name) is not None}
    moved = class_changes(before, after, codes, names, design=cast(Design, design), seed=seed)
    fold = deal_folds(len(chosen), None if groups is None else _codes(groups[chosen]), seed)
    return structure, moved, separation_change(layer, before, after, codes, fold)


def _codes(values: Array | Labels) -> Labels:
    codes: Labels = np.unique(values, return_inverse=True)[1]
    return codes


def deal_folds(n: int, groups: Labels | None, seed: Seed) -> Index:
    """Assign rows, or whole groups of rows, to folds at random."""
    rng = spawn(seed, _DEALING)
    if groups is None:
        return np.asarray(rng.permutation(n) % FOLDS)
    return np.asarray((rng.permutation(int(groups.max()) + 1) % FOLDS)[groups])


def structure_change(
    layer: str, before: Representation, after: Representation, fold: Index, *, beyond_noise: bool
) -> StructureChange:
    """Describe how the vectors of a layer changed."""
    X, Y = (side.rows - side.rows.mean(axis=0) for side in (before, after))
    with single_threaded_blas():
        # With few rows, even the old vectors cannot be fully predicted from themselves, so the share that is then
        # unexplained is not new structure.
        linear, ceiling = _held_out_variance_share(X, Y, fold), _held_out_variance_share(X, X, fold)
    shared = _scaled_variance_share(X, Y)
    ranks = [participation_ratio(side.rows) for side in (before, after)]
    shares = [anisotropy(side.rows) for side in (before, after)]
    new = float(np.clip(1.0 - linear / ceiling, 0.0, 1.0)) if ceiling > 0 else float("nan")
    scale = float(np.sqrt(np.vdot(Y, Y) / np.vdot(X, X)))
    kind = _kind(shared, new, scale, ranks[1] / ranks[0], beyond_noise=beyond_noise)
    return StructureChange(layer, kind, shared, linear, new, scale, *ranks, *shares)


def _kind(shared: float, new: float, scale: float, rank_left: float, *, beyond_noise: bool) -> Kind:
    if not beyond_noise:
        if not shared >= SAME:
            return "rotation"
        return "rescaling" if abs(np.log(scale)) > 1 - SAME else "none"
    if rank_left <= COLLAPSED:
        return "collapse"
    if new > 1 - LITTLE:
        return "new structure"
    return "small moves" if shared >= LITTLE else "mixing of features"


def _held_out_variance_share(X: Matrix, Y: Matrix, fold: Index) -> float:
    """Return the share of Y's variance in held-out rows that ridge regression on X explains."""
    predicted = predict_held_out(X, decompose_folds(X, fold, FOLDS), Y)
    return 1.0 - float(np.vdot(Y - predicted, Y - predicted) / np.vdot(Y, Y))


def _scaled_variance_share(X: Matrix, Y: Matrix) -> float:
    """Return the share of Y's variance that X explains up to a common scale: a squared cosine."""
    if X.shape != Y.shape:
        return float("nan")
    return float(np.vdot(X, Y) ** 2 / (np.vdot(X, X) * np.vdot(Y, Y)))


def separation_change(
    layer: str, before: Representation, after: Representation, codes: Labels, fold: Index
) -> SeparationChange:
    """Measure how well a linear classifier predicts the classes of held-out rows, before and after.

    Ridge regression predicts class indicators, and each row is assigned to the class with the largest prediction
    relative to its size. All classes have equal weight.
    """
    sizes = np.bincount(codes)
    with single_threaded_blas():
        right = [_correctly_classified(side.rows, codes, fold) for side in (before, after)]
    weights = 1.0 / (len(sizes) * sizes[codes])
    start, end = (float(weights @ correct) for correct in right)
    moved, differences = end - start, right[1] - right[0]
    half = 1.96 * float(np.sqrt((weights**2 * (differences - moved) ** 2).sum()))
    return SeparationChange(layer, start, end, moved - half, moved + half, 1.0 / len(sizes))


def _correctly_classified(rows: Matrix, codes: Labels, fold: Index) -> Vector:
    X = rows - rows.mean(axis=0)
    sizes = np.bincount(codes)
    shares = sizes / len(codes)
    targets = np.eye(len(sizes))[codes] - shares
    predicted = predict_held_out(X, decompose_folds(X, fold, FOLDS), targets)
    # Predictions are divided by the class's share of the rows, so that rare classes can be chosen.
    return np.asarray((predicted / shares).argmax(axis=1) == codes, dtype=float)
