"""Facts of the study `validation`: results of the ten tests, by test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from shesha_studies.framework.checks import Found
from shesha_studies.framework.facts import (
    Fact,
    Facts,
    absolute,
    as_facts,
    difference,
    over_draws,
    rank_correlation,
    resampled,
    share,
    smallest,
)
from shesha_studies.framework.published_checks import draws, unjudged_answers

SUPERVISED = ("variance", "zscore")
VARIANTS = ("feature_split", *SUPERVISED)
IMAGES = ("CIFAR-10", "CIFAR-100")
Numbers = Any
"""A Series of published numbers by key."""


def published_numbers(models: pd.DataFrame, noise: pd.DataFrame, published: pd.DataFrame) -> dict[str, Found]:
    """Return our value for published numbers that follow from available models, noise, or other published numbers."""
    differences, labelled = models.seed_difference, _with_ten_classes(models)
    ten, hundred = (noise[noise.representation.str.contains(f"{n} classes")] for n in (10, 100))
    values = {
        **unjudged_answers({"seeds/mean": differences.mean(), "seeds/largest": differences.max()}),
        # A hundred rows of the first class, and five of every other class.
        **{f"rows/CIFAR-{n_classes}": Found(100.0 + 5 * (n_classes - 1)) for n_classes in (10, 100)},
        **{f"baseline/{name}": draws(ten[f"{name}_noise"]) for name in VARIANTS},
    }
    for name in SUPERVISED:
        random = {"CIFAR-10": labelled[f"{name}_random"], "CIFAR-100": hundred[f"{name}_noise"]}
        values |= {f"random/{data}/{name}": draws(scores) for data, scores in random.items()}
    printed = _printed_numbers(published)
    return values | _overall(printed) | _arithmetic(printed)


def _with_ten_classes(models: pd.DataFrame) -> pd.DataFrame:
    """Return the models with labels of ten classes; sentences have two."""
    return models[models.variance_expected > 0.01]


def _printed_numbers(published: pd.DataFrame) -> Numbers:
    """Return numbers by their key; if several places print a number, the first."""
    numbers = pd.to_numeric(published.set_index("key").published, errors="coerce").dropna()
    return numbers[~numbers.index.duplicated()]


def _overall(printed: Numbers) -> dict[str, Found]:
    """Overall lines of Tables 6 and 7, which follow from the lines of both data sets, rounded to three decimals."""
    rules = {
        **dict.fromkeys(("model/6/{}/{}/true", "random/{}/{}", "model/7/{}/{}/mean"), "mean"),
        "model/7/{}/{}/lowest": "min",
        "model/7/{}/{}/highest": "max",
    }
    return {
        key.format("Overall", name): Found(printed[[key.format(data, name) for data in IMAGES]].agg(rule), 0.0003)
        for key, rule in rules.items()
        for name in SUPERVISED
    }


def _table_3(printed: Numbers, column: str) -> Numbers:
    return printed.filter(like=f"model/3/{column}/")


def _arithmetic(printed: Numbers) -> dict[str, Found]:
    """Lines that follow from other published lines, with the errors by which their rounding can change them."""
    values: dict[str, Found] = {}
    for column in (*IMAGES, "total"):
        scores = _table_3(printed, column)
        values |= {f"table 3/mean/{column}": Found(scores.mean(), 0.0002)}
        values |= {f"table 3/sd/{column}": Found(scores.std(), 0.0002)}
    values["table 3/range"] = Found(float(np.ptp(_table_3(printed, "total"))))
    rho = spearmanr(*(_table_3(printed, data) for data in IMAGES))
    values["table 3/rho"] = Found(float(rho.statistic))
    for part in (f"{data}/{name}" for name in SUPERVISED for data in (*IMAGES, "Overall")):
        true, random = printed[f"model/6/{part}/true"], printed[f"random/{part}"]
        values[f"table 6/difference/{part}"] = Found(true - random, 0.0006)
        values[f"table 6/drop/{part}"] = Found(100 * (1 - random / true), 100 * 0.0008 / true)
    for key in printed.filter(like="table 9/percent/").index:
        line = key.replace("table 9/percent", "model/9")
        values[key] = Found(100 * printed[f"{line}/difference"] / printed[f"{line}/score"], 0.005)
    for name in VARIANTS:
        lowest, base = printed[f"model/10/{name}"], printed[f"baseline/{name}"]
        values[f"table 10/ratio/{name}"] = Found(lowest / base, lowest / base * 0.00005 / base)
    return values | {"table 10/highest": Found(0.792 / printed["baseline/feature_split"], 2.0)}


def make_facts(models: pd.DataFrame, noise: pd.DataFrame, published: pd.DataFrame) -> Facts:
    """Return the facts for the claims of 6.2 and of the journal version's Table 9."""
    printed = _printed_numbers(published)
    return as_facts(
        {
            **_repeatability(models),
            **_component_scores(models[models.d > models.n_components]),
            **_label_facts(_with_ten_classes(models), noise),
            **_drifts(models, printed.filter(regex="^model/8/.*/drift$")),
            "printed_zscore_change": printed["model/7/CIFAR-10/zscore/mean"] - printed["model/6/CIFAR-10/zscore/true"],
            "printed_ratio": printed["model/10/feature_split"] / printed["baseline/feature_split"],
            **_baseline(models, noise),
            **_printed_facts(printed),
        }
    )


