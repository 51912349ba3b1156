"""`shesha monitor`: check a deployed model against a reference."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from shesha.cli import _outputs
from shesha.cli._commands import add, command
from shesha.cli._file_inputs import read_representations
from shesha.cli._model_inputs import parse_texts, read_texts, refuse_with_model, require_model
from shesha.cli._outputs import echo
from shesha.cli._run import Run, column_of_first_file
from shesha.support.provenance import current_statements

if TYPE_CHECKING:
    from shesha.drift import DriftMonitor
    from shesha.inputs import Names


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
            require_model(texts=texts)
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
        from shesha.drift.canary_reference import encode_canaries

        canaries = encode_canaries(self.model, self.texts, folder, n=n, half=half, seed=seed, encoding=self.encoding)
        echo(
            f"{folder} contains {n} re-encodings of {canaries.layer}. Rerun with more --reencodings, or delete "
            "the folder."
        )
        return self._name_rows(canaries.reference), canaries, self._circumstances(canaries.layer, canaries.info)

    def encode_now(self, layer: str | None) -> tuple[Any, dict[str, str]]:
        """Return the rows of a layer (by default that of the whole model) with names, and the circumstances."""
        from shesha.extract import encode
        from shesha.extract.torch_modules import output_layer

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


def monitor_files(folder: Path) -> list[Path]:
    """Return the files of a monitor, which no output may overwrite."""
    from shesha.drift.history import ABOUT, HISTORY

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


def history_text(checks: list[dict[str, Any]], updates: list[dict[str, Any]]) -> str:
    """Return a table of earlier checks and one of earlier updates."""
    from shesha.report import Section, Table, as_text

    tables = []
    if checks:
        columns = {
            "state": [event["state"] for event in checks],
            "drift": [event["scores"][0].get("value") for event in checks],
            "p": [event["scores"][0].get("p_value") for event in checks],
            "evidence": [event["sequence"] and event["sequence"]["shiryaev_roberts"] for event in checks],
        }
        tables.append(Section("Checks", (Table.of([event["at"] for event in checks], columns),)))
    if updates:
        columns = {
            "state": [update["state"] for update in updates],
            "new rows": [update["n_seen"] for update in updates],
            "evidence (log10)": [update["log10_martingale"] for update in updates],
        }
        tables.append(Section("Updates", (Table.of([update["at"] for update in updates], columns),)))
    return as_text(tables) or "no checks and no updates yet"


monitor = typer.Typer(
    name="monitor",
    help="Detect drift of a deployed model from canary inputs that are encoded again, or from a stream of new "
    "inputs, at a false alarm rate that you set.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for _name, _about in {
    "init": "Create a monitor from canary rows and their re-encodings by the unchanged model.",
    "check": "Compare canary rows with the reference. Exit status 0: no alert, 1: drift, 2: undecided.",
    "update": "Compare new inputs with the reference. Exit status 0: no change so far, 1: changed, 2: undecided.",
    "history": "Print earlier checks and updates.",
    "acknowledge": "Acknowledge alarms, and reset the evidence from checks and from the stream.",
    "serve": "Serve gauges for Prometheus under /metrics, and a web page, until Ctrl-C.",
}.items():
    add(monitor, _name, _about, (__name__, f"{_name}_command"))
CHANGED, COULD_NOT_TELL = 1, 2
_TEXTS = {
    "folder": ("DIR", "Directory of the monitor."),
    "model": (
        "NAME|FOLDER",
        "Encode --texts with this model instead of reading a file of rows: a folder with config.json and safetensors "
        "weights, a package, or a name that the transformers library can load.",
    ),
    "texts": ("FILE[:COLUMN]", "Texts for --model: a .txt file with one text per line, or a table."),
    "key": ("", "Name of the array, if a file contains several."),
    "about": ("NAME=TEXT", "Information to record, such as revision=abc (may be repeated)."),
}
"""Metavar and text of parameters that several commands have."""


@command(
    "shesha.drift:DriftMonitor",
    also="model texts layers pool batch_size device id by_position transpose",
    without="n_resamples",
    texts=_TEXTS,
)
def init_command(
    run: Run,
    reference: Path | None = None,
    *,
    out: Path,
    model: str | None = None,
    reencodings: int = 19,
    half: bool = True,
    nulls: list[Path] | None = None,
    labels: str | None = None,
    groups: str | None = None,
    key: str | None = None,
    measures: str | None = None,
    about: list[str] | None = None,
    keep_rows: bool = False,
    overwrite: bool = False,
) -> None:
    """Create a monitor from canary rows and their re-encodings by the unchanged model.

    Parameters
    ----------
    reference : [REF]
        File with the canary rows.
    out : DIR
        Directory of the monitor.
    reencodings
        With --model: number of re-encodings, in new random batches. 19 limit false alarms to 1 in 20 checks, 99 to 1 in
        100. Rerun to resume, or with a larger number to add some.
    half
        With --model: use half precision for every other re-encoding, because machines round differently.
    nulls : FILE
        Re-encodings of the same rows by the unchanged model: files with one matrix or a stack of them (may be
        repeated). At least 99 for --false-alarm 0.01.
    labels
        Class labels: FILE (or FILE:COLUMN) with one label per row, or COLUMN of REF.
    groups
        Document, clip or session of each row, if rows share one: FILE (or FILE:COLUMN), or COLUMN of REF. Resampling
        and `monitor update` then count each group once.
    false_alarm
        Share of checks that raise an alert although nothing changed. [default: 0.01, or the rate that the re-encodings
        allow]
    run_length
        Instead of --false-alarm: average number of checks until a false alarm. Evidence accumulates over checks.
    tolerance
        Largest drift that raises no alert. [default: 0 with at least 19 --nulls or with --false-alarm, else 0.05]
    measures
        Measures, starting with the one that raises alerts: 'RDM drift,CKA'.
    keep_rows
        Store the rows themselves, which `monitor update` needs.
    overwrite
        Replace an existing reference.
    """
    from shesha.drift import DriftMonitor
    from shesha.inputs import split_names
    from shesha.results.base import texts_of_statements

    encoding = {name: getattr(run, name) for name in ("layers", "pool", "batch_size", "device")}
    canaries = Canaries.read(model, run.texts, reference, "REF", **encoding)
    circumstances: dict[str, str] = {}
    rows: Any
    again: Any
    features: Names | None = None
    if canaries is None:
        assert reference is not None
        rows, features = run.read_named(reference, key, _columns_inside(labels, groups))
        again = None
        if nulls:
            again = []
            # Each matrix of a stack is one re-encoding. The array of an .npy file has no name that a key could select.
            for keys, unnamed in (([key] if key else None, False), (None, True)):
                if paths := [path for path in nulls if (path.suffix.lower() == ".npy") == unnamed]:
                    again += read_representations(paths, keys, None, "0", rows=run.row_options).values()
    else:
        refuse_with_model(nulls=nulls, key=key)
        folder = out.with_name(f"{out.name}.encodings")
        rows, again, circumstances = canaries.reencode(folder, reencodings, half=half, seed=run.seed)
    source = reference if canaries is None else canaries.file
    assert source is not None
    run.first = source
    chosen = None if measures is None else [name.strip() for name in measures.split(",")]
    options: dict[str, Any] = {"nulls": again, "measures": chosen}
    options |= {"groups": run.group_labels, "about": circumstances | parse_about(about)}
    if canaries is not None:
        # Rows are named by their texts, which labels of the same file are not.
        named = {"labels": run.classes, "groups": run.group_labels}
        options |= {name: None if values is None else split_names(values, name)[0] for name, values in named.items()}
    drift_monitor = DriftMonitor(rows, **run.arguments(DriftMonitor, "reference") | options)
    drift_monitor.features = features
    drift_monitor.save(out, keep_rows=keep_rows, overwrite=overwrite)
    basis = "no re-encodings, so a drift above the tolerance raises an alert"
    if drift_monitor.n_nulls:
        rate = f"false alarms in {100 * drift_monitor.false_alarm:.2g} % of checks"
        what_happens = "all equal to the reference" if drift_monitor.nulls_are_copies else rate
        basis = f"{drift_monitor.n_nulls} re-encodings, {what_happens}"
    if drift_monitor.dependence:
        echo(
            f"The bound on false alarms of `monitor update`, and of checks without re-encodings, does not hold: "
            f"{drift_monitor.dependence}."
        )
    again_with = "FILE" if canaries is None else f"--model {canaries.model} --texts {run.texts}"
    restrictions, read = texts_of_statements(current_statements())
    echo(*filter(None, [*restrictions, f"{out}: {drift_monitor.n_rows:,} canary rows, {basis}", read]))
    if not keep_rows:
        echo(
            "Kept: rows up to a rotation, so a rotation of all vectors does not show. --keep-rows keeps them as given."
        )
    echo(f"Next: shesha monitor check {out} {again_with}")


@command(
    also="texts pool batch_size device id by_position shared_rows missing transpose json plot title html full card",
    texts=_TEXTS,
)
def check_command(
    run: Run,
    folder: Path,
    current: Path | None = None,
    *,
    model: str | None = None,
    key: str | None = None,
    about: list[str] | None = None,
    github_summary: bool = False,
) -> None:
    """Compare canary rows with the reference. Exit status 0: no alert, 1: drift, 2: undecided.

    Parameters
    ----------
    current : [CURRENT]
        The same rows, encoded again.
    github_summary
        Add the verdict to the file that GITHUB_STEP_SUMMARY names.
    """
    from shesha.drift import DriftMonitor
    from shesha.report import as_markdown

    run.outputs.require_separate(monitor_files(folder))
    summary = _summary_file() if github_summary else None
    encoding = {name: getattr(run, name) for name in ("pool", "batch_size", "device")}
    canaries = Canaries.read(model, run.texts, current, "CURRENT", **encoding)
    drift_monitor = DriftMonitor.load(folder)
    stored_ids = column_of_ids(drift_monitor) if run.id is None and not run.by_position else None
    row_options = replace(run.row_options, ids=run.id or stored_ids)
    circumstances: dict[str, str] = {}
    if canaries is None:
        assert current is not None
        try:
            run.row_options = row_options
            source = current
            rows, features = run.read_named(current, key)
        except ValueError as error:
            if not stored_ids:
                raise
            raise ValueError(
                f"--id must name the identifiers of the rows, which `monitor init` took from {stored_ids!r}, got "
                f"{current}, which cannot be read with them ({error}); --by-position matches rows by position"
            ) from error
        rows = drift_monitor.reorder_features(rows, features, current.name)
        row_options.state_pairing({"reference": drift_monitor}, {"current": rows})
    else:
        refuse_with_model(key=key)
        source = canaries.file
        rows, circumstances = canaries.encode_now(drift_monitor.about.get("layer"))
    verdict = drift_monitor.check(rows, about=circumstances | parse_about(about), **row_options.choice)
    inputs = [source, *(file for file in monitor_files(folder) if file.suffix in (".json", ".npz"))]
    data = f"{verdict.n_rows:,} canary rows of {folder.name}"
    run.outputs.write(verdict, inputs, data=data, model=source.stem if model is None else model, brief=True)
    if summary is not None:
        with summary.open("a", encoding="utf-8") as file:
            file.write(as_markdown(verdict.page()))
    _end(verdict.state)


@command(also="id by_position missing transpose json plot title", texts=_TEXTS)
def update_command(run: Run, folder: Path, batch: Path, *, groups: str | None = None, key: str | None = None) -> None:
    """Compare new inputs with the reference. Exit status 0: no change so far, 1: changed, 2: undecided.

    Parameters
    ----------
    batch : BATCH
        Rows of new inputs.
    groups
        Group of each row, if the reference has groups: FILE (or FILE:COLUMN), or COLUMN of BATCH.
    """
    from shesha.drift import DriftMonitor

    run.outputs.require_separate(monitor_files(folder))
    run.first = batch
    rows, features = run.read_named(batch, key, _columns_inside(groups))
    drift_monitor = DriftMonitor.load(folder)
    rows = drift_monitor.reorder_features(rows, features, batch.name)
    verdict = drift_monitor.update(rows, groups=run.group_labels, missing=run.missing)
    run.outputs.write(verdict, [batch], brief=True)
    _end(verdict.state)


@command(also="json", texts=_TEXTS)
def history_command(run: Run, folder: Path, *, last: int = 20) -> None:
    """Print earlier checks and updates.

    Parameters
    ----------
    last
        Number of checks and updates to print.
    """
    from shesha.drift import DriftMonitor

    run.outputs.require_separate(monitor_files(folder))
    drift_monitor = DriftMonitor.load(folder)
    checks, updates = drift_monitor.history("check", last), drift_monitor.history("update", last)
    _outputs.emit(history_text(checks, updates), {"checks": checks, "updates": updates}, run.json)


@command(texts=_TEXTS)
def acknowledge_command(run: Run, folder: Path) -> None:
    """Acknowledge alarms, and reset the evidence from checks and from the stream."""
    from shesha.drift import DriftMonitor

    DriftMonitor.load(folder).acknowledge()
    echo(f"{folder}: evidence restarts")


@command(texts=_TEXTS)
def serve_command(run: Run, folder: Path, *, port: int = 9108, host: str = "127.0.0.1") -> None:
    """Serve gauges for Prometheus under /metrics, and a web page, until Ctrl-C.

    Parameters
    ----------
    port
        Port to listen on; 0 for any free port.
    host
        Address to listen on; 0.0.0.0 for the whole network.
    """
    from shesha.drift.monitor_server import server

    with server(folder, host, port) as http_server:
        echo(f"{http_server.url} and {http_server.url}metrics; press Ctrl-C to stop")
        try:
            http_server.serve_forever()
        except KeyboardInterrupt:
            echo("ended", err=True)


def _columns_inside(*options: str | None) -> tuple[str, ...]:
    """Return the columns of the file itself that options name."""
    return tuple(name for option in options for name in column_of_first_file(option))


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
