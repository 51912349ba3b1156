"""Heat traces of nearest-neighbour graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shesha.kernels.heat_trace import heat_trace
from shesha.support.types import Index, Vector
from shesha.views._neighbours import Neighbours
from shesha.views.representation import Representation, View


@dataclass(frozen=True)
class HeatTrace(View):
    """Heat trace of the graph of k nearest (Euclidean) neighbours, with one number for each time."""

    trace: Vector

    @classmethod
    def build(cls, source: Representation, *, k: int = 5) -> HeatTrace:
        """Build the graph and compute its heat trace."""
        return cls(
            heat_trace(source.view(Neighbours, k=k, metric="euclidean", center=False, include_self=False).nearest)
        )

    @classmethod
    def takes_distances(cls, **options: Any) -> bool:
        """True, because the view can be computed from distances alone."""
        return True

    @classmethod
    def memory(cls, n: int, d: int, **options: Any) -> tuple[int, int]:
        """Memory for the neighbours, and for the powers of the graph."""
        kept, working = Neighbours.memory(n, d, **options)
        return kept, working + min(8 * 3 * n * n, 2**30)

    def permute(self, order: Index) -> HeatTrace:
        """Return this view, because the order of the rows does not matter."""
        return self
