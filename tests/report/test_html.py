"""Pages are one file of well-formed HTML that needs nothing else, in which every text stays text."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser

import pytest

from shesha.report import Column, HeatMap, Item, Page, Section, Strip, Table, as_html, as_notebook, as_text
from shesha.report import html as _documentation_links
from shesha.report.html import LEVELS, _blocks, _scale, _short, colour, ink, level, luminance

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


def test_levels_follow_what_is_closer():
    assert [level(value, 0, 2, "higher") for value in (0, 1, 2)] == [0, round((LEVELS - 1) / 2), LEVELS - 1]
    assert level(0, 0, 2, "lower") == LEVELS - 1
    assert level(float("nan"), 0, 1, "higher") is None
    assert level(5, 5, 5, "higher") == round((LEVELS - 1) / 2)


def test_numbers_in_cells_are_short():
    shown = [_short(value, 2) for value in (0.5, -0.25, -0.001, 1.0, 123.4, float("nan"), float("inf"))]
    assert shown == [".50", "-.25", ".00", "1.00", "123", "none", "inf"]


def test_strips_share_one_scale():
    nan = float("nan")
    assert _scale(Column("", ("a",), ">", (Strip(0.7, 0.6, 0.8, 0.1),))) == (0.0, 1.02)
    assert _scale(Column("", ("a",), ">", (None,))) is None
    low, high = _scale(Column("", ("a", "b"), ">", (Strip(1.01, 1.0, 1.02, 1.005), Strip(1.03, nan, nan))))
    assert 0.9 < low < 1.0 < 1.03 < high


def test_fifty_names_with_two_maps_stay_below_a_megabyte():
    names = tuple(f"representation {i}" for i in range(50))
    grid = tuple(tuple(0.123 for _ in names) for _ in names)
    maps = tuple(HeatMap(title, names, names, grid) for title in ("CKA", "RSA"))
    strips = tuple(Strip(0.5, 0.4, 0.6, 0.1) for _ in names)
    table = Table(names, (tuple(Column(str(i), ("0.5 [0.4, 0.6]",) * 50, ">", strips) for i in range(8)),))
    assert len(as_html(Page("t", "q", ("a",), (table,), (), (Section("maps", maps),)))) < 1_000_000


def test_two_grids_of_64_layers_stay_below_a_megabyte():
    names = tuple(f"encoder.layer.{i}.attention.output" for i in range(64))
    grid = tuple(tuple(0.123 for _ in names) for _ in names)
    maps = tuple(HeatMap(title, names, names, grid, framed=((3, 4),)) for title in ("CKA", "p"))
    text = as_html(Page("t", "q", ("a",), maps[:1], (), (Section("p", maps[1:]),)))
    assert len(text) < 1_000_000
    assert len(Parsed(text).tags) > 2 * 64 * 64


def test_columns_that_do_not_fit_come_in_a_further_table_and_groups_stay_together():
    names = ("a", "b")
    groups = tuple(
        (
            Column(f"score {i}", ("0.123 [0.100, 0.200]",) * 2, ">", (Strip(0.1, 0.1, 0.2),) * 2),
            Column("p", ("0.5",) * 2),
        )
        for i in range(5)
    )
    found = _blocks(Table(names, groups, "t"))
    assert [[one.head for one in block] for block in found] == [
        ["score 0", "p", "score 1", "p"],
        ["score 2", "p", "score 3", "p"],
        ["score 4", "p"],
    ]
    text = as_html(Page("t", "q", ("a",), (Table(names, groups, "t"),)))
    assert text.count("<table") == 3
    assert text.count("Dot: the value.") == 1
    assert _blocks(Table(names, (tuple(one for group in groups for one in group),), "t")) == [
        [one for group in groups for one in group]
    ]
    assert as_html(Page("t", "q", ("a",), (Table((), (), "t"),))).count("<table") == 1


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


def test_the_same_parts_make_the_text(everything):
    text = as_text(everything.sections, 60)
    assert max(map(len, text.splitlines()[:20])) <= 60


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
