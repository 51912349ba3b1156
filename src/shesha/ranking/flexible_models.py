"""Flexible models: weighted sums of models, with weights that are fitted to other rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from shesha.support.types import Index, Matrix, Vector

Cube = NDArray[np.float64]
_FOLDS = 8
"""Number of folds of rows. The weights for a pair of rows are fitted to the pairs without rows of the same folds."""
_SMALLEST = 1e-12
"""Smallest eigenvalue, relative to the largest, so that equal models can be combined."""


@dataclass(frozen=True)
class FlexibleModels:
    """Which models are combined, and to which distances and pairs of rows their weights are fitted."""

    parts: dict[str, list[int]]
    """Places of the models that each flexible model combines."""
    targets: Matrix
    """Distances to which the weights are fitted: one line for each subject."""
    blocks: tuple[Index, ...]
    """Pairs of rows that are in the same two folds."""
    touching: Matrix
    """1 for blocks that share a fold."""

    @classmethod
    def build(
        cls, parts: Mapping[str, Sequence[int]], targets: Matrix, clusters: Index, rng: np.random.Generator
    ) -> FlexibleModels:
        """Divide the rows at random; rows of one cluster are in one fold."""
        folds = (rng.permutation(int(clusters.max()) + 1) % _FOLDS)[clusters]
        sides = np.sort([folds[rows] for rows in np.triu_indices(len(clusters), k=1)], axis=0)
        both = np.array(list(combinations_with_replacement(range(int(folds.max()) + 1), 2)))
        blocks = [np.flatnonzero((sides == pair[:, None]).all(axis=0)) for pair in both]
        touching = (both[:, None, :, None] == both[None, :, None, :]).any(axis=(2, 3)).astype(np.float64)
        return cls({name: list(places) for name, places in parts.items()}, targets, tuple(blocks), touching)

    def fit(self, lines: Matrix, times: Vector | None = None) -> dict[str, tuple[Matrix, Cube]]:
        """Return the weighted sums of each flexible model (n_subjects, n_pairs), and its weights.

        Parameters
        ----------
        lines : array of shape (n_models, n_pairs)
            Distances of the models, centred and with unit length.
        times : array of shape (n_pairs,), optional
            How often each pair of rows counts.

        Returns
        -------
        dict
            Weights are non-negative with a sum of 1, of shape (n_blocks, n_subjects, n_parts).
        """
        n, known = len(lines), np.vstack([np.ones(lines.shape[1]), lines, self.targets])
        counted = known[: n + 1] if times is None else known[: n + 1] * times
        products = np.array([counted[:, block] @ known[:, block].T for block in self.blocks])
        train = products.sum(axis=0) - np.tensordot(self.touching, products, axes=1)
        centred = train[:, 1:, 1:] - train[:, 1:, :1] * train[:, :1, 1:] / np.maximum(train[:, :1, :1], 1)
        found = {}
        for name, places in self.parts.items():
            sizes, axes = np.linalg.eigh(centred[:, places][:, :, places])
            roots = np.sqrt(np.maximum(sizes, _SMALLEST * np.maximum(sizes[:, -1:], _SMALLEST)))[:, :, None]
            design, goals = roots * axes.transpose(0, 2, 1), axes.transpose(0, 2, 1) @ centred[:, places, n:] / roots
            weights = (axes @ (goals / roots)).transpose(0, 2, 1)
            for block, subject in np.argwhere((weights < 0).any(axis=2)):
                weights[block, subject] = nnls(design[block], goals[block, :, subject])[0]
            total = weights.sum(axis=2, keepdims=True)
            weights = np.where(total > 0, weights / np.where(total > 0, total, 1), 1 / len(places))
            sums = np.empty(self.targets.shape)
            for block, own in zip(self.blocks, weights, strict=True):
                sums[:, block] = own @ lines[places][:, block]
            found[name] = sums, weights
        return found
