"""Facts of the study `width`: how raw and calibrated scores of independent data depend on the width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.studies.facts import Facts, as_facts, over_draws, rate

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05
_KERNELS = ("CKA", "CKA(kernel=rbf)", "RV")
_LOCAL = ("mutual kNN", "CKNNA", "cycle kNN")
_FLAT = ("RSA", "SVCCA(components=10)")
_SATURATED = 0.999


def make_facts(rows: pd.DataFrame) -> Facts:
    """Return what decides the claims."""
    gaussian = rows[(rows.kind == "Gaussian") & (rows.n == 128)]
    raw = gaussian.pivot_table(index="measure", columns="ratio", values="raw")
    return as_facts(
        {**_calibrated(rows), **_rises(raw), **_lines(raw), **_formulas(rows), **_tails(rows), **_widest_scores(rows)}
    )


def _calibrated(rows: pd.DataFrame) -> dict[str, Any]:
    """Raw and calibrated scores of independent data, narrow and wide."""
    known = rows.dropna(subset="p_value")
    cka = known[(known.measure == "CKA") & (known.kind == "Gaussian") & (known.n == 128)]
    tails = known[known.kind != "Gaussian"]
    made = {
        "narrow": over_draws(cka[cka.ratio == cka.ratio.min()].raw),
        "wide": over_draws(cka[cka.ratio == cka.ratio.max()].raw),
        "calibrated": known.groupby(["measure", "ratio"]).score.mean().max(),
        "rate": rate(int((known.p_value <= ALPHA).sum()), len(known)),
    }
    if len(tails):
        made["tails_rate"] = rate(int((tails.p_value <= ALPHA).sum()), len(tails))
        made["tails_calibrated"] = tails.groupby(["measure", "ratio"]).score.mean().max()
    return made


def _rises(raw: pd.DataFrame) -> dict[str, Any]:
    """Which raw scores rise, and by how much."""
    rise, end = raw.max(axis=1) - raw.min(axis=1), raw.iloc[:, -1]
    kernels = [name for name in _KERNELS if name in raw.index]
    others = rise[[name for name in rise.index if name in ("mutual kNN", "CKNNA", *_FLAT)]]
    values = {
        "kernels in words": ", ".join(f"{name} rises by {rise[name]:.2f}" for name in kernels),
        "kernels_step": raw.loc[kernels].diff(axis=1).iloc[:, 1:].min(axis=None),
        "kernels_more": rise[kernels].min() - others.max(),
        **{"cka": end["CKA"], "knn": end["mutual kNN"], "gap": end["CKA"] / end["mutual kNN"]},
    }
    if set(_LOCAL) <= set(raw.index):
        values["local in words"] = ", ".join(f"{name} moves by {rise[name]:.3f}" for name in _LOCAL)
        spectral = rise.drop(labels=[*_LOCAL, *_FLAT], errors="ignore")
        values["local_less"] = spectral.min() - rise[list(_LOCAL)].max()
    return values


def _lines(raw: pd.DataFrame) -> dict[str, Any]:
    """Single measures against the width; canonical correlations exist below d = n - 1 only."""
    facts: dict[str, Any] = {}
    for key, name in (("svcca", _FLAT[1]), ("rsa", "RSA"), ("procrustes", "Procrustes similarity")):
        if name in raw.index:
            values = raw.loc[name].dropna().to_numpy()
            facts |= {f"{key}_first": values[0], f"{key}_last": values[-1], f"{key}_rise": values[-1] - values[0]}
            facts |= {f"{key}_range": np.ptp(values), f"{key}_most": np.abs(values).max()}
    for key in ("CCA", "PWCCA"):
        if key in raw.index:
            line: Any = raw.loc[key]
            told = (f"{value:.2f} at d / n = {ratio:g}" for ratio, value in line.dropna().items())
            wide = line[line.index >= 1]
            facts[f"{key} in words"] = f"{', '.join(told)}, 1 from d = n - 1 on"
            # A missing value is a canonical correlation of 1.
            facts[f"{key}_not_saturated"] = (~(wide.isna() | (wide > _SATURATED))).sum()
            facts[f"{key}_decay"] = line.fillna(1.0).max() - line.fillna(1.0).iloc[-1]
    return facts


def _formulas(rows: pd.DataFrame) -> dict[str, float]:
    """CKA of noise is d / (n + d), which is d / n for narrow data only; neighbours are k / (n - 1)."""
    cka = rows[(rows.measure == "CKA") & (rows.kind == "Gaussian")].groupby(["n", "ratio"]).raw.mean()
    ratios = cka.index.get_level_values("ratio").to_numpy()
    own = rows[rows.measure == "mutual kNN"]
    knn = (own.raw * (own.n - 1) / 10).groupby(own.ratio).mean()
    return {
        "off_baseline": np.abs(cka.to_numpy() - ratios / (1 + ratios)).max(),
        "off_neighbours": (knn - 1).abs().max(),
    }


def _tails(rows: pd.DataFrame) -> dict[str, float]:
    both = rows[rows.n == 128].pivot_table(index=["measure", "ratio"], columns="kind", values="raw")
    if "Student's t" not in both:
        return {}
    less = (both["Student's t"] - both["Gaussian"]).dropna()
    spectral = less[less.index.get_level_values("measure").isin(_KERNELS)]
    return {
        **{"t_spectral_lowest": spectral.min(), "t_spectral_highest": spectral.max(), "t_mean": spectral.mean()},
        **{"t_lowest": less.min(), "t_highest": less.max(), "t_most": spectral.abs().max()},
    }


def _widest_scores(rows: pd.DataFrame) -> dict[str, Any]:
    """Raw scores of the widest data at the size that the picture shows."""
    n = 512 if (rows.n == 512).any() else rows.n.min()
    own = rows[(rows.kind == "Gaussian") & (rows.n == n)]
    raw = own[own.ratio == own.ratio.max()].groupby("measure").raw.mean()
    named = [name for name in ("CKA", "CKA(kernel=rbf)", "DistCorr", "RSA", "mutual kNN") if name in raw]
    told = ", ".join(f"{raw[name]:.2f} ({name})" for name in named)
    return {"n shown": n, "ratio shown": own.ratio.max(), "raw in words": told}
