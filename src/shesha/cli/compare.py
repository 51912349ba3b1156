"""`shesha compare`: measure the similarity of representations in files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from shesha.cli import _compare_large_files, _design_options, _file_inputs, _model_inputs, _outputs, _worker_options
from shesha.cli._compare_modes import MOST_ROWS_CALIBRATED, ArrayComparison, is_quickly_calibrated, require_value
from shesha.support.default_draw_counts import N_PERMUTATIONS


def compare_command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            show_default=False,
            help=f"{_file_inputs.FORMATS}, or a directory of such files; each array is a representation.",
        ),
    ] = None,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            help="Measures to compute: 'recommended' (default: unbiased CKA, RSA, mutual kNN), 'standard', 'all', a "
            "family, 'ReSi', or names such as 'CKA,mutual kNN(k=20)'."
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(help="Array to compare (may be repeated): a name, or X, layers/NAME, obsm/KEY of AnnData."),
    ] = None,
    model: _model_inputs.Model = None,
    texts: _model_inputs.Texts = None,
    layers: _model_inputs.Layers = None,
    pool: _model_inputs.Pool = "auto",
    batch_size: _model_inputs.BatchSize = 32,
    device: _model_inputs.Device = None,
    rdm: _file_inputs.Distances = False,
    calibrate: Annotated[
        bool | None,
        typer.Option(
            "--calibrate/--no-calibrate",
            help="Add chance level, p-value, calibrated score and interval. [default: on for two representations of up "
            f"to {MOST_ROWS_CALIBRATED:,} rows, with the recommended measures]",
        ),
    ] = None,
    permutations: Annotated[
        int | None,
        typer.Option(
            help=f"Number of permutations of the rows for chance levels. [default: {N_PERMUTATIONS}; with --labels, as "
            "many as the number of classes needs]"
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    folds: Annotated[
        int | None,
        typer.Option(
            help="Add held-out values, from this many folds, to measures that fit a map (CCA, LinReg, OrthProc)."
        ),
    ] = None,
    queries: Annotated[
        int | None,
        typer.Option(help="Estimate measures of neighbours from this many random rows, compared with all rows."),
    ] = None,
    pairs: Annotated[
        int | None, typer.Option(help="Estimate measures of distances from this many random pairs of rows.")
    ] = None,
    error: Annotated[
        float | None, typer.Option(help="Sample rows and pairs until the Monte Carlo standard error is this small.")
    ] = None,
    workers: _worker_options.WorkersOfSeveral = None,
    scheduler: _worker_options.Scheduler = None,
    store: Annotated[
        Path | None,
        typer.Option(
            help="Keep results in this file. Rerun the same command to resume, or pass further FILEs to add them."
        ),
    ] = None,
    shards: Annotated[
        bool,
        typer.Option(
            "--shards",
            help="Compare two directories, each of which is one representation. Its .npy or .parquet files contain "
            "consecutive rows, in the order of their names. All rows are read in one pass; rerun the same command to "
            "resume.",
        ),
    ] = False,
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
    covariates: _design_options.Covariates = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|COLUMN",
            help="Compare the first representation with every other one within each class (cell type), with "
            "chance levels: FILE (or FILE:COLUMN) with one label per row, or COLUMN of the first FILE.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    json: _outputs.Json = None,
    plot: Annotated[Path | None, typer.Option(help="Write a heat map of the first measure to this file.")] = None,
    html: _outputs.Html = None,
    explore: _outputs.Explore = None,
    card: _outputs.Card = None,
) -> None:
    """Compare representations of the same rows by one or more similarity measures.

    For two arrays, the table has one line per measure. For more arrays, it contains every pair. The exit status is 2
    if no measure has a value.
    """
    n_permutations = N_PERMUTATIONS if permutations is None else permutations
    inputs = (*(files or ()), *(model or ()), texts, labels, blocks, groups, within, *(covariates or ()), store)
    outputs = _outputs.Outputs(json, plot, html, card, inputs, explore)
    row_options = _file_inputs.RowOptions(identity, by_position, shared_rows, missing, transpose)
    chosen = _split(measures or (["RSA", "mutual kNN"] if rdm else ["recommended"]))
    _check_options(card, calibrate, labels, workers, covariates, plot)
    models = _model_inputs.FromModels.parse(model, files, texts, layers, pool, batch_size, device)
    files = [models.file] if models is not None else list(files or ())
    sample = {"queries": queries, "pairs": pairs, "error": error}
    read_design = partial(
        _design_options.read_design, files, blocks, groups, within, shift, block_length, rows=row_options
    )
    common: dict[str, Any] = {
        "permutations": n_permutations,
        "confidence": confidence,
        "seed": seed,
        "outputs": outputs,
    }
    comparison_of = partial(ArrayComparison, measures=chosen, files=files, models=model, rows=row_options, **common)
    if models is not None:
        models.require_alone(store=store, scheduler=scheduler, key=key, rdm=rdm)
    elif not shards and (store is not None or scheduler is not None or _file_inputs.hold_directories(files)):
        _compare_large_files.suggest_shards(files)
        _refuse_with_many_files(covariates=covariates, labels=labels, folds=folds, explore=explore, **sample)
        _refuse_columns({"blocks": blocks, "groups": groups, "within": within})
        execution: dict[str, Any] = {"workers": workers, "scheduler": scheduler, "store": store}
        lazy_files = _lazy_files(files, key, rdm, layer_axis, row_options)
        comparison_of(exchanged=read_design()).compare_all_pairs(lazy_files, calibrate=bool(calibrate), **execution)
        return
    if shards:
        options = {"covariates": covariates, "labels": labels, "folds": folds, "plot": plot, "rdm": rdm, "key": key}
        options |= {
            "model": model,
            "store": store,
            "transpose": transpose,
            "scheduler": scheduler,
            "blocks": blocks,
            "groups": groups,
        }
        _compare_large_files.require_shards(files, options | {"within": within, "shift": shift, "explore": explore})
    exchanged = read_design(covariates or ())
    classes = _design_options.labels_named("labels", labels, files[0], rows=row_options)
    plain = exchanged.is_empty and not (key or rdm or labels or folds or plot or transpose)
    if models is None and (shards or _compare_large_files.needs_stretches(files, chosen, plain=plain)):
        _compare_beyond_memory(files, chosen, sample, calibrate=bool(calibrate), **common)
        return
    columns = (*exchanged.columns, *_design_options.column_of_first_file(labels))
    arrays = _read_arrays(models, files, key, columns, layer_axis, row_options, rdm)
    sample = {"folds": folds, **sample}
    _refuse_for_several(len(arrays), labels, sample, explore, rdm)
    if labels is not None:
        comparing = comparison_of(exchanged=exchanged, permutations_by_default=permutations is None)
        comparing.compare_within(arrays, classes, standard=not measures)
    else:
        _compare_arrays(comparison_of(exchanged=exchanged), arrays, calibrate, sample, workers, standard=not measures)


def _check_options(
    card: Path | None,
    calibrate: bool | None,
    labels: str | None,
    workers: int | None,
    covariates: list[str] | None,
    plot: Path | None,
) -> None:
    """Refuse options that exclude one another or are out of range."""
    if card is not None and (not calibrate or labels is not None):
        raise ValueError(
            "--card needs --calibrate and excludes --labels: a similarity cannot be judged without its chance level"
        )
    _worker_options.require_workers(workers)
    if covariates and plot is not None:
        raise ValueError(
            "--plot must be left out with --covariates, got both: the picture does not control for covariates"
        )


def _compare_beyond_memory(
    files: list[Path],
    measures: list[str],
    sample: dict[str, Any],
    *,
    calibrate: bool,
    permutations: int,
    confidence: float,
    seed: int,
    outputs: _outputs.Outputs,
) -> None:
    """Compare two files that do not fit in memory."""
    chance = {"calibrate": calibrate, "n_draws": permutations, "alpha": 0.05}
    settings = {**sample, "confidence": confidence}
    comparison = _compare_large_files.compare_large(files, measures, settings, seed=seed, **chance)
    outputs.write(comparison, files)
    require_value(comparison.scores)


def _compare_arrays(
    comparing: ArrayComparison,
    arrays: dict[str, Any],
    calibrate: bool | None,
    sample: dict[str, Any],
    workers: int | None,
    *,
    standard: bool,
) -> None:
    """Compare two arrays with the options for a pair, or all pairs of several arrays."""
    if len(arrays) == 2:
        if calibrate is None:
            calibrate = standard and not any(sample.values()) and is_quickly_calibrated(arrays)
        comparing.pair(arrays, calibrate=calibrate, **sample)
    elif comparing.exchanged.covariates is not None:
        raise ValueError(f"--covariates needs exactly two representations, got {len(arrays)}: choose them with --key")
    else:
        comparing.compare_all_pairs(arrays, calibrate=bool(calibrate), workers=workers, layer_axis=None)


def _read_arrays(
    models: _model_inputs.FromModels | None,
    files: list[Path],
    keys: list[str] | None,
    columns: tuple[str, ...],
    layer_axis: str,
    rows: _file_inputs.RowOptions,
    rdm: bool,
) -> dict[str, Any]:
    """Return at least two representations, from models or files; columns of labels are not features."""
    if models is not None:
        arrays, source = models.last_layers(), "--model must give"
    else:
        source = "FILE must contain"
        arrays = _file_inputs.read_representations(files, keys, columns, layer_axis, rows=rows, distances=rdm)
    if len(arrays) < 2:
        raise ValueError(f"{source} at least two representations in total, got {', '.join(arrays) or 'none'}")
    return arrays


def _refuse_for_several(
    n_arrays: int, labels: str | None, sample: dict[str, Any], explore: Path | None, rdm: bool
) -> None:
    """Refuse options that require exactly two representations."""
    for option, value in sample.items():
        if value is not None and (labels is not None or n_arrays != 2):
            raise ValueError(f"--{option} needs exactly two representations, and no --labels, got {n_arrays}")
    if explore is not None and (rdm or n_arrays != 2):
        raise ValueError(f"--explore needs exactly two representations, and no --rdm, got {n_arrays}")


def _refuse_with_many_files(**options: Any) -> None:
    passed = [f"--{name.replace('_', '-')}" for name, value in options.items() if value]
    if passed:
        raise ValueError(f"{passed[0]} needs two representations in files, got --store, --scheduler or a directory")


def _refuse_columns(named: dict[str, str | None]) -> None:
    for option, value in named.items():
        if value is not None and not Path(value).exists():
            raise ValueError(
                f"--{option} must be a file with --store, --scheduler or a directory, got {value!r}, which is not a "
                "file"
            )


def _lazy_files(
    files: list[Path], keys: list[str] | None, rdm: bool, layer_axis: str, rows: _file_inputs.RowOptions
) -> Any:
    """Return `Files`, whose arrays are read when needed."""
    from shesha.comparison.input_manifest import Files

    return Files(
        files,
        keys,
        rdm,
        _file_inputs.parse_layer_axis(layer_axis),
        by_position=rows.by_position,
        ids=rows.ids,
        transpose=rows.transpose,
        flatten=True,
    )


def _split(names: list[str]) -> list[str]:
    """Split names at commas that are outside parentheses."""
    parts, depth = [""], 0
    for character in ",".join(names):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [name.strip() for name in parts if name.strip()]
