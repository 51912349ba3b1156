"""`shesha extract`: write the layers of a model to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shesha.cli import _model_inputs, _outputs
from shesha.cli._outputs import echo


def extract_command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            show_default=False,
            help="A folder with config.json and safetensors weights, a GGUF file, a package with either, or a name "
            "that the transformers library can load.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(help="Output: a .zarr store or a .safetensors file; rerun the same command to resume."),
    ],
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", show_default=False, help="Table with the column that --texts names."),
    ] = None,
    texts: _model_inputs.Texts = None,
    layers: _model_inputs.Layers = None,
    pool: _model_inputs.Pool = "auto",
    batch_size: _model_inputs.BatchSize = 32,
    device: _model_inputs.Device = None,
) -> None:
    """Run texts through a model and write its layers to a file, batch by batch, with constant memory."""
    models = _model_inputs.FromModels.parse([model], [file] if file else [], texts, layers, pool, batch_size, device)
    assert models is not None
    _outputs.require_separate({"--out": out}, (model, file, texts))
    layer_arrays = models.write_layers(out)
    for name, array in layer_arrays.items():
        echo(f"{name}: {' x '.join(map(str, array.shape))}")
    echo(f"wrote {out}")
