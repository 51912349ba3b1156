"""Claims in words about the distinctness of stability and similarity, with the control that decides each."""

from __future__ import annotations

from collections.abc import Callable

from shesha.studies._checks import AGREES, DIFFERS, HOLDS_NOT, NOT_RUN, Check
from shesha.studies.distinct._distinct_tables import Findings, related
from shesha.studies.distinct._transformations import KINDS


def holds(condition: bool, why: str) -> dict[str, str]:
    """Verdict and reason of a claim about stand-ins."""
    return {"verdict": AGREES if condition else DIFFERS, "why": "" if condition else why}


def _aggregate(found: Findings) -> Check:
    one = found.domains["Aggregate"]
    return Check(
        "Geometric Stability, 2.3",
        "claim: the aggregate correlation is negligible, |rho| < 0.10",
        -0.01,
        f"{one.value:+.2f} (bases resampled: {one.group_low:+.2f} to {one.group_high:+.2f})",
        **holds(
            abs(one.value) < 0.1,
            "it is an average over kinds of opposite sign, so the mixture of bases and ranks moves it; it lies within "
            f"{one.group_low:+.2f} to {one.group_high:+.2f} when bases are drawn instead of configurations",
        ),
    )


def _distinct(found: Findings) -> Check:
    raw = found.levels["ranks within bases and kinds", "stability", "cka"]
    turned = found.levels["ranks within bases and kinds", "averaged", "cka"]
    return Check(
        "Geometric Stability, 2.4",
        "claim: near-zero pooled correlation makes distinctness a fundamental property",
        "distinct",
        turned.value,
        HOLDS_NOT if turned.group_low > 0.3 else AGREES,
        f"with the axes averaged out, stability and CKA correlate by {turned.value:+.2f} within bases and kinds "
        f"(bases resampled: {turned.group_low:+.2f} to {turned.group_high:+.2f}), with the given axes by "
        f"{raw.value:+.2f}; "
        f"kind and CKA together explain {100 * found.explained['kind and CKA']:.0f} % of the ranks of stability "
        "within a "
        f"base, CKA alone {100 * found.explained['CKA']:.0f} %: the pooled number hides a relation that changes sign",
    )


def _interval(found: Findings) -> Check:
    one = found.domains["Aggregate"]
    return Check(
        "Geometric Stability, Table 1",
        "claim: the interval of the aggregate lies within +-0.06 and shows independence",
        "-0.06 to +0.03",
        f"{one.group_low:+.2f} to {one.group_high:+.2f}",
        AGREES if max(-one.group_low, one.group_high) <= 0.06 else HOLDS_NOT,
        "transformations of one base are not independent draws: with bases resampled the interval is "
        f"{(one.group_high - one.group_low) / (one.high - one.low):.1f} times as wide as with configurations resampled",
    )


def _domains(found: Findings) -> Check:
    own = {name: one.value for name, one in found.domains.items() if name != "Aggregate"}
    small = sum(abs(value) < 0.3 for value in own.values())
    return Check(
        "Geometric Stability, 7.6.2",
        "claim: domains are distinct, |rho| < 0.30 in six of seven",
        "6 of 7",
        f"{small} of {len(own)}",
        **holds(
            small >= len(own) - 1,
            "the value of a domain is set by the share of PCA among its configurations and by how stable its bases "
            "are: " + ", ".join(f"{name} {value:+.2f}" for name, value in own.items()),
        ),
    )


def _signs(kind: str, sign: int, where: str, what: str) -> Callable[[Findings], Check]:
    def claim(found: Findings) -> Check:
        one = found.kinds[kind]
        clear = sign * (one.group_low if sign > 0 else one.group_high) > 0
        value = "positive" if sign > 0 else "negative"
        return Check(
            where,
            what,
            value,
            one.value,
            **holds(clear, "bases resampled, the interval of the pooled correlation holds 0"),
        )

    return claim


def _components_within(found: Findings) -> Check:
    own = found.distinct[found.distinct.kind == "PCA"]
    one = related(own, by=("group",), n_draws=10)
    return Check(
        "Geometric Stability, 2.4",
        "claim: under PCA similarity and stability move apart (within bases)",
        "negative",
        one.value,
        **holds(one.group_high < 0, "the interval with bases resampled holds 0"),
    )


def _destroyed(found: Findings) -> Check:
    own = found.distinct[found.distinct.kind == "PCA"]
    one = related(own, "averaged", by=("group",), n_draws=10)
    return Check(
        "Geometric Stability, 7.6.3",
        "claim: PCA destroys fine-grained manifold structure, which lowers stability and leaves CKA high",
        "structure lost",
        f"{own.stability.mean():.2f} on the components, {own.averaged.mean():.2f} rotated",
        HOLDS_NOT if own.averaged.mean() > own.stability.mean() + 0.2 else AGREES,
        "principal components are uncorrelated by construction, so halves of them share nothing whatever the "
        "structure: a "
        "random rotation of the same components, with the same distances and the same CKA, has "
        f"{own.averaged.mean():.2f} "
        f"instead of {own.stability.mean():.2f} on average, and correlates with CKA by {one.value:+.2f} within bases; "
        "keeping more components, which loses less, lowers the feature split further",
    )


