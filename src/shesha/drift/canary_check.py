"""Check the same inputs once: drift compared with unchanged encodings, and the rows that moved most."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import floor, isnan
from typing import Any

import numpy as np

from shesha.doubting import state_geometry_doubts, warn_of_pair_doubts, warn_of_row_doubts
from shesha.doubting.row_lengths import describe_lengths
from shesha.drift.canary_reference import Reference, check_same_rows, require_count
from shesha.inputs import MissingRows, RowChoice, find_row_order, orders, split_names, validation as check
from shesha.kernels.distances import PANEL
from shesha.kernels.rounding_and_scaling import safe_unit
from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.measures import Measure, choose
from shesha.nulls.null_summary import p_of_draws
from shesha.results import DriftScore, Moved
from shesha.results.drift import LIMIT_CONFIDENCE
from shesha.support import memory
from shesha.support.progress import best_answer, track
from shesha.support.provenance import questions_input, state, state_warning, text_of_warning
from shesha.support.seeds import draws_needed
from shesha.support.types import Index, Labels, Matrix, Vector, is_array
from shesha.support.warnings import NotEstimable
from shesha.views import Representation, aligned, select_rows

Choice = str | Measure | Callable[..., float]
TIERS = {"RDM drift": "primary", "unbiased CKA": "confirm", "Procrustes similarity": "early", "mutual kNN": "local"}
"""Role of each default measure in the verdict; with other measures, the first is primary."""
DEFAULT = tuple(TIERS)
_NEIGHBOURS = 10
ROUNDING = 1e-9
"""Drift below which a representation counts as unchanged, as in `diff`, because rounding alone can cause it."""


def choose_measures(measures: Iterable[Choice] | Choice | None, n_rows: int) -> list[Measure]:
    """Return the measures of a monitor, starting with the primary one."""
    if measures is None:
        k = min(_NEIGHBOURS, max(1, (n_rows - 1) // 3))
        return [*choose(DEFAULT[:-1]), choose(DEFAULT[-1])[0].with_options(k=k, metric="cosine")]
    chosen = choose(measures)
    for measure in chosen:
        if not measure.paired or measure.self_value is None:
            raise ValueError(
                f"measures must compare the same rows and have a known value for unchanged rows, got {measure.name}; "
                "for new inputs use update or two_sample"
            )
    return chosen


def drifts(measures: Sequence[Measure], before: Representation, after: Representation) -> tuple[Vector, list[str]]:
    """Return the drift by each measure (0 means no change), and the reasons for missing values."""
    values, reasons = np.full(len(measures), np.nan), [""] * len(measures)
    needs = [_view_bytes(measure, before, after) for measure in measures]
    # The reference is held for further checks as well, and resamples of the rows need views of their own.
    budget = memory.memory_budget() - 8 * math.prod(before.shape)
    with single_threaded_blas():
        for i, measure in enumerate(measures):
            if needs[i] > budget:
                reasons[i] = (
                    f"needs {memory.format_bytes(needs[i])} of a memory budget of {memory.format_bytes(budget)}"
                )
                if i == 0:
                    memory.require(needs[i] + memory.memory_budget() - budget, measure.name, "pass fewer rows")
                continue
            try:
                values[i] = drift(measure, before, after)
            except NotEstimable as reason:
                reasons[i] = str(reason)
            if sum(needs) > budget / 2:
                before.drop_views()
                after.drop_views()
    return values, reasons


def _view_bytes(measure: Measure, before: Representation, after: Representation) -> int:
    """Return the memory for the views of both sides, and for the larger of the two while it is made."""
    sides = [measure.view_bytes(before, after), measure.view_bytes(after, before)]
    return sum(made for made, _ in sides) + max(working for _, working in sides)


def bytes_of_drift(measure: Measure, shapes: Sequence[tuple[int, int]]) -> int:
    """Return the memory for a reference of this shape, another encoding, unit rows of both, and one measure's drift."""
    one = Representation(np.broadcast_to(np.float64(0), shapes[0]), 0.0)
    return _view_bytes(measure, one, one) + 4 * 8 * math.prod(one.shape)


