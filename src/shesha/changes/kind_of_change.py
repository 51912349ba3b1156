"""Name the kind of a change: the simplest map that predicts the new vectors of rows it was not fitted to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from shesha.changes.index_recall import recall_of_each
from shesha.changes.vector_errors import Pairs, error_limit, error_share
from shesha.descriptors.spectrum import anisotropy, participation_ratio
from shesha.kernels.neighbours import nearest_by_product
from shesha.kernels.orthogonal_maps import rotate_rows
from shesha.kernels.regression import decompose_folds, predict_held_out
from shesha.kernels.threads import single_threaded_blas
from shesha.results.changes.kind_of_change import Kind, StructureChange
from shesha.support.types import Index, Matrix
from shesha.views import Representation

FOLDS = 5
EXPLAINED = 0.9
"""A map names the kind of change only if it explains at least this share of the variance of held-out rows."""
AS_GOOD = 2.0
"""A simpler map is preferred if its error is at most this multiple of the smallest error."""
RECOVERED = 0.5
"""Share of the neighbours of held-out rows that an orthogonal map must recover to count as a rotation."""
COLLAPSED = 0.5
"""A representation has collapsed if at most this share of its effective rank remains."""
LOST = 0.05
"""Factor below which a rescaled feature counts as lost."""
ROWS_PER_FEATURE = 2
"""With fewer rows per feature, no rotation can be ruled out."""
_MANY_FEATURES = 4096
"""Features above which a regression uses rotated rows, if there are fewer rows."""


def structure_change(
    layer: str, before: Representation, after: Representation, unchanged: Pairs, fold: Index, *, beyond_noise: bool
) -> StructureChange:
    """Describe how the vectors of a layer changed.

    Parameters
    ----------
    layer : str
        Name of the layer.
    before, after : Representation
        The same rows before and after the change.
    unchanged : sequence of pairs
        Pairs of encodings that differ only by noise.
    fold : array of shape (n_rows,)
        Fold of each row; maps are fitted to the other folds.
    beyond_noise : bool
        Whether the geometry changed by more than noise.
    """
    X, Y = (np.asarray(side.rows, dtype=float) for side in (before, after))
    old, new = X - X.mean(axis=0), Y - Y.mean(axis=0)
    with single_threaded_blas():
        # With few rows, even the old vectors cannot be fully predicted from themselves, so the share that is then
        # unexplained is not new structure.
        linear, ceiling = _held_out_share(old, new, fold), _held_out_share(old, old, fold)
        candidates = [(kind, error_share(*fit), fit) for kind, fit in _candidates(X, Y, fold)]
        limit = error_limit(unchanged)
        best = min([1.0 - linear, *(error for _, error, _ in candidates)])
        enough = min(1 - EXPLAINED, max(limit, AS_GOOD * best))
        kind, explained, recovered = _simplest(candidates, enough, fold)
        unexplained = float(np.clip(1.0 - linear / ceiling, 0.0, 1.0)) if ceiling > 0 else float("nan")
        ranks = [participation_ratio(side.rows) for side in (before, after)]
        shared = _scaled_variance_share(old, new)
        if beyond_noise:
            if ranks[1] <= COLLAPSED * ranks[0] and (kind is None or _lost_features(old, new, kind)):
                kind = "collapse"
            elif kind in (None, "none"):
                kind = _less_specific(shared, unexplained, old, new, fold)
        elif kind is None:
            kind = "untested" if _has_too_few_rows(X, Y, candidates) else "none"
    shares = [anisotropy(side.rows) for side in (before, after)]
    scale = float(np.sqrt(np.vdot(new, new) / np.vdot(old, old)))
    return StructureChange(
        layer=layer,
        kind=kind,
        kept=shared,
        linear=linear,
        new=unexplained,
        scale=scale,
        rank_before=ranks[0],
        rank_after=ranks[1],
        anisotropy_before=shares[0],
        anisotropy_after=shares[1],
        explained=explained,
        neighbours=recovered,
        n_rows=len(X),
        n_features=max(X.shape[1], Y.shape[1]),
    )


def _simplest(
    candidates: Sequence[tuple[Kind, float, tuple[Matrix, Matrix]]], enough: float, fold: Index
) -> tuple[Kind | None, float, float]:
    """Return the first kind whose error is small enough, the share it explains, and the neighbours it recovers."""
    for kind, error, fit in candidates:
        if not error <= enough:
            continue
        if kind != "rotation":
            return kind, 1.0 - error, float("nan")
        recovered = _recovered_neighbours(*fit, fold)
        if recovered >= RECOVERED:
            return kind, 1.0 - error, recovered
    return None, float("nan"), float("nan")


def _less_specific(shared: float, unexplained: float, old: Matrix, new: Matrix, fold: Index) -> Kind:
    """Return the kind of a change that no specific map explains."""
    if shared >= EXPLAINED:
        return "small moves"
    if not unexplained > 1 - EXPLAINED:
        return "mixing of features"
    ceiling = _held_out_share(new, new, fold)
    kept = _held_out_share(new, old, fold) / ceiling if ceiling > 0 else 0.0
    return "new dimensions" if kept >= EXPLAINED else "new structure"


def _has_too_few_rows(X: Matrix, Y: Matrix, candidates: Sequence[tuple[Kind, float, tuple[Matrix, Matrix]]]) -> bool:
    """Whether vectors differ, in the same geometry, and the rows are too few to fit a rotation."""
    is_different = not any(error <= 1 - EXPLAINED for kind, error, _ in candidates if kind == "none")
    return is_different and len(X) < ROWS_PER_FEATURE * max(X.shape[1], Y.shape[1])


def _candidates(X: Matrix, Y: Matrix, fold: Index) -> Iterator[tuple[Kind, tuple[Matrix, Matrix]]]:
    """Yield kinds of change from the simplest on, each with its prediction of held-out rows and their values."""
    if X.shape == Y.shape:
        yield "none", (X, Y)
        yield "rescaling", (_held_out(X, Y, fold, _rescale), Y)
        yield "row rescaling", (_unit(X), _unit(Y))
        yield "offset", (_held_out(X, Y, fold, _shift), Y)
        yield "feature scaling", (_held_out(X, Y, fold, _rescale_features), Y)
    else:
        width = min(X.shape[1], Y.shape[1])
        kind: Kind = "new features" if width == X.shape[1] else "fewer features"
        yield kind, (_unit(X[:, :width]), _unit(Y[:, :width]))
    yield "rotation", (_held_out(X, Y, fold, _rotate), Y)
    # A rotation about the origin in which every row may also change its length.
    yield "rotation", (_held_out(_unit(X), _unit(Y), fold, _rotate_about_origin), _unit(Y))


def _held_out(X: Matrix, Y: Matrix, fold: Index, fit: Callable[[Matrix, Matrix, Matrix], Matrix]) -> Matrix:
    """Predict the rows of each fold by a map fitted to the rows outside it."""
    predicted = np.empty_like(Y)
    for part in range(FOLDS):
        out = fold == part
        if out.any():
            predicted[out] = fit(X[~out], Y[~out], X[out])
    return predicted


def _rescale(X: Matrix, Y: Matrix, rows: Matrix) -> Matrix:
    return np.asarray(rows * (float(np.vdot(X, Y)) / max(float(np.vdot(X, X)), _tiny())))


def _shift(X: Matrix, Y: Matrix, rows: Matrix) -> Matrix:
    mean, target = X.mean(axis=0), Y.mean(axis=0)
    return np.asarray(target + _rescale(X - mean, Y - target, rows - mean))


def _rescale_features(X: Matrix, Y: Matrix, rows: Matrix) -> Matrix:
    mean, target = X.mean(axis=0), Y.mean(axis=0)
    return np.asarray(target + (rows - mean) * _feature_factors(X - mean, Y - target))


def _rotate(X: Matrix, Y: Matrix, rows: Matrix) -> Matrix:
    mean, target = X.mean(axis=0), Y.mean(axis=0)
    return np.asarray(target + _rotate_about_origin(X - mean, Y - target, rows - mean))


def _rotate_about_origin(X: Matrix, Y: Matrix, rows: Matrix) -> Matrix:
    """Map rows by the orthogonal map and scale that best fit X to Y (Schönemann 1966)."""
    # With fewer rows than features, the map is computed in the space that the rows span.
    bases = [np.linalg.qr(side.T)[0] if len(side) < side.shape[1] else None for side in (X, Y)]
    a, b = (side if base is None else side @ base for side, base in zip((X, Y), bases, strict=True))
    u, values, right = np.linalg.svd(a.T @ b, full_matrices=False)
    mapped = (rows if bases[0] is None else rows @ bases[0]) @ (u @ right)
    scale = values.sum() / max(float(np.vdot(X, X)), _tiny())
    return np.asarray(scale * (mapped if bases[1] is None else mapped @ bases[1].T))


def _feature_factors(old: Matrix, new: Matrix) -> Matrix:
    return np.asarray((old * new).sum(axis=0) / np.maximum((old * old).sum(axis=0), _tiny()))


def _lost_features(old: Matrix, new: Matrix, kind: Kind) -> bool:
    """Whether a rescaling of features left at most half of the features."""
    return kind == "feature scaling" and float((np.abs(_feature_factors(old, new)) < LOST).mean()) >= 1 - COLLAPSED


def _unit(rows: Matrix) -> Matrix:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), _tiny()))


def _tiny() -> float:
    return float(np.finfo(float).tiny)


def _recovered_neighbours(predicted: Matrix, target: Matrix, fold: Index) -> float:
    """Return the share of nearest neighbours in held-out rows that mapped old vectors find among new vectors."""
    queries, vectors = _unit(predicted), _unit(target)
    found, total = 0.0, 0
    for part in range(FOLDS):
        rows = np.flatnonzero(fold == part)
        if len(rows) > 2:
            truth = nearest_by_product(vectors[rows], max(1, min(10, (len(rows) - 1) // 10))).lists
            found += float(recall_of_each(queries[rows], vectors[rows], truth).sum())
            total += len(rows)
    return found / total if total else float("nan")


def _held_out_share(X: Matrix, Y: Matrix, fold: Index) -> float:
    """Return the share of Y's variance in held-out rows that ridge regression on X explains."""
    X, Y = _few_columns(X), _few_columns(Y)
    predicted = predict_held_out(X, decompose_folds(X, fold, FOLDS), Y)
    return 1.0 - float(np.vdot(Y - predicted, Y - predicted) / np.vdot(Y, Y))


def _few_columns(rows: Matrix) -> Matrix:
    """Return rows in as few coordinates as rows if products of all features would take much memory."""
    n, d = rows.shape
    return rotate_rows(rows) if d > max(n, _MANY_FEATURES) else rows


def _scaled_variance_share(X: Matrix, Y: Matrix) -> float:
    """Return the share of Y's variance that X explains up to a common scale: a squared cosine."""
    if X.shape != Y.shape:
        return float("nan")
    return float(np.vdot(X, Y) ** 2 / (np.vdot(X, X) * np.vdot(Y, Y)))
