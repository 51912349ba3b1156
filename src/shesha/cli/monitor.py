"""`shesha monitor`: check a deployed model against a reference."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shesha.cli import _design_options, _file_inputs, _model_inputs, _outputs
from shesha.cli._model_inputs import parse_texts, read_texts
from shesha.cli._outputs import echo
from shesha.support.provenance import collected_statements

if TYPE_CHECKING:
    from shesha.drift import DriftMonitor
    from shesha.results import DriftVerdict


_NAME = 60
"""Number of characters of each text that become part of its row's name."""
_KEPT = ("pool", "max_tokens", "batch_size", "dtype")
"""Properties of an encoding that are recorded as its circumstances."""


@dataclass(frozen=True)
class Canaries:
    """A model and the texts that it encodes.

    Attributes
    ----------
    model : str
        The value of `--model`, as typed.
    file : Path
        The file with the texts.
    texts : list of str
        The canary texts.
    encoding : dict
        Arguments for `shesha.extract.encode`.
    """

    model: str
    file: Path
    texts: list[str]
    encoding: dict[str, Any]

    @classmethod
    def read(
        cls, model: str | None, texts: str | None, given: Path | None, what: str, **encoding: Any
    ) -> Canaries | None:
        """Return the model and its texts; None if a file of encoded rows was given instead."""
        if model is None:
            if texts is not None:
                raise ValueError("--texts must come with --model, got --texts alone")
            if given is None:
                raise ValueError(f"Missing argument '{what}': pass it, or name a model with --model")
            return None
        if given is not None:
            raise ValueError(f"{what} must be left out with --model, got {given}: pass the texts with --texts")
        file, column = parse_texts(texts, [])
        chosen = {name: value for name, value in encoding.items() if value is not None}
        return cls(model, file, read_texts(file, column), chosen)

    def reencode(self, folder: Path, n: int, *, half: bool, seed: int) -> tuple[Any, Any, dict[str, str]]:
        """Return the reference with row names, its re-encodings, and the circumstances."""
        from shesha.drift.canary_encodings import encode_canaries

        canaries = encode_canaries(self.model, self.texts, folder, n=n, half=half, seed=seed, encoding=self.encoding)
        echo(
            f"{folder} contains {n} re-encodings of {canaries.layer}. Rerun with more --reencodings, or delete "
            "the folder."
        )
        return self._name_rows(canaries.reference), canaries, self._circumstances(canaries.layer, canaries.info)

    def encode_now(self, layer: str | None) -> tuple[Any, dict[str, str]]:
        """Return the rows of a layer (by default that of the whole model) with names, and the circumstances."""
        from shesha.extract import encode
        from shesha.extract.layer_names import output_layer

        options = {**self.encoding, **({"layers": [layer]} if layer else {})}
        layers = encode(self.model, self.texts, **options)
        name = output_layer(list(layers))
        return self._name_rows(layers[name]), self._circumstances(name, layers.info)

    def _name_rows(self, rows: Any) -> Any:
        """Name each row by its number and the beginning of its text, so that verdicts can identify it."""
        import pandas as pd

        names = [f"{i}: {' '.join(text.split())[:_NAME]}" for i, text in enumerate(self.texts)]
        return pd.DataFrame(rows, index=names)

    def _circumstances(self, layer: str, info: Mapping[str, Any]) -> dict[str, str]:
        """Return the circumstances to record, with which later checks compare their own."""
        known = {name: str(info[name]) for name in _KEPT if info.get(name) is not None}
        return {"model": self.model, "layer": layer, **known, "torch": str(info["versions"]["torch"])}


def refuse_with_model(**options: Any) -> None:
    """Refuse options that cannot be combined with --model."""
    for name, there in options.items():
        if there:
            raise ValueError(f"--{name} must be left out with --model, got both")