def drift(measure: Measure, before: Representation, after: Representation) -> float:
    """Return how far a measure is from its value for unchanged rows, or raise NotEstimable with a reason."""
    a, b = aligned(before, after, measure.view.folding)
    measure.require_comparable(a, b)
    value = measure.compare_views(measure.look(a), measure.look(b))
    if not np.isfinite(value):
        raise NotEstimable("the measure has no finite value for these rows")
    assert measure.self_value is not None
    difference = value - measure.self_value if measure.closer == "lower" else measure.self_value - value
    # The last digits differ between machines. Such differences must not raise an alarm if all null drifts are equal.
    return 0.0 if abs(difference) < ROUNDING else difference


def row_movement(before: Representation, after: Representation) -> Vector:
    """Return how far each row moved relative to the others; all NaN if any row is zero."""
    try:
        return movement(before.cached("unit rows", lambda: before.standard("cosine")), after.standard("cosine"))
    except NotEstimable:
        return np.full(before.n_rows, np.nan)


def movement(before: Matrix, after: Matrix) -> Vector:
    """Return 1 - correlation of each row's distances to all other rows, in two sets of unit rows.

    The result is invariant to rotations, and the widths may differ. A row that is equally far from all others has NaN.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((6, 3))
    >>> X /= np.linalg.norm(X, axis=1, keepdims=True)
    >>> movement(X, X[:, ::-1]).round(12)
    array([0., 0., 0., 0., 0., 0.])
    """
    n = len(before)

    def part(start: int) -> Vector:
        a, b = (_profiles(rows, start, n) for rows in (before, after))
        a -= b
        # Half the squared distance of unit vectors equals 1 - r, and is accurate even if 1 - r is tiny.
        half_distances: Vector = 0.5 * np.einsum("ij,ij->i", a, a)
        return half_distances

    return np.concatenate(list(parallel(part, range(0, n, PANEL))))


def _profiles(rows: Matrix, start: int, n: int) -> Matrix:
    """Return similarities of a panel's rows to all others, centred and of unit length; 0 with themselves."""
    products = rows[start : start + PANEL] @ rows.T
    rows_of_panel = np.arange(len(products))
    products[rows_of_panel, rows_of_panel + start] = 0.0
    products -= products.sum(axis=1, keepdims=True) / (n - 1)
    products[rows_of_panel, rows_of_panel + start] = 0.0
    lengths = np.sqrt(np.einsum("ij,ij->i", products, products))
    with np.errstate(invalid="ignore", divide="ignore"):
        products /= np.where(lengths > 1e-12, lengths, np.nan)[:, None]
    return products


def class_means(moved: Vector, codes: Labels, n_classes: int) -> Vector:
    """Return the mean movement of the rows in each class.

    Examples
    --------
    >>> class_means(np.array([0.1, 0.3, 0.5]), np.array([0, 0, 1]), 2)
    array([0.2, 0.5])
    """
    known = np.isfinite(moved)
    totals = np.bincount(codes[known], moved[known], minlength=n_classes)
    return totals / np.maximum(1, np.bincount(codes[known], minlength=n_classes))


def p_value(score: float, null: Vector) -> float:
    """Return (1 + b) / (K + 1), where b of K null scores are at least as large; NaN for a missing score.

    If the score and the null scores are exchangeable, the probability that the p-value is at most u is at most u, for
    any distribution.

    Examples
    --------
    >>> p_value(2.0, np.array([1.0, 2.0, 3.0]))
    0.75
    """
    return float("nan") if isnan(score) else float(p_of_draws(int(np.count_nonzero(null >= score)), len(null)))


def exceedance_limit(n_nulls: int, level: float) -> int:
    """Return how many scores, including the observed one, may be at least as large for p to reach the level."""
    return floor(level * (n_nulls + 1) * (1 + 1e-9))


