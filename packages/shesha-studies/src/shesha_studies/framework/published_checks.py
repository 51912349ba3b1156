"""Conversion of published lines to checks.

A line in a published table states *where*, *what* and what was *published*, which is a number or a claim in words. A
study answers it with `Found`, which contains *ours*, the error or verdict by which our value is judged, and *why* the
two disagree.

A line is answered by its `key`. The lines of a printed table have a `row` and a `number`; their key is "row: number"
unless they have another one.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from inspect import getsourcefile
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha.support.files import read_text
from shesha_studies.framework import study_lookup
from shesha_studies.framework.checks import (
    AGREES,
    DIFFERS,
    INCONCLUSIVE,
    NOT_RUN,
    UNREACHABLE,
    Check,
    Found,
    judge_number,
)
from shesha_studies.framework.study_decorator import Study
from shesha_studies.framework.tolerance import UNDECIDED, interval_error, loose_p_value, p_values_agree

if TYPE_CHECKING:
    import pandas as pd

PAPER = "Geometric Stability, "
ABSENT = "this run does not contain the cells that decide it"
_WORDED = "claim/"
Table = Any
"""A DataFrame. The type stubs of pandas do not describe its rows and cells."""
Answers = dict[str, "Found"]
"""Our answers, by the key of the published line."""


def draws(values: pd.Series, why: str = "", decimals: int | None = None, unit: str = "draws") -> Found:
    """Mean of our draws, with the number of draws (or another unit) and the standard deviation over them."""
    error = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return Found(float(values.mean()) if len(values) else None, error, why, decimals=decimals, n=len(values), unit=unit)


def unreachable(why: str, ours: float | str | None = None) -> Found:
    """Record that a line cannot be repeated here and what is missing; `ours` is a stand-in's value."""
    return Found(ours, why=why, verdict=UNREACHABLE)


def unjudged_answers(values: Mapping[str, float | str | None]) -> Answers:
    """Return values that are shown but not judged, for the reasons that `against` takes as `missing`."""
    return {key: Found(ours, verdict=UNREACHABLE) for key, ours in values.items()}


def derived_answers(values: Mapping[str, float]) -> Answers:
    """Return values that follow from other published numbers, so that they must agree up to rounding."""
    return {key: Found(float(value)) for key, value in values.items()}


def numbers_by_cell(table: Table) -> dict[str, float]:
    """Return the numbers of a table by "row: column", the key of a published line that has no other key.

    Examples
    --------
    >>> import pandas as pd
    >>> numbers_by_cell(pd.DataFrame({"loss": [0.5, float("nan")]}, index=["int8", "nf4"]))
    {'int8: loss': 0.5}
    """
    return {f"{row}: {column}": float(value) for (row, column), value in table.stack().dropna().items()}


def against(
    published: pd.DataFrame | None,
    answers: Mapping[str, Found],
    missing: Mapping[str, str] | None = None,
) -> tuple[Check, ...]:
    """Convert every published line to a check, by its key.

    Parameters
    ----------
    published : DataFrame
        Published lines, with the columns `where`, `what`, `key` and `published` (a number or words) and, if needed,
        `error` (or the limits `low` and `high` of a 95 % interval) and `decimals` (default 3; if given for a line of a
        column with words, trailing zeros are kept).
    answers : mapping of key to Found
        Our answers by key, or by "Table 3 | key". A line without a key has the key "row: number".
    missing : mapping of str to str
        Reasons why lines cannot be repeated, such as missing data, by the start of their key or by a pattern of
        "place | key".

    Returns
    -------
    tuple of Check
        One check per line, in the same order. Lines whose keys are in neither mapping get the verdict "not run".

    Examples
    --------
    >>> import pandas as pd
    >>> lines = pd.DataFrame({"where": "Paper, 1", "what": ["a", "b"], "key": ["a", "b"], "published": ["0.50", "yes"]})
    >>> [one.verdict for one in against(lines, {"a": Found(0.51, 0.01), "b": Found("no", why="a control")})]
    ['agrees', 'differs']
    """
    assert published is not None
    return tuple(judge_line(line, _answer(line, answers, missing or {})) for _, line in published.iterrows())


def _answer(line: Any, answers: Mapping[str, Found], missing: Mapping[str, str]) -> Found:
    """Return our answer to a published line, by its key or by its place and key."""
    key, place = claim_key(line) or f"{line['row']}: {line['number']}", str(line["where"])
    found = answers.get(f"{place.rpartition(', ')[2]} | {key}") or answers.get(key)
    if found is not None and (found.verdict != UNREACHABLE or found.why):
        return found
    reasons = (why for name, why in missing.items() if key.startswith(name) or fnmatchcase(f"{place} | {key}", name))
    why = next(reasons, "")
    if why:
        return replace(found or Found(None), why=why, verdict=UNREACHABLE)
    return found or Found(None, why=ABSENT, verdict=NOT_RUN)


def judge_line(line: Any, answer: Found) -> Check:
    """Judge one published line.

    Words agree if they are equal. If a bound is published, such as "< 0.001", a number below it agrees.

    Raises
    ------
    TypeError
        If there is no verdict, and words are published but a number was found, or vice versa.
    """
    check = replace(_judge_line(line, answer), published=_as_printed(line))
    return replace(check, basis=answer.basis) if check.ours is not None else check


