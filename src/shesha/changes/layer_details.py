"""What changed in one layer: by how much, the kind of change, and the classes that moved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from shesha.changes.class_distance_changes import (
    METRIC,
    REPLACED,
    ClassTest,
    class_changes,
    comparable_classes,
    judge,
    noise_limit,
)
from shesha.changes.index_recall import deal_units, nearest_vectors
from shesha.changes.layer_sources import NoiseFloor
from shesha.comparison.engine import Evidence, Group, make_score
from shesha.descriptors.spectrum_and_dimension import anisotropy, participation_ratio
from shesha.drift.canary_check import drifts
from shesha.inputs.class_labels import class_codes
from shesha.kernels.mean_intervals import t_margin
from shesha.kernels.neighbours import nearest_by_product, shared_entries
from shesha.kernels.regression import decompose_folds, predict_held_out
from shesha.kernels.shapes import column_panels, rotate_rows
from shesha.kernels.threads import single_threaded_blas
from shesha.measures import Measure
from shesha.nulls.design_warnings import find_undeclared_dependence
from shesha.results.diff import Kind, LayerChange, MeasureChange, SeparationChange, StructureChange
from shesha.support.device_arrays import squared_lengths
from shesha.support.seeds import spawn
from shesha.support.types import Array, Index, Labels, Mask, Matrix, Seed, Vector
from shesha.support.warnings import CalibrationWarning, NotEstimable, warn
from shesha.views import Representation

Pairs = Sequence[tuple[Representation, Representation]]
_ROUNDING = 1e-9
NAN = float("nan")


def error_share(predicted: Matrix, target: Matrix) -> float:
    """Return the squared error as a share of the variance of the target.

    Examples
    --------
    >>> error_share(np.array([[0.0], [2.0]]), np.array([[1.0], [3.0]]))
    1.0
    """
    return _share_of_panels((target[:, columns], predicted[:, columns]) for columns in column_panels(target))


def _share_of_panels(panels: Iterable[tuple[Matrix, Matrix]]) -> float:
    """Return the squared error as a share of the variance, from panels of columns of the target and of a prediction."""
    variance = error = 0.0
    for wanted, predicted in panels:
        centred, missed = wanted - wanted.mean(axis=0), wanted - predicted
        variance, error = variance + float(np.vdot(centred, centred)), error + float(np.vdot(missed, missed))
    return error / variance if variance > 0 else 0.0 if error == 0 else float("inf")


def error_limit(errors: Sequence[float]) -> float:
    """Return the share of the variance by which noise may change vectors, by the rule of the limit of a drift."""
    # The rule doubles a distance, so it applies to the root of the squared error.
    limit = noise_limit([float(np.sqrt(error)) for error in errors])
    return max(_ROUNDING, 0.0 if np.isnan(limit) else limit**2)


def vectors_differ(pair: LayerPair) -> bool:
    """Return whether vectors have other features, or differ by more than noise."""
    before, after = pair.before, pair.after
    return before.shape != after.shape or error_share(before.to_numpy.rows, after.to_numpy.rows) > pair.error_limit


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
_MANY_FEATURES, _WIDE = 4096, 4
"""Features above which rotated rows are used, if there are so many times fewer rows."""


def structure_change(pair: LayerPair, fold: Index, *, beyond_noise: bool) -> StructureChange:
    """Describe how the vectors of a layer changed.

    Parameters
    ----------
    pair : LayerPair
        The layer before and after the change.
    fold : array of shape (n_rows,)
        Fold of each row; maps are fitted to the other folds.
    beyond_noise : bool
        Whether the geometry changed by more than noise.
    """
    sides = pair.before.rows, pair.after.rows
    X, Y = _few_columns(*sides)
    old, new = X - X.mean(axis=0), Y - Y.mean(axis=0)
    with single_threaded_blas():
        # With few rows, even the old vectors cannot be fully predicted from themselves, so the share that is then
        # unexplained is not new structure.
        linear, ceiling = _ridge_share(old, new, fold), _ridge_share(old, old, fold)
        candidates = list(_candidates(*sides, X, Y, fold))
        best = min([1.0 - linear, *(error for _, error, _ in candidates)])
        enough = min(1 - EXPLAINED, max(pair.error_limit, AS_GOOD * best))
        kind, explained, recovered = _simplest(candidates, enough)
        unexplained = float(np.clip(1.0 - linear / ceiling, 0.0, 1.0)) if ceiling > 0 else float("nan")
        ranks = [participation_ratio(rows) for rows in (X, Y)]
        shared = _squared_cosine(old, new) if sides[0].shape == sides[1].shape else NAN
        differs = _rows_that_differ(*sides, pair.error_limit)
        if beyond_noise:
            if 0 < differs.mean() <= _FEW_ROWS:
                # A few rows may fit any of the maps.
                kind, explained, recovered = "some rows", NAN, NAN
            elif ranks[1] <= COLLAPSED * ranks[0] and (kind is None or _lost_features(*sides, kind)):
                kind = "collapse"
            elif kind in (None, "none"):
                kind = _less_specific(shared, unexplained, old, new, fold)
        elif kind is None:
            kind = "untested" if vectors_differ(pair) and _has_too_few_rows(sides, candidates) else "none"
    shares = [anisotropy(rows) for rows in (X, Y)]
    scale = float(np.sqrt(_ratio(np.vdot(new, new), np.vdot(old, old))))
    return StructureChange(
        layer=pair.name,
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
        n_features=max(rows.shape[1] for rows in sides),
        n_moved=int(differs.sum()),
    )


_FEW_ROWS = 0.5
"""Share of rows up to which those that differ are named as the change, if all others are the same up to noise."""


def _rows_that_differ(before: Matrix, after: Matrix, limit: float) -> Mask:
    """Return which rows differ by more than noise; all of them if the features differ."""
    if before.shape != after.shape:
        return np.ones(len(before), dtype=bool)
    errors = squared_lengths(after - before)
    spread = float(squared_lengths(after - after.mean(axis=0)).mean())
    return np.asarray(errors > limit * spread)


Candidate = tuple[Kind, float, float]
"""A kind of change, the error of its map, and the share of neighbours in held-out rows that a rotation recovers."""


def _simplest(candidates: Sequence[Candidate], enough: float) -> tuple[Kind | None, float, float]:
    """Return the first kind whose error is small enough, the share it explains, and the neighbours it recovers."""
    for kind, error, recovered in candidates:
        if error <= enough and (kind != "rotation" or recovered >= RECOVERED):
            return kind, 1.0 - error, recovered
    return None, NAN, NAN


def _less_specific(shared: float, unexplained: float, old: Matrix, new: Matrix, fold: Index) -> Kind:
    """Return the kind of a change that no specific map explains."""
    if shared >= EXPLAINED:
        return "small moves"
    if not unexplained > 1 - EXPLAINED:
        return "mixing of features"
    ceiling = _ridge_share(new, new, fold)
    kept = _ridge_share(new, old, fold) / ceiling if ceiling > 0 else 0.0
    return "new dimensions" if kept >= EXPLAINED else "new structure"


def _has_too_few_rows(sides: Sequence[Matrix], candidates: Sequence[Candidate]) -> bool:
    """Whether vectors differ, in the same geometry, and the rows are too few to fit a rotation."""
    is_different = not any(error <= 1 - EXPLAINED for kind, error, _ in candidates if kind == "none")
    return is_different and len(sides[0]) < ROWS_PER_FEATURE * max(rows.shape[1] for rows in sides)


def _candidates(before: Matrix, after: Matrix, X: Matrix, Y: Matrix, fold: Index) -> Iterator[Candidate]:
    """Yield kinds of change from the simplest on; X and Y are the rows before and after in fewer coordinates.

    Only one predicted matrix is in memory at a time.
    """
    if before.shape == after.shape:
        yield "none", error_share(X, Y), NAN
        yield "rescaling", error_share(_predict_each_fold(X, Y, fold, _rescale), Y), NAN
        yield "row rescaling", error_share(_unit(X), _unit(Y)), NAN
        yield "offset", error_share(_predict_each_fold(X, Y, fold, _shift), Y), NAN
        yield "sign flips", _error_of_features(before, after, fold, _flip_features), NAN
        yield "feature scaling", _error_of_features(before, after, fold, _rescale_features), NAN
        yield "normalisation", _error_of_normalisation(before, after, fold), NAN
    else:
        width = min(before.shape[1], after.shape[1])
        kind: Kind = "new features" if width == before.shape[1] else "fewer features"
        yield kind, error_share(*map(_unit, _few_columns(before[:, :width], after[:, :width]))), NAN
    yield _rotation(_predict_each_fold(X, Y, fold, _rotate), Y, fold)
    # A rotation about the origin in which every row may also change its length.
    yield _rotation(_predict_each_fold(_unit(X), _unit(Y), fold, _rotate_about_origin), _unit(Y), fold)


def _rotation(predicted: Matrix, target: Matrix, fold: Index) -> Candidate:
    error = error_share(predicted, target)
    return "rotation", error, _neighbour_recall(predicted, target, fold) if error <= 1 - EXPLAINED else NAN


Fit = Callable[[Matrix, Matrix, Matrix], Matrix]
"""Map rows as fitted to rows before and after the change."""


def _error_of_features(X: Matrix, Y: Matrix, fold: Index, fit: Fit) -> float:
    pairs = ((X[:, columns], Y[:, columns]) for columns in column_panels(Y))
    return _share_of_panels((y, _predict_each_fold(x, y, fold, fit)) for x, y in pairs)


def _error_of_normalisation(X: Matrix, Y: Matrix, fold: Index) -> float:
    """Return the error of a normalisation layer that only one side has passed, with or without its subtracted mean."""
    errors = []
    for centred in (False, True):
        for side in (0, 1):
            rows = (X, Y)[side]
            means = rows.mean(axis=1, keepdims=True) * centred
            squares = sum(squared_lengths(rows[:, columns] - means) for columns in column_panels(rows))
            lengths = np.sqrt(np.maximum(squares, _tiny()))[:, None]
            pairs = ((X[:, columns], Y[:, columns]) for columns in column_panels(rows))
            divided = (((x - means) / lengths, y) if side == 0 else (x, (y - means) / lengths) for x, y in pairs)
            error = _share_of_panels((y, _predict_each_fold(x, y, fold, _rescale_features)) for x, y in divided)
            errors.append(error)
    return min(errors)


def _predict_each_fold(X: Matrix, Y: Matrix, fold: Index, fit: Fit) -> Matrix:
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


def _flip_features(X: Matrix, Y: Matrix, rows: Matrix) -> Matrix:
    mean, target = X.mean(axis=0), Y.mean(axis=0)
    return np.asarray(target + (rows - mean) * np.where(_feature_factors(X - mean, Y - target) < 0, -1, 1))


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


def _lost_features(X: Matrix, Y: Matrix, kind: Kind) -> bool:
    """Whether a rescaling of features left at most half of the features."""
    if kind != "feature scaling":
        return False
    pairs = ((X[:, columns], Y[:, columns]) for columns in column_panels(X))
    factors = [_feature_factors(old - old.mean(axis=0), new - new.mean(axis=0)) for old, new in pairs]
    return float((np.abs(np.concatenate(factors)) < LOST).mean()) >= 1 - COLLAPSED


def _unit(rows: Matrix) -> Matrix:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), _tiny()))


def _tiny() -> float:
    return float(np.finfo(float).tiny)


def _neighbour_recall(predicted: Matrix, target: Matrix, fold: Index) -> float:
    """Return the share of nearest neighbours in held-out rows that mapped old vectors find among new vectors."""
    queries, vectors = _unit(predicted), _unit(target)
    found, total = 0.0, 0
    for part in range(FOLDS):
        rows = np.flatnonzero(fold == part)
        if len(rows) > 2:
            k = max(1, min(10, (len(rows) - 1) // 10))
            truth = nearest_by_product(vectors[rows], k).lists
            near = nearest_vectors(queries[rows], vectors[rows], k)
            found += float(shared_entries(truth, near).mean(axis=1).sum())
            total += len(rows)
    return found / total if total else float("nan")


def _ridge_share(X: Matrix, Y: Matrix, fold: Index) -> float:
    """Return the share of Y's variance in held-out rows that ridge regression on X explains."""
    predicted = predict_held_out(X, decompose_folds(X, fold, FOLDS), Y)
    return 1.0 - _ratio(np.vdot(Y - predicted, Y - predicted), np.vdot(Y, Y))


