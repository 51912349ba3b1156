"""The descriptions of how scores of independent data depend on the width, judged by the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shesha.studies._checks import Check
from shesha.studies._rates import rate_interval
from shesha.studies.chance._verdicts import Verdicts

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05
_KERNELS = ("CKA", "CKA(kernel=rbf)", "RV")
_LOCAL = ("mutual kNN", "cycle kNN", "CKNNA")


def rate_limits(hits: pd.Series[bool]) -> tuple[float, float]:
    """Return the 95 % interval of a share that was counted."""
    return rate_interval(int(hits.sum()), len(hits))


def judged_width(rows: pd.DataFrame, published: pd.DataFrame) -> tuple[Check, ...]:
    """Judge every description of the raw and calibrated null."""
    verdicts = Verdicts(published)
    gaussian = rows[(rows.kind == "Gaussian") & (rows.n == 128)]
    raw = gaussian.pivot_table(index="measure", columns="ratio", values="raw")
    _raw_claims(verdicts, raw)
    _calibrated_claims(verdicts, rows)
    _formulas(verdicts, rows)
    _heavy_tails(verdicts, rows)
    return verdicts.checks()


def _raw_claims(verdicts: Verdicts, raw: pd.DataFrame) -> None:
    """Which raw scores rise, and by how much."""
    rise = raw.max(axis=1) - raw.min(axis=1)
    end = raw.iloc[:, -1]
    kernels = [name for name in _KERNELS if name in raw.index]
    monotone = bool((raw.loc[kernels].diff(axis=1).iloc[:, 1:] > 0).all(axis=None))
    strongest = rise[kernels].min() > max(rise.get(name, 0.0) for name in ("RSA", *_LOCAL[::2], "SVCCA(components=10)"))
    verdicts.claim(
        "inflated", bool(end[kernels].min() > 0.5), f"{end[kernels].min():.2f} to {end[kernels].max():.2f} at d / n = 4"
    )
    verdicts.claim(
        "kernels", monotone and strongest, ", ".join(f"{name} rises by {rise[name]:.2f}" for name in kernels)
    )
    verdicts.claim(
        "gap",
        bool(end["CKA"] > 8 * end["mutual kNN"]),
        f"{end['CKA']:.2f} and {end['mutual kNN']:.2f} (n = 128, d / n = 4)",
    )
    _of(verdicts, raw, "svcca", "SVCCA(components=10)", lambda line: np.ptp(line) < 0.05)
    _of(verdicts, raw, "rsa", "RSA", lambda line: np.abs(line).max() < 0.02)
    _of(verdicts, raw, "procrustes", "Procrustes similarity", lambda line: line[-1] - line[0] > 0.2)
    _undefined(verdicts, raw)
    there = [name for name in ("mutual kNN", "CKNNA", "cycle kNN") if name in raw.index]
    others = rise.drop(labels=[*there, "RSA", "SVCCA(components=10)"], errors="ignore")
    verdicts.claim(
        "mildest",
        bool(rise[there].max() < others.min()) if len(there) == len(_LOCAL) else None,
        ", ".join(f"{name} moves by {rise[name]:.3f}" for name in there),
        "cycle kNN of inner products moves with the width",
    )


def _undefined(verdicts: Verdicts, raw: pd.DataFrame) -> None:
    """Canonical correlations, which exist below d = n - 1 only."""
    for key, name in (("cca", "CCA"), ("pwcca", "PWCCA")):
        if name not in raw.index:
            verdicts.claim(key, None, None)
            continue
        said = ", ".join(f"{value:.2f} at d / n = {ratio:g}" for ratio, value in raw.loc[name].dropna().items())
        if key == "pwcca":
            verdicts.claim(key, True, f"{said}, 1 from d = n - 1 on")
        else:
            verdicts.claim(
                key,
                False,
                f"{said}, 1 from d = n - 1 on",
                "All canonical correlations are exactly 1 once the "
                "features span the n - 1 dimensions of centred rows; a "
                "decay for d > n comes from the ridge added to singular covariances.",
            )


def _of(verdicts: Verdicts, raw: pd.DataFrame, key: str, name: str, holds: object) -> None:
    if name not in raw.index:
        verdicts.claim(key, None, None)
        return
    line = raw.loc[name].dropna().to_numpy()
    assert callable(holds)
    verdicts.claim(
        key, bool(holds(line)), f"{line[0]:.3f} to {line[-1]:.3f}", "our scores do not follow the description"
    )


def _calibrated_claims(verdicts: Verdicts, rows: pd.DataFrame) -> None:
    """Zero after calibration, in all but the share of draws that chance calls significant."""
    defined = rows.dropna(subset="p_value")
    low, high = rate_limits(defined.p_value <= ALPHA)
    highest = defined.groupby(["measure", "ratio"]).score.mean().max()
    said = f"means of at most {highest:.3f}; {100 * low:.1f} to {100 * high:.1f} % of draws above zero"
    for key in ("zero", "all"):
        verdicts.claim(key, bool(highest < 0.01 and low <= ALPHA), said, "more than chance stays above zero")
    wide = defined[defined.kind != "Gaussian"]
    if wide.empty:
        verdicts.claim("heavy", None, None)
        return
    mean = wide.groupby(["measure", "ratio"]).score.mean().max()
    low, high = rate_limits(wide.p_value <= ALPHA)
    said = f"means of at most {mean:.3f}; {100 * low:.1f} to {100 * high:.1f} % of draws above zero"
    verdicts.claim("heavy", low <= ALPHA, said, "more than chance stays above zero")


def _formulas(verdicts: Verdicts, rows: pd.DataFrame) -> None:
    """CKA of noise is d / (n + d), which is d / n for narrow data only; neighbours are k / (n - 1)."""
    cka = rows[(rows.measure == "CKA") & (rows.kind == "Gaussian")].groupby(["n", "ratio"]).raw.mean()
    ratios = cka.index.get_level_values("ratio").to_numpy()
    off = float(np.abs(cka.to_numpy() - ratios / (1 + ratios)).max())
    verdicts.claim(
        "baseline", off < 0.02, f"d / (n + d) to within {off:.3f}: d / n for d well below n, then it levels off"
    )
    own = rows[rows.measure == "mutual kNN"]
    knn = (own.raw * (own.n - 1) / 10).groupby(own.ratio).mean()
    far = float((knn - 1).abs().max())
    verdicts.claim(
        "neighbours", far < 0.1, f"k / (n - 1) to within {100 * far:.0f} % at every d / n", "the raw score is another"
    )


def _heavy_tails(verdicts: Verdicts, rows: pd.DataFrame) -> None:
    both = rows[rows.n == 128].pivot_table(index=["measure", "ratio"], columns="kind", values="raw")
    if "Student's t" not in both:
        verdicts.claim("t", None, None)
        return
    less = (both["Student's t"] - both["Gaussian"]).dropna()
    spectral = less[less.index.get_level_values("measure").isin(_KERNELS)]
    verdicts.claim(
        "t",
        bool(spectral.abs().max() < 0.2 and spectral.mean() < 0),
        (
            f"spectral ones differ by {spectral.min():+.2f} to {spectral.max():+.2f}, {spectral.mean():+.3f} on "
            f"average; all by {less.min():+.2f} to {less.max():+.2f}"
        ),
        "the differences have another size or sign",
    )
