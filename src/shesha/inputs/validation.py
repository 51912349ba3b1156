"""Checks of arguments, whose messages all have the form: *name* must be *expected*, got *received*."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.inputs import Names, split_names, table_values
from shesha.inputs.class_labels import class_codes
from shesha.inputs.identity import look_like_genes
from shesha.support import memory as memory, types as kinds, wording
from shesha.support.device_arrays import doubles, namespace, stays, to_host
from shesha.support.layer_axis import has_channels_last, refuse_padding
from shesha.support.provenance import state, state_warning
from shesha.support.types import Index, Labels, Matrix, T, Vector, brief, is_array, is_word, shape_of
from shesha.support.warnings import CalibrationWarning, NotEstimableWarning, warn
from shesha.support.wording import join_items as join_items

SQUARABLE = 1e-100, 1e100
"""Range of absolute values whose sums of squared products stay within the range of floats."""


def require_squarable(rows: NDArray[np.float64], name: str = "X") -> NDArray[np.float64]:
    """Refuse rows whose largest entry is so large or so small that its square could overflow or vanish.

    Raises
    ------
    ValueError
        If the largest absolute entry is outside `SQUARABLE` and not zero.
    """
    top = max(abs(float(rows.max(initial=0.0))), abs(float(rows.min(initial=0.0))))
    if not SQUARABLE[0] <= top <= SQUARABLE[1] and top > 0:
        raise ValueError(
            f"{name} must have its largest entry between {SQUARABLE[0]:g} and {SQUARABLE[1]:g} in size, got {top:.3g}; "
            "rescale all data with the same unit"
        )
    return rows


_ASYMMETRY = 1e-5
"""Tolerated asymmetry of a matrix in single precision, relative to the largest distance."""
_FEW_PAIRS = 10
"""Up to this many distances, all may be negative by chance."""
_CHECK_BLOCK = 1 << 22
"""Number of entries that are checked for NaN at a time, chosen to fit in the processor's cache."""


def dense(X: Any, name: str = "X") -> NDArray[Any]:
    """Return the input as a NumPy array; sparse input becomes dense, within the memory budget."""
    array, _ = split_names(X, name)
    if hasattr(array, "toarray"):
        need = float(np.prod(array.shape)) * array.dtype.itemsize
        memory.require(need, f"{name}, a {type(array).__name__} that must become dense", "pass fewer features")
        return np.asarray(array.toarray())
    return to_host(array, name)


def raw_matrix(X: ArrayLike, name: str = "X", *, min_rows: int = 4, min_columns: int = 1) -> NDArray[Any]:
    """Check type and shape but neither read nor copy values, so that memory-mapped files stay on disk."""
    array = dense(X, name)
    if array.ndim == 0 and isinstance(path := array.item(), str | os.PathLike):
        read = f"shesha.io.read({os.fspath(path)!r})"
        raise TypeError(
            f"{name} must be an array or a table, got {os.fspath(path)!r}; of a file, pass an array of {read}"
        )
    if array.dtype.kind not in "fiub":
        hint = f"; pass numpy.hstack([{name}.real, {name}.imag])" * (array.dtype.kind == "c")
        raise TypeError(_NOT_REAL.format(name, array.dtype) + hint)
    shape(array.shape, name, min_rows, min_columns)
    return array


_NOT_REAL = "{} must be a matrix of real numbers, got an array of dtype {}"
_NOT_FINITE = "{} must be finite, got NaN or infinity in rows {}"


def shape(found: tuple[int, ...], name: str, min_rows: int, min_columns: int) -> None:
    """Refuse anything but a matrix of at least the given size."""
    if len(found) != 2:
        n = condensed_rows(found)
        hint = f"; if these are the distances between {n} rows, pass shesha.Rdm({name})" * (n > 2)
        if len(found) == 3 and found[0] == 1:
            hint = f"; if axis 1 holds the rows, pass {name}[0]"
        elif len(found) in (3, 4):
            mean = f"X.mean(axis={'(2, 3)' if len(found) == 4 else 1})"
            hint = f"; average tokens or places, {mean}, or use all of them as features, X.reshape(len(X), -1)"
        raise ValueError(f"{name} must be 2-D (n_samples, n_features), got shape {tuple(found)}{hint}")
    if found[0] < min_rows:
        raise ValueError(f"{name} must have at least {wording.count(min_rows, 'row')}, got {found[0]}")
    if found[1] < min_columns:
        raise ValueError(f"{name} must have at least {wording.count(min_columns, 'column')}, got {found[1]}")


