"""Classes of labels: numbers in numerical order, whatever contains them, and text in natural order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shesha.inputs.column_words import QUALITY
from shesha.support.provenance import state, state_warning
from shesha.support.types import Index, Mask
from shesha.support.wording import join_items, visible_name

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WHOLE_TEXT = re.compile(r"^([+-]?\d+)\.0+$")
"""Whole numbers as other programs write a column of numbers with missing values, such as 1.0."""
DECORATED = re.compile(
    r"[-+(]?\s*[$€£¥]?\s*[-+]?(\d{1,3}([,.'\u2019 \u00a0\u202f]\d{3})+|\d+)([.,]\d+)?\s*[%$€£¥]?\s*\)?"
)
"""Numbers with separators of thousands, a percent sign or a currency, which may be in brackets."""
NO_LABEL = ("", "nan", "NaN", "<NA>", "n/a", "N/A")
"""Texts that stand for a missing label, which other programs write."""
_NO_CLASS = re.compile(r"unknown|unassigned|unlabell?ed|undefined|not[ _]assigned", re.IGNORECASE)
"""Words for a missing class, which may be one of its own."""
_MISSING_CODES = (-1, -99, -100, -999, -9999, -99999)
"""Numbers that many programs write for a missing label, or for a row without a cluster."""
_ROWS_OF_A_CLASS = 10
"""Number of rows per class below which texts of numbers are measurements."""
_ROUNDING = {8: 1e-11, 4: 5e-7}
"""Relative difference within which two numbers are one class, by the bytes of a number."""
_WHOLE = 2.0**53
"""Size below which every whole number is exact in floating point."""


def lacks_label(labels: NDArray[Any]) -> Mask:
    """Return which labels of a column are missing: None, NaN, empty text or text that means NaN."""
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels))
    from pandas import isna

    missing = np.asarray(isna(labels)) if labels.dtype.kind in "OmM" else np.zeros(len(labels), dtype=bool)
    if labels.dtype.kind in "OUT":
        entries = labels.tolist()
        blank = {label for label in set(entries) if isinstance(label, str) and label.strip() in NO_LABEL}
        missing |= np.array([label in blank for label in entries], dtype=bool)
    return missing


def class_codes(labels: NDArray[Any]) -> tuple[Index, NDArray[Any]]:
    """Return a code per label and the sorted classes; equal numbers are one class, whether stored as 1, 1.0 or object.

    Numbers come first, in numerical order, also if they are written as text; other text follows in natural order, with
    'face 2' before 'face 10'. Missing labels must have been removed.
    """
    values = _as_numbers(labels)
    if values is None:
        names = labels.tolist()
        if set(map(type, names)) != {str}:
            names = [class_name(value) for value in names]
        known = {name: class_name(name) for name in set(names)}
        classes = np.array(sorted(set(known.values()), key=_natural), dtype=str)
        places = {name: place for place, name in enumerate(classes.tolist())}
        code_of = {name: places[shown] for name, shown in known.items()}
        return np.fromiter(map(code_of.__getitem__, names), np.intp, len(names)), classes
    classes, codes = np.unique(values, return_inverse=True)
    if classes.dtype.kind == "f" and len(classes) > 1:
        classes, codes = _merge_rounded(classes, codes)
    return codes.astype(np.intp), _whole(classes)


def _merge_rounded(classes: NDArray[Any], codes: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make numbers that differ by rounding only, such as 0.3 and 0.1 + 0.2, one class, named by the shortest."""
    limit = _ROUNDING.get(classes.itemsize, 4 * float(np.finfo(classes.dtype).eps))
    largest = np.maximum(np.abs(classes[1:]), np.abs(classes[:-1])).astype(np.float64)
    # Zero computed from large numbers, such as the sine of 180 degrees, is not exactly 0.
    allowed = limit * np.maximum(largest, 1e-3 * np.abs(classes).max())
    with np.errstate(over="ignore"):
        gaps = np.diff(classes.astype(np.float64))
    group = np.concatenate([[0], np.cumsum(gaps > allowed)]).astype(np.intp)
    if group[-1] == len(classes) - 1:
        return classes, codes
    members = np.split(classes, np.flatnonzero(np.diff(group)) + 1)
    return np.array([min(part, key=lambda value: len(str(value))) for part in members]), group[codes]


def class_name(value: Any) -> str:
    """Return a label as text, without surrounding spaces and the decimal point of whole numbers; bytes are decoded."""
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, str):
        return _WHOLE_TEXT.sub(r"\1", visible_name(value.strip()))
    return str(int(value)) if _is_number(value) and _is_whole(value) else str(value)


