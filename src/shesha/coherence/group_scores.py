"""Score each group, with standard errors, and many null groups from sums over their shifts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from shesha.coherence.chunked_matrix import RowPieces
from shesha.coherence.controls import GroupLayout, Pool
from shesha.coherence.scores import NO_DIRECTION
from shesha.support.types import Index, Mask, Matrix, Vector


@dataclass
class Tally:
    """Sums over the shifts of one group, accumulated over blocks."""

    units: Vector
    shifts: Vector
    n: int = 0
    directed: int = 0
    square: float = 0.0
    """Sum of the squared lengths of the shifts."""
    noise: float = 0.0
    """Expected contribution of the references' sampling error to the squared magnitude, times n squared."""

    @classmethod
    def empty(cls, n_features: int) -> Tally:
        """Return sums over no shifts."""
        return cls(np.zeros(n_features), np.zeros(n_features))

    def add(self, members: Matrix, squared: Vector, total: Vector, reference: Vector, noise: float) -> Vector:
        """Add rows whose shifts all start from one reference, given their squared lengths, sum, and noise.

        Return one over the length of each shift, or 0 for zero shifts.
        """
        squared = np.maximum(0.0, squared - 2 * (members @ reference) + reference @ reference)
        lengths = np.sqrt(squared)
        floor = NO_DIRECTION * lengths.max(initial=0.0)
        inverse = np.where(lengths > floor, 1 / np.maximum(lengths, 1e-300), 0.0)
        self.units += inverse @ members - inverse.sum() * reference
        self.shifts += total - len(members) * reference
        self.n += len(members)
        self.directed += int((inverse > 0).sum())
        self.square += float(squared.sum())
        self.noise += len(members) ** 2 * noise
        return inverse

    def add_shifts(self, shifts: Matrix) -> Vector:
        """Add shifts that each start from a reference of their own."""
        none = np.zeros(shifts.shape[1])
        return self.add(shifts, np.einsum("ij,ij->i", shifts, shifts), shifts.sum(axis=0), none, 0.0)

    def scores(self) -> Vector:
        """Return mean cosine, pairwise cosine, magnitude and magnitude / its noise; NaN if undefined."""
        numbers = (np.array([value]) for value in (self.directed, self.square, self.noise, self.n))
        return np.asarray(scores_of_sums(self.units[None], self.shifts[None], *numbers)[0])


def null_group_reference(
    mean: Matrix, others: Matrix, n: int | Index, n_excluded: int | Index, n_controls: int
) -> Matrix:
    """Return a null group's reference, corrected so that shifts vary as much as those of a real group.

    A null group leaves N - a of N controls, so its mean shift has variance 1/n + 1/(N - a) instead of 1/n + 1/N. The
    correction multiplies the mean shift by the square root of the ratio of these variances. It is exact for Gaussian
    noise, because deviations from a mean are independent of this mean.

    Parameters
    ----------
    mean, others : arrays of shape (d,) or (n_groups, d)
        Means of the null group and of the remaining controls.
    n, n_excluded : int, or arrays of shape (n_groups, 1)
        Number n of rows in the null group, and number a of rows that are excluded from its controls (all rows of its
        units).
    n_controls : int
        Number N of all controls.
    """
    step = np.sqrt((1 / n + 1 / n_controls) / (1 / n + 1 / (n_controls - n_excluded)))
    return np.asarray(mean - step * (mean - others))


