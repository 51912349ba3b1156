"""What is asked of an estimator, and what it found, before it becomes a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shesha._random import spawn
from shesha._types import Index, Labels, Vector
from shesha.views import Rdm, Rows

if TYPE_CHECKING:
    from shesha.stability._registry import Variant


@dataclass(frozen=True)
class Classes:
    """Class labels: a code from 0 for each row, and the names that the codes stand for."""

    codes: Labels
    names: NDArray[Any]

    @property
    def n_classes(self) -> int:
        """Number of classes, those without a row among them."""
        return len(self.names)

    @cached_property
    def members(self) -> list[Index]:
        """Rows of each class."""
        return [np.flatnonzero(self.codes == code) for code in range(self.n_classes)]

    @property
    def present(self) -> list[Index]:
        """Rows of each class that has any."""
        return [own for own in self.members if len(own)]

    def at(self, rows: Index) -> Classes:
        """Labels of some rows, or of the rows in another order."""
        return Classes(self.codes[rows], self.names)


@dataclass(frozen=True)
class Request:
    """What is asked of an estimator: checked input and settings."""

    variant: Variant
    source: Rows | Rdm
    """Checked for kind and shape; not yet read, since it may lie on disk."""
    classes: Classes | None
    options: dict[str, Any]
    n_bootstrap: int = 0
    n_permutations: int = 0
    target_se: float | None = None
    pairs: int | None = None
    seed: int | np.random.Generator | None = None

    @property
    def n_rows(self) -> int:
        """Number of inputs."""
        return len(self.source) if isinstance(self.source, Rows) else self.source.n_rows

    @property
    def n_features(self) -> int:
        """Number of features; 0 where only distances are known."""
        return self.source.shape[1] if isinstance(self.source, Rows) else 0

    @property
    def labels(self) -> Classes:
        """The labels, of a variant that needs them."""
        assert self.classes is not None
        return self.classes

    def orders(self, n: int | None = None) -> list[Index]:
        """Random matchings of the rows, the same whenever they are asked for with a seed that is a number."""
        if not self.n_permutations:
            return []
        rng = spawn(self.seed, MATCHING)
        return [rng.permutation(self.n_rows if n is None else n) for _ in range(self.n_permutations)]

    def relabelled(self, order: Index) -> Request:
        """The same with shuffled labels, and nothing but the value asked for."""
        return replace(self, classes=self.labels.at(order), n_bootstrap=0, n_permutations=0)


RESAMPLING, THINNING, MATCHING = 1, 2, 3
"""Purposes of the streams that a seed is spawned into."""


@dataclass(frozen=True)
class Evidence:
    """The score, its parts, its resampling distribution and its null."""

    value: float
    draws: Vector = field(default_factory=lambda: np.empty(0))
    """Score of each partition; empty for a score without draws."""
    resampled: Vector = field(default_factory=lambda: np.empty(0))
    """Scores of resampled rows."""
    null: Vector = field(default_factory=lambda: np.empty(0))
    """Scores under random matchings."""
    analytic_error: float = float("nan")
    """Standard error over rows, where it is known without resampling."""
    pair_error: float = 0.0
    n_pairs: int = 0
    pairs_dropped: int = 0
    reason: str = ""
    notes: tuple[str, ...] = ()


Estimator = Callable[[Request], Evidence]
