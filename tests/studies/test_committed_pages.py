"""The pages under docs/studies are made from the rows beside them, and the library still computes those rows."""

import json
from pathlib import Path

import pandas as pd
import pytest

from shesha_studies import Unreachable, find, studies
from shesha_studies.framework.checks import AGREES, NOT_RUN, as_table
from shesha_studies.framework.fact_tables import facts_table, read_facts
from shesha_studies.framework.page_from_rows import build_page
from shesha_studies.framework.rules_file import read_rules
from shesha_studies.framework.run_files import CHECKS, FACTS, SUMMARY

PAGES = Path(__file__).parents[2] / "docs" / "studies"
NAMES = [one.name for one in studies()]
COMMITTED = [name for name in NAMES if (PAGES / name / "rows.csv").exists()]


# The page of this study resamples its rows for half a minute.
_LONG = [pytest.param(name, marks=pytest.mark.slow) if name == "distinctness" else name for name in COMMITTED]


@pytest.mark.parametrize("name", _LONG)
def test_the_page_says_what_its_rows_say(name):
    import matplotlib.pyplot as plt

    one = find(name)
    rows = pd.read_csv(PAGES / name / "rows.csv")
    page, facts = build_page(one, rows)
    for picture in page.pictures:
        plt.close(picture.figure)
    assert page.answer.endswith(".")
    place = PAGES / name / "page.md"
    assert place.exists() == bool(page.pictures)
    if place.exists():
        text = place.read_text(encoding="utf-8")
        assert page.answer in text
        assert len(text.split()) <= 1500
    shown = {column for _, table in page.tables for column in table.columns}
    assert set(read_rules(one).get("columns", {}).values()) <= shown
    made = as_table(page.checks)
    kept = pd.read_csv(PAGES / name / CHECKS, keep_default_na=False)
    assert made.verdict.tolist() == kept.verdict.tolist()
    assert made.what.tolist() == kept.what.tolist()
    if facts:
        known = facts_table(read_facts(pd.read_csv(PAGES / name / FACTS)))
        pd.testing.assert_frame_equal(facts_table(facts), known, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", COMMITTED)
def test_every_difference_is_explained(name):
    checks = pd.read_csv(PAGES / name / CHECKS, keep_default_na=False)
    unexplained = checks[(checks.verdict != AGREES) & (checks.why == "")]
    assert unexplained.empty, unexplained.to_string()


@pytest.mark.parametrize("name", COMMITTED)
def test_no_published_line_is_forgotten(name):
    """Where every cell has its row, each line has a verdict: "not run" is for cells that are missing."""
    summary = json.loads((PAGES / name / SUMMARY).read_text(encoding="utf-8"))
    checks = pd.read_csv(PAGES / name / CHECKS, keep_default_na=False)
    if summary["cells"] == summary["rows"]:
        assert not (checks.verdict == NOT_RUN).any()


def as_text(value):
    """A parameter as text: a column of 0.0 and 1.0 is read back as one of 0 and 1."""
    return f"{value:g}" if isinstance(value, float) else str(value)


@pytest.mark.parametrize("name", COMMITTED)
def test_the_library_still_computes_the_committed_rows(name):
    """One cell of each: the same parameters give the same numbers, which is what `version` declares."""
    one = find(name)
    rows = pd.read_csv(PAGES / name / "rows.csv")
    parameters = list(one.full[0])
    known = {tuple(map(as_text, line)): place for place, line in enumerate(rows[parameters].itertuples(index=False))}
    both = [cell for cell in one.quick if tuple(as_text(cell.get(key, "nan")) for key in parameters) in known]
    if not both:
        pytest.skip(f"no cell of the quick grid of {name} is among the committed rows")
    try:
        found = one(**both[0])
    except Unreachable as error:
        pytest.skip(str(error))
    line = rows.iloc[known[tuple(as_text(both[0].get(key, "nan")) for key in parameters)]]
    for key, value in found.items():
        if isinstance(value, float):
            assert line[key] == pytest.approx(value, rel=2e-5, abs=1e-6, nan_ok=True), key


@pytest.mark.parametrize(
    ("paper", "tables"),
    [
        # Table 14 and Table 4 list transformations and hold no numbers.
        ("Geometric Stability", {*range(1, 79)} - {14}),
        ("Geometric Stability (journal)", {*range(1, 11)} - {4}),
    ],
)
def test_no_table_of_a_paper_is_missing(paper, tables):
    where = [pd.read_csv(PAGES / name / CHECKS, keep_default_na=False)["where"] for name in COMMITTED]
    own = pd.concat(where)
    found = own[own.str.startswith(f"{paper},")].str.extract(r"Table (\d+)")[0].dropna().astype(int)
    assert tables <= set(found)
