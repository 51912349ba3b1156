"""Claims in words about the distinctness of stability and similarity, with the control that decides each."""

from __future__ import annotations

from collections.abc import Callable

from shesha.studies.checks import DIFFERS
from shesha.studies.published import Found, claim
from shesha_studies.distinct._distinct_tables import Findings, related
from shesha_studies.distinct._transformations import KINDS


def _aggregate(found: Findings) -> Found:
    one = found.domains["Aggregate"]
    return claim(
        abs(one.value) < 0.1,
        f"{one.value:+.2f} (bases resampled: {one.group_low:+.2f} to {one.group_high:+.2f})",
        "it is an average over kinds of opposite sign, so the mixture of bases and ranks moves it; it lies within "
        f"{one.group_low:+.2f} to {one.group_high:+.2f} when bases are drawn instead of configurations",
        DIFFERS,
    )


def _interval(found: Findings) -> Found:
    one = found.domains["Aggregate"]
    return claim(
        max(-one.group_low, one.group_high) <= 0.06,
        f"{one.group_low:+.2f} to {one.group_high:+.2f}",
        "transformations of one base are not independent draws: with bases resampled the interval is "
        f"{(one.group_high - one.group_low) / (one.high - one.low):.1f} times as wide as with configurations resampled",
    )


def _domains(found: Findings) -> Found:
    own = {name: one.value for name, one in found.domains.items() if name != "Aggregate"}
    small = sum(abs(value) < 0.3 for value in own.values())
    return claim(
        small >= len(own) - 1,
        f"{small} of {len(own)}",
        "the value of a domain is set by the share of PCA among its configurations and by how stable its bases "
        "are: " + ", ".join(f"{name} {value:+.2f}" for name, value in own.items()),
        DIFFERS,
    )


def _signs(kind: str, sign: int) -> Callable[[Findings], Found]:
    def rule(found: Findings) -> Found:
        one = found.kinds[kind]
        clear = sign * (one.group_low if sign > 0 else one.group_high) > 0
        return claim(clear, one.value, "bases resampled, the interval of the pooled correlation holds 0", DIFFERS)

    return rule


def _components_within(found: Findings) -> Found:
    own = found.distinct[found.distinct.kind == "PCA"]
    one = related(own, by=("group",), n_draws=10)
    return claim(one.group_high < 0, one.value, "the interval with bases resampled holds 0", DIFFERS)


def _double_dissociation(found: Findings) -> Found:
    own = found.distinct.groupby("kind")[["stability", "cka"]].mean()
    random, original = own.loc["random projection"], own.loc["original"]
    return claim(
        bool(random.stability > original.stability and random.cka < original.cka),
        f"stability {random.stability:.2f} (original {original.stability:.2f}), CKA {random.cka:.2f} "
        f"({original.cka:.2f})",
        "both fall with the number of projected features, and Table 15 itself has them correlated by +0.90"
        if random.stability < original.stability and random.cka < original.cka
        else "the two do not part so on these bases, and Table 15 itself has them correlated by +0.90",
        DIFFERS,
    )


def _redundant(found: Findings) -> Found:
    own = found.distinct[found.distinct.kind == "random projection"]
    one = related(own, by=("variant",), n_draws=10)
    within_base = related(own, by=("group",), n_draws=10)
    return claim(
        one.group_low > 0.5,
        one.value,
        f"{within_base.value:+.2f} within bases, where only the number of features differs, but {one.value:+.2f} "
        "between bases at equal width",
        DIFFERS,
    )


def _unique_configurations(found: Findings) -> Found:
    own = found.rows[found.rows.kind == "PCA"]
    return claim(
        bool(own.repeat.sum() == 0),
        f"{int(own.repeat.sum())} of our {len(own)} PCA configurations repeat another",
        "948 configurations of PCA are 12 for each of 79 bases, also for amino acid composition with 20 features and "
        "video "
        "with 100 rows, where min(n, d) - 1 caps them at the same number of components",
    )


def _debiased(found: Findings) -> Found:
    raw, corrected = (found.levels["as published: all pooled", "stability", name] for name in ("cka", "unbiased"))
    same = abs(raw.value - corrected.value) < 0.005
    return claim(
        same,
        f"{raw.value:+.3f} with CKA, {corrected.value:+.3f} unbiased",
        "the two differ on every base, so one set of published numbers cannot be of both",
        DIFFERS,
    )


def _negligible_slope(found: Findings) -> Found:
    one, spread = found.mixed, found.rows[["stability", "cka"]].std()
    components = related(found.distinct[found.distinct.kind == "PCA"], by=("group",), n_draws=10, n_group_draws=10)
    return claim(
        abs(one.slope) <= 0.1 and abs(components.value) < 0.3,
        one.slope,
        "one slope for all kinds averages opposite ones, and an intercept leaves their dependence in: slope "
        f"{one.slope:+.2f} "
        f"+- {one.error:.2f} ({one.slope * spread.cka / spread.stability:+.2f} standard deviations per standard "
        "deviation), "
        "while within PCA alone ranks correlate by "
        f"{components.value:+.2f}",
    )


def _negative_shapes(found: Findings) -> Found:
    lowest = float(found.rows.stability.min())
    return claim(lowest < -0.2, lowest, "no value of ours is as low", DIFFERS)


def _other_measures(found: Findings) -> Found:
    own = {measure: one for (measure, kind), one in found.alternatives.items() if kind == "all"}
    if not own:
        return claim(None, None)
    values = ", ".join(f"{measure} {one.value:+.2f}" for measure, one in own.items())
    why = "layers of one model stand in for four models, and pooled values depend on the mixture of kinds"
    return claim(all(abs(one.value) < 0.3 for one in own.values()), values, why, DIFFERS)


RULES: dict[str, Callable[[Findings], Found]] = {
    "aggregate": _aggregate,
    "interval": _interval,
    "domains": _domains,
    **{f"sign under {kind}": _signs(kind, 1 if kind != "PCA" else -1) for kind in KINDS},
    "components within": _components_within,
    "double dissociation": _double_dissociation,
    "redundant": _redundant,
    "unique configurations": _unique_configurations,
    "debiased": _debiased,
    "negligible slope": _negligible_slope,
    "negative": _negative_shapes,
    "other measures": _other_measures,
}
"""What decides each claim of the published file, by its key."""
