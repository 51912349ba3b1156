"""How much of the agreement of odd and even trials is slow drift, and how much unequal trials?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.neuro import trial_split, wuc
from shesha.studies.checks import DATA
from shesha.studies.facts import Fact, Facts, as_facts, resampled_groups, share
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha.studies.rates import binomial_limits
from shesha.studies.study_decorator import study
from shesha.support.types import Matrix, Vector
from shesha_studies.biology._recordings import (
    CELLS,
    EACH,
    count_areas,
    one_area,
    over_sessions,
    score_numbers,
    session,
    session_line,
)

FEW = 20
"""Number of neurons of every area if numbers are equalised."""
HALVES: Mapping[str, Mapping[str, Any]] = {
    "odd and even": {"how": "odd-even"},
    "random": {"how": "random"},
    "8 blocks": {"how": "blocks"},
    "early and late": {"how": "blocks", "n_blocks": 2},
}
_ALL: Mapping[str, Any] = {"trials_per_half": "all"}
_EQUAL: Mapping[str, Any] = {"trials_per_half": EACH}
_FEW: Mapping[str, Any] = {"n_neurons": FEW, "n_draws": 3, "n_splits": 8}
SPLITS: Mapping[str, Mapping[str, Any]] = {
    **HALVES,
    "odd and even, 20 neurons": {"how": "odd-even", **_FEW},
    "odd and even, 4 trials each": {"how": "odd-even", **_EQUAL},
    "early and late, 4 trials each": {"how": "blocks", "n_blocks": 2, **_EQUAL},
    "4 trials each, 20 neurons": {"how": "odd-even", **_EQUAL, **_FEW},
}
WAVE, EVEN, UNEVEN = "slow wave", "untuned, equal numbers", "untuned, numbers of a session"
_RUNS = [str(run) for run in range(100)]


def _grid(draws: list[str], areas: list[dict[str, str]], splits: list[str]) -> list[dict[str, str]]:
    cells = [{"data": WAVE, "unit": run, "split": split} for split in HALVES for run in draws]
    cells += [{"data": data, "unit": run, "split": "all"} for data in (EVEN, UNEVEN) for run in draws]
    return cells + [{"data": row["session"], "unit": row["area"], "split": split} for split in splits for row in areas]


@study(
    "odd-even",
    paper="new; Geometric Stability, 13.3 and 13.7",
    version=1,
    full=_grid(_RUNS, CELLS, list(SPLITS)),
    quick=_grid(_RUNS[:20], [cell for cell in CELLS if cell["session"] == "Hench 11"], list(HALVES)),
    published="odd_even.csv",
    on=DATA,
)
def odd_even(data: str, unit: str, split: str) -> dict[str, float]:
    """How much of the agreement of odd and even trials is due to slow drift, and how much to unequal numbers of trials?

    The trials of every area in 18 recorded sessions are halved in eight ways. Each result is compared with permuted
    conditions and with circular shifts of the conditions. There are also two simulations of neurons that do not respond
    to conditions. Some follow a slow wave while conditions repeat in consecutive trials. Others have equal or unequal
    numbers of trials per condition.
    """
    if data == WAVE:
        return _wave_row(HALVES[split], int(unit))
    if data in (EVEN, UNEVEN):
        return _numbers_row(data == UNEVEN, int(unit))
    recording = one_area(data, unit)
    if np.asarray(recording.X).shape[1] < SPLITS[split].get("n_neurons", 0):
        return {"value": float("nan")}
    options = {"scores": ("trial_split",), "n_permutations": 39, **_ALL, **SPLITS[split]}
    numbers = score_numbers(session_line(recording, **options), "trial_split", "value")
    free = score_numbers(session_line(recording, **options, null="permute"), "trial_split", "free")
    return {**numbers, "free_chance": free["free_chance"], "free_p": free["free_p"]}


def _wave_row(options: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Score halves of trials of untuned neurons, compared with both null distributions."""
    X, shown = slow_wave(np.random.default_rng([13, seed]))
    settings = {**_ALL, **options, "n_splits": 6, "n_permutations": 19, "seed": seed}
    shifted, free = (trial_split(X, shown, null=null, **settings) for null in ("shift", "permute"))
    return {
        "value": shifted.observed,
        "value_chance": shifted.null_mean,
        "value_p": shifted.p_value,
        "free_chance": free.null_mean,
        "free_p": free.p_value,
    }


def slow_wave(rng: np.random.Generator) -> tuple[Matrix, Vector]:
    """Simulate eight untuned neurons that follow a slow wave, with conditions that repeat six times in a row."""
    drift, phase = 0.6 * rng.standard_normal((2, 8)), np.linspace(0, 6, 96)[:, None]
    X = rng.poisson(np.exp(1 + drift[0] * np.sin(phase) + drift[1] * np.cos(phase)))
    return X.astype(float), np.repeat(rng.permutation(np.tile(np.arange(4), 4)), 6)


