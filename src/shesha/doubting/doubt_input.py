"""The subject of doubts, its target score, what remains of it after controls, and the registry of checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from itertools import chain
from math import erfc, sqrt
from typing import Any, Literal, TypeVar

import numpy as np

from shesha.kernels.condensed_matrices import permutation_products
from shesha.kernels.distances import Metric
from shesha.kernels.feature_halves import Partition
from shesha.kernels.neighbours import separate_clusters
from shesha.kernels.ranks import midranks
from shesha.kernels.repeated_rows import row_hashes
from shesha.nulls.dependence import DiagnosticRows, find_dependence, stretches
from shesha.results import Dependence, Doubt
from shesha.support.device_arrays import column_medians, squared_lengths
from shesha.support.types import Index, Labels, Matrix, Vector
from shesha.support.warnings import NotEstimable
from shesha.views import RankedRdm, Representation, Rows, SplitHalves

Result = TypeVar("Result")

_N_DRAWS = 8
"""Number of partitions; few suffice, because a score and its partial score use the same ones."""
_SPANNED = 1e-8
"""Squared singular value below which a direction spanned by unit-length functions is rounding error."""


@dataclass(frozen=True)
class Headline:
    """A mean rank correlation between distances: of two halves of the features, or of two representations."""

    name: str
    n_rows: int
    first: Matrix
    second: Matrix
    """Centred ranks of unit length, of shape (n_correlations, n_pairs); 0 for pairs without a distance."""

    @classmethod
    def from_halves(cls, rows: Matrix, metric: Metric, seed: int, *, rotated: bool = False) -> Headline:
        """Build the feature split of the given rows, or their basis-averaged split if `rotated`."""
        view = SplitHalves.build(Representation.build(rows), metric=metric, rotated=rotated)
        draw = view.sampler(seed)
        # Ranks are computed during each visit, because the next visit overwrites the partition.
        ranked = view.visit(
            [draw() for _ in range(_N_DRAWS)], lambda _, partition: _all_pair_ranks(partition, len(rows))
        )
        known = [pair for pair in ranked if pair is not None]
        if not known:
            raise NotEstimable("in every split, all distances within one half of the features are equal")
        name = "basis_averaged_split" if rotated else "feature_split"
        first, second = (np.stack(side) for side in zip(*known, strict=True))
        return cls(name, len(rows), first, second)

    @classmethod
    def from_pair(cls, X: Matrix, Y: Matrix, metric: Metric) -> Headline:
        """Build the rank correlation between the distances of two representations (RSA)."""
        views = [RankedRdm.build(Representation.build(side), metric=metric) for side in (X, Y)]
        first, second = (np.asarray(view.ranks)[None] for view in views)
        return cls("RSA", len(X), first, second)

    @cached_property
    def value(self) -> float:
        """The mean correlation."""
        return float(np.einsum("ij,ij->i", self.first, self.second).mean())

    def score_permutations(self, orders: Sequence[Index]) -> Vector:
        """Return the score after each permutation of the rows of one side."""
        sides = zip(self.first, self.second, strict=True)
        products = [permutation_products(first, second, self.n_rows, orders) for first, second in sides]
        return np.asarray(np.mean(products, axis=0))

    def partial_score(self, explaining: Matrix) -> float:
        """Return the partial rank correlation, controlling for functions of row pairs, (functions, pairs)."""
        centred = explaining - explaining.mean(axis=1, keepdims=True)
        lengths = np.linalg.norm(centred, axis=1)
        used = lengths > 1e-9 * max(1.0, float(lengths.max(initial=0.0)))
        unit = centred[used] / lengths[used, None]
        # There are few functions and many pairs, so the span is computed from the small Gram matrix.
        sizes, turned = np.linalg.eigh(unit @ unit.T)
        spanned = sizes > _SPANNED
        basis = unit.T @ (turned[:, spanned] / np.sqrt(sizes[spanned]))
        rest = [side - (side @ basis) @ basis.T for side in (self.first, self.second)]
        length = np.sqrt(np.prod([np.einsum("ij,ij->i", side, side) for side in rest], axis=0))
        # If the functions explain the ranks completely, nothing remains to correlate, and the score is 0.
        cosines = np.where(length > 1e-9, np.einsum("ij,ij->i", *rest) / np.maximum(length, 1e-9), 0.0)
        return float(cosines.mean())


def _all_pair_ranks(partition: Partition, n: int) -> tuple[Vector, Vector] | None:
    """Return the ranks of the distances between all pairs of rows, with 0 for undefined distances."""
    ranked = partition.unit_ranks()
    if ranked is None:
        return None
    if partition.kept is None:
        return ranked
    full_ranks = np.zeros((2, n * (n - 1) // 2))
    full_ranks[:, partition.kept] = ranked
    return full_ranks[0], full_ranks[1]


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
    names: tuple[str, ...] = ("X", "Y")
    """What the caller calls the sides."""

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
    def n_distinct(self) -> tuple[int, ...]:
        """Number of distinct rows among those checked, on each side."""
        hashes = [side.hashes[self.places] for side in self.diagnostic_rows] or [
            row_hashes(sample) for sample in self.samples
        ]
        return tuple(len(np.unique(side)) for side in hashes)

    @cached_property
    def units(self) -> tuple[float, ...]:
        """A power of two near the largest value of each side; squares of values divided by it do not overflow."""
        largest = self.computed.get("largest", ())
        return tuple(power_of_two(value) if value > 0 else 1.0 for value in largest or map(_largest, self.sides))

    def read(self, side: int, rows: Index) -> Matrix:
        """Return some rows of a side, divided by its unit."""
        values = self.sides[side].read(rows)
        values /= self.units[side]
        return values

    def map_blocks(self, side: int, work: Callable[[Matrix], Result]) -> Iterator[Result]:
        """Yield what the work returns for each block of rows, divided by the unit; the threads share the blocks."""
        return self.sides[side].map_blocks(_BLOCK, lambda _, block: work(block / self.units[side]))

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
        unit = self.units[side]
        step = max(1, _CACHED // max(1, len(middle)))

        def of_block(_: int, block: Matrix) -> list[Vector]:
            room, pieces = np.empty((step, len(middle))), []
            for start in range(0, len(block), step):
                part = block[start : start + step]
                # The last part may be shorter than the buffer, whose remaining rows are then undefined.
                differences = np.divide(part, unit, out=room[: len(part)])
                differences -= middle
                pieces.append(squared_lengths(differences))
            return pieces

        pieces = chain.from_iterable(self.sides[side].map_blocks(_BLOCK, of_block))
        return np.asarray(np.sqrt(np.concatenate(list(pieces))))

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
        known, products = self._products[0], self._products[1][side]
        if np.array_equal(rows, known):
            return products
        positions = np.searchsorted(known, rows)
        return products.take(positions, axis=0).take(positions, axis=1)

    @cached_property
    def _products(self) -> tuple[Index, list[Matrix]]:
        """The checked and the farthest rows, and their inner products on each side."""
        rows = np.unique(np.concatenate([self.places, *self.farthest_rows]))
        products = [diagnosed.products(rows) for diagnosed in self.diagnostic_rows]
        for side in range(len(self.sides)):
            if not self.diagnostic_rows:
                products.append(self.centred_products(side, rows))
            elif not np.isfinite(products[side]).all():
                products[side] = self.centred_products(side, rows)
        return rows, products

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
        return self.score_rows(np.arange(len(self.places)))

    def score_rows(self, kept: Index) -> Headline:
        """Return the target score of some of the checked rows."""
        if self.is_pair:
            return Headline.from_pair(self.samples[0][kept], self.samples[1][kept], self.metric)
        return self.split(self.sample[kept])

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
    return max(
        side.map_blocks(_BLOCK, lambda _, block: max(float(block.max(initial=0.0)), -float(block.min(initial=0.0))))
    )


def power_of_two(number: float) -> float:
    """Return the largest power of two up to a number; logarithms could overflow by rounding."""
    return float(np.ldexp(1.0, np.frexp(number)[1] - 1))


def _n_far(lengths: Vector) -> int:
    """Return how many of the farthest rows to check: one in fifty, or all distant rows, within limits."""
    n = len(lengths)
    outlying = int((lengths > _FAR * np.median(lengths)).sum())
    return max(min(_LONGEST, max(1, n // 50)), min(_MOST_FAR, outlying, n // 10))


SOME = 0.05
"""Smallest share of rows of one kind, and of the others, that is reported as a mixture."""
DoubtFunction = Callable[[Subject], Doubt | None]
SubjectKind = Literal["rows", "pair", "both"]


@dataclass(frozen=True)
class RegisteredDoubt:
    """A registered check, with its name and the kind of subject that it applies to."""

    name: str
    function: DoubtFunction = field(repr=False)
    of: SubjectKind
    cheap: bool
    """Whether the check uses only sums over rows, which cost little compared with one null distribution."""


_marked: dict[str, RegisteredDoubt] = {}


def doubt(name: str, *, of: SubjectKind = "rows", cheap: bool = False) -> Callable[[DoubtFunction], DoubtFunction]:
    """Register a function that checks a subject (rows, a pair or both) and returns a doubt or None."""

    def mark(function: DoubtFunction) -> DoubtFunction:
        _marked[f"{name}, {of}"] = RegisteredDoubt(name, function, of, cheap)
        return function

    return mark


def on_each_side(function: Callable[[Subject, int], Doubt | None]) -> DoubtFunction:
    """Make a check of one side a check of every side, which returns the first doubt."""

    @wraps(function)
    def check(subject: Subject) -> Doubt | None:
        return next(filter(None, (function(subject, side) for side in range(len(subject.sides)))), None)

    return check


def list_doubts() -> list[RegisteredDoubt]:
    """Return every marked function with its name and subjects, in the order of registration."""
    return list(_marked.values())


def doubt_functions() -> list[DoubtFunction]:
    """Return every registered function; stores use them to detect changes of the code."""
    return [check.function for check in _marked.values()]


_N_SHUFFLED = 19
"""Number of times a covariate is shuffled to obtain its p-value."""
_FEW_LEVELS = 8
"""Labels with up to this many values get one effect for each pair of values. Labels with more values get one effect for
equal labels, and one for each of the most frequent values.
"""


@dataclass(frozen=True)
class CovariateShare:
    """The part of a score that a covariate of the rows explains."""

    headline: Headline
    quantity: Vector | Labels
    name: str
    clusters: Index | None = None
    """Cluster labels of the rows; clusters are controlled for in addition to the covariate."""

    @cached_property
    def partial_score(self) -> float:
        """The score after controlling for the covariate (and the clusters)."""
        return self._residual_score(self.quantity)

    @cached_property
    def whole(self) -> float:
        """The score before controlling for the covariate, but controlling for clusters if there are any."""
        if self.clusters is None:
            return self.headline.value
        return self.headline.partial_score(functions(self.clusters))

    @property
    def effect(self) -> float:
        """The part of the score that the covariate explains; all of it if the partial score has the opposite sign."""
        return min(
            1.0, max(0.0, max(0.0, self._positive_sign(self.whole)) - max(0.0, self._positive_sign(self.partial_score)))
        )

    def p_value(self, rng: np.random.Generator) -> float:
        """Return the p-value of the explained part, compared with what shuffled covariates explain."""
        orders = [rng.permutation(len(self.quantity)) for _ in range(_N_SHUFFLED)]
        scores = np.array([self._positive_sign(self._residual_score(self.quantity[order])) for order in orders])
        spread = max(float(scores.std(ddof=1)) * sqrt(1 + 1 / _N_SHUFFLED), 1e-6)
        return 0.5 * erfc(float(scores.mean() - self._positive_sign(self.partial_score)) / spread / sqrt(2))

    def _residual_score(self, quantity: Vector | Labels) -> float:
        explaining = functions(quantity)
        if self.clusters is not None:
            explaining = np.concatenate([functions(self.clusters), explaining])
        return self.headline.partial_score(explaining)

    def _positive_sign(self, score: float) -> float:
        """Return the score times the sign of the target score."""
        return float(np.sign(self.headline.value)) * score


def functions(quantity: Vector | Labels) -> Matrix:
    """Return functions of row pairs, (functions, pairs), that model a covariate's effects on distances.

    A row that is noisier or shorter than others is farther from all of them in any half of the features. Each distance
    then contains effects of its two rows, which the halves share even if the data have no geometry.
    """
    i, j = np.triu_indices(len(quantity), k=1)
    if quantity.dtype.kind == "f":
        ranks = (midranks(quantity.astype(np.float64))[0] + 0.5) / len(quantity) - 0.5
        a, b = ranks[i], ranks[j]
        return np.stack([a + b, a**2 + b**2, a**3 + b**3, a * b, np.abs(a - b)])
    codes = np.unique(quantity, return_inverse=True)[1]
    n_levels = int(codes.max()) + 1
    if n_levels <= _FEW_LEVELS:
        low, high = np.minimum(codes[i], codes[j]), np.maximum(codes[i], codes[j])
        return _indicators(low * n_levels + high)
    levels = np.zeros((n_levels, len(i)))
    positions = np.arange(len(i))
    np.add.at(levels, (codes[i], positions), 1.0)
    np.add.at(levels, (codes[j], positions), 1.0)
    same = (codes[i] == codes[j]).astype(np.float64)
    return np.concatenate([same[None], levels[np.bincount(codes).argsort()[::-1][:_FEW_LEVELS]]])


def _indicators(codes: Index) -> Matrix:
    """Return one indicator row per code, except for the last, because all indicators sum to a constant."""
    values = np.unique(codes)[:-1]
    return (codes == values[:, None]).astype(np.float64) if len(values) else np.zeros((1, len(codes)))