def state_suspicious_classes(labels: NDArray[Any], name: str) -> None:
    """State which classes have the form of a code for missing labels, such as -999, or differ in letter case only.

    Groups of one row each are stated as well.
    """
    if name == "groups" and len(labels) > 1 and len(set(labels.tolist())) == len(labels):
        state_warning(f"each of {len(labels):,} groups has one row, so that groups declare no dependence")
    if name in ("y", "labels") and labels.dtype.kind in "OU" and (several := describe_label_lists(labels.tolist())):
        state_warning(f"{name}: {several}")
    first: dict[str, str] = {}
    for label in dict.fromkeys(labels.tolist()) if labels.dtype.kind in "OU" else ():
        own = class_name(label) if isinstance(label, str) else ""
        if first.setdefault(own.lower(), own) != own:
            state(f"{name}: classes {first[own.lower()]!r} and {own!r} differ in letter case only")
        if _NO_CLASS.fullmatch(own):
            n_rows = np.count_nonzero(labels == label)
            state_warning(f"{name}: {own} is used as a class of {n_rows:,} rows; if it means no label, leave it empty")
    for code in _MISSING_CODES:
        # Half precision cannot hold the largest codes.
        value = str(code) if labels.dtype.kind in "UT" else np.float64(code) if labels.dtype.kind == "f" else code
        n_rows = np.count_nonzero(labels == value)
        # Two classes may be called 1 and -1.
        if labels.dtype.kind in "ifOUT" and n_rows and (code < -1 or len(np.unique(labels.astype(str))) > 2):
            state_warning(f"{name}: {code} is used as a class of {n_rows:,} rows; if it means no label, leave it empty")


def describe_label_lists(labels: Sequence[Any]) -> str:
    """Return that most labels are lists of several labels, such as 'Comedy|Drama'; otherwise nothing.

    The parts of lists repeat in other combinations and in other places, unlike those of paths and of crossed factors.

    Examples
    --------
    >>> lists = ["Comedy|Drama", "Drama", "Action|Comedy", "Drama|Horror", "Action|Drama", "Horror|War"]
    >>> print(describe_label_lists(lists).partition(" (")[0])
    5 of 6 labels are lists joined by '|'
    >>> describe_label_lists(["Animal|Cat", "Animal|Dog", "Plant|Tree", "Plant|Herb", "Plant", "Animal|Dog|Poodle"])
    ''
    """
    texts = [label for label in labels if isinstance(label, str)]
    for separator in _SEPARATORS:
        n_lists = sum(separator in text for text in texts)
        if 2 * n_lists <= len(labels):
            continue
        lists = {tuple(part.strip() for part in text.split(separator)) for text in texts}
        uses = Counter(part for each in lists for part in set(each))
        places = {(part, place == 0) for each in lists for place, part in enumerate(each)}
        is_first = Counter(part for part, _ in places)
        repeated = [part for part, n in uses.items() if n > 1 and part]
        moved = [part for part in repeated if is_first[part] > 1]
        numbers = [part for part in uses if _NUMBER.fullmatch(part)]
        if len(lists) < _FEWEST_LISTS or len(uses) >= len(lists) or 2 * len(moved) <= len(uses) or len(numbers) > 1:
            continue
        example = next(text for text in texts if separator in text)
        return (
            f"{n_lists:,} of {len(labels):,} labels are lists joined by {separator!r} (such as {example}, from "
            f"{len(uses):,} labels), and each combination counts as a class, {len(lists):,} in all; keep one label of "
            "each row, or score each label by itself, as present or absent"
        )
    return ""


_SEPARATORS = ("|", ";", ",")
_FEWEST_LISTS = 6
"""Characters between the labels of one row, and the smallest number of different combinations that show it."""


def describe_other_kind(names: Sequence[str], thing: str) -> str:
    """Return that a few of the names are no numbers, as all others are, or are words for no stimulus; or nothing.

    Examples
    --------
    >>> print(describe_other_kind(["0", "45", "90", "null"], "condition").partition(";")[0])
    'null' counts as a condition like the others, which are numbers
    >>> describe_other_kind(["face", "house"], "condition")
    ''
    """
    words = [name for name in names if not _QUANTITY.fullmatch(name)]
    known = [name for name in words if _NO_STIMULUS.fullmatch(name)]
    are_numbers = len(names) - len(words) >= max(_FEWEST_NUMBERS, 2 * len(words))
    others = words if are_numbers else known
    if not others or len(others) == len(names):
        return ""
    listed = join_items(map(repr, others))
    are = f"count as {thing}s" if len(others) > 1 else f"counts as a {thing}"
    return (
        f"{listed} {are} like the others{', which are numbers' * are_numbers}; trials without a stimulus differ in "
        "kind and could alone make the score, so leave such trials out"
    )


_QUANTITY = re.compile(r"[<>=~]*\s*([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf)\s*[^\d\s]{0,4}")
"""A number, which may have a unit."""
_FEWEST_NUMBERS = 3
"""Smallest number of numbers beside which other words are of another kind."""
_NO_STIMULUS = re.compile(
    r"null|none|blanks?|gr[ae]y(_?screen)?|baseline|(no[ _-]?|non[ _-]?)stim(ul(us|i))?|catch|spont(aneous)?|rest(ing)?"
    r"|iti|fixation",
    re.IGNORECASE,
)
"""Words for trials without a stimulus."""