def read_matrix(
    path: Path, key: str | None, labels_inside: Any = None, rows: _file_inputs.RowOptions = _file_inputs.EVERY_ROW
) -> Any:
    """Read the single matrix of a file."""
    matrices = _file_inputs.read_representations(
        [path], None if key is None else [key], labels_inside, "none", rows=rows
    )
    if len(matrices) != 1:
        raise ValueError(f"FILE must contain one matrix, got {', '.join(matrices)} in {path}: choose with --key")
    return next(iter(matrices.values()))


def read_stacks(
    paths: list[Path], key: str | None, rows: _file_inputs.RowOptions = _file_inputs.EVERY_ROW
) -> list[Any]:
    """Read matrices; each matrix in a stack counts as one."""
    arrays = _file_inputs.read_representations(paths, None if key is None else [key], None, "0", rows=rows)
    return list(arrays.values())


def monitor_files(folder: Path) -> list[Path]:
    """Return the files of a monitor, which no output may overwrite."""
    from shesha.drift.monitor_files import ABOUT, HISTORY

    if not folder.is_dir():
        return [folder]
    return sorted({*folder.glob("arrays-*.npz"), *folder.glob(f"{HISTORY}*"), folder / ABOUT, folder / HISTORY})


def column_of_ids(drift_monitor: DriftMonitor) -> str | None:
    """Return the column that --id named when the monitor was made; None if its ids are found without a name."""
    names = drift_monitor.names
    return names.column if names is not None and names.chosen == "column" else None


def parse_about(about: list[str] | None) -> dict[str, str]:
    """Return the settings passed with --about, by name."""
    pairs = [pair.partition("=") for pair in about or ()]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise ValueError(f"--about must be NAME=TEXT, got {name!r}")
    return {name: text for name, _, text in pairs}


def markdown(verdict: DriftVerdict) -> str:
    """Return a verdict as Markdown for the summary of a CI job."""
    from shesha.report import markdown_table

    rows = [
        [
            score.tier,
            score.name,
            *(f"{value:.3g}" for value in (score.value, score.threshold, score.p_value)),
            "beyond" if score.beyond else "",
        ]
        for score in verdict.scores
    ]
    table = markdown_table(["", "measure", "drift", "threshold", "p", ""], rows)
    sentences = [verdict.reason, verdict.advice, *verdict.notes]
    # Text from files must not be interpreted as markup.
    plain = [text.replace("<", "&lt;").replace("`", "'") for text in sentences if text]
    return "\n\n".join([f"### shesha monitor: {verdict.state}", table, *plain]) + "\n"


def status_lines(checks: list[dict[str, Any]], updates: list[dict[str, Any]]) -> list[str]:
    """Return a table of earlier checks and of earlier updates."""
    from shesha.report import columns

    lines = []
    if checks:
        rows = [["check", "state", "drift", "p", "evidence"]]
        for event in checks:
            first, sequence = event["scores"][0], event["sequence"]
            numbers = [_short(first.get(name)) for name in ("value", "p_value")]
            rows.append(
                [event["at"], event["state"], *numbers, _short(sequence["shiryaev_roberts"] if sequence else None)]
            )
        lines += columns(rows, "<<>>>")
    if updates:
        rows = [["update", "state", "new rows", "evidence (log10)"]]
        rows += [
            [update["at"], update["state"], f"{update['n_seen']:,}", f"{update['log10_martingale']:.1f}"]
            for update in updates
        ]
        lines += ["", *columns(rows, "<<>>")] if lines else columns(rows, "<<>>")
    return lines or ["no checks and no updates yet"]


def _short(number: float | None) -> str:
    return "" if number is None else f"{number:.3g}"


