"""Columns and arrays that identify rows: recognised by their names, and by values that do not repeat."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shesha.inputs._row_names import Names
from shesha.support.plurals import count

_IDENTITY = frozenset(
    f"{noun}{ending}"
    for ending in ("", "s")
    for noun in (
        *("id", "uid", "uuid", "guid", "pk", "key", "rowid", "index", "idx", "url", "uri", "doi", "isbn", "asin"),
        *("sku", "hash", "sha", "link", "path", "file", "filename", "filepath", "accession", "barcode", "cell"),
        *("name", "obsname", "rowname", "sample", "item", "document", "word", "smiles"),
    )
)
"""Names of columns that identify rows, in lower case and without separators."""
_PARTS = frozenset(
    ("id", "ids", "uid", "uuid", "guid", "url", "uri", "path", "filename", "filepath", "barcode", "accession", "hash")
)
"""Words that make a longer name, such as doc_id or image_path, one of a column that identifies rows."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def words_of(name: str) -> list[str]:
    """Return the words of a name in lower case.

    Examples
    --------
    >>> words_of("docId"), words_of("image_path"), words_of("URL")
    (['doc', 'id'], ['image', 'path'], ['url'])
    """
    return [word.lower() for word in _WORDS.findall(name)]


def is_identity_name(name: str) -> bool:
    """Return whether a column or array has a name that usually denotes an identifier of rows.

    Examples
    --------
    >>> [name for name in ("doc_id", "uuid", "obs_names", "width", "n_tokens") if is_identity_name(name)]
    ['doc_id', 'uuid', 'obs_names']
    """
    words = words_of(name)
    return "".join(words) in _IDENTITY or (bool(words) and words[-1] in _PARTS)


def identity_names(names: Iterable[str]) -> list[str]:
    """Return the names that denote identifiers, short and general ones first."""
    return sorted(filter(is_identity_name, names), key=lambda name: "".join(words_of(name)) not in _IDENTITY)


_GENE = re.compile(r"ENS[A-Z]*G\d{6,}(\.\d+)?|[A-Z][A-Z0-9]{1,9}([-.][A-Z0-9]+)*|[A-Z][a-z]{1,4}\d+[a-z]?\d*|GENE_?\d+")
_CELL = re.compile(r".*[ACGT]{8,}(-\d+)?.*|[ACGT]{4,}\d*-\d+|(cell|GSM|sample|barcode)[_.-]?\w+", re.IGNORECASE)
_FEATURE = re.compile(
    r"(dim(ension)?|feat(ure)?|pc|comp(onent)?|latent|neuron|unit|channel|emb(edding)?)s?[ _.-]?\d+", re.IGNORECASE
)
_MOSTLY = 0.8


def kinds_if_transposed(rows: Iterable[str], columns: Iterable[str]) -> tuple[str, str]:
    """Return what most rows and columns are if their names show that inputs are in columns, else empty texts.

    Examples
    --------
    >>> kinds_if_transposed(["ACTB", "CD3D", "GAPDH"], ["AAACCTGAGAAACCAT-1", "AAACCTGAGAAACCGC-1"])
    ('genes', 'cells')
    >>> kinds_if_transposed(["dim_0", "dim_1", "dim_2"], ["doc 7", "doc 9"])
    ('features', 'inputs')
    >>> kinds_if_transposed(["doc 7", "doc 9"], ["dim_0", "dim_1", "dim_2"])
    ('', '')
    """
    rows, columns = list(rows), list(columns)
    if rows and all(map(_FEATURE.fullmatch, rows)) and not any(map(_FEATURE.fullmatch, columns)):
        return "features", "inputs"
    genes = [_GENE.fullmatch(name) is not None and _CELL.fullmatch(name) is None for name in rows]
    cells = [_CELL.fullmatch(name) is not None for name in columns]
    clear = bool(genes and cells) and sum(genes) >= _MOSTLY * len(genes) and sum(cells) >= _MOSTLY * len(cells)
    return ("genes", "cells") if clear else ("", "")


def named_index(names: Iterable[Any]) -> str:
    """Return the name of an index if it denotes an identifier of rows, otherwise an empty string."""
    named = [str(name) for name in names if name is not None]
    return " and ".join(named) if any(map(is_identity_name, named)) else ""


def is_certain_identity(name: str) -> bool:
    """Return whether a name denotes an identifier so clearly that repeated values must be reported."""
    return words_of(name)[-1:] in ([word] for word in ("id", "ids", "uid", "uuid", "guid"))


def distinct_values(values: ArrayLike) -> bool:
    """Return whether values are present, distinct, and integers or text, as those of identifiers are."""
    array = np.asarray(values)
    if not could_identify(array) or (array.dtype.kind == "f" and np.isnan(array).any()):
        return False
    entries = array.tolist()
    if array.dtype.kind == "O" and not all(isinstance(entry, str | int | bytes) for entry in entries):
        return False
    return len(set(entries)) == len(entries)


def could_identify(values: ArrayLike) -> bool:
    """Return whether values differ, and are text or integers, which are stored as floats if some are missing."""
    array = np.asarray(values)
    if array.ndim != 1 or not len(array) or (len(array) > 1 and len(set(array.tolist())) == 1):
        return False
    if array.dtype.kind == "f":
        known = array[~np.isnan(array)]
        return bool(len(known) and (known == np.floor(known)).all())
    return array.dtype.kind in "iuUTSO"


def choose_identity(names: Iterable[str], load: Callable[[str], ArrayLike]) -> str | None:
    """Return the first name whose values identify rows; values that only count the rows come last.

    Examples
    --------
    >>> columns = {"id": [0, 1, 2], "url": ["a", "c", "b"], "sku": [4, 4, 5]}
    >>> choose_identity(["sku", "id", "url"], columns.__getitem__), choose_identity(["id"], columns.__getitem__)
    ('url', 'id')
    """
    counting = None
    for name in names:
        values = load(name)
        if distinct_values(values):
            if not Names.build(values).counts_rows:
                return name
            counting = counting or name
    return counting


def distinct_names(values: Any, source: str, column: str) -> Names:
    """Return the names of rows from a column that was named; missing or repeated values are refused."""
    array = np.asarray(values)
    entries: list[Any] = array.tolist()
    n_missing = sum(entry is None or entry != entry for entry in entries)
    if n_missing:
        raise ValueError(f"ids must name a value for every row, got {count(n_missing, 'row')} without one in {source}")
    if len(set(entries)) < len(entries):
        n_repeated = len(entries) - len(set(entries))
        raise ValueError(f"ids must name distinct values, got {count(n_repeated, 'repeated value')} in {source}")
    return Names.build(array, column, chosen="column")
