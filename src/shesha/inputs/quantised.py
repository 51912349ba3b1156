"""Vectors that were stored as codes of one byte, or as packed bits: recognised by type and values, and decoded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np

from shesha.support.provenance import state
from shesha.support.types import Array

Storage = Literal["codes", "bits", ""]
_LOOKED_AT = 2_000
"""Number of rows that are looked at."""
_FEWEST_ROWS, _FEWEST_COLUMNS = 8, 4
_CENTRE = (88.0, 168.0)
"""Range of the mean of codes whose zero point is 128."""
_MUCH = 4.0
"""Ratio of the variation of bits between columns to sampling error that no chance gives."""
_LIKE = 0.25
"""Smallest ratio of this variation in low bits to that in high bits of packed signs."""
_SMOOTH = 0.5
"""Mean correlation of neighbouring columns from which these are pixels."""
_UNEVEN, _SEEN, _HALF_OF_ALL = 0.2, 0.01, 8
"""Distance of the shares of four bits from equal ones, smallest share of a value, and number of such values."""
_PQ = re.compile(r"(?<![a-z])o?pq(?![a-z])|product_?quant", re.IGNORECASE)
"""Names of codes of product quantisation."""
_NARROW, _SIZES = 0x2000, (0x2000, 0x4800)
"""Largest range, and range of the median, of the bits of floats without their sign, for values of about 0.01 to 10."""
_CODES = re.compile(r"(?<![a-z])u?int8(?![0-9])", re.IGNORECASE)
_BITS = re.compile(r"(?<![a-z])u?binary(?![a-z])|packed_?bits|bit_?packed", re.IGNORECASE)
"""Names of codes and of packed bits, as embedding services and libraries write them."""
_SCALES = ("scale", "scales", "step", "steps")
_ZEROS = ("zero_point", "zero_points", "zero", "offset")
_RANGES = ("ranges", "calibration_ranges", "range")
_LOWEST = ("min", "mins", "minimum", "vmin", "low", "lower", "lo")
_HIGHEST = ("max", "maxs", "maximum", "vmax", "high", "upper", "hi")
_WIDTHS = ("vdiff", "diff", "width", "widths")
_ALL_SCALES = (*_SCALES, *_ZEROS, *_RANGES, *_LOWEST, *_HIGHEST, *_WIDTHS)


def as_bytes(values: Array, name: str, *, scaled: bool = False) -> Array:
    """Return codes that were stored as wider numbers as bytes, if their name or a scale beside them says so.

    Tables and JSON keep lists of whole numbers, without the type that the codes had.
    """
    named = scaled or any(pattern.search(name) for pattern in (_CODES, _BITS, _PQ))
    if not named or values.ndim != 2 or not values.size or values.dtype.kind not in "iuf" or values.itemsize == 1:
        return values
    for kind in (np.uint8, np.int8):
        limits = np.iinfo(kind)
        if limits.min <= values.min() and values.max() <= limits.max and (values == np.floor(values)).all():
            return values.astype(kind)
    return values


def refuse_float_bits(values: Array, name: str) -> None:
    """Refuse integers of 16 bits that are the bits of bfloat16 or float16, as NumPy shows types that it lacks.

    Their highest bit is the sign, which differs between values of nearly the same size. Signed integers of a recording
    lie on both sides of 0, and counts have no sign.
    """
    if values.ndim != 2 or values.dtype not in (np.uint16, np.int16) or len(values) < _FEWEST_ROWS or not values.size:
        return
    bits = np.asarray(values[:: max(1, len(values) // _LOOKED_AT)][:_LOOKED_AT]).view(np.uint16)
    low, middle, high = np.quantile(bits & 0x7FFF, (0.05, 0.5, 0.95))
    if 0.1 < float((bits >> 15).mean()) < 0.9 and high - low < _NARROW and _SIZES[0] < middle < _SIZES[1]:
        raise ValueError(
            f"{name} must contain numbers, got {values.dtype} values that look like the bits of bfloat16 or float16; "
            "save tensor.float().numpy() instead, or values.view('float16') if they are float16"
        )


def infer_storage(codes: Array) -> Storage:
    """Return how a matrix of bytes stores vectors: 'codes', 'bits', or '' if its values are plain numbers.

    Codes of a linear quantisation lie around their zero point, so that their two highest bits differ in most values.
    The bytes of packed bits have no zero point: both bits are independent, and 0 and 255 are as frequent as others.
    Neighbouring pixels of images are correlated, and counts are small.
    """
    if codes.ndim != 2 or codes.dtype not in (np.uint8, np.int8) or codes.shape[0] < _FEWEST_ROWS:
        return ""
    step = max(1, len(codes) // _LOOKED_AT)
    values = np.asarray(codes[::step][:_LOOKED_AT])
    values = values if codes.dtype == np.uint8 else values.view(np.uint8) ^ np.uint8(128)
    if values.shape[1] < _FEWEST_COLUMNS or not _CENTRE[0] <= values.mean() <= _CENTRE[1]:
        return ""
    if _neighbour_correlation(values) > _SMOOTH:
        return ""
    differ = float((((values >> 7) ^ (values >> 6)) & 1).mean())
    extremes = float(((values < 16) | (values >= 240)).mean())
    high, low = _variation_between_columns(values)
    alike = low >= _LIKE * high and _low_bits_agree(values)
    if alike and _bits_are_balanced(values):
        uniform = 0.3 < differ < 0.57 and extremes > 0.06 and values.std() > 60
        if uniform or (values.std() > 40 and low > _MUCH):
            return "bits"
    # Low bits that are noise below high bits that are not are the values of a scale, in clusters.
    clustered = not alike and high > _MUCH > low
    return "codes" if clustered or (differ > 0.57 and extremes < 0.11) else ""


def are_neighbour_lists(numbers: Array) -> bool:
    """Return whether each row lists different row numbers, mostly of rows that list it as well, as neighbours do.

    Examples
    --------
    >>> are_neighbour_lists((np.arange(40)[:, None] + [0, 1, -1, 2, -2]) % 40)
    True
    >>> are_neighbour_lists(np.random.default_rng(0).integers(0, 40, (40, 5)))
    False
    """
    n, k = numbers.shape
    if not 2 <= k < n / 3 or numbers.min() < -1 or numbers.max() >= n:
        return False
    rows = np.arange(n)[:: max(1, n // _LOOKED_AT)]
    known = np.asarray(numbers).astype(np.intp)
    ordered = np.sort(known[rows], axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        return False
    others = known[rows] != rows[:, None]
    mutual = [(known[known[row]] == row).any(axis=1) for row in rows]
    return bool(np.mean(np.array(mutual)[others]) > _MUTUAL)


_MUTUAL = 0.4
"""Smallest share of mutual pairs in lists of neighbours; in unrelated lists, it is the share of all rows in a list."""


def refuse_neighbours(numbers: Array, name: str) -> None:
    """Refuse integers that number the neighbours of each row instead of being its vector."""
    if numbers.ndim == 2 and numbers.dtype.kind in "iu" and are_neighbour_lists(numbers):
        raise ValueError(
            f"{name} must contain vectors, got lists of {numbers.shape[1]:,} different row numbers for each of "
            f"{numbers.shape[0]:,} rows, such as of nearest neighbours; pass the vectors that were searched"
        )


def _neighbour_correlation(values: Array) -> float:
    centred = values - values.mean(axis=0)
    norms = np.linalg.norm(centred, axis=0)
    products = (centred[:, 1:] * centred[:, :-1]).sum(axis=0)
    scale = norms[1:] * norms[:-1]
    return float(np.mean(np.divide(products, scale, out=np.zeros_like(products), where=scale > 0)))


def _bits_are_balanced(values: Array) -> bool:
    """Return whether all eight bits vary alike, as packed signs do; in codes, the low bits are noise."""
    shares = np.unpackbits(values, axis=1).reshape(len(values), -1, 8).mean(axis=(0, 1))
    return bool((np.abs(shares - 0.5) < 0.2).all())


def _variation_between_columns(values: Array) -> tuple[float, float]:
    """Return how much columns differ in their high and in their low bits, relative to sampling error.

    The low bits of codes are 1 in about half of the rows of every column. Packed signs differ in all bits alike.
    """
    shares = np.unpackbits(values, axis=1).reshape(len(values), -1, 8).mean(axis=0)
    spread = 4 * len(values) * ((shares - 0.5) ** 2).mean(axis=0)
    return float(spread[:3].mean()), float(spread[5:].mean())


def _low_bits_agree(values: Array) -> bool:
    """Return whether near rows agree in their low bits as in their high bits, unless they hardly agree at all.

    They do so in packed signs. The low bits of codes are noise, also between near rows.
    """
    from scipy.spatial.distance import cdist

    some = values[:_PAIRED].astype(np.int16)
    agreement, copies = np.zeros(8), np.unique(some, axis=0, return_inverse=True)[1].ravel()
    # Rows that are near in every second column need not agree in the other columns by chance.
    for first in (0, 1):
        near, rest = some[:, first::2], some[:, 1 - first :: 2]
        distances = cdist(near, near, "cityblock")
        distances[copies[:, None] == copies] = np.inf
        differing = (rest ^ rest[distances.argmin(axis=1)]).astype(np.uint8)
        agreement += 0.25 - np.unpackbits(differing, axis=1).reshape(len(some), -1, 8).mean(axis=(0, 1)) / 2
    high, low = agreement[:3].mean(), agreement[5:].mean()
    return bool(high < _AGREEING or low > _AS_HIGH * high)


_PAIRED, _AGREEING, _AS_HIGH = 200, 0.08, 0.4
"""Number of rows compared, excess of the agreement of near rows over chance that is clear, and smallest ratio of that
of low bits to that of high bits."""


def decode(codes: Array, name: str, others: Mapping[str, Any] | None = None) -> Array:
    """Return the vectors that a matrix of bytes stores, and state how it was read; other arrays are unchanged.

    `others` are arrays of the same file, among which may be a scale and a zero point, or ranges of the features.
    """
    if codes.ndim != 2 or codes.dtype not in (np.uint8, np.int8):
        return codes
    if (known := _dequantise(codes, name, others or {})) is not None:
        return known
    if _PQ.search(name):
        raise ValueError(
            f"{name} must contain vectors, got codes of product quantisation ({codes.shape[0]:,} x {codes.shape[1]:,} "
            "bytes that number centroids); decode them first, such as with index.reconstruct_n(0, index.ntotal) or "
            "quantizer.decode(codes) of FAISS"
        )
    # Bytes of 0, 1 and -1 only are signs that were not packed.
    packed = _BITS.search(name) is not None and bool((np.abs(codes.astype(np.int16)) > 1).any())
    storage = "bits" if packed else infer_storage(codes)
    if storage == "codes" and _are_half_bytes(codes):
        raise ValueError(
            f"{name} must contain vectors, got bytes that look like two codes of 4 bits each; unpack them first: "
            "numpy.stack([codes >> 4, codes & 15], axis=2).reshape(len(codes), -1), in the order of your quantiser"
        )
    if storage == "bits":
        raw = np.asarray(codes) if codes.dtype == np.uint8 else np.asarray(codes).view(np.uint8) ^ np.uint8(128)
        bits = np.unpackbits(raw, axis=1).astype(np.int8)
        state(f"{name}: packed bits, read as {bits.shape[0]:,} x {bits.shape[1]:,} signs")
        return 2 * bits - 1
    if storage == "codes" and codes.dtype == np.uint8:
        state(f"{name}: uint8 codes, read minus their zero point 128 (without scale)")
        return (np.asarray(codes) ^ np.uint8(128)).view(np.int8)
    if storage == "codes":
        state(f"{name}: int8 codes, read without scale")
    elif codes.dtype == np.uint8:
        state(f"{name}: uint8 values, read as plain numbers")
    return codes


def _are_half_bytes(codes: Array) -> bool:
    """Return whether the lower four bits have a distribution of their own; in codes of one byte, they are noise."""
    low = np.asarray(codes[:: max(1, len(codes) // _LOOKED_AT)]).view(np.uint8) & 15
    shares = np.bincount(low.ravel(), minlength=16) / low.size
    return bool(np.abs(shares - 1 / 16).sum() / 2 > _UNEVEN and np.count_nonzero(shares > _SEEN) >= _HALF_OF_ALL)


def scale_columns(columns: Iterable[Any], name: str) -> dict[str, Any]:
    """Return the values of the columns of numbers that contain the scale and zero point of a column of codes."""
    numbers = {column.name: column for column in columns if column.kind == "numbers"}
    return {key: numbers[key].values() for key in numbers if _without_prefix(key, name) in (*_SCALES, *_ZEROS)}


def scale_names(keys: Iterable[str], name: str) -> list[str]:
    """Return those names that denote the scale, zero point or ranges of a matrix of codes."""
    return [key for key in keys if _without_prefix(key, name) in _ALL_SCALES]


def zero_names(keys: Iterable[str], name: str) -> list[str]:
    """Return those names that denote the zero point of a matrix of codes."""
    return [key for key in keys if _without_prefix(key, name) in _ZEROS]


def _without_prefix(key: str, name: str) -> str:
    return key.lower().removeprefix(name.lower()).strip("_. /")


def _dequantise(codes: Array, name: str, others: Mapping[str, Any]) -> Array | None:
    """Return the vectors of codes, if a file contains a scale that fits: limits of the features, or steps."""
    short = {_without_prefix(key, name): np.asarray(value) for key, value in others.items()}

    def find(names: Iterable[str]) -> Array | None:
        array = next((short[key] for key in names if key in short), None)
        return None if array is None else _fit(np.asarray(array, dtype=np.float64), codes.shape)

    ranges = next((short[key] for key in _RANGES if key in short), None)
    limits = (ranges[0], ranges[1]) if ranges is not None and ranges.shape == (2, codes.shape[1]) else None
    lowest, highest = limits or (find(_LOWEST), find(_HIGHEST))
    width, scale, zero = find(_WIDTHS), find(_SCALES), find(_ZEROS)
    whole = codes.astype(np.float64)
    if lowest is not None and highest is not None:
        width = highest - lowest
    steps = scale if width is None else width / 255
    if lowest is not None and steps is not None:
        whole += 128 * (codes.dtype == np.int8)
        # FAISS stores the middle of each step.
        whole += 0.5 * ("vdiff" in short)
        state(f"{name}: {codes.dtype} codes, dequantised by the ranges in the file")
        return np.asarray(lowest + whole * steps)
    if scale is None or (zero is None and any(key in short for key in _ZEROS)):
        return None
    has_zero = any(key.startswith("zero") for key in short)
    of = "" if zero is None else " and zero point" if has_zero else " and offset"
    state(f"{name}: {codes.dtype} codes, dequantised by the scale{of} in the file")
    zero = np.zeros(()) if zero is None else zero
    is_added = not has_zero and bool((zero != np.floor(zero)).any())
    return np.asarray(whole * scale + zero if is_added else (whole - zero) * scale)


def _fit(array: Array, shape: tuple[int, ...]) -> Array | None:
    """Return a scale that can be multiplied with codes: one number, or one per row or column."""
    if array.size == 1:
        return array.reshape(())
    if array.size == shape[1]:
        return array.reshape(1, -1)
    return array.reshape(-1, 1) if array.size == shape[0] else None
