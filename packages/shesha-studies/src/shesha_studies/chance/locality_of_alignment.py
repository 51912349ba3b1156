"""At which scales do two models agree, and do they agree on local distances?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial.distance import squareform

from shesha.calibration import calibrate
from shesha.kernels.distances import condensed_distances
from shesha.support.types import Matrix, Vector
from shesha_studies.chance._two_modality_models import DATA, WIDTHS, sides, trends, unit_rows
from shesha_studies.framework.facts import over_correlations, over_draws, share, smallest
from shesha_studies.framework.page import Page
from shesha_studies.framework.published_checks import draws
from shesha_studies.framework.study_decorator import study
from shesha_studies.measures_of_stored_rows import measure_of_stored_rows

SIZES = (10, 20, 50, 100)
BANDWIDTHS = (0.1, 0.5, 2.0, 5.0)
KNN, RBF, OFF_DIAGONAL = "mutual kNN", "CKA-RBF", "CKA-RBF without diagonal"
UNIT, OWN = "unit length", "own neighbours"
NOISES = (0.03, 0.1, 0.3)
MODELS, COPY = "two models", "a copy with noise"
_SIZES = [(KNN, UNIT, float(size)) for size in SIZES]
_KERNELS = [(RBF, UNIT, width) for width in BANDWIDTHS]
_WITHOUT_DIAGONAL = [(OFF_DIAGONAL, UNIT, width) for width in BANDWIDTHS]
_OWN_SCALE = [(OFF_DIAGONAL, OWN, width) for width in (0.25, 0.5, 1.0, 2.0)]


def _grid(
    kind: str, noises: Sequence[float], widths: Sequence[int], lenses: Sequence[tuple[str, str, float]]
) -> list[dict[str, Any]]:
    return [
        {"kind": kind, "data": data, "width": width, "noise": noise, "lens": lens, "scale": scale, "value": value}
        for data, noise, width, (lens, scale, value) in product(DATA, noises, widths, lenses)
    ]


_MODELS = _grid(MODELS, (0.0,), WIDTHS, [*_SIZES, *_KERNELS])
_COPIED = [_SIZES[0], *_KERNELS[:2], _OWN_SCALE[1]]


@study(
    "locality",
    paper="Null calibration, characterizing the locality of cross-modal alignment",
    version=1,
    full=[
        *_grid(COPY, NOISES, (128,), _COPIED),
        *_grid(MODELS, (0.0,), (128,), [*_WITHOUT_DIAGONAL, *_OWN_SCALE]),
        *_MODELS,
    ],
    quick=[
        *[cell for cell in _MODELS if cell["data"] == DATA[0] and cell["width"] <= 128],
        *_grid(COPY, NOISES[1:2], (128,), _COPIED)[:4],
    ],
    published="locality.csv",
    stand_ins="networks of 32 to 1,024 units on two halves of images, and networks of word counts with a sentence "
    "encoder, replace the published language and vision models",
)
def locality(kind: str, data: str, width: int, noise: float, lens: str, scale: str, value: float) -> dict[str, float]:
    """At which neighbourhood sizes and kernel bandwidths are two models alike, and do they agree on local distances?

    The last layers of the pairs in `platonic` are compared on 256 rows, with 200 permutations. Rows have unit length,
    or are divided by the median distance to the tenth neighbour ("own neighbours"). "A copy with noise" compares the
    layer of the first model with the same layer plus noise, whose length is a given share of the row length. The copy
    nearly preserves all distances.
    """
    X, Y, capability = _pair(kind, data, width, noise)
    near, sizes = _near(kind, data, width, noise)
    if scale == OWN:
        X, Y = (side / size for side, size in zip((X, Y), sizes, strict=True))
    result = calibrate(X, Y, measure_of_stored_rows(_measure(lens, value)), n_permutations=200, seed=0)
    return {
        "capability": capability,
        "raw": result.value,
        "score": result.calibrated,
        "chance": result.chance,
        "p_value": result.p_value,
        "neighbour_distance": sizes[0],
        **near,
    }


def _pair(kind: str, data: str, width: int, noise: float) -> tuple[Matrix, Matrix, float]:
    """Return the last layers of both models, or of the first model and a noisy copy."""
    pair = sides(data, 6, width, 512)
    X = pair.first[-1]
    if kind == MODELS:
        return X, pair.second[-1], pair.capability
    noisy = X + noise * np.random.default_rng(0).standard_normal(X.shape) / np.sqrt(X.shape[1])
    return X, unit_rows([noisy])[0], pair.capability


@cache
def _near(kind: str, data: str, width: int, noise: float) -> tuple[dict[str, float], list[float]]:
    """Agreement of local distances, and the distance to neighbours in either model; both need no measure."""
    X, Y, _ = _pair(kind, data, width, noise)
    return distance_agreement(X, Y, 20, 200, seed=0), [neighbour_scale(side) for side in (X, Y)]


def _measure(lens: str, value: float) -> str:
    if lens == KNN:
        return f"mutual kNN(k={round(value)})"
    return f"{'CKA' if lens == RBF else 'unbiased CKA'}(kernel=rbf,bandwidth={value:g})"


def neighbour_scale(X: Matrix, k: int = 10) -> float:
    """Median distance from a row to its k-th nearest neighbour."""
    return float(np.median(np.sort(_distances(X), axis=1)[:, k - 1]))


def distance_agreement(X: Matrix, Y: Matrix, k: int, n_permutations: int, seed: int) -> dict[str, float]:
    """Correlate logarithms of the distances to the common neighbours of each row, and permute them within the row.

    `agreement` is the correlation of the deviations from the mean of each row, which depends neither on the choice of
    common neighbours nor on the scale of a row; `agreement_p` is its p-value. Both are NaN if no row has at least three
    common neighbours. `common` is the mean number of common neighbours.
    """
    sides = [_distances(side) for side in (X, Y)]
    nearest = [np.argpartition(distances, k - 1, axis=1)[:, :k] for distances in sides]
    groups = [np.intersect1d(*pair) for pair in zip(*nearest, strict=True)]
    known = [(row, ids) for row, ids in enumerate(groups) if len(ids) >= 3]
    common = float(np.mean([len(ids) for ids in groups]))
    if not known:
        return {"agreement": np.nan, "agreement_p": np.nan, "common": common}
    logs = ([np.log(distances[row, ids]) for row, ids in known] for distances in sides)
    a, b = ([values - values.mean() for values in side] for side in logs)
    rng, first = np.random.default_rng(seed), np.concatenate(a)
    agreement = _cosine(first, np.concatenate(b))
    null = [_cosine(first, np.concatenate([rng.permutation(group) for group in b])) for _ in range(n_permutations)]
    p_value = (1 + sum(value >= agreement for value in null)) / (n_permutations + 1)
    return {"agreement": agreement, "agreement_p": p_value, "common": common}


def _distances(X: Matrix) -> Matrix:
    """Euclidean distances between rows; a row is infinitely far from itself."""
    distances = squareform(condensed_distances(X, "euclidean"))
    np.fill_diagonal(distances, np.inf)
    return np.asarray(distances)


def _cosine(a: Vector, b: Vector) -> float:
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


@locality.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Return our answers to the published lines."""
    rows = rows.assign(hit=rows.p_value <= 0.05)
    narrow = rows[_is_kernel(rows, BANDWIDTHS[0]) & (rows.kind == MODELS)]
    answers = {"narrow_raw": draws(narrow.raw, "Rows of another length.", decimals=1, unit="pairs of models")}
    return Page(answers=answers)