def _is_wide(rows: Matrix) -> bool:
    return bool(rows.shape[1] > max(_WIDE * len(rows), _MANY_FEATURES))


def _few_columns(*sides: Matrix) -> tuple[Matrix, ...]:
    """Return rows in fewer coordinates, shared by sides of equal width, if features far outnumber the rows."""
    if not all(map(_is_wide, sides)):
        return sides
    if len({rows.shape[1] for rows in sides}) > 1:
        return tuple(map(rotate_rows, sides))
    return tuple(np.split(rotate_rows(*sides), len(sides)))


def narrow(side: Representation) -> Representation:
    """Return a representation with the same inner products in fewer coordinates if features far outnumber the rows."""
    rows = side.to_numpy.rows
    if not _is_wide(rows):
        return side
    return cast(
        Representation, side.cached(("fold", "narrow"), lambda: Representation(rotate_rows(rows), side.precision))
    )


def _squared_cosine(X: Matrix, Y: Matrix) -> float:
    """Return the share of Y's variance that X explains up to a common scale: a squared cosine."""
    return _ratio(np.vdot(X, Y) ** 2, np.vdot(X, X) * np.vdot(Y, Y))


def _ratio(part: np.floating[Any], whole: np.floating[Any]) -> float:
    """Return a ratio; NaN if the whole is zero or far smaller, as for numbers that vanish in the other side's unit."""
    return float(part / whole) if whole > np.finfo(float).tiny * max(1.0, float(part)) else NAN


