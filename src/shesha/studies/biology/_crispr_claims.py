"""Claims of the appendix on perturbations, each judged beside what groups without an effect do."""

from __future__ import annotations

from collections.abc import Iterator

from shesha.studies._checks import AGREES, HOLDS_NOT, NOT_RUN, UNREACHABLE, Check
from shesha.studies.biology._crispr_numbers import AT_HAND, BOTH, GAUSSIAN, PAPER, SCORES, Found


def claim(where: str, what: str, published: str, ours: str, holds: bool | None, why: str = "") -> Check:
    """Judge a claim in words: None where the cells that decide are not there."""
    if holds is None:
        return Check(where, what, published, None, NOT_RUN, "the cells that decide are not in the rows at hand")
    return Check(where, what, published, ours, AGREES if holds else HOLDS_NOT, why)


def claims(found: Found) -> Iterator[Check]:
    """Judge what is said in words, beside what groups without an effect do."""
    yield from _of_magnitude(found)
    yield from _of_size(found)
    yield from _of_models(found)
    yield from _of_discordance(found)


def _of_magnitude(found: Found) -> Iterator[Check]:
    where = f"{PAPER}, 3.4"
    real, fake = (
        found.text("method", "standard", "coherence_"),
        found.text("method", "standard", "coherence_", fake=True),
    )
    pair = found.text("method", "standard", "unbiased_")
    pair_fake = found.text("method", "standard", "unbiased_", fake=True)
    p = found.get("unbiased_p", "method", "standard")
    yield claim(
        where,
        "the larger the shift of a perturbation, the more alike its cells move (Papalexi 2021)",
        "yes",
        f"pairwise score {pair}, fakes of the same sizes {pair_fake}, p = {p:.2g}",
        p <= 0.05 if p == p else None,
        "by the pairwise score, which group size does not move",
    )
    chance = found.get("coherence_chance", "method", "standard")
    yield claim(
        where,
        "a correlation of 0.985 with the mean cosine shows coherent responses (Papalexi 2021)",
        "yes",
        f"{real}; fakes {fake}",
        chance < 0.5 if chance == chance else None,
        "control cells that pose as the targets, in their sizes, have most of it: noise moves both numbers",
    )
    methods = found.of("method")
    complete = {"standard", "whitened", "knn"} <= set(methods.index)
    lowest = methods.coherence_rho.min() if complete else float("nan")
    yield claim(
        f"{PAPER}, Table 63",
        "all correlations above 0.74, by all three methods (Papalexi 2021)",
        "> 0.74",
        f"at least {lowest:.3f}",
        lowest > 0.74 if complete else None,
    )
    fakes = ", ".join(f"{value:.2f}" for value in methods.coherence_chance)
    yield claim(
        f"{PAPER}, 12.9",
        "three methods that agree rule out an artefact",
        "yes",
        f"fakes have {fakes} by the same methods",
        bool((methods.coherence_chance < 0.5).all()) if complete else None,
        "all three share the artefact of group size; with neighbours as controls even the pairwise score has "
        f"{found.get('unbiased_chance', 'method', 'knn'):.2f} among fakes",
    )
    parts = found.of("components")
    plain = parts[parts.index.str.startswith("coherence")] if len(parts) else parts
    spread = f"{plain.rho.min():.3f} to {plain.rho.max():.3f}" if len(plain) else ""
    yield claim(
        f"{PAPER}, 12.14.1",
        "10 to 100 components give strong correlations, no number is special (stand-in: Papalexi 2021)",
        "yes",
        f"{spread}; fakes {plain.chance.min():.2f} to {plain.chance.max():.2f}" if len(plain) else "",
        bool(plain.rho.min() > 0.67) if len(plain) else None,
    )
    ranks = f"{plain.rank_score.min():.3f}, {plain.rank_magnitude.min():.3f}" if len(plain) else ""
    yield claim(
        f"{PAPER}, 12.14.1",
        "targets rank alike in 10 to 100 components, by stability and magnitude (stand-in: Papalexi 2021)",
        "> 0.87",
        f"at least {ranks} (with 50)",
        bool(plain[["rank_score", "rank_magnitude"]].min().min() > 0.87) if len(plain) else None,
    )


