"""Do larger perturbations shift cells more coherently, beyond the effect of group size?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import f as f_distribution

from shesha_studies.biology import _single_cell_data as screens
from shesha_studies.biology._crispr_page import make_page
from shesha_studies.biology._crispr_rows import BOTH, GAUSSIAN, NULL_MODELS, PARTS, SCORES, SCREEN, STIMULATION, Results
from shesha_studies.framework.checks import DATA
from shesha_studies.framework.facts import Fact, Facts, absolute, as_facts, largest, rank_correlation, smallest
from shesha_studies.framework.study_decorator import study

RHO, NULL = ("rho", "rho_low", "rho_high"), ("chance", "fake_low", "fake_high")


def _cells(part: str, settings: Sequence[str], data: str = SCREEN) -> list[dict[str, str]]:
    return [{"part": part, "data": data, "setting": setting} for setting in settings]


_QUICK = [
    *_cells("size", ["10", "25", "50", "100", "400"]),
    *_cells("group", screens.TARGETS),
    *_cells("group", screens.TYPES, STIMULATION),
    *_cells("counts", ["cells"]),
    *_cells("method", ["standard", "whitened"]),
    *_cells("method", ["standard"], STIMULATION),
    *_cells("given", ["coherence given snr"]),
    *_cells("left out", ["coherence"]),
    *_cells("quartiles", SCORES),
    *_cells("null model", list(NULL_MODELS), GAUSSIAN),
]
_FULL = [
    *_QUICK,
    *_cells("method", ["knn"]),
    *_cells("reading", screens.READINGS),
    *_cells("confound", ["coherence and n", "coherence and spread"]),
    *_cells("components", [f"coherence in {k}" for k in (10, 20, 30, 50, 100)]),
    *_cells("seeds", ["80 % of the cells"]),
    *_cells("mixed", ["coherence, centred", "coherence, as it is"], BOTH),
    *_cells("pooled", [f"{score}, both" for score in SCORES], BOTH),
]


@study(
    "crispr",
    paper="Geometric Stability, 3.4 and 12, Tables 59 to 74",
    version=3,
    full=_FULL,
    quick=_QUICK,
    published="crispr.csv",
    on=DATA,
)
def crispr(part: str, data: str, setting: str) -> dict[str, Any]:
    """Do larger perturbations shift cells more coherently, beyond the effect of group size on both numbers?

    The data are 25 knocked-out targets of Papalexi et al. (2021), and seven types of blood cells with and without
    interferon-beta (Kang et al. 2018, no CRISPR). Every number is compared with that of null groups, which consist of
    control cells and have the same sizes.
    """
    return PARTS[part](data, setting)


crispr.page(make_page)


@crispr.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the correlations of the screen, compared with control cells in groups of the same sizes."""
    found = Results(rows)
    values: dict[str, Any] = {name: found.get(*place) for name, place in _NUMBERS.items()}
    values |= {name: found.fact(*place) for name, place in _INTERVALS.items()}
    values |= _groups(found) | _differences(found, values) | _methods(found) | _gaussian(found) | _discordance(found)
    return as_facts(values)


_STANDARD, _STIMULATED = ("method", "standard"), ("method", "standard", STIMULATION)
_CENTRED, _AS_IT_IS = ("mixed", "coherence, centred", BOTH), ("mixed", "coherence, as it is", BOTH)
_POOLED, _PAIRWISE_POOLED = ("pooled", "coherence, both", BOTH), ("pooled", "unbiased, both", BOTH)
_TABLE_61 = ((0.40, 0.14, 236), (0.33, 0.06, 8), (0.51, 0.12, 153), (0.18, 0.18, 25))
"""Mean stability, its standard deviation, and number of perturbations: Norman, Adamson, Dixit, Papalexi."""
_OF_READING = ("magnitude_mean", "magnitude_sd", "magnitude_low", "magnitude_high", "coherence_high")


def _of(score: str, *ends: str) -> tuple[str, ...]:
    return tuple(f"{score}_{end}" for end in ends)


