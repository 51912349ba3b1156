"""Do larger perturbations shift cells more coherently, beyond the effect of group size?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from shesha.studies.checks import DATA
from shesha.studies.facts import Fact, Facts, absolute, as_facts, largest, rank_correlation, smallest
from shesha.studies.study_decorator import study
from shesha_studies.biology import _single_cell_data as screens
from shesha_studies.biology._crispr_page import make_page
from shesha_studies.biology._crispr_results import BOTH, GAUSSIAN, SCORES, SCREEN, STIMULATION, Results
from shesha_studies.biology._crispr_rows import GIVEN, NULL_MODELS, PARTS, Row

SIZES = ("10", "25", "50", "100", "400")
COMPONENTS = ("10", "20", "30", "50", "100")
SCALED = ("raw", "both", "magnitude")
_TABLE_61 = ((0.40, 0.14, 236), (0.33, 0.06, 8), (0.51, 0.12, 153), (0.18, 0.18, 25))
"""Mean stability, its standard deviation, and number of perturbations: Norman, Adamson, Dixit, Papalexi."""


def _cells(part: str, settings: Sequence[str], data: str = SCREEN) -> list[dict[str, str]]:
    return [{"part": part, "data": data, "setting": setting} for setting in settings]


_EACH = [f"{score} given {given}" for score in SCORES for given in GIVEN]
_QUICK = [
    *_cells("size", SIZES),
    *_cells("group", screens.TARGETS),
    *_cells("group", screens.TYPES, STIMULATION),
    *_cells("counts", ["cells"]),
    *_cells("method", ["standard", "whitened"]),
    *_cells("method", ["standard"], STIMULATION),
    *_cells("given", _EACH),
    *_cells("left out", SCORES),
    *_cells("quartiles", SCORES),
    *_cells("null model", list(NULL_MODELS), GAUSSIAN),
]
_FULL = [
    *_QUICK,
    *_cells("given", _EACH, BOTH),
    *_cells("method", ["knn"]),
    *_cells("reading", screens.READINGS),
    *_cells("fewer cells", ["STAT1", "IRF1", "ATF2"]),
    *_cells("confound", [f"{score} and {name}" for score in SCORES for name in ("n", "spread")]),
    *_cells("confound", [f"{score} and {name}" for score in SCORES for name in ("n", "spread")], BOTH),
    *_cells("components", [f"{score} in {k}" for score in SCORES for k in COMPONENTS]),
    *_cells("seeds", ["all cells", "80 % of the cells"]),
    *_cells("mixed", [f"{score}, {how}" for score in SCORES for how in ("centred", "as it is")], BOTH),
    *_cells("pooled", [f"{score}, {one}" for score in SCORES for one in SCALED], BOTH),
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
def crispr(part: str, data: str, setting: str) -> Row:
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
    parts = (_magnitude, _data, _size, _methods, _models, _gaussian, _discordance)
    return as_facts({name: value for part in parts for name, value in part(found).items()})


_RHO, _NULL = ("rho", "rho_low", "rho_high"), ("chance", "fake_low", "fake_high")
_OF_READING = ("magnitude_mean", "magnitude_sd", "magnitude_low", "magnitude_high", "coherence_high")


def _of(score: str, *ends: str) -> Any:
    return tuple(f"{score}_{end}" for end in ends)


def _magnitude(results: Results) -> Mapping[str, Any]:
    facts: dict[str, Any] = {}
    for score in SCORES:
        facts[score] = results.fact(_of(score, "rho", "low", "high"), "method", "standard")
        facts[f"{score}_fakes"] = results.get(f"{score}_chance", "method", "standard")
        facts[f"{score}_p"] = results.get(f"{score}_p", "method", "standard")
    groups = results.build("group")
    guided = sorted(groups.index[groups.guides_low > 0])
    return facts | {
        "coherence_fake_spread": results.fact(_of("coherence", *_NULL), "method", "standard"),
        "targets": len(groups),
        "above_chance": (groups.p_adj <= 0.05).sum(),
        **{"above_guides": len(guided), "above_guides in words": ", ".join(guided)},
    }


def _data(results: Results) -> Mapping[str, Any]:
    """Facts on the genes, guides and cell types that our data have."""
    readings, types = results.build("reading"), results.build("group", STIMULATION)
    stimulated = {"types": _of("coherence", "rho", "low", "high"), "types_fakes": _of("coherence", *_NULL)}
    return {
        **{f"10,000 counts, {name}": results.get(name, "reading", "10,000 counts") for name in _OF_READING},
        **{f"{name}_rho in words": _listed(readings.get(f"{name}_rho", ())) for name in ("spread", "n")},
        **{name: results.get(name, "counts", "cells") for name in ("n_guides", "n_controls")},
        **{name: results.fact(ends, "method", "standard", STIMULATION) for name, ends in stimulated.items()},
        **{"n_types": len(types), "types_above_chance": (types.p_adj <= 0.05).sum()},
    }


def _listed(values: Any) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def _size(results: Results) -> Mapping[str, Any]:
    ten, few, many = (_mean_of_groups(results, n) for n in ("10", "50", "400"))
    pairs = [results.get("unbiased", "size", n) for n in ("50", "400")]
    return {
        "size": rank_correlation(results.get("rho", "confound", "coherence and n"), len(screens.TARGETS)),
        **{"size_alone": _difference(few, many), "size_alone_of_ten": _difference(ten, many)},
        **{"few_cells": ten.value, "many_cells": many.value, "pairwise_size_alone": pairs[0] - pairs[1]},
        "size_of_fakes": results.fact(_NULL, "confound", "coherence and n"),
    }


def _mean_of_groups(results: Results, n: str) -> Fact:
    """Mean score of random groups of control cells of one size; the rows have the limits of a single group."""
    group = results.fact(("coherence", "low", "high"), "size", n)
    half = (group.high - group.low) / 2 / math.sqrt(screens.N_TABLES)
    return Fact(group.value, group.value - half, group.value + half)


def _difference(one: Fact, other: Fact) -> Fact:
    """Difference of two independent means."""
    value = one.value - other.value
    half = math.hypot(one.high - one.value, other.high - other.value)
    return Fact(value, value - half, value + half)


def _methods(results: Results) -> Mapping[str, Any]:
    methods = results.build("method").reindex(["standard", "whitened", "knn"])
    parts = results.build("components")
    facts: dict[str, Any] = {
        "lowest_method": smallest(_each(methods, _of("coherence", "rho", "low", "high"))),
        "largest_fake_of_methods": largest(_each(methods, _of("coherence", *_NULL))),
        "methods_p": methods.coherence_p.max(),
        "pairwise_fake_of_knn": results.get("unbiased_chance", "method", "knn"),
        **{f"fakes, {name}": value for name, value in methods.coherence_chance.items()},
    }
    if len(parts):
        plain = parts[parts.index.str.startswith("coherence")]
        facts |= {
            "components_lowest": smallest(_each(plain, _RHO)),
            **{"components_highest": plain.rho.max(), "components_p": plain.fake_p.max()},
            **{"components_fake_lowest": plain.chance.min(), "components_fake_highest": plain.chance.max()},
            **{"ranks_of_scores": plain.rank_score.min(), "ranks_of_magnitudes": plain.rank_magnitude.min()},
            "ranks": rank_correlation(plain[["rank_score", "rank_magnitude"]].min().min(), len(screens.TARGETS)),
        }
    return facts


def _each(methods: Any, names: Sequence[str]) -> list[Fact]:
    """Return the numbers of each method, with their limits."""
    return [Fact(*(float(row[name]) for name in names)) for _, row in methods.iterrows()]


def _slopes(results: Results) -> Fact:
    """Return the ratio of the slopes of magnitude and size; its limits combine the ends of both intervals."""
    steep, flat = (
        absolute(results.fact(_of(name, "beta", "low", "high"), "mixed", "coherence, centred", BOTH))
        for name in ("magnitude", "log_n")
    )
    return Fact(steep.value / flat.value, steep.low / flat.high, steep.high / flat.low if flat.low else math.inf)


def _models(results: Results) -> Mapping[str, Any]:
    facts: dict[str, Any] = {}
    for name in ("magnitude", "log_n"):
        for kind in ("beta", "fake"):
            facts[f"{name}_{kind}"] = results.get(f"{name}_{kind}", "mixed", "coherence, centred", BOTH)
    slopes, null = _slopes(results), facts["magnitude_fake"] / facts["log_n_fake"]
    pairs, limit = (results.fact(ends, "pooled", "unbiased, both", BOTH) for ends in (_RHO, _NULL))
    return {
        **facts,
        "between_printed": _between_printed(),
        "slopes": slopes,
        "slopes_null": null,
        "slopes_beyond_null": _less(slopes, null),
        "between": results.get("between", "mixed", "coherence, as it is", BOTH),
        "between_centred": results.get("between", "mixed", "coherence, centred", BOTH),
        "pooled": results.get("rho", "pooled", "coherence, both", BOTH),
        "pooled_fakes": results.get("chance", "pooled", "coherence, both", BOTH),
        **{"pooled_pairwise": pairs.value, "pooled_pairwise_fakes": limit.value},
        # The distance from the upper limit of control cells.
        "pooled_beyond_fakes": _less(pairs, limit.high),
    }


def _between_printed() -> Fact:
    """Variance of the four printed means, less that of their sampling errors, with an interval over these errors."""
    means, deviations, groups = np.array(_TABLE_61).T
    errors = deviations / np.sqrt(groups)
    draws = np.random.default_rng(0).normal(means, errors, (10_000, len(means)))
    spread = draws.var(axis=1, ddof=1) - 2 * np.mean(errors**2)
    low, high = np.percentile(spread, [2.5, 97.5])
    return Fact(float(means.var(ddof=1) - np.mean(errors**2)), float(low), float(high))


def _less(one: Fact, number: float) -> Fact:
    return Fact(*(end - number for end in (one.value, one.low, one.high)))


def _gaussian(results: Results) -> Mapping[str, Any]:
    fake = results.fact(_NULL, "given", "coherence given snr")
    gaussian = results.build("null model", GAUSSIAN)
    facts: dict[str, Any] = {
        "given_snr_fakes": fake,
        "given_snr_beyond": Fact(0.176 - fake.value, 0.176 - fake.high, 0.176 - fake.low),
    }
    if len(gaussian):
        lowest, highest = gaussian.within_noise.min(), gaussian.within_noise_highest.max()
        shifts = Fact((lowest + highest) / 2, lowest, highest)
        facts |= {"gaussian_snr": gaussian.snr_rho.min(), "gaussian_shifts": shifts, "gaussian_choices": len(gaussian)}
        for name in ("magnitude", "partial"):
            facts[f"gaussian_{name} in words"] = " to ".join(
                f"{end:.2f}" for end in (gaussian[f"{name}_rho"].min(), gaussian[f"{name}_rho"].max())
            )
    return facts


def _ratio_of_spreads(ratio: float, n: int) -> Fact:
    """Ratio of the standard deviations of two groups of n, with the limits of the F test."""
    from scipy.stats import f

    reach = float(f.ppf(0.975, n - 1, n - 1)) ** 0.5
    return Fact(ratio, ratio / reach, ratio * reach)


def _discordance(results: Results) -> Mapping[str, Any]:
    low, high = (results.get(name, "left out", "coherence") for name in ("rho_low", "rho_high"))
    whole = results.get("coherence_rho", "method", "standard")
    facts: dict[str, Any] = {
        "seeds_of_cells": results.get("rank_score", "seeds", "80 % of the cells"),
        **{"left_out_lowest": low, "left_out_highest": high, "left_out_change": max(high - whole, whole - low)},
    }
    if results.has("quartiles"):
        table: Any = results.build("quartiles")
        quarter = len(results.build("group")) // 4
        for score in SCORES:
            for name in ("sd_score_ratio", "sd_magnitude_ratio"):
                facts[f"{score}, {name}"] = _ratio_of_spreads(float(table.loc[score, name]), quarter)
            facts[f"{score}, far but not alike"] = table.far_not_alike[score]
        facts |= {f"coherence, {name}": table.loc["coherence", name] for name in ("sd_score_fake", "sd_magnitude_fake")}
        facts["far_by_both"] = len(set.intersection(*(set(text.split(", ")) for text in table.far_not_alike)))
    return facts
