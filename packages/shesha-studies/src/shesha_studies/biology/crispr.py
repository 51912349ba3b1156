"""Do larger perturbations shift cells more coherently, beyond the effect of group size?"""

from __future__ import annotations

from collections.abc import Sequence

from shesha.studies.checks import DATA
from shesha.studies.study_definition import study
from shesha_studies.biology import _perturbed_cells as screens
from shesha_studies.biology._crispr_cells import GIVEN, NULL_MODELS, PARTS, Row
from shesha_studies.biology._crispr_checks import BOTH, GAUSSIAN, SCORES, SCREEN, STIMULATION
from shesha_studies.biology._crispr_facts import make_facts
from shesha_studies.biology._crispr_page import make_page

SIZES = ("10", "25", "50", "100", "400")
COMPONENTS = ("10", "20", "30", "50", "100")
SCALED = ("raw", "both", "magnitude")


def _cells(part: str, settings: Sequence[str], data: str = SCREEN) -> list[dict[str, str]]:
    return [{"part": part, "data": data, "setting": setting} for setting in settings]


_EACH = [f"{score} given {given}" for score in SCORES for given in GIVEN]
_QUICK = [
    *_cells("size", SIZES),
    *_cells("group", screens.TARGETS),
    *_cells("group", screens.TYPES, STIMULATION),
    *_cells("counts", ["cells"]),
    *_cells("method", ["standard", "whitened"]),
    *_cells("method", ["standard"], STIMULATION),
    *_cells("given", _EACH),
    *_cells("left out", SCORES),
    *_cells("quartiles", SCORES),
    *_cells("null model", list(NULL_MODELS), GAUSSIAN),
]
_FULL = [
    *_QUICK,
    *_cells("given", _EACH, BOTH),
    *_cells("method", ["knn"]),
    *_cells("reading", screens.READINGS),
    *_cells("fewer cells", ["STAT1", "IRF1", "ATF2"]),
    *_cells("confound", [f"{score} and {name}" for score in SCORES for name in ("n", "spread")]),
    *_cells("confound", [f"{score} and {name}" for score in SCORES for name in ("n", "spread")], BOTH),
    *_cells("components", [f"{score} in {k}" for score in SCORES for k in COMPONENTS]),
    *_cells("seeds", ["all cells", "80 % of the cells"]),
    *_cells("mixed", [f"{score}, {how}" for score in SCORES for how in ("centred", "as it is")], BOTH),
    *_cells("pooled", [f"{score}, {one}" for score in SCORES for one in SCALED], BOTH),
]


@study(
    "crispr",
    paper="Geometric Stability, 3.4 and 12, Tables 59 to 74",
    version=3,
    full=_FULL,
    quick=_QUICK,
    published="crispr.csv",
    on=DATA,
    own_numbers=("perturbations simulated",),
)
def crispr(part: str, data: str, setting: str) -> Row:
    """Do larger perturbations shift cells more coherently, beyond the effect of group size on both numbers?

    25 knocked-out targets of Papalexi et al. (2021), and seven types of blood cells with and without interferon-beta
    (Kang et al. 2018, no CRISPR); every number with the same of control cells that pose as groups of the same sizes.
    """
    return PARTS[part](data, setting)


crispr.page(make_page)
crispr.facts(make_facts)