def threshold(null: Vector, level: float) -> float:
    """Return the null score that must be exceeded for a p-value at the level; infinite if none can be.

    Examples
    --------
    >>> threshold(np.arange(99.0), 0.05)
    94.0
    """
    k = exceedance_limit(len(null), level)
    return float(np.partition(null, len(null) - k)[len(null) - k]) if k else float("inf")


def false_alarm_limit(n_nulls: int, level: float, confidence: float = LIMIT_CONFIDENCE) -> float:
    """Return an upper confidence limit for the rate at which unchanged encodings exceed the threshold.

    The threshold is the k-th largest of K null scores, with k = level (K + 1). The rate at which further scores exceed
    it is therefore random, with distribution Beta(k, K + 1 - k) and mean k / (K + 1).

    Examples
    --------
    >>> round(false_alarm_limit(99, 0.01), 4), round(false_alarm_limit(999, 0.01), 4)
    (0.0298, 0.0157)
    """
    from scipy.special import betaincinv

    k = exceedance_limit(n_nulls, level)
    return float(betaincinv(k, n_nulls + 1 - k, confidence)) if k else 0.0


@dataclass(frozen=True)
class ReencodingNoise:
    """Drifts of K re-encodings, and the largest movements of rows and classes among them."""

    drifts: Matrix
    """Drift of each re-encoding by each measure, of shape (n_reencodings, n_measures)."""
    rows: Vector
    """For each row, its largest movement in any re-encoding."""
    classes: Vector
    """For each class, its largest movement in any re-encoding."""

    def __len__(self) -> int:
        """Return the number of re-encodings."""
        return len(self.drifts)

    @property
    def are_copies(self) -> bool:
        """Whether all re-encodings have the geometry of the reference, as copies have."""
        return not self.drifts[:, 0].any()

    def take(self, kept: Index, classes: Sequence[int]) -> ReencodingNoise:
        """Return the floor of some of the rows and classes; drifts stay those of all rows."""
        return ReencodingNoise(self.drifts, self.rows[kept], self.classes[list(classes)])

    @classmethod
    def build(
        cls,
        nulls: Iterable[Any],
        reference: Representation,
        measures: Sequence[Measure],
        codes: Labels | None,
        n_classes: int,
    ) -> ReencodingNoise:
        """Score re-encodings one at a time, without keeping them in memory."""
        rows_of_scores: list[Vector] = []
        rows, classes = np.zeros(reference.n_rows), np.zeros(n_classes)
        for k, null in enumerate(nulls):
            encoding = check_same_rows(null, reference, f"nulls[{k}]")
            rows_of_scores.append(drifts(measures, reference, encoding)[0])
            moved = row_movement(reference, encoding)
            rows = np.fmax(rows, moved)
            if codes is not None:
                classes = np.fmax(classes, class_means(moved, codes, n_classes))
        if not rows_of_scores:
            raise ValueError("nulls must contain at least one re-encoding of the same rows, got none")
        scores = np.array(rows_of_scores)
        if np.isnan(scores[:, 0]).all():
            raise ValueError(f"nulls must have a value of {measures[0].name}, got none from {len(scores)} re-encodings")
        if len(far := np.flatnonzero(~(scores[:, 0] <= _OTHER))):
            named = f"{len(far):,} of {len(scores):,} re-encodings (number {check.join_items(far)})"
            if not np.median(scores[:, 0]) <= _DRIFT_OF_UNRELATED / 2:
                raise ValueError(
                    f"nulls must be encodings of the same rows by the unchanged model, in the same order, got {named} "
                    f"with a median drift of {np.median(scores[:, 0]):.2g}, where unrelated rows have about 1"
                )
            others = np.delete(scores[:, 0], far)
            # Those at the end of one distribution are no exceptions: leaving them out would raise false alarms.
            if 2 * len(far) > len(scores) or scores[far, 0].min() < _APART * others.max():
                remedy = (
                    "so smaller changes are not detected; if the encoder is random, as with dropout in training mode, "
                    "make the reference and all encodings in evaluation mode"
                )
            else:
                remedy = (
                    "as other models or other inputs do; smaller changes are not detected, so leave these re-encodings "
                    "out"
                )
            state_warning(f"{named} differ from the reference by a drift above {_OTHER}, {remedy}")
        elif text := _describe_two_kinds(scores[:, 0]):
            state_warning(text)
        # A missing drift may have been of any size, so it counts as infinite.
        return cls(np.where(np.isnan(scores), np.inf, scores), rows, classes)


