"""Whether rows of two representations fit a few places apart, in reverse, or in one part of the rows only."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shesha.doubting.doubt_input import Subject, doubt
from shesha.results import Doubt
from shesha.support.types import Index, Mask, Matrix, Vector
from shesha.support.wording import count

_MOST_PLACES, _ROWS_PER_PLACE = 8, 8
"""Largest offset that is looked for, and how many rows it needs each."""
_N_STRETCHES, _FEWEST_ROWS, _FEWEST_COLUMNS = 4, 14, 3
"""Number of stretches, fewest rows of each, and fewest columns."""
_FITS, _N_SDS = 0.15, 7.0
"""Correlation of cosines from which on rows fit, and standard deviations over other offsets by which they must."""
_GAIN, _FITS_SERIES, _NO_FIT = 0.05, 0.3, 0.1
"""Gain of the offset on which all stretches of a series agree, its correlation, and one that is no fit."""
_ROUNDING = 1e-7
"""Length relative to the longest row below which the direction of a centred row is rounding error."""
_ADVICE = "Check that row i is the same input in both, and whether rows were added, left out or sorted on one side"


@doubt("row offset", of="pair", cheap=True)
def row_offset(subject: Subject) -> Doubt | None:
    """Check whether rows of one side fit those a few places away on the other, or fit in one part only."""
    most, stretches = _stretches(subject.windows)
    if not stretches or min(side.shape[1] for side in subject.sides) < _FEWEST_COLUMNS:
        return None
    grams = [subject.products(side, subject.places) for side in (0, 1)]
    fits = np.array([_fits_of_offsets(grams, rows, most) for rows in stretches])
    found, here = fits.argmax(axis=1), fits[:, most]
    best, typical = fits.max(axis=1), np.median(fits, axis=1)
    # Most offsets are wrong ones, so their median deviation measures what is expected by chance.
    spread = 1.4826 * np.median(np.abs(fits - typical[:, None]), axis=1)
    is_clear = best - typical >= np.maximum(_FITS, _N_SDS * spread)
    places = found - most
    is_steady = len(stretches) == _N_STRETCHES and (places == places[0]).all()
    if is_steady and 0 < abs(places[0]) < most and best.min() >= _FITS_SERIES:
        # Consecutive rows of a series are alike, so the fit changes gradually with the offset; with a period, it does
        # not show the offset.
        is_moved = np.full(len(stretches), float((best - here).mean()) >= _GAIN and not subject.dependence.period)
    else:
        # If conditions repeat in the same order, rows fit those one period away as well as those at the same place.
        is_moved = is_clear & (places != 0) & (here <= best / 2)
        # Further missing rows move all that follow in the same direction.
        steps = np.diff(places[is_clear])
        is_moved &= len(steps) > 0 and ((steps >= 0).all() or (steps <= 0).all())
    if is_moved.any():
        return _describe_offset(
            subject, stretches, int(places[is_moved][0]), is_moved, float(here[is_moved].mean()), best
        )
    if len(subject.windows) == 1:
        first, second = (_cosines(gram[None])[0] for gram in grams)
        forwards, backwards = float(np.vdot(first, second)), float(np.vdot(first, second[::-1, ::-1]))
        if backwards - max(forwards, best.max()) >= _FITS:
            text = f"rows of {subject.names[0]} fit those of {subject.names[1]} in reverse order ({backwards:.2f}"
            text += f", and {forwards:.2f} in the same order; correlation of cosines)"
            return Doubt("row offset", min(1.0, backwards), None, text, _ADVICE)
    return _fits_in_part(subject, grams, stretches, is_clear & (places == 0))


def _stretches(windows: Sequence[Index]) -> tuple[int, list[Index]]:
    """Return the largest offset, and the positions, among the checked rows, of stretches that can be moved by it."""
    ends = np.cumsum([0, *(len(window) for window in windows)])
    parts = [np.arange(start, stop) for start, stop in pairwise(ends.tolist())]
    most = min(_MOST_PLACES, min(map(len, parts)) // _ROWS_PER_PLACE)
    if most < 1:
        return 0, []
    stretches = [part[most:-most] for part in parts]
    if len(parts) == 1:
        n_stretches = min(_N_STRETCHES, len(stretches[0]) // _FEWEST_ROWS)
        stretches = [np.asarray(part) for part in np.array_split(stretches[0], n_stretches)] if n_stretches > 1 else []
    return most, stretches


def _fit(grams: Sequence[Matrix], rows: Index, others: Index) -> float:
    """Return the correlation between the cosines of rows of one side and of rows of the other."""
    first, second = (_cosines(gram[np.ix_(at, at)][None])[0] for gram, at in zip(grams, (rows, others), strict=True))
    return float(np.vdot(first, second))


def _fits_of_offsets(grams: Sequence[Matrix], rows: Index, most: int) -> Vector:
    """Return the fit of consecutive rows of one side to those at each offset on the other."""
    start, stop = int(rows[0]), int(rows[-1]) + 1
    moved = np.stack([grams[1][start + k : stop + k, start + k : stop + k] for k in range(-most, most + 1)])
    (fixed,) = _cosines(grams[0][None, start:stop, start:stop])
    return np.asarray(_cosines(moved).reshape(len(moved), -1) @ fixed.ravel())


def _cosines(grams: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the off-diagonal cosines between centred rows as matrices of length 1 and mean 0; the diagonal is 0.

    Unlike inner products, cosines are not dominated by a few distant rows.
    """
    m = grams.shape[1]
    centred: NDArray[np.float64] = grams - grams.mean(axis=1, keepdims=True)
    centred -= centred.mean(axis=2, keepdims=True)
    lengths = np.sqrt(np.maximum(np.diagonal(centred, axis1=1, axis2=2), 0.0))
    # A row at the mean has no direction.
    lengths = np.where(lengths > _ROUNDING * lengths.max(axis=1, keepdims=True), lengths, np.inf)
    centred /= lengths[:, :, None]
    centred /= lengths[:, None, :]
    diagonal = np.arange(m)
    centred[:, diagonal, diagonal] = 0
    centred -= centred.sum(axis=(1, 2), keepdims=True) / (m * (m - 1))
    centred[:, diagonal, diagonal] = 0
    centred /= np.maximum(np.sqrt((centred**2).sum(axis=(1, 2), keepdims=True)), np.finfo(float).tiny)
    return centred


