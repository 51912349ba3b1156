"""Pages that hold everything a page can hold, among it names that would break one."""

from __future__ import annotations

import math

import pytest

from shesha.report import (
    Column,
    Drawing,
    Explained,
    HeatMap,
    Item,
    Lines,
    Page,
    Point,
    Section,
    Strip,
    Table,
    Text,
)

HOSTILE = ("<script>window.hit = 1</script>", "\"a\" 'b' & </style>", "long " * 60, "אבג דה", "", "{{ 7 * 7 }}", "-->")


def _drawn():
    from shesha.charts import Series, intervals

    values = [0.5, 0.6, 0.7, 0.1, 0.2, 0.3, 0.4]
    return intervals(list(HOSTILE), {"<b>score</b>": Series(values, values, values)}, [0.1] * 7, label="<i>label</i>")


@pytest.fixture
def hostile() -> tuple[str, ...]:
    return HOSTILE


@pytest.fixture
def everything() -> Page:
    numbers = (10.0, 9.0, math.nan, -1.0, 1200.0, 0.5, 3.0)
    cells = tuple("none" if one != one else f"{one:,.1f} [0.1, 0.2]" for one in numbers)
    strips = tuple(None if one != one else Strip(one, one - 0.1, one + 0.1, 0.3) for one in numbers)
    table = Table(HOSTILE, ((Column("score", cells, ">", strips), Column("<em>", HOSTILE, "<")),), "Scores", "name")
    grid = tuple(tuple(math.nan if i == j else i / 7 - j / 9 for j in range(7)) for i in range(7))
    heat = HeatMap("CKA <u>", HOSTILE, HOSTILE, grid, "higher", ((1, 2),))
    parts = tuple(Text(name) for name in HOSTILE) + tuple(Item(name) for name in HOSTILE)
    return Page(
        title=HOSTILE[0],
        question=HOSTILE[1],
        answer=HOSTILE,
        numbers=(table,),
        doubts=tuple(Point(name, name, name, name) for name in HOSTILE),
        sections=(
            Section(HOSTILE[0], (*parts, heat, table), HOSTILE[1]),
            Section("Picture", (Drawing(HOSTILE[1], _drawn), Drawing("twice", _drawn), Lines(HOSTILE))),
            Section("More", (*(Explained(n, f"{n} `a` b", "measures.md#cka", n) for n in HOSTILE),)),
        ),
        ran=tuple((name or "command", name) for name in HOSTILE),
    )