def _describe_two_kinds(drifts: Vector) -> str:
    """Return which few re-encodings drift far more than all others, as those of another version; empty if none do."""
    order = np.argsort(drifts)
    values = np.maximum(drifts[order], 1e-12)
    first = len(values) - len(values) // 3
    steps = values[first:] / values[first - 1 : -1]
    if not len(steps) or np.isnan(steps).any() or steps.max() < _OTHER_KIND:
        return ""
    far = np.sort(order[first + int(steps.argmax()) :])
    if len(far) < 2 or drifts[far].min() < _NOTICED:
        return ""
    return (
        f"{len(far):,} of {len(drifts):,} re-encodings (number {check.join_items(far)}) drift by at least "
        f"{drifts[far].min():.2g}, and the others by at most {np.delete(drifts, far).max():.2g}, as if another version "
        "or machine had made them. Changes of this size are then not detected: leave them out if they are not what an "
        "unchanged model gives"
    )


_OTHER_KIND, _NOTICED = 30.0, 1e-4
"""Smallest ratio between the drifts of two kinds of re-encodings, and smallest drift of the farther kind."""


def many(nulls: Any) -> Iterable[Any]:
    """Iterate over re-encodings, given as an array (K, n, d), a mapping, or any iterable of matrices."""
    if is_array(nulls):
        if len(nulls.shape) != 3:
            raise ValueError(f"nulls must be re-encodings (K, n_rows, n_features), got shape {tuple(nulls.shape)}")
        return (nulls[k] for k in range(len(nulls)))
    if isinstance(nulls, str | bytes) or not isinstance(nulls, Iterable):
        raise TypeError(f"nulls must be an iterable of matrices, got {check.join_items([nulls])}")
    return iter(nulls.values()) if hasattr(nulls, "values") else iter(nulls)


_OTHER = 0.1
"""Drift that re-encodings by the unchanged model do not reach; half precision causes about 1e-4."""
_APART = 2.0
"""Ratio of the smallest drift of exceptional re-encodings to the largest one of the others."""
_DRIFT_OF_UNRELATED = 1.0
"""Drift of unrelated rows."""
_MOST_ROWS = 5
_MOST_CLASSES = 10
_FEWEST_ROWS = 4


@dataclass(frozen=True)
class Setting:
    """Everything that a check needs besides the rows to check."""

    reference: Reference
    measures: Sequence[Measure]
    unchanged: ReencodingNoise | None
    level: float
    tolerance: float
    n_resamples: int
    seed: int
    doubts: Sequence[str] = ()
    """Warnings about the reference and its re-encodings, which each check repeats."""

    @cached_property
    def tiers(self) -> list[str]:
        """The role of each measure in the verdict; the first is primary and raises the alarm."""
        others = (TIERS.get(measure.name.partition("(")[0], "other") for measure in self.measures[1:])
        return ["primary", *(tier.replace("primary", "other") for tier in others)]


