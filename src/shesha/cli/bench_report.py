"""`shesha bench export` and `shesha bench report`: write benchmark results to files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shesha.cli import _outputs
from shesha.cli.bench import DEFAULT_STORE, OwnSuite, StoreFile, find_suite
from shesha.cli.bench import bench as bench


@bench.command("export")
def export_command(
    output: Annotated[Path, typer.Argument(help="The CSV file to write; - for standard output.")],
    store: StoreFile = DEFAULT_STORE,
    comparisons: Annotated[bool, typer.Option("--comparisons", help="Write all comparisons, not scores.")] = False,
    suite: OwnSuite = None,
) -> None:
    """Write the scores, or every comparison, as CSV."""
    from shesha.benchmark import results
    from shesha.benchmark.stored_results import comparisons as every_comparison

    _outputs.require_writable(output)
    _outputs.require_separate({"OUTPUT": output}, [store])
    frame = every_comparison(store) if comparisons else results(store, find_suite(suite))
    _outputs.write(output, frame.to_csv(index=False))


@bench.command("report")
def report_command(
    output: Annotated[
        Path | None,
        typer.Argument(help="The Markdown file to write; - for standard output. It may be left out with --html."),
    ] = None,
    store: StoreFile = DEFAULT_STORE,
    title: Annotated[str, typer.Option(help="Heading of the report.")] = "Benchmark results",
    suite: OwnSuite = None,
    html: _outputs.Html = None,
) -> None:
    """Write accuracies, tables, ranks, runtimes and the agreement with the published results."""
    from shesha.benchmark import report
    from shesha.benchmark.report_page import report_page

    if output is None and html is None:
        raise ValueError("OUTPUT or --html must name a file to write, got neither")
    _outputs.require_writable(output)
    _outputs.require_page(html)
    _outputs.require_separate({"OUTPUT": output, "--html": html}, [store])
    if output is not None:
        _outputs.write(output, report(store, title=title, of=find_suite(suite)))
    _outputs.save_page(html, lambda about: report_page(store, title=title, of=find_suite(suite), about=about), [])