_NUMBERS: Mapping[str, Any] = {
    **{f"{score}_fakes": (f"{score}_chance", *_STANDARD) for score in SCORES},
    **{f"{score}_p": (f"{score}_p", *_STANDARD) for score in SCORES},
    **{f"10,000 counts, {name}": (name, "reading", "10,000 counts") for name in _OF_READING},
    **{name: (name, "counts", "cells") for name in ("n_guides", "n_controls")},
    **{"few_cells": ("coherence", "size", "10"), "many_cells": ("coherence", "size", "400")},
    "pairwise_fake_of_knn": ("unbiased_chance", "method", "knn"),
    **{f"{name}_{kind}": (f"{name}_{kind}", *_CENTRED) for name in ("magnitude", "log_n") for kind in ("beta", "fake")},
    **{"between_centred": ("between", *_CENTRED), "between": ("between", *_AS_IT_IS)},
    **{"pooled": ("rho", *_POOLED), "pooled_fakes": ("chance", *_POOLED)},
    **{"pooled_pairwise": ("rho", *_PAIRWISE_POOLED), "pooled_pairwise_fakes": ("chance", *_PAIRWISE_POOLED)},
    "left_out_lowest": ("rho_low", "left out", "coherence"),
    "left_out_highest": ("rho_high", "left out", "coherence"),
    "seeds_of_cells": ("rank_score", "seeds", "80 % of the cells"),
    **{f"coherence, {name}": (name, "quartiles", "coherence") for name in ("sd_score_fake", "sd_magnitude_fake")},
}
"""Facts without limits: column, part, setting and data set."""
_INTERVALS: Mapping[str, Any] = {
    **{score: (_of(score, "rho", "low", "high"), *_STANDARD) for score in SCORES},
    "coherence_fake_spread": (_of("coherence", *NULL), *_STANDARD),
    "types": (_of("coherence", "rho", "low", "high"), *_STIMULATED),
    "types_fakes": (_of("coherence", *NULL), *_STIMULATED),
    "size_of_fakes": (NULL, "confound", "coherence and n"),
    "given_snr_fakes": (NULL, "given", "coherence given snr"),
}
"""Facts with limits: three columns, part, setting and data set."""


def _groups(results: Results) -> dict[str, Any]:
    """Numbers of targets and cell types above chance, and correlations under three normalisations."""
    groups, types, readings = results.build("group"), results.build("group", STIMULATION), results.build("reading")
    guided = sorted(groups.index[groups.guides_low > 0])
    return {
        **{"targets": len(groups), "above_chance": (groups.p_adj <= 0.05).sum()},
        **{"above_guides": len(guided), "above_guides in words": ", ".join(guided)},
        **{"n_types": len(types), "types_above_chance": (types.p_adj <= 0.05).sum()},
        **{
            f"{name}_rho in words": ", ".join(f"{rho:.2f}" for rho in readings.get(f"{name}_rho", ()))
            for name in ("spread", "n")
        },
    }


def _differences(results: Results, values: Mapping[str, Any]) -> dict[str, Any]:
    """Effects of group size, and differences from groups without an effect."""
    low, high = values["left_out_lowest"], values["left_out_highest"]
    whole, given = values["coherence"].value, values["given_snr_fakes"]
    slopes, null_slopes = _slopes(results), values["magnitude_fake"] / values["log_n_fake"]
    pairs, limit = results.fact(RHO, *_PAIRWISE_POOLED), results.get("fake_high", *_PAIRWISE_POOLED)
    return {
        "size": rank_correlation(results.get("rho", "confound", "coherence and n"), len(screens.TARGETS)),
        **{"size_alone": _size_alone(results, "50"), "size_alone_of_ten": _size_alone(results, "10")},
        **{"slopes": slopes, "slopes_null": null_slopes},
        "slopes_beyond_null": slopes.transform(lambda ratio: ratio - null_slopes),
        "pooled_beyond_fakes": pairs.transform(lambda rho: rho - limit),
        "between_printed": _between_printed(),
        "given_snr_beyond": Fact(0.176 - given.value, 0.176 - given.high, 0.176 - given.low),
        "left_out_change": max(high - whole, whole - low),
    }


