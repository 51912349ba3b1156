"""Tables keep to the page in as few parts as they need, and marks lie at their share of a scale."""

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from shesha.report import Column
from shesha.report.html import _strip
from shesha.report.text_layout import Strip, table

NAN = float("nan")
NAMES = ["a", "bc"]


def column(i, width):
    return Column(f"h{i}", ("x" * width, "y"))


@given(st.lists(st.lists(st.integers(2, 9), min_size=1, max_size=2), min_size=1, max_size=7), st.integers(24, 60))
def test_groups_stand_side_by_side_while_they_fit(widths, page):
    heads = iter(range(99))
    groups = [[column(next(heads), width) for width in group] for group in widths]
    lines = table(NAMES, groups, page)
    assert max(map(len, lines)) <= page
    parts = [part.split("\n") for part in "\n".join(lines).split("\n\n")]
    shown = [part[0].split() for part in parts]
    assert [head for part in shown for head in part] == [one.head for group in groups for one in group]
    # The first group of a part would not have fitted into the part above: two blanks and its columns.
    taken = {one.head: 2 + one.width for group in groups for one in group}
    first = {group[0].head: [one.head for one in group] for group in groups}
    for above, part in pairwise(shown):
        assert 2 + sum(taken[head] for head in [*above, *first[part[0]]]) > page


@pytest.mark.parametrize("scale", [(0.0, 1.0), (-2.0, 3.0), (0.5, 0.7)])
def test_marks_lie_at_their_share_of_the_scale(scale):
    low, high = scale
    for share in (0.0, 0.25, 1.0):
        at = low + share * (high - low)
        found = _strip(Strip(at, low, high), scale)
        assert found == {"value": pytest.approx(100 * share, abs=0.06), "low": 0.0, "high": 100.0, "chance": None}
    assert _strip(None, scale) is None and _strip(Strip(0.5, 0.4, 0.6), None) is None
