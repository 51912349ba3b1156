"""How much of the agreement of odd and even trials is slow drift, and how much unequal trials?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.neuro import trial_split, wuc
from shesha.support.types import Matrix, Vector
from shesha_studies.biology import _recordings as recordings
from shesha_studies.framework.checks import DATA
from shesha_studies.framework.facts import Fact, Facts, as_facts, resampled_groups, share
from shesha_studies.framework.page import Page, Picture
from shesha_studies.framework.pictures import draw_with_intervals, figure
from shesha_studies.framework.study_decorator import study

HALVES: Mapping[str, Mapping[str, Any]] = {
    "odd and even": {"how": "odd-even"},
    "random": {"how": "random"},
    "8 blocks": {"how": "blocks"},
    "early and late": {"how": "blocks", "n_blocks": 2},
}
_ALL: Mapping[str, Any] = {"trials_per_half": "all"}
_EQUAL: Mapping[str, Any] = {"trials_per_half": recordings.EACH}
_FEW: Mapping[str, Any] = {"n_neurons": 20, "n_draws": 3, "n_splits": 8}
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
    full=_grid(_RUNS, recordings.CELLS, list(SPLITS)),
    quick=_grid(_RUNS[:20], [cell for cell in recordings.CELLS if cell["session"] == "Hench 11"], list(HALVES)),
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
    recording = recordings.one_area(data, unit)
    if np.asarray(recording.X).shape[1] < SPLITS[split].get("n_neurons", 0):
        return {"value": float("nan")}
    options = {"n_permutations": 39, **_ALL, **SPLITS[split]}
    numbers = recordings.score_one_area(recording, "trial_split", "value", **options)
    free = recordings.score_one_area(recording, "trial_split", "free", **options, null="permute")
    return {**numbers, "free_chance": free["free_chance"], "free_p": free["free_p"]}


def _wave_row(options: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Score halves of trials of untuned neurons, compared with both null distributions."""
    X, shown = slow_wave(np.random.default_rng([13, seed]))
    settings = {**_ALL, **options, "n_splits": 6, "n_permutations": 19, "seed": seed}
    shifted, free = (trial_split(X, shown, null=null, **settings) for null in ("shift", "permute"))
    return {
        "value": shifted.value,
        "value_chance": shifted.chance,
        "value_p": shifted.p_value,
        "free_chance": free.chance,
        "free_p": free.p_value,
    }


def slow_wave(rng: np.random.Generator) -> tuple[Matrix, Vector]:
    """Simulate eight untuned neurons that follow a slow wave, with conditions that repeat six times in a row."""
    drift, phase = 0.6 * rng.standard_normal((2, 8)), np.linspace(0, 6, 96)[:, None]
    X = rng.poisson(np.exp(1 + drift[0] * np.sin(phase) + drift[1] * np.cos(phase)))
    return X.astype(float), np.repeat(rng.permutation(np.tile(np.arange(4), 4)), 6)


def _numbers_row(uneven: bool, seed: int) -> dict[str, float]:
    """Score untuned neurons for 16 conditions, shown equally often or as often as in a session."""
    contrasts = np.asarray(recordings.session("Forssmann 5").conditions)
    shown = np.unique(contrasts, axis=0, return_inverse=True)[1].ravel()
    labels = shown if uneven else np.arange(len(shown)) % 16
    rng = np.random.default_rng([17, seed])
    X, order = rng.poisson(2, size=(len(shown), 28)), rng.permutation(len(shown))
    return {
        "value": trial_split(X, labels[order], n_permutations=0, **_ALL).value,
        "equal": trial_split(X, labels[order], trials_per_half=recordings.EACH, n_permutations=0).value,
        "wuc": wuc(X, labels[order], n_permutations=0).value,
    }


_NULLS = {"free_p": "conditions shuffled", "value_p": "circular shifts"}


@odd_even.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Make the page: the share of areas that are called stable, by split and null distribution."""
    recorded, wave, still = split_data(rows)
    areas, rates = _recording_table(recorded), _rates(wave)
    scores = still.groupby("data", sort=False)[["value", "equal", "wuc"]].mean().reset_index()
    shows = "Rates of false positives under slow drift; scores of recorded areas with two null values"
    tables = (
        ("Recorded areas, by how trials are halved", areas.assign(mean=areas["mean"].map("{:.2f}".format))),
        ("Untuned neurons with a slow wave: share significant at the 5 % level", rates),
        ("Untuned neurons with equal and unequal numbers of trials: mean scores", scores),
    )
    return Page("", tables, (Picture("odd_even", _draw(areas, rates), shows),))


def split_data(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return rows of recordings, of neurons on a slow wave, and of neurons with unequal numbers of trials."""
    recorded = rows[~rows.data.isin([WAVE, EVEN, UNEVEN])].rename(columns={"data": "session"})
    return recorded, rows[rows.data == WAVE], rows[rows.data.isin([EVEN, UNEVEN])]


