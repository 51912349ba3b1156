"""`shesha bench`: run the benchmark of similarity measures."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from shesha.cli import package_commands as shared
from shesha.cli.package_commands import echo
from shesha.support.wording import count, csv_text

if TYPE_CHECKING:
    import pandas as pd

    from shesha_bench import Suite

bench = typer.Typer(
    name="bench",
    help="Rank similarity measures by six tests with known answers, on trained networks of three domains.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_STORE = typer.Option(help="The file of results; trained models are stored in a folder next to it.")
StoreFile = Annotated[Path, _STORE]
Pooling = Literal["cls", "mean", "all"]
DEFAULT_STORE = Path("resi.sqlite")
OwnSuite = Annotated[
    str | None,
    typer.Option("--suite", help="Suite of the store as module:name, if the suite is your own."),
]
_NOTHING = 2
_TESTS = ("accuracy", "output", "label_randomization", "shortcut", "augmentation", "layer_monotonicity")
"""The tests of the published benchmark."""


@bench.command("run")
def run_command(
    suite: Annotated[
        str, typer.Argument(help="'small' (offline on a laptop), 'paper' (as published), or your own module:name.")
    ],
    domain: Annotated[list[str] | None, typer.Option(help="Only graphs, language or vision (may be repeated).")] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this data set (may be repeated). small: Cora, SST2, MNLI, FashionMNIST, CIFAR10; paper: Cora, "
            "Flickr, OGBN-Arxiv, SST2, MNLI, IN100, CIFAR100."
        ),
    ] = None,
    architecture: Annotated[list[str] | None, typer.Option(help="Only this network (may be repeated).")] = None,
    test: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this test (may be repeated): accuracy, output, label_randomization, shortcut, augmentation, "
            "layer_monotonicity, or your own module:name."
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="Measures: 'all' (default), 'ReSi', a family, a name, 'calibrated CKA' or module:function."),
    ] = None,
    workers: shared.Workers = None,
    scheduler: shared.Scheduler = None,
    store: StoreFile = DEFAULT_STORE,
    keep_checkpoints: Annotated[bool, typer.Option("--keep-checkpoints", help="Keep trained weights.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Retry models and comparisons that failed in an earlier run.")
    ] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Fail if another run is using the store.")] = False,
    html: shared.Html = None,
) -> None:
    """Train the models of a suite, compare them, and store every number; rerun to resume.

    Data sets and pretrained networks are read from the folder in SHESHA_DATA, or downloaded to the folder in
    SHESHA_CACHE. `shesha doctor` lists the available ones.
    """
    from shesha_bench import run, status
    from shesha_bench.report_page import report_page

    shared.require_page(html)
    shared.require_separate({"--html": html}, [store])
    with _explain_resume(store):
        scores = run(
            suite,
            domains=domain or (),
            datasets=dataset or (),
            architectures=architecture or (),
            tests=test or (),
            measures=measure or ("all",),
            store=store,
            workers=workers,
            scheduler=scheduler,
            keep_checkpoints=keep_checkpoints,
            retry_failed=retry_failed,
            wait=not no_wait,
        )
    progress = status(store, find_suite(suite))
    failed, without = int(progress["models failed"].sum()), int(progress["without value"].sum())
    if failed or without:
        echo(
            f"{count(failed, 'model')} failed, {count(without, 'comparison')} gave no value; see `shesha bench status`",
            err=True,
        )
    if scores.empty:
        echo("shesha: no test is complete", err=True)
    else:
        _show_own_ranks(scores)
        _note_missing_tests(scores)
    shared.save_page(html, lambda about: report_page(store, of=find_suite(suite), about=about), [])
    if scores.empty:
        raise typer.Exit(_NOTHING)


@contextmanager
def _explain_resume(store: Path) -> Iterator[None]:
    """After Ctrl-C, print how to resume."""
    try:
        yield
    except KeyboardInterrupt:
        echo(f"shesha: finished results are in {store}; rerun the same command to resume", err=True)
        raise typer.Exit(shared.INTERRUPTED) from None


def _note_missing_tests(scores: pd.DataFrame) -> None:
    """If not all tests were run, print which tests the ranks are based on."""
    from shesha_bench.tests import find

    rows = set(scores["test"])
    missing = [name for name in _TESTS if not rows & set(find(name).rows)]
    if missing:
        sets = ", ".join(dict.fromkeys(map(str, scores["dataset"])))
        echo(
            f"shesha: these ranks are based on {len(_TESTS) - len(missing)} of {len(_TESTS)} tests, on {sets}. They do "
            f"not cover {', '.join(missing)}. `shesha bench rank --published` shows the published ranks.",
            err=True,
        )


@bench.command("status")
def status_command(store: StoreFile = DEFAULT_STORE, suite: OwnSuite = None) -> None:
    """Show the progress of each test, and why models or comparisons failed."""
    from shesha_bench import Store, status
    from shesha_bench.run_suite import describe_missing_rows, failures

    with Store(store, create=False) as opened:
        progress = status(opened, find_suite(suite))
        failed = opened.query("SELECT description, reason FROM model WHERE accuracy IS NULL")
        without, fewer = failures(opened), describe_missing_rows(opened)
    known = progress["comparisons"].notna()
    comparisons = progress["comparisons"].astype(object).where(known, "after training")
    echo(*_format_frame(progress.assign(comparisons=comparisons)).split("\n"))
    for description, reason in failed:
        echo(f"failed: {description}: {reason}")
    if fewer:
        echo("comparisons that leave out rows without a direction (number, most rows left out):", *fewer.split("\n"))
    if without:
        echo("comparisons without a value:", *without.split("\n"))


@bench.command("table")
def table_command(
    store: StoreFile = DEFAULT_STORE,
    test: Annotated[str | None, typer.Option(help="Only this test.")] = None,
    domain: Annotated[str | None, typer.Option(help="Only this domain.")] = None,
    published: Annotated[bool, typer.Option("--published", help="Show the published results instead.")] = False,
    suite: OwnSuite = None,
) -> None:
    """Print the scores in the paper's layout, as plain text on a terminal and as Markdown in a file or pipe."""
    from shesha_bench import table, to_markdown
    from shesha_bench.ranks import stars
    from shesha_bench.suites import domain_name

    rows_of_tests = _test_results(test)
    frame = _results(store, published, suite)
    chosen = domain and domain_name(domain, list(dict.fromkeys(frame["domain"])))
    there = list(dict.fromkeys((frame[frame["domain"] == chosen] if chosen else frame)["test"]))
    there = [name for name in there if rows_of_tests is None or name in rows_of_tests]
    if not there:
        echo(f"shesha: the test {test} is not complete", err=True)
        raise typer.Exit(_NOTHING)
    for name in there:
        echo("", name, "")
        scores = table(frame, name, chosen)
        if sys.stdout.isatty():
            echo(*scores.to_string(float_format="{:.2f}".format, na_rep="").split("\n"))
        else:
            echo(*to_markdown(scores, stars(frame, name, chosen)).split("\n"))


