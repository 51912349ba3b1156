"""`shesha rank`: rank models by how well they explain data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shesha.cli import _design_options, _file_inputs, _outputs
from shesha.support.draw_counts import N_PERMUTATIONS


def rank_command(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL...", show_default=False, help="Files with models; each array is one model."),
    ],
    data: Annotated[
        list[Path],
        typer.Option("--data", metavar="FILE", help="File with data; each array is one subject (may be repeated)."),
    ],
    measure: Annotated[str, typer.Option(help="Similarity of model and data: a name from `shesha measures`.")] = "RSA",
    key: Annotated[list[str] | None, typer.Option(help="Model array to rank (may be repeated).")] = None,
    data_key: Annotated[
        list[str] | None, typer.Option(help="Data array to use as a subject (may be repeated).")
    ] = None,
    rdm: _file_inputs.Distances = False,
    blocks: _design_options.Blocks = None,
    groups: _design_options.Groups = None,
    resamples: Annotated[
        int | None, typer.Option(help="Number of resamples of the rows; default: 1,000 for distances, else 200.")
    ] = None,
    permutations: Annotated[
        int, typer.Option(help="Number of permutations for p-values against chance.")
    ] = N_PERMUTATIONS,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    pairs: Annotated[
        str | None,
        typer.Option(help="Number of random pairs of rows, or all; default: all for up to 1,414 rows, else 1,000,000."),
    ] = None,
    layer_axis: _file_inputs.LayerAxis = "guess",
    by_position: _file_inputs.ByPosition = False,
    identity: _file_inputs.Id = None,
    shared_rows: _file_inputs.SharedRows = False,
    missing: _file_inputs.Missing = "refuse",
    transpose: _file_inputs.Transpose = False,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    json: _outputs.Json = None,
    plot: Annotated[Path | None, typer.Option(help="Write a bar chart with the noise ceiling to this file.")] = None,
    html: _outputs.Html = None,
) -> None:
    """Rank models by how well they explain data, with intervals, tests of differences and a noise ceiling."""
    from shesha.ranking import rank_models

    row_options = _file_inputs.RowOptions(identity, by_position, shared_rows, missing, transpose)
    outputs = _outputs.Outputs(json, plot, html, None, (*files, *data, blocks, groups))
    inputs = _design_options.read_design(files, blocks, groups, None, False, None, rows=row_options)
    options: dict[str, Any] = {"rows": row_options, "distances": rdm}
    models = _file_inputs.read_representations(files, key, inputs.columns, layer_axis, **options)
    subjects = _file_inputs.read_representations(data, data_key, inputs.columns, layer_axis, **options)
    if not models:
        raise ValueError(f"MODEL must contain a representation, got none in {', '.join(map(str, files))}")
    if not subjects:
        raise ValueError(f"--data must contain a representation, got none in {', '.join(map(str, data))}")
    row_options.state_pairing(models, subjects)
    ranking = rank_models(
        subjects,
        models,
        measure,
        blocks=inputs.design.get("blocks"),
        groups=inputs.design.get("groups"),
        n_resamples=resamples,
        n_permutations=permutations,
        confidence=confidence,
        pairs=_file_inputs.parse_pairs(pairs),
        **row_options.choice,
        seed=seed,
    )
    outputs.write(ranking, [*files, *data])
