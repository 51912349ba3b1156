"""Which of the ways to take chance off a score should one report?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.calibration import calibrate
from shesha.measures import sampled_cka, unbiased_cka
from shesha.nulls.summary import summarise
from shesha.studies.definition import study
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import grid, lines, logarithmic
from shesha.studies.published import Answers, Found, against, claim
from shesha_studies.data import shared

if TYPE_CHECKING:
    import pandas as pd

N = 128
MEASURES = ("CKA", "CKA(kernel=rbf)", "CCA", "RSA", "mutual kNN")
RATIOS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4)
VARIANTS = {
    "gated_05": "gated",
    "centred": "less the mean",
    "adjusted": "adjusted",
    "z": "z",
}
SCALED = ("gated_05", "gated_10", "centred", "adjusted")
_GATED = ("gated_05", "gated_10")
BELOW_RANK = 3
"""Canonical correlations are all 1 from d = n - 1 on: CCA has the first three ratios only."""
_BY_DEFINITION = "Follows from what the method takes, one pair, which no row can decide."
_MISSING = {
    "murphy2024biasedcka aggregate": _BY_DEFINITION,
    "chun2025sparsecka aggregate": _BY_DEFINITION,
    "ours aggregate": "Decided by the study `depth`, whose rows are maxima over layers; ours here are pairs.",
    **dict.fromkeys(
        ("cui2022deconfounded", "diedrichsen2020wuc", "cai2019brsa", "smilde2009rv"),
        "A property of another work's method, which the library does not have.",
    ),
}


def _grid(measures: Sequence[str], strengths: Sequence[float], seeds: int) -> list[dict[str, Any]]:
    names = ("measure", "strength", "ratio", "seed")
    cells = product(measures, strengths, RATIOS, range(seeds))
    found = [dict(zip(names, one, strict=True)) for one in cells]
    return [one for one in found if one["measure"] != "CCA" or one["ratio"] in RATIOS[:BELOW_RANK]]


@study(
    "calibration-variants",
    paper="Null calibration, comparing calibration approaches; existing approaches",
    version=1,
    full=[*_grid(MEASURES, (0.0,), 40), *_grid(MEASURES, (1.0,), 8)],
    quick=[*_grid(("CKA", "mutual kNN"), (0.0,), 8), *_grid(("CKA", "mutual kNN"), (1.0,), 4)],
    published="calibration-variants.csv",
)
def calibration_variants(measure: str, strength: float, ratio: float, seed: int) -> dict[str, float]:
    """Of gated, centred, z and chance-adjusted scores, which stay at zero for unrelated data, and what for related?

    128 rows, ratio times as many features of unit noise; strength 0: unrelated; 1: a shared signal of rank 5 and unit
    variance. 200 permutations.
    """
    rng = np.random.default_rng([seed, round(1000 * ratio), round(10 * strength)])
    X, Y = shared(strength, round(ratio * N), N, 5, rng)
    found = calibrate(X, Y, measure, n_permutations=200, seed=seed)
    null = np.array(found.null)
    loose = summarise(found.observed, null, found.closer, 0.1, found.maximum)
    return {
        "raw": found.observed,
        "gated_05": found.score,
        "gated_10": loose.score,
        "centred": found.centred,
        "z": found.z,
        "adjusted": found.adjusted,
        "p_value": found.p_value,
        "skewness": float((((null - null.mean()) / null.std()) ** 3).mean()),
    }


@calibration_variants.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Draw each summary of unrelated and of related data against the width."""
    assert published is not None
    table = _table(rows)
    made, axes = grid(2, len(VARIANTS), width=2.7, height=2.3)
    for line, strength in enumerate(sorted(rows.strength.unique())):
        own = rows[rows.strength == strength]
        for column, (name, title) in enumerate(VARIANTS.items()):
            lines(axes[line][column], own, "ratio", name, "measure")
            axes[line][column].set(title=f"{title}, {'related' if strength else 'unrelated'}", xlabel="d / n")
            logarithmic(axes[line][column], rows.ratio)
    axes[0][0].legend(frameon=False, fontsize="xx-small")
    none = table[table.strength == 0]
    z = none.set_index(["measure", "ratio"])
    signal = table[(table.strength > 0) & (table.measure == "CKA")].set_index("ratio")
    ends = signal.iloc[[0, -1]]
    answer = (
        "All four take the width off unrelated data: no mean of gated, centred or chance-adjusted scores "
        f"passes {_largest(none, SCALED):.3f}. So does z (means {z.z.min():+.2f} to "
        f"{z.z.max():+.2f}, spreads {z.z_sd.min():.2f} to {z.z_sd.max():.2f}): the published artifacts of z "
        f"are not there. What speaks against z is that it has no scale: {ends.z.iloc[0]:.0f} to "
        f"{ends.z.iloc[1]:.0f} for related data whose adjusted CKA is {ends.adjusted.iloc[0]:.2f} to "
        f"{ends.adjusted.iloc[1]:.2f}."
    )
    notes = (
        "Skewness of the null is 2 for one dominant direction and falls with the number of "
        "directions: it is largest for "
        "narrow data, not for high d / n.",
        "z grows with the number of rows and with anything that makes the null narrow; it "
        "says how surely, not how much.",
        "Centred scores keep the scale of the raw score, whose room above chance shrinks "
        "with the width: the same signal is "
        "worth less the wider the data. Chance-adjusted and gated scores divide by that room.",
    )
    picture = Picture(
        "calibration_variants", made, "Summaries of CKA and other measures against d / n, unrelated and related"
    )
    return Page(answer, (("Means", table),), (picture,), notes, against(published, _answer_claims(table), _MISSING))