def windows(
    pools: Sequence[Pool], sizes: Index, rng: np.random.Generator, active: Mask | None = None
) -> NDArray[np.float64]:
    """Score one null group per (active) size; the groups are consecutive stretches of the permuted controls.

    The stretches follow one another, so that null groups share rows only if there are too few controls for all of them.
    The shifts of a null group start from the mean of the controls outside it.

    Parameters
    ----------
    pools : sequence of Pool, one per block
    sizes : array of shape (n_groups, n_blocks)
        Number of rows of each group in each block, which must be smaller than the pool.
    rng : Generator
    active : array of bool, optional
        Which groups are scored. The others still have their stretches, so the scores do not depend on this.

    Returns
    -------
    array of shape (n_groups, 4)
        Mean cosine, pairwise cosine, magnitude, and magnitude relative to its noise.
    """
    d = pools[0].rows.shape[1]
    scored = np.ones(len(sizes), dtype=bool) if active is None else active
    units, shifts = np.zeros((2, int(scored.sum()), d))
    directed, square, noise = np.zeros((3, len(units)))
    for pool, all_sizes in zip(pools, sizes.T, strict=True):
        if all_sizes.any():
            sizes_in_pool = all_sizes[scored]
            of_units, of_shifts, counted, squares = _window_sums(pool, all_sizes, rng, scored)
            units += of_units
            shifts += of_shifts
            directed += counted
            square += squares
            noise += sizes_in_pool**2 * pool.scatter / len(pool)
    return scores_of_sums(units, shifts, directed, square, noise, sizes[scored].sum(axis=1))


