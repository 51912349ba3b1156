"""Audit one representation with every registered score and descriptor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.descriptors import descriptors
from shesha.doubting import check_known_quantities, find_doubts, rows_without_direction
from shesha.inputs import Names, labels_in_order, validation as check
from shesha.kernels.distances import Metric
from shesha.kernels.repeated_rows import Hashes, complete_hashes, few_columns, hash_rows, repeats
from shesha.nulls.dependence import DiagnosticRows, find_dependence
from shesha.nulls.permutations import Design, nonempty_arguments
from shesha.nulls.restricted_permutations import Exchange
from shesha.results import Dependence, Estimate, Faults, RepresentationAudit
from shesha.results.audit_verdict import NO_LEVEL
from shesha.results.number import INTERRUPTED, format_value
from shesha.stability import Variant, list_variants
from shesha.stability.estimate import as_estimate, too_few_permutations
from shesha.stability.evaluation import build_request, evaluate, resolve_design
from shesha.stability.labels_from_features import are_labels_from_features
from shesha.support import memory, progress
from shesha.support.memory import MemoryBudgetError
from shesha.support.seeds import ALPHA, spawn
from shesha.support.types import Array, Index, Labels, Mask, Matrix, Seed, Vector
from shesha.support.warnings import NotEstimable
from shesha.support.wording import count, join_items
from shesha.views import Rdm, Rows

_ENTRIES = 1 << 18


def find_faults(X: Rows) -> Faults:
    """Find non-finite values, zero rows, repeated rows and constant columns; X may be on disk."""
    first = X.read(slice(0, 1))[0]
    few = few_columns(X.shape[1])

    def find(start: int, block: Matrix) -> tuple[int, Index, Index, Mask, Hashes]:
        bad = ~np.isfinite(block)
        bad_rows, zero_rows = (start + np.flatnonzero(rows) for rows in (bad.any(axis=1), ~block.any(axis=1)))
        return int(bad.sum()), bad_rows, zero_rows, (block == first).all(axis=0), hash_rows(block[:, few])

    n_bad, bad_rows, zero_rows, constant, hashes = zip(*X.map_blocks(_ENTRIES, find), strict=True)
    return Faults(
        not_finite=sum(n_bad),
        not_finite_rows=_as_integers(np.concatenate(bad_rows)),
        zero_rows=_as_integers(np.concatenate(zero_rows)),
        duplicate_rows=_as_integers(repeats(complete_hashes(X.read, X.shape[1], np.concatenate(hashes)))),
        constant_columns=_as_integers(np.flatnonzero(np.logical_and.reduce(constant))),
    )


def _as_integers(numbers: NDArray[np.intp]) -> tuple[int, ...]:
    return tuple(map(int, numbers))


_PURPOSE = 7
"""Key of a separate random stream, so that this sample does not change any other random draws."""
_SHARE = 64
"""Bytes budgeted per entry of a sampled row: the entry itself, distances to classes, and resamples."""
_FEWEST_SAMPLED, _SAMPLED_ENTRIES = 4, 1 << 23
"""Fewest sampled rows, and most of their entries, because more take longer than their smaller error justifies."""


@dataclass(frozen=True)
class RowSample:
    """A sample of rows with their labels and exchange design."""

    rows: Rows
    labels: Array
    exchange: Exchange | None
    note: str

    @classmethod
    def draw(cls, rows: Rows, labels: Array, exchange: Exchange | None, seed: Seed) -> RowSample:
        """Draw rows without replacement, at most as many as fit in memory, and keep their original order."""
        n, d = rows.shape
        size = min(n, max(_FEWEST_SAMPLED, min(_SAMPLED_ENTRIES, memory.memory_budget() // _SHARE) // d))
        chosen = np.sort(spawn(seed, _PURPOSE).choice(n, size, replace=False))
        return cls(
            rows.take_rows(chosen),
            labels[chosen],
            None if exchange is None else exchange.take(chosen),
            f"{size:,} of {n:,} rows, drawn at random, were used, because not all rows fit the memory budget. Value, "
            "interval and chance level refer to this number of rows; the interval includes the sampling error",
        )


_MIN_ROWS = 4
_FREE_METRIC = "cosine"
"""Scores with this default metric use the metric of the audit instead; others keep their default."""
_WITH_CHANCE = "feature_split"
_LABELS = ("blocks", "groups", "within")


RECORDED = ("metric", "confidence", "n_bootstrap", "n_permutations", "pairs", "seed")
"""Settings that the result of an audit records, and that identify it in a store."""


@dataclass(frozen=True)
class Settings:
    """Settings of an audit."""

    metric: Metric
    confidence: float
    n_bootstrap: int
    n_permutations: int
    pairs: int | None
    seed: int
    design: Design
    """The exchange design that the user requested."""
    known: Mapping[str, Vector | Labels] = field(default_factory=dict)
    """Properties of the rows that come with the data, such as token counts, to check as covariates."""
    exchange: Exchange | None = None
    """The exchange design, resolved for the rows of one representation that are scored."""


def align_with_rows(names: Sequence[Names | None], y: ArrayLike | None, settings: Settings) -> tuple[Any, Settings]:
    """Reorder the labels and the design to match the first representation that has row names."""
    labels = labels_in_order(names, {"y": y, **settings.design})
    return labels.pop("y"), replace(settings, design=cast(Design, labels))


def audit_representation(name: str, X: Rows | Rdm, y: ArrayLike | None, settings: Settings) -> RepresentationAudit:
    """Audit one representation; if it cannot be scored, record the reason."""
    if isinstance(X, Rdm):
        return _audit_distances(name, X, y, settings)
    n, d = X.shape
    faults = find_faults(X) if n and d else Faults()
    finding = RepresentationAudit(name, n, d, faults)
    design = resolve_design(settings.design, n)
    if faults.not_finite:
        rows = faults.not_finite_rows
        if faults.not_finite == n == d and check.has_empty_diagonal(np.asarray(X.sample)):
            what = "a square matrix without numbers (NaN or infinity) on its diagonal"
            return replace(finding, reason=f"{what}, {check.remedy_of_empty_diagonal(name)}")
        return replace(
            finding,
            reason=f"NaN or infinity in {count(len(rows), 'row')} of {n:,} ({join_items(rows)}); "
            + check.effect_of_drop(len(rows), n),
        )
    bad = (
        faults.zero_rows if settings.metric == "cosine" else tuple(rows_without_direction(X, settings.metric).tolist())
    )
    if len(bad):
        kind = "constant" if settings.metric == "correlation" else "zero"
        what = f"{count(len(bad), f'{kind} row')} of {n:,} ({join_items(bad)})"
        return replace(finding, reason=f'no {settings.metric} distance for {what}; missing="drop" leaves them out')
    least = max(variant.min_columns for variant in list_variants().values() if variant.audited)
    if n < _MIN_ROWS or d < least:
        return replace(finding, reason=f"needs at least {_MIN_ROWS} rows and {least} columns, got {n} and {d}")
    try:
        checked = None if design is not None else DiagnosticRows(X.sample)
        if checked is not None:
            finding = replace(finding, dependence=find_dependence([checked]))
        declared = nonempty_arguments(settings.design)
        labels: dict[str, Any] = {name: declared[name] for name in _LABELS if name in declared}
        codes = None
        if y is not None and len(np.asarray(y)) == n:
            codes, classes = check.labels(y, n)
            y = classes[codes]
        doubts = find_doubts(
            X,
            settings.metric,
            classes=codes,
            known={name: quantity for name, quantity in settings.known.items() if len(quantity) == n},
            design=check_known_quantities(labels, None, n),
            # With a declared design, the order of the rows is not checked.
            order=not declared,
            dependence=finding.dependence or Dependence(n, 1.0, 0.5, 0.0),
            checked=None if checked is None or X.is_sparse else [checked],
        )
        finding = replace(finding, doubts=doubts)
        return _add_stability(finding, X, y, replace(settings, design={}, exchange=design))
    except MemoryBudgetError as error:
        return replace(finding, reason=str(error))


def _add_stability(
    finding: RepresentationAudit, rows: Rows, y: ArrayLike | None, settings: Settings
) -> RepresentationAudit:
    variants = [variant for variant in list_variants().values() if variant.audited and variant.needs == "rows"]
    scores, interrupted = _collect(variants, lambda variant: _score(variant, rows, None, settings))
    rows.drop_views()
    numbers = dict.fromkeys((one.name for one in descriptors().values() if one.audited), float("nan"))
    for name in numbers if not interrupted else ():
        with suppress(NotEstimable):
            numbers[name] = descriptors()[name].build(rows)
    finding = replace(finding, scores=scores, descriptors=numbers)
    return finding if y is None or interrupted else _add_label_scores(finding, rows, y, settings)


def _collect(variants: Sequence[Variant], score: Callable[[Variant], Estimate]) -> tuple[dict[str, Estimate], bool]:
    """Return the score of each variant, and whether Ctrl-C interrupted this; what it left out has this reason."""
    found, interrupted = progress.collect(map(score, variants), len(variants), "", describe=_describe_scores)
    scores = {variant.name: one for variant, one in zip(variants, found, strict=False)}
    for variant in variants:
        if variant.name not in scores:
            scores[variant.name] = Estimate(name=variant.name, reason=INTERRUPTED)
    return scores, interrupted


def _describe_scores(scores: list[Estimate]) -> str:
    return ", ".join(f"{score.name} {format_value(score)}" for score in scores if score.has_value)


def _score(variant: Variant, rows: Rows | Rdm, y: Any, settings: Settings) -> Estimate:
    """Compute a score with its interval, and its chance level if it is the feature split or uses labels."""
    chosen = {"metric": settings.metric} if variant.estimator_options.get("metric") == _FREE_METRIC else {}
    compared = variant.name == _WITH_CHANCE or variant.needs_labels
    request = build_request(
        rows,
        y,
        variant,
        chosen,
        n_bootstrap=settings.n_bootstrap,
        n_permutations=settings.n_permutations if compared else 0,
        pairs=settings.pairs if variant.samples_pairs else None,
        seed=settings.seed,
        design=settings.exchange,
    )
    few = too_few_permutations([request], settings.n_permutations, ALPHA) if request.n_permutations else ""
    if few:
        request = replace(request, n_permutations=0)
    found = as_estimate(request, evaluate(request), settings.confidence, ALPHA)
    return replace(found, notes=(*found.notes, f"{NO_LEVEL}{few}")) if few else found


def _add_label_scores(
    finding: RepresentationAudit, rows: Rows | Rdm, y: ArrayLike, settings: Settings
) -> RepresentationAudit:
    """Add the scores that need labels, each with its chance level, or with the reason why it is missing."""
    labels, misfit = np.asarray(y), ""
    if len(labels) != finding.n_rows:
        found, wanted = count(len(labels), "label"), count(finding.n_rows, "row")
        misfit = f"needs one label per row, got {found} for {wanted}"

    @cache
    def sample() -> RowSample:
        assert isinstance(rows, Rows)
        return RowSample.draw(rows, labels, settings.exchange, settings.seed)

    def score(variant: Variant) -> Estimate:
        try:
            if misfit:
                raise ValueError(misfit)
            try:
                return _score(variant, rows, labels, settings)
            except MemoryBudgetError:
                if isinstance(rows, Rdm):
                    raise
                few = _score(variant, sample().rows, sample().labels, replace(settings, exchange=sample().exchange))
                return replace(few, notes=(*few.notes, sample().note))
        except (TypeError, ValueError) as error:
            # Some scores require more, such as three classes, two rows per class, or features instead of distances.
            return Estimate(
                name=variant.name,
                confidence=settings.confidence,
                n_rows=finding.n_rows,
                n_features=finding.n_features,
                reason=str(error),
            )

    variants = [variant for variant in list_variants().values() if variant.audited and variant.needs_labels]
    scores, interrupted = _collect(variants, score)
    derived = False
    if isinstance(rows, Rows) and not misfit and not interrupted:
        derived = are_labels_from_features(rows, check.labels(labels, len(rows), min_classes=1)[0])
    return replace(finding, supervised=scores, labels_from_features=derived)


def _audit_distances(name: str, X: Rdm, y: ArrayLike | None, settings: Settings) -> RepresentationAudit:
    """Audit a distance matrix with the scores that need no features."""
    audit = RepresentationAudit(name, X.n_rows, 0, Faults())
    if y is None:
        return replace(audit, reason="a distance matrix allows label agreement and drift only")
    settings = replace(settings, exchange=resolve_design(settings.design, X.n_rows))
    return _add_label_scores(audit, X, y, settings)
