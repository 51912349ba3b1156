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


@pytest.fixture
def verdict() -> Page:
    """An alarm of a monitor, with a measure that has no value."""
    from shesha.results import CheckSequence, DriftScore, DriftVerdict, Moved

    nan = math.nan
    scores = (
        DriftScore(
            name="RDM drift",
            tier="primary",
            value=6.5e-4,
            threshold=1.1e-6,
            p_value=0.0083,
            chance=1.08e-6,
            beyond=True,
        ),
        DriftScore(
            name="mutual kNN(k=10, metric=cosine)",
            tier="local",
            value=0.0405,
            threshold=0.00375,
            p_value=0.0083,
            chance=0.00218,
            beyond=True,
        ),
        DriftScore(name="unbiased CKA", tier="confirm", value=nan, threshold=0.05, p_value=nan, reason=HOSTILE[0]),
    )
    rows = tuple(Moved(name, 0.5, 0.01, name) for name in HOSTILE)
    found = DriftVerdict(
        *("alert", scores, 400, "re-encodings", 119, 0.01, 0.0249, 0.0, rows, rows[:2]),
        sequence=CheckSequence(3, 100.0, 9.8, 11.9, 5.5),
        advice="Measure the task.",
        notes=HOSTILE,
        about={"revision": HOSTILE[0]},
    )
    return found.page({"command": f"shesha monitor check {HOSTILE[1]}"})


@pytest.fixture
def study() -> Page:
    """A study with a wide table of words and numbers, wide pictures, and marks in its notes."""
    import pandas as pd

    from shesha_studies import Check, study
    from shesha_studies.framework.html_page import study_page
    from shesha_studies.framework.page import Page as StudyPage
    from shesha_studies.framework.page import Picture
    from shesha_studies.framework.run_results import StudyRun

    @study("marks", paper="new", version=1, full={"x": [1]}, quick={"x": [1]})
    def marks(x: int) -> dict[str, float]:
        """Are notes and tables shown as they are meant?"""
        return {"y": float(x)}

    why = "the screen is not at hand, only a part of it (its cells with 299 of the genes) " * 2
    checks = tuple(
        Check(f"Paper, Table {i}", f"row {i} of column {i}", 0.5, 0.6, "differs", why if i else "") for i in range(14)
    )
    wide = pd.DataFrame([{f"column {i}": 1.23456789 / (i + 1) for i in range(14)}])
    rest = ("**Bold**, *em*, `code`, [a page](../page.md) and [no script](javascript:window.hit=1).", *HOSTILE)

    @marks.page
    def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> StudyPage:
        pictures = tuple(Picture(name, _drawn().figure, f"What {name} shows") for name in ("a", "b"))
        return StudyPage("Yes: 0.5, by chance 0.1.", (("Wide", wide),), pictures, rest, checks)

    found = StudyRun(marks, pd.DataFrame([{"x": 1, "y": 1.0}]), {}, {}, 2, True, (1.0,), ("2026-01-01",))
    return study_page(found, {"command": "shesha study page marks"})
