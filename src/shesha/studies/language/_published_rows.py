"""Published numbers of models that are not at hand, with those of a stand-in beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shesha.studies._checks import AGREES, DIFFERS, HOLDS_NOT, UNREACHABLE, Check, judged

PAPER = "Geometric Stability, "
Table = Any
"""A DataFrame. The stubs of pandas know neither what a row nor what a cell holds."""


def of(published: Table, *where: str) -> Table:
    """Return the lines of tables or sections: "Table 47", "10.3"."""
    return published[published["where"].isin([PAPER + one for one in where])]


def number(published: Table, where: str, row: str, name: str) -> float:
    """Return one published number."""
    own = of(published, where)
    return float(own[(own.row.astype(str) == row) & (own.number == name)].published.iloc[0])


def stand_ins(lines: Table, ours: Callable[[str, str], float | None], why: str, unit: str = "") -> list[Check]:
    """Return published numbers of other models, with those of the stand-in where it has one."""
    return [
        Check(
            line["where"], _what(line, unit), _value(line.published), ours(str(line.row), line.number), UNREACHABLE, why
        )
        for _, line in lines.iterrows()
    ]


def models(lines: Table, at_hand: dict[str, str], why: str) -> list[Check]:
    """Return one check for each line of a table of models: whether the model is at hand."""
    return [
        Check(
            line["where"],
            _what(line, ""),
            _value(line.published),
            at_hand.get(str(line.row)),
            *_reached(line, at_hand, why),
        )
        for _, line in lines.iterrows()
    ]


def _reached(line: Any, at_hand: dict[str, str], why: str) -> tuple[str, str]:
    return (AGREES, "") if str(line.row) in at_hand else (UNREACHABLE, why)


def derived(
    lines: Table, ours: Callable[[str, str], float | None], why: str, unit: str = "", *, rounding: float = 0.0
) -> list[Check]:
    """Compare numbers of the text with what the published tables, rounded so far, themselves give."""
    found = []
    for _, line in lines.iterrows():
        mine, text = ours(str(line.row), line.number), str(line.published)
        decimals = len(text.partition(".")[2].rstrip("0")) if "." in text else 0
        found.append(
            judged(line["where"], _what(line, unit), float(text), mine, error=rounding / 3, decimals=decimals, why=why)
        )
    return found


def claim(
    where: str, what: str, said: float | str, ours: float | str, holds: bool, why: str, *, control: bool = True
) -> Check:
    """Judge a claim in words: it holds, or a control takes it away (or our numbers differ, without a control)."""
    verdict = AGREES if holds else HOLDS_NOT if control else DIFFERS
    return Check(PAPER + where, what, said, ours, verdict, "" if holds else why)


def _what(line: Any, unit: str) -> str:
    return f"{unit + ' ' if unit else ''}{line.row}: {line.number}"


def _value(text: Any) -> float | str:
    try:
        return float(text)
    except ValueError:
        return str(text)
