"""The section of a report that lists possible problems with an audit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from shesha.report import Point, Section
from shesha.results.audit.tables import list_names

if TYPE_CHECKING:
    from shesha.results.audit.audit import Audit
    from shesha.results.audit.doubts import Doubt

_EFFECT = (
    "Problems are sorted by their effect: the change of the feature split when the problem is removed, or the "
    "affected share of the data."
)


def doubts(audit: Audit, words: Callable[[str], str] = str) -> Section | None:
    """Return the doubts by decreasing effect; a doubt shared by several representations appears once."""
    with_it: dict[str, list[tuple[Doubt, str]]] = {}
    for finding in audit.representations:
        for doubt in finding.doubts or ():
            with_it.setdefault(doubt.name, []).append((doubt, finding.name))
    if not with_it:
        return None
    several = len(audit.representations)
    worst = {name: max(pairs, key=lambda pair: pair[0].effect) for name, pairs in with_it.items()}
    points = []
    for name, (doubt, most) in sorted(worst.items(), key=lambda item: -item[1][0].effect):
        names = [representation for _, representation in with_it[name]]
        where = "" if several == 1 else f"{list_names(names, several)}, "
        most_in = f"strongest in {most}: " if len(names) > 1 else ""
        points.append(
            Point(name, f"{where}{doubt.evidence}", f"{most_in}{words(doubt.text)}.", f"{words(doubt.advice)}.")
        )
    return Section("What could be wrong", tuple(points), _EFFECT)
