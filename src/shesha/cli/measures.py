"""`shesha measures`: list the measures, or describe one."""

from __future__ import annotations

from typing import Annotated

import typer

from shesha.cli._outputs import echo


def _names(incomplete: str) -> list[str]:
    """Return the names of measures that complete what was typed."""
    from shesha.measures import choose

    return [measure.name for measure in choose("all") if measure.name.casefold().startswith(incomplete.casefold())]


def measures_command(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A measure by any name, a family, or 'ReSi', 'standard'; default: list all.", autocompletion=_names
        ),
    ] = None,
) -> None:
    """List the measures, or describe one: its meaning, invariances, cost and limits."""
    from shesha.measures import card, choose, families, get, overview

    if name is None:
        echo(overview())
        return
    is_group = name.casefold() in {family.casefold() for family in families()} or len(choose(name)) > 1
    echo(overview(choose(name)) if is_group else card(get(name)))
