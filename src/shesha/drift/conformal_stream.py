"""Test a recorded stream for changes beyond an expected change in the mix of groups."""

from __future__ import annotations

from math import log10

import numpy as np
from numpy.typing import ArrayLike

from shesha.drift.row_dependence import dependence_text
from shesha.drift.stream_evidence import BETS, FEWEST, ReferenceDistribution, stream_verdict
from shesha.inputs import align_features, validation as check
from shesha.results import StreamVerdict
from shesha.support.seeds import generator, number
from shesha.support.types import Labels, Matrix, Seed, Vector

JUMPS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Jump rates of the composite jumper, from 1e-4 (bets rarely change) to 1 (capital is redistributed at each row)."""


def composite_jumper(p_values: Matrix, jumps: tuple[float, ...] = JUMPS) -> Matrix:
    """Return log10 of the mean of simple jumper martingales with several rates, after each p-value.

    A simple jumper bets 1 + e (p - 1/2) for several values of e. With each p-value, it redistributes a share of its
    capital, the rate, over all bets. Small rates suit lasting shifts, and large rates suit shifts that come and go.
    With the mean over several rates, no rate has to be chosen. Its expected value is 1 if p-values are independent and
    uniform, so the probability that it ever reaches 1 / alpha is at most alpha (Ville). With the default rates, it is
    always at least 1 / 5, because the martingale with rate 1 is constant.

    Parameters
    ----------
    p_values : array of shape (n_streams, n_rows)
    jumps : tuple of float
        Rates in [0, 1]. A single rate gives a simple jumper.

    Returns
    -------
    array of shape (n_streams, n_rows)

    References
    ----------
    Vovk, Petej, Nouretdinov, Ahlberg, Carlsson and Gammerman 2021, "Retrain or not retrain: conformal test martingales
    for change-point detection" (the composite jumper).

    Examples
    --------
    >>> composite_jumper(np.full((1, 100), 0.1)).round(1)[0, [9, 99]]
    array([ 0.7, 13.6])
    """
    n_streams, n_rows = p_values.shape
    rates = np.asarray(jumps)[:, None]
    capital = np.full((n_streams, len(jumps), len(BETS)), 1 / (len(jumps) * len(BETS)))
    wealth, level = np.empty((n_streams, n_rows)), np.zeros(n_streams)
    for row in range(n_rows):
        capital = (1 - rates) * capital + rates * capital.mean(axis=2, keepdims=True)
        capital *= 1 + BETS * (p_values[:, row, None, None] - 0.5)
        total = capital.sum(axis=(1, 2))
        # The capital is rescaled to sum to 1, to avoid overflow and underflow.
        capital /= total[:, None, None]
        level = level + np.log10(total)
        wealth[:, row] = level
    return wealth


def first_alarm(log10_martingale: Vector, log10_threshold: float) -> int:
    """Return the number of the first row that reaches the threshold, counted from 1; 0 if none does.

    Examples
    --------
    >>> first_alarm(np.array([0.1, 1.2, 0.4]), 1.0), first_alarm(np.array([0.1]), 1.0)
    (2, 0)
    """
    above = np.flatnonzero(log10_martingale >= log10_threshold - 1e-12)
    return int(above[0]) + 1 if len(above) else 0


def group_ranks(scores: Vector, groups: Labels, n_reference: int, rng: np.random.Generator) -> Vector:
    """Return the p-value of each new score among earlier scores of its group; ties are broken at random.

    The p-values are independent and uniform if the rows within each group are exchangeable, in whatever order the
    groups occur (Mondrian conformal predictors: Vovk, Gammerman and Shafer 2005). With a single group, they are
    ordinary conformal p-values.

    Examples
    --------
    >>> scores = np.array([1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 2.5])
    >>> groups = np.array([0, 0, 0, 1, 1, 1, 0])
    >>> group_ranks(scores, groups, 6, np.random.default_rng(0)).round(3)
    array([0.409])
    """
    parts = rng.random(len(scores) - n_reference)
    ranks = np.empty(len(parts))
    for i, part in enumerate(parts):
        row = n_reference + i
        earlier = scores[:row][groups[:row] == groups[row]]
        above = np.count_nonzero(earlier > scores[row])
        equal = np.count_nonzero(earlier == scores[row]) + 1
        ranks[i] = (above + part * equal) / (len(earlier) + 1)
    return ranks


_STRANGEST = 5


def conformal_stream(
    reference: ArrayLike,
    new: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    alpha: float = 0.01,
    seed: Seed = 0,
) -> StreamVerdict:
    """Test whether a stream of new rows changed beyond an expected change in the mix of groups.

    Use this function for a recorded stream whose mix of topics, languages or users varies. `DriftMonitor.update` would
    raise an alarm even if only the mix changes. One half of the reference defines a centre. The distance of each new
    row from this centre is ranked among the distances of the other half and of all earlier new rows. A composite jumper
    martingale on these ranks detects slow, sudden and temporary shifts without further settings.

    Parameters
    ----------
    reference : array of shape (n_reference, n_features)
        Encodings of at least 20 typical inputs that are independent of each other.
    new : array of shape (n_new, n_features)
        Encodings of new inputs, in the order in which they arrived.
    groups : array of shape (n_reference + n_new,), optional
        Group of each row of `reference`, followed by those of `new`. Rows are ranked within their group, so the shares
        of the groups may change in any way.
    alpha : float
        Maximum probability of ever raising an alarm if nothing but the mix changes.
    seed : int, Generator or None
        Seed of the split of the reference and of random tie-breaking.

    Returns
    -------
    StreamVerdict
        The verdict. `alarm_since` is the number of the new row that raised the alarm, counted from 1.

    Raises
    ------
    ValueError
        If the shapes of the inputs do not match.

    References
    ----------
    Vovk, Gammerman and Shafer 2005, "Algorithmic Learning in a Random World" (ranks within groups). Vovk et al. 2021,
    "Retrain or not retrain" (the composite jumper).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kinds = np.r_[rng.random(200) < 0.1, rng.random(300) < np.linspace(0.1, 0.9, 300)].astype(int)
    >>> rows = rng.standard_normal((500, 4)) * (1 + kinds)[:, None]
    >>> conformal_stream(rows[:200], rows[200:]).state, conformal_stream(rows[:200], rows[200:], groups=kinds).state
    ('alert', 'ok')
    """
    new = align_features(reference, new, "reference", "new")
    reference_rows, rows = check.matrix(reference, "reference", min_rows=FEWEST), check.matrix(new, "new", min_rows=1)
    if reference_rows.shape[1] != rows.shape[1]:
        raise ValueError(f"new must have the {reference_rows.shape[1]} features of the reference, got {rows.shape[1]}")
    check.fraction(alpha, "alpha", closed=False)
    rng = generator(seed)
    order = rng.permutation(len(reference_rows))
    fitted, earlier = order[: len(reference_rows) // 2], np.sort(order[len(reference_rows) // 2 :])
    ranked = np.r_[earlier, np.arange(len(reference_rows), len(reference_rows) + len(rows))]
    typical = ReferenceDistribution.build(reference_rows[fitted])
    scores = np.concatenate([typical.scores(reference_rows[earlier]), typical.scores(rows)])
    n_total = len(reference_rows) + len(rows)
    codes = np.zeros(n_total, np.intp) if groups is None else check.labels(groups, n_total, "groups", min_classes=1)[0]
    p = group_ranks(scores, codes[ranked], len(earlier), rng)
    # Rows of different groups may have any order, so dependence is looked for within groups.
    sides = {"reference": (reference_rows, codes[: len(reference_rows)]), "stream": (rows, codes[-len(rows) :])}
    found = (
        dependence_text(side[of_side == code], what, group_advice=False)
        for what, (side, of_side) in sides.items()
        for code in np.unique(of_side)
    )
    path = composite_jumper(np.atleast_2d(p))[0]
    return stream_verdict(
        float(path[-1]),
        first_alarm(path, -log10(alpha)),
        alpha,
        next((text for text in found if text), ""),
        n_rows=len(p),
        n_seen=len(p),
        log10_highest=max(0.0, float(path.max())),
        mean_p_value=float(p.mean()),
        strangest=tuple(np.argsort(-scores[len(earlier) :], kind="stable")[:_STRANGEST].tolist()),
        seed=number(seed),
    )
