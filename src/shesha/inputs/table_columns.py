"""Decide which columns of a table form the matrix, which one identifies the rows, and which are left out.

This is the only place that decides, for text tables, parquet and Arrow files, data sets, and tables in memory. The
evidence is the names of the columns, their types and a sample of their values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from math import isqrt
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shesha.inputs.class_labels import DECORATED
from shesha.inputs.identity import (
    Names,
    choose_condition,
    choose_identity,
    could_identify,
    distinct_values,
    identity_names,
    is_certain_identity,
    is_identity_name,
    joined_values,
    look_like_genes,
    words_of,
)
from shesha.inputs.vector_columns import SPARSE, Vectors, find_vectors, is_missing, quote_start
from shesha.support import provenance
from shesha.support.types import Index
from shesha.support.wording import join_items, join_names

if TYPE_CHECKING:
    import pandas as pd


Kind = Literal["numbers", "text", "bytes", "lists", "other"]
SAMPLE = 20
"""Number of values of a column that are looked at."""

_LABELS = frozenset({"label", "labels", "y", "class", "target"})
_VECTOR = re.compile(
    r"emb(ed(ding)?)?s?|vec(tor)?s?|repr(esentation)?s?|latents?|activations?|features?|hidden|states?|u?int"
)
"""Words in names of columns that contain vectors; services name columns of codes int8 and uint8."""
_SURE = re.compile(r"emb(ed(ding)?)?s?|vec(tor)?s?|representations?|latents?|activations?")
"""Words that, at the end of a name, promise vectors: other contents are refused."""
_NO_VECTOR = re.compile(r"(input|token|token_type|decoder_input)_ids|attention_mask|tokens|labels|bbox|shape|size")
"""Names of columns of lists that are never representations beside others."""
_FAMILY = re.compile(
    r"d(im)?|emb(ed(ding)?)?s?|e|v(ec(tor)?)?|x|f(eat(ure)?)?s?|pca?|lsi|svd|ica?|nmf|mofa|ld|lda|lv|factor|topic"
    r"|comp(onent)?|latent|z|h(idden)?|unit|neuron|channel|ch|pixel|px|harmony|scan?vi|col(umn)?|val(ue)?|c|repr?"
)
"""Last words in names of numbered columns that form a matrix, whatever else the table contains."""
_PICTURE = re.compile(r"x?_?((f?it)?tsne|umap|phate|spatial|draw_?graph(_fa|_fr)?|mde|trimap|pacmap)")
"""Names of embeddings that are made for plots."""
PICTURE_COLUMNS = 3
"""Largest number of columns of an embedding that is made for plots."""
_SIDE = re.compile(
    r"metadata_\w+|scores?|similarity|distances?|rank|(n|num|number_of|prompt|total)_(tokens|chars|words|genes|counts|cells)"
    r"|counts?|n|n_(obs|rows|samples)|tokens?|(token|char|word)_count|tokens_used|datetime|date|(created|updated|modified|added)(_at|_utc|_on|_ts)?"
    r"|(\w+_)?(timestamp|unix_?(time|ts|ms|us|ns|s)|epoch_(time|ms|s|us|ns))(_(ms|us|ns|s|utc))?|ts|row|row_?(num|number|id|nr)|index|idx|level_0|page(_number)?|chunk(_(index|number))?|fold|split"
    r"|seed|cluster|leiden|louvain|batch|total_counts|n_genes_by_counts|n_?(count|feature)_rna|percent_mt"
    r"|(is|in|use|was)_(train(ing)?|test|val(id(ation)?)?|eval|holdout|outlier|doublet|duplicate|deleted|excluded)"
    r"|cluster(s|_\w+)?|pred(icted|iction)?(_\w+)?|(\w+_)?prob(a|ability)|sample_weights?|site|visit|week"
    r"|build(_(number|id|nr))?"
    r"|epoch(_(number|id|nr))?|(image|object)_number|location_\w+|sti_\d{3}"
    r"|(stim(ulus)?|condition|trial|session|subject|participant|animal|mouse|run|block|repeat|repetition)"
    r"(_(id|idx|index|num|number|no|nr|name|code))?"
    r"|\w+_(label|class|target|cluster|code|encoded)|(leiden|louvain|k?means|h?dbscan)_\w+|pct_counts_\w+|doublet_score|usage|lat(itude)?|lon(gitude)?|lng"
)
"""Names of columns of numbers that describe the rows."""
_TIME = re.compile(r"time|date|at|epoch|created|updated|modified|when")
"""Words in names of columns of times."""
_EVENT = re.compile(r"times?|timestamps?|onsets?|starts?|stops?|ends?|begins?|offsets?")
"""Words in names of columns of times of events in a recording."""
_UNIX_TIMES = tuple((9.4e8 * unit, 2.2e9 * unit) for unit in (1, 1e3, 1e6, 1e9))
"""Times from 1999 to 2039 as seconds, milliseconds, microseconds and nanoseconds since 1970."""
_FEATURE_COLUMN = re.compile(
    r"(neuron|unit|cell|roi|channel|electrode|voxel|gene|feature|variable|dim(ension)?|component|latent|col(umn)?)s?"
    r"(_(id|name|idx|index|number|no))?"
)
"""Names of columns that, in a table with one row for each input and feature, name the feature."""
_MODEL = re.compile(r"(\w+_)?(model|encoder|checkpoint|embedder|layer)(_(name|id))?")
"""Names of columns that say which model computed a row."""
_MOST_LONG = 8
"""Largest number of columns of numbers in such a table."""
_CONTENT = re.compile(
    r"text|sentence|document|content|title|prompt|query|question|review|passage|abstract|caption", re.IGNORECASE
)
"""Names of columns of text that identify rows if their values are distinct."""
_NUMBERED = re.compile(r"(?P<prefix>.*?)(?P<gap>[\s_.:\-\[\(]*)(?P<number>\d{1,7})[\]\)]?")
_LAYER = re.compile(r"layers?|l|h|hidden|blocks?|models?|states?")
_COORDINATES = ("x", "y", "z")
_WELL = re.compile(r"(.*[^A-Za-z])?[A-P]")
"""Prefixes of the names of wells."""
_FEWEST = 4
"""Smallest number of numbered columns that form a matrix by their number alone."""
_PART = re.compile(
    r"(metadata_)?(well|chunk|page|part|segment|passage|paragraph|sent(ence)?|section|window|turn|line|span|frame|pos(ition)?|offset)"
    r"(_(id|idx|index|num|number|no|nr))?"
)
"""Names of columns that number the parts of a document or recording."""
_WHOLE = re.compile(r"(doc(ument)?|source|file|article|book|video|clip|url|path)(_?name)?")
"""Names of columns of text for documents or recordings, whose parts another column numbers."""
_LEVEL = re.compile(
    r"(metadata_)?(plate|barcode|subj(ect)?|sub|participant|patient|donor|animal|mouse|monkey|user|item|session|ses|run"
    r"|block|trial|repeat|repetition|rep|stim(ulus)?|site|field|fov|slide|tile|visit|experiment|recording|day)"
    r"(_(id|idx|index|num|number|no|nr|name))?"
)
"""Names of columns that repeat, and identify rows together with others, such as subject, session and trial."""
_DATES = re.compile(r"dates|timestamp|date(32|64)")
"""Contents of columns of dates, as pandas, polars and Arrow name them."""
_AND = " and "
IDENTIFIES = "identifies the rows"
INDEX = "is the index of the table"
"""Reason why an index is no feature, which needs no statement."""
_FEW_STATED = 3
_LONGEST_ID = 32
"""Largest number of bytes of an identifier, such as a UUID or a hash."""
_FEWEST_CODED = 8
"""Smallest number of rows whose numbers do not correspond to texts by chance."""
_NAMED = 4
"""Maximum number of left-out columns that a statement names."""
_MUCH = 4
_UNNAMED = re.compile(r"(Unnamed: \d+|__index_level_\d+__)(\.\d+)?")
"""Names of columns without a name of their own; a table that is saved twice has two."""
_MARK = re.compile(
    r"[<>≤≥]?\s*\W*|[<>≤≥].*|#.*|n\.?/?[ad]\.?|null|none|missing|error|nan|b?l[ol][dq]|bdl|bql", re.IGNORECASE
)
"""Texts in place of a value that is missing or out of range."""


@dataclass(frozen=True)
class Column:
    """One column of a table: its name, kind, and functions that return some or all of its values."""

    name: str
    kind: Kind
    content: str
    """What the column contains, such as 'text' or 'list<item: float> values'."""
    head: Callable[[], Sequence[Any]] = field(compare=False)
    """Return some of the first values, with None for missing ones."""
    values: Callable[[], Any] = field(compare=False)
    """Return all values as an array."""
    refusal: str = ""
    """Why the column is no feature, if this does not depend on other columns."""

    @property
    def reason(self) -> str:
        """Why the column is no feature by its type."""
        return self.refusal or ("" if self.kind == "numbers" else f"contains {self.content}, not numbers")


@dataclass(frozen=True)
class Layout:
    """What was decided about the columns of a table."""

    matrix: tuple[Column, ...] = ()
    """Columns of numbers that together form one matrix."""
    families: Mapping[str, tuple[Column, ...]] = field(default_factory=dict)
    """Families of numbered columns that were named; each is a matrix."""
    vectors: Mapping[str, tuple[Column, Vectors]] = field(default_factory=dict)
    """Columns that contain one vector per row; each is a matrix."""
    identity: Column | None = None
    """Column that identifies the rows."""
    certain: bool = False
    """Whether the identity is named like one, so that its values were found to be distinct."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Names of the other columns, with the reasons."""
    is_family: bool = False
    """Whether the matrix consists of numbered columns, so that their names were evidence."""

    def other_columns(self, columns: Iterable[Column]) -> dict[str, Names]:
        """Return the columns of single values that are neither features nor the identity, which show another order."""
        return {c.name: Names(c.values) for c in columns if c.name in self.left_out and c.kind in ("numbers", "text")}


