"""Do models of different modalities become more similar as they grow, globally or locally?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shesha.benchmark.data_folders import local_folder
from shesha.calibration import calibrate_layers
from shesha.charts import PALETTE
from shesha.studies.facts import Facts
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha.studies.study_decorator import Unreachable, grid_of, study
from shesha.support.types import Matrix
from shesha_studies.chance._platonic_facts import (
    make_facts,
    mean_trends,
    published_numbers,
    untrained_scores,
)
from shesha_studies.chance._two_modality_models import EPOCHS, SENTENCES, STAND_IN, WIDTHS, sides, unit_rows
from shesha_studies.networks.images import IMAGES

FOLDER, WIT = "platonic", "WIT"
LANGUAGE = (
    *(f"bigscience/bloomz-{size}" for size in ("560m", "1b1", "1b7", "3b", "7b1")),
    *(f"openlm-research/open_llama_{size}" for size in ("3b", "7b", "13b")),
    *(f"huggyllama/llama-{size}" for size in ("7b", "13b", "30b", "65b")),
)
VISION = (
    *(
        f"vit_{size}_augreg_in21k"
        for size in ("tiny_patch16_224", "small_patch16_224", "base_patch16_224", "large_patch16_224")
    ),
    *(f"vit_{size}_mae" for size in ("base_patch16_224", "large_patch16_224", "huge_patch14_224")),
    *(f"vit_{size}_dinov2" for size in ("small_patch14", "base_patch14", "large_patch14", "giant_patch14")),
    *(f"vit_{size}_clip" for size in ("base_patch16", "large_patch14", "huge_patch14")),
    *(f"vit_{size}_clip_ft_in12k" for size in ("base_patch16", "large_patch14", "huge_patch14")),
)
VIDEO = tuple(f"videomae-{size}-finetuned-kinetics" for size in ("small", "base", "large", "huge"))


def exported(data: str, language: str, vision: str, measure: str) -> dict[str, float]:
    """Compare the best pair of exported layers, rows of unit length, 500 permutations.

    Raises
    ------
    Unreachable
        If the layers of a model are missing.
    """
    first, second = (_layers(data, name) for name in (language, vision))
    calibrated = calibrate_layers(first, second, measure, n_permutations=500, seed=0)
    return {
        "capability": float(LANGUAGE.index(language)),
        "raw": calibrated.observed,
        "score": calibrated.score,
        "threshold": calibrated.threshold,
        "chance": calibrated.null_mean,
        "p_value": calibrated.p_value,
    }


def _layers(data: str, model: str) -> list[Matrix]:
    name = f"{data}/{model.replace('/', '--')}.npz"
    folder = local_folder(FOLDER)
    place = (folder or Path(FOLDER)) / name
    if folder is None or not place.exists():
        raise Unreachable(
            f"Layers of the published models are looked for in SHESHA_DATA as {FOLDER}/{data}/MODEL.npz, one array of "
            "shape (1024, features) per layer: run the models on the "
            "1,024 inputs (`shesha.extract`) and save them there"
        )
    with np.load(place, allow_pickle=False) as stored:
        layers = [np.asarray(stored[key], dtype=np.float64) for key in stored.files]
    return unit_rows(layers)


GLOBAL = {
    "CKA (linear)": "CKA",
    "CKA (RBF)": "CKA(kernel=rbf)",
    "Unbiased CKA": "unbiased CKA",
    "Procrustes": "Procrustes similarity(published=True)",
    "RV coefficient": "RV",
    "SVCCA": "SVCCA(components=10)",
}
LOCAL = {
    "mKNN (k=10)": "mutual kNN(k=10)",
    "mKNN (k=100)": "mutual kNN(k=100)",
    "CKNNA (k=10)": "CKNNA(k=10)",
    "cycle-kNN (k=10)": "cycle kNN(k=10)",
}
MEASURES = GLOBAL | LOCAL
FEW = ("CKA", "CKA(kernel=rbf)", "mutual kNN(k=10)", "CKNNA(k=10)")
_TRUNCATED = {"Procrustes similarity(published=True)": 64}
"""Number of leading components for measures that compute a decomposition in every draw."""


_grid = grid_of("data", "epochs", "width", "partner", "measure", "null")
_REST = [name for name in MEASURES.values() if name not in FEW]
_QUICK = [name for name in _REST if name not in ("SVCCA(components=10)", *_TRUNCATED)]
STAND_INS = [
    *_grid(IMAGES, EPOCHS, WIDTHS, (512,), FEW, ["free"]),
    *_grid((SENTENCES,), EPOCHS, WIDTHS, (384,), FEW, ["free"]),
    *_grid(IMAGES, (0,), WIDTHS, (512,), FEW, ["free"]),
    *_grid(IMAGES, EPOCHS, WIDTHS, (512,), _REST, ["free"]),
    *_grid((SENTENCES,), EPOCHS, WIDTHS, (384,), _QUICK, ["free"]),
    *_grid(IMAGES, EPOCHS, WIDTHS, (512,), (FEW[0], FEW[2]), ["within classes"]),
    *_grid((SENTENCES,), EPOCHS, WIDTHS, (384,), (FEW[0], FEW[2]), ["within classes"]),
    *_grid(IMAGES, EPOCHS, WIDTHS, (64,), (FEW[0], FEW[2]), ["free"]),
]
PUBLISHED = [
    cell
    for data, others in ((WIT, VISION), ("PVD", VIDEO))
    for cell in _grid([data], [-1], LANGUAGE, others, (FEW[0], FEW[2]), ["free"])
]


@study(
    "platonic",
    paper="Null calibration, 6.3 and extended results",
    version=1,
    full=[*STAND_INS, *PUBLISHED],
    quick=_grid(("Fashion-MNIST",), (6,), WIDTHS, (512,), FEW, ["free"]),
    published="platonic.csv",
    stand_ins="networks of 32 to 1,024 units on two halves of images, and networks of word counts with a sentence "
    "encoder, replace the published language, vision and video models",
)
def platonic(data: str, epochs: int, width: int | str, partner: int | str, measure: str, null: str) -> dict[str, float]:
    """Does the best similarity over layers grow with a model's capability, before calibration and after?

    The stand-ins are networks of several widths for left and right halves of images, and networks of word counts with a
    sentence encoder. There are 256 rows and 200 permutations, each applied to all layers. Published models are given by
    name, if their layers are exported.
    """
    if isinstance(width, str) or isinstance(partner, str):
        return exported(data, str(width), str(partner), measure)
    pair = sides(data, epochs, width, partner)
    blocks = pair.labels if null == "within classes" else None
    calibrated = calibrate_layers(
        pair.first, pair.second, measure, blocks=blocks, truncate=_TRUNCATED.get(measure), seed=0
    )
    return {
        "capability": pair.capability,
        "raw": calibrated.observed,
        "score": calibrated.score,
        "threshold": calibrated.threshold,
        "chance": calibrated.null_mean,
        "p_value": calibrated.p_value,
    }


_KNOWN = {
    "all": list(MEASURES.values()),
    "names": list(MEASURES),
    "global": list(GLOBAL.values()),
    "local": list(LOCAL.values()),
}
"""Names of the measures in the library, and in the paper."""


@platonic.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Correlate scores with capability, before and after calibration."""
    free = rows[(rows.null == "free") & (rows.epochs > 0)]
    table = mean_trends(rows)
    answers = published_numbers(rows, _KNOWN, list(published.key))
    tables = (
        ("Correlation with capability and width, for each set of models", table),
        ("Untrained networks", untrained_scores(rows)),
    )
    notes = (STAND_IN,)
    picture = Picture(
        "platonic", _draw(free), "Raw and calibrated scores of the best pair of layers against capability"
    )
    return Page("", tables, (picture,), notes, answers=answers)


