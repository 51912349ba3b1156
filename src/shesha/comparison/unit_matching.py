"""Match the units (neurons, channels, features) of two representations."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.calibration.single_pair import warn_of_dependence
from shesha.doubting import warn_of_pair_doubts
from shesha.inputs import MissingRows, RowChoice, validation as check
from shesha.kernels.unit_matching import Edges, match_candidates
from shesha.nulls import benjamini_hochberg, draw_permutations, summarise
from shesha.nulls.null_summary import draws_needed
from shesha.nulls.permutations import Design
from shesha.results.consensus import UnitMatching
from shesha.support.progress import track
from shesha.support.provenance import keep_statements, state
from shesha.support.seeds import ALPHA, number
from shesha.support.types import Index, Seed, Vector
from shesha.views import Representation, select_rows

_SPARSE = 0.1
"""Share of nonzero entries below which dense data are converted to sparse matrices."""
_MOST_VALUES = 50_000
"""Most chance values, one per unit and permutation, that the default number of permutations gives."""
_CHECKED = 50_000_000
"""Most numbers in both representations for which the rows are checked for dependence."""
_CLASSES, _UNITS = 20, 50
"""Maximum number of activity classes, and minimum number of units per class, for the chance level."""


@keep_statements
def match_units(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    n_candidates: int = 5,
    n_permutations: int | None = None,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    shift: bool = False,
    alpha: float = ALPHA,
    rows: RowChoice = "same",
    missing: MissingRows = "refuse",
    seed: Seed = 0,
) -> UnitMatching:
    """Match units of two representations one to one by their correlations, and test which pairs exceed chance.

    Use it to find the same features in sparse autoencoders with different seeds, neurons that were recorded twice, or
    channels of two networks. The candidates for a unit are the units of the other side with which it correlates most;
    they are found without a table of all pairs. Each permutation of 10,000 x 10,000 sparse units with 20,000 rows takes
    about 6 s. Rarely active units can be highly correlated by chance. Each match is therefore compared with the matches
    that units of similar activity have after the rows are permuted.

    Parameters
    ----------
    X, Y : arrays or sparse matrices of shape (n_samples, n_units)
        Activities of the units for the same inputs, row by row. The numbers of units may differ.
    n_candidates : int
        Number of candidates for the match of each unit, those with the highest correlations.
    n_permutations : int, optional
        Number of permutations of the rows. Default: as many as a single match among all units needs to be significant
        after correction, but at most 50,000 divided by the number of units, and at least 1 / alpha - 1 (19 at the
        level 0.05). If there are too few and no match is significant, the headline says so.
    blocks, groups, shift
        Exchange design, as for `shesha.calibrate`. Tokens of one text depend on one another, so pass the texts as
        `groups`.
    alpha : float
        Significance level of the score, and false discovery rate of the matched pairs, in (0, 1).
    rows, missing
        As for `compare`.
    seed : int, Generator or None
        Seed of the permutations.

    Returns
    -------
    UnitMatching
        The score, its chance level, and a table of the matched units (`to_frame`).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.maximum(rng.standard_normal((300, 12)), 0)
    >>> Y = np.hstack([X[:, [7, 2, 4]], np.maximum(rng.standard_normal((300, 6)), 0)])
    >>> found = match_units(X, Y)
    >>> found.n_matched, list(zip(found.first, found.second))[:3]
    (3, [(2, 1), (4, 2), (7, 0)])
    """
    along = {"blocks": blocks, "groups": groups}
    used, along = select_rows({"X": X, "Y": Y}, along, rows=rows, missing=missing, metric="euclidean", align=True)
    blocks, groups = along["blocks"], along["groups"]
    sides = [_prepare(side, name) for name, side in used.items()]
    if sides[0].shape[0] != sides[1].shape[0]:
        raise ValueError(f"Y must have as many rows as X ({sides[0].shape[0]}), got {sides[1].shape[0]}")
    k = check.count(n_candidates, "n_candidates")
    first, other = _same_kind(*sides)
    for name, side in zip(used, (first, other), strict=True):
        if n_silent := int(np.count_nonzero(np.asarray((side != 0).sum(axis=0)) == 0)):
            state(f"{name}: {n_silent:,} of {side.shape[1]:,} units are 0 in all rows, so they match no unit")
    n = first.shape[0]
    classes = _activity_classes(first)
    n_draws = _default_draws(classes, check.fraction(alpha, "alpha", closed=False))
    orders, text = draw_permutations(
        n,
        n_draws if n_permutations is None else n_permutations,
        alpha,
        design={"blocks": blocks, "groups": groups, "shift": shift},
        seed=seed,
    )
    if sum(int(np.prod(side.shape)) for side in (first, other)) <= _CHECKED:
        dense = [side.toarray() if hasattr(side, "toarray") else side for side in (first, other)]
        design = Design(blocks=blocks, groups=groups, shift=shift)
        warn_of_dependence([Representation.build(side) for side in dense], design, None)
        # The variance of a unit does not matter to its correlations.
        warn_of_pair_doubts(dict(zip(used, dense, strict=True)), but=("few coordinates", "copies"))
    observed = match_candidates(first, other, k)
    drawn = [match_candidates(first, other[order], k) for order in track(orders, len(orders), "permutations")]
    narrower = min(first.shape[1], other.shape[1])
    scores = np.array([values.sum() / narrower for _, _, values in drawn])
    score = float(observed[2].sum() / narrower)
    p_values = _p_values(observed, drawn, classes)
    # Correlations that are equal up to rounding are sorted by unit.
    order = np.lexsort((observed[0], -np.round(observed[2], 12)))
    return UnitMatching(
        **(summarise(score, scores, "higher", alpha, 1.0).evidence() | {"value": score}),
        name="mean correlation of matched units",
        first=tuple(observed[0][order].tolist()),
        second=tuple(observed[1][order].tolist()),
        correlations=tuple(observed[2][order].tolist()),
        p_values=tuple(p_values[order].tolist()),
        corrected_p_values=tuple(_adjust(p_values[order], first.shape[1]).tolist()),
        widths=(first.shape[1], other.shape[1]),
        n_rows=n,
        n_candidates=k,
        n_needed=_draws_needed(classes, alpha),
        exchanged=text,
        null=tuple(scores.tolist()),
        seed=number(seed),
    )


def _draws_needed(classes: Index, alpha: float) -> int:
    """Return how many permutations a single match needs; each gives as many chance values as its class has units."""
    return ceil(draws_needed(len(classes), alpha) / int(np.bincount(classes)[classes].min()))


def _default_draws(classes: Index, alpha: float) -> int:
    fewest = draws_needed(1, alpha)
    return max(fewest, min(_draws_needed(classes, alpha), _MOST_VALUES // len(classes)))


def _prepare(X: Any, name: str) -> Any:
    """Check the values, and convert matrices that are mostly zeros to sparse ones."""
    from scipy import sparse

    if not hasattr(X, "tocsr"):
        rows = check.matrix(X, name)
        return sparse.csr_array(rows) if np.count_nonzero(rows) < _SPARSE * rows.size else rows
    check.shape(X.shape, name, 4, 1)
    matrix = X.tocsr().astype(np.float64)
    if not np.isfinite(matrix.data).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return matrix


def _same_kind(first: Any, other: Any) -> tuple[Any, Any]:
    """Return both sides as sparse matrices if both are sparse, otherwise both as dense arrays."""
    kinds = [hasattr(side, "tocsr") for side in (first, other)]
    if all(kinds) or not any(kinds):
        return first, other
    dense = [side.toarray() if is_sparse else side for side, is_sparse in zip((first, other), kinds, strict=True)]
    return dense[0], dense[1]


def _activity_classes(X: Any) -> Index:
    """Return the class of each unit, by the number of rows in which it is active."""
    active = (X != 0).sum(axis=0)
    counts = np.asarray(active).ravel()
    n_classes = int(np.clip(len(counts) // _UNITS, 1, _CLASSES))
    edges = np.unique(np.quantile(counts, np.linspace(0, 1, n_classes + 1)[1:-1]))
    return np.searchsorted(edges, counts, side="right")


def _adjust(p_values: Vector, n_units: int) -> Vector:
    """Correct for all units, because unmatched units were tested as well."""
    alone = np.ones(n_units - len(p_values))
    return benjamini_hochberg(np.concatenate([p_values, alone]))[: len(p_values)]


def _p_values(observed: Edges, drawn: list[Edges], classes: Index) -> Vector:
    """Return p-values: the share of chance correlations in a match's class that are at least as high."""
    unit_classes, chance = classes[observed[0]], np.concatenate([classes[i] for i, _, _ in drawn])
    values = np.concatenate([correlations for _, _, correlations in drawn])
    # A unit that has no match under a permutation counts as a correlation of zero.
    sizes = np.bincount(classes, minlength=classes.max() + 1) * len(drawn)
    out = np.empty(len(unit_classes))
    for unit_class in np.unique(unit_classes):
        null = np.sort(values[chance == unit_class])
        here = unit_classes == unit_class
        above = len(null) - np.searchsorted(null, observed[2][here] * (1 - 1e-12))
        out[here] = (1 + above) / (1 + sizes[unit_class])
    return out
