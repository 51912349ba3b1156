"""Checks of every published number and claim on the distinctness of stability and similarity."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from shesha.studies import tolerance
from shesha.studies.checks import NOT_RUN, UNREACHABLE, Check, judge_number
from shesha.studies.published_checks import as_number
from shesha_studies.stability_correlations._base_representations import SEEDS
from shesha_studies.stability_correlations._bootstrap_correlations import Correlation
from shesha_studies.stability_correlations._distinctness_page import distribution
from shesha_studies.stability_correlations._distinctness_statistics import Findings
from shesha_studies.stability_correlations._distinctness_transformations import COMPONENTS, NOISE, PROJECTED, variants

OTHER_BASES = (
    "We do not have the published representations. Ours are MiniLM layers, small networks trained here, 9 protein "
    "encoders, 6 recordings and 9 transformations of single-cell counts."
)
NOT_AT_HAND = "We do not have the sound and video data or their encoders."
SAME_RECIPE = "We follow the same recipe with other proteins and another number of configurations."
_PUBLISHED_WIDTHS = {
    "Language": (384, 768, 768, 768),
    "Vision": (768, 768, 768, 2048),
    "Audio": (768, 768),
    "Video": (768, 768, 768, 768),
}
_N_BASES = 79
_PER_BASE = {
    "PCA": len(COMPONENTS),
    "random projection": len(PROJECTED),
    "noise": len(NOISE),
    "normalisation": 2,
    "original": 1,
}
_DECIMALS = 2


def checks(findings: Findings, published: pd.DataFrame) -> Iterator[Check]:
    """Yield a check for every line of the published numbers, then for every claim in words."""
    ends = {
        (line.where, line.row, line.number): float(str(line.published))
        for line in published.itertuples(index=False)
        if line.number in ("low", "high")
    }
    for line in published.itertuples(index=False):
        value = as_number(str(line.published))
        low, high = (ends.get((line.where, line.row, end), float("nan")) for end in ("low", "high"))
        error = tolerance.interval_error(low, high)
        yield _number(findings, str(line.where), str(line.row), str(line.number), value, error)


def _number(findings: Findings, where: str, group: str, number: str, value: float | str, error: float) -> Check:
    what = f"{group}: {number.replace('_', ' ')}"
    if number == "N":
        return _count(where, what, group, float(value))
    if number in ("rows", "neurons", "regions", "sessions", "bin_ms"):
        return Check(
            where, what, value, None, UNREACHABLE, "This number describes the published data, which differ from ours."
        )
    if group in ("Audio", "Video"):
        return Check(where, what, value, None, UNREACHABLE, NOT_AT_HAND)
    if group == "Mixed model":
        return _check_mixed_model(findings, where, what, number, value)
    if where.endswith("Table 17"):
        answer = distribution(findings.rows["stability" if group == "stability" else "cka"])[number]
        return Check(where, what, value, answer, UNREACHABLE, OTHER_BASES)
    rho = _find_correlation(findings, where, group)
    if rho is None:
        return Check(where, what, value, None, NOT_RUN, "This run has no rows for these data.")
    return _check_correlation(where, what, group, number, value, rho, error)


def _find_correlation(findings: Findings, where: str, group: str) -> Correlation | None:
    """Return our correlation that corresponds to a published one."""
    if ", 7.8" in where or "Table 10" in where or group.partition(" ")[0] in ("PWCKA", "Procrustes"):
        measure, _, kind = group.partition(" ")
        return findings.alternatives.get((measure, kind or "all"))
    for some in (findings.domains, findings.kinds, findings.subsets):
        if group in some:
            return some[group]
    return None


def _check_correlation(
    where: str, what: str, group: str, number: str, value: float | str, rho: Correlation, error: float
) -> Check:
    answer = {"rho": rho.value, "low": rho.low, "high": rho.high, "p": rho.p, "r_squared": rho.value**2}[number]
    if group.startswith("Protein") and number == "rho":
        return judge_number(
            where,
            what,
            float(value),
            answer,
            error=rho.group_error,
            published_error=error,
            decimals=_DECIMALS,
            why=SAME_RECIPE,
        )
    if group == "Neuroscience" and number == "rho":
        why = "We have six of the 39 sessions of the same recordings, in windows of 50 ms instead of 20 ms."
        return judge_number(
            where, what, float(value), answer, error=rho.group_error, published_error=error, decimals=_DECIMALS, why=why
        )
    return Check(where, what, value, answer, UNREACHABLE, OTHER_BASES)


def _check_mixed_model(findings: Findings, where: str, what: str, number: str, value: float | str) -> Check:
    model = findings.mixed_model
    answers = {
        "beta": model.slope,
        "low": model.slope - 1.96 * model.error,
        "high": model.slope + 1.96 * model.error,
        "icc": model.shared,
    }
    return Check(where, what, value, answers.get(number), UNREACHABLE, OTHER_BASES)


def _count(where: str, what: str, group: str, value: float) -> Check:
    """Return a count from the transformations of Table 14 and the widths of the published models."""
    if group in _PUBLISHED_WIDTHS:
        return judge_number(where, what, value, sum(len(variants(d)) for d in _PUBLISHED_WIDTHS[group]), decimals=0)
    if group in _PER_BASE:
        return judge_number(where, what, value, _N_BASES * _PER_BASE[group], decimals=0)
    if group in ("Machine learning", "Only transformer domains"):
        total = sum(len(variants(d)) for widths in _PUBLISHED_WIDTHS.values() for d in widths)
        return judge_number(where, what, value, total, decimals=0)
    if group == "Seeds":
        return judge_number(where, what, value, float(len(SEEDS)), decimals=0)
    why = "This number depends on the number of features of the published data, which the paper does not give."
    return Check(where, what, value, None, UNREACHABLE, why)
