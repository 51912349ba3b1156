"""Which rows are the same input: columns, arrays and indexes that identify rows."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any, Literal
from unicodedata import normalize
from uuid import UUID

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shesha.support.device_arrays import array_shape, to_host
from shesha.support.types import Array, is_array
from shesha.support.wording import count, join_items, plural, visible_name

Chosen = Literal["", "column", "format"]
Kind = Literal["text", "numbered", "counted"]
"""Kinds of names: text, integers that may be positions in another table, or consecutive integers."""


class Names:
    """Row names, which are read only when two representations have names.

    Parameters
    ----------
    load : callable
        Function that returns the names, one per row.
    doubtful : bool
        Whether the names are only a guess, because they come from the first column of a table.
    column : str
        Name of the column or array of identifiers that contains the names, such as 'id'. Integers in it identify rows
        as text does; other integers, such as the default index of pandas, may be mere row numbers.
    chosen : {'', 'column', 'format'}
        Who says that even numbers that only count the rows identify them: nobody, a user who named the column, or the
        format, such as the names of files.
    """

    def __init__(
        self, load: Callable[[], ArrayLike], *, doubtful: bool = False, column: str = "", chosen: Chosen = ""
    ) -> None:
        self._load, self.doubtful, self.column, self.chosen = load, doubtful, column, chosen
        self.columns: Mapping[str, Names] = {}
        """Columns of the table that are neither features nor the names, by which another order can be detected."""
        self.index: Names | None = None
        """The index of the table whose column contains the names; labels with an index are matched by it."""
        self.title = ""
        """The name of the index, such as 'trial'; labels with an index of this name are matched by it."""
        self.levels: Mapping[str, Names] = {}
        """Levels of an index, or coordinates of the rows, one of which may be the identifier that others have."""

    @classmethod
    def build(cls, values: ArrayLike, column: str = "", *, chosen: Chosen = "") -> Names:
        """Build names from values in memory."""
        return cls(lambda: values, column=column, chosen=chosen)

    @classmethod
    def from_index(cls, index: Any) -> Names:
        """Build names from an index of pandas, whose own name may denote an identifier."""
        names = cls.build(index, named_index(index.names))
        names.title = " and ".join(str(name) for name in index.names if name is not None)
        names.levels = cls._levels(index)
        return names

    @classmethod
    def _levels(cls, index: Any) -> dict[str, Names]:
        """Return the named levels of an index of several, which are read when they are needed."""
        named = [name for name in index.names if name is not None] if index.nlevels > 1 else []
        return {
            str(name): cls(partial(index.get_level_values, name), column=str(name), chosen="column") for name in named
        }

    @classmethod
    def from_coordinates(cls, index: Any, dimension: str, coordinates: Mapping[str, Any]) -> Names:
        """Build names from the index of a dimension, with the other coordinates of its entries."""
        names = cls.build(index)
        names.title = dimension
        others = {
            name: cls(partial(np.asarray, one), column=name, chosen="column") for name, one in coordinates.items()
        }
        names.levels = others | cls._levels(index)
        return names

    @classmethod
    def lazy(cls, record: Sequence[Any], load: Callable[[], ArrayLike], *, chosen: Chosen = "") -> Names:
        """Build names from a stored summary; the names themselves are loaded only if rows must be reordered."""
        *outline, doubtful, column = record
        names = cls(load, doubtful=doubtful, column=column, chosen=chosen)
        names.__dict__["outline"] = tuple(outline)
        return names

    @property
    def record(self) -> list[Any]:
        """The summary from which `lazy` builds names, as plain values."""
        return [*self.outline, self.doubtful, self.column]

    @cached_property
    def values(self) -> NDArray[Any]:
        """The names: integers, or text in an array of objects; text is empty where a name is missing."""
        return _comparable(np.asarray(self._load()))

    @cached_property
    def outline(self) -> tuple[str, int, bool, str, str]:
        """Kind, number, whether all are distinct and present, and hashes of the names in this and in sorted order."""
        values = self.values
        ordered = np.sort(values)
        distinct = bool((ordered[1:] != ordered[:-1]).all()) and not (len(ordered) and ordered[0] == "")
        return self._kind(values), len(values), distinct, _hash(values), _hash(ordered)

    @property
    def kind(self) -> Kind:
        """The kind of the names."""
        return self.outline[0]  # type: ignore[return-value]

    @property
    def distinct(self) -> bool:
        """Whether every row has a name of its own."""
        return self.outline[2]

    @property
    def certain(self) -> bool:
        """Whether the names identify rows, unlike row numbers and the texts of a first column."""
        return not self.doubtful and (bool(self.column) or self.kind == "text")

    @property
    def counts_rows(self) -> bool:
        """Whether the names are 0, 1, 2, ... or 1, 2, 3, ... in this order, and no user chose them as identifiers.

        An index of pandas that begins with 1 is that of a table without its first row.
        """
        starts = (0, 1) if self.column or self.doubtful else (0,)
        return not self.chosen and self.kind == "counted" and len(self) > 0 and self.values[0] in starts

    @property
    def word(self) -> str:
        """What the names are called in messages: their column, or 'name'."""
        return self.column or "name"

    @property
    def fault(self) -> str:
        """Which names are missing or repeated, or an empty string if every row has a name of its own."""
        values = self.values
        if self.distinct:
            return ""
        missing = np.flatnonzero(values == "") if values.dtype.kind == "O" else np.empty(0, dtype=np.intp)
        if len(missing):
            return f"none in row {missing[0]}" + f" and {len(missing) - 1:,} more" * (len(missing) > 1)
        names, counts = np.unique(values, return_counts=True)
        first = names[counts > 1][0]
        more = int((counts > 1).sum()) - 1
        return f"{first} in rows {join_items(np.flatnonzero(values == first))}" + f" and {more:,} more repeats" * (
            more > 0
        )

    @property
    def lost_digits(self) -> str:
        """Why integers are not the identifiers that they were, if all are such that floats can store them."""
        large = [int(value) for value in self.values.tolist() if re.fullmatch(r"\d{17,19}", str(value))]
        # Times in nanoseconds may be whole seconds.
        if len(large) < max(_FEWEST_NAMES, len(self)) or not any(value % 10 for value in large):
            return ""
        if any(int(float(value)) != value for value in large):
            return ""
        return (
            f"{plural(self.word)} lost digits, because integers above 2^53 were stored as floats; export them as "
            "integers or text"
        )

    def __len__(self) -> int:
        """Number of names."""
        return self.outline[1]

    def has_same_order(self, other: Names) -> bool:
        """Return whether row i has the same name in both."""
        return self.outline[3] == other.outline[3]

    def has_same_names(self, other: Names) -> bool:
        """Return whether both contain the same names, in any order."""
        return self.outline[4] == other.outline[4]

    def is_reordered(self, other: Names) -> bool:
        """Return whether both contain the same names in another order, or texts of which most are in other rows.

        Some texts may be repeated, or lack on one side, but most must be distinct and on both sides.
        """
        if len(self) != len(other) or len(self) < _FEWEST_NAMES or self.has_same_order(other):
            return False
        if self.distinct and other.distinct and self.has_same_names(other):
            return True
        if not self.kind == other.kind == "text":
            return False
        first, second = ({name for name, n in Counter(one.values).items() if n == 1} for one in (self, other))
        shared = first & second
        n_in_place = sum(name in shared for name in self.values[self.values == other.values])
        return 2 * len(shared) > len(self) and 2 * n_in_place < len(shared)

    def positions(self, other: Names) -> NDArray[np.intp]:
        """Return the position of each of the other names among these names."""
        place, other_place = np.argsort(self.values, kind="stable"), np.argsort(other.values, kind="stable")
        order = np.empty(len(place), dtype=np.intp)
        order[other_place] = place
        return order

    def take(self, rows: NDArray[np.intp]) -> Names:
        """Return the names of the given rows."""
        names = Names(lambda: self.values[rows], doubtful=self.doubtful, column=self.column, chosen=self.chosen)
        names.columns = {column: values.take(rows) for column, values in self.columns.items()}
        names.index = None if self.index is None else self.index.take(rows)
        names.title = self.title
        names.levels = {level: values.take(rows) for level, values in self.levels.items()}
        return names

    def as_identifiers(self) -> Names:
        """Return the values of an index as identifiers, which its name denotes."""
        names = Names(lambda: self.values, column=self.title, chosen="column")
        names.title = self.title
        return names

    def as_text(self) -> Names:
        """Return the same names as text, to compare them with names of which some are not numbers."""
        names = Names(lambda: self.values, doubtful=self.doubtful, column=self.column, chosen=self.chosen)
        names.__dict__["values"] = self.values.astype(str).astype(object)
        return names

    @staticmethod
    def _kind(values: NDArray[Any]) -> Kind:
        if values.dtype.kind not in "iu":
            return "text"
        # Slices of a table keep the table's row numbers, but two slices are compared by position.
        return "counted" if len(values) == 0 or (np.diff(values) == 1).all() else "numbered"


_FEWEST_NAMES = 3
"""Smallest number of names whose order is evidence."""
_NUMBER = re.compile(r"-?\d{1,18}", re.ASCII)
"""Text that is an integer which certainly fits into 64 bits."""
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{3}|\.\d{6})?)?(Z|[+-]\d\d:?\d\d)", re.ASCII)
"""Times with a time zone."""
_LARGEST = 10**18


def _comparable(array: NDArray[Any]) -> NDArray[Any]:
    """Return names in a form that does not depend on their storage: 7, 7.0, '7', b'7' and '007' are one name.

    Numbers with leading zeros stay text if some of them would no longer be distinct.
    """
    if array.dtype.kind in "iu" and (array.size == 0 or max(abs(int(array.min())), abs(int(array.max()))) < _LARGEST):
        return array.astype(np.int64)
    if array.dtype.kind in "mM":
        array = _format_times(array)
    text = [_as_text(value) for value in array.tolist()]
    if text and all(map(_NUMBER.fullmatch, text)):
        numbers = np.array(text, dtype=np.int64)
        if len(np.unique(numbers)) == len(set(text)):
            return numbers
    if text and all(map(_UUID.fullmatch, text)):
        text = [value.lower() for value in text]
    if text and all(map(INSTANT.fullmatch, text)):
        # Times in two zones are the same instants.
        text = [f"{datetime.fromisoformat(value).astimezone(UTC)}" for value in text]
    names = np.empty(len(text), dtype=object)
    names[:] = text
    return names


def _as_text(value: Any) -> str:
    """Return a name as text, without surrounding spaces; empty if it is missing."""
    if value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bytes):
        text = value.decode(errors="replace").strip()
        if (text or not value) and text.isprintable() and "\ufffd" not in text:
            return text
        return str(UUID(bytes=value)) if len(value) == 16 else value.hex()
    # Programs of macOS write an accent after its letter.
    return visible_name(normalize("NFC", str(value).strip()))


def _format_times(times: NDArray[Any]) -> NDArray[Any]:
    """Return times as text that does not depend on their unit, which differs between versions of pandas."""
    if times.dtype.kind == "m":
        return np.asarray((times / np.timedelta64(1, "s")).astype(str))
    seconds = times.astype("datetime64[s]")
    exact = times if np.datetime_data(times.dtype)[0] in ("ms", "us", "ns", "ps", "fs", "as") else seconds
    return np.array([text.rstrip("0").rstrip(".") if "." in text else text for text in exact.astype(str)])


def _hash(values: NDArray[Any]) -> str:
    digest = hashlib.sha256(values.dtype.kind.encode())
    if values.dtype.kind in "iu":
        digest.update(np.ascontiguousarray(values, dtype=np.int64).tobytes())
    else:
        digest.update("\0".join(values.tolist()).encode(errors="surrogatepass"))
    return digest.hexdigest()[:24]


class NamedRows:
    """An array with row names, by which its rows are matched with those of other arrays.

    Parameters
    ----------
    values : array of shape (n_samples, n_features) or (n_samples,)
        A representation or labels. Sparse matrices of SciPy stay sparse.
    names : array of shape (n_samples,)
        One name per row, as text or numbers. Repeated names do not identify rows.

    Examples
    --------
    >>> named = NamedRows([[1.0, 2.0], [3.0, 4.0]], ["cell 7", "cell 9"])
    >>> named, named.names.tolist()
    (NamedRows(shape (2, 2)), ['cell 7', 'cell 9'])
    >>> NamedRows([[1.0, 2.0]], ["cell 7", "cell 9"])
    Traceback (most recent call last):
    ValueError: names must be one per row (1), got shape (2,)
    """

    def __init__(self, values: Any, names: ArrayLike | Names) -> None:
        self.values = values if is_array(values) else to_host(values, "values")
        self.known = names if isinstance(names, Names) else Names.build(to_host(names, "names"), "name")
        """Names of the rows; names in a file are read only when needed."""
        if not isinstance(names, Names) and (not self.shape or array_shape(names) != self.shape[:1]):
            raise ValueError(f"names must be one per row ({(self.shape or (0,))[0]}), got shape {array_shape(names)}")

    @property
    def names(self) -> Array:
        """One name per row, as integers or text."""
        return self.known.values

    def __repr__(self) -> str:
        """Show the shape only."""
        return f"NamedRows(shape {self.shape})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values."""
        return tuple(self.values.shape)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        """Data type of the values."""
        return self.values.dtype

    def __len__(self) -> int:
        """Number of rows."""
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return the values, without the names."""
        dense = self.values.toarray() if hasattr(self.values, "toarray") else self.values
        return np.array(dense, dtype=dtype, copy=copy)


_IDENTITY = frozenset(
    f"{noun}{ending}"
    for ending in ("", "s")
    for noun in (
        *("id", "uid", "uuid", "guid", "pk", "key", "rowid", "index", "idx", "url", "uri", "doi", "isbn", "asin"),
        *("sku", "hash", "sha", "link", "path", "file", "filename", "filepath", "accession", "barcode", "cell"),
        *("name", "obsname", "rowname", "sample", "item", "document", "word", "smiles", "image", "img", "protein"),
        *("pid", "qid", "cid", "sid", "nid", "docid", "docno"),
        *("compound", "molecule", "vertex", "vertice", "voxel", "node", "parcel", "roi", "electrode", "respondent"),
    )
)
"""Names of columns that identify rows, in lower case and without separators."""
_PARTS = frozenset(
    (
        *("id", "ids", "uid", "uuid", "guid", "rowid", "idx", "index", "url", "uri", "path", "filename", "filepath"),
        *("barcode", "accession", "hash"),
    )
)
"""Words that make a longer name, such as doc_id or image_path, one of a column that identifies rows."""
_CLASSES = frozenset(
    ("label", "labels", "class", "cluster", "topic", "category", "type", "target", "leiden", "louvain", "cls")
)
"""Words of names of columns that number classes, such as cluster_id, which do not identify rows."""
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
    >>> names = ("doc_id", "uuid", "obs_names", "width", "n_tokens", "cluster_id")
    >>> [name for name in names if is_identity_name(name)]
    ['doc_id', 'uuid', 'obs_names']
    """
    words = words_of(name)
    return "".join(words) in _IDENTITY or (bool(words) and words[-1] in _PARTS and not _CLASSES & set(words))