def _of_size(found: Found) -> Iterator[Check]:
    few, many = (found.get("coherence", "size", n) for n in ("10", "400"))
    yield claim(
        f"{PAPER}, 3.4",
        "stability is insensitive to sample size (rho about 0)",
        "yes",
        f"unmoved cells: {few:.2f} in groups of 10, {many:.2f} in groups of 400",
        few < 1.5 * many if few == few and many == many else None,
        "the mean cosine of n unmoved cells is about that of isotropic noise; a correlation over targets hides it "
        "behind strong effects",
    )
    fake = found.get("chance", "confound", "coherence and n")
    yield claim(
        f"{PAPER}, 12.8",
        "the pooled rho(cells, stability) of -0.65 is of the data sets, no confound within one",
        "yes",
        f"fakes of one data set: {fake:.2f}",
        abs(fake) < 0.2 if fake == fake else None,
        "within one data set groups without an effect have as much; the paper's own Dixit has -0.63",
    )


def _of_models(found: Found) -> Iterator[Check]:
    model = found.of("mixed", BOTH)
    ours = model.loc["coherence, centred"] if len(model) else None
    ratio = abs(ours.magnitude_beta / ours.log_n_beta) if ours is not None else float("nan")
    yield claim(
        f"{PAPER}, 12.11",
        "magnitude predicts stability at least four times as strongly as size (stand-in: Papalexi and Kang)",
        "4.0",
        ""
        if ours is None
        else f"{ratio:.1f} (betas {ours.magnitude_beta:.3f}, {ours.log_n_beta:.3f}; fakes {ours.magnitude_fake:.3f}, "
        f"{ours.log_n_fake:.3f})",
        ratio >= 4.0 - 0.05 if ours is not None else None,
        ""
        if ours is not None and ratio >= 3.95
        else "magnitude is the larger slope here too; its ratio to that of size hangs on how strong the effects are",
    )
    free = found.get("between", "mixed", "coherence, as it is", BOTH)
    within = found.get("between", "mixed", "coherence, centred", BOTH)
    yield claim(
        f"{PAPER}, 12.11",
        "the random effect of the data set is negligible (variance 0, intercept 0.000)",
        "0.000",
        f"{within:.3f} with the response centred within data sets, {free:.3f} as it is",
        free < 0.01 if free == free else None,
        "mean stabilities of 0.18 to 0.51 (Table 61) with an intercept of 0.000 can only come from a centred response, "
        "which leaves nothing between data sets to find",
    )
    pooled, alone = found.of("pooled", BOTH), "unbiased, both"
    value, low = (found.get(name, "pooled", alone, BOTH) for name in ("rho", "fake_high"))
    yield claim(
        f"{PAPER}, 12.12",
        "z-scored within data sets, magnitude and stability correlate over data sets (stand-in: Papalexi and Kang)",
        "0.913",
        ""
        if not len(pooled)
        else f"{found.get('rho', 'pooled', 'coherence, both', BOTH):.3f} (fakes "
        f"{found.get('chance', 'pooled', 'coherence, both', BOTH):.2f}); pairwise {value:.3f} (fakes "
        f"{found.get('chance', 'pooled', alone, BOTH):.2f})",
        value > low if value == value else None,
    )
    chance, below, above = (
        found.get(name, "given", "coherence given snr") for name in ("chance", "fake_low", "fake_high")
    )
    yield claim(
        f"{PAPER}, 12.10 and 12.13",
        "partial correlations given SNR unlike those of the Gaussian model show biology beyond SNR (Papalexi: 0.176)",
        "yes",
        f"control cells without any effect: {chance:.2f} [{below:.2f}, {above:.2f}]",
        not below <= 0.176 <= above if chance == chance else None,
        "real cells that nothing was done to spread as widely: what is left given SNR is of cells, not of effects",
    )
    gaussian = found.of("null model", GAUSSIAN)
    if len(gaussian):
        yield claim(
            f"{PAPER}, 12.13",
            "in the Gaussian model stability is almost perfectly predicted by SNR",
            "0.999",
            f"at least {gaussian.snr_rho.min():.4f}",
            bool(gaussian.snr_rho.min() > 0.99),
        )
        yield claim(
            f"{PAPER}, 12.13",
            "in the Gaussian model larger shifts reduce stability",
            "yes",
            f"rho(magnitude, stability) at one level of noise: at least {gaussian.within_noise.min():.2f}",
            bool(gaussian.within_noise.min() < 0),
            "they raise it; over levels of noise the sign follows the mixture of levels and effects",
        )


