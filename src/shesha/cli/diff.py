"""`shesha diff`: report which layers changed between two versions of a model by more than noise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from shesha.cli import _design_options, _file_inputs, _model_inputs, _outputs
from shesha.cli._model_inputs import parse_texts, read_texts
from shesha.results.changes.vector_index_verdict import IndexMetric

_MODEL = (
    "Model before and after the change (pass the option twice): a folder, a package or a name that the transformers "
    "library can load."
)
_TEXTS = "Texts for the models: a .txt file with one text per line, or a table (FILE:COLUMN)."


def diff_command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="BEFORE AFTER", show_default=False, help="Two files with layers of the same rows."),
    ] = None,
    model: Annotated[list[str] | None, typer.Option("--model", metavar="NAME|FOLDER", help=_MODEL)] = None,
    texts: Annotated[str | None, typer.Option("--texts", metavar="FILE[:COLUMN]", help=_TEXTS)] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|COLUMN", help="Class of each row: FILE with one label per row, or COLUMN of the texts."
        ),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE|MODEL", help="Further runs of the same change, such as other seeds (may be repeated)."
        ),
    ] = None,
    again: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="Re-encoding of BEFORE without any change, for the noise floor (may be repeated)."
        ),
    ] = None,
    index: Annotated[
        bool,
        typer.Option(
            "--index",
            help="Test new queries on old vectors, to decide whether to keep the index, map the queries or re-embed.",
        ),
    ] = False,
    index_metric: Annotated[
        str, typer.Option(help="Metric of the index: cosine, ip (inner product) or l2 (Euclidean distance).")
    ] = "cosine",
    max_loss: Annotated[float, typer.Option(help="Largest acceptable loss of recall, for --index.")] = 0.05,
    match: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BEFORE=AFTER|name|position",
            help="Which layers correspond, where names are ambiguous: pairs such as 'layer.*=model.layer.*' (may be "
            "repeated), only layers of the same name, or layers in order.",
        ),
    ] = None,
    html: _outputs.Html = None,
    explore: _outputs.Explore = None,
    reencode: Annotated[
        bool,
        typer.Option(
            "--reencode/--no-reencode", help="Encode twice more with the old model, to measure the noise floor."
        ),
    ] = True,
    layers: _model_inputs.Layers = None,
    pool: _model_inputs.Pool = "auto",
    batch_size: _model_inputs.BatchSize = 32,
    device: _model_inputs.Device = None,
    key: Annotated[
        list[str] | None,
        typer.Option(help="Array to compare (may be repeated): a name, or X, layers/NAME, obsm/KEY of AnnData."),
    ] = None,
    rows: Annotated[
        int, typer.Option("--rows", help="Maximum number of random rows from which changes are computed.")
    ] = 500,
    blocks: _design_options.Blocks = None,
    groups: _design_options.Groups = None,
    layer_axis: _file_inputs.LayerAxis = "guess",
    by_position: _file_inputs.ByPosition = False,
    identity: _file_inputs.Id = None,
    shared_rows: _file_inputs.SharedRows = False,
    missing: _file_inputs.Missing = "refuse",
    transpose: _file_inputs.Transpose = False,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    json: _outputs.Json = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture of the change over depth to this file.")] = None,
) -> None:
    """Report which layers changed by more than noise, such as after fine-tuning, quantising or an upgrade."""
    from shesha.changes import diff
    from shesha.io.representation_names import short_paths

    row_options = _file_inputs.RowOptions(identity, by_position, shared_rows, missing, transpose)
    paths = list(files or ())
    inputs = (*paths, *(model or ()), texts, labels, blocks, groups, *(also or ()), *(again or ()))
    outputs = _outputs.Outputs(json, plot, html, None, inputs, explore)
    if model:
        first, column = _text_file(model, paths, texts, again, key)
        sides: tuple[Any, Any] = (model[0], model[1])
        others: dict[str, Any] = {
            "texts": read_texts(first, column),
            "encoding": {"layers": layers or "all", "pool": pool, "batch_size": batch_size, "device": device},
            "also": also or (),
            "again": None if reencode else (),
            "names": short_paths(model),
        }
    else:
        _require_two(paths, texts, layers, key, match)
        first = paths[0]
        runs = [Path(path) for path in (*(again or ()), *(also or ()))]
        inside = [name for name in (labels, blocks, groups) if name is not None and not Path(name).exists()]
        before, after, *more = _file_inputs.read_each([*paths, *runs], key, inside, layer_axis, rows=row_options)
        sides = before, after
        row_options.state_pairing(before, after)
        n_again = len(again or ())
        others = {"again": more[:n_again], "also": more[n_again:], "names": short_paths(paths)}
    y = _design_options.labels_named("labels", labels, first, rows=row_options)
    design = _design_options.read_design([first], blocks, groups, None, False, None, rows=row_options).design
    others |= row_options.choice
    result = diff(
        *sides,
        y,
        **others,
        blocks=design.get("blocks"),
        groups=design.get("groups"),
        index=index,
        index_metric=cast(IndexMetric, index_metric),
        max_loss=max_loss,
        match=_parse_match(match),
        row_map=explore is not None,
        max_rows=rows,
        seed=seed,
        layer_axis=None,
    )
    page = None if result.row_map is None else result.row_map.page
    outputs.write(replace(result, row_map=None), [first] if model else paths, row_map=page, brief=True)


def _parse_match(values: list[str] | None) -> dict[str, str] | Literal["name", "position"] | None:
    """Return pairs of layers, or the rule that the user chose."""
    if not values:
        return None
    if values in (["name"], ["position"]):
        return cast(Literal["name", "position"], values[0])
    pairs = [value.partition("=") for value in values]
    if not all(before and after for before, _, after in pairs):
        raise ValueError(f"--match must be name, position or pairs BEFORE=AFTER, got {', '.join(values)}")
    return {before: after for before, _, after in pairs}


def _text_file(
    models: list[str], files: list[Path], texts: str | None, again: list[str] | None, key: list[str] | None
) -> tuple[Path, str | None]:
    """Return the file and column of the texts that both models encode."""
    if len(models) != 2:
        raise ValueError(f"--model must be given twice, before and after, got {', '.join(models)}")
    for option, there in (("--again", again), ("--key", key)):
        if there:
            raise ValueError(f"{option} must be left out with --model, got both")
    return parse_texts(texts, files)


def _require_two(
    files: list[Path], texts: str | None, layers: list[str] | None, key: list[str] | None, match: list[str] | None
) -> None:
    for option, there in (("--texts", texts), ("--layers", layers)):
        if there:
            raise ValueError(f"{option} must come with --model, got {option} alone")
    if len(files) != 2:
        raise ValueError(
            f"BEFORE and AFTER must be two files, or two --model, got {', '.join(map(str, files)) or 'none'}"
        )
    if key and len(key) > 1 and not match and files[0].resolve() == files[1].resolve():
        raise ValueError(
            f"BEFORE and AFTER must be different files, got {files[0]} twice, so each --key is compared with itself. "
            f"To compare two arrays of one file, pass --match '{key[0]}={key[1]}'"
        )
