"""Warning of treated rows that are also among the controls."""

from __future__ import annotations

from shesha.support.plurals import agree, count
from shesha.support.types import Matrix
from shesha.support.warnings import CalibrationWarning, warn


def warn_of_shared_rows(controls: Matrix, rows: Matrix, *, controls_name: str, rows_name: str) -> None:
    """Warn if rows are also among the controls, because such rows move the mean control."""
    known = {row.tobytes() for row in controls}
    shared = sum(row.tobytes() in known for row in rows)
    if shared:
        warn(
            f"{count(shared, 'row')} of {rows_name} {agree(shared, 'is', 'are')} also among the controls, which biases "
            f"coherence and effect size. Remove such rows from {controls_name}",
            CalibrationWarning,
        )
