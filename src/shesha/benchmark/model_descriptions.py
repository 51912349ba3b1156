"""Descriptions of models, and their representations and outputs on the test rows."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

Kind = Literal["standard", "labels", "shortcut", "augmentation", "deep"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_known_kinds: list[str] = [*KINDS]
Weights = dict[str, "Tensor"]
Plain = str | int | float | bool | None


@dataclass(frozen=True, order=True)
class Setting:
    """The difference between the training of a model and the standard training.

    ``labels`` replaces a share `degree` of the training labels at random. ``shortcut`` adds an artificial feature that
    leaks the label of a share `degree` of the training rows. ``augmentation`` perturbs the training data with a
    strength `degree` from 0 to 1. ``deep`` has more layers, for the test of layers (graphs only). A user's own test may
    add another kind.
    """

    kind: str = "standard"
    degree: float = 0.0

    def __post_init__(self) -> None:
        """Check the values."""
        if self.kind not in _known_kinds:
            raise ValueError(f"kind must be one of {', '.join(_known_kinds)}, got {self.kind!r}")
        if not 0 <= self.degree <= 1:
            raise ValueError(f"degree must lie between 0 and 1, got {self.degree}")

    def __str__(self) -> str:
        """Describe the difference in words."""
        return self.kind if self.kind in ("standard", "deep") else f"{self.kind} {self.degree:.4g}"


STANDARD = Setting()


def add_kind(kind: str) -> None:
    """Register a kind of setting, for your own test and domain."""
    if kind not in _known_kinds:
        _known_kinds.append(kind)


def count_of_share(share: float, n: int) -> int:
    """Return a share of n, rounded down."""
    # Rounding puts products such as 0.29 * 100 just below the intended whole number.
    return math.floor(share * n + 1e-9)


@dataclass(frozen=True)
class Model:
    """One network to be trained: everything that determines it, except for the data."""

    domain: str
    dataset: str
    architecture: str
    setting: Setting
    seed: int
    hyper: Mapping[str, Plain] = field(default_factory=dict, hash=False)
    """Hyperparameters of network, training and extraction, as plain values."""

    @property
    def keeps_layers(self) -> bool:
        """Whether all layers are stored, not only the last hidden one."""
        return self.setting.kind in ("standard", "deep")

    def key(self, fingerprint: str) -> str:
        """Return the key of the model, a hash of everything that determines it."""
        content = {
            "domain": self.domain,
            "dataset": self.dataset,
            "architecture": self.architecture,
            "setting": [self.setting.kind, self.setting.degree],
            "seed": self.seed,
            "hyper": dict(self.hyper),
            "data": fingerprint,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:20]

    def __str__(self) -> str:
        """Describe the model in words."""
        return f"{self.architecture} on {self.dataset}, {self.setting}, seed {self.seed}"


class DivergedError(ValueError):
    """Raised if a trained model has values that are not finite."""


@dataclass(frozen=True)
class Outcome:
    """Representations and outputs of a trained model."""

    representations: Mapping[str, tuple[NDArray[np.float32], ...]]
    """Layers of the test rows in order, up to the last hidden layer, by pooling ('' if there is only one). A feature
    map has shape (n_rows, height, width, channels) here and in model files; comparisons put channels
    first (`shesha.kernels.map_flattening`)."""
    probabilities: NDArray[np.float64]
    """Class probabilities by the classifier, of shape (n_rows, n_classes); each row sums to one."""
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


def hash_arrays(*arrays: NDArray[Any] | str | bytes) -> str:
    """Hash arrays and texts, including shapes and types."""
    digest = hashlib.sha256()
    for array in arrays:
        if isinstance(array, str | bytes):
            digest.update(array.encode() if isinstance(array, str) else array)
            continue
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()[:20]
