"""Facts of the study `validation`: results of the ten tests, by test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from statistics import mean
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from shesha.studies.checks import Found
from shesha.studies.facts import (
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
from shesha.studies.published_checks import draws, unreachable
from shesha_studies.stability._ten_tests import n_unbalanced


def published_numbers(models: pd.DataFrame, noise: pd.DataFrame, published: pd.DataFrame) -> dict[str, Found]:
    """Return our value for published numbers that follow from available models, noise, or other published numbers."""
    differences = models.seed_difference
    ten, hundred = (noise[noise.representation.str.contains(f"{n} classes")] for n in (10, 100))
    labelled = models[models.variance_expected > 0.01]
    values = {
        "seeds/mean": unreachable(_OTHER_MODELS, float(differences.mean())),
        "seeds/largest": unreachable(_OTHER_MODELS, float(differences.max())),
        "rows/CIFAR-10": Found(float(n_unbalanced(10))),
        "rows/CIFAR-100": Found(float(n_unbalanced(100))),
    }
    values |= {f"random/CIFAR-10/{name}": draws(labelled[f"{name}_random"], _CLOUD) for name in ("variance", "zscore")}
    values |= {f"random/CIFAR-100/{name}": draws(hundred[f"{name}_noise"], _CLOUD) for name in ("variance", "zscore")}
    values |= {f"baseline/{name}": draws(ten[f"{name}_noise"]) for name in ("feature_split", "variance", "zscore")}
    printed = printed_numbers(published)
    return {**values, **dict(_overall(printed)), **dict(_arithmetic(printed))}


def printed_numbers(published: pd.DataFrame) -> dict[str, float]:
    """Return numbers by their key; if several places print a number, the first."""
    numbers: dict[str, float] = {}
    for key, value in zip(published.key, published.published, strict=True):
        try:
            numbers.setdefault(str(key), float(str(value)))
        except ValueError:
            continue
    return numbers


_OTHER_MODELS = (
    "The published value belongs to vision models that we do not have. The difference between two seeds depends on the "
    "number of features, and ours are other models with fewer features."
)
_CLOUD = "The chance level of zscore depends on the shape of the cloud of rows, and our data have another shape."


def _overall(printed: dict[str, float]) -> Iterator[tuple[str, Found]]:
    """Overall lines of Tables 6 and 7, which follow from the lines of both data sets."""
    means = ("model/6/{}/{}/true", "random/{}/{}", "model/7/{}/{}/mean")
    patterns: dict[str, Callable[[list[float]], float]] = dict.fromkeys(means, mean)
    for pattern, combine in (patterns | {"model/7/{}/{}/lowest": min, "model/7/{}/{}/highest": max}).items():
        for name in ("variance", "zscore"):
            both = [printed[pattern.format(data, name)] for data in _IMAGES]
            # Both lines and the overall line are rounded to three decimals.
            yield pattern.format("Overall", name), Found(combine(both), 0.0003)


def columns_of_table_3(numbers: dict[str, float]) -> dict[str, np.ndarray]:
    """Return scores of the published models: on both sets of images, and over all."""
    return {
        column: np.array([value for key, value in numbers.items() if key.startswith(f"model/3/{column}/")])
        for column in ("CIFAR-10", "CIFAR-100", "total")
    }


def _arithmetic(printed: dict[str, float]) -> Iterator[tuple[str, Found]]:
    """Lines that follow from other published lines."""
    table = columns_of_table_3(printed)
    for column, values in table.items():
        yield f"table 3/mean/{column}", Found(float(values.mean()), 0.0002)
        yield (
            f"table 3/sd/{column}",
            Found(float(values.std(ddof=1)), 0.0002, "The value divided by n, instead of n - 1, is slightly smaller."),
        )
    yield "table 3/range", Found(float(np.ptp(table["total"])))
    rho = spearmanr(table["CIFAR-10"], table["CIFAR-100"])
    yield "table 3/rho", Found(float(rho.statistic))
    for name in ("variance", "zscore"):
        for data in ("CIFAR-10", "CIFAR-100", "Overall"):
            true, random = printed[f"model/6/{data}/{name}/true"], printed[f"random/{data}/{name}"]
            # The columns are rounded to three decimals, so their difference has a rounding error.
            yield f"table 6/difference/{data}/{name}", Found(true - random, 0.0006)
            percent = 100 * (1 - random / true)
            yield (
                f"table 6/drop/{data}/{name}",
                Found(percent, 100 * 0.0008 / true, "Rounding of the columns does not explain the difference."),
            )
    for key, value in printed.items():
        if key.startswith("table 9/percent/"):
            suffix = key.removeprefix("table 9/percent/")
            share = 100 * printed[f"model/9/{suffix}/difference"] / printed[f"model/9/{suffix}/score"]
            yield key, Found(share, 0.005, f"The table's own columns do not give {value}.")
    for name in ("feature_split", "variance", "zscore"):
        lowest, base = printed[f"model/10/{name}"], printed[f"baseline/{name}"]
        yield f"table 10/ratio/{name}", Found(lowest / base, lowest / base * 0.00005 / base)
    yield "table 10/highest", Found(0.792 / printed["baseline/feature_split"], 2.0)


_ATTENTION = ("vit_", "deit_", "swin_", "densenet")


def make_facts(models: pd.DataFrame, noise: pd.DataFrame, published: pd.DataFrame) -> Facts:
    """Return the facts for the claims of 6.2 and of the journal version's Table 9."""
    numbers = printed_numbers(published)
    parts = (
        _repeatability(models),
        _component_scores(models),
        _labels(models, noise),
        _uneven(models),
        _drifts(models, numbers),
    )
    facts = {name: value for part in parts for name, value in part.items()}
    moved = numbers["model/7/CIFAR-10/zscore/mean"] - numbers["model/6/CIFAR-10/zscore/true"]
    facts["printed_zscore_change"] = moved
    return as_facts({**facts, **_baseline(models, noise), **_table_3(numbers), **_table_6(numbers)})


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
    cut = models[models.d > models.n_components]
    scores, full = cut.feature_split_pca, cut.feature_split_400.mean()
    rises = {name: int((cut[f"{name}_pca"] > cut[f"{name}_400"]).sum()) for name in ("variance", "zscore")}
    return {
        "reduced": len(cut),
        "components": over_draws(scores),
        "components_lowest": scores.min(),
        "components_highest": scores.max(),
        "components_correlate": cut.components_correlate.max(),
        "other_rows": cut.feature_split_pca_fresh.mean(),
        "rotated": over_draws(cut.feature_split_pca_turned),
        "all_features": full,
        "share_left_rotated": _ratio_of_means(cut.feature_split_pca_turned, cut.feature_split_400),
        **{f"{name}_rises": n for name, n in rises.items()},
        **{f"{name}_falls": len(cut) - n for name, n in rises.items()},
        "not_monotonic": len(cut) - (scores < cut.feature_split_400).sum() + sum(rises.values()),
    }


