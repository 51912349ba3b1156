"""The role of each row (control or group), the pool of control rows, and the covariance that whitens features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.coherence.chunked_matrix import RowPieces
from shesha.inputs import validation as check
from shesha.kernels.condition_distances import ledoit_wolf
from shesha.support.device_arrays import to_dense
from shesha.support.types import Index, Mask, Matrix, Vector
from shesha.support.warnings import CalibrationWarning, warn
from shesha.support.wording import agree, count

FEWEST_CONTROLS = 5
"""Minimum number of controls whose mean can serve as a reference."""
_PAIRED = 0.5
"""Share of the rows of groups that must be in units with controls for shifts to start from the unit's own controls."""
LARGE = 0.15
"""Size of a group, relative to the number of controls, above which its labels are shuffled."""


@dataclass(frozen=True)
class GroupLayout:
    """Group, block and unit of each row, as codes; a part is the rows of one group in one block."""

    names: tuple[str, ...]
    """Names of the groups that are scored, in the order of their codes."""
    group: Index
    """Group of each row; -1 for controls, -2 for rows that are left out."""
    block: Index
    """Block of each row; 0 for all rows if there are no blocks."""
    unit: Index | None
    """Unit of each row (such as a guide or a donor), if rows were sampled in units."""
    excluded: dict[str, str]
    """For each group that is not scored, the reason why."""
    control: str
    """The labels of the controls, as text."""
    n_lonely: int = 0
    """Number of group rows that are left out because their block (or unit) has too few controls."""
    is_paired: bool = False
    """Whether the units of the groups contain controls too, so that shifts start from the controls of the same unit."""

    @property
    def n_groups(self) -> int:
        """Number of groups that are scored."""
        return len(self.names)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.block.max(initial=0)) + 1

    @property
    def part(self) -> Index:
        """Part of each row, coded as group * n_blocks + block; -1 outside all groups."""
        return np.where(self.group >= 0, self.group * self.n_blocks + self.block, -1)

    @property
    def controls(self) -> Index:
        """Row numbers of the controls."""
        return np.flatnonzero(self.group == -1)

    @property
    def control_block(self) -> Index:
        """Block of each control; -1 for all other rows."""
        return np.where(self.group == -1, self.block, -1)

    def part_sizes(self) -> Index:
        """Return the number of rows of each group in each block: (n_groups, n_blocks)."""
        inside = self.part[self.group >= 0]
        return np.bincount(inside, minlength=self.n_groups * self.n_blocks).reshape(self.n_groups, self.n_blocks)


def layout(
    labels: ArrayLike,
    control: Any,
    n_rows: int,
    *,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    min_size: int = 10,
) -> GroupLayout:
    """Divide the rows into controls and groups; state the reason for each group that cannot be scored.

    Parameters
    ----------
    labels : array of shape (n_rows,)
        Group of each row.
    control : label or collection of labels
        The labels of the controls.
    n_rows : int
    blocks, groups : arrays of shape (n_rows,), optional
        Block and sampling unit of each row. Default: a single block, and no units. If most rows of groups share
        their unit with controls, each unit is a block of its own.
    min_size : int
        Minimum number of rows in a group; smaller groups are excluded.

    Raises
    ------
    ValueError
        If labels do not fit the rows, a control label is missing, there are too few controls, or no group is left.
    """
    min_size = check.count(min_size, "min_size", minimum=2)
    codes, classes = check.labels(labels, n_rows, "labels")
    control_names = [
        str(label) for label in (control if isinstance(control, list | tuple | set | frozenset) else [control])
    ]
    known = [str(label) for label in classes]
    for label in control_names:
        if label not in known:
            raise ValueError(f"control must be one of the labels ({check.join_items(known)}), got {label!r}")
    is_control = np.isin(codes, [known.index(label) for label in control_names])
    block, unit = (
        None if labels is None else check.labels(labels, n_rows, name, min_classes=1)[0]
        for name, labels in (("blocks", blocks), ("groups", groups))
    )
    block = np.zeros(n_rows, dtype=np.intp) if block is None else block
    is_paired = unit is not None and bool(np.isin(unit[~is_control], unit[is_control]).mean() >= _PAIRED)
    if unit is not None:
        # Units that contain controls and other rows by exception count as two.
        block, unit = (_pairs(block, unit), unit) if is_paired else (block, _pairs(unit, is_control.astype(np.intp)))
    lonely = np.bincount(block[is_control], minlength=int(block.max()) + 1)[block] < FEWEST_CONTROLS
    if is_control.sum() < FEWEST_CONTROLS or lonely.all():
        where = " in one of the groups" if is_paired else "" if blocks is None else " in one block"
        most = int(np.bincount(block[is_control]).max(initial=0))
        raise ValueError(
            f"control must have at least {FEWEST_CONTROLS} rows{where}, got {int(is_control.sum())}"
            + f", at most {most} in each" * bool(where)
        )
    excluded, group_codes = _choose_groups(codes, known, control_names, lonely, min_size)
    if not group_codes:
        reasons = "; ".join(f"{name}: {why}" for name, why in list(excluded.items())[:3])
        raise ValueError(f"labels must contain at least one group that can be scored, got none ({reasons})")
    place = np.full(len(known), -2)
    place[group_codes] = np.arange(len(group_codes))
    return GroupLayout(
        tuple(known[code] for code in group_codes),
        np.where(lonely, -2, np.where(is_control, -1, place[codes])),
        block,
        unit=unit,
        excluded=excluded,
        control=" and ".join(control_names),
        n_lonely=int((lonely & ~is_control).sum()),
        is_paired=is_paired,
    )