def identity_names(names: Iterable[str]) -> list[str]:
    """Return the names that denote identifiers, short and general ones first."""
    return sorted(filter(is_identity_name, names), key=lambda name: "".join(words_of(name)) not in _IDENTITY)


_SHOWN = re.compile(
    r"stim(ulus|uli)?|cond(ition)?s?|images?|pictures?|scenes?|objects?|orientations?|directions?|contrasts?|odou?rs?"
    r"|tones?|sounds?|gratings?|textures?|movies?|sentences?|words?|items?|concepts?"
)
"""Words in names of columns of what was shown in each trial."""


def is_condition_name(column: str) -> bool:
    """Return whether a column is named like what was shown in each trial, such as a stimulus."""
    return any(map(_SHOWN.fullmatch, words_of(column)))


_GENE = re.compile(r"ENS[A-Z]*G\d{6,}(\.\d+)?|[A-Z][A-Z0-9]{1,9}([-.][A-Z0-9]+)*|[A-Z][a-z]{1,4}\d+[a-z]?\d*|GENE_?\d+")
_KNOWN_GENE = re.compile(
    r"(ENS[A-Z]*G\d{6}|MT-|RP[LS]\d|ZNF\d|SLC\d|FAM\d|LINC\d|MIR\d|KRT\d|TMEM\d|CCDC\d|HLA-|HSP|EEF|CD\d|IL\d|CXC|ACTB|GAPDH|MALAT1"
    r"|B2M|FOS|JUN)[\w.-]*",
    re.IGNORECASE,
)
"""Names of genes that other names of rows hardly have."""
_CELL = re.compile(r".*[ACGT]{8,}(-\d+)?.*|[ACGT]{4,}\d*-\d+|(cell(?!s_)|GSM|sample|barcode)[_.-]?\w+", re.IGNORECASE)
_FEATURE = re.compile(
    r"(dim(ension)?|feat(ure)?|pc|comp(onent)?|latent|neuron|unit|channel|electrode|voxel|roi|emb(edding)?)s?"
    r"[ _.-]?\d+",
    re.IGNORECASE,
)
_ANY_FEATURE = re.compile(rf"{_FEATURE.pattern}|[defhvxz]?_?\d+", re.IGNORECASE)
"""Names of columns of vectors of genes."""
_MOSTLY, _FEW, _FEWEST_GENES = 0.8, 0.03, 3


