"""`shesha layers`: find matching layers of two models, compared with the best match by chance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shesha.cli import _model_inputs
from shesha.cli._commands import MODEL, READING, command
from shesha.cli._run import Run
from shesha.support.wording import count


@command(
    "shesha.comparison:compare_layers",
    without="calibrate permutations",
    also=f"{MODEL} {READING} rdm json plot title html full card",
    first="model texts measure permutations plot html",
)
def layers_command(run: Run, files: list[Path] | None = None) -> None:
    """Compare every layer of one model with every layer of another, and calibrate the maximum or another summary.

    If --model is given twice, both models read --texts batch by batch, and activations are not kept. Any number of
    texts then fits in memory. p-values are corrected for the number of pairs.

    Parameters
    ----------
    files : [FIRST SECOND]
        Two files, each with the layers of one model; or name the models with --model.
    measure
        A measure, with optional parameters: 'mutual kNN(k=20)'.
    permutations
        Number of permutations of the rows, the same for all layers.
    plot
        Write a heat map of the grid to this file.

    Examples
    --------
    shesha layers first.npz second.npz --measure CKA --plot grid.png
    """
    from shesha.comparison import compare_layers

    models, sources = run.models, run.sources
    if models is not None:
        _model_inputs.refuse_with_model(key=run.key)
        if not run.exchanged.is_empty or run.rdm or run.card is not None or run.aggregate != "max":
            raise ValueError(
                "--model must come without --blocks, --groups, --within, --shift, --rdm, --card and --aggregate: "
                "write the layers to files first (shesha extract)"
            )
        run.outputs.write(_compare_models(models, run.measure), sources)
        return
    if len(sources) != 2:
        raise ValueError(f"FILE must be given twice, got {count(len(sources), 'file')}")
    first, second = sources
    a, b = run.read_each(sources, run.key)
    run.row_options.state_pairing(a, b)
    short = (first.name, second.name) if first.name != second.name else (str(first), str(second))
    names = short if first != second else ()
    grid = compare_layers(a, b, names=names, calibrate=True, **run.arguments(compare_layers))
    run.outputs.write(grid, sources, data=f"{first.name} and {second.name}", model=first.stem)


def _compare_models(models: _model_inputs.FromModels, measure: str) -> Any:
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
        _model_inputs.read_texts(models.file, models.column),
        chosen,
        layers=models.layers or "all",
        pool=models.pool,
        names=(models.names[0], models.names[1]),
        batch_size=models.batch_size,
        device=models.device,
    )