monitor = typer.Typer(
    name="monitor",
    help="Detect drift of a deployed model from canary inputs that are encoded again, or from a stream of new "
    "inputs, at a false alarm rate that you set.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
CHANGED, COULD_NOT_TELL = 1, 2
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the monitor.", show_default=False)]
Key = Annotated[str | None, typer.Option(help="Name of the array, if a file contains several.")]
About = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=TEXT", help="Information to record, such as revision=abc (may be repeated)."),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME|FOLDER",
        help="Encode --texts with this model instead of reading a file of rows: a folder with config.json and "
        "safetensors weights, a package, or a name that the transformers library can load.",
    ),
]
Texts = Annotated[
    str | None,
    typer.Option(
        "--texts", metavar="FILE[:COLUMN]", help="Texts for --model: a .txt file with one text per line, or a table."
    ),
]


@monitor.command("init")
def init_command(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Directory of the monitor.", show_default=False)],
    reference: Annotated[
        Path | None, typer.Argument(metavar="[REF]", help="File with the canary rows.", show_default=False)
    ] = None,
    model: Model = None,
    texts: Texts = None,
    reencodings: Annotated[
        int,
        typer.Option(
            help="With --model: number of re-encodings, in new random batches. 19 limit false alarms to 1 in 20 "
            "checks, 99 to 1 in 100. Rerun to resume, or with a larger number to add some."
        ),
    ] = 19,
    half: Annotated[
        bool,
        typer.Option(
            help="With --model: use half precision for every other re-encoding, because machines round differently."
        ),
    ] = True,
    nulls: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Re-encodings of the same rows by the unchanged model: files with one matrix or a stack of them (may "
            "be repeated). At least 99 for --false-alarm 0.01.",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|COLUMN", help="Class labels: FILE (or FILE:COLUMN) with one label per row, or COLUMN of REF."
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|COLUMN",
            help="Document, clip or session of each row, if rows share one: FILE (or FILE:COLUMN), or COLUMN of REF. "
            "Resampling and `monitor update` then count each group once.",
        ),
    ] = None,
    layers: _model_inputs.Layers = None,
    pool: _model_inputs.Pool = "auto",
    batch_size: _model_inputs.BatchSize = 32,
    device: _model_inputs.Device = None,
    key: Key = None,
    false_alarm: Annotated[
        float | None,
        typer.Option(
            help="Share of checks that raise an alert although nothing changed. [default: 0.01, or the rate that the "
            "re-encodings allow]"
        ),
    ] = None,
    run_length: Annotated[
        float | None,
        typer.Option(
            help="Instead of --false-alarm: average number of checks until a false alarm. Evidence accumulates over "
            "checks."
        ),
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Largest drift that raises no alert. [default: 0 with --nulls, else 0.05]")
    ] = None,
    measures: Annotated[
        str | None, typer.Option(help="Measures, starting with the one that raises alerts: 'RDM drift,CKA'.")
    ] = None,
    about: About = None,
    keep_rows: Annotated[
        bool, typer.Option("--keep-rows", help="Store the rows themselves, which `monitor update` needs.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing reference.")] = False,
    identity: _file_inputs.Id = None,
    by_position: _file_inputs.ByPosition = False,
    missing: _file_inputs.Missing = "refuse",
    transpose: _file_inputs.Transpose = False,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
) -> None:
    """Create a monitor from canary rows and their re-encodings by the unchanged model."""
    from shesha.drift import DriftMonitor
    from shesha.drift.monitor import LEVEL
    from shesha.results.base import texts_of_statements

    options = {"layers": layers, "pool": pool, "batch_size": batch_size, "device": device}
    canaries = Canaries.read(model, texts, reference, "REF", **options)
    circumstances: dict[str, str] = {}
    rows: Any
    again: Any
    if canaries is None:
        assert reference is not None
        row_options = _file_inputs.RowOptions(identity, by_position, missing=missing, transpose=transpose)
        rows = read_matrix(reference, key, _columns_inside(labels, groups), row_options)
        again = read_stacks(nulls, key, row_options) if nulls else None
    else:
        refuse_with_model(nulls=nulls, key=key)
        folder = out.with_name(f"{out.name}.encodings")
        rows, again, circumstances = canaries.reencode(folder, reencodings, half=half, seed=seed)
        if false_alarm is None and run_length is None:
            false_alarm = max(LEVEL, 1 / (reencodings + 1))
    source = reference if canaries is None else canaries.file
    assert source is not None
    drift_monitor = DriftMonitor(
        rows,
        nulls=again,
        labels=_design_options.labels_named("labels", labels, source),
        groups=_design_options.labels_named("groups", groups, source),
        false_alarm=false_alarm,
        run_length=run_length,
        measures=None if measures is None else [name.strip() for name in measures.split(",")],
        tolerance=tolerance,
        about=circumstances | parse_about(about),
        missing=missing,  # type: ignore[arg-type]  # Checked by name in the call.
        seed=seed,
    )
    drift_monitor.save(out, keep_rows=keep_rows, overwrite=overwrite)
    basis = (
        f"{drift_monitor.n_nulls} re-encodings"
        if drift_monitor.n_nulls
        else "no re-encodings, so a drift above the tolerance raises an alert"
    )
    if drift_monitor.dependence:
        echo(
            f"The bound on false alarms of `monitor update`, and of checks without re-encodings, does not hold: "
            f"{drift_monitor.dependence}."
        )
    again_with = "FILE" if canaries is None else f"--model {canaries.model} --texts {texts}"
    restrictions, read = texts_of_statements(collected_statements())
    echo("\n".join(filter(None, [*restrictions, f"{out}: {drift_monitor.n_rows:,} canary rows, {basis}", read])))
    echo(f"Next: shesha monitor check {out} {again_with}")


