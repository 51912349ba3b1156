"""Wording of messages: plurals, lists, visible control characters, natural order and similar spellings."""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from shesha.support import provenance

if TYPE_CHECKING:
    import pandas as pd

_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029"
_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Characters that change the direction of writing, so that text reads differently from what it contains."""
_MARKDOWN = re.compile(r"[\\`*_\[\]{}#~]")
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
"""Characters with which a formula begins, also in their full width, which some spreadsheets accept."""
_AMOUNT = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?%?|-+")
_UNSAFE = re.compile(f"[{_CONTROLS}{_DIRECTIONS}]")
_UNSAFE_IN_NAMES = re.compile(f"[\\n{_CONTROLS}{_DIRECTIONS}\ud800-\udfff]")


def visible(text: str) -> str:
    """Replace control characters except line breaks and tabs by escapes.

    Examples
    --------
    >>> visible("layer\\x1b[2J"), visible("one\\ntwo")
    ('layer\\\\x1b[2J', 'one\\ntwo')
    """
    return _UNSAFE.sub(_escape, text)


def visible_name(name: str) -> str:
    """Replace control characters by escapes, line breaks among them, so that a name stays in its line.

    Examples
    --------
    >>> visible_name("x\\r\\nFAKE: everything is stable")
    'x\\\\r\\\\nFAKE: everything is stable'
    """
    return _UNSAFE_IN_NAMES.sub(_escape, name)


def visible_markdown(text: str) -> str:
    """Escape characters with a meaning in Markdown or HTML, so that a name is shown as it is and in its line.

    Examples
    --------
    >>> print(visible_markdown("<img src=x> [a](b)_c"))
    &lt;img src=x&gt; \\[a\\](b)\\_c
    """
    return _MARKDOWN.sub(r"\\\g<0>", html.escape(visible_name(text), quote=False))


def visible_cell(value: object) -> object:
    """Return a cell of a CSV file; text that a spreadsheet would run as a formula gets an apostrophe in front.

    Examples
    --------
    >>> visible_cell("=HYPERLINK(1)"), visible_cell("CKA"), visible_cell("-1.5"), visible_cell(-1.5)
    ("'=HYPERLINK(1)", 'CKA', '-1.5', -1.5)
    """
    if not isinstance(value, str):
        return value
    is_formula = value.lstrip().startswith(_FORMULA) and not _AMOUNT.fullmatch(value.strip())
    return f"'{visible_name(value)}" if is_formula else visible_name(value)


def csv_text(frame: pd.DataFrame, **options: Any) -> str:
    """Return a table for readers as CSV, without its index; no cell or column name is run as a formula."""
    named = frame.rename(columns={name: visible_cell(name) for name in frame.columns})
    return str(named.map(visible_cell).to_csv(index=False, **options))


def _escape(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")


_HISSING = ("s", "x", "ch", "sh")


def count(n: int, thing: str) -> str:
    """Return a number followed by the thing counted, in the singular or plural.

    Examples
    --------
    >>> count(1, "row"), count(1200, "class")
    ('1 row', '1,200 classes')
    """
    ending = "" if n == 1 else "es" if thing.endswith(_HISSING) else "s"
    return f"{n:,} {thing}{ending}"


def plural(name: str) -> str:
    """Return the plural of a name that may already be one.

    Examples
    --------
    >>> plural("doc_id"), plural("paths"), plural("token_idx")
    ('doc_ids', 'paths', 'values of token_idx')
    """
    if name.endswith(("idx", "index", "hash")):
        return f"values of {name}"
    return name if name.endswith("s") else f"{name}s"


def duration(seconds: float) -> str:
    """Format a length of time in its largest unit.

    Examples
    --------
    >>> duration(75), duration(840), duration(9000)
    ('75 seconds', '14 minutes', '2 hours')
    """
    for unit, length in (("hour", 3600), ("minute", 60)):
        if seconds >= 2 * length:
            return count(int(seconds / length), unit)
    return count(max(1, round(seconds)), "second")


def lowercase_start(text: str) -> str:
    """Convert the first letter to lower case, to continue a sentence."""
    return text[:1].lower() + text[1:]


def agree_with_share(part: int, whole: int, singular: str, plural: str) -> str:
    """Return the verb form that fits 'part of whole', such as '1 of 3 pairs differs' and '0 of 1 pair differs'.

    Examples
    --------
    >>> [agree_with_share(part, whole, "differs", "differ") for part, whole in ((0, 1), (1, 3), (2, 3), (0, 3))]
    ['differs', 'differs', 'differ', 'differ']
    """
    return agree(1 if whole == 1 else part, singular, plural)


def agree(n: int, singular: str, plural: str) -> str:
    """Return the verb form that fits a number, such as 'has' or 'have'."""
    return singular if n == 1 else plural


def join_items(items: Iterable[object], most: int = 5) -> str:
    """List the first few items, and count the rest.

    Examples
    --------
    >>> join_items(range(3)), join_items(range(9))
    ('0, 1, 2', '0, 1, 2, 3, 4 and 4 more')
    """
    entries = list(items)
    text = ", ".join(visible_name(str(item)) for item in entries[:most])
    return text if len(entries) <= most else f"{text} and {len(entries) - most} more"


def first_and_last(items: Sequence[object], most: int = 8) -> str:
    """List a few items, or the first and last two of many.

    Examples
    --------
    >>> first_and_last(range(3)), first_and_last(range(9))
    ('0, 1, 2', '0, 1, ..., 7, 8')
    """
    if len(items) <= most:
        return join_items(items, most)
    return f"{join_items(items[:2])}, ..., {join_items(items[-2:])}"


def join_names(names: Iterable[str]) -> str:
    """List up to twenty names, and count the rest; 'nothing' without names."""
    return join_items(names, most=20) or "nothing"


def shorten(text: str, most: int) -> str:
    """Return a name without line breaks, cut in its middle to a number of characters: names often differ at the end.

    Examples
    --------
    >>> shorten("a\\nb", 9), shorten("embeddings of layer 12", 16)
    ('a b', 'embedding...r 12')
    """
    plain = " ".join(text.split())
    tail = (most - 3) // 3
    return plain if len(plain) <= most else f"{plain[: most - 3 - tail]}...{plain[len(plain) - tail :]}"


_NUMBER = re.compile(r"(\d+(?:\.\d+(?=[kKM](?![^\W_])))?)([kKM](?![^\W_]))?")
"""A number, with the letter for thousands or millions that checkpoints and concentrations have."""
_THOUSANDS = {None: 1, "k": 1_000, "K": 1_000, "M": 1_000_000}
_DECIMAL = re.compile(r"(\d+(?:\.\d+)?)")
_FEWEST_SORTED = 3
"""Smallest number of names whose alphabetical order shows that a program sorted them."""
Item = TypeVar("Item")


def natural_key(text: str) -> tuple[tuple[str, float], ...]:
    """Return a sort key that compares digits by value (k and M after them multiply) and all other text as it is.

    Examples
    --------
    >>> sorted(["10", "9", "b2", "b10", "1"], key=natural_key)
    ['1', '9', '10', 'b2', 'b10']
    >>> sorted(["step_1.5M", "step_1M", "step_250k", "step_900"], key=natural_key)
    ['step_900', 'step_250k', 'step_1M', 'step_1.5M']
    """
    parts = _NUMBER.split(text)
    numbers = [
        (int(digits) if digits.isdecimal() else float(digits)) * _THOUSANDS[letter]
        for digits, letter in zip(parts[1::3], parts[2::3], strict=True)
    ]
    return tuple(zip(parts[::3], [*numbers, -1], strict=True))


def in_label_order(labels: Iterable[str], categories: Sequence[str] = ()) -> list[str]:
    """Return the different labels in the order of their categories; others by their numbers, such as doses and times.

    Examples
    --------
    >>> in_label_order(["24h", "2h", "0.5h", "0.25h", "2h"]), in_label_order(["high", "low"], ["low", "high"])
    (['0.25h', '0.5h', '2h', '24h'], ['low', 'high'])
    """
    places = {name: place for place, name in enumerate(categories)}

    def key(label: str) -> tuple[object, ...]:
        parts = _DECIMAL.split(label)
        numbers = [*map(float, parts[1::2]), -1.0]
        return places.get(label, len(places)), tuple(zip(parts[::2], numbers, strict=True)), label

    return sorted(set(labels), key=key)


def in_natural_order(items: Sequence[Item], key: Callable[[Item], Any]) -> list[Item]:
    """Return items with layer_2 before layer_10 if they are sorted as text, as programs sort; others as they are.

    Examples
    --------
    >>> in_natural_order(["b1", "b10", "b2"], natural_key), in_natural_order(["b2", "b10", "b1"], natural_key)
    (['b1', 'b2', 'b10'], ['b2', 'b10', 'b1'])
    """
    few = len(items) < _FEWEST_SORTED
    return list(items) if few or list(items) != sorted(items, key=str) else sorted(items, key=key)


def natural_place(path: Path) -> tuple[object, ...]:
    """Return a sort key of paths that compares numbers by value, and endings last.

    Examples
    --------
    >>> [path.name for path in sorted(map(Path, ("zoo10.npy", "zoo2.npy", "zoo.npy")), key=natural_place)]
    ['zoo.npy', 'zoo2.npy', 'zoo10.npy']
    """
    return natural_key(str(path.parent)), natural_key(path.stem), path.suffix


def _n_shared(lists: Iterable[list[str]]) -> int:
    """Return how many items all lists share at their beginnings."""
    return sum(1 for _ in takewhile(lambda items: len(set(items)) == 1, zip(*lists, strict=False)))


def differing_parts(names: Sequence[str]) -> tuple[dict[str, str], str]:
    """Return each name without the parts between dots that all names share, and the pattern of the names.

    A number keeps the part before it.

    Examples
    --------
    >>> differing_parts(["model.layers.0.mlp.output", "model.layers.10.mlp.output"])
    ({'model.layers.0.mlp.output': 'layers.0', 'model.layers.10.mlp.output': 'layers.10'}, 'model.*.mlp.output')
    >>> differing_parts(["early", "late"])
    ({'early': 'early', 'late': 'late'}, '')
    """
    parts = {name: name.split(".") for name in names}
    # At least one part of every name remains.
    fewest = min(map(len, parts.values()), default=1) - 1
    head = min(fewest, _n_shared(parts.values()))
    tail = min(fewest - head, _n_shared(part[::-1] for part in parts.values()))
    if any(part[head].isdigit() for part in parts.values()):
        head = max(0, head - 1)
    if len(parts) < 2 or not head + tail:
        return {name: name for name in names}, ""
    some = next(iter(parts.values()))
    pattern = ".".join([*some[:head], "*", *some[len(some) - tail :]])
    return {name: ".".join(part[head : len(part) - tail]) for name, part in parts.items()}, pattern


V = TypeVar("V")
_PARTS = re.compile(r"\d+|[^\W\d_]+")


def name_parts(name: str) -> tuple[str | int, ...]:
    """Return the words and numbers of a name, without punctuation and letter case.

    Examples
    --------
    >>> name_parts("Encoder.layer_03.out")
    ('encoder', 'layer', 3, 'out')
    """
    return tuple(int(part) if part.isdecimal() else part.casefold() for part in _PARTS.findall(name))


def layers_by_depth(layers: Mapping[str, V]) -> dict[str, V]:
    """Return layers in the order of their numbers if they come in alphabetical order, and otherwise as they are.

    Some file formats and programs sort names as text, which places layer.10 before layer.2. Any other order is that of
    the model and is kept.

    Examples
    --------
    >>> list(layers_by_depth({"layer.1": 0, "layer.10": 0, "layer.2": 0}))
    ['layer.1', 'layer.2', 'layer.10']
    >>> list(layers_by_depth({"up.1": 0, "up.0": 0}))
    ['up.1', 'up.0']
    """
    names = list(layers)
    ordered = sorted(names, key=natural_key) if names == sorted(names) else names
    if ordered != names:
        first = next(i for i, (old, new) in enumerate(zip(names, ordered, strict=True)) if old != new)
        provenance.state(f"layers put in the order of their numbers ({ordered[first]} before {names[first]})")
    return {name: layers[name] for name in ordered}


class _Called(Protocol):
    @property
    def names(self) -> tuple[str, ...]:
        """All names of the item, starting with the main name."""
        ...


C = TypeVar("C", bound=_Called)


def find_by_name(text: Any, known: Iterable[C], name: str, where: str) -> C:
    """Return the item with this name, ignoring case and punctuation; the error lists similar or all names."""
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a name, got {text!r}")
    called = {_plain(alias): item for item in known for alias in reversed(item.names)}
    if _plain(text) in called:
        return called[_plain(text)]
    close = [called[key].names[0] for key in close_names(_plain(text), called)]
    raise unknown(text, name, [item.names[0] for item in called.values()], close, where)


def unknown(text: str, name: str, known: Iterable[str], close: Iterable[str], where: str = "") -> ValueError:
    """Return the error for an unknown name, with suggestions or a list of the known names."""
    meant = did_you_mean(close)
    expected = f"the names that {where} lists" if where and meant else ", ".join(dict.fromkeys(known))
    lists = f" ({where} lists all)" if where and not meant else ""
    return ValueError(f"{name} must be one of {expected}, got {text!r}{meant}{lists}")


def did_you_mean(close: Iterable[str]) -> str:
    """Return text that suggests names at the end of an error message; empty if there are none."""
    *others, last = dict.fromkeys(close) or [""]
    return f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?" if last else ""


def close_names(text: str, known: Iterable[str], *, n: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return up to n known names similar to a misspelt one, the closest first, ignoring case."""
    called = {name.casefold(): name for name in reversed(list(known))}
    return [called[key] for key in difflib.get_close_matches(text.casefold(), called, n=n, cutoff=cutoff)]


def _plain(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())
