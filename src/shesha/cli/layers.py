"""`shesha layers`: do two models have layers that match, beyond the best match that chance gives?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shesha.cli import _design_options, _inputs, _outputs


def layers_command(
    first: Annotated[Path, typer.Argument(help="File with the layers of one model.", show_default=False)],
    second: Annotated[Path, typer.Argument(help="File with the layers of the other.", show_default=False)],
    measure: Annotated[str, typer.Option(help="A measure, with options if wanted: 'mutual kNN(k=20)'.")] = "CKA",
    aggregate: Annotated[str, typer.Option(help="What is reported of the grid: max, row_max, top_k or mean.")] = "max",
    rdm: _inputs.Distances = False,
    permutations: Annotated[int, typer.Option(help="Random matchings of the rows, the same in all layers.")] = 200,
    alpha: Annotated[float, typer.Option(help="Level of the threshold.")] = 0.05,
    layer_axis: _inputs.LayerAxis = "guess",
    by_position: _inputs.ByPosition = False,
    blocks: _design_options.Blocks = None,
    groups: _design_options.Groups = None,
    within: _design_options.Within = None,
    shift: _design_options.Shift = False,
    block_length: _design_options.BlockLength = None,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    json: _outputs.Json = None,
    plot: Annotated[Path | None, typer.Option(help="Write the grid as a heat map to this file.")] = None,
    html: _outputs.Html = None,
    card: _outputs.Card = None,
) -> None:
    """Compare every layer of one model with every layer of another, and calibrate what is reported of the grid."""
    from shesha.calibration import calibrate_layers

    outputs = _outputs.Outputs(json, plot, html, card, (first, second, blocks, groups, within))
    exchanged = _design_options.read_design(
        [first], blocks, groups, within, shift, block_length, by_position=by_position
    )
    a, b = (
        _inputs.read_representations(
            [path], None, exchanged.columns, layer_axis, by_position=by_position, distances=rdm
        )
        for path in (first, second)
    )
    found = calibrate_layers(
        a, b, measure, aggregate, n_permutations=permutations, alpha=alpha, **exchanged.design, seed=seed
    )
    outputs.write(found, [first, second], data=f"{first.name} and {second.name}", model=first.stem)
