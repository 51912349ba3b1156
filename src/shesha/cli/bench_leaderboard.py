"""`shesha bench submit` and `shesha bench leaderboard`: share results, and rank all submissions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shesha.cli import _outputs
from shesha.cli._outputs import echo
from shesha.cli.bench import DEFAULT_STORE, OwnSuite, StoreFile, find_suite
from shesha.cli.bench_report import bench as bench
from shesha.support.plurals import count


@bench.command("submit")
def submit_command(
    folder: Annotated[
        Path, typer.Argument(help="Output folder; files are written to a subfolder with the suite's name.")
    ],
    store: StoreFile = DEFAULT_STORE,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="Use only this measure from the store (may be repeated). Default: all measures."),
    ] = None,
    suite: OwnSuite = None,
) -> None:
    """Write one JSON file per measure, with its scores, the hash of its code, versions and seeds."""
    from shesha.benchmark import submit

    written = submit(store, folder, measures=measure or (), of=find_suite(suite))
    echo(f"{count(len(written), 'file')} in {written[0].parent}")


@bench.command("leaderboard")
def leaderboard_command(
    folder: Annotated[Path, typer.Argument(help="Folder of submissions.")],
    output: Annotated[Path, typer.Option("--out", help="The Markdown file to write; - for standard output.")] = Path(
        "-"
    ),
    only: Annotated[
        str | None, typer.Option("--only", help="Only submissions of this suite, if there are several.")
    ] = None,
) -> None:
    """Show the table of submissions: ranges of positions, ties, raw and calibrated values, and published rows."""
    from shesha.benchmark import leaderboard_page

    _outputs.require_writable(output)
    _outputs.require_separate({"--out": output}, folder.rglob("*.json") if folder.is_dir() else [])
    _outputs.write(output, leaderboard_page(folder, suite=only))
