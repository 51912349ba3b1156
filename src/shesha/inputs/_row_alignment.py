"""Decide which rows of several inputs are the same input: by their names, or by position.

All decisions on the identity of rows are made by `orders`. They are stated (`support.provenance`), and refused if the
names are ambiguous.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise, product
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shesha.inputs._other_libraries import split_names
from shesha.inputs.column_words import CLASS, CLUSTERS, CONTENT, LABELS, SIDE
from shesha.inputs.identity import (
    INSTANT,
    NamedRows,
    Names,
    are_cell_names,
    could_identify,
    is_condition_name,
    is_identity_name,
    joined_values,
)
from shesha.support.provenance import state, state_warning
from shesha.support.sampling_units import is_batch_name, is_unit_name
from shesha.support.types import Index, Mask
from shesha.support.warnings import RowNamesWarning, warn
from shesha.support.wording import join_names, plural

RowChoice = Literal["same", "shared"]
"""Whether all inputs must have the same rows, or only the rows that all of them have are used."""
MissingRows = Literal["refuse", "drop"]
"""What happens to rows with NaN, infinity or only zeros: an error, or they are left out everywhere."""
_ENTRIES = 1 << 20
"""Number of values that are read together."""
_FEWEST_NUMBERED = 3
"""Smallest number of numbered names whose order is evidence."""
_TOLD = 3
"""Maximum number of reordered representations that a warning names."""
_BY_POSITION = "If row i of both is the same input, pass arrays without names (.to_numpy(), --by-position)"


def _by_position(*names: Names) -> str:
    """Return how to pair rows by position; empty if there are different numbers of rows."""
    return _BY_POSITION if len({len(one) for one in names}) == 1 else ""


def orders(named: Mapping[str, Names | None], *, rows: RowChoice = "same", labels: bool = False) -> dict[str, Index]:
    """Return, for each representation whose rows must be reordered or selected, the rows to take.

    Representations without names, or already in the right order, are omitted. If the names are mere row numbers and
    differ, rows are paired by position if no number is shared, or if one side only counts its rows and the other does
    not have consecutive numbers.

    Parameters
    ----------
    named : mapping of str to Names or None
        The names of the rows of each representation. The first one with names determines the order.
    rows : {'same', 'shared'}
        Whether names must be the same, or only the rows whose names all representations share are used.
    labels : bool
        Whether one of the inputs contains labels of the other's rows; only a change is stated then.

    Raises
    ------
    ValueError
        If not only the order of the names differs, but the names themselves, or if they are missing or repeated.
    """
    named = _match_levels(named)
    if not labels and rows == "same":
        _check_columns({name: names for name, names in named.items() if names is not None and names.counts_rows})
    # The first column of a table serves as names only if its values are distinct.
    known = {
        name: names for name, names in named.items() if names is not None and (names.distinct or not names.doubtful)
    }
    certain = {name: names for name, names in known.items() if names.certain or names.kind == "text"}
    numbers = {name: names for name, names in known.items() if name not in certain}
    if rows == "shared":
        return _shared_rows(named, certain if len(certain) > 1 or not numbers else numbers)
    if not labels and len(certain) < 2:
        _warn_of_splits(list(named))
    if len(known) < 2:
        numbered = {name: names for name, names in numbers.items() if names.kind == "numbered"}
        if (one := certain or (numbered if not labels else {})) and len(named) > 1:
            words = plural(_words(one)) if certain else "row numbers"
            # Others may have names that repeat.
            adjective = "" if all(names is None for name, names in named.items() if name not in one) else "distinct "
            state(f"{'labels' if labels else 'rows'} paired by position: only {next(iter(one))} has {adjective}{words}")
            if certain:
                _warn_of_numbers(*next(iter(certain.items())))
        return {}
    index_by_name = _family(certain, labels=labels) | _family(numbers, labels=labels)
    if not labels:
        _state_matching(certain, index_by_name)
        state_other_texts(certain)
        if certain and (unnamed := [name for name in named if name not in certain and name not in index_by_name]):
            state(f"rows of {join_names(unnamed[:_TOLD])} paired by position (no names)")
            _warn_of_numbers(*next(iter(certain.items())))
    elif index_by_name:
        state(f"{', '.join(index_by_name)} matched by {_words(certain or numbers)}")
    doubtful = [name for name in index_by_name if not known[name].column or known[name].doubtful]
    guessed = [name for name in doubtful if (np.diff(index_by_name[name]) < 0).any()]
    if guessed:
        first = next(name for name in known if name not in index_by_name)
        listing = ", ".join(guessed[:_TOLD]) + (f" and {len(guessed) - _TOLD} more" if len(guessed) > _TOLD else "")
        warn(
            f"rows of {listing} are in a different order from those of {first}, so they were matched by "
            f"{known[first].word}. If this "
            "is wrong, pass arrays without row names (.to_numpy(), --by-position)",
            RowNamesWarning,
        )
    return index_by_name


def _match_levels(named: Mapping[str, Names | None]) -> Mapping[str, Names | None]:
    """Return names of which those with levels are replaced by the level that identifies the rows of all others.

    Such a level of an index, or coordinate, has the name of another index or column of identifiers. Its values are
    distinct on all sides, and some of them are shared.
    """
    known = {name: names for name, names in named.items() if names is not None}
    if len(known) < 2 or not any(names.levels for names in known.values()):
        return named
    first, *others = (set(names.as_text().values) for names in known.values())
    if all(first & other for other in others):
        return named
    titles = [title for names in known.values() for title in (names.title, names.column) if not names.levels]
    levels = [level for names in known.values() for level in names.levels]
    titles += [level for level in levels if is_identity_name(level) or is_condition_name(level)]
    for title in dict.fromkeys(filter(None, titles)):
        found = {name: _identifiers_called(title, names) for name, names in known.items()}
        able = {name: one for name, one in found.items() if one is not None and one.distinct}
        if len(able) == len(known) and set.intersection(*(set(one.as_text().values) for one in able.values())):
            return {**named, **able}
    return named


def _identifiers_called(title: str, names: Names) -> Names | None:
    """Return identifiers by their name: those of a level, of a column, or of an index."""
    if title in names.levels or title == names.column:
        return names.levels.get(title, names)
    return names.as_identifiers() if title == names.title else None


_SPLIT = re.compile(r"(?<![^\W_])(train|training|test|val|valid|validation|dev|holdout)(?![^\W_])", re.IGNORECASE)
"""Names of the parts into which data are split, as words of a name."""


def _warn_of_splits(names: Sequence[str]) -> None:
    """Warn if rows without names come from parts such as train and test, because these have other inputs."""
    for first, second in pairwise(names):
        if first != second and _SPLIT.search(first) and _SPLIT.sub("", first) == _SPLIT.sub("", second):
            state_warning(
                f"{first} and {second} are named like parts of one data set, whose rows are other inputs; `shesha "
                "drift` (shesha.drift.two_sample) compares samples instead of rows"
            )
            return


def _warn_of_numbers(name: str, names: Names) -> None:
    """Warn if names are numbered from 0 or 1, such as request-7 or img_7.png, but not sorted by these numbers."""
    if CONTENT.fit(names.column):
        return
    parts = [re.fullmatch(r"(.*?)(\d{1,18})(\.\w+|\D*)", str(value)) for value in names.values]
    known = [part for part in parts if part is not None]
    if len(known) < max(_FEWEST_NUMBERED, len(parts)) or len({(part[1], part[3]) for part in known}) > 1:
        return
    numbers = np.array([int(part[2]) for part in known])
    counted = np.arange(len(numbers)) + numbers.min()
    if numbers.min() in (0, 1) and (np.sort(numbers) == counted).all() and (numbers != counted).any():
        text = f"rows of {name} are not in the order of the numbers in their {plural(names.word)}, and the other rows "
        text += "have no names"
        state_warning(text, is_raised=True)
        warn(
            f"{text}. If those are in that order, sort the rows of {name} or save names with both",
            RowNamesWarning,
        )


def _check_columns(counted: Mapping[str, Names]) -> None:
    """Refuse tables without an index of their own if a column of both has the same texts in another order."""
    for (first, names), (other, others) in pairwise(counted.items()):
        require_order(
            {
                column: (names.columns[column], others.columns[column])
                for column in names.columns
                if column in others.columns
            },
            f"in {first} and {other}",
            "pass tables with this index (.set_index({columns})); otherwise pass arrays (.to_numpy())",
        )


def require_order(columns: Mapping[str, tuple[Names, Names]], where: str, remedy: str) -> None:
    """Refuse texts that two tables have in another order, if nothing else identifies the rows; warn of numbers.

    Columns of which each repeats its values, such as subject and trial, are texts if they are taken together.
    """
    pairs: dict[tuple[str, ...], tuple[Names, Names]] = {(column,): pair for column, pair in columns.items()}
    repeated = {
        column: pair for column, pair in columns.items() if not pair[0].distinct and could_identify(pair[0].values)
    }
    if len(repeated) > 1:
        joined = (joined_values([pair[side].values for pair in repeated.values()]) for side in (0, 1))
        one, other = map(Names.build, joined)
        pairs[tuple(repeated)] = one, other
    found = next((chosen for chosen, (one, other) in pairs.items() if one.is_reordered(other)), None)
    if found is None:
        classes = {column: pair for column, pair in columns.items() if not pair[0].distinct}
        require_same_conditions(classes, where, remedy)
        return
    text = f"column {found[0]!r} has" if len(found) == 1 else f"columns {join_names(found)} together have"
    (one, other), otherwise = pairs[found], remedy.partition("; ")[2]
    if not (one.distinct and other.distinct):
        raise ValueError(
            f"{text} mostly the same values {where}, in another order, of which some are repeated, so none identifies "
            f"the rows. Save distinct identifiers with both; {otherwise}"
        )
    if not one.has_same_names(other):
        n_shared = len(np.intersect1d(one.values, other.values))
        raise ValueError(
            f"{text} {n_shared:,} of {len(one):,} values on both sides {where}, in other rows, but nothing else "
            f'identifies the rows. If it does, pass {_identify_by(*found)} and rows="shared"; {otherwise}'
        )
    text = f"{text} the same values {where}, in another order"
    remedy = remedy.format(columns=repr(found[0]) if len(found) == 1 else list(found), choice=choose_ids(*found))
    if one.kind == "text":
        raise ValueError(f"{text}, but nothing else identifies the rows. If it does, {remedy}")
    state(text)
    warn(f"{text}, but rows are paired by position. If it identifies rows, {remedy}", RowNamesWarning)


def choose_ids(*columns: str) -> str:
    """Return how to choose the columns that identify rows, in Python and on the command line.

    Examples
    --------
    >>> choose_ids("file", "start (s)")
    "ids=['file', 'start (s)'] (--id 'file,start (s)')"
    """
    return f"ids={(columns[0] if len(columns) == 1 else list(columns))!r} (--id {shlex.quote(','.join(columns))})"


def _identify_by(*columns: str) -> str:
    """Return how tables in memory, and files, name the columns that identify rows; not all functions have `ids`.

    Examples
    --------
    >>> _identify_by("file"), _identify_by()
    ("tables with .set_index('file'), or files with ids='file' (--id file)",
     'tables with .set_index(COLUMN), or files with ids=')
    """
    index = repr(columns[0] if len(columns) == 1 else list(columns)) if columns else "COLUMN"
    return f"tables with .set_index({index}), or files with {choose_ids(*columns) if columns else 'ids='}"


_MOST_DIFFERENT = 0.1
"""Largest share of rows with another value that corrections explain."""


def require_same_conditions(columns: Mapping[str, tuple[Names, Names]], where: str, remedy: str) -> None:
    """Refuse to pair trials of different stimuli, and rows whose labels are the same in another order."""
    for column, (one, other) in columns.items():
        if len(one) != len(other) or not len(one) or one.has_same_order(other):
            continue
        first, second = (names.as_text().values for names in (one, other))
        n_different = int((first != second).sum())
        shown = is_condition_name(column)
        reordered = one.kind == "text" and one.has_same_names(other) and not SIDE.fit(column)
        # Numbers may be predictions of two models, of which no two have each value equally often.
        counts, others = Counter(first), Counter(second)
        is_label = column.lower() in LABELS and counts == others
        if n_different > _MOST_DIFFERENT * len(one) and (shown or reordered or is_label):
            # Rows of one class are different inputs, unlike trials of one stimulus.
            advice = "They are in another order: save identifiers of the rows with both; otherwise "
            if shown:
                advice = f"Sort both by {column}, or average the rows of each {column}; otherwise "
            raise ValueError(
                f"rows must be the same inputs, got another {column} in {n_different:,} of {len(one):,} rows "
                f"{where} (row {np.flatnonzero(first != second)[0]}: {first[first != second][0]} and "
                f"{second[first != second][0]}). {advice}{remedy.rpartition('otherwise ')[2]}"
            )
        n_by_chance = sum(n * others[value] for value, n in counts.items()) / len(one)
        n_alike = (counts & others).total()
        is_side = SIDE.fit(column) or CLUSTERS.fit(column)
        if not is_side and n_alike >= (1 - _MOST_DIFFERENT) * len(one) > n_by_chance:
            n_beyond = len(one) - n_different - n_by_chance
            if n_beyond <= _MOST_DIFFERENT * (len(one) - n_by_chance):
                state_warning(
                    f"rows seem to be other inputs: {n_different:,} of {len(one):,} values of {column} {where} differ, "
                    "as between random rows, though each value is about as frequent. If they are in another order, "
                    "sort them, or save identifiers of the rows with both",
                    questions_input=True,
                )


_MOST_TEXTS = 20_000
"""Number of rows up to which the texts of matched rows are read, which takes little time beside their vectors."""
_FEWEST_CLASSIFIED = 50
"""Smallest number of rows whose classes are compared."""


def state_other_texts(known: Mapping[str, Names]) -> None:
    """Warn of columns that show that rows of the same name are other inputs, or other texts, as of new chunks."""
    for (first, names), (other, found) in product(list(known.items())[:1], list(known.items())[1:]):
        both = [column for column in names.columns if column in found.columns]
        if not both or max(len(names), len(found)) > _MOST_TEXTS or not (names.distinct and found.distinct):
            continue
        values, other_values = (one.as_text().values.astype(str) for one in (names, found))
        shared, *rows = np.intersect1d(values, other_values, assume_unique=True, return_indices=True)
        for column in both if len(shared) else ():
            texts = [one.columns[column].as_text().values[row] for one, row in zip((names, found), rows, strict=True)]
            differ = np.flatnonzero(texts[0] != texts[1])
            if not len(differ):
                continue
            where = f"rows that {first} and {other} share by {names.word}, such as {shared[differ[0]]}"
            text = f"{column} differs in {len(differ):,} of {len(shared):,} {where}"
            if all(map(_are_sentences, texts)):
                state_warning(f"{text}, so their vectors differ even if the model does not")
            elif _are_other_inputs(column, texts[0], texts[1], shared):
                state_warning(f"{text}, so names may denote other inputs")
                break


def _are_other_inputs(column: str, values: NDArray[Any], others: NDArray[Any], names: NDArray[Any]) -> bool:
    """Return whether samples, batches or classes of matched rows differ as those of other inputs do.

    Samples and donors of the same cells do not differ between models, but clusters and predictions may.
    """
    kinds = set(values), set(others)
    if is_batch_name(column) or is_unit_name(column):
        # Files of one sample each number their cells anew; those of one subject each may share their stimuli.
        return kinds[0] == kinds[1] or (
            is_unit_name(column) and all(len(kind) == 1 for kind in kinds) and are_cell_names(names.tolist())
        )
    return CLASS.fit(column) and kinds[0] == kinds[1] and _are_unrelated(values, others)


def _are_unrelated(values: NDArray[Any], others: NDArray[Any]) -> bool:
    """Return whether two classifications of the same rows agree no more than those of unrelated rows (chi-squared)."""
    classes, codes = np.unique(np.concatenate([values, others]).astype(str), return_inverse=True)
    n_rows, n_classes = len(values), len(classes)
    counts = np.bincount(codes[:n_rows] * n_classes + codes[n_rows:], minlength=n_classes**2).reshape(n_classes, -1)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n_rows
    statistic, freedom = float(((counts - expected) ** 2 / expected).sum()), (n_classes - 1) ** 2
    # Three standard deviations above the mean; the largest value is that of equal classifications.
    limit = freedom + 3 * np.sqrt(2 * freedom)
    return n_rows >= _FEWEST_CLASSIFIED and 2 * limit < n_rows * (n_classes - 1) and statistic <= limit


_UNSPACED = r"[\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]"
"""Letters of scripts without spaces between words, such as Thai, Tibetan, Burmese, Khmer, Japanese and Chinese."""
_SENTENCE = re.compile(rf"(?![\[{{]).*?(?:[^\W\d_]{{2}}.*?\s.*?[^\W\d_]|(?:{_UNSPACED}\W*){{6}})", re.DOTALL)


def _are_sentences(texts: NDArray[Any]) -> bool:
    """Return whether most texts are several words, also without spaces, unlike dates, categories and records."""
    if 2 * len(set(texts)) < len(texts):
        return False
    return 2 * sum(_SENTENCE.match(str(text)[:500]) is not None for text in texts) > len(texts)


def _words(known: Mapping[str, Names]) -> str:
    """Return what the names are called, such as 'id', or 'id and doc_id' if the columns differ."""
    return " and ".join(dict.fromkeys(names.word for names in known.values()))


_FEW_VALUES = 0.5
"""Largest number of values of names, relative to the rows, at which rows are called repeats."""


def _state_matching(known: Mapping[str, Names], moved: Mapping[str, Index]) -> None:
    """State that rows were matched by name, unless all names come from the same place, such as one file."""
    if numbered := [name for name in moved if name not in known]:
        state(f"rows of {join_names(numbered)} matched by row number, in another order")
    if len(set(map(id, known.values()))) < 2:
        return
    first = next(iter(known.values()))
    moved = {name: rows for name, rows in moved.items() if name in known}
    if moved:
        order = f", in another order in {join_names(moved)}" if len(moved) <= _TOLD else ", some in another order"
        state(f"rows matched by {_words(known)}{order}")
    elif all(names.counts_rows for names in known.values()):
        state(f"rows paired by position: {_words(known)} only counts the rows")
    elif all(names.has_same_order(first) for names in known.values()):
        repeats = "" if first.distinct else ", some of them repeated, in the same order"
        state(f"rows matched by {_words(known)}{repeats}")
        n_values = len(first) if first.distinct else len(set(first.as_text().values.tolist()))
        if n_values <= _FEW_VALUES * len(first):
            state_warning(
                f"{len(first):,} rows have {n_values:,} values of {first.word}, and rows of one value, such as repeats "
                f"of a stimulus, are not independent, so p-values are too small: pass {first.word} as groups=, or "
                "average the rows of each value"
            )
    else:
        state("rows paired by position: their names have nothing in common")


def _family(known: Mapping[str, Names], *, labels: bool) -> dict[str, Index]:
    index_by_name: dict[str, Index] = {}
    reference: tuple[str, Names] | None = None
    for name, names in known.items():
        if reference is None:
            reference = name, names
        elif (order := _order(*reference, name, names, labels=labels)) is not None:
            index_by_name[name] = order
    return index_by_name


def _order(first: str, reference: Names, name: str, names: Names, *, labels: bool) -> Index | None:
    if "text" in (names.kind, reference.kind) and names.kind != reference.kind:
        names, reference = names.as_text(), reference.as_text()
    if names.has_same_order(reference):
        return None
    _require_distinct({name: names, first: reference}, both=f"rows of {name} and {first}")
    if names.has_same_names(reference):
        return names.positions(reference)
    if names.counts_rows and reference.counts_rows and len(names) == len(reference):
        if not (names.column or reference.column):
            starts = f"{reference.values[0]} in {first}, {names.values[0]} in {name}"
            state(f"rows paired by position: they are counted from {starts}")
        return None
    mere_numbers = not (names.certain and reference.certain)
    kinds = {names.kind, reference.kind}
    shared = len(np.intersect1d(names.values, reference.values))
    of_index = names.column == reference.column and not reference.counts_rows
    if labels and shared == len(reference) < len(names) and (reference.kind == "text" or of_index):
        state(f"{name}: labels of {len(names) - shared:,} further rows not used")
        return _positions(names, reference.values)
    # Different parts of a table are compared by position; slices that overlap, as after X.iloc[1:], are not.
    separate = kinds == {"counted"} and not shared
    counting = kinds == {"counted", "numbered"} and (names.counts_rows or reference.counts_rows)
    if mere_numbers and (separate or counting):
        state(f"rows paired by position: the row numbers of {first} and {name} differ")
        return None
    unlike = names.doubtful and reference.doubtful
    renaming = _renaming(names, reference, shared)
    if shared == 0 and ((mere_numbers and names.kind == "numbered") or unlike) and not renaming:
        return None
    same = names.word == reference.word
    word = names.word if same else "name"
    words = plural(word)
    if names.counts_rows and reference.counts_rows:
        raise ValueError(
            f"rows of {name} must be as many as those of {first}, because {word} only counts the rows, got "
            f"{len(names):,} and {len(reference):,}. If {word} identifies rows, pass {_identify_by(word)}"
        )
    lost = names.lost_digits or reference.lost_digits
    advice = (
        f"{lost}. " if lost else "",
        renaming,
        _use_shared(first, name, names, labels=labels) if shared and not renaming else "",
        "" if same else f"They come from {names.word} and {reference.word}; name one column: pass {_identify_by()}. ",
        _by_position(names, reference),
    )
    raise ValueError(
        f"rows of {name} must have the same {words} as those of {first}, got {shared:,} shared {words} of "
        f"{len(names):,} and {len(reference):,} ({_example(names, reference)}). {''.join(advice)}".rstrip(". ")
    )


def _use_shared(first: str, name: str, names: Names, *, labels: bool) -> str:
    """Say how to use only the rows that both sides have."""
    if labels and (names.title or not (names.column or names.kind == "text")):
        return f"To leave out rows without a label, pass {name}.reindex({first}.index). "
    return 'To use only the shared rows, pass rows="shared". '


_FEWEST_REORDERED = 8
_NEAR, _FAR = 0.1, 4
"""How close products are in sorted order, and how far in the given order, relative to the gaps between neighbours."""
_SEARCHED, _MOSTLY = 48, 0.8
"""Number of rows whose nearest rows are searched, and share of them that must be found in other places."""
_CLEAR, _SAME = 0.6, 0.1
"""Largest ratio of the distances to the nearest and to the second nearest row if the nearest is the same input, and if
its vector is the same."""
_COUNTED, _FEWEST_MOVED, _SOME = 512, 3, 0.05
"""Number of rows whose nearest rows are counted, and the fewest and the smallest share of them that are reported."""
_WIDE = 16
"""Number of features from which on rows of few distinct values are hardly equal by chance."""


def are_reordered(X: Any, Y: Any) -> bool:
    """Return whether two matrices seem to have the same rows in another order, or shifted by some rows.

    The rows may be rotated: the inner product of a row with the mean row does not depend on the order or on a rotation,
    so both matrices have the same products. Those of unrelated data differ by more than the gap between neighbouring
    products. Or they may be encoded again with some noise: most rows are then far closer to one row in another place
    than to any other.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> are_reordered(X, X[::-1]), are_reordered(X, X), are_reordered(X, -3 * X[::-1])
    (True, False, False)
    >>> are_reordered(X[1:], X[:-1] + 0.01)
    True
    """
    return find_row_order(X, Y).is_other


class RowOrder(NamedTuple):
    """Whether rows are in another order and, if they are not, which of some rows are those of other places."""

    is_other: bool
    moved: tuple[tuple[int, int], ...] = ()
    """Rows of Y with the row of X whose vector they contain; empty unless there are several."""
    n_checked: int = 0

    def describe(self, name: str, reference: str, names: Names | None = None) -> str:
        """Return text on the moved rows; empty if there are none."""
        if not self.moved:
            return ""
        row, other = (f"row {row}" if names is None else str(names.values[row]) for row in self.moved[0])
        return (
            f"{len(self.moved):,} of {self.n_checked:,} checked rows of {name} contain the vectors of other rows of "
            f"{reference} (such as {row} that of {other})"
        )


def find_row_order(X: Any, Y: Any) -> RowOrder:
    """Return whether the rows of two matrices are in another order, as `are_reordered` explains, or some of them."""
    # Single columns of ranks or levels, such as two models of conditions, may contain the same numbers by design.
    if len(X) != len(Y) or len(X) < _FEWEST_REORDERED or min(X.shape[1], Y.shape[1]) < 2:
        return RowOrder(False)
    largest = float(np.max([np.abs(rows).max() for side in (X, Y) for rows in _stretches(side)]))
    if not (np.isfinite(largest) and largest > 0):
        return RowOrder(False)
    # One unit for both, so that squares neither overflow nor vanish.
    means = [sum((rows / largest).sum(axis=0) for rows in _stretches(side)) / len(X) for side in (X, Y)]
    a, b = (
        np.concatenate([rows / largest @ mean for rows in _stretches(side)])
        for side, mean in zip((X, Y), means, strict=True)
    )
    ordered = np.sort(a)
    # Whole numbers, such as counts, have ties.
    gaps = np.diff(ordered)
    gap = float(np.median(gaps[gaps > 1e-12 * np.ptp(ordered)])) if np.ptp(ordered) > 0 else 0.0
    near = float(np.median(np.abs(ordered - np.sort(b)))) <= _NEAR * gap
    if gap > 0 and near and float(np.median(np.abs(a - b))) > _FAR * gap:
        return RowOrder(True)
    if X.shape[1] != Y.shape[1]:
        return RowOrder(False)
    found = _search_rows(X, Y, largest, means[0], _SEARCHED)
    elsewhere = found.rows[(found.nearest < _CLEAR**2 * found.second) & (found.rows != found.places)]
    if len(np.unique(elsewhere)) >= _MOSTLY * len(found.places):
        return RowOrder(True)
    if not found.moved.any():
        return RowOrder(False)
    found = _search_rows(X, Y, largest, means[0], _COUNTED)
    places, moved = found.places, found.moved
    if len(np.unique(found.rows[moved])) < max(_FEWEST_MOVED, _SOME * len(places)):
        return RowOrder(False)
    # Rows of few distinct values, or of which many repeat, are equal by chance.
    values = np.concatenate(list(_stretches(X)))
    n_repeated = len(X) - len(np.unique(values, axis=0))
    few = X.shape[1] < _WIDE and np.median([len(np.unique(column)) for column in values.T]) <= len(X) / 2
    if few or n_repeated * len(places) > moved.sum() * len(X) / 2:
        return RowOrder(False)
    return RowOrder(False, tuple(zip(places[moved].tolist(), found.rows[moved].tolist(), strict=True)), len(places))


class _Search(NamedTuple):
    """Rows of one side, the nearest row of the other side, and squared distances."""

    places: Index
    rows: Index
    nearest: NDArray[np.float64]
    second: NDArray[np.float64]
    own: NDArray[np.float64]
    """Squared distance to the row in the same place."""

    @property
    def moved(self) -> Mask:
        """Whether each row has the vector of a row in another place."""
        return np.asarray((self.rows != self.places) & (self.nearest < _SAME**2 * np.minimum(self.second, self.own)))


def _search_rows(X: Any, Y: Any, unit: float, middle: NDArray[np.float64], n_searched: int) -> _Search:
    """Search the nearest row of X for some rows of Y."""
    places = np.unique(np.linspace(0, len(Y) - 1, n_searched).astype(np.intp))
    searched = np.concatenate(list(_stretches((Y.values if isinstance(Y, NamedRows) else Y)[places])))
    searched /= unit
    searched -= middle
    own = np.empty(len(places))
    nearest, second, found = np.full((3, len(places)), np.inf)
    start = 0
    for rows in _stretches(X):
        centred = rows / unit
        centred -= middle
        squares = np.einsum("ij,ij->i", centred, centred)[:, None] - 2 * (centred @ searched.T)
        order = np.argpartition(squares, min(1, len(rows) - 1), axis=0)[:2]
        for position in order:
            distances = squares[position, np.arange(len(places))]
            closer = distances < nearest
            second = np.where(closer, nearest, np.minimum(second, distances))
            found = np.where(closer, position + start, found)
            nearest = np.where(closer, distances, nearest)
        here = np.flatnonzero((places >= start) & (places < start + len(rows)))
        own[here] = squares[places[here] - start, here]
        start += len(rows)
    lengths = np.einsum("ij,ij->i", searched, searched)
    return _Search(places, found.astype(np.intp), *(np.maximum(one + lengths, 0) for one in (nearest, second, own)))


def _stretches(rows: Any) -> Iterator[NDArray[np.float64]]:
    """Yield the rows in double precision, a few at a time, because files may not fit in memory."""
    values = rows.values if isinstance(rows, NamedRows) else rows
    step = max(1, _ENTRIES // max(1, values.shape[1]))
    for start in range(0, len(values), step):
        part = values[start : start + step]
        yield np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64)


def _require_distinct(known: Mapping[str, Names], both: str) -> None:
    """Refuse names that are missing or repeated, because they do not say which row is which."""
    for name, names in known.items():
        if not names.distinct:
            raise ValueError(
                f"{plural(names.word)} of {name} must be distinct to match {both}, got {names.fault}. "
                + (
                    names.lost_digits
                    or f"If they are parts of one input, name the column that numbers them as well (--id {names.word},"
                    "...); otherwise average the rows of each"
                )
                + f". {_BY_POSITION}"
            )


def _shared_rows(named: Mapping[str, Names | None], known: dict[str, Names]) -> dict[str, Index]:
    """Return, for each input with names, its rows that all of them have, in the order of the first."""
    if len(known) < len(named):
        without = [name for name in named if name not in known]
        raise ValueError(
            f'rows must be "same" unless all inputs have row names, got "shared" and none for {join_names(without)}. '
            f"If a column identifies the rows, pass {_identify_by()}"
        )
    if len({names.kind == "text" for names in known.values()}) > 1:
        known = {name: names.as_text() for name, names in known.items()}
    first, *others = known.values()
    if all(names.has_same_order(first) for names in others):
        _state_matching(known, {})
        return {}
    if all(names.counts_rows and (names.column or names.doubtful) for names in known.values()):
        raise ValueError(
            f'rows="shared" needs identifiers, got {_words(known)}, which only counts the rows. If it identifies '
            f"rows, pass {_identify_by(first.word)}"
        )
    _require_distinct(known, both="shared rows")
    shared = np.isin(first.values, _intersection(others))
    counts = [f"{n:,}" for n in dict.fromkeys(map(len, known.values()))]
    listing = " and ".join(counts) if len(counts) < 3 else f"{counts[0]} to {counts[-1]}"
    if not shared.any():
        advice = f"{_renaming(first, others[0])}{_by_position(*known.values())}"
        raise ValueError(
            f"rows must be shared by all inputs, got no shared {_words(known)} of {listing} rows "
            f"({_example(*known.values())}). {advice}".rstrip(". ")
        )
    state_other_texts(known)
    wanted = first.values[shared]
    selected = {name: _positions(names, wanted) for name, names in known.items()}
    if all(len(wanted) == len(names) for names in known.values()):
        _state_matching(known, {name: rows for name, rows in selected.items() if (np.diff(rows) != 1).any()})
    else:
        state(f"{len(wanted):,} of {listing} rows shared by {_words(known)}")
        if other := next((names for names in others if _count_from_other_numbers(names, first)), None):
            state_warning(_renaming(other, first).rstrip(". "))
    return selected


def _intersection(others: Sequence[Names]) -> Any:
    shared = others[0].values
    for names in others[1:]:
        shared = np.intersect1d(shared, names.values)
    return shared


def _positions(names: Names, wanted: Any) -> Index:
    """Return the positions of some of the names."""
    place = np.argsort(names.values, kind="stable")
    found: Index = place[np.searchsorted(names.values[place], wanted)]
    return found


_PIECE = r"[-_#:./][^-_#:./]+"
_TRIMS = tuple(
    partial(re.compile(pattern).sub, "")
    for pattern in (
        r"$",
        f"{_PIECE}$",
        f"(?:{_PIECE}){{2}}$",
        r"^[^-_#:./]+[-_#:./]",
        r"^.*[/\\]",
        r"^.*[/\\]|\.\w{1,5}$",
        # Barcodes of velocyto, such as 'sample:AAACx'.
        r"^[^:]*:|x$",
        # Headers of UniProt, such as 'sp|P12345|NAME_HUMAN'.
        r"^(sp|tr|>|gi|ref)*\||\|.*$",
    )
)
"""What names are compared without: nothing, the last one or two pieces, the first piece, folders, endings, prefixes."""
_DATE = re.compile(
    r"(\d{1,4}|[A-Z][a-z]{2,8})[-/., ]+(\d{1,2}|[A-Z][a-z]{2,8})[-/., ]+(\d{1,4})(?:[T ](.*))?|(\d{4})(\d\d)(\d\d)"
)
_MONTHS = {
    name: number
    for number, name in enumerate(
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1
    )
}


def _iso_date(name: str, *, day_first: bool) -> str:
    """Return a date in the order of year, month, day and time; other names are unchanged.

    Examples
    --------
    >>> [_iso_date(name, day_first=True) for name in ("3/1/2024", "20240103", "3 Jan 2024", "2024-01-03T10:00Z", "a")]
    ['2024-01-03', '2024-01-03', '2024-01-03', '2024-01-03 10', 'a']
    """
    match = _DATE.fullmatch(name)
    if match is None:
        return name
    words = [part for part in match.group(1, 2, 3, 5, 6, 7) if part is not None]
    parts = [int(word) if word.isdigit() else _MONTHS.get(word[:3], 0) for word in words]
    if not all(parts):
        return name
    if parts[0] < _FIRST_YEAR:
        day_first = day_first if all(map(str.isdigit, words)) else words[0].isdigit()
        parts = parts[::-1] if day_first else [parts[2], *parts[:2]]
    time = re.sub(r"(:00)*(\.0+)?(Z|\+00:00)?$", "", match[4] or "").removesuffix("00")
    return "-".join(f"{part:02}" for part in parts) + f" {time}" * bool(time)


_FIRST_YEAR = 100
_FORMS: tuple[Callable[[str], str], ...] = (
    _TRIMS[0],
    str.casefold,
    partial(re.compile(r"[/\\]+$").sub, ""),
    partial(re.compile(r"(?<!\d)0+(?=\d)").sub, ""),
    partial(re.compile(r"-(?=[0-9a-f]{4})").sub, ""),
    # R replaces other characters by points.
    partial(re.compile(r"[^A-Za-z0-9.]").sub, "."),
    partial(_iso_date, day_first=True),
    partial(_iso_date, day_first=False),
    *_TRIMS[1:],
)
_N_NOTATIONS = 4
"""Number of the first forms that do not shorten names to other names, so that some names may match without them."""


def _renaming(names: Names, reference: Names, n_shared: int = 0) -> str:
    """Say which renaming makes most names match, such as removing '-0' from all cells; empty if there is none."""
    if _count_from_other_numbers(names, reference):
        return (
            f"{plural(names.word)} seem to be counted from 0 on one side and from 1 on the other; number both alike. "
        )
    if not names.kind == reference.kind == "text":
        return ""
    if not n_shared and (renumbered := _renumbering(names, reference)):
        return renumbered
    forms = _FORMS[:_N_NOTATIONS] if n_shared else _FORMS
    first, second = ([[form(str(name)) for name in one.values] for form in forms] for one in (names, reference))
    for cut, other in sorted(product(range(len(forms)), repeat=2), key=lambda pair: sum(map(bool, pair))):
        left, right = first[cut], second[other]
        shared = set(left) & set(right)
        is_distinct = len(set(left)) == len(left) and len(set(right)) == len(right)
        if is_distinct and len(shared) >= max(2, n_shared + 1, 0.5 * min(len(left), len(right))):
            sides = ((first[0], left), (second[0], right))
            places = [next((k for k, name in enumerate(whole) if name != short[k]), 0) for whole, short in sides]
            pairs = [(whole[k], short[k]) for (whole, short), k in zip(sides, places, strict=True)]
            changes = [f"{name} were {short}" for name, short in pairs if name != short]
            zoned = {INSTANT.fullmatch(str(one.values[0])) is not None for one in (names, reference)}
            condition = ", if the times without a time zone are in UTC" if len(zoned) > 1 else ""
            return f"{len(shared):,} would match if {' and '.join(changes)}; rename the rows{condition}. "
    return ""


def _count_from_other_numbers(names: Names, reference: Names) -> bool:
    """Return whether one side has the numbers from 0 on, and the other as many from 1 on, as of Python and MATLAB.

    Of identifiers, any numbers count that only are equal if 1 is added on one side.
    """
    if "text" in (names.kind, reference.kind) or not (names.distinct and reference.distinct and len(names)):
        return False
    ends = [(int(one.values.min()), int(one.values.max())) for one in (names, reference)]
    n = len(names)
    if n == len(reference) and sorted(ends) == [(0, n - 1), (1, n)]:
        return True
    fewest = min(n, len(reference))
    if not (names.certain and reference.certain) or fewest < _FEWEST_NUMBERED:
        return False
    n_shared = [len(np.intersect1d(names.values + shift, reference.values)) for shift in (-1, 0, 1)]
    return n_shared[1] < fewest == max(n_shared)


_LAST_NUMBER = re.compile(r"(.*?)[-_.]?(\d+)")


def _renumbering(names: Names, reference: Names) -> str:
    """Say which last numbers of names, as of lanes, correspond, if both sides count differently; otherwise empty."""
    parts = [[_LAST_NUMBER.fullmatch(str(name)) for name in one.values] for one in (names, reference)]
    if not all(map(all, parts)):
        return ""
    stems, lanes = ([[str(m[k]) for m in side if m] for side in parts] for k in (1, 2))
    known = [sorted(set(side), key=int) for side in lanes]
    if not 1 < len(known[0]) == len(known[1]) <= _MOST_LANES or [*map(int, known[0])] == [*map(int, known[1])]:
        return ""
    places = [
        [stem + f" {own.index(lane)}" for stem, lane in zip(stems[k], lanes[k], strict=True)]
        for k, own in enumerate(known)
    ]
    if set(places[0]) != set(places[1]) or len(set(places[0])) < len(places[0]):
        return ""
    shown, other = str(names.values[0]), str(reference.values[places[1].index(places[0][0])])
    return (
        f"All would match if the last numbers {', '.join(known[0])} were {', '.join(known[1])}, such as {shown} and "
        f"{other}; if lanes were numbered in this order, rename the rows. "
    )


_MOST_LANES = 100
"""Most lanes or samples that numbers at the end of names may count."""


def _example(names: Names, reference: Names, *_: Names) -> str:
    """Name a row of each side that the other one lacks."""
    alone = [np.setdiff1d(*sides) for sides in ((reference.values, names.values), (names.values, reference.values))]
    return f"only one contains {' or '.join(str(values[0]) for values in alone if len(values))}"


def align_labels(X: Any, y: Any, name: str = "y", other: str = "X") -> Any:
    """Reorder labels to match the rows of a representation, if both have names."""
    table = hasattr(y, "iloc") and hasattr(y, "columns")
    # Tables are reordered without converting them to an array, because some columns may contain text.
    values, names = (y, Names.from_index(y.index)) if table else split_names(y, name)
    if names is None:
        return y
    known = _row_names(X, other)
    if known is not None and known.index is not None and names.kind != "text" and not names.column:
        known = known.index
    if known is not None and names.title and names.title == known.title:
        known, names = known.as_identifiers(), names.as_identifiers()
    order = orders({other: known, name: names}, labels=True).get(name)
    if order is None:
        return y
    return y.iloc[order] if table else np.asarray(values)[order]


def _row_names(X: Any, name: str) -> Names | None:
    names = X if isinstance(X, Names) else getattr(X, "names", None)
    return names if isinstance(names, Names) else split_names(X, name)[1]


def align_all_labels(X: Any, labels: Mapping[str, Any]) -> dict[str, Any]:
    """Reorder several labels to match a representation's rows; labels without names are unchanged."""
    return {name: align_labels(X, y, name) for name, y in labels.items()}


def _certain_names(y: Any) -> Names | None:
    names = getattr(y, "known", None)
    return names if isinstance(names, Names) and names.certain else None


def labels_in_order(rows: Iterable[Names | None], labels: Mapping[str, Any]) -> dict[str, Any]:
    """Reorder several labels to match representations that were aligned with one another."""
    known = sorted(
        (names for names in rows if names is not None), key=lambda names: not (names.certain or names.kind == "text")
    )
    if known:
        return align_all_labels(known[0], labels)
    if certain := {name: names for name, y in labels.items() if (names := _certain_names(y)) is not None}:
        state("labels paired by position: only they have names")
        _warn_of_numbers(*next(iter(certain.items())))
    return dict(labels)