def _largest(table: pd.DataFrame, columns: Sequence[str]) -> float:
    return float(np.abs(table[list(columns)].to_numpy(dtype=float)).max())


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    columns = ["raw", *SCALED, "z", "skewness"]
    grouped = rows.assign(hit=rows.p_value <= 0.05).groupby(["measure", "strength", "ratio"], sort=False)
    table = grouped[[*columns, "hit"]].mean()
    table["z_sd"] = grouped.z.std()
    return table.reset_index()


def _answer_claims(table: pd.DataFrame) -> Answers:
    answers: Answers = {}
    none = table[table.strength == 0]
    for key, columns in (("gated", _GATED), ("centred", ("centred",)), ("adjusted", ("adjusted",))):
        most = _largest(none, columns)
        answers[key] = claim(bool(most < 0.02), f"means of at most {most:.4f}", "more is left")
    own = none[none.measure == "CKA"].sort_values("ratio")
    wide = own.iloc[-1]
    answers["z"] = claim(
        bool(abs(wide.z) > 0.5 or wide.z_sd > 1.5),
        f"mean {wide.z:+.2f}, spread {wide.z_sd:.2f}, skewness of the null "
        f"{wide.skewness:.2f} at d / n = {wide.ratio:g} "
        f"({own.iloc[0].skewness:.2f} at {own.iloc[0].ratio:g})",
        "z of unrelated data has mean 0 and spread 1 at every d / n, and the null of CKA "
        "becomes less skewed with the width, "
        "not more.",
    )
    answers["raw_cka"] = Found(float(wide.raw), decimals=1, why="Another d / n: CKA of noise is d / (n + d).")
    for key, name in (("raw_rsa", "RSA"), ("raw_mknn", "mutual kNN")):
        most = none[none.measure == name].raw.abs().max()
        answers[key] = claim(bool(most < 0.1) if most == most else None, f"at most {most:.3f}", "more")
    answers |= _approaches(table)
    return answers


def _approaches(table: pd.DataFrame) -> Answers:
    """The published table of approaches: what the library has is tried on noise, and on a shared signal."""
    none, gated = table[table.strength == 0], table[list(_GATED)].to_numpy(dtype=float)
    left = _largest(none, _GATED)
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 200, 40, 80))
    values = np.array([unbiased_cka(a, b) for a, b in zip(X, Y, strict=True)])
    error = values.std() / np.sqrt(len(values))
    return {
        "ours debias": claim(left < 0.02, f"means of at most {left:.4f} of noise", "more is left"),
        "ours bounded": claim(
            bool(gated.min() >= 0 and gated.max() <= 1), f"{gated.min():.2f} to {gated.max():.2f}", "beyond 0 and 1"
        ),
        "murphy2024biasedcka debias": claim(
            bool(abs(values.mean()) < 3 * error),
            f"mean {values.mean():+.5f} +- {error:.5f} of noise",
            "it is otherwise",
        ),
        "murphy2024biasedcka bounded": claim(values.min() < 0, f"down to {values.min():.3f}", "it is otherwise"),
        **_over_columns(),
    }


def _over_columns() -> Answers:
    """Estimate the similarity of all features of one shared signal, which is 1, from 20 or 80 of them."""
    rng = np.random.default_rng(1)
    few, many = (np.array([sampled_cka(*shared(1.0, d, 40, 5, rng)) for _ in range(60)]) for d in (20, 80))
    error = many.std() / np.sqrt(len(many))
    said = f"{many.mean():.3f} +- {error:.3f} from 80 features (all of them: 1)"
    return {
        "chun2025sparsecka debias": claim(
            bool(abs(many.mean() - 1) < 0.03), said, "the ratio of unbiased parts is not unbiased"
        ),
        "chun2025sparsecka bounded": claim(
            bool(few.max() > 1), f"up to {few.max():.2f} from 20 features", "within bounds"
        ),
    }
