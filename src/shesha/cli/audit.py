"""`shesha audit`: measure the stability of representations in files."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shesha.cli import _design_options, _file_inputs, _model_inputs, _outputs
from shesha.cli._option_names_in_messages import name_options
from shesha.cli._outputs import describe_inputs, echo
from shesha.support.draw_counts import N_BOOTSTRAP, N_PERMUTATIONS
from shesha.support.wording import visible

if TYPE_CHECKING:
    from shesha.report import Section
    from shesha.results import Audit, RepresentationAudit

_NOT_SCORED = 2
_QUICK = 39
"""Number of permutations and resamples in a quick audit: p-values are at least 0.025, intervals rough."""
_QUICK_PAIRS = 100_000
"""Number of row pairs in a quick audit; sampling them changes scores by at most 0.006."""
_QUICK_NOTE = "shesha: --quick gives a first look; without it, intervals are more reliable and p-values more precise"
_UNORDERED = "no order of the representations was given, so drift is not computed: name them in order with --key"


def audit_command(
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            show_default=False,
            help=f"{_file_inputs.FORMATS}, or a directory of such files; each array is a representation.",
        ),
    ] = None,
    labels: _design_options.Labels = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            help="Array to audit (may be repeated): a name, or X, layers/NAME, obsm/KEY of AnnData. Default: all."
        ),
    ] = None,
    model: _model_inputs.Model = None,
    texts: _model_inputs.Texts = None,
    layers: _model_inputs.Layers = None,
    pool: _model_inputs.Pool = "auto",
    batch_size: _model_inputs.BatchSize = 32,
    device: _model_inputs.Device = None,
    rdm: _file_inputs.Distances = False,
    metric: Annotated[str, typer.Option(help="Distance between rows: cosine, correlation or euclidean.")] = "cosine",
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    bootstrap: Annotated[
        int, typer.Option(help="Number of bootstrap resamples for each interval; 0 for none.")
    ] = N_BOOTSTRAP,
    permutations: Annotated[
        int, typer.Option(help="Number of permutations for the chance level; 0 for none.")
    ] = N_PERMUTATIONS,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help=f"Compute less, for a first look: {_QUICK} resamples, {_QUICK} permutations, {_QUICK_PAIRS:,} pairs.",
        ),
    ] = False,
    pairs: Annotated[
        str | None,
        typer.Option(help="Number of random pairs of rows, or all; default: all for up to 1,414 rows, else 1,000,000."),
    ] = None,
    blocks: _design_options.Blocks = None,
    groups: _design_options.Groups = None,
    within: _design_options.Within = None,
    shift: _design_options.Shift = False,
    block_length: _design_options.BlockLength = None,
    workers: _design_options.WorkersOfSeveral = None,
    scheduler: _design_options.Scheduler = None,
    store: Annotated[
        Path | None,
        typer.Option(
            help="Keep results in this file. Rerun the same command to resume, or pass further FILEs to add them."
        ),
    ] = None,
    layer_axis: _file_inputs.LayerAxis = "guess",
    by_position: _file_inputs.ByPosition = False,
    identity: _file_inputs.Id = None,
    shared_rows: _file_inputs.SharedRows = False,
    missing: _file_inputs.Missing = "refuse",
    transpose: _file_inputs.Transpose = False,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    json: _outputs.Json = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture of the scores to this file.")] = None,
    html: _outputs.Html = None,
    card: _outputs.Card = None,
    full: Annotated[bool, typer.Option("--full", help="Print every number with an explanation.")] = False,
) -> None:
    """Check data for problems, and measure how stable the geometry is and whether it is above chance.

    If there are several representations of the same rows (layers, checkpoints), the report ranks them and measures
    their drift in the given order. The exit status is 2 if a representation cannot be scored.
    """
    from shesha.auditing import audit

    inputs = (*(files or ()), *(model or ()), texts, labels, blocks, groups, within, store)
    outputs = _outputs.Outputs(json, plot, html, card, inputs)
    row_options = _file_inputs.RowOptions(identity, by_position, shared_rows, missing, transpose)
    _design_options.require_workers(workers)
    models = _model_inputs.FromModels.parse(model, files, texts, layers, pool, batch_size, device)
    files = [models.file] if models is not None else list(files or ())
    first = _file_inputs.first_file(files)
    exchanged = _design_options.read_design([first], blocks, groups, within, shift, block_length, rows=row_options)
    inside = (*exchanged.columns, *_design_options.column_of_first_file(labels))
    y = _design_options.labels_named("labels", labels, first, rows=row_options)
    execution: dict[str, Any] = {"workers": workers, "scheduler": scheduler, "store": store}
    if models is not None:
        models.require_alone(**execution, key=key, rdm=rdm)
        representations = models.load_layers()
    else:
        representations = _read_files(context, execution, files, key, inside, rdm, layer_axis, row_options)
    if quick:
        bootstrap, permutations, pairs = _quick_counts(context, bootstrap, permutations, pairs)
    result = audit(
        representations,
        y,
        metric=metric,  # type: ignore[arg-type]  # Checked by name in the call.
        confidence=confidence,
        n_bootstrap=bootstrap,
        n_permutations=permutations,
        pairs=_file_inputs.parse_pairs(pairs),
        **exchanged.design,
        layer_axis=None,
        **row_options.choice,
        seed=seed,
        **execution,
    )
    result = _note_label_column(result, labels)
    result = result if models is not None else _drop_unordered_drift(result, files, key)
    named = [Path(name) for name in (labels, blocks, groups, within) if name is not None]
    show(result, outputs, [*files, *named], describe_inputs(files, model), full=full)
    if quick:
        echo(_QUICK_NOTE, err=True)


def _read_files(
    context: typer.Context,
    execution: dict[str, Any],
    files: list[Path],
    keys: list[str] | None,
    inside: tuple[str, ...],
    rdm: bool,
    layer_axis: str,
    row_options: _file_inputs.RowOptions,
) -> Any:
    """Return the arrays of the files, or `Files` if each process should read what it needs."""
    several_processes = (execution["workers"] or 1) > 1 or execution["scheduler"] is not None
    if several_processes or execution["store"] is not None or _file_inputs.hold_directories(files):
        return _lazy_files(files, keys, inside, rdm, layer_axis, row_options)
    mapped = files if rdm or keys or row_options.transpose else _map_large(context, files, inside)
    return _read_all(mapped, keys, inside, rdm, layer_axis, row_options)


def _read_all(
    files: list[Path],
    keys: list[str] | None,
    inside: tuple[str, ...],
    rdm: bool,
    layer_axis: str,
    row_options: _file_inputs.RowOptions,
) -> Any:
    """Read every array of every file."""
    return _file_inputs.read_representations(files, keys, inside, layer_axis, rows=row_options, distances=rdm)


def _map_large(context: typer.Context, files: list[Path], inside: Sequence[str]) -> list[Path]:
    """Return the files, with temporary copies of those that neither fit in memory nor can be mapped."""
    if len(set(files)) < len(files):
        return files
    from shesha.io.large_matrices import copy_large_files

    return copy_large_files(context.with_resource, files, lambda text: echo(f"shesha: {text}", err=True), inside)


def _lazy_files(
    files: list[Path],
    keys: list[str] | None,
    inside: tuple[str, ...],
    rdm: bool,
    layer_axis: str,
    row_options: _file_inputs.RowOptions,
) -> Any:
    """Return `Files`, from which each process reads what it needs."""
    from shesha.comparison.input_manifest import Files

    return Files(
        files,
        keys,
        distances=rdm,
        layer_axis=_file_inputs.parse_layer_axis(layer_axis),
        no_features=inside,
        as_it_is=True,
        flatten=True,
        by_position=row_options.by_position,
        ids=row_options.ids,
        transpose=row_options.transpose,
        fewest=0 if rdm else _file_inputs.FEWEST_COLUMNS,
    )


def _note_label_column(result: Audit, labels: str | None) -> Audit:
    """Add the name of the label column to the result."""
    if result.labels is None or labels is None:
        return result
    column = _design_options.split_source(labels)[1]
    return result if column is None else replace(result, labels=replace(result.labels, column=column))


def _drop_unordered_drift(result: Audit, files: list[Path], keys: list[str] | None) -> Audit:
    """Remove the drift along the order if the user gave no order."""
    names = [representation.name for representation in result.representations]
    if len(names) < 2 or _has_order(files, keys, names):
        return result
    return replace(result, drift=None, drift_reason=_UNORDERED)


def _quick_counts(context: typer.Context, bootstrap: int, permutations: int, pairs: str | None) -> tuple[int, int, str]:
    """Replace the counts that the user did not set by those of a quick audit."""
    return (
        bootstrap if _is_set(context, "bootstrap") else _QUICK,
        permutations if _is_set(context, "permutations") else _QUICK,
        str(_QUICK_PAIRS) if pairs is None else pairs,
    )


def _is_set(context: typer.Context, name: str) -> bool:
    """Return whether the user set an option."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _has_order(files: list[Path], keys: list[str] | None, names: list[str]) -> bool:
    """Return whether the user gave an order, by listing files or arrays or by numbers in their names."""
    numbers = [re.findall(r"\d+", name) for name in names]
    numbered = all(numbers) and len({re.sub(r"\d+", "#", name) for name in names}) == 1
    return len(files) > 1 or len(keys or ()) > 1 or numbered


