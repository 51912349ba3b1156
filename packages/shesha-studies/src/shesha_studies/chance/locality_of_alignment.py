"""At which scales do two models agree, and do they agree on local distances?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from shesha.calibration import calibrate
from shesha.studies.checks import Found
from shesha.studies.facts import (
    Facts,
    as_facts,
    over_correlations,
    over_draws,
    share,
    smallest,
)
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure, lines, logarithmic
from shesha.studies.published_checks import draws
from shesha.studies.study_decorator import study
from shesha.support.types import Matrix
from shesha_studies.chance._common_neighbour_distances import distance_agreement, neighbour_scale
from shesha_studies.chance._two_modality_models import DATA, STAND_IN, WIDTHS, sides, trends, unit_rows

SIZES = (10, 20, 50, 100)
BANDWIDTHS = (0.1, 0.5, 2.0, 5.0)
KNN, RBF, OFF_DIAGONAL = "mutual kNN", "CKA-RBF", "CKA-RBF without diagonal"
UNIT, OWN = "unit length", "own neighbours"
NOISES = (0.03, 0.1, 0.3)
MODELS, COPY = "two models", "a copy with noise"


KERNELS = [(lens, UNIT, width) for lens in (RBF, OFF_DIAGONAL) for width in BANDWIDTHS]
OWN_SCALE = [(OFF_DIAGONAL, OWN, width) for width in (0.25, 0.5, 1.0, 2.0)]


def _grid(
    kind: str, noises: Sequence[float], widths: Sequence[int], lenses: Sequence[tuple[str, str, float]]
) -> list[dict[str, Any]]:
    return [
        {"kind": kind, "data": data, "width": width, "noise": noise, "lens": lens, "scale": scale, "value": value}
        for data, noise, width, (lens, scale, value) in product(DATA, noises, widths, lenses)
    ]


_SIZES = [(KNN, UNIT, float(size)) for size in SIZES]
_MODELS = _grid(MODELS, (0.0,), WIDTHS, [*_SIZES, *KERNELS[: len(BANDWIDTHS)]])


@study(
    "locality",
    paper="Null calibration, characterizing the locality of cross-modal alignment",
    version=1,
    full=[
        *_grid(COPY, NOISES, (128,), [_SIZES[0], *KERNELS[:2], OWN_SCALE[1]]),
        *_grid(MODELS, (0.0,), (128,), [*KERNELS[len(BANDWIDTHS) :], *OWN_SCALE]),
        *_MODELS,
    ],
    quick=[
        *[cell for cell in _MODELS if cell["data"] == DATA[0] and cell["width"] <= 128],
        *_grid(COPY, NOISES[1:2], (128,), [_SIZES[0], *KERNELS[:2], OWN_SCALE[1]])[:4],
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
    result = calibrate(X, Y, _measure(lens, value), n_permutations=200, seed=0)
    return {
        "capability": capability,
        "raw": result.observed,
        "score": result.score,
        "chance": result.null_mean,
        "p_value": result.p_value,
        "neighbour_distance": sizes[0],
        **near,
    }


def _pair(kind: str, data: str, width: int, noise: float) -> tuple[Matrix, Matrix, float]:
    """Return the last layers of both models, or of the first model and a noisy copy."""
    pair = sides(data, 6, width, 512)
    X = pair.first[-1]
    return X, pair.second[-1] if kind == MODELS else _noisy(X, noise), pair.capability


@cache
def _near(kind: str, data: str, width: int, noise: float) -> tuple[dict[str, float], list[float]]:
    """Agreement of local distances, and the distance to neighbours in either model, which do not depend on the
    measure."""
    X, Y, _ = _pair(kind, data, width, noise)
    return distance_agreement(X, Y, 20, 200, seed=0), [neighbour_scale(side) for side in (X, Y)]


def _measure(lens: str, value: float) -> str:
    if lens == KNN:
        return f"mutual kNN(k={round(value)})"
    return f"{'CKA' if lens == RBF else 'unbiased CKA'}(kernel=rbf,bandwidth={value:g})"


def _noisy(X: Matrix, share: float) -> Matrix:
    """Add noise of a given share of the length of each row, and scale rows to unit length again."""
    rng = np.random.default_rng(0)
    noisy = X + share * rng.standard_normal(X.shape) / np.sqrt(X.shape[1])
    return unit_rows([noisy])[0]


@locality.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Draw scores against neighbourhood size and bandwidth, compared with a copy with noise."""
    rows = rows.assign(hit=(rows.p_value <= 0.05).astype(float))
    keys = ["kind", "noise", "data", "lens", "scale", "value"]
    table = rows.groupby(keys, sort=False)[["raw", "chance", "score", "hit"]].mean().reset_index()
    near = rows.drop_duplicates(["kind", "data", "width", "noise"])
    names = ["common", "agreement", "agreement_p", "neighbour_distance"]
    distances = near.groupby(["kind", "noise", "data"], sort=False)[names].mean().reset_index()
    fig = _draw(rows)
    copies = table[(table.kind == COPY) & (table.lens == RBF) & (table.value == min(BANDWIDTHS))]
    notes = (
        STAND_IN,
        (
            f"The copies have noise of {', '.join(f'{100 * noise:g} %' for noise in NOISES)} of the rows' length. "
            "The share of pairs above chance at sigma = 0.1 is "
            f"{', '.join(f'{100 * hit:.0f} %' for hit in copies.groupby('noise').hit.mean())}, although their "
            "local distances have correlations of "
        )
        + ", ".join(f"{mean:.2f}" for mean in distances[distances.kind == COPY].groupby("noise").agreement.mean())
        + ".",
    )
    picture = Picture(
        "locality",
        fig,
        "Calibrated scores against neighbourhood size and against bandwidth; agreement of local distances",
    )
    tables = (("Scores", table), ("Distances to common neighbours", distances))
    return Page("", tables, (picture,), notes, answers=published_numbers(rows))


