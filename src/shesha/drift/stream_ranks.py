"""P-values of new rows among earlier ones, within groups or with unequal weights."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from shesha.support.types import Labels, Mask, Vector


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


def weighted_ranks(scores: Vector, weights: Vector, n_reference: int, rng: np.random.Generator) -> Vector:
    """Return the weighted conformal p-value of each new score among all earlier scores.

    `weights` is the density of new rows divided by that of the reference, up to a constant factor. Suppose that the
    rows so far are known, but not which t of them are new. The probability that a given set of t rows is the new one is
    then proportional to the product of its weights. A single row is therefore new with the inclusion probability of
    conditional Poisson sampling, and each new row is equally likely (1 / t) to be the latest. The resulting p-values
    are independent and uniform (Prinster, Han, Liu and Saria 2025). Sums of these probabilities over rows are computed
    exactly from the distributions of two counts.

    Examples
    --------
    >>> rng = np.random.default_rng
    >>> scores = np.array([3.0, 1.0, 2.0, 2.5])
    >>> weighted_ranks(scores, np.ones(4), 3, rng(0)), group_ranks(scores, np.zeros(4, int), 3, rng(0))
    (array([0.40924042]), array([0.40924042]))
    """
    parts = rng.random(len(scores) - n_reference)
    ranks = np.empty(len(parts))
    for i, part in enumerate(parts):
        previous, odds, last = scores[: n_reference + i + 1], weights[: n_reference + i + 1], scores[n_reference + i]
        above, equal = expected_counts(odds, i + 1, (previous > last, previous == last))
        ranks[i] = (above + part * equal) / (i + 1)
    return ranks


def expected_counts(odds: Vector, n_drawn: int, parts: tuple[Mask, ...]) -> list[float]:
    """Return the expected number of drawn rows in each part, for sets weighted by products of odds.

    Examples
    --------
    >>> odds = np.array([1.0, 2.0, 3.0])
    >>> expected_counts(odds, 1, (np.array([False, True, True]),))
    [0.8333...]
    >>> expected_counts(odds, 2, (np.array([False, True, True]),))  # sets have 2, 3 and 6 of 11
    [1.5454...]
    """
    possible = odds > 0
    if np.count_nonzero(possible) == n_drawn:
        return [float(np.count_nonzero(possible & part)) for part in parts]
    chances = _scale_odds(odds, n_drawn)
    counts_of_parts = []
    for part in parts:
        inside, outside = count_distribution(chances[part]), count_distribution(chances[~part])
        counts = np.arange(max(0, n_drawn - len(outside) + 1), min(n_drawn, len(inside) - 1) + 1)
        joint = inside[counts] * outside[n_drawn - counts]
        counts_of_parts.append(float(counts @ joint / joint.sum()))
    return counts_of_parts


def _scale_odds(odds: Vector, n_drawn: int) -> Vector:
    """Return inclusion probabilities whose odds are proportional to `odds` and which sum to `n_drawn`."""
    scaled = odds / odds.max()

    def surplus(log_factor: float) -> float:
        grown = np.exp(log_factor) * scaled
        return float((grown / (1 + grown)).sum()) - n_drawn

    factor = np.exp(brentq(surplus, -50.0, 200.0, xtol=1e-6))
    chances: Vector = factor * scaled / (1 + factor * scaled)
    return chances


def count_distribution(chances: Vector) -> Vector:
    """Return the distribution of how many independent events occur, computed without subtractions.

    Examples
    --------
    >>> count_distribution(np.array([0.5, 0.5, 0.5]))
    array([0.125, 0.375, 0.375, 0.125])
    """
    distributions = [np.array([1 - chance, chance]) for chance in chances] or [np.ones(1)]
    while len(distributions) > 1:
        odd = distributions[-1:] if len(distributions) % 2 else []
        distributions = [np.convolve(a, b) for a, b in zip(distributions[::2], distributions[1::2], strict=False)] + odd
    return distributions[0]
