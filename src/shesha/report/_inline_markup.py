"""The subset of Markdown marks in sentences, as plain spans."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_MARKS = re.compile(
    r"`(?P<code>[^`]+)`"
    r"|\[(?P<text>[^\[\]]+)\]\((?P<target>[^()\s]+)\)"
    # Stars with a space inside, or in the midst of a word, are signs of multiplication.
    r"|(?<![\w*])\*\*(?=[^\s*])(?P<strong>[^*]+)(?<=[^\s*])\*\*(?![\w*])"
    r"|(?<![\w*])\*(?=[^\s*])(?P<em>[^*]+)(?<=[^\s*])\*(?![\w*])"
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


@dataclass(frozen=True)
class Span:
    """A stretch of a sentence."""

    kind: Literal["plain", "code", "strong", "em", "link"]
    text: str = ""
    inner: tuple[Span, ...] = ()
    """Inner text, which may contain further marks."""
    target: str = ""
    """Target of a link."""


def spans(text: str) -> tuple[Span, ...]:
    """Split a text at its marks: bold, emphasis, code, and links to the web, relative addresses, or the page itself.

    Nothing is read as HTML, and a link to anything else (a script, say) stays the text that it is.

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
    """Return whether a link is to the web, a relative address, or the page itself.

    Examples
    --------
    >>> [safe(one) for one in ("https://host/a", "../page.md#b", "#c", "javascript:1", "//host", "data:,")]
    [True, True, True, False, False, False]
    """
    # Browsers take backslashes for slashes, and pass over control characters.
    if any(ord(sign) <= 32 or sign == "\\" for sign in target) or target.startswith("//"):
        return False
    return target.lower().startswith(("https://", "http://")) or not _SCHEME.match(target)
