"""Doubts about rows: duplicates, outliers, and differences in scale."""

from __future__ import annotations

import numpy as np

from shesha.doubting._registry import doubt
from shesha.doubting.covariate_share import CovariateShare
from shesha.doubting.doubt_input import Subject
from shesha.kernels.neighbour_distances import separate_clusters
from shesha.kernels.ranks import midranks
from shesha.results import Doubt
from shesha.results.audit.dependence import LEVEL
from shesha.support.types import Index, Matrix, Vector

_HALF = 0.5
"""Smallest share of a score that a problem must explain to be reported."""
_HOLDING = 0.75
"""A few rows dominate linear measures if they carry this share of the squared inner products."""
_LEAST_SCORE = 0.1
"""Smallest score for which a doubt is raised."""
_SHARED = 0.3
"""Rank correlation of row scales above which these scales can make two representations similar."""
_DIRECTIONS = 3
"""Number of leading principal directions that are removed before row lengths are compared."""
_WIDE, _FEW_ROWS = 12, 40
"""Minimum numbers of features and rows for which a row's scale can be distinguished from its position."""
FEW_ROWS_ADVICE = (
    "Check these rows, and leave out faulty ones. Otherwise use a measure that a few rows cannot dominate:"
)


@doubt("duplicates", of="both", cheap=True)
def duplicates(subject: Subject) -> Doubt | None:
    """Check whether duplicated rows count more than once."""
    dependence = subject.dependence
    if not dependence.has_repeats:
        return None
    share = min(
        1.0,
        len(dependence.repeated) / dependence.n_rows + len(dependence.nearly_repeated) / max(1, dependence.n_looked_at),
    )
    text = (
        f"{len(dependence.repeated):,} of {dependence.n_rows:,} rows repeat an earlier row, and "
        f"{len(dependence.nearly_repeated):,} of {dependence.n_looked_at:,} checked rows nearly repeat another row. "
        "Duplicates count as independent evidence, so p-values and intervals are too small"
    )
    return Doubt("duplicates", share, None, text, "Keep one row of each set of duplicates, or pass the sets as groups=")


@doubt("few rows")
def few_rows(subject: Subject) -> Doubt | None:
    """Check whether a few distant rows dominate linear measures."""
    rows, n_far = far_rows_first(subject)
    centred = subject.read(0, rows)
    centred -= np.median(centred, axis=0)
    squares = (centred @ centred.T) ** 2
    # The other checked rows are weighted so that they represent all rows that are not distant.
    times = np.where(np.arange(len(rows)) < n_far, 1.0, (subject.n_rows - n_far) / max(1, len(rows) - n_far))
    weighed = squares * times[:, None] * times
    total = float(weighed.sum())
    for few in range(1, n_far + 1):
        share = 1 - float(weighed[few:, few:].sum()) / total if total > 0 else 0.0
        if share >= _HOLDING:
            named = subject.caller_rows(rows[:few])
            names = f"row {named[0]} accounts" if few == 1 else f"rows {', '.join(map(str, named))} account"
            text = (
                f"{names} for {100 * share:.0f} % of the squared inner products between rows, and "
                "linear measures (CKA, RV, regression) depend on these products"
            )
            # Unbiased CKA leaves out products of rows with themselves, which removes the effect of one far row, but not
            # of several.
            unbiased = " or unbiased CKA" if few == 1 else ""
            advice = f"{FEW_ROWS_ADVICE} RSA, mutual kNN, metric='cosine'{unbiased}"
            return Doubt("few rows", share, None, text, advice, named)
    return None


def far_rows_first(subject: Subject) -> tuple[Index, int]:
    """Return the distant rows (farthest first) followed by the other checked rows, and their number.

    Distant rows that form a separate cluster are left out: they are not outliers, and the check for rare clusters
    reports them.
    """
    far_rows: list[int] = []
    for side, farthest_rows in enumerate(subject.farthest_rows):
        far_rows += [row for row in _unclustered_rows(subject, side, farthest_rows).tolist() if row not in far_rows]
    first = np.array(far_rows, dtype=np.intp)
    return np.concatenate([first, np.setdiff1d(subject.places, first)]), len(first)


