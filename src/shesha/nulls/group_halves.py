"""Random halves of the rows that keep groups together and divide each class's groups evenly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shesha.support.types import Index, Labels, Mask

_TRIES = 200


def group_kinds(codes: Labels, group: Index, n_classes: int) -> Labels:
    """Class of each group, or `n_classes` if a group contains several classes.

    Parameters
    ----------
    codes : array of shape (n_rows,)
        Class of each row.
    group : array of shape (n_rows,)
        Group of each row, numbered from 0 to n_groups - 1.
    n_classes : int
        Number of classes.
    """
    firsts = np.zeros(int(group.max()) + 1, dtype=np.intp)
    firsts[group[::-1]] = np.arange(len(group))[::-1]
    mixed = np.bincount(group[codes != codes[firsts][group]], minlength=len(firsts)) > 0
    return np.where(mixed, n_classes, codes[firsts])


def draw_group_half(group: Index, kinds: Labels, rng: np.random.Generator) -> Mask:
    """Draw the rows of the first half as whole groups, with the groups of each kind divided evenly."""
    chosen = np.zeros(len(kinds), dtype=bool)
    extra = bool(rng.integers(2))
    for kind in np.unique(kinds):
        units = rng.permutation(np.flatnonzero(kinds == kind))
        chosen[units[: (len(units) + extra) // 2]] = True
        # For odd numbers of groups, the extra group goes to the two halves alternately.
        extra ^= bool(len(units) % 2)
    return np.asarray(chosen[group])


def draw_class_halves(members: Sequence[Index], group: Index, n: int, rng: np.random.Generator) -> list[Mask] | None:
    """Draw halves that keep groups together and contain rows of every class.

    Parameters
    ----------
    members : sequence of arrays of row numbers
        Rows of each class. A resample may contain a row several times; all its copies go into the same half.
    group : array of shape (n_rows,)
        Code of each row's group.
    n : int
        Number of halves to draw.
    rng : Generator

    Returns
    -------
    list of arrays of shape (n, rows of the class), or None
        For each class, masks of the class's rows in the first half. None if the groups do not allow such halves.
    """
    codes = np.repeat(np.arange(len(members)), [len(rows) for rows in members])
    present = np.unique(group[np.concatenate(members)], return_inverse=True)[1]
    kinds, ends = group_kinds(codes, present, len(members)), np.cumsum([len(rows) for rows in members])[:-1]
    draws: list[list[Mask]] = []
    for _ in range(_TRIES + n):
        halves = np.split(draw_group_half(present, kinds, rng), ends)
        if all(0 < half.sum() < len(half) for half in halves):
            draws.append(halves)
            if len(draws) == n:
                return [np.array(of_class) for of_class in zip(*draws, strict=True)]
    return None
