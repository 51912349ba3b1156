"""Score how well a measure reflects the order of layers, by pure functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from shesha.support.types import Vector
from shesha_bench.mantel import rank_correlation
from shesha_bench.measure_quality import Pair, Quality, as_distance, pair_value, tie_rounding_errors


@dataclass(frozen=True)
class LayerScores:
    """Agreement between the similarity of layers and their order."""

    conformity: Quality
    """Share of layer triples whose similarities have the expected order; `n` counts triples."""
    pooled: Quality
    """Rank correlation between dissimilarity and distance in layers, over all pairs; `n` counts pairs."""
    by_layer: Quality
    """Mean of rank correlations, one each over the layers before and after a layer; `n` counts them."""


def layers(values: Mapping[Pair, float], n_layers: int, closer: str, symmetric: bool) -> LayerScores:
    """Score whether the layers of a model are less similar the farther apart they are.

    Of two layers on the same side of layer i, the nearer one must be at least as similar to i; ties are not violations.
    Correlations are positive if similarity falls with distance. `pooled` is one correlation over all pairs i < j.
    `by_layer` averages separate correlations for the layers before and the layers after each layer, as in the published
    results.

    Parameters
    ----------
    values : mapping of (layer, layer) to float
        Value for each pair of layers, which are numbered from 0; in either order if the measure is symmetric. Triples
        with a NaN are left out.
    n_layers : int
    closer : {'higher', 'lower'}
    symmetric : bool
    """
    square = np.full((n_layers, n_layers), np.nan)
    for pair in permutations(range(n_layers), 2):
        square[pair] = pair_value(values, pair, symmetric)
    square = tie_rounding_errors(as_distance(square, closer))
    stretches = [stretch for i in range(n_layers) for stretch in (square[i, i + 1 :], square[i, :i][::-1])]
    upper = np.triu_indices(n_layers, k=1)
    steps = (upper[1] - upper[0]).astype(np.float64)
    kept = ~np.isnan(square[upper])
    pooled = rank_correlation(square[upper][kept], steps[kept])
    return LayerScores(
        _order_quality(stretches),
        _quality(pooled, int(kept.sum()), int((~kept).sum()), "fewer than two different values between layers"),
        _mean_correlation([stretch for stretch in stretches if len(stretch) > 1]),
    )


def _order_quality(stretches: Sequence[Vector]) -> Quality:
    kept = right = dropped = 0
    for stretch in stretches:
        nearer, farther = (stretch[index] for index in np.triu_indices(len(stretch), k=1))
        usable = ~(np.isnan(nearer) | np.isnan(farther))
        kept += int(usable.sum())
        dropped += int((~usable).sum())
        right += int((nearer <= farther).sum())
    return _quality(right / kept if kept else math.nan, kept, dropped, "no three layers on one side have values")


def _mean_correlation(stretches: Sequence[Vector]) -> Quality:
    scores = []
    for stretch in stretches:
        kept = np.flatnonzero(~np.isnan(stretch))
        scores.append(rank_correlation(stretch[kept], kept.astype(np.float64)))
    usable = [value for value in scores if not math.isnan(value)]
    value = float(np.mean(usable)) if usable else math.nan
    return _quality(value, len(usable), len(scores) - len(usable), "no layer has two different values on one side")


def _quality(value: float, n: int, dropped: int, reason: str) -> Quality:
    return Quality(value, n, dropped, reason if math.isnan(value) else "")
