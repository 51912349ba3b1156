"""`shesha consensus`: find the shape that several representations share, and outliers from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shesha.cli import _design_options, _file_inputs, _outputs


def consensus_command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", show_default=False, help="Files of representations; each array is one representation."
        ),
    ],
    key: Annotated[list[str] | None, typer.Option(help="Array to include (may be repeated).")] = None,
    scale: Annotated[
        bool, typer.Option("--scale/--no-scale", help="Scale all representations to the same size before averaging.")
    ] = True,
    groups: _design_options.Groups = None,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    layer_axis: _file_inputs.LayerAxis = "guess",
    by_position: _file_inputs.ByPosition = False,
    identity: _file_inputs.Id = None,
    shared_rows: _file_inputs.SharedRows = False,
    missing: _file_inputs.Missing = "refuse",
    transpose: _file_inputs.Transpose = False,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    json: _outputs.Json = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture of the distances to this file.")] = None,
    html: _outputs.Html = None,
) -> None:
    """Measure how far representations (seeds, checkpoints) are from their shared shape, and find outliers."""
    from shesha.comparison import consensus

    row_options = _file_inputs.RowOptions(identity, by_position, shared_rows, missing, transpose)
    outputs = _outputs.Outputs(json, plot, html, None, (*files, groups))
    inputs = _design_options.read_design(files, None, groups, None, False, None, rows=row_options)
    arrays: dict[str, Any] = _file_inputs.read_representations(files, key, inputs.columns, layer_axis, rows=row_options)
    result = consensus(
        arrays, scale=scale, groups=inputs.design.get("groups"), confidence=confidence, **row_options.choice, seed=seed
    )
    outputs.write(result, files)