def _numbers_row(uneven: bool, seed: int) -> dict[str, float]:
    """Score untuned neurons for 16 conditions, shown equally often or as often as in a session."""
    contrasts = np.asarray(session("Forssmann 5").conditions)
    shown = np.unique(contrasts, axis=0, return_inverse=True)[1].ravel()
    labels = shown if uneven else np.arange(len(shown)) % 16
    rng = np.random.default_rng([17, seed])
    X, order = rng.poisson(2, size=(len(shown), 28)), rng.permutation(len(shown))
    return {
        "value": trial_split(X, labels[order], n_permutations=0, **_ALL).observed,
        "equal": trial_split(X, labels[order], trials_per_half=EACH, n_permutations=0).observed,
        "wuc": wuc(X, labels[order], n_permutations=0).observed,
    }


_SCORES = {"value": "all trials", "equal": "4 trials each", "wuc": "whitened unbiased cosine"}


@odd_even.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Make the page: the share of areas that are called stable, by split and null distribution."""
    recorded, wave, still = split_data(rows)
    shows = "Rates of false positives under slow drift; scores of recorded areas with two null values"
    picture = Picture("odd_even", _draw(recorded, wave), shows)
    tables = (
        ("Recorded areas, by how trials are halved", _recording_table(recorded)),
        ("Untuned neurons with a slow wave: share significant at the 5 % level", _rates(wave)),
        (
            "Untuned neurons with equal and unequal numbers of trials: mean scores",
            still.groupby("data", sort=False)[list(_SCORES)].mean().rename(columns=_SCORES).reset_index(),
        ),
    )
    return Page("", tables, (picture,))


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


def _rate(rows: pd.DataFrame, split: str, p: str) -> float:
    group = rows[rows.split == split]
    return float((group[p] <= 0.05).mean()) if len(group) else float("nan")


def _draw(recorded: pd.DataFrame, wave: pd.DataFrame) -> Any:
    drawn, (left, right) = figure(2, width=4.4, height=4.1)
    splits = _splits(wave)
    positions = np.arange(len(splits))
    for shift, (name, p) in enumerate(_NULLS.items()):
        rates = [_rate(wave, split, p) for split in splits]
        left.bar(positions + 0.38 * shift - 0.19, rates, width=0.36, color=PALETTE[shift], label=name)
    left.axhline(0.05, color="0.4", linewidth=0.8, linestyle="--")
    left.set_xticks(positions, splits, rotation=25, ha="right")
    left.set(ylabel="share significant at 5 %", title="Untuned neurons with a slow wave")
    left.legend(frameon=False, fontsize="small", title="null", title_fontsize="small")
    _areas(right, recorded)
    return drawn


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
        chance = [float(rows.loc[rows.split == split, column].mean()) for split in splits]
        style = {"marker": "_", "markersize": 15, "markeredgewidth": 2, "linestyle": "", "color": colour}
        ax.plot(positions, chance, label=f"chance: {name}", **style)
    ax.axhline(0, color="0.7", linewidth=0.8)
    ax.set_xticks(positions, splits, rotation=40, ha="right", fontsize=7)
    ax.set(ylabel="rank correlation of distances", title="Recorded areas")
    ax.legend(frameon=False, fontsize="small")


_NEAR, _APART = "odd and even, 4 trials each", "early and late, 4 trials each"


@odd_even.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the facts by which the claims are judged."""
    recorded, wave, still = split_data(rows)
    values: dict[str, Any] = {}
    for split, group in wave.groupby("split", sort=False):
        for null in ("free", "value"):
            values[f"{split}, {null}"] = share(group[f"{null}_p"] <= 0.05)
    shifts = {name: fact for name, fact in values.items() if name.endswith(", value")}
    values["worst_shift"] = max(shifts.values(), key=lambda fact: fact.value)
    values["shifts in words"] = ", ".join(
        f"{name.removesuffix(', value')} {fact.value:.0%}" for name, fact in shifts.items()
    )
    values["draws"] = wave.unit.nunique()
    means = still.groupby("data").value.agg(["mean", "sem"])
    values["far_in_errors"] = (means["mean"] / means["sem"]).abs().max()
    values |= {name: means["mean"].get(data, np.nan) for name, data in (("equal", EVEN), ("unequal", UNEVEN))}
    values["others"] = still.groupby("data")[["equal", "wuc"]].mean().abs().to_numpy().max()
    return as_facts(values | _recording_facts(recorded))


def _kept(rows: pd.DataFrame) -> Fact:
    """Share of the agreement that remains between halves that share no slow drift; whole sessions are resampled."""
    known = rows[rows.split.isin([_NEAR, _APART])]
    wide = known.pivot_table(index=["session", "unit"], columns="split", values="value").dropna().reset_index()
    return resampled_groups(lambda areas: float(areas[_APART].mean() / areas[_NEAR].mean()), wide, "session")


def _recording_facts(rows: pd.DataFrame) -> dict[str, Any]:
    if not {_NEAR, _APART} <= set(rows.split):
        return {}
    odd, late = (float(rows.loc[rows.split == split, "value"].mean()) for split in (_NEAR, _APART))
    split_rows, kept = rows[rows.split == "odd and even"], _kept(rows)
    return {
        **{
            "four_odd": odd,
            "four_halves": late,
            "kept": kept,
            "slow": Fact(1 - kept.value, 1 - kept.high, 1 - kept.low),
        },
        **{"recorded": split_rows.value.mean(), "recorded_shifted": split_rows.value_chance.mean()},
    }