def label_like_names(names: Iterable[str]) -> list[str]:
    """Return those names that usually denote labels."""
    return [name for name in names if name.lower() in _LABELS]


def is_picture(name: str, n_columns: int) -> bool:
    """Return whether an embedding has so few columns that it was made for plots, and no name that denies this."""
    words = [word for word in words_of(name) if word != "x"]
    denied = any(_FAMILY.fullmatch(word) for word in words) and not _PICTURE.fullmatch(name.lower())
    return n_columns <= PICTURE_COLUMNS and not denied


def decide(
    columns: Sequence[Column],
    source: str,
    keys: Sequence[str] | None = None,
    labels: Collection[str] = (),
    option: str = "keys=",
) -> Layout:
    """Decide what the columns of a table are.

    Parameters
    ----------
    columns : sequence of Column
        All columns, in order.
    source : str
        Name of the table in messages.
    keys : sequence of str, optional
        Names of columns, patterns such as 'dim_*', or prefixes of numbered columns, which are then the features.
    labels : collection of str
        Columns that are not features because they contain labels or ids.
    option : str
        Option with which a user chooses columns.
    """
    if keys is None:
        require_one_set_of_names([c.name for c in columns], source, option)
    unnamed = [c for c in columns if not c.refusal and c.kind == "numbers" and is_unnamed(c.name)]
    counting = {id(c) for c in unnamed if distinct_values(c.values())}
    columns = [replace(c, refusal=_ROW_NUMBERS) if id(c) in counting else c for c in columns]
    aside = {c.name: "contains the labels" for c in columns if c.name in labels and c.name not in (keys or ())}
    usable = [c for c in columns if c.name not in aside and not c.refusal]
    if keys is not None:
        return _choose_by_keys(columns, usable, keys, aside)
    likely = label_like_names(c.name for c in usable if c.kind in ("numbers", "text"))
    if {"x", "X"} & {c.name for c in usable}:
        # Beside x, y is a coordinate.
        likely = [name for name in likely if name.lower() != "y"]
    aside |= dict.fromkeys(likely, f"is named like a label column{_to_use(option)} as a feature")
    usable = [c for c in usable if c.name not in aside]
    identity, certain = _identity(columns, aside, labels)
    if identity is not None and certain:
        parts = {identity.name, *identity.name.split(_AND)}
        usable = [c for c in usable if c.name not in parts]
        aside |= {c.name: aside.get(c.name) or c.refusal or IDENTIFIES for c in columns if c.name in parts}
    _require_one_model(usable, source)
    numeric = [c for c in usable if c.kind == "numbers"]
    families = _families([c for c in usable if c.kind in ("numbers", "text")])
    family = _main_family(families, numeric, source, option)
    vectors = _vector_columns(usable, source, option, bool(family))
    if vectors:
        chosen = {column.name for column, _ in vectors.values()}
        rest = {c.name: _reason_against(c, "vectors") for c in columns if c.name not in chosen}
        if identity in [column for column, _ in vectors.values()]:
            identity = None
        return Layout((), {}, vectors, identity, certain, rest | aside)
    if family:
        _require_numbers(family, source)
        rest = {c.name: _reason_against(c, "numbered columns") for c in columns if c not in family}
        return Layout(tuple(family), {}, {}, identity, certain, rest | aside, is_family=True)
    _require_clean_text(usable, source, option)
    side = {c.name: f"{reason}{_to_use(option)}" for c in numeric if (reason := _describes_rows(c))}
    for name, coded in _codes_of_texts([c for c in numeric if c.name not in side], columns, aside).items():
        side[name] = f"codes the column {coded}{_to_use(option)}"
    coordinates = [c.name for c in numeric if c.name.lower() in _COORDINATES]
    if len(coordinates) > 1 and len(numeric) - len(side) - len(coordinates) >= _FEWEST:
        side |= dict.fromkeys(coordinates, f"is named like a coordinate{_to_use(option)}")
    matrix = tuple(c for c in numeric if c.name not in side)
    _require_wide(columns, len(matrix), source)
    _require_no_pairs(columns, len(matrix), source)
    rest = {c.name: c.reason for c in columns if c.reason}
    return Layout(matrix, {}, {}, identity, certain, rest | side | aside)


