"""`shesha compare`: how similar are the representations in files?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shesha.cli import _exchange, _files

if TYPE_CHECKING:
    from shesha.results import Comparison, PairwiseComparison

_NO_VALUE = 2


def compare_command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            show_default=False,
            help="npy, npz, safetensors, parquet, csv, tsv, h5ad or zarr; each array is a representation.",
        ),
    ],
    measures: Annotated[
        list[str] | None,
        typer.Option(help="'standard' (default), 'all', a family, 'ReSi', or names such as 'CKA,mutual kNN(k=20)'."),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(help="Array to compare (may be repeated): a name, or X, layers/NAME, obsm/KEY of AnnData."),
    ] = None,
    rdm: Annotated[bool, typer.Option("--rdm", help="The arrays are distances between rows, not features.")] = False,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Add chance level, p-value, calibrated score and interval (slow).")
    ] = False,
    permutations: Annotated[int, typer.Option(help="Random matchings of the rows, for --calibrate.")] = 200,
    confidence: Annotated[float, typer.Option(help="Confidence of the intervals, for --calibrate.")] = 0.95,
    blocks: _exchange.Blocks = None,
    groups: _exchange.Groups = None,
    within: _exchange.Within = None,
    shift: _exchange.Shift = False,
    block_length: _exchange.BlockLength = None,
    workers: Annotated[int, typer.Option(help="Processes, for several representations.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    json: Annotated[Path | None, typer.Option(help="Write all numbers to this file; - for standard output.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a heat map of the first measure to this file.")] = None,
) -> None:
    """Compare representations of the same rows: which measures find them similar?

    Two arrays give one line per measure, more give every pair. Ends with status 2 if no measure has a value.
    """
    from shesha.comparison import compare, compare_all
    from shesha.comparison.compare import require_calibrate

    _files.require_writable(json)
    _files.require_writable(plot)
    _files.require_picture(plot)
    chosen = _split(measures or ["standard"])
    exchanged = _exchange.asked(files, blocks, groups, within, shift, block_length)
    arrays = _read(files, key, rdm, exchanged.columns)
    if len(arrays) < 2:
        raise ValueError(f"FILE must hold at least two representations together, got {', '.join(arrays) or 'none'}")
    if workers < 1:
        raise ValueError(f"--workers must be at least 1, got {workers}")
    if len(arrays) == 2:
        (first, X), (second, Y) = arrays.items()
        found = compare(
            X,
            Y,
            chosen,
            names=(first, second),
            calibrate=calibrate,
            confidence=confidence,
            n_permutations=permutations,
            **exchanged.design,
            seed=seed,
        )
        _files.emit(str(found), found.to_dict(), json)
        if plot is not None:
            pair = compare_all(arrays, chosen[:1], seed=seed)
            _files.save_picture(plot, pair.plot(pair.measures[0]))
        _finish(found, [score.estimated for score in found.scores])
    elif calibrate:
        raise ValueError(f"--calibrate needs exactly two representations, got {len(arrays)}: choose them with --key")
    else:
        require_calibrate(exchanged.design, None)
        pairs = compare_all(arrays, chosen, workers=workers, seed=seed)
        _files.emit(str(pairs), pairs.to_dict(), json)
        if plot is not None:
            _files.save_picture(plot, pairs.plot(pairs.measures[0]))
        _finish(pairs, [pair.score.estimated for pair in pairs.scores])


def _finish(found: Comparison | PairwiseComparison, estimated: list[bool]) -> None:
    if found.interrupted:
        raise typer.Exit(_files.INTERRUPTED)
    if not any(estimated):
        typer.echo("shesha: no measure has a value", err=True)
        raise typer.Exit(_NO_VALUE)


def _split(names: list[str]) -> list[str]:
    """Split at commas outside parentheses."""
    found, depth = [""], 0
    for character in ",".join(names):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return [name.strip() for name in found if name.strip()]


def _read(files: list[Path], keys: list[str] | None, rdm: bool, labels: tuple[str, ...] = ()) -> dict[str, Any]:
    from shesha.views import Rdm

    arrays = _files.read_representations(files, keys, labels)
    if rdm:
        return {name: Rdm(array, name) for name, array in arrays.items()}
    for name, array in arrays.items():
        if _looks_like_distances(array):
            typer.echo(f"{name} looks like distances between rows: if it is, add --rdm", err=True)
    return arrays


def _looks_like_distances(array: Any) -> bool:
    import numpy as np

    if array.ndim != 2 or array.shape[0] != array.shape[1] or len(array) > 5000:
        return False
    values = np.asarray(array)
    return bool((np.diagonal(values) == 0).all() and np.allclose(values, values.T) and values.any())
