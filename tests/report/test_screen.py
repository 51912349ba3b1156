"""The first screen of a report: the answer, as much of each table as fits, and how to see the rest."""

import itertools

import pytest

from shesha.report import (
    MORE,
    SCREEN,
    Column,
    Explained,
    HeatMap,
    Item,
    Page,
    Point,
    Section,
    Table,
    Text,
    as_full_text,
    as_html,
    as_screen,
)

ANSWER = "The layers differ."


def page(n=3, important=(), **parts):
    names = tuple(f"layer{i}" for i in range(n))
    table = Table(names, ((Column("value", tuple(str(i) for i in range(n))),),), "Layers", "layer", important)
    return Page("title", "question?", (ANSWER,), **{"numbers": (table,), **parts})


def shown(found):
    return [int(line.split()[0].removeprefix("layer")) for line in found.split("\n") if line.startswith("  layer")]


def test_what_fits_is_shown_whole_and_nothing_more_is_offered():
    assert as_screen(page(3), width=80).split("\n") == [
        ANSWER,
        "",
        "          value",
        "  layer0      0",
        "  layer1      1",
        "  layer2      2",
    ]


@pytest.mark.parametrize("n", [31, 40, 400])
@pytest.mark.parametrize("important", [(), (17,), (30, 0, 5, 7), tuple(range(9))])
def test_a_long_table_shows_important_rows_and_evenly_spaced_ones(n, important):
    found = as_screen(page(n, important), width=80)
    rows = shown(found)
    assert len(found.split("\n")) <= SCREEN
    assert rows == sorted(set(rows)) and set(important) <= set(rows)
    assert f"{n - len(rows)} more: see to_frame(), --json or --html" in found
    assert found.endswith(MORE)
    if not important:
        assert rows == list(range(len(rows)))
    assert shown(as_full_text(page(n, important), 80)) == list(range(n))


def test_rows_between_the_ends_are_evenly_spaced():
    rows = shown(as_screen(page(50, (0, 49)), most=14, width=80))
    gaps = [b - a for a, b in itertools.pairwise(rows)]
    assert (rows[0], rows[-1]) == (0, 49) and max(gaps) - min(gaps) <= 1


def test_sections_are_shown_while_they_fit_and_without_explanations():
    sections = (
        Section("Small", (Text("one line"), Explained("name", "a long explanation", brief="brief"))),
        Section("Large", tuple(Item(f"item {i}") for i in range(40))),
        Section("Last", (Text("another line"),), "explanation"),
        Section("Every number", (Text("never printed"),), printed=False),
    )
    found = as_screen(page(3, sections=sections), width=80)
    assert "Small\n  one line" in found and "Last\n  another line" in found
    assert not any(text in found for text in ("item 0", "brief", "explanation", "never printed"))
    everything = as_full_text(page(3, sections=sections), 80)
    assert all(text in everything for text in ("- item 39", "name: brief", "explanation"))
    assert "never printed" not in everything


def test_the_first_problem_is_explained_and_the_others_are_named():
    doubts = (*(Item(f"fault {i}") for i in range(9)), *(Point(f"p{i}", "effect", "text.", "Do it.") for i in range(3)))
    found = as_screen(page(doubts=doubts), width=80)
    assert "! fault 3" in found and "! fault 4" not in found
    assert "! 5 more problems: see `full_text()`" in found
    assert "What could be wrong\n  p0 (effect): text.\n    -> Do it.\n  Other problems: p1, p2." in found
    assert "  p2 (effect): text.\n    -> Do it." in as_full_text(page(doubts=doubts), 80)


def test_a_map_that_is_too_wide_shows_the_closest_column_of_each_row():
    values = tuple(tuple(float(i == j) if j else float("nan") for j in range(30)) for i in range(3))
    columns = tuple(f"column{j}" for j in range(30))
    wide = HeatMap("CKA", ("a", "b", "c"), columns, values, "higher")
    found = as_screen(page(numbers=(wide,)), width=80)
    assert [line.split() for line in found.split("\n") if line.startswith("  c  ")] == [["c", "column2", "1.00"]]
    assert "The grid of 3 x 30 is too wide to print." in found
    narrow = HeatMap("CKA", ("a",), ("x",), ((0.5,),), "lower")
    assert as_screen(page(numbers=(narrow,)), width=80).split("\n")[2:] == [
        "  CKA (lower is closer)",
        "        x",
        "  a  0.50",
    ]


def test_in_a_wide_map_of_all_pairs_no_row_is_its_own_closest():
    names = tuple(f"layer{i}" for i in range(30))
    values = tuple(tuple(1.0 if i == j else 0.5 - abs(i - j) / 100 for j in range(30)) for i in range(30))
    found = as_screen(page(numbers=(HeatMap("CKA", names, names, values),)), width=80, most=60)
    closest = [line.split()[:2] for line in found.split("\n") if line.startswith("  layer")]
    assert closest == [["layer0", "layer1"], *([f"layer{i}", f"layer{i - 1}"] for i in range(1, 30))]
    assert "the closest other for each row" in found


def test_only_reports_of_which_everything_fits_are_written_out_to_compare(monkeypatch):
    from shesha.report import text

    long = tuple(Section(f"Section {i}", (Table.of(map(str, range(9)), {"value": "0" * 9}),)) for i in range(20))
    monkeypatch.setattr(text, "as_full_text", lambda *_: pytest.fail("written out"))
    assert text.MORE in as_screen(page(3, sections=long), width=80)


def test_a_table_wider_than_a_phone_names_the_column_of_each_cell():
    pytest.importorskip("jinja2")
    columns = {f"column {i}": ["0.123 [0.100, 0.150]"] for i in range(4)}
    narrow, wide = (
        as_html(Page("T", "Q?", ("A.",), numbers=(Table.of(["a"], some),)))
        for some in (dict(list(columns.items())[:1]), columns)
    )
    assert 'class="sortable stack"' in wide and 'data-head="column 3"' in wide
    assert 'class="sortable stack"' not in narrow and "data-head" not in narrow.partition("<body")[2]
