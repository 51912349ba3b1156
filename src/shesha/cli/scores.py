"""`shesha scores`: the list of stability scores and descriptors, or the card of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shesha.descriptors import Descriptor
    from shesha.stability import Variant


def scores_command(
    name: Annotated[str | None, typer.Argument(help="A score or descriptor by any name; default: list all.")] = None,
) -> None:
    """List the scores of one representation, or describe one: its meaning, limits, invariances and requirements."""
    from shesha import descriptors, stability
    from shesha.support import spelling as spelling

    every: list[Variant | Descriptor] = [*stability.registered_variants().values(), *descriptors.descriptors().values()]
    if name is None:
        typer.echo(_overview(every))
        return
    found = spelling.find_by_name(name, every, "score", "`shesha scores`")
    typer.echo(stability.card(found) if isinstance(found, stability.Variant) else descriptors.card(found))


def _overview(every: list[Variant | Descriptor]) -> str:
    from shesha.report import columns, range_in_words
    from shesha.stability import Variant

    cells = [
        [one.name, range_in_words(one.bounds), one.needs if isinstance(one, Variant) else "rows", one.title]
        for one in every
    ]
    told = columns([["name", "values", "needs", "what it is"], *cells], "<<<<", indent="  ")
    n_stability = sum(isinstance(one, Variant) for one in every)
    stability, others = told[1 : n_stability + 1], told[n_stability + 1 :]
    return "\n".join(
        [told[0], "stability", *stability, "descriptors", *others, "", "shesha scores NAME describes one."]
    )
