"""Every link and picture of the built site leads to a file, and every anchor to a place in it; nothing is fetched."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from sphinx.util import logging

logger = logging.getLogger(__name__)


class Page(HTMLParser):
    """What a page points at, and where it can be pointed at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note links, pictures and names."""
        for name, value in attrs:
            if value and name == "id":
                self.anchors.add(value)
            # Links in the head are the theme's own.
            elif value and ((tag == "a" and name == "href") or (tag == "img" and name == "src")):
                self.targets.add(value)


def broken(site: Path) -> tuple[list[tuple[str, str]], set[str]]:
    """Return the links that lead nowhere, by page, and the addresses outside of the site."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found, outside = [], set()
    for path, page in pages.items():
        for target in sorted(page.targets):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                outside.add(target)
                continue
            place = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            known = pages.get(place)
            if not place.exists() or (known and parts.fragment and unquote(parts.fragment) not in known.anchors):
                found.append((str(path.relative_to(site)), target))
    return found, outside


def _check(app: Any, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    found, outside = broken(Path(app.outdir).resolve())
    for page, target in found:
        logger.warning("%s: the link %s leads nowhere", page, target)
    (Path(app.outdir) / "external_links.txt").write_text("\n".join(sorted(outside)) + "\n", encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Look at the pages once all are written."""
    app.connect("build-finished", _check, priority=900)
    return {"parallel_read_safe": True}
