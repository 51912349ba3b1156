"""Table of tracked neurons, with the column index of each neuron in each session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import validation as check
from shesha.support import argument_types as kinds
from shesha.support.types import Index

MISSING = -1


def check_tracked(
    tracked: ArrayLike,
    n_neurons: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    *,
    first: Literal[0, 1] = 0,
) -> NDArray[np.intp]:
    """Check a table of tracked neurons, and return it with columns counted from 0 and -1 for missing neurons.

    Parameters
    ----------
    tracked : array of shape (n_tracked, n_sessions)
        For each tracked neuron, its column index in each session, counted from `first`. -1 or NaN marks a neuron that
        the session lacks, as does 0 if `first` is 1.
    n_neurons : sequence of int, optional
        Number of neurons in each session. None: indices have no upper limit.
    names : sequence of str, optional
        Names of the sessions, for error messages. Default: their numbers.
    first : {0, 1}
        Number of the first column: 0 as in Python (CaImAn), or 1 as in MATLAB (CellReg).

    Returns
    -------
    array of shape (n_tracked, n_sessions)

    Raises
    ------
    ValueError
        If an index is out of range, or if a neuron of a session occurs twice.

    Examples
    --------
    >>> check_tracked([[0, 3], [1, -1]], n_neurons=[2, 4]).tolist()
    [[0, 3], [1, -1]]
    """
    if first not in (0, 1):
        raise ValueError(f"first must be 0 or 1, got {first!r}")
    table = check.dense(tracked, "tracked")
    if table.dtype.kind == "O":
        from pandas import isna

        table = np.where(isna(table), np.nan, table).astype(np.float64)
    if table.dtype.kind == "f" and table.size:
        table = np.where(np.isnan(table), MISSING, table)
        table = table.astype(np.intp) if (table == np.round(table)).all() else table
    if table.ndim != 2 or table.dtype.kind not in "iu":
        raise ValueError(
            "tracked must be whole numbers of shape (n_tracked, n_sessions), -1 for a neuron that a session "
            "lacks, got "
            f"{table.dtype} of shape {table.shape}"
        )
    if n_neurons is not None:
        kinds.sequence(n_neurons, "n_neurons", "whole numbers")
    if n_neurons is not None and table.shape[1] != len(n_neurons):
        raise ValueError(f"tracked must have one column per session ({len(n_neurons)}), got {table.shape[1]}")
    if names is not None and len(kinds.sequence(names, "names")) != table.shape[1]:
        raise ValueError(f"names must be one per column of tracked ({table.shape[1]}), got {len(names)}")
    table = table.astype(np.intp)
    if first == 1:
        table = np.where(table > 0, table - 1, np.where(table == 0, MISSING, table))
    for index, column in enumerate(table.T):
        name = names[index] if names is not None else str(index)
        _require_numbers(column, None if n_neurons is None else n_neurons[index], name)
    return table


def _require_numbers(column: Index, n: int | None, name: str) -> None:
    top = np.iinfo(np.intp).max if n is None else n
    outside = column[(column < MISSING) | (column >= top)]
    if len(outside):
        limit = "" if n is None else f" to {n - 1}"
        hint = "use the column index of each neuron, not the number from cell detection"
        if n is not None and (outside == n).all():
            hint += ", or pass first=1 if the table counts from 1"
        raise ValueError(
            f"tracked must number the neurons of session {name} from 0{limit}, or be -1, got "
            f"{check.join_items(outside)}; {hint}"
        )
    values, counts = np.unique(column[column != MISSING], return_counts=True)
    if (counts > 1).any():
        repeated = values[counts > 1]
        hint = "; if 0 marks a missing neuron in a table that counts from 1, pass first=1" if 0 in repeated else ""
        raise ValueError(
            f"tracked must name each neuron of session {name} once, got {check.join_items(repeated)} repeatedly{hint}"
        )


def shared_neurons(tracked: ArrayLike, *, first: Literal[0, 1] = 0) -> NDArray[np.intp]:
    """Count the tracked neurons that each pair of sessions shares.

    Parameters
    ----------
    tracked, first
        See `check_tracked`.

    Returns
    -------
    array of shape (n_sessions, n_sessions)
        Number of shared neurons; the diagonal contains the number of tracked neurons in each session.

    Examples
    --------
    >>> shared_neurons([[0, 3, -1], [1, -1, 2], [2, 0, 0]]).tolist()
    [[3, 2, 2], [2, 2, 1], [2, 1, 2]]
    """
    presence = (check_tracked(tracked, first=first) != MISSING).astype(np.intp)
    counts: NDArray[np.intp] = presence.T @ presence
    return counts
