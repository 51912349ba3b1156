"""First-order effect of the entries' weights on (rank) correlations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shesha.kernels.weighted_ranks import SortedVectors
from shesha.support.types import Matrix, Vector


def correlation_influence(lines: SortedVectors, cells: Sequence[tuple[int, int]], *, ranked: bool) -> Matrix:
    """Influence of each entry's weight on the correlation of each pair of lines, one output line per pair.

    With weights w, a correlation is approximately its unweighted value plus sum((w - 1) influence) / sum(w). With
    `ranked`, this includes the change in the ranks themselves, also with ties. Constant lines give NaN.
    """
    n = lines.values.shape[1]
    values = lines.ranks(np.ones(n)) / n if ranked else lines.values
    centred = values - values.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.einsum("lp,lp->l", centred, centred) / n)
    spread = np.where(spread > 1e-10 * np.abs(values).max(axis=1), spread, np.nan)
    unit = centred / spread[:, None]

    def covariance(a: int, b: int) -> Vector:
        """Influence on the covariance, up to an additive constant."""
        products: Vector = unit[a] * unit[b]
        if ranked:
            products += _mean_above(lines, a, unit[b]) / spread[a]
            products += _mean_above(lines, b, unit[a]) / spread[b]
        return products

    own = {line: covariance(line, line) for line in {line for cell in cells for line in cell}}
    out = np.empty((len(cells), n))
    for influence, (a, b) in zip(out, cells, strict=True):
        np.subtract(covariance(a, b), float(unit[a] @ unit[b]) / (2 * n) * (own[a] + own[b]), out=influence)
        influence -= influence.mean()
    return out


def _mean_above(lines: SortedVectors, line: int, other: Vector) -> Vector:
    """For each entry, the sum of `other` over the entries above it (ties count half), divided by n.

    The mean of `other` must be zero.
    """
    below = np.zeros(len(other) + 1)
    np.cumsum(other[lines.order[line]], out=below[1:])
    sums: Vector = below[lines.first[line]]
    sums += below[lines.behind[line]]
    # The total is zero, so the sum above is minus the sum below.
    sums /= -2 * len(other)
    return sums
