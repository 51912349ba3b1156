"""Facts of the study on perturbations: every correlation compared with what control cells that pose as targets have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shesha.studies.facts import Fact, Facts, as_facts, rank_correlation
from shesha_studies.biology import _screens as screens
from shesha_studies.biology._crispr_numbers import BOTH, GAUSSIAN, SCORES, Found


def make_facts(found: Found) -> Facts:
    """Return what decides the claims."""
    parts = (_magnitude, _size, _methods, _models, _gaussian, _discordance)
    return as_facts({name: value for part in parts for name, value in part(found).items()})


def _magnitude(statistics: Found) -> Mapping[str, Any]:
    made: dict[str, Any] = {}
    for score in SCORES:
        value, low, high = (statistics.get(f"{score}_{end}", "method", "standard") for end in ("rho", "low", "high"))
        made[score] = Fact(value, low, high)
        fake = [statistics.get(f"{score}_{end}", "method", "standard") for end in ("chance", "fake_low", "fake_high")]
        made[f"{score}_fakes"], made[f"{score}_fake_spread"] = fake[0], Fact(*fake)
        made[f"{score}_p"] = statistics.get(f"{score}_p", "method", "standard")
    groups = statistics.build("group")
    return made | {"targets": len(groups), "above_chance": (groups.p_adj <= 0.05).sum()}


def _size(statistics: Found) -> Mapping[str, Any]:
    few, many = (statistics.get("coherence", "size", n) for n in ("10", "400"))
    pairs = [statistics.get("unbiased", "size", n) for n in ("10", "400")]
    return {
        "size": rank_correlation(statistics.get("rho", "confound", "coherence and n"), len(screens.TARGETS)),
        "size_alone": few - many,
        "few_cells": few,
        "many_cells": many,
        "pairwise_size_alone": pairs[0] - pairs[1],
        "size_of_fakes": statistics.get("chance", "confound", "coherence and n"),
    }


def _methods(statistics: Found) -> Mapping[str, Any]:
    methods = statistics.build("method").reindex(["standard", "whitened", "knn"])
    parts = statistics.build("components")
    plain = parts[parts.index.str.startswith("coherence")] if len(parts) else None
    made: dict[str, Any] = {
        "lowest_method": methods.coherence_rho.min(skipna=False),
        "largest_fake_of_methods": methods.coherence_chance.max(skipna=False),
        "pairwise_fake_of_knn": statistics.get("unbiased_chance", "method", "knn"),
        **{f"fakes, {name}": value for name, value in methods.coherence_chance.items()},
    }
    if plain is not None:
        made |= {
            **{"components_lowest": plain.rho.min(), "components_highest": plain.rho.max()},
            **{"components_fake_lowest": plain.chance.min(), "components_fake_highest": plain.chance.max()},
            **{"ranks_of_scores": plain.rank_score.min(), "ranks_of_magnitudes": plain.rank_magnitude.min()},
            "ranks": plain[["rank_score", "rank_magnitude"]].min().min(),
        }
    return made


def _models(statistics: Found) -> Mapping[str, Any]:
    made: dict[str, Any] = {}
    for name in ("magnitude", "log_n"):
        for of in ("beta", "fake"):
            made[f"{name}_{of}"] = statistics.get(f"{name}_{of}", "mixed", "coherence, centred", BOTH)
    return {
        **made,
        "slopes": abs(made["magnitude_beta"] / made["log_n_beta"]),
        "between": statistics.get("between", "mixed", "coherence, as it is", BOTH),
        "between_centred": statistics.get("between", "mixed", "coherence, centred", BOTH),
        "pooled": statistics.get("rho", "pooled", "coherence, both", BOTH),
        "pooled_fakes": statistics.get("chance", "pooled", "coherence, both", BOTH),
        "pooled_pairwise": statistics.get("rho", "pooled", "unbiased, both", BOTH),
        "pooled_pairwise_fakes": statistics.get("chance", "pooled", "unbiased, both", BOTH),
        "pooled_beyond_fakes": statistics.get("rho", "pooled", "unbiased, both", BOTH)
        - statistics.get("fake_high", "pooled", "unbiased, both", BOTH),
    }


def _gaussian(found: Found) -> Mapping[str, Any]:
    fake = [found.get(name, "given", "coherence given snr") for name in ("chance", "fake_low", "fake_high")]
    gaussian = found.build("null model", GAUSSIAN)
    made: dict[str, Any] = {"given_snr_fakes": Fact(*fake), "given_snr_beyond": 0.176 - fake[2]}
    if len(gaussian):
        made |= {"gaussian_snr": gaussian.snr_rho.min(), "gaussian_shifts": gaussian.within_noise.min()}
    return made


def _discordance(statistics: Found) -> Mapping[str, Any]:
    low, high = (statistics.get(name, "left out", "coherence") for name in ("rho_low", "rho_high"))
    made: dict[str, Any] = {
        "seeds": statistics.get("rank_score", "seeds", "all cells"),
        "seeds_of_cells": statistics.get("rank_score", "seeds", "80 % of the cells"),
        **{"left_out_lowest": low, "left_out_highest": high, "left_out_range": high - low},
    }
    if statistics.has("quartiles"):
        tables: dict[str, Any] = {score: statistics.build("quartiles").loc[score] for score in SCORES}
        names = ("sd_score_ratio", "sd_magnitude_ratio", "sd_score_fake", "sd_magnitude_fake")
        made |= {f"{score}, {name}": float(own[name]) for score, own in tables.items() for name in names}
        far = {score: str(own.far_not_alike) for score, own in tables.items()}
        made |= {f"{score}, far but not alike": value for score, value in far.items()}
        made["far_by_both"] = len(set.intersection(*(set(one.split(", ")) for one in far.values())))
    return made