def restrict_check(setting: Setting, current: Any, *, rows: RowChoice, missing: MissingRows) -> tuple[Setting, Any]:
    """Restrict a check to the rows that both have, and that have vectors in both."""
    reference = setting.reference
    sides, along = select_rows(
        {"reference": reference.representation, "current": current},
        {"kept": np.arange(reference.n_rows)},
        rows=rows,
        missing=missing,
    )
    kept = along["kept"]
    if len(kept) == reference.n_rows:
        return setting, sides["current"]
    if len(kept) < _FEWEST_ROWS:
        raise ValueError(f"current must share at least {_FEWEST_ROWS} rows with the reference, got {len(kept)}")
    part, floor = reference.take(kept), setting.unchanged
    if floor is not None:
        floor = floor.take(kept, [reference.classes.index(name) for name in part.classes])
        state(f"noise floor measured with all {reference.n_rows:,} rows of the reference")
    return replace(setting, reference=part, unchanged=floor), sides["current"]


@dataclass(frozen=True)
class CheckResult:
    """Results of one check, before evidence is accumulated over several checks."""

    scores: tuple[DriftScore, ...]
    rows: tuple[Moved, ...] = ()
    classes: tuple[Moved, ...] = ()
    reason: str = ""
    lengths: str = ""
    """How the lengths of rows changed; empty if they did not, or if the number of features changed."""
    rotated: bool = False
    """Whether vectors changed although distances between them did not."""


def run_check(current: Any, setting: Setting) -> CheckResult:
    """Compare rows with the reference; NaN gives a verdict with a reason, unfit inputs raise an error."""
    reference = setting.reference.representation
    values, names = split_names(current, "current")
    array = check.raw_matrix(values, "current", min_rows=1)
    if len(array) != reference.n_rows:
        # If both have names, an error about these says more than one about the number of rows.
        orders({"reference": reference.names, "current": names})
    require_count(len(array), reference, "current")
    broken = np.flatnonzero(~np.isfinite(np.asarray(array, dtype=np.float64)).all(axis=1))
    if len(broken):
        reason = f"current has NaN or infinity in {len(broken):,} of {len(array):,} rows: {check.join_items(broken)}"
        reason += '; missing="drop" leaves them out'
        return CheckResult(tuple(_missing_scores(setting, reason)), reason=reason)
    representation = Representation.build(array, "current")
    representation.names = names
    after = check_same_rows(representation, reference, "current", setting.reference.rows)
    _warn_of_doubts(setting, after)
    values, reasons = drifts(setting.measures, reference, after)
    scores = (
        _rank_among_reencodings(setting, setting.unchanged.drifts, values, reasons)
        if setting.unchanged is not None
        else _test_tolerance(setting, after, values, reasons)
    )
    moved = row_movement(reference, after)
    same_width = after.shape[1] == setting.reference.n_features
    if not same_width:
        state(
            f"current has {after.shape[1]:,} features and the reference {setting.reference.n_features:,}, so they come "
            "from different models, layers or numbers of dimensions"
        )
    if scores[0].value > _OTHER_ORDER:
        _warn_of_other_order(reference.to_numpy.rows, after.to_numpy.rows)
    if same_width:
        order = find_row_order(reference.to_numpy.rows, after.to_numpy.rows)
        if moved_text := order.describe("the new rows", "the reference", reference.names):
            state_warning(moved_text)
    known = setting.reference.rows if same_width and scores[0].value <= _OTHER_ORDER else None
    rotated = known is not None and _warn_of_rotation(known, after.to_numpy.rows)
    # Noise of the encoder changes the length of each row, but not the lengths of all.
    is_noisy = setting.unchanged is not None and float(np.nanmax(setting.unchanged.drifts[:, 0])) > _NOISY
    lengths = describe_lengths(reference.rows, after.to_numpy.rows, paired=not is_noisy) if same_width else ""
    return CheckResult(
        tuple(scores), _rows(setting, moved), _classes(setting, moved), scores[0].reason, lengths, rotated=rotated
    )


_OTHER_ORDER, _SAME_PROFILE = 0.5, 0.4
"""Drift from which on rows may be in another order, and largest difference between sorted profiles of similarities, as
a multiple of the spread of a profile over the square root of the number of rows. Other inputs of the same kind differ
by at least 0.5 in 2,000 simulated pairs."""
_ROTATED = 0.9
"""Mean cosine between rows and those of the reference below which vectors are not those that an index holds."""


