"""Facts, tables and picture of the study `distinctness`: correlations of stability with CKA, with bases resampled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isnan
from typing import Any

import pandas as pd

from shesha_studies.framework.checks import DATA, Found
from shesha_studies.framework.facts import Fact, Facts, absolute, as_facts, largest, over_draws, resampled_groups
from shesha_studies.framework.page import Page
from shesha_studies.framework.published_checks import Answers, unjudged_answers
from shesha_studies.framework.tolerance import interval_error
from shesha_studies.printed_p_values import printed_p_values
from shesha_studies.stability_correlations._bootstrap_correlations import Correlation
from shesha_studies.stability_correlations._distinctness_representations import (
    KINDS,
    SEEDS,
    is_repeat,
    transformation_kind,
    variants,
)
from shesha_studies.stability_correlations._distinctness_statistics import DOMAINS, Findings, score_correlation


def make_facts(findings: Findings) -> Facts:
    """Return the facts by which the claims are judged."""
    parts = (_aggregate_facts, _kind_facts, _levels, _model_facts)
    return as_facts({name: value for part in parts for name, value in part(findings).items()})


def _count_beyond(rhos: Iterable[Fact], limit: float) -> Fact:
    """Number of correlations beyond a limit; its limits count those entirely and those possibly beyond."""
    sizes = [(size.value, size.low, size.high) for size in map(absolute, rhos)]
    return Fact(*(sum(size >= limit for size in each) for each in zip(*sizes, strict=True)))


def _aggregate_facts(findings: Findings) -> Mapping[str, Any]:
    """Facts on the aggregate over all rows, and on the domains."""
    rho = findings.correlations["Aggregate"]
    domains = {name: findings.correlations[name].wide_fact for name in DOMAINS if name in findings.correlations}
    large = _count_beyond(domains.values(), 0.3)
    return {
        "pooled": rho.fact,
        "configurations": rho.n,
        "bases": findings.distinct.group.nunique(),
        "interval_ratio": (rho.group_high - rho.group_low) / (rho.high - rho.low),
        "domains": len(domains),
        "small_domains": len(domains) - large.value,
        "large_domains": large,
        "domains in words": _in_words(domains),
    }


def _in_words(values: Mapping[str, float | Fact]) -> str:
    return ", ".join(f"{name} {value:+.2f}" for name, value in values.items())


def _kind_facts(findings: Findings) -> Mapping[str, Any]:
    """Facts by kind of transformation."""
    scores = ["stability", "averaged", "cka"]
    means = findings.distinct.groupby("kind")[scores].mean()
    # Mean scores of random projections of a base minus those of its principal components; bases are the units.
    by_base = findings.distinct.groupby(["kind", "group"])[scores].mean()
    of_components = by_base.loc["PCA"]
    gains = by_base.loc["random projection"] - of_components
    components = findings.distinct[findings.distinct.kind == "PCA"]
    by_number = components.groupby("variant").stability.mean()
    return {
        **{f"under {kind}": findings.correlations[kind].fact for kind in KINDS},
        "components_within": findings.by_kind["PCA", "group"].fact,
        "components_within_rotated": score_correlation(components, "averaged", by=["group"], n_draws=10).fact,
        "components": over_draws(of_components.stability),
        "components_rotated": over_draws(of_components.averaged),
        "rotation": over_draws(of_components.averaged - of_components.stability),
        "components lowest": by_number.min(),
        "components highest": by_number.max(),
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
        "repeats": sum(is_repeat(variant, *_AMINO_ACIDS) for variant in variants(_AMINO_ACIDS[1])),
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
        **_bias(findings.distinct),
        "explained": findings.explained_variance,
    }
    others = {measure: rho for (measure, kind), rho in findings.alternatives.items() if kind == "all"}
    if others:
        facts["other measures"] = largest(absolute(rho.wide_fact) for rho in others.values())
        facts["language configurations"] = others["CKA"].n
        facts["other measures in words"] = _in_words({measure: rho.value for measure, rho in others.items()})
    return facts


def _bias(rows: pd.DataFrame) -> Mapping[str, Any]:
    """Correlations with CKA and with unbiased CKA over the same rows, and their difference; bases are resampled."""
    scores = ["stability", "cka", "unbiased"]
    rows = rows.dropna(subset=scores)

    def difference(drawn: pd.DataFrame) -> float:
        rhos = drawn[scores].corr(method="spearman").stability
        return abs(float(rhos.cka - rhos.unbiased))

    rhos = rows[scores].corr(method="spearman").stability
    bias = resampled_groups(difference, rows, "group", draws=200)
    return {"biased": rhos.cka, "unbiased": rhos.unbiased, "bias_rows": len(rows), "bias": bias}


def _model_facts(findings: Findings) -> Mapping[str, Any]:
    """Facts on the mixed model, and on unchanged bases."""
    original = absolute(findings.correlations["original"].fact)
    (slope, _), spread = findings.mixed_model, findings.rows[["stability", "cka"]].std()
    return {
        "slope": slope,
        "slope_size": absolute(slope),
        "standard slope": slope.value * spread.cka / spread.stability,
        "unique": Fact(1 - original.value**2, 1 - original.high**2, 1 - original.low**2),
    }


_PUBLISHED_WIDTHS = {
    "Language": (384, 768, 768, 768),
    "Vision": (768, 768, 768, 2048),
    "Audio": (768, 768),
    "Video": (768, 768, 768, 768),
}
_N_BASES = 79
_AMINO_ACIDS = (200, 20)
"""Published numbers of sequences and of features of the base with the fewest features, amino acid composition."""
_PUBLISHED_AGGREGATE = -0.01
"""Published correlation over all configurations, from which the shared variance follows."""
_OF_EVERY_WIDTH = ("PCA", "random projection", "noise", "normalisation", "original")
"""Kinds whose number of transformations does not depend on the number of features."""


def make_page(findings: Findings, published: pd.DataFrame) -> Page:
    """Return our answers to the published lines."""
    answers = published_numbers(findings) | printed_p_values(published)
    return Page(answers=answers)


def published_numbers(findings: Findings) -> Answers:
    """Return our values by "row: number", and those of other tables by "table | row: number"."""
    answers = _counts() | unjudged_answers(_distributions(findings.rows))
    for name, rho in findings.correlations.items():
        answers |= _correlation(name, rho)
    for (measure, kind), rho in findings.alternatives.items():
        answers |= _correlation(measure if kind == "all" else f"{measure} {kind}", rho)
    slope, shared = findings.mixed_model
    slopes = {"beta": slope.value, "low": slope.low, "high": slope.high, "icc": shared}
    answers["Aggregate: r squared"] = Found(_PUBLISHED_AGGREGATE**2)
    return answers | unjudged_answers({f"Mixed model: {number}": value for number, value in slopes.items()})


def _correlation(name: str, rho: Correlation) -> Answers:
    """Values of one correlation; only those of proteins and recordings, which follow the paper, are judged."""
    values = {"rho": rho.value, "low": rho.low, "high": rho.high, "p": rho.p, "r squared": rho.value**2}
    answers = unjudged_answers({f"{name}: {number}": value for number, value in values.items()})
    if name.startswith("Protein") or name == "Neuroscience":
        # Six and nine bases are few, so the error is the larger one of both bootstraps.
        error = max(rho.group_error, interval_error(rho.low, rho.high))
        answers[f"{name}: rho"] = Found(rho.value, error, basis=DATA if name == "Neuroscience" else "")
    return answers


def _counts() -> Answers:
    """Counts that follow from the transformations of Table 14 and the widths of the published models."""
    counts = {name: sum(len(variants(d)) for d in widths) for name, widths in _PUBLISHED_WIDTHS.items()}
    total = sum(counts.values())
    kinds = [transformation_kind(variant) for variant in variants(768)]
    counts |= {kind: _N_BASES * kinds.count(kind) for kind in _OF_EVERY_WIDTH}
    counts |= {"Machine learning": total, "Only transformer domains": total, "Seeds": len(SEEDS)}
    return {f"{name}: N": Found(float(count)) for name, count in counts.items()}


def _distributions(rows: pd.DataFrame) -> dict[str, float | str | None]:
    """Distributions of both scores, as in Table 17."""
    names = {"std": "sd", "25%": "quartile 1", "50%": "median", "75%": "quartile 3"}
    return {
        f"Table 17 | {score}: {names.get(str(number), number)}": value
        for score, values in (("stability", rows.stability), ("CKA", rows.cka))
        for number, value in values.describe().items()
    }
