"""How much of the agreement of odd and even trials is slow drift, and how much unequal trials?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shesha.neuro import trial_split, wuc
from shesha.studies.checks import DATA
from shesha.studies.study_definition import study
from shesha.support.types import Matrix, Vector
from shesha_studies.biology._odd_even_facts import make_facts
from shesha_studies.biology._odd_even_page import EVEN, UNEVEN, WAVE, make_page
from shesha_studies.biology._recordings import CELLS, EACH, one_area, score_numbers, session, session_line

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

    Every area of 18 recorded sessions by eight ways to halve the trials, each with conditions in any order and beside
    conditions shifted along the session; and neurons that know no condition: those that follow a slow wave while
    conditions repeat in a row, and those that are shown conditions equally and unequally often.
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


odd_even.page(make_page)
odd_even.facts(make_facts)
