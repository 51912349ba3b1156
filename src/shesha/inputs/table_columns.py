"""Decide which columns of a table form the matrix, which one identifies the rows, and which are left out.

This is the only place that decides, for text tables, parquet and Arrow files, data sets, and tables in memory. The
evidence is the names of the columns, their types and a sample of their values.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import numpy as np

from shesha.inputs import unsuited_tables as unsuited
from shesha.inputs.column_words import (
    BEHAVIOUR,
    CONTENT,
    ELECTRODE,
    EVENT,
    FAMILY,
    LAYER,
    LEVEL,
    NO_VECTOR,
    PART,
    PICTURE_COLUMNS,
    POSITIONS,
    PROMISE,
    SIDE,
    TIME,
    TOKENS,
    TRIAL,
    VECTOR,
    WHOLE,
    is_picture_name,
    label_like_names,
)
from shesha.inputs.columns import SAMPLE, Column, is_unnamed, pandas_columns, record_fields
from shesha.inputs.identity import (
    Names,
    choose_condition,
    choose_identity,
    could_identify,
    distinct_values,
    identity_names,
    is_certain_identity,
    is_condition_name,
    is_identity_name,
    joined_values,
    look_like_genes,
    words_of,
)
from shesha.inputs.vector_columns import SPARSE, Vectors, find_vectors, is_missing, quote_start
from shesha.support import provenance
from shesha.support.types import Index
from shesha.support.wording import join_items, join_names

_UNIX_TIMES = tuple((9.4e8 * unit, 2.2e9 * unit) for unit in (1, 1e3, 1e6, 1e9))
"""Times from 1999 to 2039 as seconds, milliseconds, microseconds and nanoseconds since 1970."""
_NUMBERED = re.compile(r"(?P<prefix>.*?)(?P<gap>[\s_.:\-\[\(]*)(?P<number>\d{1,7})[\]\)]?")
_COORDINATES = ("x", "y", "z")
_WELL = re.compile(r"(.*[^A-Za-z])?[A-P]")
"""Prefixes of the names of wells."""
_FEWEST = 4
"""Smallest number of numbered columns that form a matrix by their number alone."""
_DATES = re.compile(r"dates|timestamp|date(32|64)")
"""Contents of columns of dates, as pandas, polars and Arrow name them."""
_AND = " and "
IDENTIFIES = "identifies the rows"
GROUPS = "names what several rows share"
INDEX = "is the index of the table"
"""Reason why an index is no feature, which needs no statement."""
_ROW_NUMBERS = "has no name and contains row numbers"
_FEW_STATED, _NAMED = 3, 4
"""Maximum numbers of columns that a statement names if they are the matrix, and if they are left out."""
_LONGEST_ID = 32
"""Largest number of bytes of an identifier, such as a UUID or a hash."""
_FEWEST_CODED = 8
"""Smallest number of rows whose numbers do not correspond to texts by chance."""
_MUCH = 4


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
    is_reordered: bool = False
    """Whether the table has numbered columns in another order than that of their numbers."""

    def other_columns(self, columns: Iterable[Column]) -> dict[str, Names]:
        """Return the columns of single values that are neither features nor the identity, which show another order."""
        return {c.name: Names(c.values) for c in columns if c.name in self.left_out and c.kind in ("numbers", "text")}


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
        unsuited.require_one_set_of_names([c.name for c in columns], source, option)
    unnamed = [c for c in columns if not c.refusal and c.kind == "numbers" and is_unnamed(c.name)]
    counting = {id(c) for c in unnamed if distinct_values(c.values())}
    columns = [replace(c, refusal=_ROW_NUMBERS) if id(c) in counting else c for c in columns]
    aside = {c.name: "contains the labels" for c in columns if c.name in labels and c.name not in (keys or ())}
    usable = [c for c in columns if c.name not in aside and not c.refusal]
    if keys is not None:
        return _choose_by_keys(columns, usable, keys, aside, labels)
    aside |= _named_like_labels(usable, option)
    usable = [c for c in usable if c.name not in aside]
    identity, certain = _identity(columns, aside, labels)
    if not certain:
        unsuited.warn_of_rounded_identifiers(columns, source)
    if identity is not None and certain:
        parts = {identity.name, *identity.name.split(_AND)}
        usable = [c for c in usable if c.name not in parts]
        aside |= {c.name: aside.get(c.name) or c.refusal or IDENTIFIES for c in columns if c.name in parts}
    unsuited.require_one_model(usable, source)
    whole = find_whole(columns, identity if certain else None)
    usable = [c for c in usable if c.name != whole]
    aside |= {whole: GROUPS} if whole not in ("", *labels) and aside.get(whole, IDENTIFIES) == IDENTIFIES else {}
    numeric = [c for c in usable if c.kind == "numbers"]
    family = _main_family(_families([c for c in usable if c.kind in ("numbers", "text")]), numeric, source, option)
    # 1. Columns of vectors.
    vectors = _vector_columns(usable, source, option, bool(family))
    if vectors:
        chosen = {column.name for column, _ in vectors.values()}
        rest = {c.name: _reason_against(c, "vectors") for c in columns if c.name not in chosen}
        if identity in [column for column, _ in vectors.values()]:
            identity = None
        return Layout((), {}, vectors, identity, certain=certain, left_out=rest | aside)
    # 2. Numbered columns.
    if family:
        unsuited.require_numbers(family, source)
        rest = {c.name: _reason_against(c, "numbered columns") for c in columns if c not in family}
        members = {id(column) for column in family}
        is_sorted = [id(column) for column in columns if id(column) in members] == [id(column) for column in family]
        return Layout(
            tuple(family),
            {},
            {},
            identity,
            certain=certain,
            left_out=rest | aside,
            is_family=True,
            is_reordered=not is_sorted,
        )
    # 3. Columns of numbers, without those that describe the rows.
    unsuited.require_clean_text(usable, source, option)
    side = _side_columns(numeric, columns, aside, option)
    matrix = tuple(c for c in numeric if c.name not in side)
    unsuited.require_wide(columns, len(matrix), source)
    unsuited.require_no_pairs(columns, len(matrix), source)
    rest = {c.name: c.reason for c in columns if c.reason}
    return Layout(matrix, {}, {}, identity, certain=certain, left_out=rest | side | aside)


def _named_like_labels(usable: Sequence[Column], option: str) -> dict[str, str]:
    """Return the columns that are named like labels, with the reason why they are left out."""
    likely = label_like_names(c.name for c in usable if c.kind in ("numbers", "text"))
    if {"x", "X"} & {c.name for c in usable}:
        # Beside x, y is a coordinate.
        likely = [name for name in likely if name.lower() != "y"]
    return dict.fromkeys(likely, f"is named like a label column{_to_use(option)} as a feature")


def _side_columns(
    numeric: Sequence[Column], columns: Sequence[Column], aside: Collection[str], option: str
) -> dict[str, str]:
    """Return the columns of numbers that describe the rows, with the reason why they are left out."""
    reasons = {c.name: reason for c in numeric if (reason := _describes_rows(c))}
    behaviour = [c.name for c in numeric if c.name not in reasons and BEHAVIOUR.fit(c.name)]
    if len(numeric) - len(reasons) - len(behaviour) >= _FEWEST and any(TRIAL.fit_one_word(c.name) for c in columns):
        reasons |= dict.fromkeys(behaviour, "is named like behaviour or a stimulus, in a table of trials")
    coded = _codes_of_texts([c for c in numeric if c.name not in reasons], columns, aside)
    reasons |= {name: f"codes the column {text}" for name, text in coded.items()}
    coordinates = [c.name for c in numeric if c.name.lower() in _COORDINATES]
    if len(coordinates) > 1 and len(numeric) - len(reasons) - len(coordinates) >= _FEWEST:
        reasons |= dict.fromkeys(coordinates, "is named like a coordinate")
    return {name: f"{reason}{_to_use(option)}" for name, reason in reasons.items()}


def _to_use(option: str) -> str:
    """Return how a column can be used although it was left out."""
    return f"; name it in {option} to use it" if option else "; pass it alone to use it"


def _choice(option: str, example: str) -> str:
    """Return how the columns that a user means can be chosen."""
    return f"name one in {option}, such as {option}{example}" if option else "pass only the columns that you mean"


def _reason_against(column: Column, what: str) -> str:
    return column.reason or f"is a column of numbers in a table with {what}"


def _describes_rows(column: Column) -> str:
    """Return why a column of numbers describes the rows rather than being a feature, or an empty text."""
    if SIDE.fit(column.name):
        return "is named like a property of the rows"
    head = [value for value in column.head() if not is_missing(value)]
    if not head:
        return ""
    units = [low < min(head) and max(head) < high for low, high in _UNIX_TIMES]
    # Few other whole numbers are as large as times in milliseconds or smaller units.
    fine = any(units[1:]) and all(float(value).is_integer() for value in head)
    if fine or (TIME.fit_one_word(column.name) and any(units)):
        return "contains times"
    if EVENT.fit_one_word(column.name) and len(head) >= _FEWEST:
        # Times of recording increase, in each epoch from the same start; durations are in any order.
        times = np.asarray(column.values(), dtype=float)
        times = times[~np.isnan(times)]
        if (times[1:][np.diff(times) < 0] == times.min()).all() and times.min() < times.max():
            return "contains times in the order of the rows"
    if len(head) < SAMPLE or len(set(head)) < len(head) or not all(float(value).is_integer() for value in head):
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
    # Where a part begins is a time, so it may be among the columns aside.
    with_parts = with_declared | {name: c for name, c in every.items() if PART.fit(name)}
    if (joined := _joined_identifiers(list(with_parts.values()))) is not None:
        return joined, True
    content = next((c for c in able.values() if c.kind == "text" and CONTENT.fit(c.name)), None)
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


def find_whole(columns: Iterable[Column], identity: Column | None = None) -> str:
    """Return the column, or field of records, of documents or subjects that several rows share, or an empty text."""
    columns = [one for column in columns for one in (column, *record_fields(column))]
    for column in columns:
        if identity is not None and identity.name.startswith(column.name + _AND):
            # A number of each trial or row, which is joined with a condition, is no whole.
            return column.name if len(set(column.values().tolist())) < len(column.values()) else ""
    for column in columns:
        leaf = re.split("[./]", column.name)[-1]
        is_named = is_certain_identity(leaf) or WHOLE.fit(column.name) or WHOLE.fit(leaf)
        if (
            is_named
            and not is_condition_name(column.name)
            and column is not identity
            and column.kind in ("numbers", "text")
            and not column.refusal
        ):
            values = column.values()
            if could_identify(values) and _FEWEST_CODED <= len(set(values.tolist())) <= len(values) / 2:
                return column.name
    return ""


def _joined_identifiers(able: Sequence[Column]) -> Column | None:
    """Return columns that only together identify rows, such as doc_id and chunk, or subject, session and trial."""
    parts = [c for c in able if PART.fit(c.name)]
    wholes = [c for c in able if c not in parts and (is_certain_identity(c.name) or WHOLE.fit(c.name))]
    levels = [c for c in able if c in parts or is_certain_identity(c.name) or LEVEL.fit(c.name)]
    for group in (wholes[:1] + parts[:1], levels):
        chosen = [c for c in group if c in parts or could_identify(c.values())]
        if len(chosen) == 1 < len(group) and chosen[0].kind == "text" and distinct_values(chosen[0].values()):
            # A plate that is the same everywhere, for example, adds nothing to its wells.
            return chosen[0]
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
        if found is None and PROMISE.fit_last_word(column.name):
            value = next((value for value in column.head() if not is_missing(value)), None)
            if value is not None:
                found = Vectors("", None, problem=f"contains {column.content} such as {quote_start(str(value))}")
        if found is not None:
            (bad if found.problem or found.parse is None else good)[column.name] = column, found
    for name in _sparse_values(usable):
        good.pop(name, None)
        bad[name] = next(c for c in usable if c.name == name), Vectors("", None, problem=SPARSE)
    named = {name for name in good if VECTOR.fit_one_word(name)}
    strong = {
        name
        for name, (_, found) in good.items()
        if not (NO_VECTOR.fit(name) or found.whole or found.width <= PICTURE_COLUMNS + 1)
    }
    if named or strong or has_family:
        # Token numbers, boxes and coordinates are a representation only if there is nothing else.
        good = {name: entry for name, entry in good.items() if name in named | strong}
    elif tokens := list(filter(TOKENS.fit, good)):
        raise ValueError(
            f"{source} must contain vectors, got only what a model encodes in {join_names(tokens)}; encode the inputs "
            f"first (shesha extract), or {_choice(option, tokens[0])}"
        )
    for name, (column, found) in bad.items():
        if not PROMISE.fit_last_word(name) and (good or has_family or NO_VECTOR.fit(name)):
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


def _sparse_values(columns: Sequence[Column]) -> list[str]:
    """Return columns of lists that are the values of sparse vectors, whose positions another column contains."""
    lists = [c for c in columns if c.kind == "lists" and not PROMISE.fit_last_word(c.name)]
    heads = {c.name: [value for value in c.head() if not is_missing(value)] for c in lists}
    found = []
    for name, head in heads.items():
        if POSITIONS.fit_last_word(name) and all(len(set(v)) == len(v) for v in head):
            lengths = [len(v) for v in head]
            found += [other for other in heads if other != name and [len(v) for v in heads[other]] == lengths]
            found.append(name)
    return found if len(found) > 1 else []


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
        if len(prefixes) > 1 and not LAYER.fit_one_word(template):
            members = {id(c) for prefix in prefixes for c in families.pop(prefix)}
            families[template.strip(" _.-:")] = [c for c in columns if id(c) in members]
    return families


def _main_family(
    families: Mapping[str, Sequence[Column]], numeric: Sequence[Column], source: str, option: str
) -> Sequence[Column]:
    """Return the numbered columns that are the matrix; refuse several that could be."""
    numeric_ids = set(map(id, numeric))
    features = [c for c in numeric if not SIDE.fit(c.name)]
    if 2 * sum(ELECTRODE.fullmatch(c.name) is not None for c in features) > len(features):
        # The names of electrodes, such as F3, F4 and Fz, say where each is.
        return ()
    wells = {id(c) for prefix, family in families.items() if _WELL.fullmatch(prefix) for c in family}
    if len(wells & numeric_ids) * 2 > len(numeric) and sum(map(bool, map(_WELL.fullmatch, families))) >= _FEWEST:
        # Wells of plates, such as A01 to H12, name single columns.
        return ()
    likely: dict[str, Sequence[Column]] = {}
    for prefix, family in families.items():
        last = words_of(prefix)[-1:]
        n_numbers = sum(id(c) in numeric_ids for c in family)
        if not n_numbers or is_picture_name(prefix.strip("_ ")) or label_like_names(last):
            continue
        is_known = not last or FAMILY.fit(last[0]) or VECTOR.fit_one_word(prefix)
        counts = _count_up(family)
        enough = PICTURE_COLUMNS if is_known and (last or counts) else _FEWEST
        beside = [c.name for c in features if c not in family]
        is_main = counts and len(family) * _MUCH > len(features) - n_numbers and not look_like_genes(beside)
        if len(family) >= enough and (is_known or is_main):
            likely[prefix] = family
    if not likely:
        return ()
    prefix, largest = max(likely.items(), key=lambda item: len(item[1]))
    if len(likely) > 1:
        listing = join_items(f"{name or 'numbers'} ({len(family)} columns)" for name, family in likely.items())
        raise ValueError(
            f"{source} must contain one family of numbered columns, got {listing}; {_choice(option, prefix)}"
        )
    others = [c.name for c in features if c not in largest]
    is_known = any(map(FAMILY.fit, words_of(prefix)[-1:])) and _count_up(largest)
    # Genes such as Gpr1 to Gpr17 may be numbered, so that half as many others are no side columns.
    if 2 * len(others) > len(largest) and not is_known:
        raise ValueError(
            f"{source} must contain mainly features, got {len(largest)} numbered columns {largest[0].name} to "
            f"{largest[-1].name} and {len(others)} other columns of numbers ({join_items(others)}); "
            f"{_choice(option, prefix)}"
        )
    return largest


def _count_up(family: Sequence[Column]) -> bool:
    """Return whether the numbers of columns count up from 0 or 1, with few gaps."""
    numbers = [int(match["number"]) for c in family if (match := _NUMBERED.fullmatch(c.name))]
    if len(numbers) < len(family) - 1 or not numbers or len(set(numbers)) < len(numbers):
        return True
    return min(numbers) <= 1 and max(numbers) - min(numbers) < 1.25 * len(family)


def _choose_by_keys(
    columns: Sequence[Column],
    usable: Sequence[Column],
    keys: Sequence[str],
    aside: Mapping[str, str],
    labels: Collection[str],
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
    if (whole := find_whole(columns, identity if certain else None)) and whole not in (*keys, *labels):
        rest[whole] = GROUPS
    return Layout(tuple(matrix.values()), chosen, vectors, identity, certain=certain, left_out=rest | dict(aside))


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
        provenance.record_features(len(names), lambda: names)
        if layout.is_family or name in layout.families:
            taken = f"columns {names[0]} to {names[-1]}{', in the order of their numbers' * layout.is_reordered}"
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
        and not (reason == GROUPS and column.rpartition(".")[0] in layout.left_out)
    ]
    # A numbered family, or a table in memory that contains nothing but features, needs no statement.
    is_plain = not (layout.vectors or others or layout.certain or len(layout.matrix) <= _FEW_STATED or layout.families)
    if is_plain and not layout.is_reordered and (layout.is_family or not of_file):
        return
    listing = ", ".join(others[:_NAMED]) + (f" and {len(others) - _NAMED} more" if len(others) > _NAMED else "")
    counted = layout.identity is not None and Names.build(layout.identity.values(), identity).counts_rows
    notes = [f"rows {'numbered' if counted else 'named'} by {identity}"] * bool(identity) + [
        f"left out: {listing}"
    ] * bool(others)
    provenance.state(f"{source}: {taken}, {size}{f' ({chr(59).join(notes)})' if notes else ''}".replace(";", "; "))
    state_whole(next((column for column, reason in layout.left_out.items() if reason == GROUPS), ""))


def state_whole(whole: str) -> None:
    """Warn that several rows share a document or subject, if one is named."""
    if whole:
        provenance.state_warning(
            f"rows of one {whole} may resemble one another, so that p-values are too small; if they do, pass one row "
            f"of each, such as the mean, or declare groups (--groups {whole}) if the call takes them"
        )


def _first_and_last(names: Sequence[str]) -> str:
    """Return the first and last names; columns that describe the rows are often at one end of a table."""
    if len(names) <= 2 * _FEW_STATED + 1:
        return ", ".join(names)
    return ", ".join([*names[:_FEW_STATED], "...", *names[-_FEW_STATED:]])


def data_channels(recording: Any) -> list[str]:
    """Return the good channels of data of an object of MNE, without EOG, triggers and bad channels.

    Raises
    ------
    ValueError
        If no channel contains data.
    """
    of_data = set(recording.get_channel_types(picks="data"))
    types = zip(recording.ch_names, recording.get_channel_types(), strict=True)
    return [name for name, kind in types if kind in of_data and name not in recording.info["bads"]]


def column_names(X: Any) -> Names | None:
    """Return the names of the features of a table, AnnData or recording, unless they only count the columns.

    Features are columns of pandas, channels of MNE, or along the second axis of xarray.
    """
    if hasattr(X, "var_names") and hasattr(X, "obs_names"):
        names = Names.build(np.array(X.var_names, object))
    elif hasattr(X, "columns") and hasattr(X, "iloc"):
        # Columns of a numbered family are read in the order of their numbers, and side columns are left out.
        read = decide(pandas_columns(X), "X", option="").matrix
        names = Names.build(np.array([column.name for column in read], object))
    elif hasattr(X, "ch_names") and hasattr(X, "get_channel_types"):
        names = Names.build(np.array(data_channels(X), object))
    elif hasattr(X, "dims") and len(X.dims) > 1 and X.dims[1] in getattr(X, "indexes", {}):
        names = Names.build(X.indexes[X.dims[1]])
    else:
        return None
    return None if names.kind == "counted" or not names.distinct else names


def are_channels(X: Any) -> bool:
    """Return whether the names of columns show that these are channels, sensors or voxels, so not single neurons.

    Examples
    --------
    >>> import pandas as pd
    >>> are_channels(pd.DataFrame([[0.0, 1]], columns=["MEG 0111", "MEG 0112"]))
    True
    """
    if hasattr(X, "ch_names"):
        return True
    if any(_CHANNEL.fullmatch(str(dim)) for dim in list(getattr(X, "dims", []))[1:2]):
        return True
    found = column_names(X)
    texts = [] if found is None else [str(name) for name in found.values]
    of_caps = all(map(_SCALP, texts)) and any(name.lower().endswith("z") for name in texts)
    return bool(texts) and (of_caps or all(map(_CHANNEL.fullmatch, texts)))


_CHANNEL = re.compile(
    r"(meg|i?eeg|ecog|seeg|lfp|mag|grad|ch(an(nel)?)?|sensor|electrode|vox(el)?|vert(ex|ices)|parcel)s?[ _-]*\d{0,6}",
    re.IGNORECASE,
)
_SCALP = re.compile(r"(fp|af|f|fc|ft|c|cp|t|tp|p|po|o|i|a|m)(z|\d{1,2})h?", re.IGNORECASE).fullmatch
"""Names of channels and voxels by their kind and number, and of electrodes by their places on the scalp."""


_ENSEMBL = re.compile(r"(ENS[A-Z]*G\d{6,})(\.\d+)?")
"""Ensembl id of a gene, with or without its version."""


def _advice(first: Sequence[str], second: Sequence[str], n_shared: int) -> str:
    """Return what to do about features that only one side has."""
    of_ensembl = [sum(map(bool, map(_ENSEMBL.fullmatch, names))) / len(names) > 0.5 for names in (first, second)]
    if of_ensembl[0] != of_ensembl[1]:
        return "one side has Ensembl ids and the other symbols, so give both the same kind of name"
    ends = [[_NUMBERED.fullmatch(name) for name in names] for names in (first, second)]
    if n_shared == len(first) - 1 == len(second) - 1 and all(map(all, ends)):
        return "numbers seem to start at 0 on one side and at 1 on the other, so number both alike, or pass arrays"
    return "keep the shared features on both sides" if n_shared else "pass features with the same names"


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
    if not names.distinct or not others.distinct:
        return None
    if all(map(look_like_genes, (first, second))):
        unversioned = [[_ENSEMBL.sub(r"\1", name) for name in one] for one in (first, second)]
        if all(len(set(one)) == len(one) for one in unversioned):
            first, second = unversioned
    places = {name: place for place, name in enumerate(second)}
    shared = [name for name in first if name in places]
    # Encoders may call their dimensions anything, but genes have names.
    if first == second or not (shared or any(map(look_like_genes, (first, second)))):
        return None
    n = min(len(first), len(second))
    if first[:n] == second[:n] and all(map(_NUMBERED.fullmatch, first + second)):
        # Numbers only count the features, of which encoders have different numbers.
        return None
    if not len(shared) == len(first) == len(second):
        alone = next(name for name in (*first, *second) if name not in places or name not in first)
        raise ValueError(
            f"{sides[1]} must have the features of {sides[0]}, got {len(shared):,} shared names of {len(first):,} and "
            f"{len(second):,} (only one contains {alone}); {_advice(first, second, len(shared))}"
        )
    provenance.state(f"features matched by name, in another order in {sides[1]}")
    return np.array([places[name] for name in first], dtype=np.intp)
