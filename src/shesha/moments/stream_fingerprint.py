"""Fingerprint of a stream of rows, by which a saved state recognises the stream that it has counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shesha.support.device_arrays import to_host

_SAME_ROW = 1e-2
"""Largest relative difference, due to rounding, between a row's sums in two runs of the same model."""


class StreamFingerprint:
    """Sums of the entries in rows 0, 1, 2, 4, 8, ... of a stream, which identify the stream and its order.

    Parameters
    ----------
    known : list
        Entries [row number, [[sum, sum of absolute values] for each side]] from a saved state; new entries are
        appended.

    Raises
    ------
    ValueError
        If `known` describes arrays or files instead of a stream.
    """

    def __init__(self, known: list[Any]) -> None:
        if not all(len(entry) == 2 and isinstance(entry[0], int) for entry in known):
            raise ValueError("state must belong to a stream, got the state of arrays or files; use a new file")
        self._known = known
        self._rows = {int(row): sums for row, sums in known}

    def check(self, start: int, sides: Sequence[Any]) -> None:
        """Compare a batch that begins at row `start` with the recorded rows, and record its new rows.

        Raises
        ------
        ValueError
            If a row differs from the recorded row of the same number.
        """
        for row in _powers_of_two(start, start + int(sides[0].shape[0])):
            sums = [_row_sums(side[row - start : row - start + 1]) for side in sides]
            if row not in self._rows:
                self._rows[row] = sums
                self._known.append([row, sums])
            elif not _are_equal(self._rows[row], sums):
                raise ValueError(
                    f"batches must have the rows of the state in the same order, got another row {row:,}; resume with "
                    "shuffle=False, or start a new state"
                )


def _powers_of_two(start: int, stop: int) -> list[int]:
    rows = [0, *(1 << bit for bit in range(stop.bit_length()))]
    return [row for row in rows if start <= row < stop]


def _row_sums(row: Any) -> list[float]:
    values = row.toarray() if hasattr(row, "toarray") else to_host(row)
    return [float(values.sum(dtype=np.float64)), float(np.abs(values).sum(dtype=np.float64))]


def _are_equal(first: Sequence[Sequence[float]], second: Sequence[Sequence[float]]) -> bool:
    return len(first) == len(second) and all(
        abs(a - b) <= _SAME_ROW * max(size, other) for (a, size), (b, other) in zip(first, second, strict=True)
    )
