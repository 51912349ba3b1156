"""Claims of the appendix on perturbations, each judged beside what groups without an effect do."""

from __future__ import annotations

from shesha.studies.published import Answers, claim
from shesha_studies.biology._crispr_numbers import AT_HAND, BOTH, GAUSSIAN, SCORES, Found

MISSING = dict.fromkeys(
    ("combinations", "CEBPA", "medians", "whitening", "signs"), f"Norman, Adamson and Dixit are {AT_HAND}"
)


def claims(found: Found) -> Answers:
    """Judge what is said in words, beside what groups without an effect do."""
    answers: Answers = {}
    answers |= _answer_magnitude(found)
    answers |= _answer_size(found)
    answers |= _answer_models(found)
    answers |= _answer_discordance(found)
    return answers


def _answer_magnitude(found: Found) -> Answers:
    answers: Answers = {}
    real, fake = (
        found.text("method", "standard", "coherence_"),
        found.text("method", "standard", "coherence_", fake=True),
    )
    chance = found.get("coherence_chance", "method", "standard")
    answers["coherent"] = claim(
        chance < 0.5 if chance == chance else None,
        f"{real}; fakes {fake}",
        "control cells that pose as the targets, in their sizes, have most of it: noise moves both numbers",
    )
    methods = found.build("method")
    complete = {"standard", "whitened", "knn"} <= set(methods.index)
    lowest = methods.coherence_rho.min() if complete else float("nan")
    answers["above 0.74"] = claim(lowest > 0.74 if complete else None, f"at least {lowest:.3f}")
    fakes = ", ".join(f"{value:.2f}" for value in methods.coherence_chance)
    answers["three methods"] = claim(
        bool((methods.coherence_chance < 0.5).all()) if complete else None,
        f"fakes have {fakes} by the same methods",
        "all three share the artefact of group size; with neighbours as controls even the pairwise score has "
        f"{found.get('unbiased_chance', 'method', 'knn'):.2f} among fakes",
    )
    parts = found.build("components")
    plain = parts[parts.index.str.startswith("coherence")] if len(parts) else parts
    spread = f"{plain.rho.min():.3f} to {plain.rho.max():.3f}" if len(plain) else ""
    answers["components"] = claim(
        bool(plain.rho.min() > 0.67) if len(plain) else None,
        f"{spread}; fakes {plain.chance.min():.2f} to {plain.chance.max():.2f}" if len(plain) else "",
    )
    ranks = f"{plain.rank_score.min():.3f}, {plain.rank_magnitude.min():.3f}" if len(plain) else ""
    answers["ranks"] = claim(
        bool(plain[["rank_score", "rank_magnitude"]].min().min() > 0.87) if len(plain) else None,
        f"at least {ranks} (with 50)",
    )
    return answers


def _answer_size(found: Found) -> Answers:
    answers: Answers = {}
    fake = found.get("chance", "confound", "coherence and n")
    answers["size within"] = claim(
        abs(fake) < 0.2 if fake == fake else None,
        f"fakes of one data set: {fake:.2f}",
        "within one data set groups without an effect have as much; the paper's own Dixit has -0.63",
    )
    return answers


def _answer_models(found: Found) -> Answers:
    answers: Answers = {}
    model = found.build("mixed", BOTH)
    ours = model.loc["coherence, centred"] if len(model) else None
    ratio = abs(ours.magnitude_beta / ours.log_n_beta) if ours is not None else float("nan")
    answers["slopes"] = claim(
        ratio >= 4.0 - 0.05 if ours is not None else None,
        ""
        if ours is None
        else f"{ratio:.1f} (betas {ours.magnitude_beta:.3f}, {ours.log_n_beta:.3f}; fakes {ours.magnitude_fake:.3f}, "
        f"{ours.log_n_fake:.3f})",
        ""
        if ours is not None and ratio >= 3.95
        else "magnitude is the larger slope here too; its ratio to that of size hangs on how strong the effects are",
    )
    free = found.get("between", "mixed", "coherence, as it is", BOTH)
    within = found.get("between", "mixed", "coherence, centred", BOTH)
    answers["random effect"] = claim(
        free < 0.01 if free == free else None,
        f"{within:.3f} with the response centred within data sets, {free:.3f} as it is",
        "mean stabilities of 0.18 to 0.51 (Table 61) with an intercept of 0.000 can only come from a centred response, "
        "which leaves nothing between data sets to find",
    )
    pooled, alone = found.build("pooled", BOTH), "unbiased, both"
    value, low = (found.get(name, "pooled", alone, BOTH) for name in ("rho", "fake_high"))
    answers["z-scores"] = claim(
        value > low if value == value else None,
        ""
        if not len(pooled)
        else f"{found.get('rho', 'pooled', 'coherence, both', BOTH):.3f} (fakes "
        f"{found.get('chance', 'pooled', 'coherence, both', BOTH):.2f}); pairwise {value:.3f} (fakes "
        f"{found.get('chance', 'pooled', alone, BOTH):.2f})",
    )
    chance, below, above = (
        found.get(name, "given", "coherence given snr") for name in ("chance", "fake_low", "fake_high")
    )
    answers["given snr"] = claim(
        not below <= 0.176 <= above if chance == chance else None,
        f"control cells without any effect: {chance:.2f} [{below:.2f}, {above:.2f}]",
        "real cells that nothing was done to spread as widely: what is left given SNR is of cells, not of effects",
    )
    gaussian = found.build("null model", GAUSSIAN)
    if len(gaussian):
        answers["gaussian snr"] = claim(bool(gaussian.snr_rho.min() > 0.99), f"at least {gaussian.snr_rho.min():.4f}")
        answers["gaussian shifts"] = claim(
            bool(gaussian.within_noise.min() < 0),
            f"rho(magnitude, stability) at one level of noise: at least {gaussian.within_noise.min():.2f}",
            "they raise it; over levels of noise the sign follows the mixture of levels and effects",
        )
    return answers


def _answer_discordance(found: Found) -> Answers:
    answers: Answers = {}
    seeds = found.build("seeds")
    answers["seeds"] = claim(
        bool(found.get("rank_score", "seeds", "all cells") > 0.9995) if len(seeds) else None,
        f"{found.get('rank_score', 'seeds', 'all cells'):.3f}; of 80 % of the cells "
        f"{found.get('rank_score', 'seeds', '80 % of the cells'):.3f} at least",
        note="nothing in it is random, so that it could not differ",
    )
    low, high = (found.get(name, "left out", "coherence") for name in ("rho_low", "rho_high"))
    answers["left out"] = claim(
        bool(high - low < 0.014) if low == low else None, f"{low:.3f} to {high:.3f} without one"
    )
    if found.has("quartiles"):
        plain, pairs = (found.build("quartiles").loc[name] for name in SCORES)
        answers["quartiles"] = claim(
            bool(pairs.sd_score_ratio > 1),
            f"{plain.sd_score_ratio:.1f} and {plain.sd_magnitude_ratio:.1f} times; pairwise "
            f"{pairs.sd_score_ratio:.1f} and {pairs.sd_magnitude_ratio:.1f}; fakes {plain.sd_score_fake:.1f} and "
            f"{plain.sd_magnitude_fake:.1f}",
            "groups without an effect show it as well, and the pairwise score turns it round",
        )
        shared = set(plain.far_not_alike.split(", ")) & set(pairs.far_not_alike.split(", "))
        answers["pleiotropic"] = claim(
            bool(shared),
            f"far but not alike: {plain.far_not_alike}; by the pairwise score: {pairs.far_not_alike}",
            "no target is among the four by both scores: small groups look alike by the mean cosine",
        )
    return answers