def _draw(free: pd.DataFrame) -> Any:
    """Draw raw scores as dotted lines and calibrated scores as solid lines, one per set of models."""
    measures = [name for name in FEW if name in free.measure.unique()]
    fig, axes = figure(len(measures), width=3.4)
    pairs = list(free.groupby(["data", "partner"], sort=False).groups)
    for ax, measure in zip(axes, measures, strict=True):
        group = free[free.measure == measure]
        for (data, partner), part in group.groupby(["data", "partner"], sort=False):
            part = part.assign(rank=part.capability.rank()).sort_values("rank")
            colour = PALETTE[pairs.index((data, partner)) % len(PALETTE)]
            ax.plot(part["rank"], part.raw, ":", color=colour, linewidth=1)
            ax.plot(part["rank"], part.score, "o-", color=colour, markersize=3, label=f"{data}, {partner}")
        ax.set(xlabel="rank of the first model's accuracy", title=measure, ylim=(-0.03, 1.03))
        ax.xaxis.get_major_locator().set_params(integer=True)
    axes[0].set_ylabel("raw (dotted), calibrated (solid)")
    # Take the legend from the panel with most lines, because some measures are computed for fewer pairs.
    handles, names = max((ax.get_legend_handles_labels() for ax in axes), key=lambda legend: len(legend[1]))
    place = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    axes[-1].legend(handles, names, frameon=False, fontsize="x-small", title="data, second model's units", **place)
    return fig


@platonic.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Correlations of scores with capability before and after calibration, over sets of stand-ins."""
    return make_facts(rows, _KNOWN, {measure: name for name, measure in MEASURES.items()})