def look_like_genes(names: Sequence[str]) -> bool:
    """Return whether most of some names have the form of names of genes, and a few are well-known genes.

    Examples
    --------
    >>> look_like_genes(["CD3D", "CD8A", "GNLY", "MS4A1"]), look_like_genes(["AGE", "BMI", "SCORE"])
    (True, False)
    """
    genes = [name for name in names if _GENE.fullmatch(name)]
    known = sum(map(bool, map(_KNOWN_GENE.fullmatch, names)))
    return bool(genes) and len(genes) >= _MOSTLY * len(names) and known >= max(1, _FEW * len(names))


def are_cell_names(names: Sequence[str]) -> bool:
    """Return whether most of some names are barcodes, or number cells or samples.

    Examples
    --------
    >>> are_cell_names(["AAACCTGAGAAACCAT-1", "AAACCTGAGAAACCGC-1"]), are_cell_names(["STAT1", "JAK2"])
    (True, False)
    """
    return sum(_CELL.fullmatch(name) is not None for name in names) >= _MOSTLY * len(names)


_GENE_COLUMN = re.compile(
    r"(gene|hgnc|ensembl|entrez|ensg|probeset|transcript)[ _.]?(id|name|symbol)?s?(_a)?|(gene_?)?symbols?"
    r"|probe[ _.]?(id|name|set)s?",
    re.IGNORECASE,
)
"""Names of columns of genes."""
_COLUMN_OF_FEATURES = re.compile(
    r"(dim(ension)?|feat(ure)?|component|latent|variable|pc)s?[ _.]?(id|name|index|idx|number|no)?", re.IGNORECASE
)
"""Names of columns that name features."""