@bench.command("rank")
def rank_command(
    store: StoreFile = DEFAULT_STORE,
    pooling: Annotated[Pooling, typer.Option(help="Pooling to rank if there are several: cls, mean or all.")] = "cls",
    published: Annotated[bool, typer.Option("--published", help="Rank the published results instead.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Write a picture of the distribution of ranks to this file.")
    ] = None,
    title: shared.Title = None,
    suite: OwnSuite = None,
) -> None:
    """Rank the measures in each domain."""
    from shesha_bench import add_published, plot_ranks, rank

    shared.Outputs(plot=plot, title=title, inputs=[store])
    frame = _results(store, published, suite)
    if published:
        _show_ranks(rank(frame, pooling=pooling))
    else:
        _show_own_ranks(frame, pooling)
        _note_missing_tests(frame)
        frame = add_published(frame)
    shared.save_picture(plot, lambda: plot_ranks(frame, pooling=pooling, title=title).flat[0])


def _show_own_ranks(values: pd.DataFrame, pooling: Pooling = "cls") -> None:
    """Print ranks that include published measures that were not run; these are marked."""
    from shesha_bench.ranks import rank_with_published

    ranks = rank_with_published(values, pooling=pooling)
    _show_ranks(ranks)
    if (ranks["source"] == "published").any():
        echo("shesha: scores of measures marked (published) are those of the paper, for its own models", err=True)


