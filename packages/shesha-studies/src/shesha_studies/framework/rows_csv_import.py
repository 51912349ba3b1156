"""Continuation of a study from a committed table of rows, without the original store."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shesha.runs import ResultStore
from shesha.support.files import read_json, read_text
from shesha_studies.framework.run_files import ROWS, SUMMARY
from shesha_studies.framework.study_decorator import Study


def adopt(study: Study, store: ResultStore, folder: Path, key: Any) -> int:
    """Add the rows in `rows.csv` to a store that has none for this study; return how many were added.

    Rows from another version of the study are ignored. The added values have only the six digits of the table.

    Parameters
    ----------
    study : Study
        The study to which the rows belong.
    store : ResultStore
        The store to which the rows are added.
    folder : path
        Folder that contains the table and the summary of the study.
    key : callable
        Function that takes the parameters of a cell and returns its key.
    """
    table, summary = folder / ROWS, folder / SUMMARY
    if next(iter(store.items(study.kind)), None) is not None or not (table.exists() and summary.exists()):
        return 0
    about = read_json(summary)
    if about.get("version") != study.version:
        return 0
    rows = list(csv.DictReader(io.StringIO(read_text(table), newline="")))
    names = {name for cell in (*study.full, *study.quick) for name in cell}
    known = {_row_parameters(row, names): row for row in rows}
    seconds = about["seconds"] / max(1, len(rows))
    # The table does not say which of several machines computed a row.
    places = " or ".join(about.get("places", ()))
    adopted = {}
    for cell in (*study.full, *study.quick):
        row = known.get(_row_parameters({name: _text(value) for name, value in cell.items()}, names))
        if row is not None:
            values = {name: _value(text) for name, text in row.items() if name not in cell}
            kept = {"row": {**cell, **values}, "seconds": seconds, "day": about["days"][-1]}
            adopted[key(cell)] = json.dumps({**kept, "place": places} if places else kept)
    store.put(study.kind, adopted)
    return len(adopted)


def _row_parameters(row: Mapping[str, str], names: set[str]) -> tuple[tuple[str, str], ...]:
    """Return the parameters of a row, without those that are missing."""
    return tuple((name, row[name]) for name in sorted(names) if row.get(name))


def _text(value: Any) -> str:
    """Return the value of a parameter as it is written in the table."""
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _value(text: str) -> float | int | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or float("nan")
