"""Inputs of `shesha monitor`: matrices of canary rows, recorded settings, and a monitor's files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha.cli import _file_inputs

if TYPE_CHECKING:
    from shesha.drift import DriftMonitor


def refuse_with_model(**options: Any) -> None:
    """Refuse options that cannot be combined with --model."""
    for name, there in options.items():
        if there:
            raise ValueError(f"--{name} must be left out with --model, got both")


def read_matrix(
    path: Path, key: str | None, labels_inside: Any = None, rows: _file_inputs.RowOptions = _file_inputs.EVERY_ROW
) -> Any:
    """Read the single matrix of a file."""
    matrices = _file_inputs.read_representations(
        [path], None if key is None else [key], labels_inside, "none", rows=rows
    )
    if len(matrices) != 1:
        raise ValueError(f"FILE must contain one matrix, got {', '.join(matrices)} in {path}: choose with --key")
    return next(iter(matrices.values()))


def read_stacks(
    paths: list[Path], key: str | None, rows: _file_inputs.RowOptions = _file_inputs.EVERY_ROW
) -> list[Any]:
    """Read matrices; each matrix in a stack counts as one."""
    arrays = _file_inputs.read_representations(paths, None if key is None else [key], None, "0", rows=rows)
    return list(arrays.values())


def monitor_files(folder: Path) -> list[Path]:
    """Return the files of a monitor, which no output may overwrite."""
    from shesha.drift.monitor_files import ABOUT, HISTORY

    if not folder.is_dir():
        return [folder]
    return sorted({*folder.glob("arrays-*.npz"), *folder.glob(f"{HISTORY}*"), folder / ABOUT, folder / HISTORY})


def column_of_ids(drift_monitor: DriftMonitor) -> str | None:
    """Return the column that --id named when the monitor was made; None if its ids are found without a name."""
    names = drift_monitor.names
    return names.column if names is not None and names.chosen == "column" else None


def parse_about(about: list[str] | None) -> dict[str, str]:
    """Return the settings passed with --about, by name."""
    pairs = [pair.partition("=") for pair in about or ()]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise ValueError(f"--about must be NAME=TEXT, got {name!r}")
    return {name: text for name, _, text in pairs}