def show(
    result: Audit, outputs: _outputs.Outputs, files: Sequence[Path] = (), data: str = "", *, full: bool = False
) -> None:
    """Print the report and write the requested files; exit with status 2 if something was not scored."""
    from shesha.report import as_full_text, as_screen
    from shesha.results.audit.report import audit_page

    meanings = {name: meaning.line for name, meaning in result.meanings.items()}
    more = _next_commands(result, outputs, files)

    def text(found: Audit) -> str:
        page = found.stated(audit_page(found, name_options))
        return visible(as_full_text(page) if full else as_screen(page, more=more))

    outputs.write(
        result,
        files,
        report=text,
        content={**result.to_dict(), "ranking": result.ranking, "meanings": meanings},
        data=data,
        brief=not full,
    )
    unscored = [
        representation.name
        for representation in result.representations
        if representation.reason or _lacks_stability(representation)
    ]
    if unscored:
        echo(f"shesha: no score for {', '.join(unscored)}", err=True)
        raise typer.Exit(_NOT_SCORED)


def _next_commands(result: Audit, outputs: _outputs.Outputs, files: Sequence[Path]) -> Section:
    """Return up to two further commands, one of which shows all numbers."""
    from shesha.results.audit.report import next_steps

    typed = ["shesha", *sys.argv[1:]]
    best = result.ranking[:2]
    steps = []
    if len(best) == 2 and len(files) and "--model" not in typed:
        keys = [word for name in best for word in ("--key", name)]
        same = f"Are {best[0]} and {best[1]} similar above chance?"
        steps.append((same, shlex.join(["shesha", "compare", str(files[0]), *keys, "--calibrate"])))
    elif best:
        steps.append(("What does this number mean?", "shesha scores feature_split"))
    if outputs.html is None:
        steps.append(("Every number as a page (or here, with --full):", shlex.join([*typed, "--html", "audit.html"])))
    return next_steps(steps or [("Every number here:", shlex.join([*typed, "--full"]))])


def _lacks_stability(representation: RepresentationAudit) -> bool:
    return (
        representation.feature_split is not None
        and representation.feature_split.value != representation.feature_split.value
    )
