"""Do models of different modalities become more similar as they grow, globally or locally?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shesha.comparison import compare_layers
from shesha.support.types import Matrix
from shesha_bench.domains import local_folder
from shesha_studies.chance._two_modality_models import (
    EPOCHS,
    SENTENCES,
    WIDTHS,
    Sides,
    sides,
    trends,
    unit_rows,
)
from shesha_studies.framework.checks import Found
from shesha_studies.framework.facts import (
    Fact,
    absolute,
    largest,
    over_correlations,
    over_draws,
    rank_correlation,
    share,
    smallest,
)
from shesha_studies.framework.page import Page
from shesha_studies.framework.published_checks import Answers, unreachable
from shesha_studies.framework.study_decorator import Unreachable, grid_of, study
from shesha_studies.measures_of_stored_rows import measure_of_stored_rows
from shesha_studies.networks.images import IMAGES

FOLDER = "platonic"
LANGUAGE = (
    *(f"bigscience/bloomz-{size}" for size in ("560m", "1b1", "1b7", "3b", "7b1")),
    *(f"openlm-research/open_llama_{size}" for size in ("3b", "7b", "13b")),
    *(f"huggyllama/llama-{size}" for size in ("7b", "13b", "30b", "65b")),
)
VISION = (
    *(f"vit_{size}_patch16_224_augreg_in21k" for size in ("tiny", "small", "base", "large")),
    *(f"vit_{size}_mae" for size in ("base_patch16_224", "large_patch16_224", "huge_patch14_224")),
    *(f"vit_{size}_dinov2" for size in ("small_patch14", "base_patch14", "large_patch14", "giant_patch14")),
    *(f"vit_{size}_clip" for size in ("base_patch16", "large_patch14", "huge_patch14")),
    *(f"vit_{size}_clip_ft_in12k" for size in ("base_patch16", "large_patch14", "huge_patch14")),
)
VIDEO = tuple(f"videomae-{size}-finetuned-kinetics" for size in ("small", "base", "large", "huge"))


def _exported_layers(data: str, model: str) -> list[Matrix]:
    """Return the exported layers of a published model, rows of unit length."""
    folder = local_folder(FOLDER)
    place = (folder or Path(FOLDER)) / f"{data}/{model.replace('/', '--')}.npz"
    if folder is None or not place.exists():
        raise Unreachable(
            f"Layers of the published models are looked for in SHESHA_DATA as {FOLDER}/{data}/MODEL.npz, one array "
            "of shape (1024, features) per layer: run the models on the 1,024 inputs (`shesha.extract`) and save them "
            "there"
        )
    with np.load(place, allow_pickle=False) as stored:
        return unit_rows([np.asarray(stored[key], dtype=np.float64) for key in stored.files])


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
_KERNELS, _KNN = FEW[:2], FEW[2]
_BOTH = (FEW[0], _KNN)
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
    *_grid(IMAGES, EPOCHS, WIDTHS, (512,), _BOTH, ["within classes"]),
    *_grid((SENTENCES,), EPOCHS, WIDTHS, (384,), _BOTH, ["within classes"]),
    *_grid(IMAGES, EPOCHS, WIDTHS, (64,), _BOTH, ["free"]),
]
PUBLISHED = [
    *_grid(["WIT"], [-1], LANGUAGE, VISION, _BOTH, ["free"]),
    *_grid(["PVD"], [-1], LANGUAGE, VIDEO, _BOTH, ["free"]),
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
        first, second = (_exported_layers(data, str(name)) for name in (width, partner))
        pair, n_permutations = Sides(first, second, np.zeros(0, int), float(LANGUAGE.index(str(width)))), 500
    else:
        pair, n_permutations = sides(data, epochs, width, partner), 200
    result = compare_layers(
        pair.first,
        pair.second,
        measure_of_stored_rows(measure),
        calibrate=True,
        n_permutations=n_permutations,
        blocks=pair.labels if null == "within classes" else None,
        truncate=_TRUNCATED.get(measure),
        seed=0,
    )
    return {
        "capability": pair.capability,
        "raw": result.value,
        "score": result.calibrated,
        "threshold": result.threshold,
        "chance": result.chance,
        "p_value": result.p_value,
    }


def _set_trends(rows: pd.DataFrame) -> pd.DataFrame:
    """Correlate scores with capability and with width, within each set of models."""
    free = rows[(rows.null == "free") & (rows.epochs > 0)]
    width = trends(free, ["raw", "score"], "width")
    table = trends(free, ["raw", "score"]).rename(columns={"raw": "before", "score": "after"})
    return table.assign(**{"before, with width": width.raw, "after, with width": width.score})


def _untrained_scores(rows: pd.DataFrame) -> pd.DataFrame:
    bare = rows[rows.epochs == 0]
    return bare.groupby(["measure", "data", "width"], sort=False)[["raw", "chance", "score"]].mean().reset_index()


@platonic.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Return our answers to the published lines."""
    table = _set_trends(rows)
    return Page(answers=_published_numbers(table, published.key))


