"""Coherence of paired differences, such as before and after a treatment within each donor."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shesha.coherence.chunked_matrix import RowPieces
from shesha.coherence.coherence_by_group import lines
from shesha.coherence.group_scores import PAIR, between_units, evidence, unit_signs
from shesha.coherence.null_group_sums import scores_of_sums
from shesha.coherence.null_groups import NullGroupScores
from shesha.coherence.row_roles import Layout
from shesha.coherence.scores import NO_DIRECTION
from shesha.inputs import align_labels
from shesha.inputs import validation as check
from shesha.inputs.validation import require_squarable
from shesha.results import Coherence
from shesha.support.seeds import generator
from shesha.support.types import Index, Matrix, Seed

_TOGETHER = 1 << 22
"""Maximum number of array entries that are in memory at a time."""


def coherence_of_differences(
    differences: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    n_draws: int = 999,
    alpha: float = 0.05,
    confidence: float = 0.95,
    seed: Seed = 0,
) -> Coherence:
    """Test whether paired differences point in the same direction, compared with random signs.

    Parameters
    ----------
    differences : array of shape (n, n_features)
        One difference per pair.
    groups : array of shape (n,), optional
        Template or donor of each pair. All differences of a group change sign together.
    n_draws : int
        Number of random draws of signs. If there are at most this many different choices of signs, each is used once.
    alpha, confidence : float
        Significance level of the threshold, and confidence level of the interval, in (0, 1).
    seed : int, Generator or None

    Returns
    -------
    Coherence
        The result for all differences. With groups, `unbiased` uses only pairs of differences from different groups.

    Raises
    ------
    ValueError
        If there are fewer than two pairs or fewer than two groups.

    Examples
    --------
    >>> import numpy as np
    >>> found = coherence_of_differences(np.random.default_rng(0).normal(size=(30, 20)) + 0.4)
    >>> round(found.coherence, 2), round(found.coherence_chance, 2), found.p_value
    (0.39, 0.18, 0.001)
    """
    check.fraction(alpha, "alpha", closed=False)
    check.fraction(confidence, "confidence", closed=False)
    v = require_squarable(check.matrix(differences, "differences", min_rows=2), "differences")
    n = len(v)
    groups = align_labels(differences, groups, "groups", "differences")
    unit = np.arange(n) if groups is None else check.labels(groups, n, "groups", min_classes=2)[0]
    layout = Layout(
        ("differences",), np.zeros(n, np.intp), np.zeros(n, np.intp), None if groups is None else unit, {}, ""
    )
    observed = evidence(RowPieces(v, moved=False), layout, centred=False)
    scores = _flip_signs(v, unit, check.count(n_draws, "n_draws"), seed, between=groups is not None)
    drawn = NullGroupScores((scores,), ("",), "signs")
    return lines(layout, observed, drawn, alpha, confidence)[0]


def _flip_signs(v: Matrix, unit: Index, n_draws: int, seed: Seed, *, between: bool) -> Matrix:
    """Return scores under random signs of whole units: (n_draws, 4), in the order of `windows`."""
    lengths = np.linalg.norm(v, axis=1)
    there = lengths > NO_DIRECTION * lengths.max()
    units = np.where(there[:, None], v / np.where(there, lengths, 1.0)[:, None], 0.0)
    n_units, directed, square = int(unit.max()) + 1, there.sum(keepdims=True), (lengths**2).sum(keepdims=True)
    sums = [np.stack([vectors[unit == code].sum(axis=0) for code in range(n_units)]) for vectors in (units, v)]
    signs = unit_signs(n_units, n_draws, generator(seed))
    counts = np.bincount(unit, there, n_units).astype(np.float64)[None]
    scores = []
    step = max(1, _TOGETHER // v.shape[1])
    for start in range(0, len(signs), step):
        turned, moved = (signs[start : start + step] @ vectors for vectors in sums)
        scores.append(scores_of_sums(turned, moved, directed, square, np.zeros(1), np.array([len(v)])))
        if between:
            scores[-1][:, PAIR] = between_units(turned, (sums[0] ** 2).sum(axis=1)[None], counts)
    return np.concatenate(scores)
