"""Correlate scores over groups, compared with their correlation over null groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shesha.coherence.null_groups import NullGroupScores
from shesha.results import Coherence, Link
from shesha.support.types import Matrix, Vector

_FEWEST_GROUPS = 5
_MEAN, _PAIR, _MAGNITUDE = range(3)
"""Columns in the arrays of null group scores."""


def links(groups: Sequence[Coherence], drawn: NullGroupScores) -> tuple[Link, ...]:
    """Correlate magnitude with plain and unbiased coherence, over groups and over null groups.

    Parameters
    ----------
    groups : sequence of Coherence
    drawn : NullGroupScores
        Scores of the null groups, in the order of `groups`.
    """
    n_draws = max((len(scores) for scores in drawn.scores), default=0)
    used = [g for g, scores in enumerate(drawn.scores) if len(scores) == n_draws and groups[g].has_null]
    if len(used) < _FEWEST_GROUPS or not n_draws:
        return ()
    fake = np.stack([drawn.scores[g] for g in used], axis=1)
    return (
        _link(groups, used, "magnitude", "coherence", fake[..., _MAGNITUDE], fake[..., _MEAN]),
        _link(groups, used, "magnitude", "unbiased", fake[..., _MAGNITUDE], fake[..., _PAIR]),
    )


def _link(
    groups: Sequence[Coherence], used: list[int], first: str, second: str, fake_first: Matrix, fake_second: Matrix
) -> Link:
    real = [np.array([[getattr(groups[g], name) for g in used]]) for name in (first, second)]
    rho = float(_spearman(*real)[0])
    chance = _spearman(fake_first, fake_second)
    low, high = np.nanquantile(chance, [0.025, 0.975])
    return Link(
        first=first,
        second="unbiased coherence" if second == "unbiased" else second,
        rho=rho,
        chance=float(np.nanmean(chance)),
        chance_low=float(low),
        chance_high=float(high),
        p_value=float((1 + (chance >= rho - 1e-12).sum()) / (len(chance) + 1)),
    )


def _spearman(a: Matrix, b: Matrix) -> Vector:
    """Return the rank correlation between corresponding rows of two tables."""
    from scipy.stats import rankdata

    ranks = [rankdata(values, axis=1) for values in (a, b)]
    centred = [values - values.mean(axis=1, keepdims=True) for values in ranks]
    length = np.sqrt((centred[0] ** 2).sum(axis=1) * (centred[1] ** 2).sum(axis=1))
    with np.errstate(invalid="ignore"):
        return np.asarray((centred[0] * centred[1]).sum(axis=1) / length)
