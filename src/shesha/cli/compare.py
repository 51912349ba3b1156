"""`shesha compare`: measure the similarity of representations in files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import typer

from shesha.cli import _file_inputs
from shesha.cli._commands import FILES, MODEL, READING, command
from shesha.cli._model_inputs import refuse_with_model
from shesha.cli._options import flag
from shesha.cli._outputs import describe_inputs, echo
from shesha.cli._run import Run
from shesha.support.provenance import state_warning
from shesha.support.seeds import N_PERMUTATIONS

if TYPE_CHECKING:
    from shesha.io.large_matrices import StoredRows
    from shesha.results import Score
    from shesha.results.comparison import PairNumber


def needs_stretches(files: Sequence[Path], measures: Sequence[str], *, plain: bool) -> bool:
    """Return whether two files are too large for every measure, but can be read in stretches.

    `plain` means that none of the requested options needs single rows.
    """
    from shesha.comparison.sampled_scores import none_fits, reason_against
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

    Measures that depend only on sums over the rows are exact, unless this takes more than 20 seconds. These sums are
    saved, so that rerunning the command resumes after an interruption. Other measures are estimated from a sample.
    """
    from shesha.comparison.compare import seed_measures
    from shesha.comparison.sampled_scores import Sampling, compare_stored
    from shesha.io.array_selection import short_paths
    from shesha.io.large_matrices import is_sharded, open_matrix, require_same_ids
    from shesha.measures import choose

    chosen = seed_measures(choose(list(measures)), seed)
    sampling = Sampling.build(**sample, seed=seed)
    if files[0].resolve() == files[1].resolve():
        raise ValueError(f"FILE must not be repeated, got {files[0]} more than once")
    names = short_paths([file.resolve() for file in files], endings=False)
    first, second = (open_matrix(file) for file in files)
    sides = dict(zip(names, (first, second), strict=True))
    require_same_ids(sides)
    parts = [part for file, side in zip(files, sides.values(), strict=True) for part in getattr(side, "files", [file])]
    state = _state_file(parts)
    sum_all = partial(_count_rows, sides, state, sharded=any(map(is_sharded, files)))
    result = compare_stored(first, second, (names[0], names[1]), chosen, sampling, chance, sum_all)
    if state is not None and not result.interrupted:
        state.unlink(missing_ok=True)
    return result


def _count_rows(sides: Mapping[str, StoredRows], state: Path | None, *, sharded: bool) -> Any:
    from shesha.moments import Moments

    sizes = "; ".join("{}: {:,} rows x {:,} features".format(name, *side.shape) for name, side in sides.items())
    why = sizes if sharded else "the files do not fit the memory budget"
    echo(f"shesha: reading all rows in one pass ({why})", err=True)
    try:
        return Moments.of(*sides.values(), names=list(sides), state=state)
    except KeyboardInterrupt:
        if state is not None:
            echo("shesha: interrupted; rerun the same command to resume", err=True)
        raise
    except ValueError:
        # The user must change the files, and the saved state would not apply to the changed files.
        if state is not None:
            state.unlink(missing_ok=True)
        raise


def _state_file(files: Sequence[Path]) -> Path | None:
    """Return the path for the state of a pass, whose name is specific to these files; None if it cannot be saved."""
    from shesha.support.files import cache_folder, file_stamp

    known = "\n".join(f"{file.resolve()} {file_stamp(file)}" for file in files)
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        echo(f"shesha: the state is not saved, because {folder} cannot be written: {error.strerror}", err=True)
        return None
    return folder / f"moments-{hashlib.blake2b(known.encode(errors='surrogateescape'), digest_size=8).hexdigest()}.npz"


_NO_VALUE = 2


