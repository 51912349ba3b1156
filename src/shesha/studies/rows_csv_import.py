"""Continue a study from a committed table of rows, without its store."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shesha.runs import ResultStore
from shesha.studies.run_files import ROWS, SUMMARY
from shesha.studies.study_definition import Study


def adopt(study: Study, store: ResultStore, folder: Path, key: Any) -> int:
    """Add the rows of `rows.csv` to a store without rows of this study, and return their number.

    Rows of another version of the study are ignored. Adopted values have the six digits of the table.

    Parameters
    ----------
    study : Study
        The study whose rows are added.
    store : ResultStore
        The store to which the rows are added.
    folder : path
        Folder with the table and the summary of the study.
    key : callable
        Function that returns the key of a cell from its parameters.
    """
    table, summary = folder / ROWS, folder / SUMMARY
    if next(iter(store.items(study.kind)), None) is not None or not (table.exists() and summary.exists()):
        return 0
    about = json.loads(summary.read_text(encoding="utf-8"))
    if about.get("version") != study.version:
        return 0
    with table.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
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
    """Return the parameters of a row, without missing ones."""
    return tuple((name, row[name]) for name in sorted(names) if row.get(name))


def _text(value: Any) -> str:
    """Return the values of a parameter in a table."""
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _value(text: str) -> float | int | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or float("nan")
