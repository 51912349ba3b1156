"""Plain text in aligned columns."""

from __future__ import annotations

from collections.abc import Sequence


def columns(rows: Sequence[Sequence[str]], align: str, *, indent: str = "") -> list[str]:
    """Return one line per row; each column is as wide as its widest cell, with two spaces in between.

    Parameters
    ----------
    rows : sequence of sequences of str
        The cells, including those of the header if there is one.
    align : str
        The alignment of each column: '<' (left) or '>' (right).
    indent : str
        Text to put at the beginning of every line.

    Raises
    ------
    ValueError
        If the number of cells in a row differs from the number of alignments.

    Examples
    --------
    >>> print(*columns([["", "value"], ["CKA", "0.5"], ["mutual kNN", "12.25"]], "<>"), sep="\\n")
                value
    CKA           0.5
    mutual kNN  12.25
    """
    for row in rows:
        if len(row) != len(align):
            raise ValueError(f"rows must have {len(align)} cells, one per alignment, got {len(row)}")
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        indent + "  ".join(f"{cell:{to}{width}}" for cell, to, width in zip(row, align, widths, strict=True)).rstrip()
        for row in rows
    ]
