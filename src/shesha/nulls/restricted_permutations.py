"""Restricted permutations: which rows are exchangeable, and how they are permuted and resampled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, permutations, product
from math import ceil, lgamma, log, sqrt

import numpy as np

from shesha.inputs import validation as check
from shesha.support.types import Index


@dataclass(frozen=True, eq=False)
class Exchange:
    """Which rows are exchangeable under the null hypothesis of two unrelated representations.

    Use `shesha.nulls.exchange` to create a design. All permutations that the design allows, including the identity, are
    drawn with equal probability. These permutations form a group, so p-values are exact if the rows are exchangeable as
    declared.
    """

    n_rows: int
    block: Index
    """Code of each row's block; rows are permuted only within their block."""
    group: Index | None = None
    """Code of each row's group; None if rows are permuted individually."""
    shift: bool = False
    """Whether each block is a time series, which is permuted by circular shifts."""
    block_length: int | None = None
    """Number of rows per stretch, if the groups are stretches of a series."""
    named: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """A description of what is permuted."""
        text = ", ".join(self.named) or "all rows"
        n_staying = len(self._fixed_rows)
        if self.shift or self.block_length or not n_staying or not self.log_count:
            return text
        return f"{text} ({n_staying} of {self._n_groups} have no partner of equal size and are not permuted)"

    @cached_property
    def strata(self) -> tuple[Index, ...]:
        """Row numbers of each block, in order."""
        blocks = _rows_by_code(self.block)
        return tuple(sorted(blocks, key=lambda rows: int(rows[0])))

    @cached_property
    def unit_arrays(self) -> tuple[Index, ...]:
        """Exchangeable units in arrays of shape (units, rows per unit); not used if rows are shifted."""
        if self.group is None:
            return tuple(rows[:, None] for rows in self.strata)
        kinds: dict[tuple[int, int], list[Index]] = {}
        for rows in _rows_by_code(self.group):
            kinds.setdefault((int(self.block[rows[0]]), len(rows)), []).append(rows)
        return tuple(np.array(units) for units in kinds.values())

    @property
    def _fixed_rows(self) -> list[Index]:
        return [] if self.group is None else [units for units in self.unit_arrays if len(units) == 1]

    @property
    def _n_groups(self) -> int:
        return sum(len(units) for units in self.unit_arrays)

    @cached_property
    def log_count(self) -> float:
        """Logarithm of the number of distinct permutations, including the identity."""
        if self.shift:
            return sum(log(len(rows)) for rows in self.strata)
        return sum(lgamma(len(units) + 1) for units in self.unit_arrays)

    def require_enough(self, n_permutations: int, alpha: float) -> None:
        """Raise an error if no result could reach the significance level."""
        require_enough_draws(n_permutations, alpha)
        if self.log_count < log(1 / alpha) - 1e-9:
            raise ValueError(
                f"the design must leave at least {1 / alpha:g} distinct permutations for p <= {alpha:g}, got "
                f"{round(np.exp(self.log_count))} ({self.text}); {self._remedy()}"
            )

    def _remedy(self) -> str:
        if self.shift:
            return "use longer series"
        if self.block_length:
            return "use shorter stretches"
        remedy = "use larger blocks, or more groups of equal size"
        if self._fixed_rows:
            remedy += "; shesha.nulls.equal_groups(groups) chooses rows that make all groups equally large"
        return remedy

    def draw(self, rng: np.random.Generator) -> Index:
        """Draw one of the permutations, all of which are equally probable.

        Parameters
        ----------
        rng : Generator

        Returns
        -------
        array of shape (n_rows,)
            The permutation `order`: row `order[i]` moves to position i.
        """
        if self.shift:
            return self._circular_shift(int(rng.integers(len(rows))) for rows in self.strata)
        return self._move_units(rng.permutation(len(units)) for units in self.unit_arrays)

    def draws(self, n_permutations: int, rng: np.random.Generator) -> list[Index]:
        """Draw several permutations; if shifts or groups allow no more than requested, return each other one once.

        Few groups often stay in place by chance. Random draws would therefore count the identity several times, and
        four groups could hardly be significant.
        """
        is_complete = self.log_count <= log(n_permutations + 1) + 1e-9
        # The first combination is the identity.
        if self.shift and is_complete:
            shifts = product(*(range(len(rows)) for rows in self.strata))
            return list(map(self._circular_shift, islice(shifts, 1, None)))
        if self.group is not None and is_complete:
            moves = product(*(permutations(range(len(units))) for units in self.unit_arrays))
            return [self._move_units(map(list, move)) for move in islice(moves, 1, None)]
        return [self.draw(rng) for _ in range(n_permutations)]

    def _move_units(self, moves: Iterable[Sequence[int] | Index]) -> Index:
        """Permute the units of each kind by its own move."""
        order = np.arange(self.n_rows)
        for units, move in zip(self.unit_arrays, moves, strict=True):
            order[units] = units[move]
        return order

    def _circular_shift(self, lags: Iterable[int]) -> Index:
        """Shift the rows of each stratum circularly, by one lag per stratum."""
        order = np.arange(self.n_rows)
        for rows, lag in zip(self.strata, lags, strict=True):
            order[rows] = np.roll(rows, -lag)
        return order

    def resample(self, rng: np.random.Generator) -> Index:
        """Draw how often each row occurs in one bootstrap resample.

        Each block is resampled with replacement. The units are whole groups, stretches of a series, or single rows.
        Stretches start at any row and wrap around at the end of the series. They have `block_length` rows or, if the
        design uses shifts, the square root of the number of rows.

        Parameters
        ----------
        rng : Generator

        Returns
        -------
        array of shape (n_rows,)
            Number of copies of each row. Unless groups differ in size, the sum is the number of rows.
        """
        counts = np.zeros(self.n_rows, dtype=np.intp)
        for rows in self.strata:
            if self.shift or self.block_length:
                counts[rows] = _stretch_counts(len(rows), self.block_length, rng)
            elif self.group is None:
                counts[rows] = _unit_counts(len(rows), rng)
            else:
                groups, codes = np.unique(self.group[rows], return_inverse=True)
                counts[rows] = _unit_counts(len(groups), rng)[codes]
        return counts

    @cached_property
    def clusters(self) -> Index:
        """Code of the resampling unit to which each row belongs: the row itself, its group, or its stretch."""
        if self.group is not None:
            return np.unique(self.group, return_inverse=True)[1].astype(np.intp)
        if not self.shift:
            return np.arange(self.n_rows)
        codes, taken = np.empty(self.n_rows, dtype=np.intp), 0
        for rows in self.strata:
            codes[rows] = taken + np.arange(len(rows)) // _stretch(len(rows), None)
            taken = int(codes[rows[-1]]) + 1
        return codes

    def take(self, rows: Index) -> Exchange:
        """Return the design for a selection of the rows, in the given order.

        Parameters
        ----------
        rows : array of row numbers
            Rows to keep, in their new order.
        """
        group = None if self.group is None else self.group[rows]
        return Exchange(
            len(rows), self.block[rows], group, self.shift, block_length=self.block_length, named=self.named
        )


def require_enough_draws(n_permutations: int, alpha: float, minimum: int = 1) -> None:
    """Raise an error if even a score above all draws could not reach the level; with `minimum` 0, none is enough."""
    n_permutations = check.count(n_permutations, "n_permutations", minimum=minimum)
    check.fraction(alpha, "alpha", closed=False)
    if n_permutations and n_permutations < 1 / alpha - 1 - 1e-9:
        raise ValueError(f"n_permutations must be at least 1 / alpha - 1 = {1 / alpha - 1:g}, got {n_permutations}")


def _rows_by_code(codes: Index) -> list[Index]:
    """Row numbers for each code that occurs, in the order of the codes."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order])) + 1
    return np.split(order, starts)


def _unit_counts(n: int, rng: np.random.Generator) -> Index:
    return np.bincount(rng.integers(n, size=n), minlength=n)


def _stretch_counts(n: int, length: int | None, rng: np.random.Generator) -> Index:
    step = _stretch(n, length)
    starts = rng.integers(n, size=ceil(n / step))
    drawn = (starts[:, None] + np.arange(step)).ravel()[:n] % n
    return np.bincount(drawn, minlength=n)


def _stretch(n: int, length: int | None) -> int:
    return min(n, length or ceil(sqrt(n)))
