"""The classes of the labels that were passed to an audit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import comb, sqrt

from shesha.results.base import Result

_NAMED = 4
_CLUSTERING = re.compile(
    r"(.*[_\W])?(leiden|louvain|k_?means|h?dbscan|phenograph|pam|gmm|(seurat_|meta)?clusters?(_ids?)?)([_\W].*|\d*)",
    re.IGNORECASE,
)
"""Names of columns that clustering programs write."""


@dataclass(frozen=True)
class LabelClasses(Result):
    """The classes of the labels, sorted by name, with the number of rows in each."""

    ALIGNED = (("names", "sizes"),)

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    column: str = ""
    """Name of the column that contains the labels; empty if they were passed as an array."""

    @property
    def look_like_clusters(self) -> bool:
        """Whether the column is named like the clusters that a program found, perhaps in the same data.

        Examples
        --------
        >>> [LabelClasses(("0", "1"), (9, 9), name).look_like_clusters for name in ("leiden_0.5", "cell_type")]
        [True, False]
        """
        return _CLUSTERING.fullmatch(self.column) is not None

    @property
    def highest_alignment(self) -> float:
        """The approximate maximum of the alignment with the labels, if no two distances are equal.

        This maximum is the largest rank correlation that any variable can have with a binary one: sqrt(3 q (1 - q)),
        where q is the share of one of the two values.

        Examples
        --------
        >>> round(LabelClasses(tuple("abcdefghij"), (90,) * 10).highest_alignment, 2)
        0.52
        """
        pairs = comb(sum(self.sizes), 2)
        within = sum(comb(size, 2) for size in self.sizes) / pairs if pairs else 0.0
        return sqrt(3 * within * (1 - within))

    def _text(self) -> str:
        """Return a text with the number of classes and the largest ones.

        Examples
        --------
        >>> print(LabelClasses(("B", "T", "NK"), (20, 60, 5), "cell_type"))
        cell_type, 3 classes of 5 to 60 rows: T (60), B (20), NK (5)
        """
        low, high = min(self.sizes), max(self.sizes)
        rows = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        largest = sorted(zip(self.names, self.sizes, strict=True), key=lambda pair: -pair[1])
        named = ", ".join(f"{name} ({size:,})" for name, size in largest[:_NAMED])
        more = f", and {len(self.names) - _NAMED} more" if len(self.names) > _NAMED else ""
        column = f"{self.column}, " if self.column else ""
        return f"{column}{len(self.names)} classes of {rows} rows: {named}{more}"
