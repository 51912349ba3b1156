"""What is doubted: rows of one or two representations, and what is known about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from shesha._types import Index, Labels, Matrix, Vector
from shesha.doubting.headline import Headline
from shesha.kernels.distances import Metric
from shesha.nulls.dependence import dependence
from shesha.results import Dependence
from shesha.views import Rows

_WINDOWS, _ROWS = 4, 256
"""Stretches of consecutive rows that the headline is made of, and the rows of all of them."""


@dataclass(frozen=True)
class Subject:
    """The rows of one representation, or of a pair, and what is known about each row."""

    sides: tuple[Rows, ...]
    metric: Metric
    classes: Labels | None = None
    known: Mapping[str, Vector | Labels] = field(default_factory=dict)
    """Covariates and groups by name: numbers as floats, labels as codes."""
    ordered: bool = True
    """Whether the order of the rows may mean something."""
    seed: int = 0
    given: Mapping[str, Any] = field(default_factory=dict)
    """What the caller has worked out already: 'dependence'."""

    @property
    def is_pair(self) -> bool:
        """Whether there are two representations."""
        return len(self.sides) == 2

    @property
    def n_rows(self) -> int:
        """Rows of each side."""
        return len(self.sides[0])

    @cached_property
    def windows(self) -> list[Index]:
        """Stretches of consecutive rows, spread evenly; all rows where they are few."""
        n, length = self.n_rows, _ROWS // _WINDOWS
        if n <= _ROWS:
            return [np.arange(n)]
        starts = np.linspace(0, n - length, _WINDOWS).astype(np.intp)
        return [np.arange(start, start + length) for start in starts]

    @cached_property
    def places(self) -> Index:
        """The rows that are looked at."""
        return np.concatenate(self.windows)

    @cached_property
    def samples(self) -> tuple[Matrix, ...]:
        """Their values, on each side."""
        return tuple(side.read(self.places) for side in self.sides)

    @property
    def sample(self) -> Matrix:
        """Their values on the first side."""
        return self.samples[0]

    @cached_property
    def headline(self) -> Headline:
        """The score whose change is the effect of a doubt."""
        if self.is_pair:
            return Headline.of_pair(self.samples[0], self.samples[1], self.metric)
        return self.split(self.sample)

    def split(self, rows: Matrix, *, rotated: bool = False) -> Headline:
        """The same for rows that were changed, with the same partitions where there are as many features."""
        return Headline.of_halves(rows, self.metric, self.seed, rotated=rotated)

    @cached_property
    def dependence(self) -> Dependence:
        """Signs that rows depend on one another."""
        found: Dependence | None = self.given.get("dependence")
        return found if found is not None else dependence(*(side.sample for side in self.sides))

    @cached_property
    def classes_here(self) -> Labels | None:
        """Classes of the rows that are looked at."""
        return None if self.classes is None else self.classes[self.places]

    @property
    def generator(self) -> np.random.Generator:
        """A new stream of random numbers, always the same."""
        return np.random.default_rng([self.seed, 29])
