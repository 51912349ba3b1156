"""`shesha audit`: the stability of representations in files."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shesha.cli import _exchange, _files, _models
from shesha.cli._words import in_options

if TYPE_CHECKING:
    from shesha.results import Audit, RepresentationAudit

_NOT_SCORED = 2
_FEWEST = 4
"""Arrays of fewer columns (a UMAP) cannot be split into halves."""
_QUICK = 39
"""Draws of a quick audit: the smallest p-value is 0.025, and intervals are rough."""
_UNORDERED = "no order of the representations was given: name them with --key, in their order, for the drift along it"


def audit_command(
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            show_default=False,
            help="npy, npz, safetensors, parquet, csv, tsv, h5ad or zarr, or a directory of such; each array is a "
            "representation.",
        ),
    ] = None,
    labels: _exchange.Labels = None,
    label_column: Annotated[
        str | None, typer.Option(help="Column or array of labels, in --labels or else in the first FILE.")
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            help="Array to audit (may be repeated): a name, or X, layers/NAME, obsm/KEY of AnnData. Default: all."
        ),
    ] = None,
    model: _models.Model = None,
    texts: _models.Texts = None,
    layers: _models.Layers = None,
    pool: _models.Pool = "auto",
    batch_size: _models.BatchSize = 32,
    device: _models.Device = None,
    rdm: _files.Distances = False,
    metric: Annotated[str, typer.Option(help="Distance between rows: cosine, correlation or euclidean.")] = "cosine",
    confidence: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    bootstrap: Annotated[int, typer.Option(help="Resamples of the rows behind each interval; 0 for none.")] = 200,
    permutations: Annotated[int, typer.Option(help="Random matchings behind the chance level; 0 for none.")] = 200,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"A first look: {_QUICK} resamples and matchings instead of 200.")
    ] = False,
    pairs: Annotated[int | None, typer.Option(help="Use this many random pairs of rows instead of all.")] = None,
    blocks: _exchange.Blocks = None,
    groups: _exchange.Groups = None,
    within: _exchange.Within = None,
    shift: _exchange.Shift = False,
    block_length: _exchange.BlockLength = None,
    workers: Annotated[
        int | None, typer.Option(help="Processes, for several representations; default: 1, of many threads.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, instead of processes here.")
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(help="Keep what is found in this file: a run goes on where the last one ended, with new FILEs."),
    ] = None,
    layer_axis: _files.LayerAxis = "guess",
    by_position: _files.ByPosition = False,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    json: Annotated[Path | None, typer.Option(help="Write all numbers to this file; - for standard output.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture of the scores to this file.")] = None,
    html: _files.Html = None,
    card: _files.Card = None,
) -> None:
    """Audit representations: what is wrong with the data, how stable is their geometry, is it above chance?

    Several representations of the same rows (layers, checkpoints) are ranked, and their drift along the
    order given is measured. Ends with status 2 if a representation cannot be scored.
    """
    from shesha.auditing import audit
    from shesha.comparison._index import Files

    _files.require_writable(json)
    _files.require_writable(plot)
    _files.require_picture(plot)
    _files.require_page(html)
    _files.require_writable(card)
    if workers is not None and workers < 1:
        raise ValueError(f"--workers must be at least 1, got {workers}")
    models = _models.FromModels.asked(model, files, texts, layers, pool, batch_size, device)
    files = [models.file] if models is not None else list(files or ())
    as_needed = store is not None or scheduler is not None or (workers or 1) > 1 or _files.hold_directories(files)
    first = _files.first_of(files)
    exchanged = _exchange.asked([first], blocks, groups, within, shift, block_length, by_position=by_position)
    if labels is not None and label_column is None and not Path(labels).exists() and not _is_path(labels):
        labels, label_column = None, labels
    inside = (*exchanged.columns, *((label_column,) if label_column is not None and labels is None else ()))
    y = read_classes(first, None if labels is None else Path(labels), label_column, by_position=by_position)
    representations: Any
    if models is not None:
        models.require_alone(store=store, scheduler=scheduler, workers=workers, key=key, rdm=rdm)
        representations = models.every_layer()
    elif as_needed:
        axis = _files.layer_axis_of(layer_axis)
        representations = Files(
            files,
            key,
            distances=rdm,
            layer_axis=axis,
            no_features=inside,
            as_it_is=True,
            by_position=by_position,
            fewest=0 if rdm else _FEWEST,
        )
    else:
        representations = _files.read_representations(
            files, key, inside, layer_axis, by_position=by_position, fewest=0 if rdm else _FEWEST, distances=rdm
        )
    if quick:
        bootstrap, permutations = (
            value if _given(context, name) else _QUICK
            for name, value in (("bootstrap", bootstrap), ("permutations", permutations))
        )
    found = audit(
        representations,
        y,
        metric=metric,  # type: ignore[arg-type]  # Checked by name in the call.
        confidence=confidence,
        n_bootstrap=bootstrap,
        n_permutations=permutations,
        pairs=pairs,
        **exchanged.design,
        layer_axis=None,
        seed=seed,
        workers=workers,
        scheduler=scheduler,
        store=store,
    )
    if found.labels is not None and label_column is not None:
        found = replace(found, labels=replace(found.labels, column=label_column))
    if (
        models is None
        and len(found.representations) > 1
        and not _in_order(files, key, [one.name for one in found.representations])
    ):
        found = replace(found, drift=None, drift_reason=_UNORDERED)
    named = [Path(one) for one in (labels, blocks, groups, within) if one is not None]
    _files.save_page(html, found.page, [*files, *named])
    _files.save_card(card, found.card, [*files, *named], _files.named(files, model))
    show(found, json, plot)
    if quick:
        typer.echo("shesha: a first look (--quick): without it intervals are firmer and p-values finer", err=True)


def _is_path(text: str) -> bool:
    """Whether what names no file was meant as one."""
    return Path(text).suffix != "" or len(Path(text).parts) > 1


def _given(context: typer.Context, name: str) -> bool:
    """Whether an option was given."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _in_order(files: list[Path], keys: list[str] | None, names: list[str]) -> bool:
    """Whether somebody gave the order: by naming files or arrays one after the other, or by numbers in the names."""
    numbers = [re.findall(r"\d+", name) for name in names]
    numbered = all(numbers) and len({re.sub(r"\d+", "#", name) for name in names}) == 1
    return len(files) > 1 or len(keys or ()) > 1 or numbered


