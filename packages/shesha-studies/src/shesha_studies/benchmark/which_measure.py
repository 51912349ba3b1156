"""Does calibrating the scores change which measure one should trust?"""

from __future__ import annotations

from typing import Any

import numpy as np

from shesha.benchmark import tests
from shesha.benchmark.calibrated_measure import calibrated
from shesha.data import digits_network
from shesha.measures import get
from shesha.studies.study_definition import study
from shesha.support.types import Matrix
from shesha_studies.benchmark._which_measure_page import make_facts, make_page

MEASURES = ("CKA", "unbiased CKA", "RSA", "DistCorr", "mutual kNN", "Jaccard", "OrthProc", "SVCCA", "LinReg")
WIDTHS = {"equal": (24, 24, 24, 24), "unequal": (4, 12, 36, 108), "layers": (4, 8, 16, 32)}
N, RANK, STRENGTH = 48, 4, 0.35


def _grid() -> list[dict[str, Any]]:
    return [
        {"data": data, "widths": widths, "measure": measure, "seed": seed}
        for seed in range(20)
        for data, widths in (("noise", "equal"), ("noise", "unequal"), ("digits", "layers"))
        for measure in MEASURES
    ]


FULL = _grid()


@study(
    "which-measure",
    paper="new",
    version=1,
    full=FULL,
    quick=[cell for cell in FULL if cell["seed"] < 2],
)
def which_measure(data: str, widths: str, measure: str, seed: int) -> dict[str, float]:
    """Does calibrating the scores change which measure one should trust?

    Two groups of four models that belong together by design: a shared part of rank 4 in noise, or features drawn from
    one layer of a network of digits; of equal or unequal widths. How well raw and calibrated scores tell pairs of a
    group from pairs of two (AUPRC and conformity of the benchmark).
    """
    rng = np.random.default_rng([seed, len(data), len(widths)])
    groups = _noise(WIDTHS[widths], rng) if data == "noise" else _digits(WIDTHS[widths], rng)
    scores = tests.label_randomization(groups, [get(measure), calibrated(get(measure))], seed=seed)
    row: dict[str, float] = {}
    for name, how in ((measure, "raw"), (f"calibrated {measure}", "calibrated")):
        values = scores[scores.measure == name].set_index("quality").value
        row |= {f"{how} auprc": float(values["auprc"]), f"{how} conformity": float(values["conformity"])}
    return row


def _noise(widths: tuple[int, ...], rng: np.random.Generator) -> dict[str, list[Matrix]]:
    """Draw models that share latent factors within a group; each model has its own features."""
    groups = {}
    for name in ("first", "second"):
        latent = STRENGTH * rng.standard_normal((N, RANK))
        groups[name] = [
            np.asarray(latent @ rng.standard_normal((RANK, d)) / np.sqrt(RANK) + rng.standard_normal((N, d)))
            for d in widths
        ]
    return groups


def _digits(widths: tuple[int, ...], rng: np.random.Generator) -> dict[str, list[Matrix]]:
    """Draw random features of the same rows from the first and the last layer of a trained network."""
    layers = digits_network()[0]
    rows = rng.choice(len(layers["trained_layer1"]), N, replace=False)
    return {
        name: [layers[name][rows][:, rng.choice(layers[name].shape[1], d, replace=False)] for d in widths]
        for name in ("trained_layer1", "trained_layer3")
    }


which_measure.page(make_page)
which_measure.facts(make_facts)