def _window_sums(
    pool: Pool, sizes: Index, rng: np.random.Generator, scored: Mask
) -> tuple[Matrix, Matrix, Vector, Vector]:
    """Return sums over the scored stretches of one pool: unit shifts, shifts, nonzero shifts, squared lengths."""
    order = rng.permutation(len(pool))
    order = np.append(order, order[: sizes.max()])
    starts = ((np.cumsum(sizes) - sizes) % len(pool))[scored]
    sizes = sizes[scored]
    # Late draws score only a few of the stretches, so only their rows are gathered.
    covered = np.cumsum(
        np.bincount(starts, minlength=len(order) + 1) - np.bincount(starts + sizes, minlength=len(order) + 1)
    )
    order = order[covered[:-1] > 0]
    starts = np.searchsorted(np.flatnonzero(covered > 0), starts)
    rows = pool.rows[order]
    stretches = [rows[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    # A product with ones is several times faster than a sum along the first axis.
    totals = np.stack([np.ones(len(stretch)) @ stretch for stretch in stretches])
    used = np.flatnonzero(sizes)
    n = np.maximum(sizes, 1)[:, None]
    others = (pool.total - totals) / (len(pool) - sizes)[:, None]
    references = null_group_reference(totals / n, others, n, sizes[:, None], len(pool))
    # Only the products need a call per stretch. All other steps run over all stretches at once, because separate calls
    # would take as long as the sums themselves.
    ends = np.cumsum(sizes)
    projections = np.empty(int(ends[-1]))
    for g in used:
        np.dot(stretches[g], references[g], out=projections[ends[g] - sizes[g] : ends[g]])
    place = np.arange(len(projections)) + np.repeat(starts - (ends - sizes), sizes)
    squared = pool.squared[order[place]] + np.repeat((references**2).sum(axis=1), sizes) - 2 * projections
    lengths = np.sqrt(np.maximum(squared, 0.0, out=squared))
    inverse = np.where(lengths > NO_DIRECTION * lengths.max(initial=0.0), 1 / np.maximum(lengths, 1e-300), 0.0)
    units = np.zeros_like(totals)
    for g in used:
        np.dot(inverse[ends[g] - sizes[g] : ends[g]], stretches[g], out=units[g])
    bounds = np.append(0, ends)
    sums_of = [np.diff(np.append(0.0, np.cumsum(values))[bounds]) for values in (inverse, inverse > 0, squared)]
    return units - sums_of[0][:, None] * references, totals - sizes[:, None] * references, sums_of[1], sums_of[2]


def scores_of_sums(units: Matrix, shifts: Matrix, directed: Vector, square: Vector, noise: Vector, n: Index) -> Matrix:
    """Return mean cosine, pairwise cosine, magnitude and magnitude / its noise; NaN for zero shifts."""
    length = np.linalg.norm(shifts, axis=-1)
    known = np.where(directed > 1, directed, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(length > 0, (units * shifts).sum(axis=-1) / (length * known), np.nan)
        pairwise = np.where(length > 0, ((units**2).sum(axis=-1) - known) / (known * (known - 1)), np.nan)
    magnitude = length / np.maximum(n, 1)
    noise = (square / n - magnitude**2) / np.maximum(n - 1, 1) + noise / n**2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.stack([mean, pairwise, magnitude, magnitude / np.sqrt(noise)], axis=-1)


def members(pools: Sequence[Pool], chosen: Sequence[Index], *, corrected: bool = True) -> Vector:
    """Score one null group, whose rows are excluded from its controls.

    Parameters
    ----------
    pools : sequence of Pool, one per block
    chosen : sequence of index arrays, one per block
        Indices of the rows of the null group.
    corrected : bool
        Whether to correct the reference. Use True if the shifts of the real group start from the mean of all rows of
        the pools, and False if they start from the mean of the remaining rows only.
    """
    tally = Tally.empty(pools[0].rows.shape[1])
    for pool, indices in zip(pools, chosen, strict=True):
        if len(indices):
            add_members(tally, pool, indices, indices, corrected=corrected)
    return tally.scores()


def add_members(tally: Tally, pool: Pool, chosen: Index, excluded: Index, *, corrected: bool) -> tuple[Vector, Vector]:
    """Add the rows of a null group in one pool; return their reference, and one over the lengths of their shifts."""
    rows = pool.rows[chosen]
    total, n_left = rows.sum(axis=0), len(pool) - len(excluded)
    reference = (pool.total - pool.rows[excluded].sum(axis=0)) / n_left
    if corrected:
        reference = null_group_reference(total / len(chosen), reference, len(chosen), len(excluded), len(pool))
    noise = pool.scatter / (len(pool) if corrected else n_left)
    return reference, tally.add(rows, pool.squared[chosen], total, reference, noise)


class Parts:
    """Rows by group and block, with functions that sum over these parts or assign values to their rows."""

    def __init__(self, rows: RowPieces, layout: GroupLayout, *, centred: bool) -> None:
        self.rows, self.layout, self.centred = rows, layout, centred
        self.shape = layout.n_groups, layout.n_blocks
        self.code = layout.part
        self.inside = np.flatnonzero(self.code >= 0)
        self.group: Index = layout.group[self.inside]
        self.sizes = layout.part_sizes()
        self.n = self.sizes.sum(axis=1)
        self.references = self._references() if centred else np.zeros((layout.n_blocks, rows.shape[1]))

    def _references(self) -> Matrix:
        """Return the mean of the controls in each block."""
        n_blocks = self.layout.n_blocks
        counts = np.bincount(self.layout.block[self.layout.controls], minlength=n_blocks)
        return np.asarray(self.rows.sums(self.layout.control_block, n_blocks)[0] / np.maximum(counts, 1)[:, None])

    def row_sums(self, weights: Matrix | None = None) -> NDArray[np.float64]:
        """Sum the rows of each part, minus their reference, with weights: (k, n_groups, n_blocks, n_features).

        Parameters
        ----------
        weights : array of shape (k, n), optional
            Default: one set, with weight 1 for every row.
        """
        weights = (
            np.ones((1, len(self.code))) if weights is None else np.where(self.code >= 0, np.nan_to_num(weights), 0.0)
        )
        sums = self.rows.sums(self.code, self.shape[0] * self.shape[1], weights).reshape(len(weights), *self.shape, -1)
        for of_set, row_weights in zip(sums, weights, strict=True):
            of_set -= self.sums(row_weights)[..., None] * self.references
        return sums

    def products(self, *vectors: NDArray[np.float64]) -> Matrix:
        """Return inner products of each row, minus its reference, with its group's or part's vectors: (k, n).

        Parameters
        ----------
        *vectors : arrays of shape (n_groups, n_features) or (n_groups, n_blocks, n_features)
        """
        d = self.rows.shape[1]
        full = [np.broadcast_to(v if v.ndim == 3 else v[:, None], (*self.shape, d)) for v in vectors]
        products = self.rows.products(self.code, np.stack([v.reshape(-1, d) for v in full], axis=1)).T
        return np.stack(
            [
                product - self.spread_to_rows((v * self.references).sum(axis=-1))
                for product, v in zip(products, full, strict=True)
            ]
        )

    def squared_lengths(self) -> Vector:
        """Return the squared length of each row minus its reference; NaN outside all groups."""
        on_block = np.broadcast_to(self.references, (*self.shape, self.rows.shape[1]))
        projections = self.rows.products(self.code, on_block.reshape(-1, 1, self.rows.shape[1]))[:, 0]
        reference = self.spread_to_rows((self.references**2).sum(axis=1)[None])
        return np.maximum(0.0, self.rows.squared_lengths() - 2 * projections + reference)

    def spread_to_rows(self, numbers: NDArray[np.float64] | Index) -> Vector:
        """Assign to each row the value of its group or part; NaN outside all groups."""
        shaped = numbers[:, None] if numbers.ndim == 1 else numbers
        return np.append(np.broadcast_to(shaped, self.shape).ravel(), np.nan)[self.code]

    def sums(self, values: Vector) -> Matrix:
        """Sum values of the rows over each part: (n_groups, n_blocks)."""
        counted = np.bincount(self.code[self.inside], values[self.inside], self.shape[0] * self.shape[1])
        return np.asarray(counted.reshape(self.shape), dtype=np.float64)

    def means(self, values: Vector) -> Vector:
        """Return the mean of values of the rows over each group."""
        return np.asarray(self.sums(values).sum(axis=1) / self.n)


@dataclass(frozen=True)
class Shifts:
    """Summaries of shifts from which the scores and their standard errors are computed."""

    inverse: Vector
    """One over the length of each row's shift; 0 if the shift is zero."""
    cosine: Vector
    """Cosine between each row's shift and the mean shift of its group."""
    units: Matrix
    """Sum of the unit shifts of each group."""
    directed: Vector
    """Number of rows in each group with a nonzero shift; NaN if there are fewer than two."""
    mean_cosine: Vector
    pairwise: Vector


PAIR = 1
"""Column of the pairwise cosine in the arrays of scores."""


def mean_cosine_over_units(total: Matrix, units: Matrix, counts: Matrix) -> Vector:
    """Return the mean cosine over pairs of rows from different units.

    Parameters
    ----------
    total : array of shape (..., n_features)
        Sum of the unit shifts of a group.
    units : array of shape (..., n_units)
        Squared length of the sum of the unit shifts of each sampling unit.
    counts : array of shape (..., n_units)
        Number of nonzero shifts of each sampling unit.
    """
    n = counts.sum(axis=-1)
    n_pairs = n**2 - (counts**2).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(((total**2).sum(axis=-1) - units.sum(axis=-1)) / np.where(n_pairs > 0, n_pairs, np.nan))


@dataclass(frozen=True)
class UnitSums:
    """Sums over the rows of each sampling unit of a group."""

    group: Index
    """Group of each sampling unit."""
    row_unit: Index
    """Sampling unit of each row; -1 outside all groups."""
    directions: Matrix
    """Sum of the unit shifts of each sampling unit."""
    shifts: Matrix
    counts: Vector
    """Number of nonzero shifts."""

    @classmethod
    def build(cls, parts: Parts, inverse: Vector) -> UnitSums:
        """Add up the shifts of each unit, and their directions."""
        layout = parts.layout
        assert layout.unit is not None
        keys = np.stack([parts.group, layout.unit[parts.inside], layout.block[parts.inside]])
        cells, cell = np.unique(keys, axis=1, return_inverse=True)
        pairs, unit_of_cell = np.unique(cells[:2], axis=1, return_inverse=True)
        codes = np.full(len(layout.group), -1)
        codes[parts.inside] = cell.ravel()
        weights = np.stack([np.where(codes >= 0, inverse, 0.0), (codes >= 0).astype(np.float64)])
        sums = parts.rows.sums(codes, cells.shape[1], weights)
        added = np.stack([np.bincount(cell.ravel(), row[parts.inside], cells.shape[1]) for row in weights])
        sums -= added[:, :, None] * parts.references[cells[2]]
        per_unit = np.zeros((2, pairs.shape[1], sums.shape[2]))
        for k in range(2):
            np.add.at(per_unit[k], unit_of_cell.ravel(), sums[k])
        row_unit = np.full(len(layout.group), -1)
        row_unit[parts.inside] = unit_of_cell.ravel()[cell.ravel()]
        counts = np.bincount(row_unit[parts.inside], inverse[parts.inside] > 0, pairs.shape[1]).astype(np.float64)
        return cls(pairs[0], row_unit, per_unit[0], per_unit[1], counts)

    def units_in_group(self, g: int) -> Index:
        """Return the units of a group."""
        return np.flatnonzero(self.group == g)

    def mean_cosines(self, n_groups: int) -> Vector:
        """Return the mean cosine over pairs from different units, for each group."""
        return np.array([self._mean_cosine(self.units_in_group(g)) for g in range(n_groups)])

    def _mean_cosine(self, units: Index) -> float:
        vectors = self.directions[units]
        return float(mean_cosine_over_units(vectors.sum(axis=0), (vectors**2).sum(axis=1), self.counts[units]))

    def jackknife_variances(self, n_groups: int) -> Vector:
        """Return the variance of each group's mean cosine, from leaving out one unit at a time."""
        variances = np.full(n_groups, np.nan)
        for g in range(n_groups):
            units = self.units_in_group(g)
            if len(units) > 2:
                values = np.array([self._mean_cosine(np.delete(units, k)) for k in range(len(units))])
                variances[g] = (len(units) - 1) * values.var()
        return variances

    def slopes(self, parts: Parts, shifts: Shifts) -> NDArray[np.float64]:
        """Return the derivatives of the mean cosine with respect to the reference of each block."""
        others = shifts.units[self.group] - self.directions
        projections = parts.rows.products(self.row_unit, others[:, None])[:, 0]
        references = parts.references[parts.layout.block[parts.inside]]
        projections[parts.inside] -= np.einsum("ij,ij->i", references, others[self.row_unit[parts.inside]])
        turned = parts.row_sums((projections * shifts.inverse**3)[None])[0]
        n_blocks = parts.shape[1]
        place = self.row_unit[parts.inside] * n_blocks + parts.layout.block[parts.inside]
        added = np.bincount(place, shifts.inverse[parts.inside], len(self.group) * n_blocks).reshape(-1, n_blocks)
        totals = np.zeros_like(turned)
        np.add.at(totals, self.group, added[:, :, None] * others[:, None])
        counts = [self.counts[self.units_in_group(g)] for g in range(parts.shape[0])]
        n_pairs = np.array([one.sum() ** 2 - (one**2).sum() for one in counts], dtype=np.float64)
        return np.asarray(2 * (turned - totals) / np.where(n_pairs > 0, n_pairs, np.nan)[:, None, None])

    def sign_flips(self, g: int, squares: float, n: int, signs: Matrix) -> Matrix:
        """Return the scores of a group under random signs of its units: (n_draws, 4).

        Parameters
        ----------
        g : int
            Code of the group.
        squares : float
            Sum of the squared lengths of its shifts.
        n : int
            Number of its rows.
        signs : array of shape (n_draws, n_units)
        """
        units = self.units_in_group(g)
        if not len(signs):
            return np.empty((0, 4))
        directions, shifts, counts = self.directions[units], self.shifts[units], self.counts[units]
        turned = signs @ directions
        scores = scores_of_sums(
            turned, signs @ shifts, counts.sum(keepdims=True), np.array([squares]), np.zeros(1), np.array([n])
        )
        scores[:, PAIR] = mean_cosine_over_units(turned, (directions**2).sum(axis=1)[None], counts[None])
        return scores


def unit_signs(n_units: int, n_draws: int, rng: np.random.Generator) -> Matrix:
    """Return signs of the units: all choices except the observed one and its opposite, or random draws."""
    if n_units <= 1 + np.log2(n_draws + 1):
        # Scores do not change if all units change sign, so the first unit keeps its sign.
        choices = [(1.0, *rest) for rest in product((1.0, -1.0), repeat=max(0, n_units - 1))][1:]
        return np.array(choices, dtype=np.float64).reshape(len(choices), n_units)
    return rng.choice([-1.0, 1.0], size=(n_draws, n_units))


_HELD_CONTROLS = 4096
"""Maximum number of controls, evenly spaced, from which the standard error of their mean is computed."""


def row_variance(parts: Parts, shifts: Shifts) -> tuple[Vector, NDArray[np.float64]]:
    """Return the variance of each group's pairwise cosine over its rows, and its derivatives by the references.

    Parameters
    ----------
    parts : Parts
    shifts : Shifts

    Returns
    -------
    variance : array of shape (n_groups,)
    slopes : array of shape (n_groups, n_blocks, n_features)
        Derivatives with respect to the reference of each block.
    """
    (to_units,) = parts.products(shifts.units)
    to_units *= shifts.inverse
    share = parts.spread_to_rows(parts.n) / (directed := parts.spread_to_rows(shifts.directed))
    values = np.where(shifts.inverse > 0, (to_units - 1) / (directed - 1) - parts.spread_to_rows(shifts.pairwise), 0.0)
    squares = np.bincount(parts.group, (values * share)[parts.inside] ** 2, parts.shape[0])
    variance = squares * (parts.n / np.where(parts.n > 1, parts.n - 1, np.nan)) / parts.n**2
    with np.errstate(divide="ignore", invalid="ignore"):
        # This is the jackknife factor for a mean over pairs, each of which contains two rows. Two rows form a single
        # pair, whose cosine has no standard error.
        variance *= 4 * ((shifts.directed - 1) / (shifts.directed - 2)) ** 2
    turned = parts.row_sums((to_units * shifts.inverse**2)[None])[0]
    total, n = parts.sums(shifts.inverse)[:, :, None], shifts.directed[:, None, None]
    return variance, 2 * (turned - total * shifts.units[:, None]) / (n * (n - 1))


def control_variance(parts: Parts, slopes: NDArray[np.float64]) -> tuple[Vector, Vector]:
    """Return the variances of the pairwise cosine and of the mean shift due to the sampling of controls.

    Parameters
    ----------
    parts : Parts
    slopes : array of shape (n_groups, n_blocks, n_features)

    Returns
    -------
    variance : array of shape (n_groups,)
        Of the pairwise cosine.
    noise : array of shape (n_groups,)
        Variance of the references, summed over features.
    """
    layout = parts.layout
    variance, noise = np.zeros(parts.shape[0]), np.zeros(parts.shape[0])
    for block in range(parts.shape[1]) if parts.centred else ():
        rows = layout.controls[layout.block[layout.controls] == block]
        if not len(rows):
            continue
        control_rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), _HELD_CONTROLS)).astype(np.intp)]
        controls, reference = parts.rows.take(control_rows), parts.references[block]
        values = controls @ slopes[:, block].T - reference @ slopes[:, block].T
        variance += _variance_of_mean(values, layout.unit, control_rows, len(rows))
        squares = controls.multiply(controls).sum() if hasattr(controls, "toarray") else float((controls**2).sum())
        scatter = (squares - len(control_rows) * float(reference @ reference)) / max(1, len(control_rows) - 1)
        noise += (parts.sizes[:, block] / parts.n) ** 2 * max(0.0, scatter) / len(rows)
    return variance, noise