def _published_numbers(table: pd.DataFrame, keys: Iterable[str]) -> Answers:
    """Answer numbers of the published models, which are not available; the reason gives those of the stand-ins."""
    means: Any = table.groupby("measure")[["before", "after"]].mean()
    answers: Answers = {}
    for key in (key for key in keys if key.startswith(("table", "text"))):
        name, _, column = key.split(" ", 1)[1].rpartition(" ")
        known = MEASURES.get(name) in means.index
        ours = f"; our stand-ins have {means.loc[MEASURES[name], column]:+.2f}" if known else ""
        answers[key] = unreachable(f"We do not have layers of the published models for the WIT images{ours}.")
    return answers | {"least p": Found(1 / 501, decimals=3)}


_OTHER_GLOBAL = tuple(name for name in GLOBAL.values() if name not in (*_KERNELS, "unbiased CKA"))


@platonic.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> dict[str, Any]:
    """Correlations of scores with capability before and after calibration, over sets of stand-ins."""
    table = _set_trends(rows)
    table["lost"] = table.before - table.after
    columns = ("before", "after", "lost", "before, with width", "after, with width")
    mean = {(name, column): _over_data(df, column) for name, df in table.groupby("measure") for column in columns}

    called = {measure: name for name, measure in MEASURES.items() if (measure, "before") in mean}

    def means(names: Iterable[str], column: str) -> list[Fact]:
        return [mean[name, column] for name in names if name in called]

    def phrases(names: Iterable[str], template: str) -> str:
        known = (name for name in names if name in called)
        return ", ".join(template.format(called[name], mean[name, "before"], mean[name, "after"]) for name in known)

    values: dict[str, Any] = {
        **{f"{key}_{when}": mean[name, when] for key, name in (("cka", "CKA"), ("knn", _KNN)) for when in columns[:2]},
        "cka_lost": mean["CKA", "lost"],
        **_chance_of_cka(rows[(rows.measure == "CKA") & (rows.data == "CIFAR-10")]),
        "trends in words": phrases(FEW, "{} {:+.2f} before and {:+.2f} after"),
    }
    for key, column in (("raw", "before"), ("calibrated", "after")):
        for axis, suffix in (("capability", ""), ("width", ", with width")):
            part = means(_KERNELS, column + suffix)
            values |= {f"{key}, {axis}, lowest": smallest(part), f"{key}, {axis}, highest": largest(part)}
    return {
        **values,
        "calibrated, highest": largest(values[f"calibrated, {axis}, highest"] for axis in ("capability", "width")),
        "global in words": phrases(_OTHER_GLOBAL, "{} {:+.2f} to {:+.2f}"),
        "global_before": smallest(means(_OTHER_GLOBAL, "before")),
        "global_lost": smallest(means(_OTHER_GLOBAL, "lost")),
        **{f"unbiased_{column}": largest(means(["unbiased CKA"], column)) for column in columns[:3]},
        "local in words": phrases(LOCAL.values(), "{} {:+.2f} to {:+.2f}"),
        "local_moved": largest(map(absolute, means(LOCAL.values(), "lost"))),
        "local_before": smallest(means(LOCAL.values(), "before")),
        **_differences(rows, table),
        **_untrained_facts(rows),
    }


def _chance_of_cka(rows: pd.DataFrame) -> dict[str, float]:
    """Mean of raw CKA over permuted rows, for the narrowest and the widest networks."""
    chance = rows.groupby("width").chance.mean()
    return {"chance_narrowest": chance.iloc[0], "chance_widest": chance.iloc[-1]}


def _over_data(table: pd.DataFrame, column: str) -> Fact:
    """Mean over data sets, of correlations or of their decrease; sets of models of the same data share networks."""
    if column == "lost":
        return over_draws(table.lost.groupby(table.data).mean())
    return over_correlations(np.tanh(np.arctanh(table[column]).groupby(table.data).mean()))


def _differences(rows: pd.DataFrame, table: pd.DataFrame) -> dict[str, Any]:
    """Compare the trends of local measures between data sets, and their trends and significance with global ones."""
    local = table[table.measure.isin(LOCAL.values())].groupby("data")
    free = rows[(rows.null == "free") & (rows.epochs > 0)]
    models = free.groupby(["data", "epochs", "width"]).ngroups / free.data.nunique()
    hits = [share(free[free.measure.isin(kind.values())].p_value <= 0.05) for kind in (GLOBAL, LOCAL)]
    return {
        "sets in words": ", ".join(f"{value:+.2f} ({data})" for data, value in local.after.mean().items()),
        "lowest_set": smallest(rank_correlation(value, models) for value in local.after.mean()),
        "hits, global": hits[0],
        "hits, local": hits[1],
        "fewest_hits": smallest(hits),
        "lost_more": over_draws(table[table.measure == "CKA"].groupby("data").lost.mean() - local.lost.mean()),
    }


def _untrained_facts(rows: pd.DataFrame) -> dict[str, Any]:
    """Calibrated scores of untrained networks, and how much training adds to the trend with the width."""
    means = _untrained_scores(rows).groupby(["width", "measure"]).score.mean()
    knn = rows[(rows.measure == _KNN) & (rows.null == "free") & (rows.partner == 512)]
    after, before = (
        trends(knn[part], ["score"], "width").set_index("data").score for part in (knn.epochs > 0, knn.epochs == 0)
    )
    return {
        **{
            f"untrained {name}, {end}": means.get((width, name), np.nan)
            for end, width in (("narrow", WIDTHS[0]), ("wide", WIDTHS[-1]))
            for name in ("CKA", _KNN)
        },
        "training_adds": over_draws(after - before),
    }