def _warn_of_other_order(reference: Matrix, current: Matrix) -> None:
    """Warn if rows have the same mean similarities to all others as those of the reference, but in another order."""
    profiles = []
    for rows in (side / safe_unit(side) for side in (reference, current)):
        units = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(float).tiny)
        profiles.append(np.sort(units @ units.mean(axis=0)))
    difference = np.sqrt(np.mean((profiles[0] - profiles[1]) ** 2))
    if difference < _SAME_PROFILE * profiles[0].std() / np.sqrt(len(reference)):
        text = "the rows seem to be those of the reference in another order; sort them, or save identifiers"
        state_warning(text, questions_input=True)


_NOISY = 0.005
"""Drift of re-encodings from which on the lengths of single rows are noise."""


def _warn_of_rotation(reference: Matrix, current: Matrix) -> bool:
    """Warn if vectors changed although distances did not, because an index of the old vectors is then useless."""
    sides = [rows / safe_unit(rows) for rows in (reference, current)]
    lengths = [np.linalg.norm(side, axis=1) for side in sides]
    cosine = float(np.mean(np.einsum("ij,ij->i", *sides) / np.maximum(lengths[0] * lengths[1], np.finfo(float).tiny)))
    is_rotated = cosine < _ROTATED
    if is_rotated:
        state_warning(
            f"the vectors themselves changed, such as by a rotation (mean cosine with the reference {cosine:.2f}), so "
            "an index of the old vectors does not serve new queries"
        )
    return is_rotated


def _warn_of_doubts(setting: Setting, after: Representation) -> None:
    """Repeat what was wrong with the reference, and warn of what is wrong with the rows to check."""
    texts = [text_of_warning(text) for text in setting.doubts]
    for text, statement in zip(texts, setting.doubts, strict=True):
        state_warning(f"when the monitor was made: {text}", questions_input=questions_input(statement))
    # The verdict describes lengths, and rows that did not change at all.
    but = ("copies", "offset", "row lengths", *(text.partition(":")[0] for text in texts))
    if setting.reference.rows is not None:
        warn_of_pair_doubts({"the reference": setting.reference.rows, "the new rows": after}, but=but)
    else:
        # Rows whose axes are hidden have no features to compare, but distances between rows.
        sides = {"the reference": setting.reference.geometry_rows(), "the new rows": after}
        state_geometry_doubts(sides)
        warn_of_row_doubts(after, "the new rows", but=but)


def _score(setting: Setting, i: int, value: float, **fields: Any) -> DriftScore:
    return DriftScore(name=setting.measures[i].name, tier=setting.tiers[i], value=value, **fields)


def _missing_scores(setting: Setting, reason: str) -> list[DriftScore]:
    if setting.unchanged is None:
        nulls = [np.full(draws_needed(1, setting.level), setting.tolerance)] * len(setting.measures)
    else:
        nulls = list(setting.unchanged.drifts.T)
    limits = [threshold(null, setting.level) for null in nulls]
    return [
        _score(setting, i, np.nan, threshold=limit, p_value=np.nan, reason=reason) for i, limit in enumerate(limits)
    ]


def _rank_among_reencodings(setting: Setting, nulls: Matrix, values: Vector, reasons: list[str]) -> list[DriftScore]:
    """Rank the drift by each measure among the drifts of the re-encodings."""
    scores = []
    for i, (value, null) in enumerate(zip(values.tolist(), nulls.T, strict=True)):
        limit = threshold(null, setting.level)
        usual = float(null[np.isfinite(null)].mean()) if np.isfinite(null).any() else np.nan
        fields = {"threshold": limit, "p_value": p_value(value, null), "chance": usual, "beyond": value > limit}
        scores.append(_score(setting, i, value, reason=reasons[i], **fields))
    return scores


