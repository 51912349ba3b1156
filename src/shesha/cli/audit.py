"""`shesha audit`: the stability of representations in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from shesha.results import Audit, RepresentationAudit

_NOT_SCORED = 2
_PICTURES = (".png", ".pdf", ".svg")


def audit_command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            show_default=False,
            help="npy, npz, safetensors, parquet, csv, tsv, h5ad or zarr; each array is a representation.",
        ),
    ],
    labels: Annotated[Path | None, typer.Option(help="File with one class label per row.")] = None,
    label_column: Annotated[
        str | None, typer.Option(help="Column or array of labels, in --labels or else in the first FILE.")
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            help="Array to audit (may be repeated): a name, or X, layers/NAME, obsm/KEY of AnnData. Default: all."
        ),
    ] = None,
    metric: Annotated[str, typer.Option(help="Distance between rows: cosine, correlation or euclidean.")] = "cosine",
    confidence: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    bootstrap: Annotated[int, typer.Option(help="Resamples of the rows behind each interval; 0 for none.")] = 200,
    permutations: Annotated[int, typer.Option(help="Random matchings behind the chance level.")] = 200,
    pairs: Annotated[int | None, typer.Option(help="Use this many random pairs of rows instead of all.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    json: Annotated[Path | None, typer.Option(help="Write all numbers to this file; - for standard output.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture of the scores to this file.")] = None,
) -> None:
    """Audit representations: what is wrong with the data, how stable is their geometry, is it above chance?

    Several representations of the same rows (layers, checkpoints) are ranked, and their drift along the
    order given is measured. Ends with status 2 if a representation cannot be scored.
    """
    from shesha.stability import audit

    for path in (json, plot):
        require_writable(path)
    if plot is not None and plot.suffix.lower() not in _PICTURES:
        raise ValueError(f"--plot must end in one of {', '.join(_PICTURES)}, got {str(plot)!r}")
    representations, y = load(files, labels, label_column, key)
    found = audit(
        representations,
        y,
        metric=metric,  # type: ignore[arg-type]  # Checked by name in the call.
        confidence=confidence,
        n_bootstrap=bootstrap,
        n_permutations=permutations,
        pairs=pairs,
        seed=seed,
    )
    show(found, json, plot)


def load(
    files: list[Path], labels: Path | None, label_column: str | None, keys: list[str] | None
) -> tuple[dict[str, Any], Any]:
    """Read the representations of all files, and the labels."""
    from shesha.io import open_file, read_labels

    repeated = [str(path) for path in dict.fromkeys(files) if files.count(path) > 1]
    if repeated:
        raise ValueError(f"FILE must be given once each, got {', '.join(repeated)} repeatedly")
    source = labels if labels is not None else (files[0] if label_column is not None else None)
    y = None if source is None else read_labels(source, label_column)
    inside = label_column if labels is None else None
    representations: dict[str, Any] = {}
    for path in files:
        contents = open_file(path, keys=keys, labels_column=inside)
        for name, array in contents.representations.items():
            full = name if len(files) == 1 or name == path.stem else f"{path.stem}:{name}"
            if full in representations:
                full = f"{path}:{name}"
            representations[full] = array
        if keys is None:
            unexpected = {name: why for name, why in contents.skipped.items() if name != inside}
            for name, reason in unexpected.items():
                typer.echo(f"{path}: skipped {name}: {reason}", err=True)
    return representations, y


def show(found: Audit, json: Path | None, plot: Path | None) -> None:
    """Print the report, write what was asked for, and end with status 2 if something was not scored."""
    if json is None or str(json) != "-":
        typer.echo(str(found))
    if json is not None:
        text = as_json(found)
        if str(json) == "-":
            typer.echo(text)
        else:
            _write(json, text)
    if plot is not None:
        found.plot().figure.savefig(plot, dpi=150)  # type: ignore[union-attr]
    unscored = [one.name for one in found.representations if one.reason or _without_stability(one)]
    if unscored:
        typer.echo(f"shesha: not scored: {', '.join(unscored)}", err=True)
        raise typer.Exit(_NOT_SCORED)


def _without_stability(one: RepresentationAudit) -> bool:
    return one.feature_split is not None and one.feature_split.value != one.feature_split.value


def require_writable(path: Path | None) -> None:
    """Refuse, before the long work, to write where no file can be."""
    if path is None or str(path) == "-":
        return
    if path.is_dir():
        raise IsADirectoryError(f"the file to write must be a file, got the directory {path}")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder of the file to write must exist, got {path}")


def as_json(found: Audit) -> str:
    """Return an audit as standard JSON, where a missing number is null."""
    import json
    from importlib.metadata import version

    from shesha.results._audit_text import MEANINGS

    content = {
        "shesha": version("shesha"),
        **found.to_dict(),
        "ranking": found.ranking,
        "meanings": {name: meaning.line for name, meaning in MEANINGS.items()},
    }
    return json.dumps(_plain(content), indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    """Replace what JSON does not know."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if value - value == 0 else None
    return value


def _write(path: Path, text: str) -> None:
    """Write under a temporary name first: a reader never sees half a file."""
    temporary = path.with_name(path.name + ".part")
    try:
        temporary.write_text(text + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
