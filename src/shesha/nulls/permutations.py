"""The permutations that form a null distribution, drawn from a design or given by the user."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs import validation as check
from shesha.nulls.design_builder import exchange
from shesha.nulls.restricted_permutations import Exchange
from shesha.support.seeds import generator
from shesha.support.types import Index, Seed
from shesha.support.warnings import CalibrationWarning, warn


class Design(TypedDict, total=False):
    """Arguments for `exchange`, in functions that pass them on."""

    blocks: ArrayLike | None
    groups: ArrayLike | None
    within: ArrayLike | None
    shift: bool
    block_length: int | None


def draw_permutations(
    n: int,
    n_permutations: int,
    alpha: float,
    *,
    design: Design | Exchange | None = None,
    permutations: ArrayLike | None = None,
    seed: Seed = None,
) -> tuple[list[Index], str]:
    """Return the permutations to use, and a description of what they permute.

    Parameters
    ----------
    n : int
        Number of rows.
    n_permutations, alpha
        As for `shesha.calibrate`. A ValueError is raised if no result could reach the level.
    design : dict or Exchange, optional
        An `Exchange`, or the arguments for `exchange`; those that are None or False are ignored. Default: permute all
        rows.
    permutations : array of shape (n_permutations, n), optional
        Permutations to use instead of random ones.
    seed : int, Generator or None
        Seed for the draws.

    Returns
    -------
    list of arrays of shape (n,), and str
        The permutations and their description. If there are fewer circular shifts than requested, each is returned
        once.

    Examples
    --------
    >>> orders, text = draw_permutations(30, 200, 0.05, design={"shift": True}, seed=0)
    >>> len(orders), text
    (29, 'circular shifts')
    """
    options = {} if isinstance(design, Exchange) else nonempty_arguments(design)
    if permutations is None:
        null_design = design if isinstance(design, Exchange) else exchange(n, **options)
        null_design.require_enough(n_permutations, alpha)
        return null_design.draws(n_permutations, generator(seed)), null_design.text
    if options:
        raise ValueError(f"permutations must be used without a design, got also {' and '.join(options)}")
    orders = _check_permutations(permutations, n)
    exchange(n).require_enough(len(orders), alpha)
    _warn_of_repeats(orders, alpha)
    return orders, "as given"


def nonempty_arguments(design: Design | None) -> dict[str, Any]:
    """Return those arguments that are set."""
    return {name: value for name, value in (design or {}).items() if value is not None and value is not False}


def _warn_of_repeats(orders: Sequence[Index], alpha: float) -> None:
    """Warn if there are too few distinct permutations for the significance level."""
    different = len({order.tobytes() for order in identity_first(orders)})
    if different < 0.5 / alpha:
        warn(
            f"permutations contain only {different} distinct permutations, including the identity, but the level "
            f"{alpha:g} needs {1 / alpha:g}. The p-value is therefore unreliable. Pass more permutations",
            CalibrationWarning,
        )


def _check_permutations(permutations: ArrayLike, n: int) -> list[Index]:
    expected = f"permutations must be integers of shape (n_permutations, {n})"
    try:
        array = np.asarray(permutations)
    except ValueError:
        raise ValueError(f"{expected}, got lists of unequal length") from None
    if array.ndim != 2 or array.shape[1] != n or array.dtype.kind not in "iu" or not len(array):
        raise ValueError(f"{expected}, got shape {array.shape}")
    wrong = np.flatnonzero((np.sort(array, axis=1) != np.arange(n)).any(axis=1))
    if len(wrong):
        raise ValueError(
            "permutations must contain every row number once in each line, got other numbers in lines "
            f"{check.join_items(wrong)}"
        )
    return list(array.astype(np.intp))


def identity_first(orders: Sequence[Index]) -> list[Index]:
    """Put the identity first, so that the same code computes the observed score and the null."""
    return [np.arange(len(orders[0])), *orders]


_PURPOSE = 13


@dataclass(frozen=True)
class RepresentationPermutations:
    """One null distribution that serves all pairs of many representations.

    Draw k permutes the rows of representation a by `a_k`, independently of all other representations. `a_k` depends
    only on the content of a, so it is the same in every run, on every machine and for every partner. The score of a
    pair (a, b) is that of a with b permuted by ``b_k[inverse of a_k]``. Because the permutations of a design form a
    group, such compositions are distributed like the permutations in `calibrate`, and the p-value of each pair is
    exact.

    Attributes
    ----------
    exchange : Exchange
        Design that defines which rows are exchangeable.
    n_permutations : int
        Number of draws.
    seed : int
        Seed for the draws.

    Examples
    --------
    >>> from shesha.nulls import exchange
    >>> joint = RepresentationPermutations(exchange(5), 2, 0)
    >>> [order.tolist() for order in joint.pair_orders("a1", "b2")]
    [[4, 2, 0, 1, 3], [1, 2, 0, 4, 3]]
    """

    exchange: Exchange
    n_permutations: int
    seed: int

    def orders(self, content: str, copy: int = 0) -> list[Index]:
        """Draw the permutations for a representation; a second copy of the same content gets others.

        Parameters
        ----------
        content : str
            Fingerprint of the representation, as hexadecimal digits.
        copy : int
            Number of the copy, counted from 0, if several representations have the same content.
        """
        rng = np.random.default_rng([_PURPOSE, self.seed, int(content, 16), copy])
        return [self.exchange.draw(rng) for _ in range(self.n_permutations)]

    def pair_orders(self, first: str, second: str) -> list[Index]:
        """Return permutations of the second representation that are equivalent to permuting both.

        Parameters
        ----------
        first, second : str
            Fingerprints of the two representations.
        """
        both = zip(self.orders(first), self.orders(second, int(first == second)), strict=True)
        orders = []
        for order, other in both:
            inverse = np.empty_like(order)
            inverse[order] = np.arange(len(order))
            orders.append(other[inverse])
        return orders

    @property
    def key(self) -> str:
        """A hash of the design, the number of permutations and the seed."""
        design = self.exchange
        parts = [design.block, np.array([]) if design.group is None else design.group]
        text = f"{design.n_rows} {design.shift} {design.block_length} {self.n_permutations} {self.seed}"
        digest = hashlib.sha256(text.encode())
        for part in parts:
            digest.update(np.ascontiguousarray(part, dtype=np.int64).tobytes() + b"/")
        return digest.hexdigest()[:16]