def _compare_pair(run: Run, chosen: list[str], arrays: dict[str, Any], calibrate: bool | None) -> None:
    """Compare two representations with every measure."""
    from shesha.comparison import compare

    options = run.arguments(compare)
    (first, X), (second, Y) = arrays.items()
    measures = chosen if run.measures else None
    options |= {"calibrate": calibrate, "measures": measures, "names": (first, second), "exact": run.exact or "auto"}
    comparison = compare(X, Y, **options)
    run.outputs.write(
        comparison,
        run.sources,
        notes=_default_measures_note(chosen, comparison.n_draws),
        picture=partial(_heat_map, run, chosen, arrays),
        row_map=partial(_row_map, run, arrays),
        data=describe_inputs(run.sources, run.model),
    )
    require_value(comparison.scores)


def _compare_pairs(run: Run, chosen: list[str], arrays: Any, calibrate: bool) -> None:
    """Compare every pair of several representations, in memory or in files, calibrated on request."""
    from shesha.comparison import compare_all

    options = run.arguments(compare_all) | {"calibrate": calibrate, "measures": chosen}
    pairs = compare_all(arrays, **options | ({} if calibrate else {"confidence": None}))
    what: PairNumber = "calibrated" if calibrate else "value"
    run.outputs.write(
        pairs,
        run.sources,
        notes=_default_measures_note(chosen, run.permutations) if calibrate else (),
        picture=partial(pairs.plot, pairs.measures[0], what=what),
        data=describe_inputs(run.sources, run.model),
    )
    require_value(list(pairs.scores))


def _compare_within(run: Run, chosen: list[str], arrays: dict[str, Any], permutations: int | None) -> None:
    """Compare the first representation with all others within each class."""
    from shesha.comparison.within_classes import compare_within

    (first, X), *others = arrays.items()
    refused = [flag(name) for name in ("within", "shift", "block_length", "covariates") if getattr(run, name)]
    if refused:
        raise ValueError(
            f"{refused[0]} must be left out with --labels, got both; only --blocks and --groups are allowed"
        )
    options = run.arguments(compare_within) | {"measures": chosen, "n_permutations": permutations}
    notes = () if run.blocks else _notes_on_batches(run)
    for note in notes:
        state_warning(note)
    if len(others) > 1:
        results = compare_within(X, dict(others), names=first, **options)
        results = replace(results, comparisons=tuple(replace(each, notes=notes) for each in results))
        run.outputs.write(results, run.sources)
        require_value([score for each in results for part in each for score in part.scores])
        return
    ((second, Y),) = others
    result = replace(compare_within(X, Y, names=(first, second), **options), notes=notes)
    run.outputs.write(result, run.sources, row_map=partial(_row_map, run, arrays))
    require_value([score for part in (*result, result.whole) for score in part.scores])


def _notes_on_batches(run: Run) -> tuple[str, ...]:
    """Return a note if the first file has a column that looks like batches, which no option names."""
    from shesha.io import open_file, read_labels
    from shesha.support.provenance import ignore_statements
    from shesha.support.sampling_units import is_batch_name, is_unit_name, undeclared_batches

    with suppress(Exception), ignore_statements():  # A note must not stop the comparison.
        known = [
            name for name in open_file(run.sources[0]).labels_available if is_batch_name(name) or is_unit_name(name)
        ]
        table = {name: read_labels(run.sources[0], name) for name in known if name not in run.exchanged.columns}
        return undeclared_batches(table, (None, None, run.groups and "groups"))
    return ()


def _row_map(run: Run, arrays: dict[str, Any], about: Mapping[str, str]) -> Any:
    """Return the page with a map of the rows, coloured by class if there are labels."""
    from shesha.changes import explore

    (first, X), (second, Y) = arrays.items()
    return explore(X, Y, run.classes, names=(first, second), **run.row_options.choice, seed=run.seed).page(about)


def _heat_map(run: Run, chosen: list[str], arrays: dict[str, Any]) -> Any:
    from shesha.comparison import compare_all

    pairs = compare_all(arrays, chosen[:1], **run.row_options.choice, seed=run.seed, layer_axis=None)
    return pairs.plot(pairs.measures[0])