def kinds_if_transposed(rows: Iterable[str], columns: Iterable[str], column: str = "") -> tuple[str, str]:
    """Return what most rows and columns are if their names show that inputs are in columns, else empty texts.

    Examples
    --------
    >>> kinds_if_transposed(["ACTB", "CD3D", "GAPDH"], ["AAACCTGAGAAACCAT-1", "AAACCTGAGAAACCGC-1"])
    ('genes', 'cells')
    >>> kinds_if_transposed(["dim_0", "dim_1", "dim_2"], ["doc 7", "doc 9"])
    ('features', 'inputs')
    >>> kinds_if_transposed(["doc 7", "doc 9"], ["dim_0", "dim_1", "dim_2"])
    ('', '')
    >>> kinds_if_transposed(["Xkr4", "Rp1"], ["s1", "s2"], "Symbol")
    ('genes', 'cells or samples')

    The last argument is the name of the column that names the rows.
    """
    rows, columns = list(rows), list(columns)
    if columns and all(map(_ANY_FEATURE.fullmatch, columns)):
        return "", ""
    if _GENE_COLUMN.fullmatch(column):
        return "genes", "cells or samples"
    named = _COLUMN_OF_FEATURES.fullmatch(column) or all(map(_FEATURE.fullmatch, rows))
    if rows and named and not any(map(_FEATURE.fullmatch, columns)):
        return "features", "inputs"
    genes = [_GENE.fullmatch(name) is not None and _CELL.fullmatch(name) is None for name in rows]
    cells = [_CELL.fullmatch(name) is not None for name in columns]
    if not genes or not cells or sum(genes) < _MOSTLY * len(genes) or 2 * len(set(rows)) < len(rows):
        return "", ""
    # Cells may have names of plates and wells.
    known, others = (sum(map(bool, map(_KNOWN_GENE.fullmatch, names))) for names in (rows, columns))
    clear = sum(cells) >= _MOSTLY * len(cells) or (known >= max(_FEWEST_GENES, _FEW * len(rows)) and not others)
    return ("genes", "cells") if clear else ("", "")


