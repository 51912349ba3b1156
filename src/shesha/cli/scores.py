"""`shesha scores`: list stability scores and descriptors, or describe one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shesha.cli._commands import command
from shesha.cli._outputs import echo
from shesha.cli._run import Run

if TYPE_CHECKING:
    from shesha.descriptors import Descriptor
    from shesha.stability import Variant


@command()
def scores_command(run: Run, name: str | None = None) -> None:
    """List the scores of one representation, or describe one: its meaning, limits, invariances and requirements.

    Parameters
    ----------
    name
        A score or descriptor by any name; default: list all.

    Examples
    --------
    shesha scores feature_split
    """
    from shesha import descriptors, stability
    from shesha.support import wording

    every: list[Variant | Descriptor] = [*stability.list_variants().values(), *descriptors.descriptors().values()]
    if name is None:
        echo(*_overview(every).split("\n"))
        return
    score = wording.find_by_name(name, every, "score", "`shesha scores`")
    text = stability.card(score) if isinstance(score, stability.Variant) else descriptors.card(score)
    echo(*text.split("\n"))


def _overview(every: list[Variant | Descriptor]) -> str:
    from shesha.report import columns, range_in_words
    from shesha.stability import Variant

    cells = [
        [score.name, range_in_words(score.bounds), score.needs if isinstance(score, Variant) else "rows", score.title]
        for score in every
    ]
    lines = columns([["name", "values", "needs", "what it is"], *cells], "<<<<", indent="  ")
    n_stability = sum(isinstance(score, Variant) for score in every)
    stability, others = lines[1 : n_stability + 1], lines[n_stability + 1 :]
    return "\n".join(
        [lines[0], "stability", *stability, "descriptors", *others, "", "shesha scores NAME describes one."]
    )