def _repeatability(models: pd.DataFrame) -> Mapping[str, Any]:
    """Facts of tests 3, 4 and 9: repeatability, bounds and seeds."""
    differences, n = models.seed_difference, len(models)
    return {
        "representations": n,
        "identical": models.identical.sum(),
        "not_identical": 3 * n - models.identical.sum(),
        "valid": (models.valid == 1).sum(),
        "not_valid": (models.valid != 1).sum(),
        "moved_by_scale": models.moved_by_scale.max(),
        "below_1_percent": (differences < 0.01).sum(),
        "share_below_1_percent": share(differences < 0.01),
        "below_5_percent": (differences < 0.05).sum(),
        "beyond_5_percent": (differences >= 0.05).sum(),
        "largest_of_seeds": differences.max(),
        "relative": over_draws(differences / models.feature_split),
    }


def _component_scores(models: pd.DataFrame) -> Mapping[str, Any]:
    """Facts of test 5: scores of 64 principal components."""
    scores, full = models.feature_split_pca, models.feature_split_400
    rises = {name: (models[f"{name}_pca"] > models[f"{name}_400"]).sum() for name in SUPERVISED}
    return {
        "reduced": len(models),
        "components": over_draws(scores),
        "components_lowest": scores.min(),
        "components_highest": scores.max(),
        "components_correlate": models.components_correlate.max(),
        "other_rows": models.feature_split_pca_fresh.mean(),
        "rotated": over_draws(models.feature_split_pca_turned),
        "all_features": full.mean(),
        "share_left_rotated": _ratio_of_means(models.feature_split_pca_turned, full),
        **{f"{name}_rises": rise for name, rise in rises.items()},
        **{f"{name}_falls": len(models) - rise for name, rise in rises.items()},
        "not_monotonic": (scores >= full).sum() + sum(rises.values()),
    }


def _ratio_of_means(over: pd.Series[float], under: pd.Series[float]) -> Fact:
    """Ratio of two means; representations are resampled."""
    a, b = over.to_numpy(dtype=float), under.to_numpy(dtype=float)
    return resampled(lambda rows: float(a[rows].mean() / b[rows].mean()), len(a))


def _label_facts(models: pd.DataFrame, noise: pd.DataFrame) -> Mapping[str, Any]:
    """Facts of tests 6 and 7: random labels, and a hundred rows of one class and five of every other class."""
    true, random = ({name: models[f"{name}_{labels}"] for name in SUPERVISED} for labels in ("true", "random"))
    lost = {f"lost_of_{name}": _ratio_of_means(true[name] - random[name], true[name]) for name in SUPERVISED}
    hundred = noise[noise.representation.str.contains("100 classes")]
    return {
        **lost,
        "labelled": len(models),
        "lost_of_labels": smallest(lost.values()),
        "expected_of_hundred": 99 / 499,
        "expected_of_ten": 9 / 499,
        "away_from_expected": absolute(over_draws(hundred.variance_noise - 99 / 499)),
        **{name: models[f"zscore_{name}"].mean() for name in ("true", "imbalanced", "imbalanced_random")},
        "not_finite": (~np.isfinite(models.zscore_imbalanced)).sum(),
        "zscore_change": absolute(over_draws(models.zscore_imbalanced - models.zscore_true)),
    }


def _drifts(models: pd.DataFrame, printed: Numbers) -> Mapping[str, Any]:
    """Facts of test 8: noise of a fixed or relative size, and the smallest and largest drift of the table."""
    drifts, rho = models.drift_own_units, spearmanr(models["size"], models.drift).statistic
    ratio = printed.max() / printed.min()
    return {
        "drift_and_size": rank_correlation(rho, len(models)),
        "drift_lowest": models.drift.min(),
        "drift_highest": models.drift.max(),
        "printed_drift_highest": printed.max(),
        "own_units_lowest": drifts.min(),
        "own_units_highest": drifts.max(),
        "drift_ratio": ratio,
        "off_1800": abs(ratio - 1800),
    }


def _baseline(models: pd.DataFrame, noise: pd.DataFrame) -> Mapping[str, Any]:
    """Facts of test 10, which needs no model."""
    split = noise[noise.representation.str.contains("10 classes")].feature_split_noise
    fresh = models.feature_split_untrained.dropna()
    return {
        "baseline": split.mean(),
        "baseline_size": absolute(over_draws(split)),
        "baseline_sd": split.std(),
        "baseline_draws": len(split),
        "untrained": len(fresh),
        "untrained_lowest": fresh.min(),
        "untrained_highest": fresh.max(),
    }


def _printed_facts(printed: Numbers) -> Mapping[str, Any]:
    """Facts on Table 3 (networks with attention or dense connections, agreement of image sets) and on Table 6."""
    totals = _table_3(printed, "total")
    named = totals.index.str.contains("/(?:vit_|deit_|swin_|densenet)")
    facts = {
        "table_3_p": spearmanr(*(_table_3(printed, data) for data in IMAGES)).pvalue,
        "attention": totals[named].mean(),
        "no_attention": totals[~named].mean(),
        "attention_gain": difference(totals[named], totals[~named]),
    }
    for label, keys in ((", CIFAR-10", "CIFAR-10/"), (", CIFAR-100", "CIFAR-100/"), ("", "CIFAR-")):
        drops = printed.filter(like=f"table 6/drop/{keys}")
        facts |= {f"lowest drop{label}": drops.min(), f"highest drop{label}": drops.max()}
    return facts
