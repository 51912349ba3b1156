"""Facts of the study `distinctness`: correlations of stability with CKA, with bases resampled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shesha.studies.facts import Fact, Facts, as_facts, over_draws
from shesha_studies.distinct._distinct_tables import Findings, related
from shesha_studies.distinct._transformations import KINDS

if TYPE_CHECKING:
    import pandas as pd

    from shesha_studies.resampled import Correlation


def make_facts(found: Findings) -> Facts:
    """Return what decides the claims."""
    parts = (_component_facts(found), _aggregate_facts(found), _kind_facts(found), _levels(found), _model_facts(found))
    return as_facts({name: value for part in parts for name, value in part.items()})


def _component_facts(findings: Findings) -> Mapping[str, Fact]:
    """The split of components on their own axes and on others."""
    parts = findings.distinct[findings.distinct.kind == "PCA"]
    gap = (findings.distinct.stability - findings.distinct.averaged).abs()

    def over_bases(values: pd.Series[float], groups: pd.Series[str]) -> Fact:
        return over_draws(values.groupby(groups).mean())

    return {
        "components": over_bases(parts.stability, parts.group),
        "components_rotated": over_bases(parts.averaged, parts.group),
        "rotation": over_bases(gap, findings.distinct.group),
    }


def _over_groups(one: Correlation) -> Fact:
    return Fact(one.value, one.group_low, one.group_high)


def _aggregate_facts(findings: Findings) -> Mapping[str, Any]:
    """The aggregate, and the domains."""
    aggregate, domains = findings.domains["Aggregate"], {**findings.domains}
    del domains["Aggregate"]
    small = sum(abs(each.value) < 0.3 for each in domains.values())
    return {
        "pooled": _over_groups(aggregate),
        "pooled_value": aggregate.value,
        "configurations": aggregate.n,
        "interval_end": max(-aggregate.group_low, aggregate.group_high),
        "interval_ratio": (aggregate.group_high - aggregate.group_low) / (aggregate.high - aggregate.low),
        "domains": len(domains),
        "small_domains": small,
        "large_domains": len(domains) - small,
        "domains in words": ", ".join(f"{name} {each.value:+.2f}" for name, each in domains.items()),
    }


def _kind_facts(findings: Findings) -> Mapping[str, Any]:
    """By kind of transformation."""
    components = findings.distinct[findings.distinct.kind == "PCA"]
    projected = findings.distinct[findings.distinct.kind == "random projection"]
    means = findings.distinct.groupby("kind")[["stability", "cka"]].mean()
    random, original = means.loc["random projection"], means.loc["original"]
    repeats = findings.rows[findings.rows.kind == "PCA"].repeat
    return {
        **{f"under {kind}": _over_groups(findings.kinds[kind]) for kind in KINDS},
        "components_within": _over_groups(related(components, by=("group",), n_draws=10)),
        "projected": _over_groups(related(projected, by=("variant",), n_draws=10)),
        "projected_within": related(projected, by=("group",), n_draws=10).value,
        **{"projected stability": random.stability, "original stability": original.stability},
        **{"projected cka": random.cka, "original cka": original.cka},
        "more stable": random.stability - original.stability,
        "less similar": original.cka - random.cka,
        "configurations of PCA": len(repeats),
        "repeats": repeats.sum(),
    }


def _levels(findings: Findings) -> Mapping[str, Any]:
    kinds = findings.levels["ranks within bases and kinds", "stability", "cka"]
    raw, corrected = (findings.levels["as published: all pooled", "stability", name] for name in ("cka", "unbiased"))
    others = {measure: one.value for (measure, kind), one in findings.alternatives.items() if kind == "all"}
    made = {
        "within_kinds": _over_groups(kinds),
        "rotated within kinds": _over_groups(findings.levels["ranks within bases and kinds", "averaged", "cka"]),
        "rotated between bases": _over_groups(
            findings.levels["ranks within variants, between bases", "averaged", "cka"]
        ),
        "above chance": findings.levels["as published: all pooled", "stability", "adjusted"].value,
        "biased": raw.value,
        "unbiased": corrected.value,
        "bias": abs(raw.value - corrected.value),
        "explained": findings.explained["kind and CKA"],
    }
    if others:
        made["other measures"] = max(map(abs, others.values()))
        made["other measures in words"] = ", ".join(f"{name} {value:+.2f}" for name, value in others.items())
    return made


def _model_facts(findings: Findings) -> Mapping[str, float]:
    """The mixed model, and what an unchanged base says."""
    mixed, spread = findings.mixed, findings.rows[["stability", "cka"]].std()
    parts = findings.distinct[findings.distinct.kind == "PCA"]
    within = related(parts, by=("group",), n_draws=10, n_group_draws=10)
    base = findings.rows[findings.rows.kind == "original"].cka_of_base
    return {
        "slope": mixed.slope,
        "slope_size": abs(mixed.slope),
        "slope_error": mixed.error,
        "standard slope": mixed.slope * spread.cka / spread.stability,
        "PCA within": within.value,
        "lowest stability": float(findings.rows.stability.min()),
        "lowest cka of base": float(base.min()),
        "unique": 1 - findings.kinds["original"].value ** 2,
        "unique_off": abs(0.1 - findings.kinds["original"].value ** 2),
    }
