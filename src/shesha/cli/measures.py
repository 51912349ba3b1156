"""`shesha measures`: the list of measures, or the card of one."""

from __future__ import annotations

from typing import Annotated

import typer


def measures_command(
    name: Annotated[str | None, typer.Argument(help="A measure by any name, or a family; default: list all.")] = None,
) -> None:
    """List the measures, or tell what one means, what leaves it alone, what it costs and where it misleads."""
    from shesha.measures import card, families, get, overview

    if name is None or name.casefold() in {family.casefold() for family in families()}:
        typer.echo(overview(name))
    else:
        typer.echo(card(get(name)))