@monitor.command("check")
def check_command(
    folder: Folder,
    current: Annotated[
        Path | None, typer.Argument(metavar="[CURRENT]", help="The same rows, encoded again.", show_default=False)
    ] = None,
    model: Model = None,
    texts: Texts = None,
    pool: _model_inputs.Pool = "auto",
    batch_size: _model_inputs.BatchSize = 32,
    device: _model_inputs.Device = None,
    key: Key = None,
    about: About = None,
    identity: _file_inputs.Id = None,
    by_position: _file_inputs.ByPosition = False,
    shared_rows: _file_inputs.SharedRows = False,
    missing: _file_inputs.Missing = "refuse",
    transpose: _file_inputs.Transpose = False,
    github_summary: Annotated[
        bool, typer.Option("--github-summary", help="Add the verdict to the file that GITHUB_STEP_SUMMARY names.")
    ] = False,
    json: _outputs.Json = None,
    html: _outputs.Html = None,
    card: _outputs.Card = None,
) -> None:
    """Compare canary rows with the reference. Exit status 0: no alert, 1: drift, 2: undecided."""
    from shesha.drift import DriftMonitor

    outputs = _outputs.Outputs(json, html=html, card=card, inputs=(current, texts, model, *monitor_files(folder)))
    summary = _summary_file() if github_summary else None
    canaries = Canaries.read(model, texts, current, "CURRENT", pool=pool, batch_size=batch_size, device=device)
    drift_monitor = DriftMonitor.load(folder)
    stored_ids = column_of_ids(drift_monitor) if identity is None and not by_position else None
    row_options = _file_inputs.RowOptions(identity or stored_ids, by_position, shared_rows, missing, transpose)
    circumstances: dict[str, str] = {}
    if canaries is None:
        assert current is not None
        try:
            source, rows = current, read_matrix(current, key, rows=row_options)
        except ValueError as error:
            if not stored_ids:
                raise
            raise ValueError(
                f"--id must name the identifiers of the rows, which `monitor init` took from {stored_ids!r}, got "
                f"{current}, which cannot be read with them ({error}); --by-position matches rows by position"
            ) from error
        row_options.state_pairing({"reference": drift_monitor}, {"current": rows})
    else:
        refuse_with_model(key=key)
        source = canaries.file
        rows, circumstances = canaries.encode_now(drift_monitor.about.get("layer"))
    verdict = drift_monitor.check(rows, about=circumstances | parse_about(about), **row_options.choice)
    inputs = [source, *(file for file in monitor_files(folder) if file.suffix in (".json", ".npz"))]
    data = f"{verdict.n_rows:,} canary rows of {folder.name}"
    outputs.write(verdict, inputs, data=data, model=source.stem if model is None else model, brief=True)
    if summary is not None:
        with summary.open("a", encoding="utf-8") as file:
            file.write(markdown(verdict))
    _end(verdict.state)


