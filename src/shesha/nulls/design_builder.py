"""Build an exchange design from `blocks`, `groups`, `within`, `shift` and other options."""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.nulls.covariate_strata import cut_into_strata
from shesha.nulls.restricted_permutations import Exchange
from shesha.support.device_arrays import to_host
from shesha.support.seeds import generator
from shesha.support.types import Index, Seed

STRATUM = 10
"""Largest number of rows in a stratum of a covariate; larger strata leave residual confounding."""


def exchange(
    n: int,
    *,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    within: ArrayLike | None = None,
    shift: bool = False,
    block_length: int | None = None,
) -> Exchange:
    """Define which rows are exchangeable under the null hypothesis of two unrelated representations.

    Parameters
    ----------
    n : int
        Number of rows.
    blocks : array of shape (n,), optional
        Labels of blocks, such as sessions, batches or laboratories. Rows are permuted only within their block.
    groups : array of shape (n,), optional
        Labels of groups, such as the trials of a subject. Groups are permuted as a whole, with their rows in order, and
        only among groups of equal size. Other permutations would match one group with parts of several groups and give
        too many false positives. Use `equal_groups` to select rows so that all groups are equally large.
    within : array of shape (n,), optional
        A covariate on which both sides depend, such as norm, depth or length. Rows are permuted only within its strata.
        Text, and numbers with few distinct values, are used as strata directly. Other numbers are cut, within each
        block, into strata of up to ten similar values; a group with a single value counts once. These strata are so
        narrow that the effect of the covariate within them is small relative to the null. Rows without a near neighbour
        are not permuted. For strong effects and few rows, `covariates=` has more power.
    shift : bool
        Whether each block is a time series, which is permuted by circular shifts of 0 to n - 1 rows. Use this for
        stationary series that are much longer than their memory.
    block_length : int, optional
        Number of rows per stretch, if each block is a time series. Stretches of consecutive rows are permuted; rows
        that remain at the end of a series are not. Use this for series whose memory is much shorter than a stretch.

    Returns
    -------
    Exchange

    Raises
    ------
    ValueError
        If labels do not match the number of rows, a group has rows in several blocks, or options are incompatible.

    Examples
    --------
    >>> import numpy as np
    >>> sessions = exchange(6, blocks=["a", "a", "a", "b", "b", "b"])
    >>> sessions.text, round(np.exp(sessions.log_count))
    ('within blocks', 36)
    >>> exchange(6, shift=True).draw(np.random.default_rng(0)).tolist()
    [5, 0, 1, 2, 3, 4]
    >>> exchange(6, groups=[0, 0, 1, 1, 2, 2]).resample(np.random.default_rng(1)).tolist()
    [0, 0, 2, 2, 1, 1]
    """
    check.boolean(shift, "shift")
    length = check.optional_count(block_length, "block_length")
    _require_compatible(
        {"groups": groups is not None, "within": within is not None, "shift": shift, "block_length": length is not None}
    )
    block = _block_codes(n, blocks, within, groups)
    named = [text for text, labels in (("within blocks", blocks), ("within strata", within)) if labels is not None]
    if shift:
        return Exchange(n, block, shift=True, named=("circular shifts", *named))
    if length is not None:
        return Exchange(n, block, _stretches(block, length), False, length, (f"stretches of {length} rows", *named))
    if groups is None:
        return Exchange(n, block, named=tuple(named))
    group = check.labels(groups, n, "groups", min_classes=1)[0]
    if len(np.unique(np.stack([group, block]), axis=1).T) > group.max() + 1:
        where = "blocks" if within is None else "blocks and strata"
        raise ValueError(f"groups must lie within {where}, got a group with rows in several {where}")
    return Exchange(n, block, group, named=(*named, "whole groups"))