def _require_no_pairs(columns: Sequence[Column], n_numbers: int, source: str) -> None:
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


def _require_one_model(usable: Sequence[Column], source: str) -> None:
    """Refuse a table that contains the rows of several models one after another."""
    texts = [c for c in usable if c.kind == "text" and find_vectors(c.head()) is None]
    models = [c for c in texts if _MODEL.fullmatch("_".join(words_of(c.name)))]
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


def _require_wide(columns: Sequence[Column], n_numbers: int, source: str) -> None:
    """Refuse a table with one row for each input and feature, such as each trial and neuron."""
    able = [c for c in columns if c.kind in ("numbers", "text")]
    features = [c for c in able if _FEATURE_COLUMN.fullmatch("_".join(words_of(c.name)))]
    if not features or n_numbers > _MOST_LONG:
        return
    feature = features[0]
    names = feature.values().tolist()
    n_features = len(set(names))
    if not 1 < n_features <= len(names) // 2:
        return
    keys = {c.name: c.values().tolist() for c in able if c is not feature and could_identify(c.values())}
    levels = [name for name in keys if _LEVEL.fullmatch("_".join(words_of(name)))]
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


def _to_use(option: str) -> str:
    """Return how a column can be used although it was left out."""
    return f"; name it in {option} to use it" if option else "; pass it alone to use it"


