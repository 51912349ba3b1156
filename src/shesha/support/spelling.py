"""Matching of names regardless of case, and suggestions of similar names for unknown ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, Protocol, TypeVar


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
