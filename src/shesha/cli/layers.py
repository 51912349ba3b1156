"""`shesha layers`: find matching layers of two models, compared with the best match by chance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shesha.cli import _design_options, _file_inputs, _model_inputs, _outputs
from shesha.support.wording import count


def layers_command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FIRST SECOND]",
            help="Two files, each with the layers of one model; or name the models with --model.",
            show_default=False,
        ),
    ] = None,
    measure: Annotated[str, typer.Option(help="A measure, with optional parameters: 'mutual kNN(k=20)'.")] = (
        "unbiased CKA"
    ),
    aggregate: Annotated[str, typer.Option(help="Summary of the grid: max, row_max, top_k or mean.")] = "max",
    model: _model_inputs.Model = None,
    texts: _model_inputs.Texts = None,
    layers: _model_inputs.Layers = None,
    pool: _model_inputs.Pool = "auto",
    batch_size: _model_inputs.BatchSize = 32,
    device: _model_inputs.Device = None,
    project: Annotated[
        int | None,
        typer.Option(
            help="With --model: project layers with more features than this onto this many random directions."
        ),
    ] = None,
    rdm: _file_inputs.Distances = False,
    permutations: Annotated[
        int, typer.Option(help="Number of permutations of the rows, the same for all layers.")
    ] = 200,
    alpha: Annotated[float, typer.Option(help="Significance level of the threshold.")] = 0.05,
    key: Annotated[list[str] | None, typer.Option(help="Layer of the files to compare (may be repeated).")] = None,
    layer_axis: _file_inputs.LayerAxis = "guess",
    by_position: _file_inputs.ByPosition = False,
    identity: _file_inputs.Id = None,
    shared_rows: _file_inputs.SharedRows = False,
    missing: _file_inputs.Missing = "refuse",
    transpose: _file_inputs.Transpose = False,
    blocks: _design_options.Blocks = None,
    groups: _design_options.Groups = None,
    within: _design_options.Within = None,
    shift: _design_options.Shift = False,
    block_length: _design_options.BlockLength = None,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    json: _outputs.Json = None,
    plot: Annotated[Path | None, typer.Option(help="Write a heat map of the grid to this file.")] = None,
    html: _outputs.Html = None,
    card: _outputs.Card = None,
) -> None:
    """Compare every layer of one model with every layer of another, and calibrate the maximum or another summary.

    If --model is given twice, both models read --texts batch by batch, and activations are not kept. Any number of
    texts then fits in memory. p-values are corrected for the number of pairs.
    """
    from shesha.comparison import compare_layers

    row_options = _file_inputs.RowOptions(identity, by_position, shared_rows, missing, transpose)
    outputs = _outputs.Outputs(json, plot, html, card, (*(files or ()), *(model or ()), texts, blocks, groups, within))
    models = _model_inputs.FromModels.parse(model, files, texts, layers, pool, batch_size, device)
    if models is not None:
        if key:
            raise ValueError("--key must be left out with --model, got both")
        exchanged = _design_options.read_design([models.file], blocks, groups, within, shift, block_length)
        if not exchanged.is_empty or rdm or card is not None or aggregate != "max":
            raise ValueError(
                "--model must come without --blocks, --groups, --within, --shift, --rdm, --card and --aggregate: "
                "write the layers to files first (shesha extract)"
            )
        result = _compare_models(models, measure, project, seed)
        outputs.write(result, [models.file])
        return
    if project is not None:
        raise ValueError(f"--project must come with --model, got {project} with files")
    if files is None or len(files) != 2:
        raise ValueError(f"FILE must be given twice, got {count(len(files or ()), 'file')}")
    first, second = files
    exchanged = _design_options.read_design([first], blocks, groups, within, shift, block_length, rows=row_options)
    a, b = _file_inputs.read_each(files, key, exchanged.columns, layer_axis, rows=row_options, distances=rdm)
    row_options.state_pairing(a, b)
    grid = compare_layers(
        a,
        b,
        measure,
        names=_names(first, second),
        calibrate=True,
        aggregate=aggregate,
        n_permutations=permutations,
        alpha=alpha,
        **exchanged.design,
        **row_options.choice,
        seed=seed,
    )
    outputs.write(grid, [first, second], data=f"{first.name} and {second.name}", model=first.stem)


def _names(first: Path, second: Path) -> tuple[str, str] | tuple[()]:
    """Return the names of both files, with their folders if these distinguish them; none for the same file."""
    short = (first.name, second.name) if first.name != second.name else (str(first), str(second))
    return short if short[0] != short[1] else ()


def _compare_models(models: _model_inputs.FromModels, measure: str, project: int | None, seed: int) -> Any:
    from shesha.cli._model_inputs import read_texts
    from shesha.comparison.moment_scores import compare_models
    from shesha.measures import as_measure, takes_moments

    chosen = as_measure(measure)
    if len(models.models) != 2:
        raise ValueError(f"--model must be given twice, got {', '.join(models.models)}")
    if not takes_moments(chosen):
        raise ValueError(
            f"--measure must be a function of means and products with --model, such as CKA, got {chosen.name}: write "
            "the layers to files first (shesha extract)"
        )
    return compare_models(
        models.models,
        read_texts(models.file, models.column),
        chosen,
        layers=models.layers or "all",
        pool=models.pool,
        project=project,
        seed=seed,
        names=(models.names[0], models.names[1]),
        batch_size=models.batch_size,
        device=models.device,
    )