def _recording_table(rows: pd.DataFrame) -> pd.DataFrame:
    lines = [
        {
            "trials": split,
            "areas": len(group),
            "mean": recordings.over_sessions(group, "value"),
            "shifted": group.value_chance.mean(),
            "above": (group.value_p <= 0.05).sum(),
            "shuffled": group.free_chance.mean(),
            "above shuffled": (group.free_p <= 0.05).sum(),
        }
        for split, group in rows.dropna(subset=["value"]).groupby("split", sort=False)
    ]
    return pd.DataFrame(lines)


def _rates(rows: pd.DataFrame) -> pd.DataFrame:
    hits = rows[list(_NULLS)] <= 0.05
    return hits.groupby(rows.split, sort=False).mean().rename(columns=_NULLS).reset_index(names="trials")


def _draw(areas: pd.DataFrame, rates: pd.DataFrame) -> Any:
    drawn, (left, right) = figure(2, width=4.4, height=4.1)
    for shift, name in enumerate(_NULLS.values()):
        left.bar(
            rates.index + 0.38 * shift - 0.19, rates[name], width=0.36, color=PALETTE[shift], label=f"null: {name}"
        )
    left.axhline(0.05, color="0.4", linewidth=0.8, linestyle="--", label="level, 5 %")
    left.set_xticks(rates.index, rates.trials, rotation=25, ha="right")
    left.set(ylabel="share significant at 5 %", title="Untuned neurons with a slow wave")
    left.legend(frameon=False, fontsize="small")
    draw_with_intervals(right, areas.index, areas["mean"], fmt="o", color=PALETTE[0], label="areas")
    style = {"marker": "_", "markersize": 15, "markeredgewidth": 2, "linestyle": ""}
    right.plot(areas.index, areas.shifted, label="chance: conditions shifted", color=PALETTE[1], **style)
    right.plot(areas.index, areas.shuffled, label="chance: shuffled", color=PALETTE[2], **style)
    right.axhline(0, color="0.7", linewidth=0.8)
    right.set_xticks(areas.index, areas.trials, rotation=40, ha="right", fontsize=7)
    right.set(ylabel="rank correlation of distances", title="Recorded areas")
    names = right.get_legend_handles_labels()
    drawn.legend(*names, frameon=False, fontsize="small", loc="outside lower right", ncols=3)
    return drawn


@odd_even.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the facts by which the claims are judged."""
    recorded, wave, still = split_data(rows)
    shifts = {str(split): share(group.value_p <= 0.05) for split, group in wave.groupby("split", sort=False)}
    means = still.groupby("data").value.agg(["mean", "sem"])
    values = {
        "odd and even, free": share(wave[wave.split == "odd and even"].free_p <= 0.05),
        "odd and even, value": shifts["odd and even"],
        "worst_shift": max(shifts.values(), key=lambda rate: rate.value),
        "shifts in words": ", ".join(f"{split} {rate.value:.0%}" for split, rate in shifts.items()),
        "draws": wave.unit.nunique(),
        "far_in_errors": (means["mean"] / means["sem"]).abs().max(),
        **{"equal": means["mean"][EVEN], "unequal": means["mean"][UNEVEN]},
        "others": still.groupby("data")[["equal", "wuc"]].mean().abs().to_numpy().max(),
    }
    return as_facts(values | _recording_facts(recorded))


def _recording_facts(rows: pd.DataFrame) -> dict[str, Any]:
    """Agreement of halves, and the share that remains between halves without common drift; sessions are resampled."""
    near, apart = "odd and even, 4 trials each", "early and late, 4 trials each"
    if not {near, apart} <= set(rows.split):
        return {}
    wide = rows.pivot_table(index=["session", "unit"], columns="split", values="value")[[near, apart]].dropna()
    kept = resampled_groups(
        lambda areas: float(areas[apart].mean() / areas[near].mean()), wide.reset_index(), "session"
    )
    means = rows.groupby("split")[["value", "value_chance"]].mean()
    return {
        **{"four_odd": means.value[near], "four_halves": means.value[apart]},
        **{"kept": kept, "slow": Fact(1 - kept.value, 1 - kept.high, 1 - kept.low)},
        **{"recorded": means.value["odd and even"], "recorded_shifted": means.value_chance["odd and even"]},
    }