def _show_ranks(ranks: pd.DataFrame) -> None:
    """Print ranks; a single measure has no rank."""
    from shesha_bench.ranks import ranks_for_display

    shown = ranks_for_display(ranks)
    echo(*_format_frame(shown).split("\n"))
    if (shown["position"] == "-").any():
        echo("shesha: a single measure has no rank; run others on the same models (--measure ReSi)", err=True)


def _results(store: Path, from_paper: bool, suite: str | None) -> pd.DataFrame:
    from shesha_bench import published, results

    frame = published() if from_paper else results(store, find_suite(suite))
    if frame.empty:
        echo("shesha: no test is complete", err=True)
        raise typer.Exit(_NOTHING)
    return frame


def find_suite(name: str | None) -> Suite | None:
    """Return the suite with a name, or None if there is no name."""
    from shesha_bench import suite

    return None if name is None else suite(name)


def _test_results(test: str | None) -> tuple[str, ...] | None:
    """Return the names of a test's results; a test of the user's own is registered on the way."""
    if test is None:
        return None
    from shesha_bench.tests import find

    return find(test).rows


def _format_frame(frame: pd.DataFrame) -> str:
    return frame.to_string(index=False, float_format=lambda value: f"{value:.2f}")


@bench.command("export")
def export_command(
    output: Annotated[Path, typer.Argument(help="The CSV file to write; - for standard output.")],
    store: StoreFile = DEFAULT_STORE,
    comparisons: Annotated[bool, typer.Option("--comparisons", help="Write all comparisons, not scores.")] = False,
    suite: OwnSuite = None,
) -> None:
    """Write the scores, or every comparison, as CSV."""
    from shesha_bench import results
    from shesha_bench.stored_results import comparisons as every_comparison

    shared.require_writable(output)
    shared.require_separate({"OUTPUT": output}, [store])
    frame = every_comparison(store) if comparisons else results(store, find_suite(suite))
    shared.write(output, csv_text(frame))


@bench.command("report")
def report_command(
    output: Annotated[
        Path | None,
        typer.Argument(help="The Markdown file to write; - for standard output. It may be left out with --html."),
    ] = None,
    store: StoreFile = DEFAULT_STORE,
    title: Annotated[str, typer.Option(help="Heading of the report.")] = "Benchmark results",
    suite: OwnSuite = None,
    html: shared.Html = None,
) -> None:
    """Write accuracies, tables, ranks, runtimes and the agreement with the published results."""
    from shesha_bench import report
    from shesha_bench.report_page import report_page

    if output is None and html is None:
        raise ValueError("OUTPUT or --html must name a file to write, got neither")
    shared.require_writable(output)
    shared.require_page(html)
    shared.require_separate({"OUTPUT": output, "--html": html}, [store])
    if output is not None:
        shared.write(output, report(store, title=title, of=find_suite(suite)))
    shared.save_page(html, lambda about: report_page(store, title=title, of=find_suite(suite), about=about), [])


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
    from shesha_bench import submit

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
    from shesha_bench import leaderboard_page

    shared.require_writable(output)
    shared.require_separate({"--out": output}, folder.rglob("*.json") if folder.is_dir() else [])
    shared.write(output, leaderboard_page(folder, suite=only))
