"""Do larger perturbations shift cells more coherently, beyond the effect of group size?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from shesha.studies.checks import DATA
from shesha.studies.facts import Fact, Facts, absolute, as_facts, largest, rank_correlation, rate, smallest
from shesha.studies.study_definition import study
from shesha_studies.biology import _single_cell_data as screens
from shesha_studies.biology._crispr_checks import BOTH, GAUSSIAN, SCORES, SCREEN, STIMULATION, Found
from shesha_studies.biology._crispr_page import make_page
from shesha_studies.biology._crispr_rows import GIVEN, NULL_MODELS, PARTS, Row

SIZES = ("10", "25", "50", "100", "400")
COMPONENTS = ("10", "20", "30", "50", "100")
SCALED = ("raw", "both", "magnitude")


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
    found = Found(rows)
    parts = (_magnitude, _size, _methods, _models, _gaussian, _discordance)
    return as_facts({name: value for part in parts for name, value in part(found).items()})


def _magnitude(results: Found) -> Mapping[str, Any]:
    facts: dict[str, Any] = {}
    for score in SCORES:
        value, low, high = (results.get(f"{score}_{end}", "method", "standard") for end in ("rho", "low", "high"))
        facts[score] = Fact(value, low, high)
        fake = [results.get(f"{score}_{end}", "method", "standard") for end in ("chance", "fake_low", "fake_high")]
        facts[f"{score}_fakes"], facts[f"{score}_fake_spread"] = fake[0], Fact(*fake)
        facts[f"{score}_p"] = results.get(f"{score}_p", "method", "standard")
    groups = results.build("group")
    return facts | {
        "targets": len(groups),
        "above_chance": (groups.p_adj <= 0.05).sum(),
        "above_guides": (groups.guides_low > 0).sum(),
    }


def _size(results: Found) -> Mapping[str, Any]:
    few, many = (Fact(*(results.get(name, "size", n) for name in ("coherence", "low", "high"))) for n in ("10", "400"))
    fake = [results.get(name, "confound", "coherence and n") for name in ("chance", "fake_low", "fake_high")]
    pairs = [results.get("unbiased", "size", n) for n in ("10", "400")]
    return {
        "size": rank_correlation(results.get("rho", "confound", "coherence and n"), len(screens.TARGETS)),
        "size_alone": Fact(few.value - many.value, few.low - many.high, few.high - many.low),
        "few_cells": few.value,
        "many_cells": many.value,
        "pairwise_size_alone": pairs[0] - pairs[1],
        "size_of_fakes": Fact(*fake),
    }


def _methods(results: Found) -> Mapping[str, Any]:
    methods = results.build("method").reindex(["standard", "whitened", "knn"])
    parts = results.build("components")
    plain = parts[parts.index.str.startswith("coherence")] if len(parts) else None
    facts: dict[str, Any] = {
        "lowest_method": smallest(_each(methods, *(f"coherence_{end}" for end in ("rho", "low", "high")))),
        "largest_fake_of_methods": largest(
            _each(methods, *(f"coherence_{end}" for end in ("chance", "fake_low", "fake_high")))
        ),
        "methods_p": methods.coherence_p.max(),
        "pairwise_fake_of_knn": results.get("unbiased_chance", "method", "knn"),
        **{f"fakes, {name}": value for name, value in methods.coherence_chance.items()},
    }
    if plain is not None:
        facts |= {
            "components_lowest": smallest(_each(plain, "rho", "rho_low", "rho_high")),
            **{"components_highest": plain.rho.max(), "components_p": plain.fake_p.max()},
            **{"components_fake_lowest": plain.chance.min(), "components_fake_highest": plain.chance.max()},
            **{"ranks_of_scores": plain.rank_score.min(), "ranks_of_magnitudes": plain.rank_magnitude.min()},
            "ranks": rank_correlation(plain[["rank_score", "rank_magnitude"]].min().min(), len(screens.TARGETS)),
        }
    return facts


def _each(methods: Any, *names: str) -> list[Fact]:
    """Return the numbers of each method, with their limits."""
    return [Fact(*(float(row[name]) for name in names)) for _, row in methods.iterrows()]


def _excess_over_null_groups(results: Found) -> Fact:
    """Distance of the pooled correlation of the pairwise score from the upper limit of control cells."""
    ends = [results.get(name, "pooled", "unbiased, both", BOTH) for name in ("rho", "rho_low", "rho_high")]
    limit = results.get("fake_high", "pooled", "unbiased, both", BOTH)
    return Fact(*(end - limit for end in ends))


def _slopes(results: Found) -> Fact:
    """Return the ratio of the slopes of magnitude and size; its limits combine the ends of both intervals."""
    parts = [
        [results.get(f"{name}_{end}", "mixed", "coherence, centred", BOTH) for end in ("beta", "low", "high")]
        for name in ("magnitude", "log_n")
    ]
    steep, flat = (absolute(Fact(*part)) for part in parts)
    return Fact(steep.value / flat.value, steep.low / flat.high, steep.high / flat.low if flat.low else math.inf)


def _models(results: Found) -> Mapping[str, Any]:
    facts: dict[str, Any] = {}
    for name in ("magnitude", "log_n"):
        for kind in ("beta", "fake"):
            facts[f"{name}_{kind}"] = results.get(f"{name}_{kind}", "mixed", "coherence, centred", BOTH)
    slopes, null = _slopes(results), facts["magnitude_fake"] / facts["log_n_fake"]
    return {
        **facts,
        "slopes": slopes,
        "slopes_null": null,
        "slopes_beyond_null": Fact(*(end - null for end in (slopes.value, slopes.low, slopes.high))),
        "between": results.get("between", "mixed", "coherence, as it is", BOTH),
        "between_centred": results.get("between", "mixed", "coherence, centred", BOTH),
        "pooled": results.get("rho", "pooled", "coherence, both", BOTH),
        "pooled_fakes": results.get("chance", "pooled", "coherence, both", BOTH),
        "pooled_pairwise": results.get("rho", "pooled", "unbiased, both", BOTH),
        "pooled_pairwise_fakes": results.get("chance", "pooled", "unbiased, both", BOTH),
        "pooled_beyond_fakes": _excess_over_null_groups(results),
    }


def _gaussian(results: Found) -> Mapping[str, Any]:
    fake = [results.get(name, "given", "coherence given snr") for name in ("chance", "fake_low", "fake_high")]
    gaussian = results.build("null model", GAUSSIAN)
    facts: dict[str, Any] = {
        "given_snr_fakes": Fact(*fake),
        "given_snr_beyond": Fact(*(0.176 - end for end in (fake[0], fake[2], fake[1]))),
    }
    if len(gaussian):
        lowest, highest = gaussian.within_noise.min(), gaussian.within_noise_highest.max()
        shifts = Fact((lowest + highest) / 2, lowest, highest)
        facts |= {"gaussian_snr": gaussian.snr_rho.min(), "gaussian_shifts": shifts}
    return facts


def _ratio_of_spreads(ratio: float, n: int) -> Fact:
    """Ratio of the standard deviations of two groups of n, with the limits of the F test."""
    from scipy.stats import f

    reach = float(f.ppf(0.975, n - 1, n - 1)) ** 0.5
    return Fact(ratio, ratio / reach, ratio * reach)


def _discordance(results: Found) -> Mapping[str, Any]:
    low, high = (results.get(name, "left out", "coherence") for name in ("rho_low", "rho_high"))
    whole = results.get("coherence_rho", "method", "standard")
    facts: dict[str, Any] = {
        "seeds": results.get("rank_score", "seeds", "all cells"),
        "seeds_of_cells": results.get("rank_score", "seeds", "80 % of the cells"),
        **{"left_out_lowest": low, "left_out_highest": high, "left_out_change": max(high - whole, whole - low)},
    }
    if results.has("quartiles"):
        tables: dict[str, Any] = {score: results.build("quartiles").loc[score] for score in SCORES}
        names = ("sd_score_ratio", "sd_magnitude_ratio", "sd_score_fake", "sd_magnitude_fake")
        quarter = len(results.build("group")) // 4
        facts |= {
            f"{score}, {name}": _ratio_of_spreads(float(row[name]), quarter) if "ratio" in name else float(row[name])
            for score, row in tables.items()
            for name in names
        }
        far = {score: str(row.far_not_alike) for score, row in tables.items()}
        facts |= {f"{score}, far but not alike": value for score, value in far.items()}
        sets = [set(text.split(", ")) for text in far.values()]
        both = len(set.intersection(*sets))
        facts |= {"far_by_both": both, "far_share": rate(both, len(sets[0]))}
    return facts
