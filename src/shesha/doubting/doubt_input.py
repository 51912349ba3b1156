"""The subject of doubts: the rows of one or two representations, with covariates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from shesha.doubting.target_score import Headline
from shesha.kernels.distances import Metric
from shesha.kernels.neighbour_distances import separate_clusters
from shesha.kernels.repeated_rows import row_hashes
from shesha.nulls.dependence import find_dependence
from shesha.nulls.sampled_rows_for_checks import DiagnosticRows, stretches
from shesha.results import Dependence
from shesha.support.device_arrays import column_medians, squared_lengths
from shesha.support.types import Index, Labels, Matrix, Vector
from shesha.views import Rows

_LENGTH = 64
"""Number of rows in each of the four stretches from which the target score is computed."""
_BLOCK = 1 << 18
"""Number of values read at a time."""
_CACHED = 1 << 15
"""Number of values processed at a time, chosen to fit in the processor's cache."""
_LONGEST = 3
"""Maximum number of rows that are checked as dominant if no row is clearly distant."""
_FAR, _MOST_FAR = 3.0, 10
"""Multiple of the median distance that makes a row distant, and maximum number of distant rows to check.

Distances are measured from the median row. Distant rows are checked together, because they can mask one another.
"""


@dataclass(frozen=True)
class Subject:
    """The rows of one representation or of a pair, with the covariates of each row."""

    sides: tuple[Rows, ...]
    metric: Metric
    classes: Labels | None = None
    known: Mapping[str, Vector | Labels] = field(default_factory=dict)
    """Covariates and groups by name: numbers as floats, labels as codes."""
    design: Mapping[str, Vector | Labels] = field(default_factory=dict)
    """Labels from the exchange design, with which classes may be confounded."""
    ordered: bool = True
    """Whether the order of the rows may be meaningful."""
    seed: int = 0
    computed: Mapping[str, Any] = field(default_factory=dict)
    """Results that the caller passes: 'dependence', and 'checked' with each side's `DiagnosticRows`."""
    numbers: Index | None = None
    """Row numbers in the caller's data, if the caller left out some rows."""

    def caller_rows(self, rows: Index) -> tuple[int, ...]:
        """Return the numbers that rows have in the caller's data."""
        return tuple((rows if self.numbers is None else self.numbers[rows]).tolist())

    @property
    def is_pair(self) -> bool:
        """Whether there are two representations."""
        return len(self.sides) == 2

    @property
    def n_rows(self) -> int:
        """Number of rows of each side."""
        return len(self.sides[0])

    @cached_property
    def windows(self) -> list[Index]:
        """Evenly spaced stretches of consecutive rows, or all rows if there are few."""
        return stretches(self.n_rows, _LENGTH)

    @cached_property
    def places(self) -> Index:
        """Indices of the checked rows."""
        return np.concatenate(self.windows)

    @cached_property
    def samples(self) -> tuple[Matrix, ...]:
        """Values of the checked rows on each side."""
        return tuple(self.read(side, self.places) for side in range(len(self.sides)))

    @cached_property
    def n_distinct(self) -> int:
        """Number of distinct rows among those checked, on the side with fewer."""
        hashes = [side.hashes[self.places] for side in self.diagnostic_rows] or [
            row_hashes(sample) for sample in self.samples
        ]
        return min(len(np.unique(side)) for side in hashes)

    @cached_property
    def units(self) -> tuple[float, ...]:
        """A power of two near the largest value of each side; squares of values divided by it do not overflow."""
        largest = self.computed.get("largest", ())
        return tuple(_power_of_two(value) if value > 0 else 1.0 for value in largest or map(_largest, self.sides))

    def read(self, side: int, rows: Index) -> Matrix:
        """Return some rows of a side, divided by its unit."""
        return np.asarray(self.sides[side].read(rows) / self.units[side])

    def blocks(self, side: int) -> Iterator[Matrix]:
        """Yield all rows of a side in blocks, divided by its unit."""
        for _, block in self.sides[side].blocks(_BLOCK):
            yield block / self.units[side]

    @cached_property
    def farthest_rows(self) -> tuple[Index, ...]:
        """On each side, the rows farthest from the median of the checked rows, farthest first."""
        rows_by_side = []
        for side, sample in enumerate(self.samples):
            lengths = self._lengths(side, column_medians(sample))
            rows_by_side.append(np.argsort(-lengths, kind="stable")[: _n_far(lengths)])
        return tuple(rows_by_side)

    def _lengths(self, side: int, middle: Vector) -> Vector:
        """Return the distance of every row of a side from a point, in the side's unit."""
        unit, pieces = self.units[side], []
        step = max(1, _CACHED // max(1, len(middle)))
        room = np.empty((step, len(middle)))
        for _, block in self.sides[side].blocks(_BLOCK):
            for start in range(0, len(block), step):
                part = block[start : start + step]
                # The last part may be shorter than the buffer, whose remaining rows are then undefined.
                differences = np.divide(part, unit, out=room[: len(part)])
                differences -= middle
                pieces.append(squared_lengths(differences))
        return np.asarray(np.sqrt(np.concatenate(pieces)))

    @cached_property
    def diagnostic_rows(self) -> tuple[DiagnosticRows, ...]:
        """The rows of each side whose inner products all checks share; empty for sparse data."""
        if "checked" in self.computed or any(side.is_sparse for side in self.sides):
            return tuple(self.computed.get("checked", ()))
        return tuple(DiagnosticRows(side.sample) for side in self.sides)

    def products(self, side: int, rows: Index) -> Matrix:
        """Return inner products of checked or farthest rows of a side, around a common centre, up to scale.

        Do not change the result in place, because all checks may share it.
        """
        known, products = self._products[side]
        if np.array_equal(rows, known):
            return products
        positions = np.searchsorted(known, rows)
        return products.take(positions, axis=0).take(positions, axis=1)

    @cached_property
    def _products(self) -> list[tuple[Index, Matrix]]:
        """The checked and the farthest rows, with their inner products on each side."""
        rows = np.unique(np.concatenate([self.places, *self.farthest_rows]))
        return [(rows, self._side_products(side, rows)) for side in range(len(self.sides))]

    def _side_products(self, side: int, rows: Index) -> Matrix:
        if self.diagnostic_rows:
            products = self.diagnostic_rows[side].products(rows)
            if np.isfinite(products).all():
                return products
        return self.centred_products(side, rows)

    def centred_products(self, side: int, rows: Index) -> Matrix:
        """Return the inner products of the given rows of one side after their mean is subtracted."""
        centred = self.read(side, rows)
        centred -= centred.mean(axis=0)
        return np.asarray(centred @ centred.T)

    @property
    def sample(self) -> Matrix:
        """Values of the checked rows on the first side."""
        return self.samples[0]

    @cached_property
    def headline(self) -> Headline:
        """The target score; the effect of a doubt is how much it changes."""
        if self.is_pair:
            return Headline.from_pair(self.samples[0], self.samples[1], self.metric)
        return self.split(self.sample)

    def split(self, rows: Matrix, *, rotated: bool = False) -> Headline:
        """Return the target score of modified rows, with the same partitions if they have as many features."""
        return Headline.from_halves(rows, self.metric, self.seed, rotated=rotated)

    @property
    def value(self) -> float | None:
        """The value of the target score, if a check computed it."""
        return self.headline.value if "headline" in self.__dict__ else None

    def clusters(self, side: int) -> Index:
        """Return the cluster label of each checked row on one side."""
        if side not in self._clusters:
            self._clusters[side] = separate_clusters(self.products(side, self.places))
        return self._clusters[side]

    @cached_property
    def _clusters(self) -> dict[int, Index]:
        return {}

    @cached_property
    def dependence(self) -> Dependence:
        """The detected dependence between rows."""
        dependence: Dependence | None = self.computed.get("dependence")
        if dependence is not None:
            return dependence
        checked = self.diagnostic_rows or tuple(DiagnosticRows(side.sample) for side in self.sides)
        return find_dependence(checked, screened=True)

    @cached_property
    def classes_here(self) -> Labels | None:
        """Classes of the checked rows."""
        return None if self.classes is None else self.classes[self.places]

    @property
    def generator(self) -> np.random.Generator:
        """A new random generator that always starts from the same state."""
        return np.random.default_rng([self.seed, 29])


def _largest(side: Rows) -> float:
    return max(max(float(block.max(initial=0.0)), -float(block.min(initial=0.0))) for _, block in side.blocks(_BLOCK))


def _power_of_two(number: float) -> float:
    """Return the largest power of two up to a number; logarithms could overflow by rounding."""
    return float(np.ldexp(1.0, np.frexp(number)[1] - 1))


def _n_far(lengths: Vector) -> int:
    """Return how many of the farthest rows to check: one in fifty, or all distant rows, within limits."""
    n = len(lengths)
    outlying = int((lengths > _FAR * np.median(lengths)).sum())
    return max(min(_LONGEST, max(1, n // 50)), min(_MOST_FAR, outlying, n // 10))