def require_value(scores: Sequence[Score]) -> None:
    """Exit with status 2 if no measure has a value."""
    if not any(score.has_value for score in scores):
        echo("shesha: no measure has a value", err=True)
        raise typer.Exit(_NO_VALUE)


def _default_measures_note(chosen: list[str], permutations: int) -> list[str]:
    """Return notes on further measures, on chance levels, and on the smallest possible p-value."""
    from shesha.measures import choose
    from shesha.report import page_width, wrap

    texts = []
    if chosen == ["recommended"]:
        others = len(choose("all")) - len(choose("recommended"))
        texts.append(f"These measures answer different questions. Use --measures all for the other {others}.")
        if not permutations:
            texts.append("Use --calibrate for chance levels, p-values and intervals.")
    if permutations:
        least = 1 / (permutations + 1)
        texts.append(f"With {permutations:,} permutations of the rows, the smallest possible p-value is {least:.2g}.")
    return [line for text in texts for line in wrap(text, page_width(), hanging="")]


_SAMPLING = ("queries", "pairs", "error")


@command(
    "shesha.comparison:compare",
    also=f"{MODEL} {READING} labels rdm workers scheduler store json plot title html full explore card",
    first="key measures calibrate model texts html",
    texts=FILES,
)
def compare_command(
    run: Run,
    files: list[Path] | None = None,
    *,
    measures: list[str] | None = None,
    calibrate: bool | None = None,
    permutations: int | None = None,
    exact: bool = False,
    shards: bool = False,
) -> None:
    """Compare representations of the same rows by one or more similarity measures.

    For two arrays, the table has one line per measure. For more arrays, it contains every pair. The exit status is 2
    if no measure has a value.

    Parameters
    ----------
    measures
        Measures to compute: 'recommended' (default: unbiased CKA, RSA, mutual kNN), 'standard', 'all', a family,
        'ReSi', or names such as 'CKA,mutual kNN(k=20)'.
    calibrate
        Add chance level, p-value, calibrated score and interval. [default: on for two representations of up to 2,000
        rows, with the recommended measures]
    permutations
        Number of permutations of the rows for chance levels. [default: 200; with --labels, as many as the number of
        classes needs]
    folds
        Add held-out values, from this many folds, to measures that fit a map (CCA, LinReg, OrthProc).
    queries
        Estimate measures of neighbours from this many random rows, compared with all rows.
    pairs
        Estimate measures of distances from this many random pairs of rows.
    error
        Sample rows and pairs until the Monte Carlo standard error is this small.
    exact
        Compute exact values, however long they take. Otherwise, what would take more than a minute is estimated from a
        sample, and the answer states the error.
    shards
        Compare two directories, each of which is one representation. Its .npy or .parquet files contain consecutive
        rows, in the order of their names. All rows are read in one pass; rerun the same command to resume.
    labels
        Compare the first representation with every other one within each class (cell type), with chance levels: FILE
        (or FILE:COLUMN) with one label per row, or COLUMN of the first FILE.
    plot
        Write a heat map of the first measure to this file.

    Examples
    --------
    shesha compare before.npy after.npy --calibrate
    shesha compare before.npy after.npy --measures CCA,LinReg,OrthProc --folds 5
    shesha compare models/*.npy --measures 'CKA,mutual kNN(k=20)' --store pairs.sqlite
    """
    run.values["permutations"] = N_PERMUTATIONS if permutations is None else permutations
    chosen = _split(measures or (["RSA", "mutual kNN"] if run.rdm else ["recommended"]))
    _check_options(run)
    models, files = run.models, run.sources
    several = run.store is not None or run.scheduler is not None
    if models is not None:
        refuse_with_model(store=run.store, scheduler=run.scheduler, key=run.key, rdm=run.rdm)
    elif not shards and (several or _file_inputs.hold_directories(files)):
        suggest_shards(files)
        _refuse_with_many_files(run)
        _compare_pairs(run, chosen, run.lazy_files(files), bool(calibrate))
        return
    if shards:
        require_shards(files, {name: getattr(run, name) for name in _NOT_WITH_SHARDS})
    one_by_one = ("key", "rdm", "labels", "folds", "plot", "transpose")
    plain = run.exchanged.is_empty and not any(getattr(run, name) for name in one_by_one)
    if models is None and (shards or needs_stretches(files, chosen, plain=plain)):
        comparison = compare_large(
            files,
            chosen,
            {**{name: getattr(run, name) for name in (*_SAMPLING, "confidence")}, "exact": exact or "auto"},
            seed=run.seed,
            calibrate=bool(calibrate),
            n_draws=run.permutations,
            alpha=run.alpha,
        )
        run.outputs.write(comparison, files)
        require_value(comparison.scores)
        return
    arrays = _read_arrays(run)
    _refuse_for_several(run, len(arrays))
    if run.labels is not None:
        _compare_within(run, chosen, arrays, permutations)
    elif len(arrays) == 2:
        _compare_pair(run, chosen, arrays, calibrate)
    elif run.covariates:
        raise ValueError(f"--covariates needs exactly two representations, got {len(arrays)}: choose them with --key")
    else:
        _compare_pairs(run, chosen, arrays, bool(calibrate))


