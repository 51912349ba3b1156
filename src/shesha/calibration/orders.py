"""Permutations of rows: free, within blocks, or of whole groups; and whether there are enough of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma, log

import numpy as np
from numpy.typing import ArrayLike

from shesha import _validate as check
from shesha._random import generator
from shesha._types import Index, Seed
from shesha._warnings import CalibrationWarning, warn


@dataclass(frozen=True)
class Design:
    """Which rows may take each other's place: lists of units of equal size; a unit is one row or a whole group."""

    n_rows: int
    exchangeable: tuple[Index, ...]
    """Each of shape (units, rows of a unit); units of one list may be exchanged."""
    text: str = "all rows"

    @property
    def log_count(self) -> float:
        """Logarithm of the number of distinct permutations."""
        return sum(lgamma(len(units) + 1) for units in self.exchangeable)

    def draw(self, rng: np.random.Generator) -> Index:
        """Draw one of the permutations, each with the same probability."""
        order = np.arange(self.n_rows)
        for units in self.exchangeable:
            order[units] = units[rng.permutation(len(units))]
        return order


def design(n: int, blocks: ArrayLike | None, groups: ArrayLike | None) -> Design:
    """Work out which rows are exchangeable: within blocks, and groups as wholes."""
    block = _codes(blocks, n, "blocks")
    group = _codes(groups, n, "groups")
    if groups is None:
        units: list[Index] = [np.array([row]) for row in range(n)]
    else:
        units = [np.flatnonzero(group == code) for code in range(group.max() + 1)]
        for unit in units:
            if len(np.unique(block[unit])) > 1:
                raise ValueError("groups must lie within blocks, got a group with rows in several blocks")
    kinds: dict[tuple[int, int], list[Index]] = {}
    for unit in units:
        kinds.setdefault((int(block[unit[0]]), len(unit)), []).append(unit)
    named = [text for text, given in (("within blocks", blocks), ("whole groups", groups)) if given is not None]
    return Design(n, tuple(np.array(found) for found in kinds.values()), ", ".join(named) or "all rows")


def _codes(labels: ArrayLike | None, n: int, name: str) -> Index:
    return np.zeros(n, dtype=np.intp) if labels is None else check.labels(labels, n, name, min_classes=1)[0]


def require_enough(found: Design, n_permutations: int, alpha: float) -> None:
    """Refuse a level that no result could reach."""
    check.fraction(alpha, "alpha", closed=False)
    if check.count(n_permutations, "n_permutations") < 1 / alpha - 1 - 1e-9:
        raise ValueError(f"n_permutations must be at least 1 / alpha - 1 = {1 / alpha - 1:g}, got {n_permutations}")
    if found.log_count < log(1 / alpha) - 1e-9:
        distinct = round(np.exp(found.log_count))
        raise ValueError(
            f"the design must leave at least 1 / alpha = {1 / alpha:g} distinct permutations, got {distinct} "
            f"({found.text}): use larger blocks, more groups of equal size, or a larger alpha"
        )


def drawn_orders(
    n: int,
    n_permutations: int,
    alpha: float,
    *,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    permutations: ArrayLike | None = None,
    seed: Seed = None,
) -> tuple[list[Index], str]:
    """Return the permutations to use, and in words what they exchange."""
    if permutations is not None:
        if blocks is not None or groups is not None:
            raise ValueError("permutations must come alone, got blocks or groups as well")
        given = _given(permutations, n)
        require_enough(Design(n, (np.arange(n)[:, None],)), len(given), alpha)
        _warn_of_repeats(given, alpha)
        return given, "as given"
    found = design(n, blocks, groups)
    require_enough(found, n_permutations, alpha)
    rng = generator(seed)
    return [found.draw(rng) for _ in range(n_permutations)], found.text


def _warn_of_repeats(orders: Sequence[Index], alpha: float) -> None:
    """Say so where the draws mostly repeat a few permutations: a p-value then claims more than they can tell."""
    different = len({order.tobytes() for order in identity_first(orders)})
    if different < 0.5 / alpha:
        warn(
            f"permutations hold, with the identity, {different} different ones where the level {alpha:g} needs "
            f"{1 / alpha:g}: the p-value says less than it seems",
            CalibrationWarning,
        )


def _given(permutations: ArrayLike, n: int) -> list[Index]:
    expected = f"permutations must be integers of shape (n_permutations, {n})"
    try:
        array = np.asarray(permutations)
    except ValueError:
        raise ValueError(f"{expected}, got lists of unequal length") from None
    if array.ndim != 2 or array.shape[1] != n or array.dtype.kind not in "iu" or not len(array):
        raise ValueError(f"{expected}, got shape {array.shape}")
    wrong = np.flatnonzero((np.sort(array, axis=1) != np.arange(n)).any(axis=1))
    if len(wrong):
        raise ValueError(f"permutations must each name every row once, got others in lines {check.listed(wrong)}")
    return list(array.astype(np.intp))


def identity_first(orders: Sequence[Index]) -> list[Index]:
    """Put the identity before the orders: observed and null then come from the same kernel."""
    return [np.arange(len(orders[0])), *orders]