def _distances_sentence(both: pd.DataFrame) -> str:
    """State the agreement of distances for each data set."""
    means = both.groupby("data")[["agreement", "agreement_p", "common"]].mean()
    return ", ".join(
        f"{line['agreement']:.2f} ({name}: {line['common']:.0f} of 20 common, p = {line['agreement_p']:.3f})"
        for name, line in means.iterrows()
    )


def _draw(rows: pd.DataFrame) -> Any:
    fig, axes = figure(4, width=3.3, sharey=True)
    lenses = (
        (KNN, UNIT, "neighbours k", "mutual kNN"),
        (RBF, UNIT, "sigma", "CKA-RBF"),
        (OFF_DIAGONAL, UNIT, "sigma", "CKA-RBF, no diagonal"),
        (OFF_DIAGONAL, OWN, "sigma", "no diagonal, own bandwidths"),
    )
    rows = rows.assign(who=rows.data.where(rows.kind == MODELS, "copy, noise " + rows.noise.astype(str)))
    # Each name has the same colour in all panels, even if some panels do not contain it.
    everybody = sorted(rows.who.unique())
    for ax, (lens, scale, unit, title) in zip(axes, lenses, strict=True):
        group = rows[(rows.lens == lens) & (rows.scale == scale)]
        lines(ax, group, "value", "score", "who", order=everybody)
        logarithmic(ax, group.value)
        ax.set(xlabel=f"{unit}, {scale}" if lens != KNN else unit)
        ax.set_title(title, fontsize="medium")
    axes[0].set_ylabel("calibrated score")
    axes[3].legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def published_numbers(rows: pd.DataFrame) -> dict[str, Found]:
    """Return the raw score by the narrowest kernel."""
    narrow = rows[(rows.kind == MODELS) & (rows.lens == RBF) & (rows.value == min(BANDWIDTHS))]
    return {"narrow_raw": draws(narrow.raw, "Rows of another length.", decimals=1)}