def separation_change(
    layer: str,
    before: Representation,
    after: Representation,
    codes: Labels,
    fold: Index,
    *,
    confidence: float,
    groups: Labels | None = None,
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
    half = _half_width(weights, right[1] - right[0], groups, confidence)
    # A difference of accuracies lies between -1 and 1.
    low, high = max(-1.0, end - start - half), min(1.0, end - start + half)
    return SeparationChange(layer, start, end, low, high=high, chance=1.0 / len(sizes), confidence=confidence)


def _half_width(weights: Vector, differences: Vector, groups: Labels | None, confidence: float) -> float:
    """Return half the width of the interval of a difference between two accuracies.

    Rows vary, and so do the classifiers, which share most of their training rows. Therefore the variance over rows, or
    over groups of rows, is multiplied by the factor of Nadeau and Bengio (2003). One row that improves and one that
    becomes worse are added, as Agresti and Min (2005) do, because few rows may all be classified alike by chance.
    """
    n, residuals = len(weights), weights * (differences - weights @ differences)
    units = np.arange(n) if groups is None else groups
    n_units = int(units.max()) + 1
    if n_units < 2:
        return float("nan")
    variance = n_units / (n_units - 1) * float((np.bincount(units, residuals) ** 2).sum()) + 2 / (n + 2) ** 2
    training = 1.0 + FOLDS / (FOLDS - 1)
    return float(t_margin(np.sqrt(training * variance), n_units - 1, confidence))


def _correctly_classified(rows: Matrix, codes: Labels, fold: Index) -> Vector:
    X = rows - rows.mean(axis=0)
    sizes = np.bincount(codes)
    shares = sizes / len(codes)
    targets = np.eye(len(sizes))[codes] - shares
    predicted = predict_held_out(X, decompose_folds(X, fold, FOLDS), targets)
    # Predictions are divided by the class's share of the rows, so that rare classes can be chosen.
    return np.asarray((predicted / shares).argmax(axis=1) == codes, dtype=float)


_DRIFT_OF_UNRELATED_ROWS = {"RDM drift": 2 * REPLACED, "unbiased CKA": 2 * REPLACED}
"""For other measures, this drift is computed with permuted rows."""
_SHUFFLING, _SHUFFLES = 23, 3


@dataclass(frozen=True)
class LayerPair:
    """A layer before and after the change, with pairs of encodings that differ only by noise."""

    name: str
    other: str
    before: Representation
    after: Representation
    unchanged: tuple[tuple[Representation, Representation], ...]
    """Pairs of encodings that differ only by noise, in fewer coordinates as `compared` is."""
    kinds: tuple[str, ...]
    """Which noise each pair has, such as that of re-encodings or of further runs of the same change."""
    error_limit: float
    """Share of the variance by which noise may change vectors."""
    compared: tuple[Representation, Representation]
    """Both sides as measures compare them: in fewer coordinates if features far outnumber the rows."""

    @classmethod
    def build(
        cls,
        name: str,
        other: str,
        before: Representation,
        after: Representation,
        floor: NoiseFloor,
        measures: Sequence[Measure],
    ) -> LayerPair:
        """Draw or select the pairs of encodings that differ only by noise, one after another."""
        # Measures that depend on the axes need all features.
        lessen = narrow if all(measure.rotates for measure in measures) else (lambda side: side)
        unchanged, kinds, errors = [], [], []
        for kind, (first, second) in floor.pairs(name, before, after):
            errors.append(error_share(first.to_numpy.rows, second.to_numpy.rows))
            unchanged.append((lessen(first), lessen(second)))
            kinds.append(kind)
        compared = lessen(before), lessen(after)
        return cls(
            name,
            other,
            before,
            after=after,
            unchanged=tuple(unchanged),
            kinds=tuple(kinds),
            error_limit=error_limit(errors),
            compared=compared,
        )


def layer_change(pair: LayerPair, measures: Sequence[Measure], evidence: Evidence) -> LayerChange:
    """Score the change of a layer by every measure and compare it with noise; the first measure decides."""
    values, reasons = drifts(measures, *pair.compared)
    noise = _noise(pair, measures)
    scores = []
    for i, measure in enumerate(measures):
        low, high, note = NAN, NAN, reasons[i]
        if np.isfinite(values[i]):
            low, high, note = _interval(measure, pair, float(values[i]), evidence)
        most = float(np.nanmax(noise[:, i])) if np.isfinite(noise[:, i]).any() else NAN
        scores.append(
            MeasureChange(
                name=measure.name,
                value=float(values[i]),
                low=low,
                high=high,
                noise=most,
                reason=note,
                label=_label(measure),
            )
        )
    limit = noise_limit(noise[:, 0].tolist())
    first = scores[0]
    replaced = _drift_of_unrelated_rows(measures[0], pair) / 2
    verdict = judge(first.value, first.low, limit, replaced)
    return LayerChange(
        name=pair.name,
        other=pair.other,
        verdict=verdict,
        value=first.value,
        low=first.low,
        high=first.high,
        noise=first.noise,
        limit=limit,
        reason=first.reason,
        scores=tuple(scores),
        replaced_above=replaced,
        vectors_differ=vectors_differ(pair),
        floors=_floors(pair, noise[:, 0]),
    )


def _label(measure: Measure) -> str:
    """Return what a change is called: for a similarity that is 1 for equal rows, 1 minus the similarity."""
    base = measure.name.partition("(")[0]
    if base == "mutual kNN":
        return "neighbours lost"
    if measure.self_value == 0 and measure.closer == "lower":
        return base
    return f"1 - {base}" if measure.self_value == 1 and measure.closer == "higher" else f"change of {base}"


def _drift_of_unrelated_rows(measure: Measure, pair: LayerPair) -> float:
    """Return the drift of unrelated geometries, of which half separates changed from replaced layers."""
    known = _DRIFT_OF_UNRELATED_ROWS.get(measure.name.partition("(")[0])
    if known is not None:
        return known
    orders = [np.random.default_rng([_SHUFFLING, k]).permutation(pair.before.n_rows) for k in range(_SHUFFLES)]
    first, second = pair.compared
    found = [float(drifts([measure], first, second.take_rows(order))[0][0]) for order in orders]
    return float(np.mean(found)) if np.isfinite(found).all() else 2 * REPLACED


def _floors(pair: LayerPair, noise: Vector) -> dict[str, float]:
    """Return the largest drift of each kind of pairs that differ only by noise."""
    floors: dict[str, float] = {}
    for kind, drift in zip(pair.kinds, noise.tolist(), strict=True):
        floors[kind] = float(np.fmax(floors.get(kind, NAN), drift))
    return floors


def _noise(pair: LayerPair, measures: Sequence[Measure]) -> Matrix:
    rows = [drifts(measures, first, other)[0] for first, other in pair.unchanged]
    return np.array(rows).reshape(-1, len(measures))


def _interval(measure: Measure, pair: LayerPair, change: float, evidence: Evidence) -> tuple[float, float, str]:
    """Return the interval of a drift, or the reason why there is none."""
    assert measure.self_value is not None
    if change == 0.0:
        return 0.0, 0.0, ""
    sides = pair.compared
    try:
        rows = list(evidence.score_subsets(Group((measure,), ((),)), [measure], sides))
    except NotEstimable as reason:
        return NAN, NAN, f"no interval: {reason}"
    on_subsets: Vector = np.array(rows)[:, 0]
    value = measure.self_value + change if measure.closer == "lower" else measure.self_value - change
    score = evidence.add_interval(make_score(measure, value), on_subsets)
    if not score.has_interval:
        return NAN, NAN, "; ".join(score.notes)
    if measure.closer == "lower":
        return score.low - measure.self_value, score.high - measure.self_value, ""
    return measure.self_value - score.high, measure.self_value - score.low, ""


_DEALING = 51
_SAME_FOR_ALL = {"none", "rescaling", "row rescaling", "offset", "sign flips", "rotation"}


def layer_details(
    pair: LayerPair, rows: Index, known: dict[str, Array], *, beyond_noise: bool, confidence: float, seed: Seed
) -> tuple[dict[str, Any], Sequence[str]]:
    """Return the kind of change, the classes that moved, the change in class separability, and notes.

    Without labels, only the kind of change is returned; if all rows of a side are equal, not even that. Classes with
    fewer than five rows are left out, and more than 30 classes are not compared.
    """
    if any(np.ptp(side.rows, axis=0).max() == 0 for side in (pair.before, pair.after)):
        return {}, ()
    groups, blocks = (class_codes(known[name][rows])[0] if name in known else None for name in ("groups", "blocks"))
    fold = deal_units(len(rows), groups, FOLDS, spawn(seed, _DEALING))
    details: dict[str, Any] = {"structure": structure_change(pair, fold, beyond_noise=beyond_noise)}
    classes = comparable_classes(known["labels"], rows) if "labels" in known else None
    if classes is None:
        return details, ()
    chosen, codes, names = classes
    groups, blocks = (
        None if labels is None else class_codes(np.asarray(labels)[chosen])[0] for labels in (groups, blocks)
    )
    sides = pair.before, pair.after, *sum(pair.unchanged, ())
    before, after, *unchanged = (narrow(side).take_rows(chosen) for side in sides)
    noise = list(zip(unchanged[::2], unchanged[1::2], strict=True))
    if groups is None and (
        signs := find_undeclared_dependence([before.standard(METRIC), after.standard(METRIC)], codes)
    ):
        warn(f"p-values of classes may be too small: {signs}", CalibrationWarning)
    test = ClassTest(1 - confidence, groups, blocks, seed)
    details["classes"], note = class_changes(before, after, noise, codes, names, test)
    if _is_one_map(details["structure"], pair):
        details["classes"] = tuple(replace(change, significant=False) for change in details["classes"])
    fold = deal_units(len(chosen), groups, FOLDS, spawn(seed, _DEALING))
    details["separation"] = separation_change(
        pair.name, before, after, codes, fold, confidence=confidence, groups=groups
    )
    return details, [note] if note else []


def _is_one_map(structure: StructureChange, pair: LayerPair) -> bool:
    """Whether one map explains the change up to noise, so that no class moved by itself."""
    return structure.kind in _SAME_FOR_ALL and 1 - structure.explained <= pair.error_limit