def _unclustered_rows(subject: Subject, side: int, far_rows: Index) -> Index:
    """Return those distant rows that do not belong to a separate cluster."""
    if not len(far_rows):
        return far_rows
    if np.isin(far_rows, subject.places).all():
        labels, positions = subject.clusters(side), np.searchsorted(subject.places, far_rows)
    else:
        rows = np.union1d(subject.places, far_rows)
        labels, positions = separate_clusters(subject.products(side, rows)), np.searchsorted(rows, far_rows)
    return np.asarray(far_rows[labels[positions] == np.bincount(labels).argmax()])


@doubt("row scale", of="both")
def row_scale(subject: Subject) -> Doubt | None:
    """Check whether row length, or the number of nonzero entries, explains which rows are close."""
    headline = subject.headline
    # With few features, a row's length largely determines its position; with few rows, any quantity explains the
    # distances.
    narrow = min(sample.shape[1] for sample in subject.samples) < _WIDE or len(subject.places) < _FEW_ROWS
    if narrow or headline.value < _LEAST_SCORE:
        return None
    scales = [_scales(sample, subject.metric) for sample in subject.samples]
    # A scale cannot make two representations similar unless they share it.
    everywhere = [what for what in scales[0] if all(what in scale for scale in scales)]
    shared = [what for what in everywhere if abs(_rank_correlation([scale[what] for scale in scales])) >= _SHARED]
    sides = [(scale, _clusters_if_several(subject.clusters(side))) for side, scale in enumerate(scales)]
    explanations = [CovariateShare(headline, side[what], what, clusters) for side, clusters in sides for what in shared]
    strongest = max(explanations, key=lambda explanation: explanation.effect, default=None)
    if strongest is None or strongest.effect < _HALF * headline.value:
        return None
    rest = [_lengths_elsewhere(sample) for sample in subject.samples]
    elsewhere = max(
        CovariateShare(headline, side, "", clusters).effect for side, (_, clusters) in zip(rest, sides, strict=True)
    )
    p_value = strongest.p_value(subject.generator)
    if elsewhere < _HALF * strongest.effect or p_value > LEVEL:
        return None
    clusters_text = "" if strongest.clusters is None else "clusters and "
    text = (
        f"controlling for {clusters_text}the {strongest.name}, {headline.name} changes from {headline.value:.2f} to "
        f"{strongest.partial_score:.2f}"
    )
    advice = (
        "Compare the score with chance(X, keep='row scale'), or pass the scale (depth, length, loudness) as "
        "covariates=. If the scale is a technical artefact, remove it first"
    )
    return Doubt("row scale", strongest.effect, p_value, text, advice)


def _lengths_elsewhere(sample: Matrix) -> Vector:
    """Return the lengths of the rows after the directions of largest variance are removed.

    A row can be long because of its position along one direction, but a difference in scale lengthens it in all
    directions.
    """
    centred = sample - sample.mean(axis=0)
    sizes, directions = np.linalg.eigh(centred @ centred.T)
    few = max(1, min(_DIRECTIONS, sample.shape[1] // 8))
    projections = directions[:, -few:] ** 2 @ sizes[-few:]
    squared = np.einsum("ij,ij->i", centred, centred)
    return np.asarray(np.sqrt(np.maximum(squared - projections, 0.0)))


def _clusters_if_several(labels: Index) -> Index | None:
    """Return the cluster labels if there are several clusters, whose distances are not row scales."""
    return labels if labels.any() else None


def _rank_correlation(sides: list[Vector]) -> float:
    """Return the rank correlation of two quantities, or 1 for a single quantity."""
    if len(sides) == 1:
        return 1.0
    return float(np.corrcoef([midranks(side)[0] for side in sides])[0, 1])


def _scales(sample: Matrix, metric: str) -> dict[str, Vector]:
    centred = sample - sample.mean(axis=1, keepdims=True) if metric == "correlation" else sample
    scales = {
        "length of each row": np.linalg.norm(centred, axis=1),
        "sum of each row": sample.sum(axis=1),
        "distance of each row from the mean": np.linalg.norm(sample - sample.mean(axis=0), axis=1),
        "number of nonzero entries of each row": np.count_nonzero(sample, axis=1).astype(np.float64),
    }
    return {what: scale for what, scale in scales.items() if np.ptp(scale) > 1e-9 * (np.abs(scale).max() or 1.0)}
