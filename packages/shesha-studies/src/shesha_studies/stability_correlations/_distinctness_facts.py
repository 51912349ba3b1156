"""Facts of the study `distinctness`: correlations of stability with CKA, with bases resampled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isnan
from typing import Any

import pandas as pd

from shesha.studies.facts import Fact, Facts, absolute, as_facts, largest, over_draws, resampled_groups
from shesha_studies.stability_correlations._distinctness_statistics import Findings
from shesha_studies.stability_correlations._distinctness_transformations import KINDS


def make_facts(findings: Findings) -> Facts:
    """Return the facts by which the claims are judged."""
    parts = (_component_facts, _aggregate_facts, _kind_facts, _levels, _model_facts)
    return as_facts({name: value for part in parts for name, value in part(findings).items()})


def _component_facts(findings: Findings) -> Mapping[str, Fact]:
    """Facts on the feature split of principal components, on their own axes and on random axes."""
    components = findings.distinct[findings.distinct.kind == "PCA"]
    means = components.assign(rotation=components.averaged - components.stability).groupby("group")
    return {
        "components": over_draws(means.stability.mean()),
        "components_rotated": over_draws(means.averaged.mean()),
        "rotation": over_draws(means["rotation"].mean()),
    }


def _count_beyond(rhos: Iterable[Fact], limit: float) -> Fact:
    """Number of correlations beyond a limit; its limits count those entirely and those possibly beyond."""
    sizes = [(size.value, size.low, size.high) for size in map(absolute, rhos)]
    return Fact(*(sum(size >= limit for size in each) for each in zip(*sizes, strict=True)))


def _aggregate_facts(findings: Findings) -> Mapping[str, Any]:
    """Facts on the aggregate over all rows, and on the domains."""
    rho, rows = findings.correlations["Aggregate"], findings.rows
    large = _count_beyond((domain.fact for domain in findings.domains.values()), 0.3)
    return {
        "pooled": rho.fact,
        "configurations": rho.n,
        "bases": findings.distinct.group.nunique(),
        "bases of full size": rows[rows["size"] != "small"].group.nunique(),
        "median cka": rows.cka.median(),
        "median chance": rows.chance.median(),
        "mean shuffled": findings.distinct.shuffled.mean(),
        "unscored": rows.stability.isna().sum(),
        "interval_ratio": (rho.group_high - rho.group_low) / (rho.high - rho.low),
        "domains": len(findings.domains),
        "small_domains": len(findings.domains) - large.value,
        "large_domains": large,
        "domains in words": _in_words({name: domain.value for name, domain in findings.domains.items()}),
    }


def _in_words(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:+.2f}" for name, value in values.items())


def _kind_facts(findings: Findings) -> Mapping[str, Any]:
    """Facts by kind of transformation."""
    scores = ["stability", "averaged", "cka"]
    means = findings.distinct.groupby("kind")[scores].mean()
    # Mean scores of random projections of a base minus those of its principal components; bases are the units.
    by_base = findings.distinct.groupby(["kind", "group"])[scores].mean()
    gains = by_base.loc["random projection"] - by_base.loc["PCA"]
    of_pca = findings.rows[findings.rows.kind == "PCA"]
    return {
        **{f"under {kind}": findings.correlations[kind].fact for kind in KINDS if kind in findings.correlations},
        "components_within": findings.by_kind["PCA", "group"].fact,
        "projected": findings.by_kind["random projection", "variant"].fact,
        "projected_within": findings.by_kind["random projection", "group"].value,
        "projected stability": means.stability["random projection"],
        "original stability": means.stability["original"],
        "projected cka": means.cka["random projection"],
        "original cka": means.cka["original"],
        "more stable": over_draws(gains.stability),
        "more stable on random axes": over_draws(gains.averaged),
        "less similar": over_draws(gains.cka),
        "components cka": means.cka["PCA"],
        "configurations of PCA": len(of_pca),
        "repeats": of_pca.repeat.sum(),
        "repeats of proteins": of_pca[of_pca.domain == "proteins"].repeat.sum(),
    }


def _levels(findings: Findings) -> Mapping[str, Any]:
    """Facts on correlations within bases by kind, on other levels, and on other measures of similarity."""
    levels, pooled = findings.levels, "as published: all pooled"
    within = {kind: findings.by_kind[kind, "group"].fact for kind in KINDS}
    within = {kind: rho for kind, rho in within.items() if not isnan(rho.value)}
    facts: dict[str, Any] = {
        "kinds": len(within),
        "correlated_kinds": _count_beyond(within.values(), 0.1),
        "kinds in words": ", ".join(f"{rho.value:+.2f} ({kind})" for kind, rho in within.items()),
        "rotated within kinds": levels["ranks within bases and kinds", "averaged", "cka"].fact,
        "rotated between bases": levels["ranks within variants, between bases", "averaged", "cka"].fact,
        "above chance": levels[pooled, "stability", "adjusted"].value,
        "biased": levels[pooled, "stability", "cka"].value,
        "unbiased": levels[pooled, "stability", "unbiased"].value,
        "bias": _bias(findings.distinct),
        "explained": findings.explained_variance,
    }
    others = {measure: rho for (measure, kind), rho in findings.alternatives.items() if kind == "all"}
    if others:
        facts["other measures"] = largest(absolute(rho.fact) for rho in others.values())
        facts["language configurations"] = others["CKA"].n
        facts["other measures in words"] = _in_words({measure: rho.value for measure, rho in others.items()})
    return facts


def _bias(rows: pd.DataFrame) -> Fact:
    """Difference between the correlations with CKA and with unbiased CKA; bases are resampled."""

    def difference(drawn: pd.DataFrame) -> float:
        rhos = drawn[["stability", "cka", "unbiased"]].corr(method="spearman").stability
        return abs(float(rhos.cka - rhos.unbiased))

    return resampled_groups(difference, rows.dropna(subset=["stability", "cka", "unbiased"]), "group", draws=200)


def _model_facts(findings: Findings) -> Mapping[str, Any]:
    """Facts on the mixed model, and on unchanged bases."""
    model, spread = findings.mixed_model, findings.rows[["stability", "cka"]].std()
    slope = Fact(model.slope, model.slope - 1.96 * model.error, model.slope + 1.96 * model.error)
    return {
        "slope": slope,
        "slope_size": absolute(slope),
        "standard slope": model.slope * spread.cka / spread.stability,
        "lowest stability": findings.rows.stability.min(),
        "unique": 1 - findings.correlations["original"].value ** 2,
    }