def _pairs(first: Index, second: Index) -> Index:
    """Return codes of the pairs of two codes that occur."""
    return np.unique(np.stack([first, second]), axis=1, return_inverse=True)[1].ravel().astype(np.intp)


def _choose_groups(
    codes: Index, known: list[str], control_names: list[str], lonely: Mask, min_size: int
) -> tuple[dict[str, str], list[int]]:
    """Return the excluded groups with reasons, and the codes of all other groups."""
    excluded: dict[str, str] = {}
    group_codes: list[int] = []
    for code, name in enumerate(known):
        if name in control_names:
            continue
        rows = codes == code
        n, n_lonely = int(rows.sum()), int((rows & lonely).sum())
        if n - n_lonely >= min_size:
            group_codes.append(code)
            continue
        lonely_text = f" ({n_lonely} more in blocks with fewer than {FEWEST_CONTROLS} controls)" if n_lonely else ""
        excluded[name] = f"{count(n - n_lonely, 'row')}, fewer than {min_size}{lonely_text}"
    return excluded, group_codes


def warn_of_shared_rows(controls: Matrix, rows: Matrix, *, controls_name: str, rows_name: str) -> None:
    """Warn if rows are also among the controls, because such rows move the mean control."""
    known = {row.tobytes() for row in controls}
    shared = sum(row.tobytes() in known for row in rows)
    if shared:
        warn(
            f"{count(shared, 'row')} of {rows_name} {agree(shared, 'is', 'are')} also among the controls, which biases "
            f"coherence and effect size. Remove such rows from {controls_name}",
            CalibrationWarning,
        )


def whitening_matrix(centred: Matrix, shrinkage: float | None) -> tuple[Matrix, float]:
    """Return the inverse square root of the shrunk covariance, (d, d), and the share of the identity in it.

    Parameters
    ----------
    centred : array of shape (n, d)
        Controls, each minus the mean of the controls in its block.
    shrinkage : float, optional
        Share of the identity, in [0, 1]. Default: the estimate of Ledoit and Wolf.
    """
    n, d = centred.shape
    products = centred.T @ centred
    share = (
        ledoit_wolf(centred, products, d) if shrinkage is None else check.require_at_least(shrinkage, "shrinkage", 0.0)
    )
    if share > 1:
        raise ValueError(f"shrinkage must be at most 1, got {share:g}")
    covariance = products / n
    scale = np.trace(covariance) / d
    values, vectors = np.linalg.eigh((1 - share) * covariance + share * scale * np.eye(d))
    if not values[-1] > 0 or values[0] <= 1e-12 * values[-1]:
        raise ValueError(
            f"shrinkage must make the covariance of the controls invertible, got {share:g}: the controls vary in fewer "
            "directions than there are features"
        )
    return vectors / np.sqrt(values) @ vectors.T, share


_ENTRIES = 1 << 24
"""Maximum number of entries to store; if there are more, only evenly spaced control rows are stored."""
_HELD = 4096
"""Number of rows that is stored at least, if there are that many controls."""
_SPANNED = 2048
"""Number of rows that is stored at least, if there are more features than this."""


@dataclass(frozen=True)
class Pool:
    """Rows of one block, centred on their own mean."""

    rows: Matrix
    numbers: Index
    """Row numbers in the data."""

    @cached_property
    def total(self) -> Vector:
        """Sum of the rows."""
        return np.asarray(self.rows.sum(axis=0))

    @cached_property
    def squared(self) -> Vector:
        """Squared lengths of the rows."""
        return np.asarray(np.einsum("ij,ij->i", self.rows, self.rows))

    @cached_property
    def scatter(self) -> float:
        """Variance of the rows, summed over features."""
        centred = self.squared.sum() - self.total @ self.total / len(self)
        return float(centred / max(1, len(self) - 1))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)


def build_pool(rows: RowPieces, numbers: Index, largest: int) -> Pool:
    """Store enough of these rows to draw groups of up to `largest` rows, in few coordinates.

    Parameters
    ----------
    rows : RowPieces
    numbers : array of int
        Row numbers of the candidates.
    largest : int
        Number of rows of the largest group.
    """
    wide = rows.shape[1] > _SPANNED
    fewest = max(2 * largest, _SPANNED if wide else max(_HELD, _ENTRIES // rows.shape[1]))
    if len(numbers) > fewest:
        numbers = numbers[np.linspace(0, len(numbers) - 1, fewest).astype(np.intp)]
    if not len(numbers):
        return Pool(np.empty((0, rows.shape[1])), numbers)
    pool_rows = rows.take(numbers)
    if wide and len(numbers) < rows.shape[1]:
        return Pool(_span_coordinates(pool_rows), numbers)
    dense = to_dense(pool_rows)
    return Pool(np.ascontiguousarray(dense - dense.mean(axis=0)), numbers)


def _span_coordinates(pool_rows: Any) -> Matrix:
    """Return fewer coordinates with the same centred inner products, which suffice for all scores."""
    gram = pool_rows @ pool_rows.T
    gram = to_dense(gram)
    gram = gram - gram.mean(axis=0)
    gram -= gram.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    return np.ascontiguousarray(vectors * np.sqrt(np.maximum(values, 0.0)))
