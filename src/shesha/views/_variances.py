"""How the variance of centred rows is shared among principal directions; the rows may lie on disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shesha import _validate as check
from shesha._types import Index, Vector
from shesha.kernels.spectrum import centred_variances
from shesha.views._representation import Representation, View

if TYPE_CHECKING:
    from shesha.views._rows import Rows


_ENTRIES = 1 << 20
"""Numbers looked at together."""


@dataclass(frozen=True)
class Variances(View):
    """Share of the variance along each principal direction, largest first; zeros if all rows are equal."""

    shares: Vector

    @classmethod
    def of(cls, source: Representation) -> Variances:
        """Decompose rows in memory."""
        return cls(centred_variances(source.on_host.rows))

    @classmethod
    def of_rows(cls, source: Rows) -> Variances:
        """Decompose rows from wherever they are, in blocks."""
        for start, block in source.blocks(_ENTRIES):
            check.finite(block, source.name, first_row=start)
        return cls(centred_variances(source))

    def permuted(self, order: Index) -> Variances:
        """The order of the rows does not matter."""
        return self