@locality.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the agreement of local distances, and the score by a narrow kernel of a copy that keeps them."""
    rows = rows.assign(hit=(rows.p_value <= 0.05).astype(float))
    models, copies = (rows[rows.kind == kind] for kind in (MODELS, COPY))
    near, narrow = models.drop_duplicates(["data", "width"]), models[_kernel_rows(models, RBF, min(BANDWIDTHS))]
    narrow_copies = copies[_kernel_rows(copies, RBF, min(BANDWIDTHS))]
    noisy = narrow_copies[narrow_copies.noise == copies.noise.max()]
    knn, every = models[models.lens == KNN], rows.drop_duplicates(["kind", "data", "width", "noise"])
    hits = {f"{size:g}": share(group.hit) for size, group in knn.groupby("value")}
    return as_facts(
        {
            "neighbours": share(knn.hit),
            "distances": over_draws(near.groupby("data").agreement.mean()),
            "distances in words": _distances_sentence(every[every.kind == MODELS]),
            "knn in words": ", ".join(f"{hit:.0%} at k = {size}" for size, hit in hits.items()),
            "knn_lowest": smallest(hits.values()),
            "pairs": len(narrow),
            "narrow": over_draws(narrow.groupby("data").score.mean()),
            "narrow in words": ", ".join(
                f"{over_draws(part.score):.4f} ({data}, {part.hit.sum():.0f} of {len(part)} pairs with p <= 0.05)"
                for data, part in narrow.groupby("data")
            ),
            **{"narrow_median": narrow.score.median(), "narrow_hits": share(narrow.hit)},
            **{"copy_noise": noisy.noise.max(), "copy_kept": noisy.agreement.min()},
            "narrow_copy": over_draws(noisy.score),
            "narrow_fall": over_draws(_ends(narrow_copies)[0] - _ends(narrow_copies)[1]),
            "copies in words": "; ".join(_copy_in_words(noise, part) for noise, part in narrow_copies.groupby("noise")),
            "own_hits": share(models[(models.scale == OWN) & (models.value == 0.5)].hit),
            "half_hits": share(models[_kernel_rows(models, RBF, 0.5)].hit),
            "wide_hits": share(models[(models.lens == RBF) & (models.value >= 2.0)].hit),
            **{f"neighbour_{end}": every.neighbour_distance.agg(end) for end in ("min", "max")},
            **_trends(models),
        }
    )


def _kernel_rows(rows: pd.DataFrame, lens: str, value: float) -> pd.Series[bool]:
    return (rows.lens == lens) & (rows.value == value)


def _copy_in_words(noise: Any, copies: pd.DataFrame) -> str:
    near, score = copies.agreement, copies.score
    return (
        f"with {noise:.0%} noise (distance correlations of {near.min():.2f} to {near.max():.2f}) "
        f"{score.min():.3f} to {score.max():.3f}"
    )


def _ends(copies: pd.DataFrame) -> list[pd.Series[float]]:
    """Return the scores of the copies with the least and with the most noise."""
    return [copies[copies.noise == end].set_index("data").score for end in (copies.noise.min(), copies.noise.max())]


def _both_trends(tables: Sequence[pd.DataFrame]) -> str:
    """State the mean correlations before and after calibration."""
    both = ([over_correlations(table[name]) for name in ("raw", "score")] for table in tables)
    return ", ".join(f"{raw:+.2f} raw and {score:+.2f} calibrated" for raw, score in both)


def _trends(models: pd.DataFrame) -> dict[str, Any]:
    """Correlate scores with capability, by neighbourhood size or kernel bandwidth."""
    if models.width.nunique() <= 2:
        return {}
    table = trends(models.assign(measure=models.lens + models.value.astype(str)), ["raw", "score"])

    def of(lens: str, value: float) -> pd.DataFrame:
        return table[table.measure == f"{lens}{float(value)}"].set_index("data")

    knn = {size: over_correlations(of(KNN, size).score) for size in SIZES}
    kernels = {"half": [of(RBF, 0.5)], "wide": [of(RBF, 2.0), of(RBF, 5.0)]}
    return {
        "knn trends in words": ", ".join(f"{trend:+.2f} (k = {size})" for size, trend in knn.items()),
        "knn_steeper": over_draws(of(KNN, SIZES[0]).score - of(KNN, SIZES[-1]).score),
        "half trend in words": _both_trends([of(RBF, 0.5)]),
        "wide trends in words": _both_trends([of(RBF, 2.0), of(RBF, 5.0)]),
        **{f"{name}_before": smallest(over_correlations(df.raw) for df in part) for name, part in kernels.items()},
        **{f"{name}_flatter": smallest(over_draws(df.raw - df.score) for df in part) for name, part in kernels.items()},
    }