def _ratio_of_means(over: pd.Series[float], under: pd.Series[float]) -> Fact:
    """Ratio of two means; representations are resampled."""
    a, b = over.to_numpy(dtype=float), under.to_numpy(dtype=float)
    return resampled(lambda rows: float(a[rows].mean() / b[rows].mean()), len(a))


def _share_lost(after: pd.Series[float], before: pd.Series[float]) -> Fact:
    ratio = _ratio_of_means(after, before)
    return Fact(1 - ratio.value, 1 - ratio.high, 1 - ratio.low)


def _labels(models: pd.DataFrame, noise: pd.DataFrame) -> Mapping[str, Any]:
    """Facts of test 6: scores with random labels."""
    ten = models[models.variance_expected > 0.01]
    names = ("variance", "zscore")
    lost = {f"lost_of_{name}": _share_lost(ten[f"{name}_random"], ten[f"{name}_true"]) for name in names}
    hundred = noise[noise.representation.str.contains("100 classes")]
    return {
        **lost,
        "labelled": len(ten),
        "lost_of_labels": smallest(lost.values()),
        "expected_of_hundred": 99 / 499,
        "expected_of_ten": 9 / 499,
        "away_from_expected": absolute(over_draws(hundred.variance_noise - 99 / 499)),
    }