def _test_tolerance(setting: Setting, after: Representation, values: Vector, reasons: list[str]) -> list[DriftScore]:
    """Test whether the drift by each measure exceeds the tolerance by more than sampling error."""
    rng = np.random.default_rng(setting.seed)
    reference, limit = setting.reference, setting.tolerance
    before = reference.representation
    # Scores of halves that are drawn without replacement vary as much as those of bootstrap samples. Bootstrap samples,
    # however, contain copies of rows, which are neighbours in both encodings and would hide drift.
    units = np.arange(before.n_rows) if reference.groups is None else reference.groups
    n = int(units.max()) + 1
    halves = [np.flatnonzero(np.isin(units, rng.permutation(n)[: n // 2])) for _ in range(setting.n_resamples)]

    def score(rows: Index) -> Vector:
        return drifts(setting.measures, before.take_rows(rows), after.take_rows(rows))[0]

    shape = (max(map(len, halves), default=0), max(before.shape[1], after.shape[1]))
    at_once = memory.memory_budget() // max(bytes_of_drift(measure, [shape]) for measure in setting.measures)
    with best_answer(lambda: _describe_drifts(setting, values)):
        drawn_in_turn = parallel(score, halves, at_once=max(1, at_once))
        draws = np.array(list(track(drawn_in_turn, len(halves), "resamples"))).reshape(-1, len(setting.measures))
    scores = []
    for i, value in enumerate(values.tolist()):
        drawn = draws[:, i]
        drawn = drawn[np.isfinite(drawn)]
        low, p = np.nan, np.nan
        if np.isfinite(value) and len(drawn):
            around = value + drawn - drawn.mean()
            # The lower confidence limit is the k-th smallest of K values, with k = level (K + 1).
            low = -threshold(-around, setting.level)
            p = p_value(-limit, -around)
        fields = {"threshold": limit, "p_value": p, "low": low, "beyond": low > limit}
        scores.append(_score(setting, i, value, reason=reasons[i], **fields))
    return scores


def _describe_drifts(setting: Setting, values: Vector) -> str:
    """Return the drifts, not yet tested, for the progress."""
    return ", ".join(f"{measure.name} {value:.3g}" for measure, value in zip(setting.measures, values, strict=True))


def _rows(setting: Setting, moved: Vector) -> tuple[Moved, ...]:
    """Return the rows whose movement most exceeds that in re-encodings."""
    reference, floor = setting.reference, _floor(setting.unchanged, "rows", len(moved))
    order = np.argsort(-np.nan_to_num(moved - np.nan_to_num(floor), nan=-1.0), kind="stable")[:_MOST_ROWS]
    labels = [""] * len(moved) if reference.codes is None else [reference.classes[code] for code in reference.codes]
    known = (row for row in order.tolist() if moved[row] == moved[row])
    return tuple(Moved(reference.row_name(row), float(moved[row]), float(floor[row]), labels[row]) for row in known)


def _classes(setting: Setting, moved: Vector) -> tuple[Moved, ...]:
    reference = setting.reference
    if reference.codes is None or len(reference.classes) < 2 or np.isnan(moved).all():
        return ()
    codes: Labels = reference.codes
    means = class_means(moved, codes, len(reference.classes))
    floor = _floor(setting.unchanged, "classes", len(means))
    order = np.argsort(-means, kind="stable")[:_MOST_CLASSES].tolist()
    return tuple(Moved(reference.classes[code], float(means[code]), float(floor[code])) for code in order)


def _floor(unchanged: ReencodingNoise | None, which: str, n: int) -> Vector:
    return np.full(n, np.nan) if unchanged is None else np.asarray(getattr(unchanged, which))


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the recorded settings and versions that differ between two encodings.

    Examples
    --------
    >>> differences({"batch size": "32", "model": "a"}, {"batch size": "8", "model": "a"})
    ['batch size changed from 32 (reference) to 8']
    """
    shared = [name for name in before if name in after and before[name] != after[name]]
    return [f"{name} changed from {before[name]} (reference) to {after[name]}" for name in shared]
