"""The page on odd and even trials: tables, checks and the picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha.studies.published_checks import against
from shesha.studies.rates import binomial_limits
from shesha_studies.biology._recordings import count_areas, over_sessions

WAVE, EVEN, UNEVEN = "slow wave", "untuned, equal numbers", "untuned, numbers of a session"
_SCORES = {"value": "all trials", "equal": "4 trials each", "wuc": "whitened unbiased cosine"}
_EQUAL, _APART = "odd and even, 4 trials each", "early and late, 4 trials each"


def make_page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Make the page: the share of areas that are called stable, by split and null distribution."""
    recorded, wave, still = split_data(rows)
    shows = (
        "Rates of false positives under slow drift; scores of untuned neurons; scores of recorded areas with two "
        "null values"
    )
    picture = Picture("odd_even", _draw(recorded, wave, still), shows)
    tables = (
        ("Recorded areas, by how trials are halved", _recording_table(recorded)),
        ("Untuned neurons with a slow wave: share significant at the 5 % level", _rates(wave)),
        ("Untuned neurons with equal and unequal numbers of trials: mean scores", _numbers(still)),
    )
    checks = against(published, {})
    return Page("", tables, (picture,), _NOTES, checks)


def split_data(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return rows of recordings, of neurons on a slow wave, and of neurons with unequal numbers of trials."""
    recorded = rows[~rows.data.isin([WAVE, EVEN, UNEVEN])].rename(columns={"data": "session"})
    return recorded, rows[rows.data == WAVE], rows[rows.data.isin([EVEN, UNEVEN])]


def _splits(rows: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(rows.split))


def _recording_table(rows: pd.DataFrame) -> Any:
    lines = []
    for split in _splits(rows):
        subset = rows[rows.split == split].dropna(subset=["value"])
        mean, low, high = over_sessions(subset, "value")
        free = int((subset.free_p <= 0.05).sum())
        lines.append(
            {
                "trials": split,
                "areas": len(subset),
                "mean, interval over sessions": f"{mean:.3f} [{low:.2f}, {high:.2f}]",
                "shifted": float(subset.value_chance.mean()),
                "above": count_areas(subset, "value")[0],
                "shuffled": float(subset.free_chance.mean()),
                "above shuffled": free,
            }
        )
    return pd.DataFrame(lines)


def _rates(rows: pd.DataFrame) -> Any:
    lines = []
    for split in _splits(rows):
        group = rows[rows.split == split]
        low, high = binomial_limits(0.05, len(group))
        rates = {name: float((group[p] <= 0.05).mean()) for name, p in _NULLS.items()}
        lines.append({"halves": split, "runs": len(group), **rates, "95 % of 5 %": f"{low:.2f} to {high:.2f}"})
    return pd.DataFrame(lines)


_NULLS = {"conditions shuffled": "free_p", "circular shifts": "value_p"}


def _numbers(rows: pd.DataFrame) -> Any:
    return rows.groupby("data", sort=False)[list(_SCORES)].mean().rename(columns=_SCORES).reset_index()


def _rate(rows: pd.DataFrame, split: str, p: str) -> float:
    group = rows[rows.split == split]
    return float((group[p] <= 0.05).mean()) if len(group) else float("nan")


def _mean(rows: pd.DataFrame, split: str, column: str = "value") -> float:
    return float(rows.loc[rows.split == split, column].mean())


def _draw(recorded: pd.DataFrame, wave: pd.DataFrame, still: pd.DataFrame) -> Any:
    drawn, (left, middle, right) = figure(3, width=4.4, height=4.1)
    splits = _splits(wave)
    positions = np.arange(len(splits))
    for shift, (name, p) in enumerate(_NULLS.items()):
        rates = [_rate(wave, split, p) for split in splits]
        left.bar(positions + 0.38 * shift - 0.19, rates, width=0.36, color=PALETTE[shift], label=name)
    left.axhline(0.05, color="0.4", linewidth=0.8, linestyle="--")
    left.set_xticks(positions, splits, rotation=25, ha="right")
    left.set(ylabel="share significant at 5 %", title="Untuned neurons with a slow wave")
    left.legend(frameon=False, fontsize="small", title="null", title_fontsize="small")
    _draw_untuned(middle, still)
    _areas(right, recorded)
    return drawn


def _draw_untuned(ax: Any, rows: pd.DataFrame) -> None:
    positions = np.arange(len(_SCORES))
    for shift, (data, name) in enumerate(((EVEN, "equal numbers"), (UNEVEN, "numbers of a session"))):
        part = rows.loc[rows.data == data, list(_SCORES)]
        places = positions + 0.2 * shift - 0.1
        ax.errorbar(places, part.mean(), yerr=part.std(), fmt="os"[shift], color=PALETTE[shift], capsize=3, label=name)
    ax.axhline(0, color="0.7", linewidth=0.8)
    ax.set_xticks(positions, ["all trials", "4 trials each", "WUC"])
    ax.set(ylabel="score (bars: SD of 100 runs)", title="Untuned neurons, 16 conditions")
    ax.legend(frameon=False, fontsize="small")


def _areas(ax: Any, rows: pd.DataFrame) -> None:
    splits = _splits(rows)
    positions = np.arange(len(splits))
    means: Sequence[tuple[float, float, float]] = [
        over_sessions(rows[rows.split == split], "value") for split in splits
    ]
    value, low, high = np.array(means).T
    ax.errorbar(positions, value, yerr=[value - low, high - value], fmt="o", color=PALETTE[0], capsize=3, label="areas")
    for column, name, colour in (
        ("value_chance", "conditions shifted", PALETTE[1]),
        ("free_chance", "shuffled", PALETTE[2]),
    ):
        chance = [_mean(rows, split, column) for split in splits]
        style = {"marker": "_", "markersize": 15, "markeredgewidth": 2, "linestyle": "", "color": colour}
        ax.plot(positions, chance, label=f"chance: {name}", **style)
    ax.axhline(0, color="0.7", linewidth=0.8)
    ax.set_xticks(positions, splits, rotation=40, ha="right", fontsize=7)
    ax.set(ylabel="rank correlation of distances", title="Recorded areas")
    ax.legend(frameon=False, fontsize="small")


_NOTES = (
    "In the simulations with a slow wave, eight neurons follow the wave and no condition. The 96 trials form 16 "
    "blocks of six trials of one condition. Shuffling of conditions breaks up these blocks, so the wave looks like "
    "a geometry. Circular shifts keep both the blocks and the wave.",
    "The simulations with unequal numbers of trials have Poisson counts of 28 neurons that do not depend on the "
    "condition. In 254 trials, the 16 conditions are shown equally often or as often as in one session (7 to 71 "
    "times).",
    "The numbers of areas above a null are counted at 5 % (39 permutations) without correction, so one in twenty is "
    "expected by chance. Contrasts rarely repeat in these sessions, so shuffles and circular shifts give nearly the "
    "same numbers.",
    "To compare the stability of areas, use equal numbers of trials (the default of `trial_split`), state the null, "
    "and use the same number of neurons for all areas.",
)
