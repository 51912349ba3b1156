"""Test a recorded stream for changes beyond an expected change in the mix of groups."""

from __future__ import annotations

from dataclasses import replace
from math import log10

import numpy as np
from numpy.typing import ArrayLike

from shesha.drift.martingales import composite_jumper, first_alarm
from shesha.drift.row_dependence import dependence_text
from shesha.drift.stream_evidence import ReferenceDistribution
from shesha.drift.stream_ranks import group_ranks, weighted_ranks
from shesha.drift.stream_update import FEWEST
from shesha.inputs import validation as check
from shesha.results import StreamVerdict
from shesha.results.drift.verdict import State
from shesha.support.seeds import generator, number
from shesha.support.types import Seed, Vector

_STRANGEST = 5
_MOST_WEIGHTED = 2000
"""Maximum number of rows if weights are used, because the time grows with the cube of this number."""


def conformal_stream(
    reference: ArrayLike,
    new: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    weights: ArrayLike | None = None,
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
        of the groups may change in any way. If groups are known, prefer this option to `weights`.
    weights : array of shape (n_reference + n_new,), optional
        Ratio between the densities of new rows and of the reference, up to a constant factor, at each of at most 2,000
        rows. This ratio must be known in advance, and must not change during the stream. If it is estimated from the
        same rows, the false alarm rate is not controlled.
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
        If both groups and weights are given, or the shapes of the inputs do not match.

    References
    ----------
    Vovk, Gammerman and Shafer 2005, "Algorithmic Learning in a Random World" (ranks within groups). Prinster, Han, Liu
    and Saria 2025, "WATCH: adaptive monitoring via weighted-conformal martingales", arXiv:2505.04608 (weights). Vovk et
    al. 2021, "Retrain or not retrain" (the composite jumper).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kinds = np.r_[rng.random(200) < 0.1, rng.random(300) < np.linspace(0.1, 0.9, 300)].astype(int)
    >>> rows = rng.standard_normal((500, 4)) * (1 + kinds)[:, None]
    >>> conformal_stream(rows[:200], rows[200:]).state, conformal_stream(rows[:200], rows[200:], groups=kinds).state
    ('alert', 'ok')
    """
    reference_rows, rows = check.matrix(reference, "reference", min_rows=FEWEST), check.matrix(new, "new", min_rows=1)
    if reference_rows.shape[1] != rows.shape[1]:
        raise ValueError(f"new must have the {reference_rows.shape[1]} features of the reference, got {rows.shape[1]}")
    if groups is not None and weights is not None:
        raise ValueError("groups and weights must not both be given, got both; ranks within groups need no weights")
    check.fraction(alpha, "alpha", closed=False)
    rng = generator(seed)
    order = rng.permutation(len(reference_rows))
    fitted, earlier = order[: len(reference_rows) // 2], np.sort(order[len(reference_rows) // 2 :])
    ranked = np.r_[earlier, np.arange(len(reference_rows), len(reference_rows) + len(rows))]
    typical = ReferenceDistribution.build(reference_rows[fitted])
    scores = np.concatenate([typical.scores(reference_rows[earlier]), typical.scores(rows)])
    n_total = len(reference_rows) + len(rows)
    if weights is None:
        codes = (
            np.zeros(n_total, np.intp) if groups is None else check.labels(groups, n_total, "groups", min_classes=1)[0]
        )
        p = group_ranks(scores, codes[ranked], len(earlier), rng)
        # Rows of different groups may have any order, so dependence is looked for within groups.
        sides = {"reference": (reference_rows, codes[: len(reference_rows)]), "stream": (rows, codes[-len(rows) :])}
        found = (
            dependence_text(side[of_side == code], what, group_advice=False)
            for what, (side, of_side) in sides.items()
            for code in np.unique(of_side)
        )
        dependence = next((text for text in found if text), "")
    else:
        dependence = dependence_text(reference_rows, "reference", group_advice=False)
        p = weighted_ranks(scores, _check_weights(weights, n_total, len(rows))[ranked], len(earlier), rng)
    return replace(_verdict(p, scores[len(earlier) :], alpha, dependence), seed=number(seed))


def _check_weights(weights: ArrayLike, n_rows: int, n_new: int) -> Vector:
    values = check.real(weights, "weights")
    if values.shape != (n_rows,):
        raise ValueError(f"weights must have one number for each of the {n_rows} rows, got shape {values.shape}")
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("weights must be finite and at least 0, got negative or non-finite values")
    if (values[-n_new:] == 0).any():
        raise ValueError("weights must be above 0 for new rows, got 0; a row of weight 0 cannot occur")
    if n_rows > _MOST_WEIGHTED:
        raise ValueError(
            f"weights must have at most {_MOST_WEIGHTED:,} rows, got {n_rows:,}; pass groups, or a part of the stream"
        )
    return values


def _verdict(p: Vector, scores: Vector, alpha: float, dependence: str) -> StreamVerdict:
    path, threshold = composite_jumper(np.atleast_2d(p))[0], -log10(alpha)
    since = first_alarm(path, threshold)
    alarm: State = "not estimable" if dependence else "alert"
    return StreamVerdict(
        state=alarm if since else "watch" if path[-1] >= threshold - 1 else "ok",
        n_rows=len(p),
        n_seen=len(p),
        alpha=alpha,
        log10_martingale=float(path[-1]),
        log10_highest=max(0.0, float(path.max())),
        log10_threshold=threshold,
        mean_p_value=float(p.mean()),
        strangest=tuple(np.argsort(-scores, kind="stable")[:_STRANGEST].tolist()),
        alarm_since=since,
        reason=dependence if since else "",
        dependence=dependence,
    )