def _formally_distinct(found: Findings) -> Check:
    own = found.distinct
    gap = (own.stability - own.averaged).abs()
    return Check(
        "Geometric Stability (journal), Results",
        "claim: stability sees how geometry lies on the axes, which CKA cannot see (formal distinctness)",
        "not invariant to rotation",
        f"a rotation, which leaves CKA as it is, moves stability by {gap.mean():.2f} on average, {gap.max():.2f} at "
        "most",
        **holds(bool(gap.mean() > 0.02), "rotations leave stability as it is"),
    )


def _double_dissociation(found: Findings) -> Check:
    own = found.distinct.groupby("kind")[["stability", "cka"]].mean()
    random, original = own.loc["random projection"], own.loc["original"]
    return Check(
        "Geometric Stability, Figure 8",
        "claim: random projection gives high stability and low similarity (double dissociation)",
        "stability up, similarity down",
        f"stability {random.stability:.2f} (original {original.stability:.2f}), CKA {random.cka:.2f} "
        f"({original.cka:.2f})",
        **holds(
            bool(random.stability > original.stability and random.cka < original.cka),
            "both fall with the number of projected features, and Table 15 itself has them correlated by +0.90"
            if random.stability < original.stability and random.cka < original.cka
            else "the two do not part so on these bases, and Table 15 itself has them correlated by +0.90",
        ),
    )


def _redundant(found: Findings) -> Check:
    own = found.distinct[found.distinct.kind == "random projection"]
    one = related(own, by=("variant",), n_draws=10)
    within_base = related(own, by=("group",), n_draws=10)
    return Check(
        "Geometric Stability, 2.4",
        "claim: under random projection the two are redundant",
        0.90,
        one.value,
        **holds(
            one.group_low > 0.5,
            f"{within_base.value:+.2f} within bases, where only the number of features differs, but {one.value:+.2f} "
            "between bases at equal width",
        ),
    )


def _unique_configurations(found: Findings) -> Check:
    own = found.rows[found.rows.kind == "PCA"]
    return Check(
        "Geometric Stability, 7.4",
        "claim: 2,463 unique encoder configurations",
        2463,
        f"{int(own.repeat.sum())} of our {len(own)} PCA configurations repeat another",
        HOLDS_NOT,
        "948 configurations of PCA are 12 for each of 79 bases, also for amino acid composition with 20 features and "
        "video "
        "with 100 rows, where min(n, d) - 1 caps them at the same number of components",
    )


def _debiased(found: Findings) -> Check:
    raw, corrected = (found.levels["as published: all pooled", "stability", name] for name in ("cka", "unbiased"))
    same = abs(raw.value - corrected.value) < 0.005
    return Check(
        "Geometric Stability (journal), B.1",
        "claim: the numbers are those of debiased CKA (the long version has the same numbers with standard CKA)",
        "the same numbers",
        f"{raw.value:+.3f} with CKA, {corrected.value:+.3f} unbiased",
        **holds(same, "the two differ on every base, so one set of published numbers cannot be of both"),
    )


def _negligible_slope(found: Findings) -> Check:
    one, spread = found.mixed, found.rows[["stability", "cka"]].std()
    components = related(found.distinct[found.distinct.kind == "PCA"], by=("group",), n_draws=10, n_group_draws=10)
    return Check(
        "Geometric Stability, 2.4",
        "claim: an intercept per base controls for dependent configurations, and the slope stays negligible",
        0.10,
        one.slope,
        HOLDS_NOT if components.value < -0.5 else AGREES,
        "one slope for all kinds averages opposite ones, and an intercept leaves their dependence in: slope "
        f"{one.slope:+.2f} "
        f"+- {one.error:.2f} ({one.slope * spread.cka / spread.stability:+.2f} standard deviations per standard "
        "deviation), "
        "while within PCA alone ranks correlate by "
        f"{components.value:+.2f}",
    )


def _negative_shapes(found: Findings) -> Check:
    lowest = float(found.rows.stability.min())
    return Check(
        "Geometric Stability, Table 17",
        "claim: stability reaches clearly negative values",
        -0.38,
        lowest,
        **holds(lowest < -0.2, "no value of ours is as low"),
    )


def _other_measures(found: Findings) -> Check:
    own = {measure: one for (measure, kind), one in found.alternatives.items() if kind == "all"}
    if not own:
        return Check("Geometric Stability, 7.8", _OTHER, "|rho| < 0.30", None, NOT_RUN, "no row of the language domain")
    values = ", ".join(f"{measure} {one.value:+.2f}" for measure, one in own.items())
    why = "layers of one model stand in for four models, and pooled values depend on the mixture of kinds"
    return Check(
        "Geometric Stability, 7.8",
        _OTHER,
        "|rho| < 0.30",
        values,
        **holds(all(abs(one.value) < 0.3 for one in own.values()), why),
    )


_OTHER = "claim: all three measures correlate weakly with stability in the language domain"
_KINDS_WITH_SIGN = {kind: (1 if kind != "PCA" else -1) for kind in KINDS}
CLAIMS: tuple[Callable[[Findings], Check], ...] = (
    _distinct,
    _aggregate,
    _interval,
    _domains,
    *(
        _signs(kind, sign, "Geometric Stability, Table 15", f"claim: the sign of the correlation under {kind}")
        for kind, sign in _KINDS_WITH_SIGN.items()
    ),
    _components_within,
    _destroyed,
    _formally_distinct,
    _double_dissociation,
    _redundant,
    _unique_configurations,
    _debiased,
    _negligible_slope,
    _negative_shapes,
    _other_measures,
)
