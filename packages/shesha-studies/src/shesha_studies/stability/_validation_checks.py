"""Numbers of the study `validation` compared with published ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from shesha.studies.published_checks import Found, draws
from shesha_studies.stability._ten_tests import n_unbalanced

UNREACHABLE = {
    "model/": "This number belongs to published vision models (weights of timm) on CIFAR-10 or CIFAR-100, which we "
    "do not have. The claims based on it are tested on small networks trained here.",
    "architecture": "A test needs one architecture trained on several data sets, and CIFAR-100. The published "
    "models were all trained on ImageNet, and the two CIFAR sets have similar images. Their "
    "agreement therefore cannot separate an effect of the architecture from one of the weights.",
}


def published_numbers(models: pd.DataFrame, noise: pd.DataFrame, published: pd.DataFrame) -> dict[str, Found]:
    """Return our value for every published number that can be computed from available models, noise or other
    numbers."""
    differences = models.seed_difference
    ten, hundred = (noise[noise.representation.str.contains(f"{n} classes")] for n in (10, 100))
    labelled = models[models.variance_expected > 0.01]
    values = {
        "seeds/mean": Found(float(differences.mean()), float(differences.std()), _OTHER_MODELS),
        "seeds/largest": Found(float(differences.max()), float(differences.std()), _OTHER_MODELS),
        "rows/CIFAR-10": Found(float(n_unbalanced(10))),
        "rows/CIFAR-100": Found(float(n_unbalanced(100))),
    }
    values |= {f"random/CIFAR-10/{name}": draws(labelled[f"{name}_random"], _CLOUD) for name in ("variance", "zscore")}
    values |= {f"random/CIFAR-100/{name}": draws(hundred[f"{name}_noise"], _CLOUD) for name in ("variance", "zscore")}
    values |= {f"baseline/{name}": draws(ten[f"{name}_noise"]) for name in ("feature_split", "variance", "zscore")}
    return {**values, **_overall(values), **dict(_arithmetic(printed_numbers(published)))}


def printed_numbers(published: pd.DataFrame) -> dict[str, float]:
    """Return the published numbers by key; of repeated numbers, the first."""
    numbers: dict[str, float] = {}
    for key, value in zip(published.key, published.published, strict=True):
        try:
            numbers.setdefault(str(key), float(str(value)))
        except ValueError:
            continue
    return numbers


_OTHER_MODELS = "Ours are other models with fewer features; see the reason in the line of the count below 0.01."
_CLOUD = "The chance level of zscore depends on the shape of the cloud of rows, and our data have another shape."


def _overall(answers: dict[str, Found]) -> dict[str, Found]:
    """Return the means over both data sets, as in the published overall lines."""
    means = {}
    for name in ("variance", "zscore"):
        both = [answers[f"random/{data}/{name}"] for data in ("CIFAR-10", "CIFAR-100")]
        if all(isinstance(answer.ours, float) for answer in both):
            mean = float(np.mean([answer.ours for answer in both if isinstance(answer.ours, float)]))
            means[f"random/Overall/{name}"] = Found(mean, float(np.mean([answer.error for answer in both])), _CLOUD)
    return means


def columns_of_table_3(numbers: dict[str, float]) -> dict[str, np.ndarray]:
    """Return scores of the published models: on both sets of images, and over all."""
    return {
        column: np.array([value for key, value in numbers.items() if key.startswith(f"model/3/{column}/")])
        for column in ("CIFAR-10", "CIFAR-100", "total")
    }


def _arithmetic(printed: dict[str, float]) -> Iterator[tuple[str, Found]]:
    """Check the lines that follow from other published lines."""
    from scipy.stats import spearmanr

    table = columns_of_table_3(printed)
    for column, values in table.items():
        yield f"table 3/mean/{column}", Found(float(values.mean()), 0.0002)
        yield (
            f"table 3/sd/{column}",
            Found(
                float(values.std(ddof=1)), 0.0002, ("The value divided by n, instead of n - 1, is slightly smaller.")
            ),
        )
    yield "table 3/range", Found(float(np.ptp(table["total"])))
    rho = spearmanr(table["CIFAR-10"], table["CIFAR-100"])
    yield "table 3/rho", Found(float(rho.statistic))
    for name in ("variance", "zscore"):
        for data in ("CIFAR-10", "CIFAR-100", "Overall"):
            true, random = printed[f"model/6/{data}/{name}/true"], printed[f"random/{data}/{name}"]
            # Columns are rounded to three digits, and what follows from them no better.
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