def _choice(option: str, example: str) -> str:
    """Return how the columns that a user means can be chosen."""
    return f"name one in {option}, such as {option}{example}" if option else "pass only the columns that you mean"


def _reason_against(column: Column, what: str) -> str:
    return column.reason or f"is a column of numbers in a table with {what}"


def is_side_name(name: str) -> bool:
    """Return whether a column is named like a property of the rows, such as a score or a fold."""
    return _SIDE.fullmatch("_".join(words_of(name))) is not None


def _describes_rows(column: Column) -> str:
    """Return why a column of numbers describes the rows rather than being a feature, or an empty text."""
    if is_side_name(column.name):
        return "is named like a property of the rows"
    head = [value for value in column.head() if not is_missing(value)]
    if not head:
        return ""
    units = [low < min(head) and max(head) < high for low, high in _UNIX_TIMES]
    # Few other whole numbers are as large as times in milliseconds or smaller units.
    fine = any(units[1:]) and all(float(value).is_integer() for value in head)
    if fine or (has_word(column.name, _TIME) and any(units)):
        return "contains times"
    if has_word(column.name, _EVENT) and len(head) >= _FEWEST:
        # Times of recording increase, in each epoch from the same start; durations are in any order.
        times = np.asarray(column.values(), dtype=float)
        times = times[~np.isnan(times)]
        if (times[1:][np.diff(times) < 0] == times.min()).all() and times.min() < times.max():
            return "contains times in the order of the rows"
    if len(head) < SAMPLE or len(set(head)) < len(head) or any(value != int(value) for value in head):
        return ""
    # Numbers of rows may be in another order, as in a table that was sorted.
    values = np.sort(np.asarray(column.values(), dtype=float))
    return "numbers the rows" if values[0] in (0, 1) and (np.diff(values) == 1).all() else ""


def _codes_of_texts(numeric: Sequence[Column], columns: Sequence[Column], aside: Collection[str]) -> dict[str, str]:
    """Return columns of numbers that are codes of classes, each with the column of texts or labels that they code."""
    classes = {c.name: list(c.head()) for c in columns if c.kind == "text" or c.name in aside}
    classes = {name: head for name, head in classes.items() if 1 < len(set(map(str, head))) < len(head)}
    by_name = {c.name: c for c in columns}
    found = {}
    for column in numeric if classes else ():
        head = list(column.head())
        for name, texts in classes.items():
            # Most columns of numbers differ from classes in their first values already.
            if _correspond(head, texts) and _correspond(column.values().tolist(), by_name[name].values().tolist()):
                found[column.name] = name
    return found


def _correspond(numbers: Sequence[Any], texts: Sequence[Any]) -> bool:
    """Return whether small whole numbers and texts that repeat determine each other."""
    pairs = set(zip(numbers, map(str, texts), strict=False))
    codes = set(numbers)
    if len(numbers) < _FEWEST_CODED or not len(codes) == len(pairs) == len({text for _, text in pairs}) > 1:
        return False
    whole = all(not is_missing(code) and float(code).is_integer() for code in codes)
    # Other numbers, such as the population of a country, are properties of the classes.
    return whole and 2 * len(codes) <= len(numbers) and max(codes) - min(codes) < _MUCH * len(codes)


def is_unnamed(name: str) -> bool:
    """Return whether a name is a default that pandas gives to columns without a name."""
    return _UNNAMED.fullmatch(name) is not None


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


