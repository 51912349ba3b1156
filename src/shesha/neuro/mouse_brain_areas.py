"""Areas of the mouse brain and the groups to which they belong."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from shesha.support import argument_types as kinds


@dataclass(frozen=True)
class Area:
    """One area in the Allen atlas."""

    area: str
    """Acronym of the area."""
    region: str
    """Functional group to which appendix 13.6 of the paper assigns the area."""
    division: str
    """Division of the brain to which the atlas assigns the area."""


OTHER = "Other"


@lru_cache(maxsize=1)
def allen_areas() -> dict[str, Area]:
    """Areas by acronym, each with its region in the paper and its division in the atlas.

    The two differ. For example, the paper assigns the zona incerta (ZI) to the midbrain, and the atlas assigns it to
    the hypothalamus. The paper's region Striatum includes the lateral septum as LS, but not its parts (LSr, LSc).

    Examples
    --------
    >>> allen_areas()["ZI"]
    Area(area='ZI', region='Midbrain', division='Hypothalamus')
    """
    text = files("shesha.neuro").joinpath("allen_areas.csv").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {line["area"]: Area(**line) for line in csv.DictReader(lines)}


def brain_region(area: str) -> str:
    """Return an area's region in the paper's appendix 13.6; 'Other' for areas that it does not list.

    Examples
    --------
    >>> brain_region("CA1"), brain_region("root")
    ('Hippocampus', 'Other')
    """
    return allen_areas()[area].region if kinds.text(area, "area") in allen_areas() else OTHER


def brain_division(area: str) -> str:
    """Return an area's division in the Allen atlas; 'Other' for an unknown acronym.

    Examples
    --------
    >>> brain_division("LSr"), brain_division("root")
    ('Striatum', 'Other')
    """
    return allen_areas()[area].division if kinds.text(area, "area") in allen_areas() else OTHER
