"""`shesha compare`: measure the similarity of representations in files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shesha.cli import _design_options, _file_inputs, _model_inputs, _outputs
from shesha.cli._design_options import DesignLabels
from shesha.cli._file_inputs import RowOptions
from shesha.cli._outputs import Outputs, describe_inputs, echo
from shesha.support.draw_counts import N_PERMUTATIONS

if TYPE_CHECKING:
    from shesha.results import Score
    from shesha.results.similarity.pairwise import PairNumber


def needs_stretches(files: Sequence[Path], measures: Sequence[str], *, plain: bool) -> bool:
    """Return whether two files are too large for every measure, but can be read in stretches.

    `plain` means that none of the requested options needs single rows.
    """
    from shesha.comparison.estimation_choice import none_fits
    from shesha.comparison.sampled_scores import reason_against
    from shesha.io.large_matrices import ENDINGS, open_matrix
    from shesha.measures import choose, takes_moments

    if not plain or len(files) != 2 or any(file.suffix.lower() not in ENDINGS for file in files):
        return False
    try:
        first, second = (open_matrix(file) for file in files)
        chosen = choose(list(measures))
        possible = any(takes_moments(measure) or not reason_against(measure) for measure in chosen)
        return possible and none_fits(first, second, chosen)
    except ValueError:
        # What is wrong with the files is reported later, when they are read.
        return False


def require_shards(files: Sequence[Path], others: Mapping[str, Any]) -> None:
    """Refuse anything but two directories, and any option that needs single rows."""
    from shesha.io.large_matrices import is_sharded

    options = [f"--{name}" for name, value in others.items() if value]
    if options:
        raise ValueError(f"{options[0]} must be left out with --shards, got both")
    if len(files) != 2 or not all(map(is_sharded, files)):
        raise ValueError(f"--shards needs two directories, got {', '.join(map(str, files)) or 'none'}")


def suggest_shards(files: Sequence[Path]) -> None:
    """Print a note if two directories look like two representations in parts."""
    from shesha.io.large_matrices import is_sharded

    if len(files) != 2 or not all(map(is_sharded, files)):
        return
    first, second = ({path.name for path in file.iterdir() if path.suffix in (".npy", ".parquet")} for file in files)
    numbered = [name for name in first if Path(name).stem[-1:].isdigit()]
    if first == second and len(numbered) == len(first) > 1:
        echo(
            f"shesha: {files[0]} and {files[1]} contain {len(first)} numbered files each, and every file is "
            "compared as one representation. If the files are consecutive rows of two representations, pass --shards.",
            err=True,
        )


def compare_large(
    files: Sequence[Path], measures: Sequence[str], sample: Mapping[str, Any], *, seed: int, **chance: Any
) -> Any:
    """Compare the matrices in two files that do not fit in memory.

    Measures that depend only on sums over the rows are exact. These sums are saved, so that rerunning the command
    resumes after an interruption. Other measures are estimated from a sample.
    """
    from shesha.comparison.compare import seed_measures
    from shesha.comparison.estimation_choice import compare_stored
    from shesha.comparison.sampled_scores import Sampling
    from shesha.io.large_matrices import open_matrix
    from shesha.io.representation_names import short_paths
    from shesha.measures import choose, takes_moments

    chosen = seed_measures(choose(list(measures)), seed)
    sampling = Sampling.build(**sample, seed=seed)
    if files[0].resolve() == files[1].resolve():
        raise ValueError(f"FILE must not be repeated, got {files[0]} more than once")
    names = short_paths([file.resolve() for file in files], endings=False)
    moments, state = None, _state_file(files)
    if any(map(takes_moments, chosen)):
        moments = _count_rows(files, names, state)
    first, second = (open_matrix(file) for file in files)
    result = compare_stored(first, second, (names[0], names[1]), chosen, sampling, chance, moments)
    if state is not None:
        state.unlink(missing_ok=True)
    return result


def _count_rows(files: Sequence[Path], names: Sequence[str], state: Path | None) -> Any:
    from shesha.moments import Moments

    echo(f"shesha: reading all rows in one pass ({_why_one_pass(files)})", err=True)
    try:
        return Moments.of(*files, names=names, state=state)
    except KeyboardInterrupt:
        if state is not None:
            echo("shesha: interrupted; rerun the same command to resume", err=True)
        raise
    except ValueError:
        # The user must change the files, and the saved state would not apply to the changed files.
        if state is not None:
            state.unlink(missing_ok=True)
        raise


def _why_one_pass(files: Sequence[Path]) -> str:
    from shesha.io.large_matrices import is_sharded, open_matrix

    if not any(map(is_sharded, files)):
        return "the files do not fit the memory budget"
    shapes = (open_matrix(file).shape for file in files)
    return "; ".join(f"{file.name}: {n:,} rows x {d:,} features" for file, (n, d) in zip(files, shapes, strict=True))


def _state_file(files: Sequence[Path]) -> Path | None:
    """Return the path for the state of a pass, whose name is specific to these files; None if it cannot be saved."""
    from shesha.io.large_matrices import is_sharded, open_matrix
    from shesha.kernels.machine_speed import cache_folder
    from shesha.support.atomic_files import file_stamp

    parts = [part for file in files for part in (open_matrix(file).files if is_sharded(file) else [file])]  # type: ignore[attr-defined]
    known = "\n".join(f"{file.resolve()} {file_stamp(file)}" for file in parts)
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        echo(f"shesha: the state is not saved, because {folder} cannot be written: {error.strerror}", err=True)
        return None
    return folder / f"moments-{hashlib.blake2b(known.encode(), digest_size=8).hexdigest()}.npz"


MOST_ROWS_CALIBRATED = 2_000
"""Largest number of rows for which the default is to calibrate (about 20 s of processor time)."""
_NO_VALUE = 2


@dataclass(frozen=True)
class ArrayComparison:
    """The requested comparison of arrays in memory.

    Attributes
    ----------
    measures : list of str
        Names of the requested measures.
    files : list of Path
        Files that contain the arrays.
    models : list of str or None
        Models that produced the arrays, if these are not from files.
    exchanged : DesignLabels
        The design of the permutations, and the covariates.
    rows : RowOptions
        Which rows are used.
    permutations, confidence, seed
        Settings of chance levels and intervals.
    outputs : Outputs
        The requested output files.
    permutations_by_default : bool
        Whether the user did not choose the number of permutations, so that it may grow with the number of classes.
    """

    measures: list[str]
    files: list[Path]
    models: list[str] | None
    exchanged: DesignLabels
    rows: RowOptions
    permutations: int
    confidence: float
    seed: int
    outputs: Outputs
    permutations_by_default: bool = False

    def pair(self, arrays: dict[str, Any], *, calibrate: bool, **options: Any) -> None:
        """Compare two representations with every measure; `options` are those of `compare`."""
        from shesha.comparison import compare

        (first, X), (second, Y) = arrays.items()
        comparison = compare(
            X,
            Y,
            self.measures,
            names=(first, second),
            calibrate=calibrate,
            confidence=self.confidence,
            n_permutations=self.permutations,
            **self.exchanged.design,
            covariates=self.exchanged.covariates,
            **options,
            **self.rows.choice,
            seed=self.seed,
        )
        self._write(comparison, arrays, self.permutations if calibrate else 0)
        require_value(comparison.scores)

    def compare_all_pairs(self, arrays: Any, *, calibrate: bool, **options: Any) -> None:
        """Compare every pair of several representations, in memory or in files, calibrated on request."""
        from shesha.comparison import compare_all

        pairs = compare_all(
            arrays,
            self.measures,
            calibrate=calibrate,
            confidence=self.confidence if calibrate else None,
            n_permutations=self.permutations,
            **self.exchanged.design,
            **self.rows.choice,
            seed=self.seed,
            **options,
        )
        what: PairNumber = "calibrated" if calibrate else "value"
        self.outputs.write(
            pairs,
            self.files,
            notes=_default_measures_note(self.measures, self.permutations) if calibrate else (),
            picture=partial(pairs.plot, pairs.measures[0], what=what),
            data=describe_inputs(self.files, self.models),
        )
        require_value(list(pairs.scores))

    def compare_within(self, arrays: dict[str, Any], classes: Any, *, standard: bool) -> None:
        """Compare the first representation with all others within each class, by measures for few rows."""
        from shesha.comparison.within_classes import MEASURES, compare_several_within, compare_within

        (first, X), *others = arrays.items()
        options: dict[str, Any] = {
            "n_permutations": None if self.permutations_by_default else self.permutations,
            "confidence": self.confidence,
            "seed": self.seed,
            **self._design_within_classes(),
            **self.rows.choice,
        }
        notes = () if "blocks" in options else self._notes_on_batches()
        chosen = MEASURES if standard else self.measures
        if len(others) > 1:
            results = compare_several_within(X, dict(others), classes, chosen, name=first, **options)
            results = replace(results, comparisons=tuple(replace(each, notes=notes) for each in results))
            self.outputs.write(results, self.files)
            require_value([score for each in results for part in each for score in part.scores])
            return
        ((second, Y),) = others
        result = replace(compare_within(X, Y, classes, chosen, names=(first, second), **options), notes=notes)
        self.outputs.write(result, self.files, row_map=partial(self._row_map, arrays, classes))
        require_value([score for part in (*result, result.whole) for score in part.scores])

    def _notes_on_batches(self) -> tuple[str, ...]:
        """Return a note if the first file has a column that looks like batches, which no option names."""
        if not self.files:
            return ()
        from shesha.io import open_file, read_labels
        from shesha.support.provenance import ignore_statements
        from shesha.support.sampling_units import is_batch_name, undeclared_batches

        with suppress(Exception), ignore_statements():  # A note must not stop the comparison.
            known = [name for name in open_file(self.files[0]).labels_available if is_batch_name(name)]
            table = {name: read_labels(self.files[0], name) for name in known if name not in self.exchanged.columns}
            return undeclared_batches(table, (None, None, None))
        return ()

    def _design_within_classes(self) -> dict[str, Any]:
        """Return blocks and groups, and refuse options that are meaningless within classes."""
        design = {
            name: value for name, value in self.exchanged.design.items() if value is not None and value is not False
        }
        others = [f"--{name.replace('_', '-')}" for name in design if name not in ("blocks", "groups")]
        others += ["--covariates"] * (self.exchanged.covariates is not None)
        if others:
            raise ValueError(
                f"{others[0]} must be left out with --labels, got both; only --blocks and --groups are allowed"
            )
        return design

    def _write(self, result: Any, arrays: dict[str, Any], permutations: int) -> None:
        self.outputs.write(
            result,
            self.files,
            notes=_default_measures_note(self.measures, permutations),
            picture=partial(self._heat_map, arrays),
            row_map=partial(self._row_map, arrays, None),
            data=describe_inputs(self.files, self.models),
        )

    def _row_map(self, arrays: dict[str, Any], classes: Any, about: Mapping[str, str]) -> Any:
        """Return the page with a map of the rows, coloured by class if there are labels."""
        from shesha.changes import explore

        (first, X), (second, Y) = arrays.items()
        return explore(X, Y, classes, names=(first, second), **self.rows.choice, seed=self.seed).page(about)

    def _heat_map(self, arrays: dict[str, Any]) -> Any:
        from shesha.comparison import compare_all

        pairs = compare_all(arrays, self.measures[:1], **self.rows.choice, seed=self.seed, layer_axis=None)
        return pairs.plot(pairs.measures[0])


def is_quickly_calibrated(arrays: Mapping[str, Any]) -> bool:
    """Return whether chance levels and intervals for these representations take only seconds."""
    from shesha.views import Rdm

    sizes = [rows.n_rows if isinstance(rows, Rdm) else len(rows) for rows in arrays.values()]
    return max(sizes) <= MOST_ROWS_CALIBRATED


def require_value(scores: Sequence[Score]) -> None:
    """Exit with status 2 if no measure has a value."""
    if not any(score.has_value for score in scores):
        echo("shesha: no measure has a value", err=True)
        raise typer.Exit(_NO_VALUE)


def _default_measures_note(chosen: list[str], permutations: int) -> list[str]:
    """Return notes on further measures and on the smallest possible p-value."""
    from shesha.measures import choose
    from shesha.report import page_width, wrap

    texts = []
    if chosen == ["recommended"]:
        others = len(choose("all")) - len(choose("recommended"))
        texts.append(f"These three measures answer different questions. Use --measures all for the other {others}.")
        if not permutations:
            texts.append("Use --calibrate for chance levels, p-values and intervals.")
    if permutations:
        least = 1 / (permutations + 1)
        texts.append(f"With {permutations:,} permutations of the rows, the smallest possible p-value is {least:.2g}.")
    return [line for text in texts for line in wrap(text, page_width(), hanging="")]


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
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Compute exact values, however long they take. Otherwise, what would take more than a minute is "
            "estimated from a sample, and the answer states the error.",
        ),
    ] = False,
    workers: _design_options.WorkersOfSeveral = None,
    scheduler: _design_options.Scheduler = None,
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
    sample: dict[str, Any] = {"queries": queries, "pairs": pairs, "error": error}
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
        suggest_shards(files)
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
        require_shards(files, options | {"within": within, "shift": shift, "explore": explore})
    exchanged = read_design(covariates or ())
    classes = _design_options.labels_named("labels", labels, files[0], rows=row_options)
    plain = exchanged.is_empty and not (key or rdm or labels or folds or plot or transpose)
    if models is None and (shards or needs_stretches(files, chosen, plain=plain)):
        sample |= {"exact": exact or "auto"}
        _compare_beyond_memory(files, chosen, sample, calibrate=bool(calibrate), **common)
        return
    columns = (*exchanged.columns, *_design_options.column_of_first_file(labels))
    arrays = _read_arrays(models, files, key, columns, layer_axis, row_options, rdm)
    _refuse_for_several(len(arrays), labels, {"folds": folds, **sample}, explore, rdm)
    sample |= {"folds": folds, "exact": exact or "auto"}
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
    _design_options.require_workers(workers)
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
    comparison = compare_large(files, measures, settings, seed=seed, **chance)
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
            calibrate = (
                standard
                and not any(sample[name] for name in sample if name != "exact")
                and is_quickly_calibrated(arrays)
            )
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