def _identity(
    columns: Sequence[Column], aside: Collection[str], declared: Collection[str] = ()
) -> tuple[Column | None, bool]:
    """Return the column that identifies rows, and whether it is named like one.

    Columns that an option names, such as groups, identify rows as without the option, also together with others.
    """
    every = {c.name: c for c in columns if c.kind in ("numbers", "text") or _are_short_bytes(c)}
    able = {name: c for name, c in every.items() if name not in aside}
    with_declared = {name: c for name, c in every.items() if name in able or name in declared}
    named = choose_identity(identity_names(with_declared), lambda name: every[name].values())
    if named is None:
        named = choose_condition(with_declared, lambda name: every[name].values())
    if named is not None:
        return every[named], True
    if (joined := _joined_identifiers(list(with_declared.values()))) is not None:
        return joined, True
    content = next((c for c in able.values() if c.kind == "text" and _CONTENT.fullmatch(c.name)), None)
    first = columns[0] if columns else None
    if first is not None and first.name not in aside and _DATES.match(first.content):
        return content or first, False
    if first is None or first.name not in able or is_identity_name(first.name):
        return content, False
    if numbered := {c.name: c for c in able.values() if c.refusal == _ROW_NUMBERS}:
        # A table that is saved twice numbers its rows twice; the older numbers follow the rows.
        chosen = choose_identity(numbered, lambda name: numbered[name].values())
        return content or numbered[chosen or next(iter(numbered))], False
    if first.kind == "numbers":
        return (content or first if first.refusal else content), False
    return (first if find_vectors(first.head()) is None else content), False


def _joined_identifiers(able: Sequence[Column]) -> Column | None:
    """Return columns that only together identify rows, such as doc_id and chunk, or subject, session and trial."""
    parts = [c for c in able if _PART.fullmatch("_".join(words_of(c.name)))]
    wholes = [c for c in able if c not in parts and (is_certain_identity(c.name) or _WHOLE.fullmatch(c.name.lower()))]
    levels = [
        c for c in able if c in parts or is_certain_identity(c.name) or _LEVEL.fullmatch("_".join(words_of(c.name)))
    ]
    for chosen in (wholes[:1] + parts[:1], levels):
        chosen = [c for c in chosen if could_identify(c.values())]
        if len(chosen) < 2:
            continue
        joined = joined_values([c.values() for c in chosen])
        if len(set(joined.tolist())) == len(joined):
            name = _AND.join(c.name for c in chosen)
            head = joined[:SAMPLE].tolist()
            return Column(name, "text", "text", partial(list, head), partial(np.asarray, joined))
    return None


def _are_short_bytes(column: Column) -> bool:
    """Return whether a column is named like an identifier and contains bytes, such as those of a UUID."""
    if column.kind != "bytes" or not is_identity_name(column.name):
        return False
    return all(len(value) <= _LONGEST_ID for value in column.head() if not is_missing(value))


def _vector_columns(
    usable: Sequence[Column], source: str, option: str, has_family: bool
) -> dict[str, tuple[Column, Vectors]]:
    """Return the columns of vectors; refuse those that look like vectors and cannot be read."""
    good: dict[str, tuple[Column, Vectors]] = {}
    bad: dict[str, tuple[Column, Vectors]] = {}
    for column in usable:
        if column.kind in ("numbers", "other"):
            continue
        found = find_vectors(column.head())
        if found is None and _promises_vectors(column.name):
            value = next((value for value in column.head() if not is_missing(value)), None)
            if value is not None:
                found = Vectors("", None, problem=f"contains {column.content} such as {quote_start(str(value))}")
        if found is not None:
            (bad if found.problem or found.parse is None else good)[column.name] = column, found
    for name in _sparse_values(usable):
        good.pop(name, None)
        bad[name] = next(c for c in usable if c.name == name), Vectors("", None, problem=SPARSE)
    named = {name for name in good if has_word(name, _VECTOR)}
    strong = {
        name
        for name, (_, found) in good.items()
        if not (_NO_VECTOR.fullmatch(name) or found.whole or found.width <= PICTURE_COLUMNS + 1)
    }
    if named or strong or has_family:
        # Token numbers, boxes and coordinates are a representation only if there is nothing else.
        good = {name: entry for name, entry in good.items() if name in named | strong}
    for name, (column, found) in bad.items():
        if not _promises_vectors(name) and (good or has_family or _NO_VECTOR.fullmatch(name)):
            continue
        if found.are_tokens and good:
            continue
        if found.parse is not None:
            # Reading all values finds the row at fault.
            return {name: (column, found)}
        raise ValueError(
            f"column {name!r} of {source} must contain one vector of numbers per row, got one that {found.problem}; "
            f"{_choice(option, 'COLUMN')}"
        )
    return good


_POSITIONS = ("index", "indices", "indexes", "positions", "dims")


