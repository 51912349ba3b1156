"""Facts of the study on odd and even trials: what slow drift and unequal numbers of trials do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.studies.facts import Fact, Facts, as_facts, rate, resampled
from shesha_studies.biology._odd_even_page import EVEN, UNEVEN, split_data

_EQUAL, _APART = "odd and even, 4 trials each", "early and late, 4 trials each"


def make_facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return the facts by which the claims are judged."""
    recorded, wave, still = split_data(rows)
    values: dict[str, Any] = {}
    for split, group in wave.groupby("split", sort=False):
        for null in ("free", "value"):
            values[f"{split}, {null}"] = rate(int((group[f"{null}_p"] <= 0.05).sum()), len(group))
    shifts = {name: fact for name, fact in values.items() if name.endswith(", value")}
    values["worst_shift"] = max(shifts.values(), key=lambda fact: fact.value)
    values["shifts in words"] = ", ".join(
        f"{name.removesuffix(', value')} {fact.value:.0%}" for name, fact in shifts.items()
    )
    means = still.groupby("data").value.agg(["mean", "sem"])
    values["far_in_errors"] = (means["mean"] / means["sem"]).abs().max()
    values |= {name: means["mean"].get(data, np.nan) for name, data in (("equal", EVEN), ("unequal", UNEVEN))}
    values["others"] = still.groupby("data")[["equal", "wuc"]].mean().abs().to_numpy().max()
    return as_facts(values | _recording_facts(recorded))


def _kept(rows: pd.DataFrame) -> Fact:
    """Share of the agreement that remains between halves that share no slow drift; areas are resampled."""
    wide = rows[rows.split.isin([_EQUAL, _APART])].pivot_table(index="unit", columns="split", values="value").dropna()
    odd, late = (wide[split].to_numpy() for split in (_EQUAL, _APART))
    return resampled(
        lambda areas: float(late[areas].mean() / odd[areas].mean()), [np.array([area]) for area in range(len(wide))]
    )


def _slow(kept: Fact) -> Fact:
    """Share of the agreement that is slow drift."""
    return Fact(1 - kept.value, 1 - kept.high, 1 - kept.low)


def _recording_facts(rows: pd.DataFrame) -> dict[str, Any]:
    if not {_EQUAL, _APART} <= set(rows.split):
        return {}
    odd, late = (float(rows.loc[rows.split == split, "value"].mean()) for split in (_EQUAL, _APART))
    split_rows, kept = rows[rows.split == "odd and even"], _kept(rows)
    return {
        **{"four_odd": odd, "four_halves": late, "kept": kept, "slow": _slow(kept)},
        **{"recorded": split_rows.value.mean(), "recorded_shifted": split_rows.value_chance.mean()},
    }
