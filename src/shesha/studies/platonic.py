"""Do models of different kinds of data become alike as they grow, as a whole or in their neighbourhoods?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from shesha.calibration import calibrate_layers
from shesha.studies._page import Page
from shesha.studies._published_models import LANGUAGE, VIDEO, VISION, WIT, exported
from shesha.studies._sides import DATA, EPOCHS, SENTENCES, WIDTHS, sides
from shesha.studies._study import study
from shesha.studies._widths import IMAGES

if TYPE_CHECKING:
    import pandas as pd

GLOBAL = {
    "CKA (linear)": "CKA",
    "CKA (RBF)": "CKA(kernel=rbf)",
    "Unbiased CKA": "unbiased CKA",
    "Procrustes": "Procrustes similarity(published=True)",
    "RV coefficient": "RV",
    "SVCCA": "SVCCA(components=10)",
}
LOCAL = {
    f"{name} (k={k})": f"{measure}(k={k})"
    for name, measure, sizes in (
        ("mKNN", "mutual kNN", (10, 20, 50, 100)),
        ("CKNNA", "CKNNA", (10, 100)),
        ("cycle-kNN", "cycle kNN", (10, 100)),
    )
    for k in sizes
}
MEASURES = GLOBAL | LOCAL
FEW = ("CKA", "CKA(kernel=rbf)", "mutual kNN(k=10)", "CKNNA(k=10)")
_TRUNCATED = {"Procrustes similarity(published=True)": 64}
"""Leading components of measures that decompose something in every draw."""


def _grid(
    data: Sequence[str], epochs: Sequence[int], partners: Sequence[int], measures: Sequence[str], null: str
) -> list[dict[str, Any]]:
    names = ("data", "epochs", "width", "partner", "measure", "null")
    cells = product(data, epochs, WIDTHS, partners, measures, (null,))
    return [dict(zip(names, one, strict=True)) for one in cells]


STAND_INS = [
    *_grid((SENTENCES,), EPOCHS, (384,), list(MEASURES.values()), "free"),
    *_grid(IMAGES, EPOCHS, (512,), list(MEASURES.values()), "free"),
    *_grid(IMAGES, EPOCHS, (64,), FEW, "free"),
    *_grid(IMAGES, (0,), (512,), FEW, "free"),
    *_grid(DATA[2:], EPOCHS, (384,), FEW, "within classes"),
    *_grid(IMAGES, EPOCHS, (512,), FEW, "within classes"),
]
PUBLISHED = [
    {"data": data, "epochs": -1, "width": first, "partner": second, "measure": measure, "null": "free"}
    for data, others in ((WIT, VISION), ("PVD", VIDEO))
    for first in LANGUAGE
    for second in others
    for measure in (FEW[0], FEW[2])
]


@study(
    "platonic",
    paper="Null calibration, 6.3 and extended results",
    version=1,
    full=[*STAND_INS, *PUBLISHED],
    quick=[*_grid(("Fashion-MNIST",), (6,), (64,), FEW, "free")],
    published="platonic.csv",
)
def platonic(data: str, epochs: int, width: int | str, partner: int | str, measure: str, null: str) -> dict[str, float]:
    """Does the best similarity over layers grow with a model's capability, before calibration and after?

    Stand-ins: networks of several widths of left and right halves of images, and of words beside a sentence encoder;
    256 rows, 200 permutations of all layers together. The published models by name, where their layers are exported.
    """
    if isinstance(width, str) or isinstance(partner, str):
        return exported(data, str(width), str(partner), measure)
    pair = sides(data, epochs, width, partner)
    blocks = pair.labels if null == "within classes" else None
    found = calibrate_layers(pair.first, pair.second, measure, blocks=blocks, truncate=_TRUNCATED.get(measure), seed=0)
    return {
        "capability": pair.capability,
        "raw": found.observed,
        "score": found.score,
        "threshold": found.threshold,
        "chance": found.null_mean,
        "p_value": found.p_value,
    }


@platonic.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Correlate scores with capability, before and after calibration."""
    raise NotImplementedError
