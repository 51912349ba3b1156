"""Facts of the study on perturbations: every correlation compared with what control cells that pose as targets have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from shesha.studies.facts import Fact, Facts, absolute, as_facts, largest, rank_correlation, smallest
from shesha_studies.biology import _screens as screens
from shesha_studies.biology._crispr_checks import BOTH, GAUSSIAN, SCORES, Found


def make_facts(found: Found) -> Facts:
    """Return what decides the claims."""
    parts = (_magnitude, _size, _methods, _models, _gaussian, _discordance)
    return as_facts({name: value for part in parts for name, value in part(found).items()})


def _magnitude(found: Found) -> Mapping[str, Any]:
    made: dict[str, Any] = {}
    for score in SCORES:
        value, low, high = (found.get(f"{score}_{end}", "method", "standard") for end in ("rho", "low", "high"))
        made[score] = Fact(value, low, high)
        fake = [found.get(f"{score}_{end}", "method", "standard") for end in ("chance", "fake_low", "fake_high")]
        made[f"{score}_fakes"], made[f"{score}_fake_spread"] = fake[0], Fact(*fake)
        made[f"{score}_p"] = found.get(f"{score}_p", "method", "standard")
    groups = found.build("group")
    return made | {
        "targets": len(groups),
        "above_chance": (groups.p_adj <= 0.05).sum(),
        "above_guides": (groups.guides_low > 0).sum(),
    }


def _size(found: Found) -> Mapping[str, Any]:
    few, many = (Fact(*(found.get(name, "size", n) for name in ("coherence", "low", "high"))) for n in ("10", "400"))
    fake = [found.get(name, "confound", "coherence and n") for name in ("chance", "fake_low", "fake_high")]
    pairs = [found.get("unbiased", "size", n) for n in ("10", "400")]
    return {
        "size": rank_correlation(found.get("rho", "confound", "coherence and n"), len(screens.TARGETS)),
        "size_alone": Fact(few.value - many.value, few.low - many.high, few.high - many.low),
        "few_cells": few.value,
        "many_cells": many.value,
        "pairwise_size_alone": pairs[0] - pairs[1],
        "size_of_fakes": Fact(*fake),
    }


def _methods(found: Found) -> Mapping[str, Any]:
    methods = found.build("method").reindex(["standard", "whitened", "knn"])
    parts = found.build("components")
    plain = parts[parts.index.str.startswith("coherence")] if len(parts) else None
    made: dict[str, Any] = {
        "lowest_method": smallest(_each(methods, *(f"coherence_{end}" for end in ("rho", "low", "high")))),
        "largest_fake_of_methods": largest(
            _each(methods, *(f"coherence_{end}" for end in ("chance", "fake_low", "fake_high")))
        ),
        "methods_p": methods.coherence_p.max(),
        "pairwise_fake_of_knn": found.get("unbiased_chance", "method", "knn"),
        **{f"fakes, {name}": value for name, value in methods.coherence_chance.items()},
    }
    if plain is not None:
        made |= {
            "components_lowest": smallest(_each(plain, "rho", "rho_low", "rho_high")),
            **{"components_highest": plain.rho.max(), "components_p": plain.fake_p.max()},
            **{"components_fake_lowest": plain.chance.min(), "components_fake_highest": plain.chance.max()},
            **{"ranks_of_scores": plain.rank_score.min(), "ranks_of_magnitudes": plain.rank_magnitude.min()},
            "ranks": rank_correlation(plain[["rank_score", "rank_magnitude"]].min().min(), len(screens.TARGETS)),
        }
    return made


def _each(methods: Any, *names: str) -> list[Fact]:
    """Numbers of the methods, each with its limits."""
    return [Fact(*(float(one[name]) for name in names)) for _, one in methods.iterrows()]


def _beyond_fakes(found: Found) -> Fact:
    """Distance of the pooled correlation of the pairwise score from the upper limit of control cells."""
    ends = [found.get(name, "pooled", "unbiased, both", BOTH) for name in ("rho", "rho_low", "rho_high")]
    limit = found.get("fake_high", "pooled", "unbiased, both", BOTH)
    return Fact(*(one - limit for one in ends))


def _slopes(found: Found) -> Fact:
    """How many times as steep magnitude is as size; the limits combine the ends of both intervals."""
    parts = [
        [found.get(f"{name}_{end}", "mixed", "coherence, centred", BOTH) for end in ("beta", "low", "high")]
        for name in ("magnitude", "log_n")
    ]
    steep, flat = (absolute(Fact(*one)) for one in parts)
    return Fact(steep.value / flat.value, steep.low / flat.high, steep.high / flat.low if flat.low else math.inf)


def _models(found: Found) -> Mapping[str, Any]:
    made: dict[str, Any] = {}
    for name in ("magnitude", "log_n"):
        for of in ("beta", "fake"):
            made[f"{name}_{of}"] = found.get(f"{name}_{of}", "mixed", "coherence, centred", BOTH)
    slopes, null = _slopes(found), made["magnitude_fake"] / made["log_n_fake"]
    return {
        **made,
        "slopes": slopes,
        "slopes_null": null,
        "slopes_beyond_null": Fact(*(one - null for one in (slopes.value, slopes.low, slopes.high))),
        "between": found.get("between", "mixed", "coherence, as it is", BOTH),
        "between_centred": found.get("between", "mixed", "coherence, centred", BOTH),
        "pooled": found.get("rho", "pooled", "coherence, both", BOTH),
        "pooled_fakes": found.get("chance", "pooled", "coherence, both", BOTH),
        "pooled_pairwise": found.get("rho", "pooled", "unbiased, both", BOTH),
        "pooled_pairwise_fakes": found.get("chance", "pooled", "unbiased, both", BOTH),
        "pooled_beyond_fakes": _beyond_fakes(found),
    }


def _gaussian(found: Found) -> Mapping[str, Any]:
    fake = [found.get(name, "given", "coherence given snr") for name in ("chance", "fake_low", "fake_high")]
    gaussian = found.build("null model", GAUSSIAN)
    made: dict[str, Any] = {"given_snr_fakes": Fact(*fake), "given_snr_beyond": 0.176 - fake[2]}
    if len(gaussian):
        made |= {"gaussian_snr": gaussian.snr_rho.min(), "gaussian_shifts": gaussian.within_noise.min()}
    return made


def _ratio_of_spreads(ratio: float, n: int) -> Fact:
    """Ratio of the standard deviations of two groups of n, with the limits of the F test."""
    from scipy.stats import f

    reach = float(f.ppf(0.975, n - 1, n - 1)) ** 0.5
    return Fact(ratio, ratio / reach, ratio * reach)


def _discordance(found: Found) -> Mapping[str, Any]:
    low, high = (found.get(name, "left out", "coherence") for name in ("rho_low", "rho_high"))
    made: dict[str, Any] = {
        "seeds": found.get("rank_score", "seeds", "all cells"),
        "seeds_of_cells": found.get("rank_score", "seeds", "80 % of the cells"),
        **{"left_out_lowest": low, "left_out_highest": high, "left_out_range": high - low},
    }
    if found.has("quartiles"):
        tables: dict[str, Any] = {score: found.build("quartiles").loc[score] for score in SCORES}
        names = ("sd_score_ratio", "sd_magnitude_ratio", "sd_score_fake", "sd_magnitude_fake")
        quarter = len(found.build("group")) // 4
        made |= {
            f"{score}, {name}": _ratio_of_spreads(float(own[name]), quarter) if "ratio" in name else float(own[name])
            for score, own in tables.items()
            for name in names
        }
        far = {score: str(own.far_not_alike) for score, own in tables.items()}
        made |= {f"{score}, far but not alike": value for score, value in far.items()}
        made["far_by_both"] = len(set.intersection(*(set(one.split(", ")) for one in far.values())))
    return made