@monitor.command("update")
def update_command(
    folder: Folder,
    batch: Annotated[Path, typer.Argument(metavar="BATCH", help="Rows of new inputs.", show_default=False)],
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|COLUMN",
            help="Group of each row, if the reference has groups: FILE (or FILE:COLUMN), or COLUMN of BATCH.",
        ),
    ] = None,
    key: Key = None,
    identity: _file_inputs.Id = None,
    by_position: _file_inputs.ByPosition = False,
    missing: _file_inputs.Missing = "refuse",
    transpose: _file_inputs.Transpose = False,
    json: _outputs.Json = None,
) -> None:
    """Compare new inputs with the reference. Exit status 0: no change so far, 1: changed, 2: undecided."""
    from shesha.drift import DriftMonitor

    outputs = _outputs.Outputs(json, inputs=(batch, *monitor_files(folder)))
    row_options = _file_inputs.RowOptions(identity, by_position, missing=missing, transpose=transpose)
    rows = read_matrix(batch, key, _columns_inside(groups), row_options)
    verdict = DriftMonitor.load(folder).update(
        rows,
        groups=_design_options.labels_named("groups", groups, batch),
        missing=missing,  # type: ignore[arg-type]  # Checked by name in the call.
    )
    outputs.write(verdict, [batch], brief=True)
    _end(verdict.state)


@monitor.command("history")
def history_command(
    folder: Folder,
    last: Annotated[int, typer.Option(help="Number of checks and updates to print.")] = 20,
    json: _outputs.Json = None,
) -> None:
    """Print earlier checks and updates."""
    from shesha.drift import DriftMonitor

    outputs = _outputs.Outputs(json, inputs=monitor_files(folder))
    drift_monitor = DriftMonitor.load(folder)
    checks, updates = drift_monitor.history("check", last), drift_monitor.history("update", last)
    _outputs.emit("\n".join(status_lines(checks, updates)), {"checks": checks, "updates": updates}, outputs.json)


@monitor.command("acknowledge")
def acknowledge_command(folder: Folder) -> None:
    """Acknowledge alarms, and reset the evidence from checks and from the stream."""
    from shesha.drift import DriftMonitor

    DriftMonitor.load(folder).acknowledge()
    echo(f"{folder}: evidence restarts")


@monitor.command("serve")
def serve_command(
    folder: Folder,
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any free port.")] = 9108,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for the whole network.")] = "127.0.0.1",
) -> None:
    """Serve gauges for Prometheus under /metrics, and a web page, until Ctrl-C."""
    from shesha.drift.monitor_server import server

    with server(folder, host, port) as http_server:
        echo(f"{http_server.url} and {http_server.url}metrics; press Ctrl-C to stop")
        try:
            http_server.serve_forever()
        except KeyboardInterrupt:
            echo("ended", err=True)


def _columns_inside(*options: str | None) -> tuple[str, ...] | None:
    """Return the columns of the file itself that options name; None if there are none."""
    return tuple(name for name in options if name and _design_options.split_source(name)[0] is None) or None


def _end(state: str) -> None:
    if state == "alert":
        raise typer.Exit(CHANGED)
    if state == "not estimable":
        raise typer.Exit(COULD_NOT_TELL)


def _summary_file() -> Path:
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        raise ValueError(
            "--github-summary needs the variable GITHUB_STEP_SUMMARY, which GitHub's runners set, got none"
        )
    return Path(path)