def refuse_measurements_as_text(classes: NDArray[Any], n_rows: int, name: str) -> None:
    """Refuse classes that are texts of measurements, such as '1,234' or '5.1%', of which each would be a class."""
    if classes.dtype.kind not in "OUT" or len(classes) <= max(2, n_rows // _ROWS_OF_A_CLASS):
        return
    texts = [value.strip() for value in classes.tolist() if isinstance(value, str)]
    # Digits alone may be the names of subjects or batches.
    if len(texts) == len(classes) and all(map(DECORATED.fullmatch, texts)) and not all(map(str.isdigit, texts)):
        raise ValueError(
            f"{name} must contain numbers or classes, got texts of numbers such as {classes[-1]!r} with "
            f"{len(classes):,} different values in {n_rows:,} rows; convert them to numbers"
        )


def describe_unit_quality(columns: Iterable[tuple[str, Any]]) -> str:
    """Return how many units a column judges good or poor, by its words; empty if none is poor.

    Examples
    --------
    >>> describe_unit_quality([("depth", [1, 2, 3]), ("KSLabel", ["good", "mua", "good"])])
    'units by KSLabel: 2 good, 1 mua'
    """
    for name, values in columns:
        words = [class_name(value) for value in np.ravel(values)] if QUALITY.fit(name) else []
        if any(_POOR.fullmatch(word.lower()) for word in words):
            counts = sorted(Counter(words).items())
            return f"units by {name}: {', '.join(f'{n:,} {word}' for word, n in counts)}"
    return ""


def state_feature_types(name: str, types: Any) -> None:
    """Warn if the features of a matrix come from several assays, such as genes and antibodies."""
    if text := describe_feature_types(name, types):
        state_warning(text)


def describe_feature_types(name: str, types: Any) -> str:
    """Return that features come from several assays, or determine labels of cells; empty if neither is true.

    Examples
    --------
    >>> describe_feature_types("X", ["Gene Expression", "Gene Expression"])
    ''
    """
    counts = Counter(class_name(value) for value in np.ravel(types))
    of_labels = [kind for kind in counts if _LABELLING.search(kind)]
    if len(counts) < 2 and not of_labels:
        return ""
    main = next((kind for kind, _ in counts.most_common() if kind not in of_labels), "Gene Expression")
    advice = "choose one, such as"
    if of_labels:
        advice = f"leave out {', '.join(of_labels)}, from which labels of cells are assigned:"
    listed = ", ".join(f"{n:,} {kind}" for kind, n in counts.most_common())
    several = f"{name} has features of several assays ({listed}), whose scales differ"
    only = f"{name} has features of {listed} only"
    return f"{several if len(counts) > 1 else only}; {advice} adata[:, adata.var[{FEATURE_TYPES!r}] == {main!r}]"


_LABELLING = re.compile(r"guide|crispr|multiplexing|hashtag", re.IGNORECASE)
"""Words in the types of features from which perturbations or samples of cells are assigned."""
FEATURE_TYPES = "feature_types"
"""Column of var in which 10x and scanpy name the assay of each feature."""
_POOR = re.compile(r"noise|mua|multi([-_ ]?units?)?|unsorted|artifacts?|artefacts?|fail(ed)?|bad|poor")
"""Words for units that are not single neurons."""


def class_names(classes: Iterable[Any]) -> tuple[str, ...]:
    """Return the names of classes, which are the same for the same numbers in any container."""
    return tuple(map(class_name, classes))


def _as_numbers(labels: NDArray[Any]) -> NDArray[Any] | None:
    """Return labels that are all numbers, or all booleans, with a numeric type; None for others."""
    if labels.dtype.kind in "fiub":
        return labels
    if labels.dtype.kind != "O":
        return None
    values = labels.tolist()
    if all(isinstance(value, bool | np.bool_) for value in values):
        return labels.astype(bool)
    if not all(map(_is_number, values)):
        return None
    whole = all(isinstance(value, int | np.integer) for value in values)
    try:
        return np.array(values) if whole else np.array(values, dtype=np.float64)
    except OverflowError:
        return None


def _is_whole(number: Any) -> bool:
    return isinstance(number, int | np.integer) or float(number).is_integer()


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _whole(classes: NDArray[Any]) -> NDArray[Any]:
    """Return classes that are whole numbers as integers."""
    if (
        classes.dtype.kind != "f"
        or (np.abs(classes.astype(np.float64)) >= _WHOLE).any()
        or (classes != np.round(classes)).any()
    ):
        return classes
    return classes.astype(np.int64)


def _natural(name: str) -> tuple[int, float, list[tuple[int, str]], str]:
    if _NUMBER.fullmatch(name):
        return 0, float(name), [], name
    parts = [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
    return 1, 0.0, parts, name
