"""Options that produce representations from a model and texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from shesha.cli._outputs import echo
from shesha.cli._text_inputs import parse_texts, read_texts

Model = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="NAME|FOLDER",
        help="Read the layers of this model instead of FILE: a folder with config.json and safetensors weights (or "
        "of a sentence encoder, or of an adapter whose base model is found), a package that contains them, or a name "
        "that the transformers library can load.",
    ),
]
Texts = Annotated[
    str | None,
    typer.Option(
        "--texts",
        metavar="FILE|COLUMN",
        help="Texts for the model: a .txt file with one text per line, a table (FILE:COLUMN if it has several text "
        "columns), or a column of FILE.",
    ),
]
Layers = Annotated[
    list[str] | None,
    typer.Option(
        "--layers",
        metavar="GLOB",
        help="Modules to read, such as 'encoder.layer.*' (may be repeated). * matches one part between dots, ** any "
        "number of parts.",
    ),
]
Pool = Annotated[
    str,
    typer.Option(
        "--pool",
        help="Pooling of tokens into a row: auto (as the model's authors intend), mean, cls, last, later (mean of "
        "all tokens after the first), max, mean_sqrt_len or weightedmean; names joined by + are concatenated.",
    ),
]
BatchSize = Annotated[int, typer.Option("--batch-size", help="Texts per batch.")]
Device = Annotated[str | None, typer.Option("--device", help="Device that runs the model, such as cuda; default: CPU.")]


@dataclass(frozen=True)
class FromModels:
    """Models, and the texts that they encode.

    Attributes
    ----------
    models : sequence of str
        Names or folders of the models.
    file : Path
        The file with the texts, which may also contain columns of labels.
    column : str or None
        Name of the column with the texts, or None to find it automatically.
    """

    models: Sequence[str]
    file: Path
    column: str | None
    layers: list[str] | None
    pool: str
    batch_size: int
    device: str | None = None

    @classmethod
    def parse(
        cls,
        models: list[str] | None,
        files: list[Path] | None,
        texts: str | None,
        layers: list[str] | None,
        pool: str,
        batch_size: int,
        device: str | None,
    ) -> FromModels | None:
        """Return the models and texts, or None if representations are to be read from files."""
        if models:
            return cls(models, *parse_texts(texts, list(files or ())), layers, pool, batch_size, device)
        for option, there in (("--texts", texts), ("--layers", layers)):
            if there:
                raise ValueError(f"{option} must come with --model, got {option} alone")
        if not files:
            raise ValueError("Missing argument 'FILE...': pass it, or name a model with --model")
        return None

    def require_alone(self, **options: Any) -> None:
        """Refuse options that apply only to files."""
        passed = [f"--{name.replace('_', '-')}" for name, there in options.items() if there]
        if passed:
            raise ValueError(
                f"{passed[0]} must be left out with --model, got both: write the layers to a file first "
                "(shesha extract)"
            )

    def load_layers(self) -> dict[str, Any]:
        """Return all layers of the single model, by name."""
        if len(self.models) > 1:
            raise ValueError(f"--model must be given once, got {', '.join(self.models)}")
        return self._encode(self.models[0])

    @property
    def names(self) -> list[str]:
        """Short names of the models, made unique."""
        from shesha.io.representation_names import short_paths

        return short_paths(self.models)

    def last_layers(self) -> dict[str, Any]:
        """Return the output or the last block of each model, or all layers that were named, by model and layer."""
        from shesha.extract.layer_names import output_layer

        arrays: dict[str, Any] = {}
        for name, model in zip(self.names, self.models, strict=True):
            layers = self._encode(model)
            output = output_layer(list(layers))
            chosen = layers if self.layers else {output: layers[output]}
            arrays |= {f"{name} {layer}": array for layer, array in chosen.items()}
        return arrays

    def _encode(self, model: str, out: Path | None = None) -> dict[str, Any]:
        from shesha.extract import encode

        encodings = encode(
            model,
            read_texts(self.file, self.column),
            self.layers or "all",
            pool=self.pool,
            batch_size=self.batch_size,
            device=self.device,
            out=out,
        )
        echo(f"shesha: {encodings.describe()}", err=True)
        return encodings

    def write_layers(self, out: Path) -> dict[str, Any]:
        """Write the layers of the single model to a file, and return them."""
        return self._encode(self.models[0], out)
