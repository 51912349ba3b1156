"""Tables that are refused because their rows or columns are not those of one matrix, with how to convert them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.inputs.class_labels import DECORATED
from shesha.inputs.column_words import FEATURE_NAME, LEVEL, MODEL
from shesha.inputs.columns import Column, is_number
from shesha.inputs.identity import could_identify, identity_names, is_identity_name
from shesha.inputs.vector_columns import find_vectors, is_missing, quote_start
from shesha.support.provenance import state_warning
from shesha.support.wording import count, join_names

_MOST_LONG = 8
"""Largest number of columns of numbers in a table with one row for each input and feature."""
_FEWEST = 4
"""Smallest number of inputs of a table of pairs, and of columns of numbers that are stored as text."""
_MARK = re.compile(
    r"[<>≤≥]?\s*\W*|[<>≤≥].*|#.*|n\.?/?[ad]\.?|null|none|missing|error|nan|b?l[ol][dq]|bdl|bql", re.IGNORECASE
)
"""Texts in place of a value that is missing or out of range."""


def require_one_set_of_names(names: Sequence[str], source: str, option: str = "keys=") -> None:
    """Refuse two tables side by side, whose columns have the same names."""
    repeated = [name for name, number in Counter(names).items() if number > 1]
    if len(repeated) > 1 and 2 * len(repeated) > len(set(names)):
        raise ValueError(
            f"{source} must have one column of each name, got {len(repeated)} names of several columns, such as "
            f"{join_names(repeated[:2])}; give the columns of each representation names of their own"
            + f", such as a_0 and b_0, and choose with {option}"
            * bool(option)
        )


def require_one_model(usable: Sequence[Column], source: str) -> None:
    """Refuse a table with a row of each input for several models; warn of rows of several models."""
    texts = [c for c in usable if c.kind == "text" and find_vectors(c.head()) is None]
    models = [c for c in texts if MODEL.fit(c.name)]
    for model in models[:1]:
        values = model.values().tolist()
        names = set(values)
        if not 1 < len(names) <= _MOST_LONG:
            continue
        for item in (c for c in texts if c is not model):
            items = item.values().tolist()
            n_items = len(set(items))
            if n_items * len(names) == len(items) == len(set(zip(items, values, strict=True))) and n_items > len(names):
                raise ValueError(
                    f"{source} must have one row per input, got one row for each {item.name} and {model.name} "
                    f"({len(names)} x {n_items:,} rows); write the rows of each {model.name} to a file of their own"
                )
        if 2 * len(names) <= len(values):
            shown = join_names(sorted(map(str, names))[:3])
            state_warning(
                f"rows of {source} have {len(names)} values of {model.name} ({shown}); if these computed the vectors, "
                "distances between rows of different ones mean nothing: write the rows of each to a file of their own"
            )


def require_wide(columns: Sequence[Column], n_numbers: int, source: str) -> None:
    """Refuse a table with one row for each input and feature, such as each trial and neuron."""
    able = [c for c in columns if c.kind in ("numbers", "text")]
    features = [c for c in able if FEATURE_NAME.fit(c.name)]
    if not features or n_numbers > _MOST_LONG:
        return
    feature = features[0]
    names = feature.values().tolist()
    n_features = len(set(names))
    if not 1 < n_features <= len(names) // 2:
        return
    keys = {c.name: c.values().tolist() for c in able if c is not feature and could_identify(c.values())}
    levels = [name for name in keys if LEVEL.fit(name)]
    choices: dict[tuple[str, ...], list[Any]] = {(name,): values for name, values in keys.items()}
    if len(levels) > 1:
        choices[tuple(levels)] = list(zip(*(keys[name] for name in levels), strict=True))
    for index, inputs in choices.items():
        n_inputs = len(set(inputs))
        if not 1 < n_inputs <= len(names) // 2 or 2 * len(names) < n_inputs * n_features:
            continue
        if len(set(zip(inputs, names, strict=True))) == len(names):
            shown = repr(index[0]) if len(index) == 1 else list(index)
            raise ValueError(
                f"{source} must have one row per input and one column per feature, got one row for each "
                f"{' and '.join((*index, feature.name))} ({len(names):,} rows); convert it with "
                f"table.pivot(index={shown}, columns={feature.name!r}, values=COLUMN)"
            )


def require_no_pairs(columns: Sequence[Column], n_numbers: int, source: str) -> None:
    """Refuse a table with one row for each pair of inputs, such as judgements of similarity."""
    items = [c for c in columns if c.kind in ("numbers", "text")][:2]
    if len(items) < 2 or not 1 <= n_numbers <= _MOST_LONG:
        return
    n_rows = len(items[0].values())
    # Most tables have another number of rows than all pairs of some inputs, so a second column is rarely read.
    if isqrt(8 * n_rows + 1) ** 2 != 8 * n_rows + 1 or not all(could_identify(c.values()) for c in items):
        return
    pairs = {frozenset(pair) for pair in zip(*(c.values().tolist() for c in items), strict=True)}
    n = len(frozenset().union(*pairs))
    are_all = len(pairs) == n_rows and 2 * n_rows in (n * (n - 1), n * (n + 1))
    if n >= _FEWEST and are_all and min(len(set(c.values().tolist())) for c in items) >= n - 1:
        raise ValueError(
            f"{source} must have one row per input, got one row for each pair of {items[0].name} and {items[1].name} "
            f"({n} inputs); write the distances of the pairs as a square matrix, and pass it with --rdm"
        )


def require_numbers(family: Sequence[Column], source: str) -> None:
    """Refuse numbered columns of which one contains text."""
    for column in family:
        if column.kind != "numbers":
            row, value = _first_text(column.values())
            raise ValueError(
                f"column {column.name!r} of {source} must contain numbers, as the other numbered columns do, got "
                f"{quote_start(value)} in row {row}"
            )


def require_clean_text(usable: Sequence[Column], source: str, option: str) -> None:
    """Refuse columns of numbers in which all or some values are text, which would otherwise be left out."""
    stored = [c.name for c in usable if c.kind == "text" and _are_numbers_as_text(c)]
    if len(stored) >= _FEWEST:
        raise ValueError(
            f"columns {stored[0]} to {stored[-1]} of {source} must contain numbers, got texts of numbers in "
            f"{len(stored)} columns; convert them with table[columns].astype(float)"
        )
    for column in usable:
        if column.kind != "text" or is_identity_name(column.name):
            continue
        present = [str(value).strip() for value in column.head() if not is_missing(value)]
        numbers = [value for value in present if is_number(value)]
        others = [value for value in present if not is_number(value)]
        decorated = [value for value in others if DECORATED.fullmatch(value)]
        if present and decorated and len(numbers) + len(decorated) > len(present) // 2:
            example = max(decorated, key=lambda value: len(re.findall(r"\W", value)))
            raise ValueError(
                f"column {column.name!r} of {source} must contain plain numbers such as 1234.5, got "
                f"{quote_start(example)}; remove separators of thousands, units and signs of currencies"
                + f", or name the features in {option}"
                * bool(option)
            )
        if len(numbers) * 2 <= len(present):
            continue
        row, value = _first_text(column.values())
        if value == column.name:
            raise ValueError(
                f"{source} must have one line of column names, got them again in row {row}, as in files that were "
                "joined; remove these lines"
            )
        # Codes such as chromosomes (1, 2, X) are whole numbers beside letters; measurements are not.
        if row >= 0 and (_MARK.fullmatch(value) or not all(number.lstrip("+-").isdigit() for number in numbers)):
            raise ValueError(
                f"column {column.name!r} of {source} must contain numbers in every row, got {quote_start(value)} in "
                f"row {row}" + f"; correct it, or name the features in {option}" * bool(option)
            )


def _are_numbers_as_text(column: Column) -> bool:
    """Return whether a column of text contains numbers, at least one with a decimal point, unlike codes."""
    present = [str(value).strip() for value in column.head() if not is_missing(value)]
    return any("." in value for value in present) and all(map(is_number, present)) and not is_identity_name(column.name)


def _first_text(values: Any) -> tuple[int, str]:
    for row, value in enumerate(values):
        if isinstance(value, str) and not is_number(value):
            return row, value
    return -1, ""


DROPLETS_ADVICE = "Use the filtered matrix (filtered_feature_bc_matrix), or leave out rows with few counts"
_FEWEST_DROPLETS, _LARGE, _EMPTY, _MOSTLY = 100, 10, 0.02, 0.5
"""Fewest rows of counts, number of the rows with the largest totals that are no outliers, share of their totals up to
which a row is nearly empty, and share of such rows."""


def describe_droplets(totals: NDArray[Any]) -> str:
    """Say that most rows of counts are nearly empty, as droplets without a cell are; otherwise an empty string.

    Examples
    --------
    >>> totals = np.r_[np.full(300, 4), np.linspace(900, 1100, 30)]
    >>> describe_droplets(totals)
    '300 of 330 rows have at most 2 % of the counts of the largest rows, like droplets without a cell'
    >>> describe_droplets(totals[250:]), describe_droplets(np.r_[totals[200:], 1000 + totals])
    ('', '')
    """
    if len(totals) < _FEWEST_DROPLETS:
        return ""
    largest = np.partition(totals, -_LARGE)[-_LARGE]
    n_empty = int((totals <= _EMPTY * largest).sum())
    if largest <= 0 or n_empty < _MOSTLY * len(totals):
        return ""
    share = f"{100 * _EMPTY:g} % of the counts of the largest rows"
    return f"{n_empty:,} of {len(totals):,} rows have at most {share}, like droplets without a cell"


def warn_of_rounded_identifiers(columns: Sequence[Column], source: str) -> None:
    """Warn of identifiers of many digits that a spreadsheet has rounded, so that rows share them."""
    for name in identity_names(column.name for column in columns if column.kind == "numbers"):
        values = np.asarray(next(column for column in columns if column.name == name).values())
        if values.dtype.kind != "f" or not len(values) or not np.isfinite(values).all():
            continue
        n_different = len(np.unique(values))
        if values.min() >= _ROUNDED and 2 * n_different <= len(values):
            state_warning(
                f"{name} of {Path(source).name} cannot identify rows: {count(len(values), 'row')} have "
                f"{count(n_different, 'value')}, such as {values[0]:g}, as a spreadsheet rounds long numbers. Export "
                "it as text",
                questions_input=True,
            )


_ROUNDED = 1e11
"""Smallest number that spreadsheets write with an exponent."""


def state_trial_table(values: NDArray[Any], name: str, option: str = "keys= (--key)") -> None:
    """Warn in the result of a matrix that lists the times and codes of trials, instead of responses to them.

    Its columns begin and end intervals that follow one another, or one column rises and the others are few codes.
    """
    if values.ndim != 2 or values.dtype.kind not in "iuf" or not 2 <= values.shape[1] <= _MOST_LONG:
        return
    if len(values) < _FEWEST_TRIALS or not np.isfinite(values).all():
        return
    columns = [column.astype(np.float64) for column in values.T]
    rising = [k for k, column in enumerate(columns) if (np.diff(column) > 0).all()]
    spans = [(k, m) for k in rising for m in rising if _follow_one_another(columns[k], columns[m])]
    others = [column for k, column in enumerate(columns) if k not in rising]
    are_codes = all((each == np.floor(each)).all() and 3 * len(np.unique(each)) <= len(each) for each in others)
    if spans:
        sign = f"columns {spans[0][0]} and {spans[0][1]} begin and end intervals that follow one another"
    elif len(rising) == 1 and others and are_codes:
        sign = f"column {rising[0]} rises from row to row, and the others are codes of few values"
    else:
        return
    state_warning(
        f"{name} ({len(values):,} x {values.shape[1]}) looks like a table of trials, and not like responses: {sign}. "
        f"Leave it out: choose the others with {option}",
        questions_input=True,
    )


def _follow_one_another(starts: NDArray[Any], ends: NDArray[Any]) -> bool:
    """Return whether intervals end after they start, and before the next one starts."""
    return bool((ends > starts).all() and (ends[:-1] <= starts[1:] + _TOLERANCE * np.diff(starts)).all())


_FEWEST_TRIALS, _TOLERANCE = 12, 0.05
"""Fewest rows of a table of trials, and largest overlap of intervals, as a share of the time between two of them."""
