"""The page of a study: its answer, tables and pictures, and what was run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shesha.report import markdown_table
from shesha.support.files import replacing, write_text
from shesha_studies.framework.checks import Check, Found, as_table
from shesha_studies.framework.column_decimals import column_cells
from shesha_studies.framework.counted_cells import cells_of_tables

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


_MOST_LINES = 8
"""Number of lines of a table that a page shows; the files beside it have all."""
UNANSWERED = "No answer: the cells of this run do not decide the question, or the study states none."


@dataclass(frozen=True)
class Picture:
    """A figure with the name of its file and a description."""

    name: str
    figure: Figure
    shows: str


@dataclass(frozen=True)
class Page:
    """The findings of a study, which its page presents.

    Parameters
    ----------
    answer : str
        Answer to the study's question in a few sentences with numbers; "" if the study's rules contain the answer.
    tables : sequence of (title, table)
        Titles and tables, in the order of the page.
    pictures : sequence of Picture
        Pictures, in the order of the page.
    notes : sequence of str
        Explanations of differences, limits of the comparison, and cautions. Those in the rules of the study follow.
    checks : sequence of Check
        Checks of numbers that the study judges itself. Without any, all published lines are judged by `answers`; with
        some, only the claims in words are.
    answers : mapping of key to Found
        Our answers to published lines by their key.
    """

    answer: str = ""
    tables: tuple[tuple[str, pd.DataFrame], ...] = ()
    pictures: tuple[Picture, ...] = ()
    notes: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    answers: Mapping[str, Found] = field(default_factory=dict)


def save_page(page: Page, folder: Path, title: str, question: str, ran: str) -> Path:
    """Write a page and its pictures, and return the path of the page.

    Parameters
    ----------
    page : Page
        The findings.
    folder : path
        Folder for the page, which is created if it does not exist.
    title, question, ran : str
        Heading, question of the study, and description of the run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts = [f"# {title}", question, f"**{page.answer}**" if page.answer else UNANSWERED]
    for picture in page.pictures:
        with replacing(folder / f"{picture.name}.png") as place:
            picture.figure.savefig(place, dpi=150, format="png")
        _close(picture.figure)
        parts.append(f"![{picture.shows}]({picture.name}.png)")
    for heading, table in page.tables:
        parts += [f"## {heading}", _markdown(table.iloc[:_MOST_LINES])]
        if len(table) > _MOST_LINES:
            parts.append(f"The first {_MOST_LINES} of {len(table)} lines; `rows.csv` has all rows.")
    if page.checks:
        parts += ["## Comparison with published numbers", *_comparison(page.checks)]
    parts += [f"- {note}" if len(page.notes) > 1 else note for note in page.notes]
    parts += ["## What was run", ran]
    place = folder / "page.md"
    write_text(place, "\n\n".join(parts) + "\n")
    return place


def _comparison(checks: Sequence[Check]) -> list[str]:
    """Return every check if there are few; otherwise, the claims, and the number of each verdict by table."""
    if len(checks) <= _MOST_LINES:
        return [_markdown(_check_table(checks))]
    cells = cells_of_tables(as_table(checks))
    compared = cells[cells.compared]
    counts = _count_verdicts(compared)
    without = sorted(set(cells.table) - set(compared.table))
    parts = [
        "Cells of the paper's tables that have a value of ours. `checks.csv` has each, and each claim, with reasons."
    ]
    if len(counts):
        parts.append(_markdown(counts))
    if without:
        parts.append(f"No value of ours: {', '.join(without)}.")
    return parts


def _count_verdicts(compared: pd.DataFrame) -> pd.DataFrame:
    """Count the verdicts of compared cells by table."""
    import pandas as pd

    counts = pd.crosstab(compared.table, compared.verdict)
    numbers = counts.index.str.extract(r"(\d+)")[0].astype(int).to_numpy()
    return counts.iloc[numbers.argsort()].rename_axis(columns=None).reset_index()


def _check_table(checks: Iterable[Check]) -> pd.DataFrame:
    """Return one line per check, with the basis in parentheses after the verdict."""
    table = as_table(checks)
    on = [
        f"{verdict} ({basis})" if basis else verdict for verdict, basis in zip(table.verdict, table.basis, strict=True)
    ]
    return table.assign(verdict=on).drop(columns=["basis", "transcribed"])


def _close(figure: Figure) -> None:
    from shesha.charts import pyplot

    pyplot().close(figure)


def _markdown(table: pd.DataFrame) -> str:
    columns = [column_cells(table.iloc[:, place].tolist()) for place in range(table.shape[1])]
    return markdown_table([str(name) for name in table.columns], zip(*columns, strict=True))