def not_finite(name: str, rows: Index, n_rows: int, names: Names | None = None) -> str:
    """Return the message about rows with NaN or infinity, with the option that leaves them out."""
    ids = "" if names is None else f": {join_items(names.values[rows])}"
    counts = f"{len(rows):,} of {n_rows:,}"
    what = effect_of_drop(len(rows), n_rows, " everywhere")
    # A layer that overflowed would take most rows of the others with it.
    what += "; or leave this representation out (--key names the others)" * (2 * len(rows) > n_rows)
    return f"{_NOT_FINITE.format(name, join_items(rows))} ({counts}{ids}); {what}"


def has_empty_diagonal(X: Any) -> bool:
    """Return whether a matrix is square and its diagonal is the only place without finite numbers.

    Examples
    --------
    >>> z = np.array([[np.inf, 0.2, 0.5], [0.2, np.inf, 0.1], [0.5, 0.1, np.inf]])
    >>> has_empty_diagonal(z), has_empty_diagonal(z[:, :2]), has_empty_diagonal(np.eye(4))
    (True, False, False)
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind != "f" or X.shape[0] != X.shape[1] or len(X) < 3:
        return False
    return not np.isfinite(np.diagonal(X)).any() and bool(np.isfinite(X).sum() == X.size - len(X))


def remedy_of_empty_diagonal(name: str) -> str:
    """Return what a square matrix with an empty diagonal may be, and how it can be used."""
    return (
        "like correlations or Fisher's z of its rows; if it contains similarities, pass shesha.Rdm of 1 - r with a "
        f"diagonal of zeros (r = numpy.tanh({name}) for Fisher's z), or save this matrix and pass --rdm"
    )


def effect_of_drop(n_missing: int, n_rows: int, where: str = "") -> str:
    """Return what missing="drop" does to rows with NaN: columns that lack all rows go first."""
    what = f"them out{where}" if n_missing < n_rows else "out columns without any number, and the other such rows"
    return f'missing="drop" leaves {what}'


def zero_rows(name: str, rows: Index, n_rows: int, names: Names | None = None) -> str:
    """Return the message about rows of zeros, which have no direction, with the option that leaves them out."""
    ids = "" if names is None else f": {join_items(names.values[rows])}"
    counts = f"{len(rows):,} of {n_rows:,}"
    what = (
        'missing="drop" leaves them out everywhere'
        if len(rows) < n_rows
        else "leave this representation out (--key names the others)"
    )
    if names is not None and look_like_genes([str(one) for one in names.values]):
        what = "rows are named like genes; to compare cells or samples, transpose (X.T, --transpose)"
    return (
        f"{name} must have no zero rows, which have no direction, got zero rows {join_items(rows)} ({counts}{ids}); "
        f"{what}"
    )


def finite(values: NDArray[Any], name: str = "X", *, first_row: int = 0) -> Matrix:
    """Return the values as float64, or raise an error that names the rows with NaN or infinity."""
    matrix = np.ascontiguousarray(values, dtype=np.float64)
    step = max(1, _CHECK_BLOCK // max(1, matrix.shape[1]))
    blocks = range(0, len(matrix), step)
    if all(np.isfinite(matrix[start : start + step]).all() for start in blocks):
        return matrix
    rows = np.flatnonzero(~np.isfinite(matrix).all(axis=1)) + first_row
    hint = f", only on its diagonal, {remedy_of_empty_diagonal(name)}" if has_empty_diagonal(matrix) else ""
    raise ValueError(f"{_NOT_FINITE.format(name, join_items(rows))}{hint}")


def matrix(X: ArrayLike, name: str = "X", *, min_rows: int = 4) -> Matrix:
    """Return X as a finite float64 matrix of at least the given size."""
    return finite(raw_matrix(X, name, min_rows=min_rows), name)


def representation(X: ArrayLike, name: str = "X") -> Matrix:
    """Return a finite float64 matrix, token sequences (n, tokens, d) or feature maps (n, channels, h, w).

    A matrix on an accelerator stays there, but tokens and feature maps are copied to the host.
    """
    if stays(X) and len(X.shape) == 2:  # type: ignore[union-attr]
        return cast(Matrix, _check_device_array(X, name))
    array = dense(X, name)
    if array.ndim not in (3, 4):
        return matrix(array, name)
    if 0 in array.shape:
        raise ValueError(f"{name} must not be empty, got shape {array.shape}")
    if has_channels_last(array.shape):
        state(f"{name}: feature maps of shape {array.shape} have their channels last")
        array = np.moveaxis(array, 3, 1)
    if array.ndim == 3:
        if len(array) == 1:
            shape(array.shape, name, 4, 1)
        refuse_padding(name, array)
    rows = raw_matrix(array.reshape(len(array), -1), name)
    return finite(rows, name).reshape(array.shape)


def _check_device_array(X: Any, name: str) -> Any:
    xp = namespace(X)
    if not xp.isdtype(X.dtype, ("real floating", "integral", "bool")):
        raise TypeError(_NOT_REAL.format(name, X.dtype))
    shape(X.shape, name, 4, 1)
    values = doubles(X)
    bad = np.flatnonzero(~to_host(xp.all(xp.isfinite(values), axis=1)))
    if len(bad):
        raise ValueError(_NOT_FINITE.format(name, join_items(bad)))
    return values


def condensed_rows(found: tuple[int, ...]) -> int:
    """Return the number of rows of which an array has this shape in condensed form; 0 if there is none."""
    n = int(np.ceil(np.sqrt(2 * found[0]))) if len(found) == 1 else 0
    return n if n and n * (n - 1) // 2 == found[0] else 0


def rdm(D: ArrayLike, name: str = "D") -> tuple[Vector, int]:
    """Return the condensed distances between rows, and the number of rows.

    Distances may be negative, as cross-validated ones are, and NaN where they are missing.
    """
    array = to_host(table_values(D, name), name)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must contain distances as real numbers, got an array of dtype {array.dtype}")
    square = array.ndim == 2 and array.shape[0] == array.shape[1]
    n = len(array) if square else condensed_rows(array.shape)
    if not square and not n:
        raise ValueError(f"{name} must be a square matrix or its condensed triangle, got shape {array.shape}")
    if n < 3:
        raise ValueError(f"{name} must contain the distances of at least 3 rows, got {n}")
    values = np.asarray(array, dtype=np.float64)
    if np.isinf(values).any():
        hint = (
            " only on its diagonal. Set the diagonal to zeros (numpy.fill_diagonal), and convert Fisher's z to "
            "distances first, 1 - numpy.tanh(z)"
        )
        where = hint if has_empty_diagonal(values) else ""
        raise ValueError(f"{name} must be finite, or NaN for missing distances, got infinity{where}")
    values = _mirror_triangle(values, name) if square else values
    condensed = values if not square else values[np.triu_indices(n, k=1)]
    if np.isnan(condensed).all():
        raise ValueError(f"{name} must contain distances, got only NaN")
    # Few cross-validated distances of nothing but noise may all be negative.
    if len(condensed) > _FEW_PAIRS and not (condensed > 0).any() and (condensed < 0).any():
        raise ValueError(
            f"{name} must contain distances, got no positive number; convert similarities to distances first"
        )
    if not square:
        require_no_diagonal(values, n - 1, name)
        return values.copy(), n
    known = np.nan_to_num(values)
    slack = _ASYMMETRY * np.abs(known).max(initial=0.0)
    lopsided = bool((np.isnan(values) != np.isnan(values.T)).any())
    uneven = lopsided or np.abs(known - known.T).max() > slack
    if uneven or np.abs(np.diagonal(known)).max() > slack:
        if not lopsided and (among := _share_below_diagonal(values, slack)) <= _LARGER_THAN_DIAGONAL:
            text = (
                f"{name}: distances of {n} rows, {n} columns and a diagonal other than 0, as between two runs; both "
                "triangles were averaged, and the diagonal was left out"
            )
            state_warning(text, is_raised=True)
            warn(text, CalibrationWarning)
            return ((values + values.T) / 2)[np.triu_indices(n, k=1)], n
        hint = f"; if both triangles are measured distances, pass ({name} + {name}.T) / 2" if uneven else ""
        if np.allclose(np.diagonal(known), 1):
            hint = f"; if it contains similarities, pass 1 - {name}"
        elif uneven and not lopsided and among >= 1 - _LARGER_THAN_DIAGONAL:
            hint = f"; if it contains similarities between two runs, pass 1 - ({name} + {name}.T) / 2 with diagonal 0"
        raise ValueError(
            f"{name} must be symmetric with a zero diagonal, got an asymmetric matrix or a nonzero diagonal{hint}"
        )
    return condensed, n


_LARGER_THAN_DIAGONAL = 0.25
"""Largest share of the entries off the diagonal that are smaller than it in distances between two runs."""


def _share_below_diagonal(D: NDArray[np.float64], slack: float) -> float:
    """Return the share of the entries of a row or column that are below its diagonal; 0.5 unless most pairs differ."""
    off_diagonal = ~np.eye(len(D), dtype=bool)
    differ = np.abs(D - D.T) > slack
    if 2 * differ[off_diagonal].sum() <= off_diagonal.sum() or 2 * (np.abs(np.diagonal(D)) > slack).sum() <= len(D):
        return 0.5
    with np.errstate(invalid="ignore"):
        below = [(side < np.diagonal(D)[:, None])[off_diagonal & ~np.isnan(side)].mean() for side in (D, D.T)]
    return float(np.mean(below))


def require_no_diagonal(values: Vector, n: int, name: str) -> None:
    """Refuse the triangle of n rows with its diagonal, which is as long as that of n + 1 rows without."""
    for rows, columns in (np.triu_indices(n), np.tril_indices(n)):
        if n > 2 and ((values == 0) == (rows == columns)).all():
            raise ValueError(
                f"{name} must be a triangle without the diagonal, got {len(values)} values with 0 at the places of the "
                f"diagonal of {n} rows; pass the square matrix"
            )


def _mirror_triangle(D: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Return symmetric distances if one triangle of a square matrix is empty: all zeros or NaN."""
    sides = [np.tril(np.nan_to_num(side), -1).any() for side in (D, D.T)]
    if all(sides) or not any(sides):
        return D
    full = np.tril(D if sides[0] else D.T, -1)
    state(f"{name}: only the {'lower' if sides[0] else 'upper'} triangle has distances, which were mirrored")
    return full + full.T + np.diag(np.diagonal(D))


