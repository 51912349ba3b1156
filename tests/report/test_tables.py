"""Tables of Markdown and of plain text: every cell stays in its column."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from shesha.report import columns, markdown_line, markdown_table

TEXT = st.text(st.characters(exclude_categories=["C"]), max_size=8).map(lambda text: text.strip().replace("\\", ""))
GRIDS = st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(TEXT, min_size=n, max_size=n), min_size=1, max_size=5))


def cells_of(line: str) -> list[str]:
    """Read a line of a Markdown table as a renderer does: bars that are not escaped end a cell."""
    assert line[0] == "|" and line[-1] == "|"
    marked = line[1:-1].replace("\\|", "\0")
    return [cell.strip().replace("\0", "|") for cell in marked.split("|")]


@given(GRIDS)
def test_a_markdown_table_is_read_back_as_it_was(rows):
    head, *body = rows
    first, rule, *others = markdown_table(head, body).split("\n")
    assert [cells_of(line) for line in (first, *others)] == [[" ".join(c.splitlines()) for c in row] for row in rows]
    assert cells_of(rule) == ["---"] * len(head)


def test_numbers_are_aligned_at_the_right():
    assert markdown_table("abc", [], numbers=2).split("\n")[1] == "| --- | ---: | ---: |"


def test_what_would_break_the_table_is_kept_in_its_cell():
    assert markdown_line(["a|b", "c\\|d", "two\nlines", ""]) == "| a\\|b | c\\|d | two lines | |"


def test_rows_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="rows must have 2 cells, like the header, got 3"):
        markdown_table(["a", "b"], [["1", "2", "3"]])
    with pytest.raises(ValueError, match="rows must have 2 cells, one per alignment, got 1"):
        columns([["a"]], "<>")


def test_columns_are_as_wide_as_their_widest_cell():
    rows = [["", "value"], ["CKA", "0.5"], ["mutual kNN", "12.25"]]
    assert columns(rows, "<>", indent=". ") == [".             value", ". CKA           0.5", ". mutual kNN  12.25"]
    assert columns([], "<") == []


@given(GRIDS)
def test_every_column_of_text_begins_where_it_does_in_the_other_lines(rows):
    filled = [[cell or "x" for cell in row] for row in rows]
    lines = columns(filled, "<" * len(filled[0]))
    starts = [0]
    for column in list(zip(*filled, strict=True))[:-1]:
        starts.append(starts[-1] + max(map(len, column)) + 2)
    for row, line in zip(filled, lines, strict=True):
        for cell, start in zip(row, starts, strict=True):
            assert line[start:].startswith(cell.rstrip())