def _uneven(models: pd.DataFrame) -> Mapping[str, Any]:
    """Facts of test 7: a hundred rows of one class, and five of every other class."""
    ten = models[models.variance_expected > 0.01]
    means = {name: ten[f"zscore_{name}"].mean() for name in ("true", "imbalanced", "imbalanced_random")}
    change = absolute(over_draws(ten.zscore_imbalanced - ten.zscore_true))
    return {**means, "not_finite": (~np.isfinite(ten.zscore_imbalanced)).sum(), "zscore_change": change}


def _drifts(models: pd.DataFrame, numbers: Mapping[str, float]) -> Mapping[str, Any]:
    """Facts of test 8: noise of a fixed or relative size, and the smallest and largest drift of the table."""
    drifts, rho = models.drift_own_units, spearmanr(models["size"], models.drift).statistic
    printed_drifts = [value for key, value in numbers.items() if key.startswith("model/8/") and key.endswith("/drift")]
    return {
        "drift_and_size": rank_correlation(rho, len(models)),
        "drift_lowest": models.drift.min(),
        "drift_highest": models.drift.max(),
        "printed_drift_highest": max(printed_drifts),
        "own_units_lowest": drifts.min(),
        "own_units_highest": drifts.max(),
        "drift_ratio": max(printed_drifts) / min(printed_drifts),
        "off_1800": abs(max(printed_drifts) / min(printed_drifts) - 1800),
    }


def _baseline(models: pd.DataFrame, noise: pd.DataFrame) -> Mapping[str, Any]:
    """Facts of test 10, which needs no model."""
    split = noise[noise.representation.str.contains("10 classes")].feature_split_noise
    fresh = models.feature_split_untrained.dropna()
    return {
        "baseline": split.mean(),
        "baseline_size": absolute(over_draws(split)),
        **{"baseline_sd": split.std(), "baseline_draws": len(split), "untrained": len(fresh)},
        "untrained_lowest": fresh.min(),
        "untrained_highest": fresh.max(),
    }


def _table_3(numbers: Mapping[str, float]) -> Mapping[str, Any]:
    """Facts on Table 3: networks with attention or dense connections against others, and agreement of image sets."""
    table, start = columns_of_table_3(dict(numbers)), "model/3/total/"
    totals = {key.removeprefix(start): value for key, value in numbers.items() if key.startswith(start)}
    named, others = (
        [value for name, value in totals.items() if name.startswith(_ATTENTION) == flag] for flag in (True, False)
    )
    return {
        "table_3_p": spearmanr(table["CIFAR-10"], table["CIFAR-100"]).pvalue,
        "attention": np.mean(named),
        "no_attention": np.mean(others),
        "attention_gain": difference(named, others),
    }


def _table_6(numbers: Mapping[str, float]) -> Mapping[str, float]:
    """Facts on the reductions in the long version's Table 6."""
    drops = {data: [numbers[f"table 6/drop/{data}/{name}"] for name in ("variance", "zscore")] for data in _IMAGES}
    facts = {f"{end} drop, {data}": which(values) for data, values in drops.items() for end, which in _ENDS.items()}
    every = [drop for values in drops.values() for drop in values]
    return {**facts, "lowest drop": min(every), "highest drop": max(every)}


_IMAGES, _ENDS = ("CIFAR-10", "CIFAR-100"), {"lowest": min, "highest": max}
