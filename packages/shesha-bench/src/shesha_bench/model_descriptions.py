"""Describe models to train: network, data set, setting, seed and hyperparameters."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from torch import Tensor

Kind = Literal["standard", "labels", "shortcut", "augmentation", "deep"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_known_kinds: list[str] = [*KINDS]
Weights = dict[str, "Tensor"]
Plain = str | int | float | bool | None


@dataclass(frozen=True, order=True)
class Setting:
    """How the training of a model differs from the standard training.

    ``labels`` replaces a share `degree` of the training labels at random. ``shortcut`` adds an artificial feature that
    reveals the label in a share `degree` of the training rows. ``augmentation`` perturbs the training data with a
    strength `degree` from 0 to 1. ``deep`` adds layers to the network, for the test of layers (graphs only). Your own
    test may add another kind.
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
        """Return the difference in words."""
        return self.kind if self.kind in ("standard", "deep") else f"{self.kind} {self.degree:.4g}"


STANDARD = Setting()


def add_kind(kind: str) -> None:
    """Register a new kind of setting, for your own test and domain."""
    if kind not in _known_kinds:
        _known_kinds.append(kind)


def count_of_share(share: float, n: int) -> int:
    """Return a share of n, rounded down to an integer."""
    # Rounding errors put products such as 0.29 * 100 just below the intended integer.
    return math.floor(share * n + 1e-9)


@dataclass(frozen=True)
class Model:
    """A network to train: everything that determines it, except the data."""

    domain: str
    dataset: str
    architecture: str
    setting: Setting
    seed: int
    hyper: Mapping[str, Plain] = field(default_factory=dict, hash=False)
    """Hyperparameters of the network, its training and the extraction, as plain values."""

    @property
    def keeps_layers(self) -> bool:
        """Whether all layers are stored, not only the last hidden one."""
        return self.setting.kind in ("standard", "deep")

    def key(self, fingerprint: str) -> str:
        """Return the key of the model, which is a hash of everything that determines it."""
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
        """Return a description of the model."""
        return f"{self.architecture} on {self.dataset}, {self.setting}, seed {self.seed}"