def _is_kernel(rows: pd.DataFrame, *bandwidths: float) -> pd.Series[bool]:
    return (rows.lens == RBF) & rows.value.isin(bandwidths)


def _pairs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per pair of layers; distances do not depend on the measure."""
    return rows.drop_duplicates(["kind", "data", "width", "noise"])


@locality.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> dict[str, Any]:
    """Return the agreement of local distances, and the score by a narrow kernel of a copy that keeps them."""
    rows = rows.assign(hit=rows.p_value <= 0.05)
    models, copies = (rows[rows.kind == kind] for kind in (MODELS, COPY))
    narrow, copies = (part[_is_kernel(part, BANDWIDTHS[0])] for part in (models, copies))
    near = _pairs(models).groupby("data")[["agreement", "agreement_p", "common"]].mean()
    by_noise: dict[Any, pd.DataFrame] = {noise: group.set_index("data") for noise, group in copies.groupby("noise")}
    noisy = list(by_noise.values())
    return {
        "distances in words": ", ".join(
            f"{line.agreement:.2f} ({data}: {line.common:.0f} of 20 common, p = {line.agreement_p:.3f})"
            for data, line in near.iterrows()
        ),
        "pairs": len(narrow),
        "narrow": over_draws(narrow.groupby("data").score.mean()),
        "narrow in words": ", ".join(
            f"{over_draws(df.score):.4f} ({data}, {df.hit.sum():.0f} of {len(df)} pairs with p <= 0.05)"
            for data, df in narrow.groupby("data")
        ),
        "narrow_median": narrow.score.median(),
        "narrow_hits": share(narrow.hit),
        "narrow_copy_hits": share(noisy[-1].hit),
        "narrow_fall": over_draws(noisy[0].score - noisy[-1].score),
        "copies in words": "; ".join(
            f"with {noise:.0%} noise (distance correlations of {df.agreement.min():.2f} to "
            f"{df.agreement.max():.2f}) {df.score.min():.3f} to {df.score.max():.3f}"
            for noise, df in by_noise.items()
        ),
        "own_hits": share(models[(models.scale == OWN) & (models.value == 0.5)].hit),
        **{f"neighbour_{end}": rows.neighbour_distance.agg(end) for end in ("min", "max")},
        **_neighbourhoods(models[models.lens == KNN]),
        **_kernels(models, "half", 0.5),
        **_kernels(models, "wide", 2.0, 5.0),
    }


def _trends_by_value(models: pd.DataFrame) -> dict[Any, pd.DataFrame]:
    """Correlate scores with capability in each data set, by neighbourhood size or kernel bandwidth."""
    table = trends(models.assign(measure=models.value), ["raw", "score"])
    return {value: group.set_index("data") for value, group in table.groupby("measure")}


def _neighbourhoods(knn: pd.DataFrame) -> dict[str, Any]:
    hits = {f"{size:g}": share(group.hit) for size, group in knn.groupby("value")}
    scores = {size: group.score for size, group in _trends_by_value(knn).items()}
    return {
        "neighbours": share(knn.hit),
        "knn_lowest": smallest(hits.values()),
        "knn in words": ", ".join(f"{hit:.0%} at k = {size}" for size, hit in hits.items()),
        "knn trends in words": ", ".join(f"{over_correlations(df):+.2f} (k = {size:g})" for size, df in scores.items()),
        "knn_steeper": over_draws(scores[SIZES[0]] - scores[SIZES[-1]]),
    }


def _kernels(models: pd.DataFrame, name: str, *bandwidths: float) -> dict[str, Any]:
    kernels = models[_is_kernel(models, *bandwidths)]
    sets = _trends_by_value(kernels).values()
    means = [(over_correlations(df.raw), over_correlations(df.score)) for df in sets]
    return {
        f"{name}_hits": share(kernels.hit),
        f"{name} trends in words": ", ".join(f"{raw:+.2f} raw and {score:+.2f} calibrated" for raw, score in means),
        f"{name}_before": smallest(raw for raw, _ in means),
        f"{name}_flatter": smallest(over_draws(df.raw - df.score) for df in sets),
    }
