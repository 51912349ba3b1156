"""Facts of the study `distinctness`: correlations of stability with CKA, with bases resampled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from shesha.studies.facts import Fact, Facts, absolute, as_facts, largest, over_draws, resampled_groups
from shesha_studies.stability_correlations._distinctness_statistics import Findings, score_correlation
from shesha_studies.stability_correlations._distinctness_transformations import KINDS

if TYPE_CHECKING:
    from shesha_studies.stability_correlations._bootstrap_correlations import Correlation


def make_facts(found: Findings) -> Facts:
    """Return the facts by which the claims are judged."""
    parts = (_component_facts(found), _aggregate_facts(found), _kind_facts(found), _levels(found), _model_facts(found))
    return as_facts({name: value for part in parts for name, value in part.items()})


def _component_facts(findings: Findings) -> Mapping[str, Fact]:
    """Facts on the feature split of principal components, on their own axes and on random axes."""
    parts = findings.distinct[findings.distinct.kind == "PCA"]

    def over_bases(values: pd.Series[float], groups: pd.Series[str]) -> Fact:
        return over_draws(values.groupby(groups).mean())

    return {
        "components": over_bases(parts.stability, parts.group),
        "components_rotated": over_bases(parts.averaged, parts.group),
        "rotation": over_bases(parts.averaged - parts.stability, parts.group),
    }


def _over_groups(rho: Correlation) -> Fact:
    return Fact(rho.value, rho.group_low, rho.group_high)


def _over_few_groups(rho: Correlation) -> Fact:
    """The wider limits of both bootstraps, because a bootstrap of four to nine bases alone is too narrow."""
    return Fact(rho.value, min(rho.low, rho.group_low), max(rho.high, rho.group_high))


def _aggregate_facts(findings: Findings) -> Mapping[str, Any]:
    """Facts on the aggregate over all rows, and on the domains."""
    rho = findings.domains["Aggregate"]
    domains = {name: _over_few_groups(each) for name, each in findings.domains.items() if name != "Aggregate"}
    sizes = [absolute(each) for each in domains.values()]
    small = sum(each.value < 0.3 for each in sizes)
    return {
        "pooled": _over_groups(rho),
        "configurations": rho.n,
        "bases": findings.distinct.group.nunique(),
        "bases of full size": findings.rows[findings.rows["size"] != "small"].group.nunique(),
        **{f"median {name}": findings.rows[name].median() for name in ("cka", "chance")},
        **{"mean shuffled": findings.distinct.shuffled.mean(), "unscored": findings.rows.stability.isna().sum()},
        "interval_ratio": (rho.group_high - rho.group_low) / (rho.high - rho.low),
        "domains": len(domains),
        "small_domains": small,
        # The limits are the number of domains whose interval is outside, and the number that may be outside.
        "large_domains": Fact(
            len(domains) - small, sum(each.low >= 0.3 for each in sizes), sum(each.high >= 0.3 for each in sizes)
        ),
        "domains in words": ", ".join(f"{name} {each:+.2f}" for name, each in domains.items()),
    }


def _over_bases(findings: Findings, name: str) -> Fact:
    """Mean score of random projections of a base minus that of its principal components; bases are the units."""
    wide = findings.distinct.groupby(["group", "kind"])[name].mean().unstack()
    return over_draws(wide["random projection"] - wide["PCA"])


def _kind_facts(findings: Findings) -> Mapping[str, Any]:
    """Facts by kind of transformation."""
    components = findings.distinct[findings.distinct.kind == "PCA"]
    projected = findings.distinct[findings.distinct.kind == "random projection"]
    means = findings.distinct.groupby("kind")[["stability", "cka"]].mean()
    random, original = means.loc["random projection"], means.loc["original"]
    of_pca = findings.rows[findings.rows.kind == "PCA"]
    repeats = of_pca.groupby("domain").repeat.sum()
    return {
        **{f"under {kind}": _over_groups(findings.kinds[kind]) for kind in KINDS},
        "components_within": _over_groups(score_correlation(components, by=("group",), n_draws=10)),
        "components_within_rotated": _over_groups(score_correlation(components, "averaged", by=("group",), n_draws=10)),
        **_by_number_of_components(components),
        "projected": _over_groups(score_correlation(projected, by=("variant",), n_draws=10)),
        "projected_within": score_correlation(projected, by=("group",), n_draws=10).value,
        **{"projected stability": random.stability, "original stability": original.stability},
        **{"projected cka": random.cka, "original cka": original.cka},
        "more stable": _over_bases(findings, "stability"),
        "more stable on random axes": _over_bases(findings, "averaged"),
        "less similar": _over_bases(findings, "cka"),
        "components cka": means.cka["PCA"],
        "configurations of PCA": len(of_pca),
        **{"repeats": repeats.sum(), "repeats of proteins": repeats.get("proteins", 0)},
    }


def _by_number_of_components(components: pd.DataFrame) -> Mapping[str, float]:
    """Lowest and highest mean stability over bases, by number of components."""
    means = components.groupby("variant").stability.mean()
    return {"components lowest": means.min(), "components highest": means.max()}


def _levels(findings: Findings) -> Mapping[str, Any]:
    others = {measure: rho.value for (measure, kind), rho in findings.alternatives.items() if kind == "all"}
    facts = {
        **_correlations_within_kinds(findings),
        "rotated within kinds": _over_groups(findings.levels["ranks within bases and kinds", "averaged", "cka"]),
        "rotated between bases": _over_groups(
            findings.levels["ranks within variants, between bases", "averaged", "cka"]
        ),
        "above chance": findings.levels["as published: all pooled", "stability", "adjusted"].value,
        **_bias(findings.distinct),
        "explained": findings.explained_variance["kind and CKA"],
    }
    if others:
        intervals = (_over_few_groups(rho) for (_, kind), rho in findings.alternatives.items() if kind == "all")
        facts["other measures"] = largest(map(absolute, intervals))
        facts["language configurations"] = findings.alternatives["CKA", "all"].n
        facts["other measures in words"] = ", ".join(f"{name} {value:+.2f}" for name, value in others.items())
    return facts


def _correlations_within_kinds(findings: Findings) -> Mapping[str, Any]:
    """Facts on correlations within bases by kind, and on how many of them are beyond 0.1."""
    varied = {
        kind: df for kind in KINDS if (df := findings.distinct[findings.distinct.kind == kind]).variant.nunique() > 1
    }
    rhos = {kind: _over_groups(score_correlation(df, by=("group",), n_draws=10)) for kind, df in varied.items()}
    sizes = [(size.value, size.low, size.high) for size in map(absolute, rhos.values())]
    return {
        "kinds": len(sizes),
        "correlated_kinds": Fact(*(sum(size >= 0.1 for size in each) for each in zip(*sizes, strict=True))),
        "kinds in words": ", ".join(f"{rho.value:+.2f} ({kind})" for kind, rho in rhos.items()),
    }


def _bias(rows: pd.DataFrame) -> Mapping[str, Any]:
    """Correlations with CKA and with unbiased CKA over the same rows, and their difference; bases are resampled."""
    rows = rows[["group", "stability", "cka", "unbiased"]].dropna()

    def correlations(drawn: pd.DataFrame) -> list[float]:
        stability, *others = (rankdata(drawn[name]) for name in ("stability", "cka", "unbiased"))
        return [float(np.corrcoef(stability, ranks)[0, 1]) for ranks in others]

    def difference(drawn: pd.DataFrame) -> float:
        raw, corrected = correlations(drawn)
        return abs(raw - corrected)

    biased, unbiased = correlations(rows)
    difference_over_bases = resampled_groups(difference, rows, "group", draws=200)
    return {"biased": biased, "unbiased": unbiased, "bias_rows": len(rows), "bias": difference_over_bases}


def _model_facts(findings: Findings) -> Mapping[str, Any]:
    """Facts on the mixed model, and on unchanged bases."""
    model, spread = findings.mixed_model, findings.rows[["stability", "cka"]].std()
    slope = Fact(model.slope, model.slope - 1.96 * model.error, model.slope + 1.96 * model.error)
    original = absolute(_over_groups(findings.kinds["original"]))
    return {
        "slope": slope,
        "slope_size": absolute(slope),
        "standard slope": model.slope * spread.cka / spread.stability,
        "unique": Fact(1 - original.value**2, 1 - original.high**2, 1 - original.low**2),
    }