def _size_alone(results: Results, n: str) -> Fact:
    """Difference in the mean score of random groups of n and of 400 control cells.

    The rows have the limits of single groups; the mean of all groups has a smaller error.
    """
    few, many = (results.fact(("coherence", "low", "high"), "size", size) for size in (n, "400"))
    half = math.hypot(few.high - few.low, many.high - many.low) / 2 / math.sqrt(screens.N_TABLES)
    return Fact(few.value - many.value, few.value - many.value - half, few.value - many.value + half)


def _slopes(results: Results) -> Fact:
    """Return the ratio of the slopes of magnitude and size; its limits combine the ends of both intervals."""
    steep, flat = (
        absolute(results.fact(_of(name, "beta", "low", "high"), *_CENTRED)) for name in ("magnitude", "log_n")
    )
    return Fact(steep.value / flat.value, steep.low / flat.high, steep.high / flat.low if flat.low else math.inf)


def _between_printed() -> Fact:
    """Variance of the four printed means, less that of their sampling errors, with an interval over these errors."""
    means, deviations, groups = np.array(_TABLE_61).T
    errors = deviations / np.sqrt(groups)
    draws = np.random.default_rng(0).normal(means, errors, (10_000, len(means)))
    spread = draws.var(axis=1, ddof=1) - 2 * np.mean(errors**2)
    low, high = np.percentile(spread, [2.5, 97.5])
    return Fact(float(means.var(ddof=1) - np.mean(errors**2)), float(low), float(high))


def _methods(results: Results) -> dict[str, Any]:
    """Correlations by three definitions of shifts, and with 10 to 100 components."""
    methods = results.build("method").reindex(["standard", "whitened", "knn"])
    facts: dict[str, Any] = {
        "lowest_method": smallest(_each(methods, _of("coherence", "rho", "low", "high"))),
        "largest_fake_of_methods": largest(_each(methods, _of("coherence", *NULL))),
        "methods_p": methods.coherence_p.max(),
        **{f"fakes, {name}": value for name, value in methods.coherence_chance.items()},
    }
    parts = results.build("components")
    if parts.empty:
        return facts
    ranks = parts[["rank_score", "rank_magnitude"]].min()
    return facts | {
        **{"components_lowest": smallest(_each(parts, RHO)), "components_highest": parts.rho.max()},
        **{"components_fake_lowest": parts.chance.min(), "components_fake_highest": parts.chance.max()},
        **{"components_p": parts.fake_p.max(), "ranks": rank_correlation(ranks.min(), len(screens.TARGETS))},
        **{"ranks_of_scores": ranks.rank_score, "ranks_of_magnitudes": ranks.rank_magnitude},
    }


def _each(rows: pd.DataFrame, names: Sequence[str]) -> list[Fact]:
    """Return the number in each row, with its limits."""
    return [Fact(*map(float, line)) for line in rows[list(names)].to_numpy()]


def _gaussian(results: Results) -> dict[str, Any]:
    """Correlations of simulated groups over four choices of effects and numbers of cells."""
    gaussian = results.build("null model", GAUSSIAN)
    lowest, highest = gaussian.within_noise.min(), gaussian.within_noise_highest.max()
    words = {name: gaussian[f"{name}_rho"].agg(["min", "max"]) for name in ("magnitude", "partial")}
    return {
        "gaussian_snr": gaussian.snr_rho.min(),
        "gaussian_shifts": Fact((lowest + highest) / 2, lowest, highest),
        "gaussian_choices": len(gaussian),
        **{f"gaussian_{name} in words": " to ".join(f"{end:.2f}" for end in ends) for name, ends in words.items()},
    }


def _discordance(results: Results) -> dict[str, Any]:
    """Ratios of spread of the most and least discordant quarters of targets, with the limits of the F test."""
    table: Any = results.build("quartiles")
    n = len(results.build("group")) // 4
    reach = float(f_distribution.ppf(0.975, n - 1, n - 1)) ** 0.5
    facts: dict[str, Any] = {f"{score}, far but not alike": table.far_not_alike[score] for score in SCORES}
    for score in SCORES:
        for name in ("sd_score_ratio", "sd_magnitude_ratio"):
            ratio = float(table.loc[score, name])
            facts[f"{score}, {name}"] = Fact(ratio, ratio / reach, ratio * reach)
    return facts | {"far_by_both": len(set.intersection(*(set(text.split(", ")) for text in table.far_not_alike)))}
