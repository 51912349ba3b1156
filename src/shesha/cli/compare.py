"""`shesha compare`: how similar are the representations in files?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shesha.cli import _exchange, _files, _models
from shesha.cli._pairs import CalibratedPairs, calibrated_pairs

if TYPE_CHECKING:
    from shesha.comparison._index import Files
    from shesha.results import Comparison, PairwiseComparison

_NO_VALUE = 2


def compare_command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            show_default=False,
            help="npy, npz, safetensors, parquet, csv, tsv, h5ad or zarr, or a directory of such; each array is a "
            "representation.",
        ),
    ] = None,
    measures: Annotated[
        list[str] | None,
        typer.Option(help="'standard' (default), 'all', a family, 'ReSi', or names such as 'CKA,mutual kNN(k=20)'."),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(help="Array to compare (may be repeated): a name, or X, layers/NAME, obsm/KEY of AnnData."),
    ] = None,
    model: _models.Model = None,
    texts: _models.Texts = None,
    layers: _models.Layers = None,
    pool: _models.Pool = "auto",
    batch_size: _models.BatchSize = 32,
    device: _models.Device = None,
    rdm: _files.Distances = False,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Add chance level, p-value, calibrated score and interval (slow).")
    ] = False,
    permutations: Annotated[int, typer.Option(help="Random matchings of the rows, for --calibrate.")] = 200,
    confidence: Annotated[float, typer.Option(help="Confidence of the intervals, for --calibrate.")] = 0.95,
    workers: Annotated[
        int | None, typer.Option(help="Processes, for several representations; default: 1, of many threads.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, instead of processes here.")
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            help="Keep every comparison in this file: a run goes on where the last one ended, with new FILEs."
        ),
    ] = None,
    layer_axis: _files.LayerAxis = "guess",
    by_position: _files.ByPosition = False,
    blocks: _exchange.Blocks = None,
    groups: _exchange.Groups = None,
    within: _exchange.Within = None,
    shift: _exchange.Shift = False,
    block_length: _exchange.BlockLength = None,
    covariates: _exchange.Covariates = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|COLUMN",
            help="Compare two representations within each class (cell type) as well, above chance: FILE with one label "
            "per row, or COLUMN of the first FILE.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    json: Annotated[Path | None, typer.Option(help="Write all numbers to this file; - for standard output.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a heat map of the first measure to this file.")] = None,
    html: _files.Html = None,
    card: _files.Card = None,
) -> None:
    """Compare representations of the same rows: which measures find them similar?

    Two arrays give one line per measure, more give every pair. Ends with status 2 if no measure has a value.
    """
    from shesha.comparison import compare, compare_all
    from shesha.comparison._index import Files
    from shesha.comparison.compare import require_calibrate

    _files.require_writable(json)
    _files.require_writable(plot)
    _files.require_picture(plot)
    _files.require_page(html)
    _files.require_writable(card)
    if card is not None and (not calibrate or labels is not None):
        raise ValueError(
            "--card needs --calibrate, and no --labels: a similarity without its chance level says nothing on a card"
        )
    chosen = _split(measures or ["standard"])
    if workers is not None and workers < 1:
        raise ValueError(f"--workers must be at least 1, got {workers}")
    models = _models.FromModels.asked(model, files, texts, layers, pool, batch_size, device)
    files = [models.file] if models is not None else list(files or ())
    if models is not None:
        models.require_alone(store=store, scheduler=scheduler, key=key, rdm=rdm)
    elif store is not None or scheduler is not None or _files.hold_directories(files):
        for option, there in (
            ("--calibrate", calibrate),
            ("--covariates", bool(covariates)),
            ("--labels", labels is not None),
        ):
            if there:
                raise ValueError(
                    f"{option} needs two representations in files, got --store, --scheduler or a directory"
                )
        given = Files(files, key, rdm, _files.layer_axis_of(layer_axis), by_position=by_position)
        _show(_compared_as_needed(given, chosen, workers, scheduler, store, seed), json, plot, html, files)
        return
    if covariates and plot is not None:
        raise ValueError(
            "--plot must be left out with --covariates, got both: the picture shows no covariates taken out"
        )
    exchanged = _exchange.asked(
        files, blocks, groups, within, shift, block_length, covariates or (), by_position=by_position
    )
    classes = _exchange.labels_named("labels", labels, files[0], by_position=by_position)
    if models is not None:
        arrays = models.last_layers()
    else:
        columns = exchanged.columns if labels is None or Path(labels).exists() else (*exchanged.columns, labels)
        arrays = _read(files, key, rdm, layer_axis, columns, by_position=by_position)
    if len(arrays) < 2:
        source = "FILE must hold" if models is None else "--model must give"
        raise ValueError(f"{source} at least two representations together, got {', '.join(arrays) or 'none'}")
    if labels is not None:
        _within(
            arrays,
            classes,
            chosen if measures else None,
            exchanged,
            permutations,
            confidence,
            seed,
            json,
            plot,
            html,
            files,
        )
        return
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
            covariates=exchanged.covariates,
            seed=seed,
        )
        _files.save_page(html, found.page, files)
        _files.save_card(card, found.card, files, _files.named(files, model))
        _files.emit("\n".join([str(found), *_more(chosen, permutations if calibrate else 0)]), found.to_dict(), json)
        if plot is not None:
            pair = compare_all(arrays, chosen[:1], seed=seed, layer_axis=None)
            _files.save_picture(plot, pair.plot(pair.measures[0]))
        _finish(found, [score.estimated for score in found.scores])
    elif covariates:
        raise ValueError(f"--covariates needs exactly two representations, got {len(arrays)}: choose them with --key")
    elif calibrate:
        pairs = calibrated_pairs(
            arrays, chosen, confidence=confidence, n_permutations=permutations, **exchanged.design, seed=seed
        )
        _files.save_page(html, pairs.page, files)
        _files.save_card(card, pairs.card, files, _files.named(files, model))
        _files.emit("\n".join([str(pairs), *_more(chosen, permutations)]), pairs.to_dict(), json)
        if plot is not None:
            together = compare_all(arrays, chosen[:1], seed=seed, layer_axis=None)
            _files.save_picture(plot, together.plot(together.measures[0]))
        _finish(pairs, [score.estimated for one in pairs.comparisons for score in one.scores])
    else:
        require_calibrate(exchanged.design, None)
        _show(compare_all(arrays, chosen, workers=workers, seed=seed, layer_axis=None), json, plot, html, files)


def _within(
    arrays: dict[str, Any],
    classes: Any,
    measures: list[str] | None,
    exchanged: _exchange.Asked,
    permutations: int,
    confidence: float,
    seed: int,
    json: Path | None,
    plot: Path | None,
    html: Path | None,
    files: list[Path],
) -> None:
    """Compare two representations within each class."""
    from shesha.comparison.within import MEASURES, compare_within

    if len(arrays) != 2:
        raise ValueError(f"--labels needs exactly two representations, got {len(arrays)}: choose them with --key")
    asked = {name: value for name, value in exchanged.design.items() if value is not None and value is not False}
    others = [f"--{name.replace('_', '-')}" for name in asked if name not in ("blocks", "groups")]
    others += ["--plot"] * (plot is not None) + ["--covariates"] * (exchanged.covariates is not None)
    if others:
        raise ValueError(f"{others[0]} must be left out with --labels, got both: --blocks and --groups may be given")
    (first, X), (second, Y) = arrays.items()
    found = compare_within(
        X,
        Y,
        classes,
        measures or MEASURES,
        names=(first, second),
        n_permutations=permutations,
        confidence=confidence,
        seed=seed,
        **asked,  # type: ignore[arg-type]
    )
    _files.save_page(html, found.page, files)
    _files.emit(str(found), found.to_dict(), json)
    every = (*found.classes.values(), found.whole)
    if found.interrupted:
        raise typer.Exit(_files.INTERRUPTED)
    if not any(score.estimated for one in every for score in one.scores):
        typer.echo("shesha: no measure has a value", err=True)
        raise typer.Exit(_NO_VALUE)


def _compared_as_needed(
    given: Files,
    measures: list[str],
    workers: int | None,
    scheduler: str | None,
    store: Path | None,
    seed: int,
) -> PairwiseComparison:
    """Compare files that are read when they are needed."""
    from shesha.comparison import compare_all

    found: Any = given
    return compare_all(found, measures, workers=workers, scheduler=scheduler, store=store, seed=seed)


def _show(
    pairs: PairwiseComparison, json: Path | None, plot: Path | None, html: Path | None, files: list[Path]
) -> None:
    _files.save_page(html, pairs.page, files)
    _files.emit(str(pairs), pairs.to_dict(), json)
    if plot is not None:
        _files.save_picture(plot, pairs.plot(pairs.measures[0]))
    _finish(pairs, [pair.score.estimated for pair in pairs.scores])


def _finish(found: Comparison | PairwiseComparison | CalibratedPairs, estimated: list[bool]) -> None:
    if found.interrupted:
        raise typer.Exit(_files.INTERRUPTED)
    if not any(estimated):
        typer.echo("shesha: no measure has a value", err=True)
        raise typer.Exit(_NO_VALUE)


def _more(chosen: list[str], permutations: int) -> list[str]:
    """Say what was left out of the standard measures, and how small a p-value can be."""
    from shesha.measures import choose
    from shesha.report import page_width, wrapped

    told = []
    if chosen == ["standard"]:
        standard = {one.name for one in choose("standard")}
        costly = ", ".join(one.name for one in choose("all") if one.name not in standard)
        told.append(f"Left out: {costly}, which takes longer than all the others together: --measures {costly}")
    if permutations:
        least = 1 / (permutations + 1)
        told.append(f"p compares with {permutations:,} random matchings of the rows and cannot fall below {least:.2g}.")
    return [line for text in told for line in wrapped(text, page_width(), hanging="")]


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


def _read(
    files: list[Path],
    keys: list[str] | None,
    rdm: bool,
    layer_axis: str,
    labels: tuple[str, ...] = (),
    *,
    by_position: bool = False,
) -> dict[str, Any]:
    return _files.read_representations(files, keys, labels, layer_axis, by_position=by_position, distances=rdm)
