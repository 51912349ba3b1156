"""Pages are one file of well-formed HTML that needs nothing else, in which every text stays text."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser

import pytest

from shesha.report import HeatMap, Item, Page, Section, as_html, as_notebook, html as _documentation_links
from shesha.report.html import LEVELS, colour, ink, luminance

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib").use("agg")
VOID = {"meta", "link", "br", "img", "input", "hr", "path", "use"}


class Parsed(HTMLParser):
    """Elements in their order, and the text outside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.text += data


def test_hostile_names_stay_text_and_every_element_is_closed(everything, hostile):
    found = Parsed(as_html(everything))
    assert found.open == []
    assert [tag for tag, _ in found.tags].count("script") == 1
    for name in hostile:
        assert name.strip() in found.text
    assert not {"b", "em", "u"} & {tag for tag, _ in found.tags}
    assert not any(name.startswith("on") for _, attrs in found.tags for name in attrs)


def test_a_page_needs_nothing_from_elsewhere(everything):
    text = as_html(everything)
    assert not re.search(r'(src|srcset|action|data)="', text)
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttp|sendBeacon|<(link|iframe|object|embed|img|base)\b", text)
    for _, attrs in Parsed(text).tags:
        target = attrs.get("href") or attrs.get("xlink:href") or "#"
        assert target.startswith("#")
    assert "default-src 'none'" in text


def test_marks_of_two_pictures_do_not_meet(everything):
    found = [attrs["id"] for _, attrs in Parsed(as_html(everything)).tags if attrs.get("id")]
    assert len(found) == len(set(found))
    pictures = re.findall(r"<svg.*?</svg>", as_html(everything), re.DOTALL)
    assert len(pictures) == 2
    for picture in pictures:
        own = set(re.findall(r'\bid="([^"]+)"', picture))
        assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', picture)) <= own
        assert "&lt;b&gt;score" in picture
        assert "#000000" not in picture


def test_heat_maps_have_a_head_for_every_row_and_column(everything):
    found = Parsed(as_html(everything)).tags
    heat = [attrs for tag, attrs in found if tag == "td" and re.match(r"c\d+|none", attrs.get("class") or "")]
    assert len(heat) == 49
    assert sum("best" in (attrs["class"] or "") for attrs in heat) == 1
    assert sum(attrs["class"] == "none" for attrs in heat) == 7


def test_text_in_coloured_cells_is_black_or_white_by_luminance():
    for one in range(LEVELS):
        light = luminance(colour(one))
        contrast = (light + 0.05) / 0.05 if ink(colour(one)) == "#000" else 1.05 / (light + 0.05)
        assert contrast >= 4.5
    shades = [luminance(colour(one)) for one in range(LEVELS)]
    assert shades == sorted(shades, reverse=True)


def test_two_grids_of_64_layers_stay_below_a_megabyte():
    names = tuple(f"encoder.layer.{i}.attention.output" for i in range(64))
    grid = tuple(tuple(0.123 for _ in names) for _ in names)
    maps = tuple(HeatMap(title, names, names, grid, framed=((3, 4),)) for title in ("CKA", "p"))
    text = as_html(Page("t", "q", ("a",), maps[:1], (), (Section("p", maps[1:]),)))
    assert len(text) < 1_000_000
    assert len(Parsed(text).tags) > 2 * 64 * 64


def test_sentences_may_have_marks_and_names_may_not():
    page = Page("t", "q", ("a",), (), (Item("**no** `x` [m](m.md) [s](javascript:1) <b>", marked=True), Item("*a*")))
    text = as_html(page)
    assert '<strong>no</strong> <code>x</code> <a href="m.md">m</a> [s](javascript:1) &lt;b&gt;' in text
    assert "<li>*a*</li>" in text


def test_links_lead_to_the_documentation_where_it_is_known(everything, monkeypatch):
    monkeypatch.setattr(_documentation_links, "documentation", lambda: "")
    assert "measures.md#cka" not in as_html(everything)
    monkeypatch.setattr(_documentation_links, "documentation", lambda: "https://host/blob/v1/docs/")
    text = as_html(everything)
    assert '<a href="https://host/blob/v1/docs/measures.md#cka">' in text


def test_the_address_of_the_documentation_is_that_of_the_distribution(monkeypatch):
    class Metadata:
        def get_all(self, name):
            return ["Homepage, https://host/a", "Documentation, https://host/a/blob/v1/docs/index.md"]

    monkeypatch.setattr(_documentation_links, "metadata", lambda name: Metadata())
    assert _documentation_links.documentation.__wrapped__() == "https://host/a/blob/v1/docs/"


def test_a_notebook_shows_the_first_screen_alone(everything):
    found = Parsed(as_notebook(everything))
    assert found.open == []
    assert "script" not in {tag for tag, _ in found.tags}


def test_without_jinja_the_extra_is_named(monkeypatch):
    from shesha.report import html

    html._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'pages need Jinja2: pip install "shesha-representations\[report\]"'):
        as_html(Page("a", "b", ("c",)))