def match_by_quantity(quantity: ArrayLike, name: str = "given values", blocks: ArrayLike | None = None) -> Exchange:
    """Design in which rows are permuted only among rows with similar values of a quantity.

    Strata have three rows if there are few rows, and up to ten if there are many. The reason is that the share of the
    quantity's variance within strata falls with the square of their width, whereas the spread of the null falls only
    with the number of rows.

    Parameters
    ----------
    quantity : array of shape (n,)
        Numbers or labels. Labels, and numbers with few distinct values, are used as strata directly.
    name : str
        Name of the quantity in the description of the design.
    blocks : array of shape (n,), optional
        Labels of blocks, within which rows are permuted as well. Default: no blocks.

    Returns
    -------
    Exchange

    Raises
    ------
    ValueError
        If the quantity and the blocks have different lengths.

    Examples
    --------
    >>> depth = [100, 900, 110, 950, 105, 1000]
    >>> found = match_by_quantity(depth, "depth")
    >>> found.text, found.block.tolist()
    ('rows of similar depth', [0, 1, 0, 1, 0, 1])
    """
    n = len(to_host(quantity))
    codes, values = check.labels(quantity, n, "keep", min_classes=1)
    n_strata = max(1, n // rows_of_a_stratum(n))
    if values.dtype.kind in "iuf" and len(values) > n_strata:
        codes = np.argsort(np.argsort(codes, kind="stable")) * n_strata // n
    named = [f"rows of similar {name}", *(["within blocks"] if blocks is not None else [])]
    return Exchange(n, cross_with_blocks(codes, blocks), named=tuple(named))


def cross_with_blocks(codes: Index, blocks: ArrayLike | None) -> Index:
    """Subdivide strata by blocks, and renumber them."""
    return _cross_codes(_block_codes(len(codes), blocks, None), codes)


def rows_of_a_stratum(n: int) -> int:
    """Return the number of rows per stratum; docs/calibration.md contains the measurements behind it."""
    return min(STRATUM, max(3, isqrt(n) // 4))


def equal_groups(groups: ArrayLike, size: int | None = None, *, seed: Seed = None) -> Index:
    """Choose rows at random so that all groups are equally large, which allows all groups to be permuted.

    Parameters
    ----------
    groups : array of shape (n,)
        Labels of the groups.
    size : int, optional
        Number of rows to choose from each group; smaller groups are left out. Default: the size of the smallest group.
    seed : int, Generator or None
        Seed for the random choice.

    Returns
    -------
    array of row numbers
        The chosen rows, in increasing order. Pass on `X[rows]`, `Y[rows]` and `groups[rows]`.

    Examples
    --------
    >>> import numpy as np
    >>> donor = np.array(["a", "a", "b", "b", "b", "c", "c"])
    >>> donor[equal_groups(donor, seed=0)].tolist()
    ['a', 'a', 'b', 'b', 'c', 'c']
    """
    codes = check.labels(groups, len(to_host(groups)), "groups", min_classes=1)[0]
    sizes = np.bincount(codes)
    least = int(sizes.min()) if size is None else check.count(size, "size")
    if least > sizes.max():
        raise ValueError(f"size must be at most that of the largest group ({sizes.max()}), got {least}")
    rng = generator(seed)
    kept = [rng.choice(np.flatnonzero(codes == code), least, replace=False) for code in np.flatnonzero(sizes >= least)]
    return np.sort(np.concatenate(kept))


def _require_compatible(arguments: dict[str, bool]) -> None:
    """Raise an error for options that cannot be combined."""
    for alone in ("shift", "block_length"):
        others = [name for name, there in arguments.items() if there and name != alone]
        if arguments[alone] and others:
            raise ValueError(f"{alone} must be used alone or with blocks, got also {' and '.join(others)}")


def _block_codes(n: int, blocks: ArrayLike | None, within: ArrayLike | None, groups: ArrayLike | None = None) -> Index:
    """Return one code per row, shared by rows of the same block and stratum."""
    block = np.zeros(n, dtype=np.intp) if blocks is None else check.labels(blocks, n, "blocks", min_classes=1)[0]
    if within is None:
        return block
    return _cross_codes(block, _strata(within, block, groups))


def _cross_codes(block: Index, stratum: Index) -> Index:
    """Number the combinations of the two codes."""
    codes: Index = np.unique(block * (stratum.max() + 1) + stratum, return_inverse=True)[1].astype(np.intp)
    return codes


def _strata(within: ArrayLike, block: Index, groups: ArrayLike | None) -> Index:
    """Return a stratum per row; in each block, numbers with many values are cut into similar values."""
    n = len(block)
    codes, values = check.labels(within, n, "within", min_classes=1)
    unit = np.arange(n) if groups is None else _units_of_one_value(groups, codes)
    n_units = int(unit.max()) + 1
    if values.dtype.kind not in "iuf" or len(values) <= max(2, n_units // rows_of_a_stratum(n_units)):
        return codes
    number = np.asarray(to_host(within), dtype=np.float64)
    strata = np.zeros(n, dtype=np.intp)
    for code in np.unique(block):
        rows = np.flatnonzero(block == code)
        _, first, place = np.unique(unit[rows], return_index=True, return_inverse=True)
        quantities = number[rows[first]]
        if np.ptp(quantities) > 0:
            strata[rows] = cut_into_strata(quantities)[place]
    return strata


def _units_of_one_value(groups: ArrayLike, codes: Index) -> Index:
    """Return the groups as units if the covariate is constant within each group; otherwise the rows."""
    group = check.labels(groups, len(codes), "groups", min_classes=1)[0]
    same = len(np.unique(np.stack([group, codes]), axis=1).T) == group.max() + 1
    return group if same else np.arange(len(codes))


def _stretches(block: Index, length: int) -> Index:
    """Number the consecutive stretches within each block."""
    place = np.empty(len(block), dtype=np.intp)
    for code in np.unique(block):
        rows = np.flatnonzero(block == code)
        place[rows] = np.arange(len(rows)) // length
    codes: Index = np.unique(block * (place.max() + 1) + place, return_inverse=True)[1].astype(np.intp)
    return codes
