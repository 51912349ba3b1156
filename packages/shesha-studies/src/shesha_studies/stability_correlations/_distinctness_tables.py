"""Tables of the study `distinctness`: levels of ranking, kinds, domains, subsets, components and sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from shesha_studies.stability_correlations._bootstrap_correlations import Correlation, correlation
from shesha_studies.stability_correlations._distinctness_statistics import (
    LEVELS,
    PAIRS,
    TITLES,
    Findings,
    score_correlation,
)
from shesha_studies.stability_correlations._distinctness_transformations import COMPONENTS


def tables(findings: Findings) -> tuple[tuple[str, pd.DataFrame], ...]:
    """Return all tables of the page."""
    makers: list[tuple[str, Callable[[Findings], pd.DataFrame]]] = [
        ("Rank correlation of stability and similarity, by the groups within which ranks are taken", _levels),
        ("Rank correlation with CKA by kind of transformation", _kinds_table),
        ("By domain", lambda source: _as_table(source.domains)),
        ("Subsets", lambda source: _as_table(source.subsets)),
        ("Distributions", _distributions),
        ("Principal components", components),
    ]
    result = [(title, make(findings)) for title, make in makers]
    if findings.alternatives:
        result.append(("Other measures, language", _alternatives(findings)))
    if len(findings.larger) and len(findings.smaller):
        result.append(("Scores with the published rows and seeds, and with the small ones", _sizes(findings)))
    return tuple(result)


def _levels(findings: Findings) -> pd.DataFrame:
    lines = []
    for level in LEVELS:
        line = {"": level}
        for stability, similarity in PAIRS:
            rho = findings.levels[level, stability, similarity]
            line[f"{TITLES[stability]}, {TITLES[similarity]}"] = (
                f"{rho.value:+.2f} [{rho.group_low:+.2f}, {rho.group_high:+.2f}]"
            )
        lines.append(line)
    return pd.DataFrame(lines)


def _as_table(rhos: Mapping[str, Correlation]) -> pd.DataFrame:
    return pd.DataFrame([{"": name, **_line(rho)} for name, rho in rhos.items()])


def _line(rho: Correlation) -> dict[str, object]:
    return {
        "N": rho.n,
        "rho": round(rho.value, 3),
        "rows resampled": f"{rho.low:+.2f} to {rho.high:+.2f}",
        "bases resampled": f"{rho.group_low:+.2f} to {rho.group_high:+.2f}",
    }


def _kinds_table(findings: Findings) -> pd.DataFrame:
    lines = []
    for kind, rho in findings.kinds.items():
        subset = findings.distinct[findings.distinct.kind == kind]
        lines.append(
            {
                "kind": kind,
                **_line(rho),
                "within bases": score_correlation(subset, by=("group",), n_draws=10, n_group_draws=10).value,
                "within variants": score_correlation(subset, by=("variant",), n_draws=10, n_group_draws=10).value,
                "within variants, basis-averaged": score_correlation(
                    subset, "averaged", by=("variant",), n_draws=10, n_group_draws=10
                ).value,
                "stability": subset.stability.mean(),
                "basis-averaged": subset.averaged.mean(),
                "shuffled": subset.shuffled.mean(),
                "CKA": subset.cka.mean(),
                "chance of CKA": subset.chance.mean(),
            }
        )
    return pd.DataFrame(lines)


def _distributions(findings: Findings) -> pd.DataFrame:
    names = ("stability", "averaged", "shuffled", "cka", "chance", "unbiased")
    return pd.DataFrame([{"": TITLES.get(name, name), **distribution(findings.rows[name])} for name in names])


def distribution(values: pd.Series[float]) -> dict[str, float]:
    """Summarise the distribution of the scores, as the published table does."""
    quantiles = {"quartile_1": 0.25, "median": 0.5, "quartile_3": 0.75}
    return {
        "mean": float(values.mean()),
        "sd": float(values.std()),
        **{name: float(values.quantile(share)) for name, share in quantiles.items()},
        "min": float(values.min()),
        "max": float(values.max()),
    }


def components(found: Findings) -> pd.DataFrame:
    """Mean scores by number of principal components, for bases with at least this number."""
    subset = found.distinct[(found.distinct.kind == "PCA") & found.distinct.d.isin(COMPONENTS)]
    means = subset.groupby("d")[["stability", "averaged", "shuffled", "cka", "chance"]].mean()
    return means.assign(bases=subset.groupby("d").size())[
        lambda table: table.bases >= min(5, subset.group.nunique())
    ].reset_index()


def _alternatives(findings: Findings) -> pd.DataFrame:
    return pd.DataFrame(
        [{"measure": measure, "kind": kind, **_line(rho)} for (measure, kind), rho in findings.alternatives.items()]
    )


def _sizes(findings: Findings) -> pd.DataFrame:
    keys = ["domain", "base", "variant"]
    both = findings.smaller.merge(findings.larger, on=keys, suffixes=("", " larger"))
    lines = []
    for group, part in both.groupby("group", sort=False):
        part = part[part.repeat + part["repeat larger"] == 0]
        for name in ("stability", "averaged", "cka"):
            rho = correlation(part[name], part[f"{name} larger"], part.variant, 10)
            difference = (part[name] - part[f"{name} larger"]).abs()
            lines.append(
                {
                    "base": group,
                    "rows": f"{part.n.iloc[0]} and {part['n larger'].iloc[0]}",
                    "score": TITLES[name],
                    "rank agreement": rho.value,
                    "mean difference": difference.mean(),
                    "largest": difference.max(),
                }
            )
    return pd.DataFrame(lines)
