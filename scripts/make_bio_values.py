"""Write tests/bio/public_values.json: values of the public package for seeded inputs.

    PYTHONPATH=FOLDER_OF_THE_PUBLIC_PACKAGE python scripts/make_bio_values.py

The public package has the same import name as this library, so this library must not be on the path. The k-NN score of
the public package needs scikit-learn, and its LOESS needs statsmodels.
"""

import json
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
sys.path.append(str(HERE / "tests" / "bio"))

import inputs  # noqa: E402
from shesha import bio  # noqa: E402

SHAPES = ((0, 80, 40, 12), (1, 30, 60, 40), (2, 120, 1100, 5))
"""Seed, and numbers of controls, perturbed cells and features; a random thousand cells of the third are used."""
OPTIONS = {
    "perturbation_coherence": (
        {},
        {"metric": "euclidean"},
        {"method": "whitened"},
        {"method": "whitened", "regularization": 0.1},
        {"method": "knn"},
        {"method": "knn", "k": 7, "metric": "euclidean"},
        {"method": "knn", "k": 7, "metric": "cosine"},
        {"seed": 3},
        {"seed": 3, "max_samples": 20},
        {"seed": 3, "max_samples": None},
        {"method": "knn", "k": 7, "seed": 3, "max_samples": 20},
        {"method": "whitened", "seed": 3, "max_samples": 20},
    ),
    "perturbation_coherence_whitened": ({}, {"seed": 1}, {"regularization": 0.5}),
    "perturbation_coherence_knn": ({}, {"seed": 1}, {"k": 9, "metric": "cosine"}),
    "perturbation_effect_size": ({}, {"metric": "cohen"}),
}
INTERVALS = (
    ("coherence", {}),
    ("coherence", {"method": "knn", "k": 5, "metric": "euclidean"}),
    ("coherence", {"max_samples": 10}),
    ("effect_size", {"metric": "cohen"}),
)
ANNOTATED = (
    ("compute_coherence", {}),
    ("compute_coherence", {"layer": "double", "method": "knn", "k": 9}),
    ("compute_coherence_whitened", {}),
    ("compute_coherence_knn", {"k": 9}),
    ("compute_magnitude", {}),
    ("compute_magnitude", {"metric": "cohen", "layer": "double"}),
)
HALVES = ({}, {"n_splits": 7, "random_state": 5, "min_cells": 10, "layer": "double"})
MATCHED = ({}, {"n_bins": 3, "coherence_col": "Mp", "magnitude_col": "Sp"})


def recorded() -> dict[str, list]:
    names = {"coherence": "perturbation_coherence", "effect_size": "perturbation_effect_size"}
    cells, table = inputs.cells(11), inputs.table(4)
    return {
        "arrays": [
            [name, shape, options, getattr(bio, name)(*inputs.arrays(*shape), **options)]
            for name, several in OPTIONS.items()
            for shape in SHAPES
            for options in ({"seed": 0} | one for one in several)
        ],
        "intervals": [
            [score, o, getattr(bio, names[score])(*inputs.arrays(5, 30, 20, 6), n_bootstrap_ci=40, ci=0.9, seed=7, **o)]
            for score, o in INTERVALS
        ],
        "annotated": [[name, o, getattr(bio, name)(cells, "perturbation", **o)] for name, o in ANNOTATED],
        "halves": [[o, bio.split_half_reproducibility(cells, **o)["split_half_cosine"].to_dict()] for o in HALVES],
        "matched": [[o, bio.magnitude_matched_comparison(table, **o).to_dict("list")] for o in MATCHED],
        "discordance": [[m, bio.discordance(table, method=m).tolist()] for m in ("linear", "rank", "loess")],
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    path = HERE / "tests" / "bio" / "public_values.json"
    path.write_text(json.dumps(recorded(), indent=1) + "\n")
    print(path)
