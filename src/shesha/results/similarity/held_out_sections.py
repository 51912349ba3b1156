"""Values for held-out rows shown next to values for all rows, as lines of text or as a page section."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shesha.report import Column, Section, Table, columns, page_width, wrap

if TYPE_CHECKING:
    from shesha.results.similarity.score import Score

_NOTE = (
    "Held out: the map is fitted on the rows outside each fold and evaluated on the rows of the fold. All rows: the "
    "map is evaluated on the rows on which it was fitted, so the representations look closer than they are."
)


def held_out_lines(scores: Sequence[Score], folds: int | None) -> list[str]:
    """Return a table of values for all rows and for held-out rows; empty if not requested."""
    held_out_scores = [score for score in scores if score.held_out is not None]
    if not held_out_scores:
        return []
    rows = [["measure", "all rows", "held out"]]
    rows += [[score.measure, f"{score.value:.4g}", f"{score.held_out:.4g}"] for score in held_out_scores]
    return ["", f"Held out, {folds} folds", *columns(rows, "<>>", indent="  "), *wrap(_NOTE, page_width(), hanging="")]


def held_out_sections(scores: Sequence[Score], folds: int | None) -> tuple[Section, ...]:
    """Return the section of a page with held-out values; empty if not requested."""
    held_out_scores = [score for score in scores if score.held_out is not None]
    if not held_out_scores:
        return ()
    cells = (
        Column("all rows", tuple(f"{score.value:.4g}" for score in held_out_scores)),
        Column("held out", tuple(f"{score.held_out:.4g}" for score in held_out_scores)),
    )
    table = Table(tuple(score.measure for score in held_out_scores), (cells,), f"{folds} folds", "measure")
    return (Section("Held out", (table,), _NOTE),)
