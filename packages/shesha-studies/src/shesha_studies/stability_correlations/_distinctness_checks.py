"""Our values of the published numbers on the distinctness of stability and similarity."""

from __future__ import annotations

import pandas as pd

from shesha.studies.checks import DATA, Found
from shesha.studies.published_checks import Answers, shown
from shesha.studies.tolerance import interval_error
from shesha_studies.stability_correlations._base_representations import SEEDS
from shesha_studies.stability_correlations._bootstrap_correlations import Correlation
from shesha_studies.stability_correlations._distinctness_statistics import Findings
from shesha_studies.stability_correlations._distinctness_transformations import COMPONENTS, NOISE, PROJECTED, variants

_PUBLISHED_WIDTHS = {
    "Language": (384, 768, 768, 768),
    "Vision": (768, 768, 768, 2048),
    "Audio": (768, 768),
    "Video": (768, 768, 768, 768),
}
_N_BASES = 79
_PUBLISHED_AGGREGATE = -0.01
"""Published correlation over all configurations, from which the shared variance follows."""
_PER_BASE = {
    "PCA": len(COMPONENTS),
    "random projection": len(PROJECTED),
    "noise": len(NOISE),
    "normalisation": 2,
    "original": 1,
}


def published_numbers(findings: Findings) -> Answers:
    """Return our values by "row: number", and those of other tables by "table | row: number"."""
    answers = _counts() | shown(_distributions(findings.rows))
    for name, rho in {**findings.subsets, **findings.kinds, **findings.domains}.items():
        answers |= _correlation(name, rho)
    for (measure, kind), rho in findings.alternatives.items():
        answers |= _correlation(measure if kind == "all" else f"{measure} {kind}", rho)
    model = findings.mixed_model
    ends = {"low": model.slope - 1.96 * model.error, "high": model.slope + 1.96 * model.error}
    slopes: dict[str, float] = {"beta": model.slope, **ends, "icc": model.shared}
    answers["Aggregate: r squared"] = Found(_PUBLISHED_AGGREGATE**2)
    return answers | shown({f"Mixed model: {number}": value for number, value in slopes.items()})


def _correlation(name: str, rho: Correlation) -> Answers:
    """Values of one correlation; only those of proteins and recordings, which follow the paper, are judged."""
    values = {"rho": rho.value, "low": rho.low, "high": rho.high, "p": rho.p, "r squared": rho.value**2}
    answers = shown({f"{name}: {number}": value for number, value in values.items()})
    if name.startswith("Protein") or name == "Neuroscience":
        # Six and nine bases are few, so the error is the larger one of both bootstraps.
        error = max(rho.group_error, interval_error(rho.low, rho.high))
        answers[f"{name}: rho"] = Found(rho.value, error, basis=DATA if name == "Neuroscience" else "")
    return answers


def _counts() -> Answers:
    """Counts that follow from the transformations of Table 14 and the widths of the published models."""
    counts = {name: sum(len(variants(d)) for d in widths) for name, widths in _PUBLISHED_WIDTHS.items()}
    total = sum(counts.values())
    counts |= {name: _N_BASES * each for name, each in _PER_BASE.items()}
    counts |= {"Machine learning": total, "Only transformer domains": total, "Seeds": len(SEEDS)}
    return {f"{name}: N": Found(float(count)) for name, count in counts.items()}


def _distributions(rows: pd.DataFrame) -> dict[str, float]:
    """Distributions of both scores, as in Table 17."""
    quantiles = {"quartile 1": 0.25, "median": 0.5, "quartile 3": 0.75}
    numbers: dict[str, float] = {}
    for name, values in (("stability", rows.stability), ("CKA", rows.cka)):
        parts = {"mean": values.mean(), "sd": values.std(), "min": values.min(), "max": values.max()}
        parts |= {number: values.quantile(share) for number, share in quantiles.items()}
        numbers |= {f"Table 17 | {name}: {number}": float(value) for number, value in parts.items()}
    return numbers