def _describe_offset(
    subject: Subject, stretches: Sequence[Index], places: int, is_moved: Mask, here: float, best: Vector
) -> Doubt:
    """Return a doubt about rows that fit those a few places away, from some row on or everywhere."""
    first, last = np.flatnonzero(is_moved)[[0, -1]]
    start = subject.caller_rows(subject.places[stretches[first][:1]])[0]
    stop = subject.caller_rows(subject.places[stretches[last][-1:]])[0]
    to_end = last == len(is_moved) - 1
    part = "" if is_moved.all() else f" from about row {start:,} on" if to_end else f" in rows {start:,} to {stop:,}"
    there = float(best[is_moved].mean())
    text = (
        f"rows of {subject.names[0]} fit those {count(abs(places), 'place')} {'later' if places > 0 else 'earlier'} in "
        f"{subject.names[1]}{part} ({there:.2f}, and {here:.2f} at the same place; correlation of cosines)"
    )
    return Doubt("row offset", min(1.0, max(0.0, there - here)), None, text, _ADVICE)


def _fits_in_part(subject: Subject, grams: Sequence[Matrix], stretches: Sequence[Index], fitting: Mask) -> Doubt | None:
    """Return a doubt if some stretches fit, and the rows of another fit neither one another nor those of the others."""
    if not 0 < fitting.sum() < len(stretches):
        return None
    good = np.concatenate([rows for rows, fits in zip(stretches, fitting, strict=True) if fits])
    elsewhere = _fit(grams, good, good)
    if elsewhere < _FITS_SERIES:
        return None
    for rows in (rows for rows, fits in zip(stretches, fitting, strict=True) if not fits):
        across = _correlation(*(gram[np.ix_(rows, good)] for gram in grams))
        if max(across, _fit(grams, rows, rows)) > _NO_FIT:
            continue
        is_one_class = subject.classes_here is not None and len(np.unique(subject.classes_here[rows])) == 1
        if is_one_class or min(_variance(gram, rows) / _variance(gram, good) for gram in grams) < _VARIED:
            # Rows of one class may share nothing but their class.
            continue
        low, high = subject.caller_rows(subject.places[rows[[0, -1]]])
        text = (
            f"rows {low:,} to {high:,} of {subject.names[0]} do not fit those of {subject.names[1]} ({across:.2f}, and "
            f"{elsewhere:.2f} in other parts; correlation of cosines), as if they were in another order on one side"
        )
        return Doubt("unmatched rows", 1.0 - max(0.0, across), None, text, _ADVICE)
    return None


_VARIED = 0.7
"""Variance of rows that do not fit, relative to the others, from which on they are no class of their own."""


def _variance(gram: Matrix, rows: Index) -> float:
    """Return the mean squared distance of rows from their mean."""
    part = gram[np.ix_(rows, rows)]
    return max(float(np.diagonal(part).mean() - part.mean()), np.finfo(float).tiny)


def _correlation(first: Matrix, second: Matrix) -> float:
    """Return the correlation of two matrices after the means of their rows and columns are subtracted."""
    a, b = (side - side.mean(axis=0) for side in (first, second))
    a, b = (side - side.mean(axis=1, keepdims=True) for side in (a, b))
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.vdot(a, b)) / length if length > 0 else 0.0
