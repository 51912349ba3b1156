"""Joint permutations: permuting each representation separately breaks the matching of all pairs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from shesha.nulls.restricted_permutations import Exchange
from shesha.support.types import Index

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