_MOST_NAMES = 200
"""Number of row and column names that are looked at."""


def describe_transposed(rows: Sequence[Any], columns: Sequence[Any], column: str = "") -> tuple[str, str, str]:
    """Return that rows look like features and columns like inputs, and what both are; empty texts otherwise."""
    rows, columns = ([str(name) for name in names[:: max(1, len(names) // _MOST_NAMES)]] for names in (rows, columns))
    features, inputs = kinds_if_transposed(rows, columns, column)
    text = f"rows look like {features} ({rows[0]}), columns like {inputs} ({columns[0]})" if features else ""
    return text, features, inputs


def named_index(names: Iterable[Any]) -> str:
    """Return the name of an index if it denotes an identifier of rows, otherwise an empty string."""
    named = [str(name) for name in names if name is not None]
    return " and ".join(named) if any(map(is_identity_name, named)) else ""


def is_certain_identity(name: str) -> bool:
    """Return whether a name denotes an identifier so clearly that repeated values must be reported."""
    words = words_of(name)
    return words[-1:] in ([word] for word in ("id", "ids", "uid", "uuid", "guid")) and is_identity_name(name)


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
            if not Names.build(values, name).counts_rows:
                return name
            counting = counting or name
    return counting


def choose_condition(names: Iterable[str], load: Callable[[str], ArrayLike]) -> str | None:
    """Return the first name of conditions that differ in all rows, and do not only count them."""
    for name in filter(is_condition_name, names):
        values = load(name)
        if distinct_values(values) and not Names.build(values).counts_rows:
            return name
    return None


def joined_values(columns: Sequence[ArrayLike]) -> NDArray[Any]:
    """Return one text per row from several columns that only together identify rows.

    Examples
    --------
    >>> joined_values([["a", "a", "b"], [1, 2, 1]]).tolist()
    ['a | 1', 'a | 2', 'b | 1']
    """
    texts = [[_as_text(value) for value in np.asarray(column).tolist()] for column in columns]
    joined = np.empty(len(texts[0]), dtype=object)
    joined[:] = [" | ".join(row) for row in zip(*texts, strict=True)]
    return joined


def distinct_names(values: Any, source: str, column: str) -> Names:
    """Return the names of rows from a column that was named; missing or repeated values are refused."""
    array = np.asarray(values)
    entries: list[Any] = array.tolist()
    n_missing = sum(entry is None or entry != entry for entry in entries)
    if n_missing:
        raise ValueError(f"ids must name a value for every row, got {count(n_missing, 'row')} without one in {source}")
    names = Names.build(array, column, chosen="column")
    if len(set(entries)) < len(entries):
        n_repeated = len(entries) - len(set(entries))
        raise ValueError(
            f"ids must name distinct values, got {count(n_repeated, 'repeated value')} in {source} ({names.fault}); "
            + (names.lost_digits or "if these rows are copies, as of samplers that fill up batches, save one of each")
        )
    return names
