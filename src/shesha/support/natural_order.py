"""Natural order: numbers in texts are sorted by value, 'layer 2' before 'layer 10'."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

from shesha.support import provenance

_NUMBER = re.compile(r"(\d+)")


def natural_key(text: str) -> tuple[tuple[str, int], ...]:
    """Return a sort key that compares digits by value and all other text as it is.

    Examples
    --------
    >>> sorted(["10", "9", "b2", "b10", "1"], key=natural_key)
    ['1', '9', '10', 'b2', 'b10']
    """
    parts = _NUMBER.split(text)
    return tuple(zip(parts[::2], [*map(int, parts[1::2]), -1], strict=True))


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


def join_names(names: Iterable[str], most: int = 6) -> str:
    """Return names as a list in words, of which at most a few are spelt out.

    Examples
    --------
    >>> join_names("abcdefgh", 3)
    'a, b, c and 5 more'
    """
    listed = list(names)
    rest = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + rest