def read_classes(first: Path, labels: Path | None, label_column: str | None, *, by_position: bool = False) -> Any:
    """Read the labels, from their file or from a column of the first; None where there are none."""
    if labels is not None and not labels.exists():
        raise FileNotFoundError(f"--labels must be an existing file, got {labels}")
    source = labels if labels is not None else (first if label_column is not None else None)
    return None if source is None else _files.labels_of(source, label_column, by_position=by_position)


def show(found: Audit, json: Path | None, plot: Path | None) -> None:
    """Print the report, write what was asked for, and end with status 2 if something was not scored."""
    from shesha.report import as_text
    from shesha.results._audit_sections import sections

    meanings = {name: meaning.line for name, meaning in found.meanings.items()}
    _files.emit(
        as_text(sections(found, words=in_options)),
        {**found.to_dict(), "ranking": found.ranking, "meanings": meanings},
        json,
    )
    if plot is not None:
        _files.save_picture(plot, found.plot())
    if found.interrupted:
        raise typer.Exit(_files.INTERRUPTED)
    unscored = [one.name for one in found.representations if one.reason or _without_stability(one)]
    if unscored:
        typer.echo(f"shesha: not scored: {', '.join(unscored)}", err=True)
        raise typer.Exit(_NOT_SCORED)


def _without_stability(one: RepresentationAudit) -> bool:
    return one.feature_split is not None and one.feature_split.value != one.feature_split.value
