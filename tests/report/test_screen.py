"""The first screen of a report: the answer, as much of each table as fits, and how to see the rest."""

import itertools

import pytest

from shesha.report import (
    MORE,
    SCREEN,
    Column,
    HeatMap,
    Page,
    Section,
    Table,
    as_full_text,
    as_screen,
)

ANSWER = "The layers differ."


def page(n=3, important=(), **parts):
    names = tuple(f"layer{i}" for i in range(n))
    table = Table(names, ((Column("value", tuple(str(i) for i in range(n))),),), "Layers", "layer", important)
    return Page("title", "question?", (ANSWER,), **{"numbers": (table,), **parts})


def shown(found):
    return [int(line.split()[0].removeprefix("layer")) for line in found.split("\n") if line.startswith("  layer")]


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
