"""Names of the models of the published comparison, and their layers, if files of these exist."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shesha.benchmark.data_folders import local_folder
from shesha.calibration import calibrate_layers
from shesha.studies.study_definition import Unreachable
from shesha.support.types import Matrix

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
    """Compare exported layers by the best pair, with rows of unit length and 500 permutations.

    Raises
    ------
    Unreachable
        If a model's layers are not there.
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
    return [layer / np.linalg.norm(layer, axis=1, keepdims=True) for layer in layers]
