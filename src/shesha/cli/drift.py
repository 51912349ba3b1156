"""`shesha drift`: test whether two samples of inputs, whose rows do not correspond, differ in distribution."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from shesha.cli import _file_inputs, _outputs


def drift_command(
    reference: Annotated[
        Path, typer.Argument(metavar="REFERENCE", show_default=False, help="File with a matrix of earlier inputs.")
    ],
    window: Annotated[
        Path, typer.Argument(metavar="WINDOW", show_default=False, help="File with a matrix of other, newer inputs.")
    ],
    key: Annotated[
        list[str] | None,
        typer.Option(help="Array to use: a name in both files, or the name in each file (pass it twice)."),
    ] = None,
    tests: Annotated[
        list[str] | None,
        typer.Option(
            "--test",
            help="Test (may be repeated): energy, mmd, 'sliced wasserstein' or c2st (a classifier). [default: energy, "
            "mmd and c2st]",
        ),
    ] = None,
    n_permutations: Annotated[
        int, typer.Option("--permutations", help="Number of random divisions of the rows.")
    ] = 199,
    alpha: Annotated[float, typer.Option(help="Significance level.")] = 0.05,
    layer_axis: _file_inputs.LayerAxis = "guess",
    transpose: _file_inputs.Transpose = False,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    json: _outputs.Json = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture of the statistics to this file.")] = None,
    html: _outputs.Html = None,
) -> None:
    """Test whether two samples of inputs, whose rows do not correspond, come from the same distribution.

    For the same inputs, encoded before and after a change of the model, use `shesha diff` or `shesha monitor`.
    """
    from shesha.drift.two_sample_tests import DEFAULT, two_sample_tests
    from shesha.drift.two_samples import Test

    files = [reference, window]
    outputs = _outputs.Outputs(json, plot, html, None, files)
    if reference == window:
        raise ValueError(f"WINDOW must be another file than REFERENCE, got {window} twice")
    keys = key or []
    if len(keys) > 2:
        raise ValueError(f"--key must be passed at most twice, once for each file, got {len(keys)} keys")
    row_options = _file_inputs.RowOptions(by_position=True, transpose=transpose)
    sides = [
        _one_matrix(path, keys[-1:] if side else keys[:1], layer_axis, row_options) for side, path in enumerate(files)
    ]
    names = cast("list[Test]", tests or DEFAULT)
    result = two_sample_tests(*sides, tests=names, n_permutations=n_permutations, alpha=alpha, seed=seed)
    outputs.write(result, files)


def _one_matrix(path: Path, keys: list[str], layer_axis: str, rows: _file_inputs.RowOptions) -> Any:
    arrays = _file_inputs.read_representations([path], keys or None, None, layer_axis, rows=rows)
    if len(arrays) != 1:
        raise ValueError(f"{path.name} must have one matrix, got {', '.join(arrays)}: choose one with --key")
    return next(iter(arrays.values()))
