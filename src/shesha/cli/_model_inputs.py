"""Options that produce representations from a model and texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shesha.cli._options import flag
from shesha.cli._outputs import echo
from shesha.support.files import read_lines
from shesha.support.provenance import state_other_settings, state_warning
from shesha.support.wording import join_items

if TYPE_CHECKING:
    import pandas as pd

    from shesha.extract import Activations


_TABLES = (".csv", ".tsv", ".parquet")
_NAMES = ("text", "texts", "sentence", "sentences")
"""Names by which the column of texts is recognised if there are several columns of text."""


def parse_texts(texts: str | None, files: list[Path]) -> tuple[Path, str | None]:
    """Return the file and the column of the texts, given `--texts` and FILE.

    ``--texts`` is a file, a file and a column (``reviews.csv:sentence``), or a column of FILE. Without ``--texts``, the
    texts are read from FILE.
    """
    if len(files) > 1:
        raise ValueError(f"FILE must be one file of texts with --model, got {', '.join(map(str, files))}")
    if texts is None:
        if not files:
            raise ValueError("--texts must name a file of texts (one per line, or a table) with --model, got none")
        return _require_existing(files[0]), None
    if files:
        return _require_existing(files[0]), texts
    before, colon, column = texts.rpartition(":")
    if colon and column and not Path(texts).exists() and Path(before).exists():
        return Path(before), column
    return _require_existing(Path(texts)), None


def _require_existing(path: Path) -> Path:
    if not path.exists():
        raise FileNotFoundError(f"--texts must be an existing file, or a column of FILE, got {path}")
    return path


def read_texts(path: Path, column: str | None) -> list[str]:
    """Read one text per row; missing texts in a table are an error, because labels belong to the rows."""
    ending = path.suffix.lower()
    if ending in _TABLES:
        return _read_table_column(path, column)
    if ending != ".txt":
        raise ValueError(f"--texts must end in .txt, {', '.join(_TABLES)}, got {path}")
    if column is not None:
        raise ValueError(f"--texts must be a .txt file without a column, got {path}:{column}")
    texts = read_lines(path, "--texts")
    if not texts:
        raise ValueError(f"--texts must contain one text per line, got the empty file {path}")
    if sum(text.startswith(_FASTTEXT) for text in texts) > len(texts) / 2:
        state_warning(f"texts of {path.name} begin with {_FASTTEXT}, so the model reads their labels; remove them")
    return texts


_FASTTEXT = "__label__"
"""Prefix of the labels in files of fastText, which has one text and its labels per line."""


def _read_table_column(path: Path, column: str | None) -> list[str]:
    table = _table(path)
    chosen = _column(path, table, column)
    texts = table[chosen].fillna("").astype(str).tolist()
    if missing := [row for row, text in enumerate(texts) if not text.strip()]:
        raise ValueError(
            f"{chosen} in {path} must have a text in every row, got none in {len(missing):,} of {len(texts):,} rows "
            f"({join_items(missing)}); leave these rows out"
        )
    return texts


def _table(path: Path) -> pd.DataFrame:
    from shesha.io.file_checks import reading, require_file
    from shesha.io.tables import csv_frame, parquet_table

    if require_file(path).suffix.lower() == ".parquet":
        table = parquet_table(path)
        return table.read([name for name in table.names if name not in table.index])
    # In a column of texts, "None" and "NA" are words, not missing values.
    with reading(path):
        return csv_frame(path, "\t" if path.suffix.lower() == ".tsv" else ",", keep_default_na=False)


def _column(path: Path, table: pd.DataFrame, column: str | None) -> str:
    words = [str(name) for name in table if not _is_numbers(table[name])]
    if column is not None:
        if column not in table:
            raise ValueError(f"--texts must name a column of {path} ({', '.join(map(str, table))}), got {column!r}")
        return column
    likely = words if len(words) == 1 else [name for name in words if name.lower() in _NAMES]
    if len(likely) != 1:
        offered = ", ".join(f"{path}:{name}" for name in words) or "none of words"
        raise ValueError(f"--texts must name a column of the table, one of {offered}, got {path}")
    return likely[0]


def _is_numbers(column: pd.Series) -> bool:
    return column.dtype.kind in "iufbcmM"


def require_model(**options: Any) -> None:
    """Refuse options that apply only to models."""
    for name, value in options.items():
        if value:
            raise ValueError(f"{flag(name)} must come with --model, got {flag(name)} alone")


def refuse_with_model(**options: Any) -> None:
    """Refuse options that apply only to files."""
    for name, value in options.items():
        if value:
            raise ValueError(
                f"{flag(name)} must be left out with --model, got both: write the layers to a file first "
                "(shesha extract)"
            )


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
    def parse(cls, models: list[str] | None, files: list[Path] | None, options: Any) -> FromModels | None:
        """Return the models and texts, or None if representations are to be read from files."""
        if models:
            source = parse_texts(options.texts, list(files or ()))
            return cls(models, *source, options.layers, options.pool, options.batch_size, options.device)
        require_model(texts=options.texts, layers=options.layers)
        if not files:
            raise ValueError("Missing argument 'FILE...': pass it, or name a model with --model")
        return None

    def load_layers(self) -> dict[str, Any]:
        """Return all layers of the single model, by name."""
        if len(self.models) > 1:
            raise ValueError(f"--model must be given once, got {', '.join(self.models)}")
        return self._encode(self.models[0])

    @property
    def names(self) -> list[str]:
        """Short names of the models, made unique."""
        from shesha.io.array_selection import short_paths

        return short_paths(self.models)

    def last_layers(self) -> dict[str, Any]:
        """Return the output or the last block of each model, or all layers that were named, by model and layer."""
        from shesha.extract.torch_modules import output_layer

        arrays: dict[str, Any] = {}
        records: dict[str, Any] = {}
        for name, model in zip(self.names, self.models, strict=True):
            layers = self._encode(model)
            records[name] = layers.info
            output = output_layer(list(layers))
            chosen = layers if self.layers else {output: layers[output]}
            arrays |= {f"{name} {layer}": array for layer, array in chosen.items()}
        state_other_settings(records)
        return arrays

    def _encode(self, model: str, out: Path | None = None) -> Activations:
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

    def write_layers(self, out: Path) -> Activations:
        """Write the layers of the single model to a file, and return them."""
        return self._encode(self.models[0], out)
