"""`shesha measures`: list the measures, or describe one."""

from __future__ import annotations

from shesha.cli._commands import command
from shesha.cli._outputs import echo
from shesha.cli._run import Run


def _names(incomplete: str) -> list[str]:
    """Return the names of measures that complete what was typed."""
    from shesha.measures import choose

    return [measure.name for measure in choose("all") if measure.name.casefold().startswith(incomplete.casefold())]


@command(completion=_names)
def measures_command(run: Run, name: str | None = None) -> None:
    """List the measures, or describe one: its meaning, invariances, cost and limits.

    Parameters
    ----------
    name
        A measure by any name, a family, or 'ReSi', 'standard'; default: list all.

    Examples
    --------
    shesha measures
    shesha measures 'mutual kNN'
    """
    from shesha.measures import card, choose, families, get, overview

    if name is None:
        echo(*overview().split("\n"))
        return
    is_group = name.casefold() in {family.casefold() for family in families()} or len(choose(name)) > 1
    echo(*(overview(choose(name)) if is_group else card(get(name))).split("\n"))
