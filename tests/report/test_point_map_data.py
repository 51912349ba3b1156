"""Maps of rows in a page: names are text, numbers lie on a grid, colours go to the largest classes."""

import json
import re
from html import unescape

import pytest

from shesha.report import Page, PointMap, Section, as_html
from shesha.report.html import SIZE, map_data

pytest.importorskip("jinja2")


def made(names, labels=()):
    points = tuple((float(i), float(i % 3)) for i in range(len(names)))
    other = tuple((x + 0.5, -y) for x, y in points)
    order = tuple(range(len(names)))
    return PointMap(("one", "other"), ("", ""), (points, other), names, labels, tuple(0.5 for _ in names), order)


def embedded(page):
    """What the script of a page reads."""
    return json.loads(unescape(re.search(r"data-map='(.*?)'", page)[1]))


def test_hostile_names_stay_text(hostile):
    titles = (hostile[0], hostile[1])
    part = made(hostile, hostile)
    part = PointMap(titles, titles, part.planes, part.rows, part.labels, part.moved, part.order)
    page = as_html(Page("map", "?", ("!",), sections=(Section("Map", (part,)),)))
    assert embedded(page)["names"] == list(hostile)
    assert "<script>window.hit" not in page and "49" not in re.findall(r"<bdi>(.*?)</bdi>", page)
    assert page.count("</script>") == 1 and page.count("</style>") == 1
    shown = {unescape(one) for one in re.findall(r"<bdi>(.*?)</bdi>", page)}
    assert {hostile[0], "(no name)"} <= shown
    assert "http:" not in page.replace("http://www.w3.org", "") and "https:" not in page


def test_points_lie_on_a_grid_that_both_planes_share():
    part = made(tuple("abcdef"))
    found = map_data(part)
    flat = [one for plane in found["planes"] for one in plane]
    assert min(flat) >= 0 and max(flat) <= SIZE
    # One unit is as long on both axes and in both planes.
    xs = [plane[0::2] for plane in found["planes"]]
    unit = xs[0][1] - xs[0][0]
    assert xs[1][0] - xs[0][0] == pytest.approx(unit / 2, abs=1)
    assert found["planes"][0][5] - found["planes"][0][1] == pytest.approx(2 * unit, abs=2)
    assert found["legend"] == [] and len(found["colours"]) == 1


def test_equal_points_lie_in_the_middle():
    part = PointMap(("one",), ("",), (((1.0, 1.0),) * 3,), ("a", "b", "c"))
    assert set(map_data(part)["planes"][0]) == {SIZE // 2}


def test_classes_beyond_the_colours_share_one():
    labels = (*(f"class {i % 12:02d}" for i in range(120)), "class 11")
    found = map_data(made(tuple(map(str, range(121))), labels))
    assert found["legend"] == [*(f"class {i:02d}" for i in range(8)), "class 11", "3 others"]
    assert len(found["legend"]) == len(found["colours"]) == 10
    assert [found["labels"][group] for group in found["groups"]] == list(labels)
