"""Compute the quick grids of studies again, and compare each cell with its committed row.

    python scripts/rerun_quick_grids.py [STUDY ...] [--seconds 60] [--pages docs/studies]

By default, all studies are computed, the cheapest first. `--seconds` is the processor time for each study; the
remaining cells are counted as left. The script prints a line per study, and each value that differs from the six digits
of the table. Its exit status is 1 if a value differs. Cells with missing data or weights are counted separately.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from shesha_studies import Study, Unreachable, find, studies

RELATIVE, ABSOLUTE = 2e-5, 1e-6
"""Tolerances, because tables have six digits."""


def parameter_text(value: Any) -> str:
    """Return a parameter as text; 0.0 and 1.0 become 0 and 1, as in columns that are read back."""
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    return "" if missing else f"{value:.6g}" if isinstance(value, float) else str(value)


def committed_cells(study: Study, rows: pd.DataFrame) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
    """Return the cells of the quick grid that have a committed row, with this row."""
    names = [name for name in rows.columns if any(name in cell for cell in study.full)]
    lines = rows.to_dict("records")
    known = {tuple(parameter_text(line[name]) for name in names): line for line in lines}
    for cell in study.quick:
        line = known.get(tuple(parameter_text(cell.get(name)) for name in names))
        if line is not None:
            yield cell, line


def differences(found: Mapping[str, Any], line: Mapping[str, Any]) -> list[str]:
    """Return the differences between a computed row and the committed row."""
    pairs = [(name, value, line.get(name)) for name, value in found.items()]
    return [f"{name}: {value!r}, committed {other!r}" for name, value, other in pairs if not same(value, other)]


def same(value: Any, other: Any) -> bool:
    """Return whether two values agree up to the digits of the table."""
    if isinstance(value, str) or isinstance(other, str):
        return parameter_text(value) == parameter_text(other)
    mine, theirs = (math.nan if one is None else float(one) for one in (value, other))
    return math.isclose(mine, theirs, rel_tol=RELATIVE, abs_tol=ABSOLUTE) or (math.isnan(mine) and math.isnan(theirs))


def rerun(study: Study, rows: pd.DataFrame, seconds: float) -> tuple[dict[str, int], list[str]]:
    """Compute cells until the time is used up; return the counts and the differences."""
    counts = {"cells": len(study.quick), "committed": 0, "computed": 0, "differ": 0, "missing data": 0, "left": 0}
    found, start = [], time.process_time()
    for cell, line in committed_cells(study, rows):
        counts["committed"] += 1
        if time.process_time() - start > seconds:
            counts["left"] += 1
            continue
        try:
            made = study(**cell)
        except Unreachable:
            counts["missing data"] += 1
            continue
        counts["computed"] += 1
        wrong = differences(made, line)
        counts["differ"] += bool(wrong)
        found += [f"  {cell}: {one}" for one in wrong]
    return counts, found


def expected_seconds(folder: Path) -> float:
    """Return the expected seconds per cell, from the summary of the study."""
    about = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return float(about["seconds"]) / max(1, about["rows"])


def main() -> int:
    """Run the chosen studies, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--pages", type=Path, default=Path(__file__).parents[1] / "docs" / "studies")
    options = parser.parse_args()
    names = options.studies or [one.name for one in studies() if (options.pages / one.name / "summary.json").exists()]
    differ = 0
    for name in sorted(names, key=lambda one: expected_seconds(options.pages / one)):
        start = time.process_time()
        counts, found = rerun(find(name), pd.read_csv(options.pages / name / "rows.csv"), options.seconds)
        told = ", ".join(f"{number} {what}" for what, number in counts.items())
        print(f"{name}: {told}; {time.process_time() - start:.1f} s", *found, sep="\n", flush=True)
        differ += counts["differ"]
    print(f"{differ} cells differ")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