def _variance_of_mean(values: Matrix, unit: Index | None, control_rows: Index, n: int) -> Vector:
    """Return the variance of a mean of n rows, from deviations of stored rows (one column per group)."""
    if unit is not None:
        codes, unit_codes = np.unique(unit[control_rows], return_inverse=True)
        if len(codes) > 1:
            sums = np.zeros((len(codes), values.shape[1]))
            np.add.at(sums, unit_codes, values)
            return np.asarray((sums**2).sum(axis=0) * len(codes) / (len(codes) - 1) / len(control_rows) ** 2)
    return np.asarray((values**2).sum(axis=0) / max(1, len(control_rows) - 1) / n)


@dataclass(frozen=True)
class GroupEvidence:
    """Scores of each group with standard errors, and the cosine of each row."""

    n: Index
    mean_cosine: Vector
    pairwise: Vector
    pairwise_error: Vector
    """Standard error, over new samples of the group's rows (or units) and of the controls."""
    degrees: Vector
    """Degrees of freedom: the number of units (or rows) minus one."""
    means: Matrix
    """Mean shift of each group."""
    magnitude: Vector
    noise: Vector
    """Noise expected in the squared magnitude: variance / n, added over the group and the controls."""
    spread: Vector
    cosines: Vector
    """Cosine between each row's shift and its group's mean shift; NaN outside groups and for zero shifts."""
    squares: Vector
    """Sum of the squared lengths of the shifts of each group."""
    units: UnitSums | None = None
    """Sums over the sampling units, if rows were sampled in units."""