def _sparse_values(columns: Sequence[Column]) -> list[str]:
    """Return columns of lists that are the values of sparse vectors, whose positions another column contains."""
    lists = [c for c in columns if c.kind == "lists" and not _promises_vectors(c.name)]
    heads = {c.name: [value for value in c.head() if not is_missing(value)] for c in lists}
    found = []
    for name, head in heads.items():
        if words_of(name)[-1:] and words_of(name)[-1] in _POSITIONS and all(len(set(v)) == len(v) for v in head):
            lengths = [len(v) for v in head]
            found += [other for other in heads if other != name and [len(v) for v in heads[other]] == lengths]
            found.append(name)
    return found if len(found) > 1 else []


def _promises_vectors(name: str) -> bool:
    words = [word for word in words_of(name) if not word.isdigit()]
    return bool(words) and _SURE.fullmatch(words[-1]) is not None


def has_word(name: str, pattern: re.Pattern[str]) -> bool:
    """Return whether one of the words of a name matches a pattern."""
    return any(pattern.fullmatch(word) for word in words_of(name))


def _families(columns: Sequence[Column]) -> dict[str, list[Column]]:
    """Return numbered columns by their prefix, in the order of their numbers."""
    numbered: dict[str, dict[int, Column]] = {}
    for column in columns:
        match = _NUMBERED.fullmatch(column.name)
        if match is not None:
            numbered.setdefault(match["prefix"], {}).setdefault(int(match["number"]), column)
    for column in columns:
        # Text tables with one name for all features are read as name, name.1, name.2, ...
        if column.name in numbered and 0 not in numbered[column.name]:
            numbered[column.name][0] = column
    numbered = {prefix: family for prefix, family in numbered.items() if len(family) > 1}
    templates: dict[str, list[str]] = {}
    for prefix in numbered:
        if re.search(r"\d", prefix):
            templates.setdefault(re.sub(r"\d+", "", prefix), []).append(prefix)
    families = {prefix: [family[number] for number in sorted(family)] for prefix, family in numbered.items()}
    for template, prefixes in templates.items():
        # The pixels of an image have two numbers; the features of several layers have as well, but are not one matrix.
        if len(prefixes) > 1 and not has_word(template, _LAYER):
            members = {id(c) for prefix in prefixes for c in families.pop(prefix)}
            families[template.strip(" _.-:")] = [c for c in columns if id(c) in members]
    return families


def _main_family(
    families: Mapping[str, Sequence[Column]], numeric: Sequence[Column], source: str, option: str
) -> Sequence[Column]:
    """Return the numbered columns that are the matrix; refuse several that could be."""
    numeric_ids = set(map(id, numeric))
    wells = {id(c) for prefix, family in families.items() if _WELL.fullmatch(prefix) for c in family}
    if len(wells & numeric_ids) * 2 > len(numeric) and sum(map(bool, map(_WELL.fullmatch, families))) >= _FEWEST:
        # Wells of plates, such as A01 to H12, name single columns.
        return ()
    likely: dict[str, Sequence[Column]] = {}
    for prefix, family in families.items():
        words = words_of(prefix)
        n_numbers = sum(id(c) in numeric_ids for c in family)
        if not n_numbers or _PICTURE.fullmatch(prefix.strip("_ ").lower()) or label_like_names(words[-1:]):
            continue
        known = not words or _FAMILY.fullmatch(words[-1]) is not None or has_word(prefix, _VECTOR)
        n_others = sum(not is_side_name(c.name) for c in numeric) - n_numbers
        counted = _count_up(family)
        enough = PICTURE_COLUMNS if known and (words or counted) else _FEWEST
        beside = [c.name for c in numeric if c not in family and not is_side_name(c.name)]
        if len(family) >= enough and (
            known or (counted and len(family) * _MUCH > n_others and not look_like_genes(beside))
        ):
            likely[prefix] = family
    if not likely:
        return ()
    largest = max(likely.values(), key=len)
    others = [c for c in numeric if c not in largest and not is_side_name(c.name)]
    rivals = [prefix for prefix, family in likely.items() if family is not largest]
    prefix = next(prefix for prefix, family in likely.items() if family is largest)
    if rivals:
        listing = join_items(f"{prefix or 'numbers'} ({len(family)} columns)" for prefix, family in likely.items())
        raise ValueError(
            f"{source} must contain one family of numbered columns, got {listing}; {_choice(option, prefix)}"
        )
    words = words_of(prefix)
    if len(others) > len(largest) and not (words and _FAMILY.fullmatch(words[-1])):
        raise ValueError(
            f"{source} must contain mainly features, got {len(largest)} numbered columns {largest[0].name} to "
            f"{largest[-1].name} and {len(others)} other columns of numbers ({join_items(c.name for c in others)}); "
            f"{_choice(option, prefix)}"
        )
    return largest


def _count_up(family: Sequence[Column]) -> bool:
    """Return whether the numbers of columns count up from 0 or 1, with few gaps."""
    numbers = [int(match["number"]) for c in family if (match := _NUMBERED.fullmatch(c.name))]
    if len(numbers) < len(family) - 1 or not numbers or len(set(numbers)) < len(numbers):
        return True
    return min(numbers) <= 1 and max(numbers) - min(numbers) < 1.25 * len(family)


