"""`shesha demo`: answer four questions about the network that ships with the library."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from shesha._version import DISTRIBUTION
from shesha.cli._commands import command
from shesha.cli._run import Run
from shesha.cli.audit import QUICK

if TYPE_CHECKING:
    from shesha.report import Page, Part
    from shesha.results import Audit, Comparison

_LAYER = "layer3"
_WITHOUT_PAGES = f'pip install "{DISTRIBUTION}[report]", then repeat this command to write a page'
_INTRODUCTION = """\
This example compares a small network that reads handwritten digits before and after
training. The data are the activations of its three hidden layers on 900 test images.
"""


@dataclass(frozen=True)
class _Step:
    """A question, the command that answers it, and the answer."""

    question: str
    command: str
    answer: tuple[str, ...]
    table: Part | None = None
    numbers: tuple[Part, ...] = ()
    """Further tables that only the page shows."""


@command()
def demo_command(run: Run, *, out: Path = Path("shesha-demo")) -> None:
    """Answer four questions about a small network, show the commands, and write an HTML page.

    Parameters
    ----------
    out : DIR
        Folder for the data and the page.

    Examples
    --------
    shesha demo
    """
    from shesha.auditing import audit
    from shesha.cli._outputs import Outputs, say
    from shesha.comparison import compare
    from shesha.data import digits_network
    from shesha.io import save
    from shesha.report import as_html

    out.mkdir(parents=True, exist_ok=True)
    layers, labels = digits_network()
    stages = {
        stage: {name.partition("_")[2]: X for name, X in layers.items() if name.startswith(prefix)}
        for stage, prefix in (("untrained", "init"), ("trained", "trained"))
    }
    for stage, layer_arrays in stages.items():
        save(out / f"{stage}.npz", layer_arrays, labels=labels, overwrite=True)
    page = Outputs(html=out / "demo.html").html if find_spec("jinja2") else None
    say(_INTRODUCTION)
    audited = audit(stages["trained"], labels, seed=0, **QUICK)
    before, after = (layers[_LAYER] for layers in stages.values())
    first, second = (f"{stage}:{_LAYER}" for stage in stages)
    compared = compare(before, after, "recommended", names=(first, second), calibrate=True, seed=0)
    steps = list(_steps(audited, compare(before, after, "recommended"), compared, out))
    say("\n".join(_lines(steps)))
    if page is not None:
        page.write_text(as_html(_page(steps)), encoding="utf-8")
    say(f"\nEvery number: {page or _WITHOUT_PAGES}\nYour own data: shesha audit FILE --labels COLUMN")


def _steps(audited: Audit, raw: Comparison, calibrated: Comparison, out: Path) -> Iterator[_Step]:
    from shesha.report import Column, Table
    from shesha.results.comparison import RECOMMENDED

    pair = f"shesha compare {out / 'untrained.npz'} {out / 'trained.npz'} --key {_LAYER}"
    page = audited.page()
    yield _Step(
        "1. Is the geometry stable?",
        f"shesha audit {out / 'trained.npz'} --labels label --quick",
        page.answer[:1],
        _first_table(audited),
        page.numbers,
    )
    columns = (
        Column("value", tuple(f"{score.value:.2f}" for score in raw)),
        Column("chance", tuple(f"{score.chance + 0.0:.2f}" for score in raw)),
        Column("compares", tuple(RECOMMENDED[score.name] for score in raw), "<"),
    )
    yield _Step(
        f"2. Is {_LAYER} similar to the same layer before training?",
        pair,
        (),
        Table(tuple(score.name for score in raw), (columns,), "Similarity", "measure"),
    )
    yield _Step(
        "3. Does that exceed chance?",
        pair,
        calibrated.page().answer[:1],
        numbers=calibrated.page().numbers,
    )
    yield _Step(
        "4. Which measure should I use?",
        "shesha measures 'unbiased CKA'",
        (
            "The three measures above answer different questions, and none of them rises merely because there "
            "are more features. Use them unless you have a reason not to. The command explains what a measure responds "
            "to and when it misleads. shesha bench ranks all measures.",
        ),
    )


def _first_table(audited: Audit) -> Part:
    from shesha.report import Table

    table = next(part for part in audited.page().numbers if isinstance(part, Table))
    # Further columns would need a second table.
    return replace(table, groups=table.groups[:2])


def _lines(steps: list[_Step]) -> Iterator[str]:
    from shesha.report import Lines, Section, Text, as_text

    for step in steps:
        parts = (Lines((f"$ {step.command}",)), *map(Text, step.answer), *([step.table] if step.table else []))
        yield as_text([Section(step.question, parts)]) + ("\n" if step is not steps[-1] else "")


def _page(steps: list[_Step]) -> Page:
    from shesha.report import Lines, Page, Section, Text
    from shesha.results.generic_page import run_details

    return Page(
        title="Four questions about a small network",
        question=" ".join(_INTRODUCTION.split()),
        answer=steps[0].answer + steps[2].answer,
        sections=tuple(
            Section(
                step.question,
                (
                    Lines((f"$ {step.command}",)),
                    *map(Text, step.answer),
                    *(step.numbers or ([step.table] if step.table else [])),
                ),
            )
            for step in steps
        ),
        ran=run_details(None),
    )
