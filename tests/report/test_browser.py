"""Pages in a real browser: no violation, no error, no request; tables sort; light, dark, narrow and on paper.

Runs where `playwright` is installed, a Chromium is found (SHESHA_BROWSER, or on the path), and, for accessibility,
SHESHA_AXE names the file axe.min.js of axe-core, which is not ours to ship.
"""

import os
import shutil
from pathlib import Path

import pytest

from shesha.report import Page, PointMap, Section, as_html

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib").use("agg")
browsers = pytest.importorskip("playwright.sync_api", reason="needs playwright")
BROWSER = os.environ.get("SHESHA_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium: set SHESHA_BROWSER")


@pytest.fixture(scope="module")
def browser():
    with browsers.sync_playwright() as started:
        found = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield found
        found.close()


def _map(hostile):
    points = tuple((float(i % 17), float(i // 17)) for i in range(200))
    turned = tuple((y, x) for x, y in points)
    names = (*hostile, *(f"row {i}" for i in range(len(hostile), 200)))
    labels = tuple(hostile[i % 3] for i in range(200))
    order = tuple(range(199, -1, -1))
    part = PointMap(("before", hostile[0]), ("", ""), (points, turned), names, labels, (0.5,) * 200, order)
    return Page("map", "Which rows moved?", ("Some.",), sections=(Section("Map", (part,)),))


@pytest.fixture
def kinds(everything, hostile):
    """Pages of several kinds, by name."""
    return {"everything": everything, "map": _map(hostile)}


@pytest.fixture
def visit(browser, kinds, tmp_path):
    """Open a page; whatever it complains of or asks for is noted."""
    contexts = []

    def opened(scheme="light", width=1280, kind="everything"):
        file = tmp_path / f"{kind}.html"
        file.write_text(as_html(kinds[kind]), encoding="utf-8")
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 844})
        contexts.append(context)
        page = context.new_page()
        page.complaints, page.asked = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(file.as_uri())
        return page

    yield opened
    for one in contexts:
        one.close()


@pytest.mark.parametrize("kind", ["everything", "map"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)])
def test_no_violation_no_error_and_no_request(visit, scheme, width, kind):
    page = visit(scheme, width, kind)
    axe = os.environ.get("SHESHA_AXE")
    if axe:
        page.evaluate(Path(axe).read_text(encoding="utf-8"))
        violations = page.evaluate("axe.run().then((found) => found.violations.map((one) => [one.id, one.help]))")
        assert violations == []
    assert page.complaints == []
    assert len(page.asked) == 1
    assert page.evaluate("window.hit") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    title, answer = (
        page.evaluate(f"parseFloat(getComputedStyle(document.querySelector('{one}')).fontSize)")
        for one in ("h1", ".answer p")
    )
    assert answer > title, "the answer is the first that one sees"


def test_tables_sort_by_number_and_what_has_none_stays_last(visit):
    page = visit()

    def column():
        return page.evaluate(
            "[...document.querySelector('table.sortable').tBodies[0].rows].map((row) => row.cells[1].textContent)"
        )

    before = column()
    button = page.locator("table.sortable").first.locator("thead th").nth(1).locator("button")
    button.click()
    upward = [float(cell.split()[0].replace(",", "")) for cell in column()[:-1]]
    assert upward == sorted(upward)
    assert column()[-1] == "none"
    button.click()
    downward = [float(cell.split()[0].replace(",", "")) for cell in column()[:-1]]
    assert downward == upward[::-1]
    assert column()[-1] == "none"
    assert sorted(column()) == sorted(before)
    assert page.locator("th[aria-sort='descending']").count() == 1


def test_a_row_is_named_by_pointer_keys_and_search_and_hidden_with_its_class(visit):
    page = visit(kind="map")
    told = page.locator(".at")
    box = page.locator("canvas").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert "50% of its nearest rows are different" in told.inner_text()
    page.locator("canvas").nth(1).focus()
    page.keyboard.press("Escape")
    assert told.inner_text() == told.get_attribute("data-empty")
    page.keyboard.press("ArrowRight")
    assert told.inner_text().startswith("row 199")
    page.keyboard.press("ArrowRight")
    assert told.inner_text().startswith("row 198")
    page.get_by_label("Find a row").fill("script>")
    assert told.inner_text().startswith("1 rows match. <script>window.hit = 1</script>")
    before = page.evaluate(_INK)
    page.locator(".legend input").first.uncheck()
    assert page.evaluate(_INK) < before
    page.get_by_role("button", name="Closer").click()
    page.locator(".movers button").first.click()
    assert told.inner_text().startswith("row 199")


_INK = """(() => {
    const canvas = document.querySelector('canvas');
    const all = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    return all.filter((one, i) => i % 4 === 3 && one > 0).length;
})()"""
