"""`shesha index`: measure how well truncated or quantised vectors find the neighbours that full vectors have."""

from __future__ import annotations

from pathlib import Path

from shesha.cli._commands import READING, command
from shesha.cli._run import Run


@command(
    "shesha.changes:stored_vectors", also=f"way {READING} groups json plot title html full", first="way index_metric"
)
def index_command(run: Run, vectors: Path, stored: list[Path] | None = None, *, exact: bool = False) -> None:
    """Measure how well shorter or quantised vectors find the neighbours that full vectors have.

    For new vectors of another model, use `shesha diff OLD NEW --index`.

    Parameters
    ----------
    vectors : VECTORS
        File with the full vectors. Each is a query that searches all others, unless this takes more than a minute.
    stored : STORED...
        Files with the vectors as you store them, of the same rows, in place of --way.
    way
        How to store the vectors (may be repeated): float16, int8, binary (signs), or a number of dimensions to keep.
    exact
        Use every row as a query, however long this takes. Otherwise, random rows are queries if all would take more
        than a minute.
    plot
        Write a picture of the recall to this file.

    Examples
    --------
    shesha index vectors.npy --way 256 --way int8 --way binary
    shesha index vectors.parquet product_quantised.npy --index-metric ip --json recall.json
    """
    from shesha.changes import stored_vectors
    from shesha.support.provenance import current_statements, state

    files = [vectors, *(stored or ())]
    if stored and run.way:
        raise ValueError(f"--way must be left out with STORED, got {' '.join(run.way)}")
    run.first = vectors
    first, *others = run.read_each(files, run.key)
    if len(first) != 1:
        raise ValueError(f"{vectors.name} must have one matrix, got {', '.join(first)}: choose one with --key")
    run.row_options.state_pairing(first, *others)
    ways = {name: array for side in others for name, array in side.items()} or _parse_ways(run.way)
    options = run.arguments(stored_vectors, "way") | {"exact": exact or "auto"} | ({"ways": ways} if ways else {})
    array = next(iter(first.values()))
    if not any(statement.startswith(f"{vectors.name}: ") for statement in current_statements()):
        # Recall depends on the number of dimensions, which the answer does not show otherwise.
        state(f"{vectors.name}: {' x '.join(f'{length:,}' for length in array.shape)}")
    run.outputs.write(stored_vectors(array, **options), files)


def _parse_ways(values: list[str] | None) -> list[str | int]:
    return [int(value) if value.isdigit() else value for value in values or ()]