def evidence(rows: RowPieces, layout: GroupLayout, *, centred: bool = True) -> GroupEvidence:
    """Score every group relative to the mean of its controls.

    Parameters
    ----------
    rows : RowPieces
        The rows; if `centred` is False, their shifts from individual references.
    layout : Layout
    centred : bool
        Whether to subtract from each row the mean of the controls in its block.
    """
    parts = Parts(rows, layout, centred=centred)
    mean = parts.row_sums()[0].sum(axis=1) / parts.n[:, None]
    squared = parts.squared_lengths()
    shifts, projections = _directions(parts, mean, squared)
    off_mean = np.maximum(0.0, squared - 2 * projections + parts.spread_to_rows((mean**2).sum(axis=1)))
    units = None if layout.unit is None else UnitSums.build(parts, shifts.inverse)
    if units is None:
        n_units = parts.n
        variance, slopes = row_variance(parts, shifts)
    else:
        # Rows of a unit share its own effects, so only pairs of rows from different units count.
        shifts = replace(shifts, pairwise=units.mean_cosines(parts.shape[0]))
        n_units = np.bincount(units.group, minlength=parts.shape[0])
        variance, slopes = units.jackknife_variances(parts.shape[0]), units.slopes(parts, shifts)
        if layout.is_paired:
            # Leaving out a unit leaves out its controls as well.
            slopes = np.zeros_like(slopes)
    of_controls, control_noise = control_variance(parts, slopes)
    return GroupEvidence(
        parts.n,
        shifts.mean_cosine,
        shifts.pairwise,
        pairwise_error=np.sqrt(variance + of_controls),
        degrees=n_units - 1.0,
        means=mean,
        magnitude=np.linalg.norm(mean, axis=1),
        noise=parts.means(off_mean) / np.maximum(parts.n - 1, 1) + control_noise,
        spread=parts.means(np.sqrt(off_mean)),
        cosines=shifts.cosine,
        squares=parts.sums(squared).sum(axis=1),
        units=units,
    )


def _directions(parts: Parts, mean: Matrix, squared: Vector) -> tuple[Shifts, Vector]:
    """Return the directions of the shifts, and the inner product of each with its group's mean shift."""
    lengths, magnitude = np.sqrt(squared), np.linalg.norm(mean, axis=1)
    floor = NO_DIRECTION * float(np.nanmax(lengths[parts.inside]))
    inverse = np.where(lengths > floor, 1 / np.maximum(lengths, 1e-300), 0.0)
    size = np.where(magnitude > floor, magnitude, np.nan)
    (projections,) = parts.products(mean)
    cosine = np.where(inverse > 0, projections * inverse / parts.spread_to_rows(size), np.nan)
    units = parts.row_sums(inverse[None])[0].sum(axis=1)
    n = parts.sums((inverse > 0).astype(np.float64)).sum(axis=1)
    n = np.where(n > 1, n, np.nan)
    mean_cosine = (units * mean).sum(axis=1) / (n * size)
    pairwise = ((units**2).sum(axis=1) - n) / (n * (n - 1))
    return Shifts(inverse, cosine, units, n, mean_cosine=mean_cosine, pairwise=pairwise), projections