def real(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return numbers of any shape as float64; NaN is allowed."""
    array = to_host(table_values(values, name), name)
    if hasattr(array, "toarray") or array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be real numbers, got an array of dtype {array.dtype}")
    return np.asarray(array, dtype=np.float64)


def columns(
    table: Any, name: str, numbers: Sequence[Any], labels: Collection[Any] = (), *, texts: Collection[Any] = ()
) -> Any:
    """Return a table of pandas whose named columns exist once and contain real numbers, labels or texts.

    Numbers of other libraries' types become floats, with NaN where they are missing. Other columns stay as they are.
    """
    kinds.frame(table, name)
    wanted = [kinds.label(column, "a column") for column in (*numbers, *labels, *texts)]
    n_columns = Counter(table.columns)
    for column in wanted:
        if n_columns[column] != 1:
            expected = ", ".join(map(str, wanted))
            found = f"{n_columns[column]} columns" if n_columns[column] else "no column"
            raise ValueError(f"{name} must have the columns {expected}, each once, got {found} {column!r}")
    values, read = real(table[list(numbers)], name), table.copy(deep=False)
    for place, column in enumerate(numbers):
        if not isinstance(table[column].dtype, np.dtype) or table[column].dtype.kind == "O":
            read[column] = values[:, place]
    for column in (*labels, *texts):
        for row, value in enumerate(table[column]):
            if type(value).__hash__ is None or (column in texts and not isinstance(value, str)):
                expected = "text" if column in texts else "one label"
                raise TypeError(
                    f"{name} must have {expected} in each row of column {column!r}, got {brief(value)} in row {row}"
                )
    return read


def paired(X: ArrayLike, Y: ArrayLike) -> tuple[Matrix, Matrix]:
    """Return two matrices, which must have the same number of rows."""
    a, b = matrix(X, "X"), matrix(Y, "Y")
    if len(a) != len(b):
        raise ValueError(f"Y must have as many rows as X ({len(a)}), got {len(b)}")
    return a, b


def labels(y: ArrayLike, n_rows: int, name: str = "y", *, min_classes: int = 2) -> tuple[Labels, NDArray[Any]]:
    """Return labels as class codes counted from 0, and the class names."""
    y = label_column(y, name)
    array = label_vector(to_host(table_values(y, name) if is_array(y) else y, name), n_rows)
    if array.ndim != 1:
        raise ValueError(f"{name} must be 1-D, one label per row, got shape {array.shape}")
    if len(array) != n_rows:
        raise ValueError(f"{name} must have one label for each of the {n_rows} rows, got {len(array)}")
    if array.dtype.kind in "fc" and not np.isfinite(array).all():
        raise ValueError(
            f"{name} must be free of NaN, got NaN or infinity in rows {join_items(np.flatnonzero(~np.isfinite(array)))}"
        )
    require_scalars(array, name)
    if array.dtype.kind in "OMm" and set(map(type, array.tolist())) != {str}:
        from pandas import isna

        missing = np.flatnonzero(isna(array))
        if len(missing):
            raise ValueError(f"{name} must be free of missing labels, got none in rows {join_items(missing)}")
        array = array if array.dtype.kind == "O" else array.astype(str)
    codes, classes = class_codes(array)
    if len(classes) < min_classes:
        raise ValueError(f"{name} must contain at least {min_classes} classes, got {len(classes)}")
    return codes, classes


_MANY_CLASSES = 0.5
"""Largest share of rows with classes of their own."""


def require_few_classes(n_classes: int, n_rows: int, remedy: str = "bin a quantity") -> None:
    """Refuse labels of which most differ, because these are quantities or names of rows."""
    if n_classes > max(2, _MANY_CLASSES * n_rows):
        raise ValueError(f"y must contain classes, got {n_classes} different labels for {n_rows} rows; {remedy}")


def require_scalars(labels: NDArray[Any], name: str) -> None:
    """Refuse labels of which some are lists, such as several tags per row."""
    if labels.dtype.kind == "V" and labels.dtype.names is None:
        raise TypeError(f"{name} must be one label per row, got an array of dtype {labels.dtype}")
    kinds = set(map(type, labels.tolist())) if labels.dtype.kind == "O" else set()
    # Whatever cannot be hashed is no class: lists, sets, masked entries.
    if any(issubclass(kind, tuple) or kind.__hash__ is None or hasattr(kind, "shape") for kind in kinds):
        for row, label in enumerate(labels):
            if isinstance(label, tuple) or type(label).__hash__ is None or shape_of(label):
                raise TypeError(f"{name} must be one label per row, got {type(label).__name__} {label} in row {row}")


def label_column(labels: Any, name: str) -> Any:
    """Return the column of a table (pandas, polars, pyarrow) with one column; other labels as they are."""
    columns = getattr(labels, "columns", None)
    if columns is None or len(shape_of(labels)) != 2:
        return labels
    known = list(getattr(labels, "column_names", columns))
    if len(known) != 1:
        raise TypeError(
            f"{name} must be one column of labels, got a table with columns {join_items(map(str, known))}; pass one"
        )
    return labels.iloc[:, 0] if hasattr(labels, "iloc") else labels[known[0]]


def label_vector(labels: NDArray[Any], n_rows: int) -> NDArray[Any]:
    """Return a single row or column of labels as a vector; labels in cells of MATLAB are taken out of their cells."""
    if labels.ndim == 2 and labels.shape in ((1, n_rows), (n_rows, 1)):
        labels = labels.ravel()
    if labels.dtype.kind == "O" and labels.ndim == 1:
        cells = labels.tolist()
        if cells and all(isinstance(cell, np.ndarray) and cell.size == 1 for cell in cells):
            labels = np.array([cell.ravel()[0] for cell in cells], dtype=object)
    return labels


def choice(value: T, known: Sequence[Any], name: str) -> T:
    """Return the value if it is one of the known words, booleans or None, or raise an error that lists these."""
    if not is_word(value, known):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {brief(value)}")
    return value


_MOST = 2**31 - 1
"""Upper limit for any count; larger counts would overflow in NumPy or run forever."""
_REPETITIONS = {"n_permutations", "n_bootstrap", "n_draws", "n_splits", "n_rotations", "n_resamples", "n_directions"}
_REPETITIONS |= {"n_simulations", "n_tables"}
_MOST_REPETITIONS = 10_000_000
"""Upper limit for numbers of repetitions; even a permutation of a few rows takes microseconds."""


def count(value: int, name: str, *, minimum: int = 1) -> int:
    """Check that a value is an integer within limits, and return it."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, got {brief(value)}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    if value > _MOST:
        raise ValueError(f"{name} must be at most {_MOST:,}, got {value}")
    if name in _REPETITIONS and value > _MOST_REPETITIONS:
        raise ValueError(
            f"{name} must be at most {_MOST_REPETITIONS:,}, got {value:,}; each repetition takes time, and 10,000 "
            "suffice for p = 0.0001"
        )
    return int(value)


def optional_count(value: int | None, name: str, *, minimum: int = 1) -> int | None:
    """Check a count; None means no limit."""
    return (
        None if value is None else count(min(value, _MOST) if isinstance(value, int) else value, name, minimum=minimum)
    )


def _number(value: Any, name: str) -> float:
    """Return one number as a Python float, which is infinite if the number exceeds the range of floats."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} must be a number, got {brief(value)}")
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _number_that(value: Any, name: str, expected: str, is_valid: Callable[[float], bool]) -> float:
    """Check that a value is a finite number that meets a condition."""
    number = _number(value, name)
    if not (np.isfinite(number) and is_valid(number)):
        raise ValueError(f"{name} must be {expected}, got {number}")
    return number


_SMALLEST_SHARE = 1e-15
"""Distance from 0 and 1 below which quantiles are infinite and reciprocals overflow."""


def fraction(value: float, name: str, *, closed: bool = True) -> float:
    """Check that a value lies in (0, 1], or in (0, 1) if not `closed`."""
    limits = f"in (0, 1{']' if closed else ')'}"
    share = _number_that(value, name, limits, lambda number: 0 < number < 1 or (closed and number == 1))
    least, limits = _SMALLEST_SHARE, f"at least {_SMALLEST_SHARE:g} and at most 1 - {_SMALLEST_SHARE:g}"
    return _number_that(share, name, limits, lambda number: number == 1 or least <= number <= 1 - least)


def positive(value: float, name: str, *, most: float | None = None) -> float:
    """Check that a number is positive, finite, and not above a limit."""
    limits = "positive and finite" if most is None else f"positive and at most {most:g}"
    return _number_that(value, name, limits, lambda number: number > 0 and (most is None or number <= most))


def require_at_least(value: float, name: str, minimum: float, *, most: float | None = None) -> float:
    """Check that a number is finite, not below the minimum, and not above a limit."""
    limits = f"finite and at least {minimum:g}" if most is None else f"at least {minimum:g} and at most {most:g}"
    return _number_that(value, name, limits, lambda number: number >= minimum and (most is None or number <= most))


def finite_number(value: float, name: str) -> float:
    """Check that a number is finite."""
    return _number_that(value, name, "finite", lambda number: True)


def real_number(value: Any, name: str) -> float:
    """Check that a user function returned one real number, of Python, NumPy or another library."""
    array = to_host(value, name)
    if array.ndim or array.dtype.kind not in "fiub":
        what = f"an array of shape {array.shape}" if array.ndim else repr(value)
        raise TypeError(f"{name} must be one real number, got {what}")
    return float(array)


def boolean(value: bool, name: str) -> bool:
    """Check that a value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {brief(value)}")
    return bool(value)


def not_estimable(reason: str) -> float:
    """Return NaN and warn with the reason, so that no score is missing without explanation."""
    warn(f"not estimable: {reason}", NotEstimableWarning)
    return float("nan")


def row_ids(ids: ArrayLike, n_rows: int, name: str) -> Index:
    """Check row numbers, which must be distinct and exist."""
    array = to_host(ids, name)
    if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) == 0:
        raise ValueError(f"{name} must be a non-empty sequence of row numbers, got {ids!r}")
    outside = array[(array < 0) | (array >= n_rows)]
    if len(outside):
        raise ValueError(f"{name} must lie in 0..{n_rows - 1}, got {join_items(outside)}")
    if len(np.unique(array)) < len(array):
        raise ValueError(f"{name} must name each row once, got repeated rows")
    return array.astype(np.intp)


INVARIANCES = ("scaling", "translation", "orthogonal")


def check_invariances(names: Collection[str]) -> frozenset[str]:
    """Check the names of a score's invariances."""
    return frozenset(choice(name, INVARIANCES, "invariant") for name in names)
