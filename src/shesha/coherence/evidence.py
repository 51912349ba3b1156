"""What the rows of each group say: scores, the errors of the scores, and each row's cosine, in four passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shesha._types import Index, Matrix, Vector
from shesha.coherence.layout import Layout
from shesha.coherence.rows import RowPieces
from shesha.coherence.scores import NO_DIRECTION

_HELD_CONTROLS = 4096
"""Controls from which the error of their mean is computed; of more, so many evenly spaced ones."""


@dataclass(frozen=True)
class Evidence:
    """One number per group, but for the cosines."""

    n: Index
    mean_cosine: Vector
    pairwise: Vector
    mean_cosine_error: Vector
    pairwise_error: Vector
    """Standard errors from other rows (or units) of the group and of the controls."""
    degrees: Vector
    """Units less one."""
    magnitude: Vector
    noise: Vector
    """What noise adds to the squared magnitude: (variance of the group) / n + (of the controls) / n_controls."""
    spread: Vector
    cosines: Vector
    """Of each row, to the mean shift of its group; NaN outside all groups and for shifts of no length."""


def evidence(rows: RowPieces, layout: Layout, centred: bool = True) -> Evidence:
    """Score every group against the mean of its controls.

    Parameters
    ----------
    rows : RowPieces
        The rows themselves, or (not `centred`) shifts that have a reference of their own each.
    layout : Layout
    centred : bool
        Whether the mean of the controls of a row's block is taken off.
    """
    return _Passes(rows, layout, centred).evidence()


class _Passes:
    """The rows are read four times; what lies between are sums of a group's rows in a block."""

    def __init__(self, rows: RowPieces, layout: Layout, centred: bool) -> None:
        self.rows, self.layout = rows, layout
        self.part, self.shape = layout.part, (layout.n_groups, layout.n_blocks)
        self.inside = np.flatnonzero(self.part >= 0)
        self.n_part = layout.part_sizes()
        self.n = self.n_part.sum(axis=1)
        self.d = rows.shape[1]
        self.references = self._references() if centred else np.zeros((layout.n_blocks, self.d))
        self.centred = centred

    def _references(self) -> Matrix:
        counts = np.bincount(self.layout.block[self.layout.controls], minlength=self.layout.n_blocks)
        sums = self.rows.sums(self.layout.control_block, self.layout.n_blocks)[0]
        return np.asarray(sums / np.maximum(counts, 1)[:, None])

    def evidence(self) -> Evidence:
        self._shift()
        self._turn()
        self._influence()
        self._of_controls()
        of_mean, of_pair = np.sqrt(self.own_variance + self.control_variance)
        return Evidence(
            self.n,
            self.mean_cosine,
            self.pairwise,
            of_mean,
            of_pair,
            self.degrees,
            self.magnitude,
            self.noise,
            self.spread,
            self.cosines,
        )

    def _shift(self) -> None:
        """First pass: mean shifts."""
        sums = self._by_part(None)[0]
        self.means = sums.sum(axis=1) / self.n[:, None]
        lost = (self.n_part[:, :, None] * self.references).sum(axis=1) / self.n[:, None]
        self.shifts = self.means - lost
        self.magnitude = np.linalg.norm(self.shifts, axis=1)

    def _turn(self) -> None:
        """Second pass: the length and the direction of each row's shift, and the sum of the unit shifts."""
        squared = self.rows.squared_lengths()
        vectors = np.stack(
            [
                self._per_part(self.references[None]),
                self._per_part(self.shifts[:, None]),
                self._per_part(self._spans()),
            ],
            1,
        )
        by_reference, by_shift, by_mean = self.rows.products(self.part, vectors).T
        reference = self._of_rows(np.einsum("bd,bd->b", self.references, self.references)[None])
        lengths = np.sqrt(np.maximum(0.0, squared - 2 * by_reference + reference))
        own = self._of_rows(np.einsum("gbd,gbd->gb", self._spans(), self._spans()))
        off_mean = np.maximum(0.0, squared - 2 * by_mean + own)
        self.spread = self._mean_over(np.sqrt(off_mean))
        self.scatter = self._mean_over(off_mean)
        longest = np.nanmax(lengths[self.inside])
        self.inverse = np.where(lengths > NO_DIRECTION * longest, 1 / np.maximum(lengths, 1e-300), 0.0)
        self.directed = np.bincount(self._group_of(), weights=self.inverse[self.inside] > 0, minlength=self.shape[0])
        along = by_shift - self._of_rows(np.einsum("bd,gd->gb", self.references, self.shifts))
        there = self.magnitude > NO_DIRECTION * longest
        size = np.where(there, self.magnitude, np.nan)
        self.cosines = np.where(self.inverse > 0, along * self.inverse / self._of_rows(size[:, None]), np.nan)
        self.cosines[self.part < 0] = np.nan
        weighted = self._by_part(self.inverse[None])[0]
        total = self._sum_parts(self.inverse)
        self.units = (weighted - total[:, :, None] * self.references).sum(axis=1)
        known = np.where(self.directed > 1, self.directed, np.nan)
        self.mean_cosine = np.einsum("gd,gd->g", self.units, self.shifts) / (known * size)
        self.pairwise = (np.einsum("gd,gd->g", self.units, self.units) - known) / (known * (known - 1))
        self.size, self.known = size, known

    def _influence(self) -> None:
        """Third pass: how much each row moves the scores, and how much its reference does."""
        mean_unit = self.units / self.known[:, None]
        direction = self.shifts / self.size[:, None]
        across = mean_unit - self.mean_cosine[:, None] * direction
        vectors = np.stack([self._per_part(self.units[:, None]), self._per_part(across[:, None])], 1)
        by_units, by_across = self.rows.products(self.part, vectors).T
        to_units = self.inverse * (by_units - self._of_rows(np.einsum("bd,gd->gb", self.references, self.units)))
        to_across = by_across - self._of_rows(np.einsum("bd,gd->gb", self.references, across))
        n, known, size = (self._of_rows(one[:, None]) for one in (self.n, self.known, self.size))
        cosines = np.nan_to_num(self.cosines)
        of_mean = np.where(self.inverse > 0, cosines - self._of_rows(self.mean_cosine[:, None]), 0.0) * n / known
        # The shift along `across` has mean zero: it is across the mean shift.
        of_mean += to_across / size
        of_pair = np.where(self.inverse > 0, (to_units - 1) / (known - 1) - self._of_rows(self.pairwise[:, None]), 0.0)
        self.own_variance, self.degrees = self._variances(of_mean, of_pair)
        slopes = self._by_part(np.stack([cosines, to_units]) * self.inverse**2)
        counted = np.stack([self._sum_parts(one) for one in np.stack([cosines, to_units]) * self.inverse**2])
        total = self._sum_parts(self.inverse)[:, :, None]
        turned = slopes - counted[..., None] * self.references
        known, n = self.known[:, None, None], self.n[:, None, None]
        share = (self.n_part / self.n[:, None])[:, :, None]
        self.slopes = np.stack(
            [
                -(total * direction[:, None] - turned[0]) / known - share * (across / self.size[:, None])[:, None],
                -2 * (total * self.units[:, None] - turned[1]) / (known * (known - 1)),
            ]
        )

    def _of_controls(self) -> None:
        """Fourth pass: what other controls would change, through the means that the shifts start from."""
        layout = self.layout
        self.control_variance = np.zeros((2, self.shape[0]))
        control_scatter = np.zeros(self.shape[0])
        for block in range(layout.n_blocks) if self.centred else ():
            rows = layout.controls[layout.block[layout.controls] == block]
            if not len(rows):
                continue
            deviations, factor, scatter = self._deviations(rows, block)
            for k, slope in enumerate(self.slopes[:, :, block]):
                moved = deviations @ slope.T
                self.control_variance[k] += factor * (moved**2).sum(axis=0)
            control_scatter += (self.n_part[:, block] / self.n) ** 2 * scatter / len(rows)
        self.noise = self.scatter * self.n / np.maximum(self.n - 1, 1) / self.n + control_scatter

    def _deviations(self, rows: Index, block: int) -> tuple[Matrix, float, float]:
        """Return deviations of units of controls, the factor of their squares, and the variance of a control."""
        held = rows[np.linspace(0, len(rows) - 1, min(len(rows), _HELD_CONTROLS)).astype(np.intp)]
        taken = self.rows.taken(held)
        dense = np.asarray(taken.toarray() if hasattr(taken, "toarray") else taken) - self.references[block]
        scatter = float((dense**2).sum()) / max(1, len(held) - 1)
        n_units, shrunk = len(held), len(held) * len(rows)
        if self.layout.unit is not None:
            codes, own = np.unique(self.layout.unit[held], return_inverse=True)
            if len(codes) > 1:
                n_units, shrunk = len(codes), len(held) ** 2
                dense = np.stack([dense[own == code].sum(axis=0) for code in range(n_units)])
        return dense, n_units / max(1, n_units - 1) / shrunk, scatter

    def _variances(self, of_mean: Vector, of_pair: Vector) -> tuple[Matrix, Vector]:
        """Variances of both scores from the influence of rows, or of units of rows, and units less one."""
        group = self._group_of()
        values = np.stack([of_mean[self.inside], of_pair[self.inside]])
        if self.layout.unit is not None:
            # Rows of a unit move together: their influences add up before they are squared.
            codes, first, own = np.unique(
                np.stack([group, self.layout.unit[self.inside]]), axis=1, return_index=True, return_inverse=True
            )
            own = own.ravel()
            values = np.stack([np.bincount(own, weights=one, minlength=codes.shape[1]) for one in values])
            group = group[first]
        n_units = np.bincount(group, minlength=self.shape[0]).astype(np.float64)
        squares = np.stack([np.bincount(group, weights=one**2, minlength=self.shape[0]) for one in values])
        with np.errstate(divide="ignore", invalid="ignore"):
            spare = np.where(n_units > 1, n_units / (n_units - 1), np.nan)
            variance = squares * spare / self.n**2
            # A pair has two rows; as the jackknife of a mean over pairs has it.
            variance[1] *= 4 * ((self.known - 1) / (self.known - 2)) ** 2
        return variance, n_units - 1

    def _spans(self) -> NDArray[np.float64]:
        """Where the middle of a group's rows lies within each block: its mean shift from the block's reference."""
        return np.asarray(self.references[None] + self.shifts[:, None])

    def _per_part(self, vectors: NDArray[np.float64]) -> Matrix:
        """Vectors of groups, of blocks or of both, one line per part."""
        return np.asarray(np.broadcast_to(vectors, (*self.shape, self.d)).reshape(-1, self.d))

    def _of_rows(self, numbers: NDArray[np.float64] | NDArray[np.intp]) -> Vector:
        """Numbers of groups, of blocks or of both, one per row; NaN outside all groups."""
        flat = np.append(np.broadcast_to(numbers, self.shape).ravel(), np.nan)
        return np.asarray(flat[self.part])

    def _by_part(self, weights: Matrix | None) -> NDArray[np.float64]:
        safe = None if weights is None else np.where(self.part >= 0, np.nan_to_num(weights), 0.0)
        sums = self.rows.sums(self.part, self.shape[0] * self.shape[1], safe)
        shaped: NDArray[np.float64] = sums.reshape(len(sums), *self.shape, self.d)
        return shaped

    def _sum_parts(self, values: Vector) -> Matrix:
        cells = self.shape[0] * self.shape[1]
        return np.asarray(np.bincount(self.part[self.inside], values[self.inside], cells).reshape(self.shape), float)

    def _group_of(self) -> Index:
        return np.asarray(self.layout.group[self.inside])

    def _mean_over(self, values: Vector) -> Vector:
        return np.asarray(np.bincount(self._group_of(), values[self.inside], self.shape[0]) / self.n)
