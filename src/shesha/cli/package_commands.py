"""Commands of separate packages: how the program finds them, and the options and outputs that they share with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from shesha._version import DISTRIBUTION
from shesha.cli._options import OPTIONS
from shesha.cli._outputs import (
    INTERRUPTED,
    Outputs,
    echo,
    require_page,
    require_separate,
    require_writable,
    save_page,
    save_picture,
    write,
)


class PackageGroup(TyperGroup):
    """A group of commands whose help lists what each command does without cutting it."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        for command in self.commands.values():
            paragraph, _, _ = (command.help or "").partition("\n\n")
            command.short_help = command.short_help or " ".join(paragraph.split())
        super().format_commands(ctx, formatter)


Workers = Annotated[int | None, typer.Option(help="Number of local processes; default: one per core.")]
Scheduler = Annotated[str | None, typer.Option(help=OPTIONS["scheduler"].help)]
Html = Annotated[Path | None, typer.Option("--html", help=OPTIONS["html"].help)]
Title = Annotated[str | None, typer.Option("--title", help=OPTIONS["title"].help)]
GROUP = "shesha.commands"
"""Entry point group through which other packages add commands."""
PACKAGES: Mapping[str, str] = {
    "bench": "Rank similarity measures by tests with known answers.",
    "study": "Repeat published experiments.",
}
"""Commands of the project's own separate packages, which the extras of the same names install."""


def add_package_commands(app: typer.Typer) -> None:
    """Add the commands of the project's packages; instead of a missing one, add a command that says what to install."""
    from importlib.metadata import entry_points

    for name, about in PACKAGES.items():
        points = list(entry_points(group=GROUP, name=name))
        problem = "is in a separate package"
        if points:
            try:
                app.add_typer(points[0].load(), name=name, short_help=about, cls=PackageGroup)
                continue
            except Exception as error:  # A package of another version must not stop the other commands.
                problem = f"could not be loaded ({error})"
        _add_missing(app, name, about, f'`shesha {name}` {problem}: pip install "{DISTRIBUTION}[{name}]"')


def _add_missing(app: typer.Typer, name: str, about: str, hint: str) -> None:
    any_words = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}

    @app.command(name, short_help=f"{about} (not installed)", context_settings=any_words, help=hint)
    def missing() -> None:
        raise ImportError(hint)


__all__ = [
    "INTERRUPTED",
    "Html",
    "Outputs",
    "Scheduler",
    "Title",
    "Workers",
    "add_package_commands",
    "echo",
    "require_page",
    "require_separate",
    "require_writable",
    "save_page",
    "save_picture",
    "write",
]
