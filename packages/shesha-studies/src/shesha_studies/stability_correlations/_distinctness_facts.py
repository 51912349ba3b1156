"""Facts of the study `distinctness`: correlations of stability with CKA, with bases resampled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata

from shesha.studies.facts import Fact, Facts, absolute, as_facts, largest, over_draws, resampled
from shesha_studies.stability_correlations._distinctness_tables import Findings, related
from shesha_studies.stability_correlations._distinctness_transformations import KINDS

if TYPE_CHECKING:
    import pandas as pd

    from shesha_studies.stability_correlations._bootstrap_correlations import Correlation


def make_facts(found: Findings) -> Facts:
    """Return what decides the claims."""
    parts = (_component_facts(found), _aggregate_facts(found), _kind_facts(found), _levels(found), _model_facts(found))
    return as_facts({name: value for part in parts for name, value in part.items()})


def _component_facts(found: Findings) -> Mapping[str, Fact]:
    """The split of components on their own axes and on others."""
    parts = found.distinct[found.distinct.kind == "PCA"]
    gap = (found.distinct.stability - found.distinct.averaged).abs()

    def over_bases(values: pd.Series[float], groups: pd.Series[str]) -> Fact:
        return over_draws(values.groupby(groups).mean())

    return {
        "components": over_bases(parts.stability, parts.group),
        "components_rotated": over_bases(parts.averaged, parts.group),
        "rotation": over_bases(gap, found.distinct.group),
    }


def _over_groups(one: Correlation) -> Fact:
    return Fact(one.value, one.group_low, one.group_high)


def _aggregate_facts(found: Findings) -> Mapping[str, Any]:
    """The aggregate, and the domains."""
    one, own = found.domains["Aggregate"], {**found.domains}
    del own["Aggregate"]
    small = sum(abs(each.value) < 0.3 for each in own.values())
    return {
        "pooled": _over_groups(one),
        "pooled_value": one.value,
        "configurations": one.n,
        "interval_ratio": (one.group_high - one.group_low) / (one.high - one.low),
        "domains": len(own),
        "small_domains": small,
        # Those that are surely beyond, and those that may be.
        "large_domains": Fact(
            len(own) - small,
            sum(
                min(abs(one.group_low), abs(one.group_high)) >= 0.3 and one.group_low * one.group_high > 0
                for one in own.values()
            ),
            sum(max(abs(one.group_low), abs(one.group_high)) >= 0.3 for one in own.values()),
        ),
        "domains in words": ", ".join(f"{name} {each.value:+.2f}" for name, each in own.items()),
    }


def _over_bases(found: Findings, name: str, sign: int = 1) -> Fact:
    """Mean of random projections of a base less that of the base; bases are the units."""
    wide = found.distinct.groupby(["group", "kind"])[name].mean().unstack()
    return over_draws(sign * (wide["random projection"] - wide["original"]))


def _kind_facts(found: Findings) -> Mapping[str, Any]:
    """By kind of transformation."""
    components = found.distinct[found.distinct.kind == "PCA"]
    projected = found.distinct[found.distinct.kind == "random projection"]
    means = found.distinct.groupby("kind")[["stability", "cka"]].mean()
    random, original = means.loc["random projection"], means.loc["original"]
    repeats = found.rows[found.rows.kind == "PCA"].repeat
    return {
        **{f"under {kind}": _over_groups(found.kinds[kind]) for kind in KINDS},
        "components_within": _over_groups(related(components, by=("group",), n_draws=10)),
        "projected": _over_groups(related(projected, by=("variant",), n_draws=10)),
        "projected_within": related(projected, by=("group",), n_draws=10).value,
        **{"projected stability": random.stability, "original stability": original.stability},
        **{"projected cka": random.cka, "original cka": original.cka},
        "more stable": _over_bases(found, "stability"),
        "less similar": _over_bases(found, "cka", -1),
        "configurations of PCA": len(repeats),
        "repeats": repeats.sum(),
    }


def _levels(found: Findings) -> Mapping[str, Any]:
    kinds = found.levels["ranks within bases and kinds", "stability", "cka"]
    raw, corrected = (found.levels["as published: all pooled", "stability", name] for name in ("cka", "unbiased"))
    others = {measure: one.value for (measure, kind), one in found.alternatives.items() if kind == "all"}
    made = {
        "within_kinds": _over_groups(kinds),
        **_sizes_within_kinds(found),
        "rotated within kinds": _over_groups(found.levels["ranks within bases and kinds", "averaged", "cka"]),
        "rotated between bases": _over_groups(found.levels["ranks within variants, between bases", "averaged", "cka"]),
        "above chance": found.levels["as published: all pooled", "stability", "adjusted"].value,
        "biased": raw.value,
        "unbiased": corrected.value,
        "bias": _bias(found.distinct),
        "explained": found.explained["kind and CKA"],
    }
    if others:
        intervals = (_over_groups(one) for (_, kind), one in found.alternatives.items() if kind == "all")
        made["other measures"] = largest(map(absolute, intervals))
        made["other measures in words"] = ", ".join(f"{name} {value:+.2f}" for name, value in others.items())
    return made


def _sizes_within_kinds(found: Findings) -> Mapping[str, Any]:
    """Correlations within bases, kind by kind, and the mean of their absolute values, as signs differ."""
    varied = {kind: own for kind in KINDS if (own := found.distinct[found.distinct.kind == kind]).variant.nunique() > 1}
    rhos = {kind: _over_groups(related(own, by=("group",), n_draws=10)) for kind, own in varied.items()}
    sizes = [absolute(one) for one in rhos.values()]
    return {
        "size_within_kinds": Fact(*np.mean([(one.value, one.low, one.high) for one in sizes], axis=0)),
        "kinds in words": ", ".join(f"{one.value:+.2f} ({kind})" for kind, one in rhos.items()),
    }


def _bias(rows: pd.DataFrame) -> Fact:
    """How far the correlations with CKA and with unbiased CKA are apart; bases are resampled."""
    rows = rows.dropna(subset=["stability", "cka", "unbiased"]).reset_index(drop=True)
    values = rows[["stability", "cka", "unbiased"]].to_numpy(dtype=float)

    def apart(places: Any) -> float:
        stability, *others = (rankdata(column) for column in values[places].T)
        return abs(float(np.subtract(*(np.corrcoef(stability, one)[0, 1] for one in others))))

    return resampled(
        apart, [np.asarray(own, dtype=np.intp) for own in rows.groupby("group").indices.values()], draws=200
    )


def _model_facts(found: Findings) -> Mapping[str, Any]:
    """The mixed model, and what an unchanged base says."""
    one, spread = found.mixed, found.rows[["stability", "cka"]].std()
    base = found.rows[found.rows.kind == "original"].cka_of_base
    return {
        "slope": one.slope,
        "slope_size": absolute(Fact(one.slope, one.slope - 1.96 * one.error, one.slope + 1.96 * one.error)),
        "slope_error": one.error,
        "standard slope": one.slope * spread.cka / spread.stability,
        "lowest stability": float(found.rows.stability.min()),
        "lowest cka of base": float(base.min()),
        "unique": 1 - found.kinds["original"].value ** 2,
        "unique_off": abs(0.1 - found.kinds["original"].value ** 2),
    }