def _judge_line(line: Any, answer: Found) -> Check:
    where, what, number = str(line["where"]), _what(line), as_number(line["published"])
    if answer.verdict is not None:
        why = "" if answer.verdict == AGREES else answer.why
        return Check(where, what, number, answer.ours, answer.verdict, why or answer.note)
    if answer.p_value:
        return _judge_p_value(where, what, number, answer)
    if isinstance(number, str) and isinstance(answer.ours, str):
        same = number == answer.ours
        return Check(where, what, number, answer.ours, AGREES if same else DIFFERS, answer.note if same else answer.why)
    if isinstance(number, str) and number.startswith("<") and isinstance(answer.ours, float):
        below = answer.ours < float(number.removeprefix("<"))
        return Check(
            where, what, number, answer.ours, AGREES if below else DIFFERS, answer.note if below else answer.why
        )
    if isinstance(number, str) or isinstance(answer.ours, str):
        raise TypeError(f"published must be a number where ours has no verdict, got {number!r} and {answer.ours!r}")
    absent = answer.ours is None or isnan(answer.ours)
    check = judge_number(
        where,
        what,
        number,
        answer.ours,
        error=answer.error,
        published_error=_or(line.get("error"), interval_error(_or(line.get("low"), nan), _or(line.get("high"), nan))),
        decimals=answer.decimals if answer.decimals is not None else int(_or(line.get("decimals"), 3)),
        why=answer.why or (ABSENT if absent else ""),
        readings=answer.readings,
    )
    if absent:
        return check
    spread = (
        f"Mean of {answer.n} {answer.unit} with a standard deviation of {answer.error:.2g}." if answer.n > 1 else ""
    )
    notes = ". ".join(filter(None, (text.removesuffix(".") for text in (check.why, spread, answer.note))))
    return replace(check, why=f"{notes}." if spread or answer.note else check.why)


def _judge_p_value(where: str, what: str, published: float | str, answer: Found) -> Check:
    if not isinstance(answer.ours, float) or isnan(answer.ours):
        return Check(where, what, published, None, NOT_RUN, ABSENT)
    same, ours = p_values_agree(str(published), answer.ours), f"{answer.ours:.2g}"
    if same is None:
        return Check(where, what, published, ours, INCONCLUSIVE, UNDECIDED)
    return Check(
        where, what, published, ours, AGREES if same else DIFFERS, loose_p_value(str(published)) if same else answer.why
    )


def as_number(value: object) -> float | str:
    """Return a published value as a number if possible, otherwise as words."""
    try:
        return float(str(value))
    except ValueError:
        return str(value)


def _as_printed(line: Any) -> float | str:
    """Return the published value as a number, or as text if its declared decimals include trailing zeros."""
    value, number = line["published"], as_number(line["published"])
    decimals = _or(line.get("decimals"), 0)
    keeps_zeros = isinstance(value, str) and value.endswith("0") and len(value.partition(".")[2]) == decimals > 0
    return value if keeps_zeros else number


def claim_key(line: Any) -> str:
    """Return the key under which a claim in words is answered; "" if the line has none."""
    key = line.get("key")
    return key.removeprefix(_WORDED) if isinstance(key, str) else ""


def line_label(line: Any) -> tuple[str, str]:
    """Return the place and the label of a published line, as its check shows them."""
    return str(line["where"]), _what(line)


def split_numbers_and_claims(published: pd.DataFrame | None) -> tuple[Table, Table]:
    """Separate printed numbers from claims in words, whose keys lose the prefix "claim/"."""
    assert published is not None
    worded = published.key.astype(str).str.startswith(_WORDED)
    claims = published[worded]
    return published[~worded], claims.assign(key=claims.key.str.removeprefix(_WORDED))


def lines_of(published: Table, *where: str) -> Table:
    """Return the lines for the given tables or sections, such as "Table 47" or "10.3"."""
    return published[published["where"].isin([PAPER + place for place in where])]


def number(published: Table, where: str, row: str, name: str) -> float:
    """Return a single published number."""
    lines = lines_of(published, where)
    return float(lines[(lines.row.astype(str) == row) & (lines.number == name)].published.iloc[0])


def printed_table(published: Table, where: str) -> Table:
    """Return a published table or section, with one line per row and one column per number."""
    lines = lines_of(published, where).dropna(subset="row")
    wide = lines.assign(value=lines.published.map(as_number)).pivot(index="row", columns="number", values="value")
    return wide.infer_objects()


def _what(line: Any) -> str:
    label = line.get("what")
    return label if isinstance(label, str) else f"{line['row']}: {line['number']}"


def _or(value: Any, default: float) -> float:
    return default if value is None or isnan(float(value)) else float(value)


def published_folder(study: Study) -> Path:
    """Return the folder that contains a study's published numbers and rules."""
    return study_lookup.data_folder(study) or Path(getsourcefile(study.cell) or "").parent


def read_published(study: Study) -> pd.DataFrame | None:
    """Read the published numbers of a study; None if it has none.

    Raises
    ------
    ValueError
        If the file does not exist.
    """
    import pandas as pd

    if study.published is None:
        return None
    place = published_folder(study) / study.published
    if not place.exists():
        raise ValueError(f"published must be a file in the folder of the study or a path, got {place}")
    return pd.read_csv(io.StringIO(read_text(place, "published")), comment="#")