def _require_numbers(family: Sequence[Column], source: str) -> None:
    """Refuse numbered columns of which one contains text."""
    for column in family:
        if column.kind != "numbers":
            row, value = _first_text(column.values())
            raise ValueError(
                f"column {column.name!r} of {source} must contain numbers, as the other numbered columns do, got "
                f"{quote_start(value)} in row {row}"
            )


def _require_clean_text(usable: Sequence[Column], source: str, option: str) -> None:
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


def is_number(value: Any) -> bool:
    """Return whether a value is a number, or text that is one."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _choose_by_keys(
    columns: Sequence[Column], usable: Sequence[Column], keys: Sequence[str], aside: Mapping[str, str]
) -> Layout:
    """Return the layout that keys request; unknown keys are ignored here, and refused by the caller."""
    by_name = {c.name: c for c in usable}
    numeric = [c for c in usable if c.kind == "numbers"]
    families = _families(numeric)
    matrix: dict[int, Column] = {}
    chosen: dict[str, tuple[Column, ...]] = {}
    vectors: dict[str, tuple[Column, Vectors]] = {}
    for key in keys:
        column = by_name.get(key)
        if column is not None and column.kind == "numbers":
            matrix[id(column)] = column
        elif column is not None:
            found = find_vectors(column.head())
            if found is not None and found.parse is not None:
                vectors[key] = column, found
        elif key in families:
            chosen[key] = tuple(families[key])
        else:
            matrix |= {id(c): c for c in numeric if fnmatchcase(c.name, key)}
    identity, certain = _identity([c for c in columns if c.name not in keys], aside, aside)
    rest = {c.name: c.reason for c in columns if c.reason and c.name not in vectors}
    return Layout(tuple(matrix.values()), chosen, vectors, identity, certain, rest | dict(aside))


def names_for_keys(columns: Sequence[Column]) -> list[str]:
    """Return the names that keys may contain."""
    vectors = [c.name for c in columns if c.kind != "numbers" and (found := find_vectors(c.head())) and found.parse]
    return [c.name for c in columns if c.kind == "numbers" and not c.refusal] + vectors


def state_layout(
    source: str, layout: Layout, shape: tuple[int, ...], name: str | None = None, *, of_file: bool = True
) -> None:
    """State which columns were read, and which were left out."""
    size = " x ".join(f"{length:,}" for length in shape)
    if name is not None and name in layout.vectors:
        form = layout.vectors[name][1].form
        taken = f"column {name}{f' ({form})' if form else ''}"
    else:
        members = layout.families.get(name or "", layout.matrix)
        names = [c.name for c in members]
        if layout.is_family or name in layout.families:
            taken = f"columns {names[0]} to {names[-1]}"
        elif len(names) <= _FEW_STATED:
            taken = f"column{'s' * (len(names) != 1)} {join_names(names)}"
        else:
            taken = f"{len(names):,} columns of numbers ({_first_and_last(names)})"
    identity = layout.identity.name if layout.identity is not None and layout.certain else ""
    parts = identity.split(_AND)
    others = [
        column
        for column, reason in layout.left_out.items()
        if column not in (identity, *parts)
        and reason not in (INDEX, IDENTIFIES)
        and not column.startswith(("(", "Unnamed: 0"))
    ]
    # A numbered family, or a table in memory that contains nothing but features, needs no statement.
    is_plain = not (layout.vectors or others or layout.certain or len(layout.matrix) <= _FEW_STATED or layout.families)
    if is_plain and (layout.is_family or not of_file):
        return
    listing = ", ".join(others[:_NAMED]) + (f" and {len(others) - _NAMED} more" if len(others) > _NAMED else "")
    counted = layout.identity is not None and Names.build(layout.identity.values(), identity).counts_rows
    notes = [f"rows {'numbered' if counted else 'named'} by {identity}"] * bool(identity) + [
        f"left out: {listing}"
    ] * bool(others)
    provenance.state(f"{source}: {taken}, {size}{f' ({chr(59).join(notes)})' if notes else ''}".replace(";", "; "))
    if len(parts) > 1 and layout.left_out.get(parts[0]) == IDENTIFIES:
        provenance.state_warning(
            f"rows of one {parts[0]} may resemble one another, so that p-values are too small; if they do, declare "
            f"groups (--groups {parts[0]})"
        )


def _first_and_last(names: Sequence[str]) -> str:
    """Return the first and last names; columns that describe the rows are often at one end of a table."""
    if len(names) <= 2 * _FEW_STATED + 1:
        return ", ".join(names)
    return ", ".join([*names[:_FEW_STATED], "...", *names[-_FEW_STATED:]])


_ROW_NUMBERS = "has no name and contains row numbers"
_KINDS = {"M": "dates", "m": "durations", "c": "complex numbers"}


def column_names(X: Any) -> Names | None:
    """Return the names of the features of a table of pandas or of AnnData, unless they only count the columns."""
    if hasattr(X, "var_names") and hasattr(X, "obs_names"):
        names = Names.build(np.array(X.var_names, object))
    elif hasattr(X, "columns") and hasattr(X, "iloc"):
        # Columns of a numbered family are read in the order of their numbers, and side columns are left out.
        read = decide(pandas_columns(X), "X", option="").matrix
        names = Names.build(np.array([column.name for column in read], object))
    else:
        return None
    return None if names.kind == "counted" or not names.distinct else names


def feature_order(names: Names | None, others: Names | None, sides: tuple[str, str]) -> Index | None:
    """Return the order in which the second side has the features of the first; None if it has the same or no names.

    Raises
    ------
    ValueError
        If each side has features that the other lacks, or one side has more than the other.
    """
    if names is None or others is None or "counted" in (names.kind, others.kind):
        return None
    first, second = (found.values.astype(str).tolist() for found in (names, others))
    places = {name: place for place, name in enumerate(second)}
    shared = [name for name in first if name in places]
    if first == second or not shared or not (names.distinct and others.distinct):
        return None
    n = min(len(first), len(second))
    if first[:n] == second[:n] and all(map(_NUMBERED.fullmatch, first + second)):
        # Numbers only count the features, of which encoders have different numbers.
        return None
    if not len(shared) == len(first) == len(second):
        alone = next(name for name in (*first, *second) if name not in places or name not in first)
        raise ValueError(
            f"{sides[1]} must have the features of {sides[0]}, got {len(shared):,} shared names of {len(first):,} and "
            f"{len(second):,} (only one contains {alone}); keep the shared features on both sides"
        )
    provenance.state(f"features matched by name, in another order in {sides[1]}")
    return np.array([places[name] for name in first], dtype=np.intp)


def pandas_columns(frame: pd.DataFrame, *, from_text: bool = False) -> list[Column]:
    """Describe the columns of a pandas table; columns of text files may have no names of their own."""
    columns = []
    for position in range(frame.shape[1]):
        series = frame.iloc[:, position]
        kind, content = _kind(series)
        refusal = _refusal(position, series) if from_text else ""
        name: Any = frame.columns[position]
        # Levels of a MultiIndex are joined.
        name = "_".join(str(part) for part in name if str(part)) if isinstance(name, tuple) else str(name)
        columns.append(Column(name, kind, content, partial(_head, series), partial(np.asarray, series), refusal))
    return columns


def _refusal(position: int, column: pd.Series[Any]) -> str:
    """Return why a column of a text file is no feature, if it has no name or no values."""
    if len(column) == 0:
        return "contains no values"
    if not is_unnamed(str(column.name)):
        return ""
    if column.isna().all():
        return "has neither a name nor values"
    return "has no name and contains row names" if position == 0 and not is_numeric(column) and column.is_unique else ""


def _head(series: pd.Series[Any]) -> list[Any]:
    values = series.head(SAMPLE)
    present = values[values.notna()] if len(values) else values
    return (present if len(present) else series.dropna().head(SAMPLE)).tolist()


def _kind(series: pd.Series[Any]) -> tuple[Kind, str]:
    """Return the kind of a column, and what it contains in words."""
    if is_numeric(series):
        return "numbers", "numbers"
    if series.dtype.kind in _KINDS:
        return "other", _KINDS[series.dtype.kind]
    if type(series.dtype).__name__ == "CategoricalDtype":
        return ("text", "text") if series.cat.categories.dtype.kind not in "iufb" else ("other", "categories")
    first = next(iter(series.dropna()), None)
    return kind_of_value(first)


def kind_of_value(value: Any) -> tuple[Kind, str]:
    """Return the kind of a column from one of its values."""
    if value is None or isinstance(value, str):
        return "text", "text"
    if isinstance(value, bytes | bytearray | memoryview):
        return "bytes", "bytes"
    if isinstance(value, list | tuple | Mapping) or hasattr(value, "shape"):
        return "lists", "lists"
    if isinstance(value, int | float):
        # An object column that starts with numbers but is not numeric contains text as well.
        return "text", "numbers and text"
    return "other", f"{type(value).__name__} values"


def is_numeric(column: pd.Series[Any]) -> bool:
    """Return whether a column contains real numbers, possibly with missing values."""
    import pandas as pd

    kind = column.dtype.kind
    if kind == "O":
        # Booleans with missing values, decimals and columns without any value have dtype object.
        return pd.api.types.infer_dtype(column, skipna=True) in {"boolean", "decimal", "empty"}
    return kind in "fiub" and pd.api.types.is_numeric_dtype(column.dtype)
