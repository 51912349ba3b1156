"""Conversion of a small subset of Markdown in sentences to spans."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_MARKS = re.compile(
    r"`(?P<code>[^`]+)`"
    r"|\[(?P<text>[^\[\]]+)\]\((?P<target>[^()\s]+)\)"
    # Asterisks next to a space on their inner side, or within a word, are multiplication signs.
    r"|(?<![\w*])\*\*(?=[^\s*])(?P<strong>[^*]+)(?<=[^\s*])\*\*(?![\w*])"
    r"|(?<![\w*])\*(?=[^\s*])(?P<em>[^*]+)(?<=[^\s*])\*(?![\w*])"
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


@dataclass(frozen=True)
class Span:
    """A stretch of a sentence with one kind of markup."""

    kind: Literal["plain", "code", "strong", "em", "link"]
    text: str = ""
    inner: tuple[Span, ...] = ()
    """Spans inside this one, which may have markup themselves."""
    target: str = ""
    """Address to which a link leads."""


def spans(text: str) -> tuple[Span, ...]:
    """Split a text at its Markdown marks: bold, emphasis, code and links.

    HTML is not interpreted. Links may lead to the web, to relative addresses or to the page itself; a link to any other
    target, such as a script, remains plain text.

    Examples
    --------
    >>> [(one.kind, one.text) for one in spans("is `x`, **not** 2 * 3")]
    [('plain', 'is '), ('code', 'x'), ('plain', ', '), ('strong', ''), ('plain', ' 2 * 3')]
    """
    pieces: list[Span] = []
    end = 0
    for mark in _MARKS.finditer(text):
        if mark["target"] and not safe(mark["target"]):
            continue
        if mark.start() > end:
            pieces.append(Span("plain", text[end : mark.start()]))
        pieces.append(_span(mark))
        end = mark.end()
    return (*pieces, Span("plain", text[end:])) if end < len(text) else tuple(pieces)


def _span(mark: re.Match[str]) -> Span:
    if mark["code"]:
        return Span("code", mark["code"])
    if mark["target"]:
        return Span("link", inner=spans(mark["text"]), target=mark["target"])
    kind: Literal["strong", "em"] = "strong" if mark["strong"] else "em"
    return Span(kind, inner=spans(mark[kind]))


def safe(target: str) -> bool:
    """Return whether a link leads to the web, to a relative address, or to the page itself.

    Examples
    --------
    >>> [safe(one) for one in ("https://host/a", "../page.md#b", "#c", "javascript:1", "//host", "data:,")]
    [True, True, True, False, False, False]
    """
    # Browsers read backslashes as slashes and ignore control characters.
    if any(ord(sign) <= 32 or sign == "\\" for sign in target) or target.startswith("//"):
        return False
    return target.lower().startswith(("https://", "http://")) or not _SCHEME.match(target)
