"""The descriptions of how scores of independent data depend on the width, judged by the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.studies.published import Answers, claim
from shesha.studies.rates import rate_interval

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05
_KERNELS = ("CKA", "CKA(kernel=rbf)", "RV")
_SATURATED = 0.999
_LOCAL = ("mutual kNN", "cycle kNN", "CKNNA")


def rate_limits(hits: pd.Series[bool]) -> tuple[float, float]:
    """Return the 95 % interval of a share that was counted."""
    return rate_interval(int(hits.sum()), len(hits))


def judged_width(rows: pd.DataFrame) -> Answers:
    """Judge every description of the raw and calibrated null."""
    answers: Answers = {}
    gaussian = rows[(rows.kind == "Gaussian") & (rows.n == 128)]
    raw = gaussian.pivot_table(index="measure", columns="ratio", values="raw")
    answers |= _raw_claims(raw)
    answers |= _calibrated_claims(rows)
    answers |= _formulas(rows)
    answers |= _heavy_tails(rows)
    return answers


def _raw_claims(raw: pd.DataFrame) -> Answers:
    """Which raw scores rise, and by how much."""
    answers: Answers = {}
    rise = raw.max(axis=1) - raw.min(axis=1)
    end = raw.iloc[:, -1]
    kernels = [name for name in _KERNELS if name in raw.index]
    monotone = bool((raw.loc[kernels].diff(axis=1).iloc[:, 1:] > 0).all(axis=None))
    strongest = rise[kernels].min() > max(rise.get(name, 0.0) for name in ("RSA", *_LOCAL[::2], "SVCCA(components=10)"))
    answers["kernels"] = claim(
        monotone and strongest, ", ".join(f"{name} rises by {rise[name]:.2f}" for name in kernels)
    )
    answers["gap"] = claim(
        bool(end["CKA"] > 8 * end["mutual kNN"]),
        f"{end['CKA']:.2f} and {end['mutual kNN']:.2f} (n = 128, d / n = 4)",
    )
    answers |= _of(raw, "svcca", "SVCCA(components=10)", lambda line: np.ptp(line) < 0.05)
    answers |= _of(raw, "rsa", "RSA", lambda line: np.abs(line).max() < 0.02)
    answers |= _of(raw, "procrustes", "Procrustes similarity", lambda line: line[-1] - line[0] > 0.2)
    answers |= _undefined(raw)
    there = [name for name in ("mutual kNN", "CKNNA", "cycle kNN") if name in raw.index]
    others = rise.drop(labels=[*there, "RSA", "SVCCA(components=10)"], errors="ignore")
    answers["mildest"] = claim(
        bool(rise[there].max() < others.min()) if len(there) == len(_LOCAL) else None,
        ", ".join(f"{name} moves by {rise[name]:.3f}" for name in there),
        "cycle kNN of inner products moves with the width",
    )
    return answers


def _undefined(raw: pd.DataFrame) -> Answers:
    """Canonical correlations, which exist below d = n - 1 only."""
    answers: Answers = {}
    if "CCA" in raw.index:
        line = raw.loc["CCA"]
        answers["cca"] = claim(
            bool((line[line.index > 1] < line.max()).any()),
            _below_rank(line),
            "All canonical correlations are exactly 1 once the features span the n - 1 dimensions of centred rows; a "
            "decay for d > n comes from the ridge added to singular covariances.",
        )
    if "PWCCA" in raw.index:
        line = raw.loc["PWCCA"]
        saturated = line.isna() | (line > _SATURATED)
        answers["pwcca"] = claim(
            bool(saturated[line.index >= 1].all()), _below_rank(line), "it moves between d = n and more"
        )
    return answers


def _below_rank(line: Any) -> str:
    told = ", ".join(f"{value:.2f} at d / n = {ratio:g}" for ratio, value in line.dropna().items())
    return f"{told}, 1 from d = n - 1 on"


def _of(raw: pd.DataFrame, key: str, name: str, holds: object) -> Answers:
    answers: Answers = {}
    if name not in raw.index:
        return answers
    line = raw.loc[name].dropna().to_numpy()
    assert callable(holds)
    answers[key] = claim(
        bool(holds(line)), f"{line[0]:.3f} to {line[-1]:.3f}", "our scores do not follow the description"
    )
    return answers


def _calibrated_claims(rows: pd.DataFrame) -> Answers:
    """Zero after calibration, in all but the share of draws that chance calls significant."""
    answers: Answers = {}
    defined = rows.dropna(subset="p_value")
    low, high = rate_limits(defined.p_value <= ALPHA)
    highest = defined.groupby(["measure", "ratio"]).score.mean().max()
    said = f"means of at most {highest:.3f}; {100 * low:.1f} to {100 * high:.1f} % of draws above zero"
    for key in ("zero", "all"):
        answers[key] = claim(bool(highest < 0.01 and low <= ALPHA), said, "more than chance stays above zero")
    wide = defined[defined.kind != "Gaussian"]
    if wide.empty:
        return answers
    mean = wide.groupby(["measure", "ratio"]).score.mean().max()
    low, high = rate_limits(wide.p_value <= ALPHA)
    said = f"means of at most {mean:.3f}; {100 * low:.1f} to {100 * high:.1f} % of draws above zero"
    return answers


def _formulas(rows: pd.DataFrame) -> Answers:
    """CKA of noise is d / (n + d), which is d / n for narrow data only; neighbours are k / (n - 1)."""
    answers: Answers = {}
    cka = rows[(rows.measure == "CKA") & (rows.kind == "Gaussian")].groupby(["n", "ratio"]).raw.mean()
    ratios = cka.index.get_level_values("ratio").to_numpy()
    off = float(np.abs(cka.to_numpy() - ratios / (1 + ratios)).max())
    answers["baseline"] = claim(
        off < 0.02, f"d / (n + d) to within {off:.3f}: d / n for d well below n, then it levels off"
    )
    own = rows[rows.measure == "mutual kNN"]
    knn = (own.raw * (own.n - 1) / 10).groupby(own.ratio).mean()
    far = float((knn - 1).abs().max())
    answers["neighbours"] = claim(
        far < 0.1, f"k / (n - 1) to within {100 * far:.0f} % at every d / n", "the raw score is another"
    )
    return answers


def _heavy_tails(rows: pd.DataFrame) -> Answers:
    answers: Answers = {}
    both = rows[rows.n == 128].pivot_table(index=["measure", "ratio"], columns="kind", values="raw")
    if "Student's t" not in both:
        return answers
    less = (both["Student's t"] - both["Gaussian"]).dropna()
    spectral = less[less.index.get_level_values("measure").isin(_KERNELS)]
    answers["t"] = claim(
        bool(spectral.abs().max() < 0.2 and spectral.mean() < 0),
        f"spectral ones differ by {spectral.min():+.2f} to {spectral.max():+.2f}, {spectral.mean():+.3f} on "
        f"average; all by {less.min():+.2f} to {less.max():+.2f}",
        "the differences have another size or sign",
    )
    return answers
