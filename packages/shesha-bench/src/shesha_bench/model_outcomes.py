"""What trained models produce: representations and outputs for the test rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


class DivergedError(ValueError):
    """Raised if a trained model has values that are not finite."""


@dataclass(frozen=True)
class Outcome:
    """Representations and outputs of a trained model for the test rows."""

    representations: Mapping[str, tuple[NDArray[np.float32], ...]]
    """Layers in order, up to the last hidden one, by pooling ('' if there is only one). A feature map has shape
    (n_rows, height, width, channels) here and in model files; comparisons put channels first
    (`shesha.kernels.map_flattening`).
    """
    probabilities: NDArray[np.float64]
    """Class probabilities from the classifier, of shape (n_rows, n_classes); each row sums to one."""
    labels: NDArray[np.int64]
    """The true class of each row."""

    def __post_init__(self) -> None:
        """Check that the numbers of rows agree."""
        n_rows = len(self.labels)
        if not self.representations or not all(self.representations.values()):
            raise ValueError("representations must contain at least one layer of one pooling, got none")
        for pooling, layers in self.representations.items():
            for number, layer in enumerate(layers):
                if len(layer) != n_rows:
                    raise ValueError(
                        f"layer {number} of pooling {pooling!r} must have a row per label ({n_rows}), got {len(layer)}"
                    )
                if not np.isfinite(layer).all():
                    raise DivergedError(
                        f"layer {number} of pooling {pooling!r} must be finite, got NaN or infinity because the "
                        "training diverged"
                    )
        if not np.isfinite(self.probabilities).all():
            raise DivergedError("probabilities must be finite, got NaN or infinity because the training diverged")
        if self.probabilities.ndim != 2 or len(self.probabilities) != n_rows:
            raise ValueError(f"probabilities must have shape ({n_rows}, n_classes), got {self.probabilities.shape}")

    @property
    def accuracy(self) -> float:
        """Share of the rows whose most probable class is correct."""
        return float(np.mean(self.probabilities.argmax(axis=1) == self.labels))