_NOT_WITH_SHARDS = (
    *("covariates", "labels", "folds", "plot", "rdm", "key", "model", "store", "transpose", "scheduler", "blocks"),
    *("groups", "within", "shift", "explore"),
)


def _check_options(run: Run) -> None:
    """Refuse options that exclude one another or are out of range."""
    if run.card is not None and (not run.calibrate or run.labels is not None):
        raise ValueError(
            "--card needs --calibrate and excludes --labels: a similarity cannot be judged without its chance level"
        )
    if run.covariates and run.plot is not None:
        raise ValueError(
            "--plot must be left out with --covariates, got both: the picture does not control for covariates"
        )


def _read_arrays(run: Run) -> dict[str, Any]:
    """Return at least two representations, from models or files; columns of labels are not features."""
    run.classes  # noqa: B018  # What is wrong with labels is reported before the representations are read.
    if run.models is not None:
        arrays, source = run.models.last_layers(), "--model must give"
    else:
        arrays, source = run.read(run.sources, run.key), "FILE must contain"
    if len(arrays) < 2:
        raise ValueError(f"{source} at least two representations in total, got {', '.join(arrays) or 'none'}")
    from shesha.doubting import state_known_columns
    from shesha.io.read import ReadArrays

    if not run.covariates and run.within is None and not run.rdm:
        for path, contents in getattr(arrays, "opened", {}).items():
            state_known_columns(ReadArrays({}, None, {path: contents}), contents.representations)
    return arrays


def _refuse_for_several(run: Run, n_arrays: int) -> None:
    """Refuse options that require exactly two representations."""
    for option in ("folds", *_SAMPLING):
        if getattr(run, option) is not None and (run.labels is not None or n_arrays != 2):
            raise ValueError(f"--{option} needs exactly two representations, and no --labels, got {n_arrays}")
    if run.explore is not None and (run.rdm or n_arrays != 2):
        raise ValueError(f"--explore needs exactly two representations, and no --rdm, got {n_arrays}")


def _refuse_with_many_files(run: Run) -> None:
    for name in ("covariates", "labels", "folds", "explore", *_SAMPLING):
        if getattr(run, name):
            raise ValueError(f"--{name} needs two representations in files, got --store, --scheduler or a directory")
    for name in ("blocks", "groups", "within"):
        value = getattr(run, name)
        if value is not None and not Path(value).exists():
            raise ValueError(
                f"--{name} must be a file with --store, --scheduler or a directory, got {value!r}, which is not a file"
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