def _of_discordance(found: Found) -> Iterator[Check]:
    seeds = found.of("seeds")
    yield claim(
        f"{PAPER}, 12.14.2",
        "results are the same for 15 seeds (stand-in: Papalexi 2021)",
        "1.000",
        f"{found.get('rank_score', 'seeds', 'all cells'):.3f}; of 80 % of the cells "
        f"{found.get('rank_score', 'seeds', '80 % of the cells'):.3f} at least",
        bool(found.get("rank_score", "seeds", "all cells") > 0.9995) if len(seeds) else None,
        "nothing in it is random, so that it could not differ",
    )
    low, high = (found.get(name, "left out", "coherence") for name in ("rho_low", "rho_high"))
    yield claim(
        f"{PAPER}, 12.14.3",
        "no single perturbation carries the correlation (stand-in: Papalexi 2021)",
        "at most 0.014",
        f"{low:.3f} to {high:.3f} without one",
        bool(high - low < 0.014) if low == low else None,
    )
    if found.has("quartiles"):
        plain, pairs = (found.of("quartiles").loc[name] for name in SCORES)
        yield claim(
            f"{PAPER}, 12.16.2",
            "the most discordant quarter varies more than the least, not by group size (stand-in: Papalexi 2021)",
            "2.7 and 3.2 times",
            f"{plain.sd_score_ratio:.1f} and {plain.sd_magnitude_ratio:.1f} times; pairwise "
            f"{pairs.sd_score_ratio:.1f} and {pairs.sd_magnitude_ratio:.1f}; fakes {plain.sd_score_fake:.1f} and "
            f"{plain.sd_magnitude_fake:.1f}",
            bool(pairs.sd_score_ratio > 1),
            "groups without an effect show it as well, and the pairwise score turns it round",
        )
        shared = set(plain.far_not_alike.split(", ")) & set(pairs.far_not_alike.split(", "))
        yield claim(
            f"{PAPER}, 12.16",
            "discordance tells pleiotropic regulators from specific ones (stand-in: Papalexi 2021)",
            "yes",
            f"far but not alike: {plain.far_not_alike}; by the pairwise score: {pairs.far_not_alike}",
            bool(shared),
            "no target is among the four by both scores: small groups look alike by the mean cosine",
        )
    for what, said in (
        ("combinatorial perturbations are more stable than single ones", "yes"),
        ("CEBPA combinations move far but not alike, KLF1 combinations alike but not far", "yes"),
        ("median numbers of cells are alike in the four quartiles of discordance", "300 to 400"),
        ("whitening raises Dixit's correlation from 0.746 to 0.965", "yes"),
        ("partial correlations given SNR differ between data sets, in sign too", "-0.86 to 0.63"),
    ):
        yield Check(f"{PAPER}, 12", what, said, None, UNREACHABLE, f"Norman, Adamson and Dixit are {AT_HAND}")
