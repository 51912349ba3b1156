"""Is the geometry of brain areas reliable, does it drift, and is it related to behaviour?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from shesha.kernels.condition_distances import centre_and_scale
from shesha.neuro.session_drift import steps
from shesha.neuro.trials import Trials
from shesha_studies.biology import _recordings as recordings
from shesha_studies.biology._neuroscience_page import make_page
from shesha_studies.biology._recordings import READINGS
from shesha_studies.framework.checks import DATA
from shesha_studies.framework.facts import Fact, Facts, as_facts, over_draws, rank_correlation, rate
from shesha_studies.framework.study_decorator import study

FOUR = ("trial_split", "centroid_drift", "wuc", "behaviour_coupling")
FEW: Mapping[str, Any] = {"n_neurons": 20, "n_draws": 10, "n_splits": 8}
"""Number of neurons and of draws if all areas are scored with the same number of neurons."""


@study(
    "neuroscience",
    paper="Geometric Stability, 3.5 and 13, Tables 75 to 78",
    version=1,
    full=recordings.CELLS,
    quick=[cell for cell in recordings.CELLS if cell["session"] in ("Cori 1", "Forssmann 6", "Hench 11")],
    published="neuroscience.csv",
    on=DATA,
)
def neuroscience(session: str, area: str) -> dict[str, float]:
    """Is the geometry of neural responses reliable, does it drift, and is it related to behaviour?

    The data are areas with at least 10 neurons in 18 sessions of four mice (Steinmetz et al. 2019). The numbers are the
    split of odd and even trials, halves and thirds of the session, the whitened unbiased cosine, and the relation to
    the outcome. Each has its chance level.
    """
    area_trials = recordings.one_area(session, area)
    line = recordings.session_line(area_trials, scores=FOUR, n_permutations=99, trials_per_half="all")
    score = recordings.score_one_area
    few = float("nan")
    if line.n_neurons >= FEW["n_neurons"]:
        few = score(area_trials, "trial_split", "few", n_permutations=0, trials_per_half=recordings.EACH, **FEW)["few"]
    merged: dict[str, float] = {}
    for name, merge in recordings.MERGED.items():
        conditions = recordings.one_area(session, area, merge)
        merged |= score(conditions, "trial_split", name, n_permutations=99, trials_per_half="all")
    rates = Trials.from_responses(area_trials.X, min_trials=6).rates
    early_middle, middle_late = steps(centre_and_scale(rates, unit=True, centred=False), 3)
    outcome = np.asarray(area_trials.outcome)
    half = len(outcome) // 2
    return {
        **{name: getattr(line, name) for name in ("n_conditions", *recordings.SIZES)},
        **recordings.score_numbers(line, "trial_split", "shesha"),
        **merged,
        **score(area_trials, "trial_split", "equal", n_permutations=99, trials_per_half=recordings.EACH),
        **score(area_trials, "centroid_drift", "drift", n_permutations=500),
        **score(area_trials, "centroid_drift", "shifted", n_permutations=99, drift_null="shift"),
        **recordings.score_numbers(line, "wuc", "wuc"),
        **recordings.score_numbers(line, "behaviour_coupling", "coupling"),
        "few": few,
        **{"early_middle": float(early_middle), "middle_late": float(middle_late)},
        "accuracy": float(outcome.mean()),
        "accuracy_change": float(outcome[half:].mean() - outcome[:half].mean()),
    }


neuroscience.page(make_page)


@neuroscience.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame) -> Facts:
    """Return means and correlations with intervals over whole sessions, and shares of areas beyond chance."""
    rows = recordings.derived_columns(rows)
    means = [f"{name}{end}" for name in (*READINGS, "equal") for end in ("", "_chance")]
    values: dict[str, Any] = {name: recordings.over_sessions(rows, name) for name in (*means, "step")}
    values |= {
        "z": recordings.over_sessions(rows, "drift_z"),
        "z_elsewhere": recordings.over_sessions(rows, "shifted_z"),
    }
    for name in (*READINGS, "equal", "drift", "shifted"):
        above, n = recordings.count_areas(rows, name)
        values |= {f"beyond_{name}": _beyond(rows, name), f"areas_{name}": n, f"areas_beyond_{name}": above}
    values |= _by_reading("beyond", [values[f"beyond_{name}"] for name in READINGS])
    elsewhere = rows.shifted_chance.mean()
    values |= {"cut elsewhere": elsewhere, "drop explained": (1 - elsewhere) / (1 - rows["drift"].mean())}
    values |= {f"mean of {name}{end}": rows[f"{name}{end}"].mean() for name in READINGS[1:] for end in ("", "_chance")}
    values["conditions"] = rows.n_conditions.median()
    return as_facts(values | _correlations(rows) | _orders(rows, published))


def _beyond(rows: pd.DataFrame, name: str) -> Fact:
    """Share of the areas beyond chance, with its interval over sessions; if all areas are alike, over areas."""
    known = rows.dropna(subset=[name])
    hits = known.assign(hit=(known[f"{name}_p"] <= 0.05).astype(float))
    if hits.hit.nunique() < 2:
        return rate(*recordings.count_areas(rows, name))
    share = recordings.over_sessions(hits, "hit")
    return Fact(share.value, max(share.low, 0.0), min(share.high, 1.0))


def _by_reading(name: str, readings: Sequence[Fact]) -> dict[str, Fact]:
    """Name the facts of the readings, and the first with the limits of all, so that all must agree to decide."""
    low, high = zip(*(reading.limits for reading in readings), strict=True)
    facts = {f"{name}_{reading}": found for reading, found in zip(READINGS, readings, strict=True)}
    return facts | {f"{name}_any": Fact(readings[0].value, min(low), max(high))}


def _correlations(rows: pd.DataFrame) -> dict[str, Any]:
    """Correlations of scores with behaviour; whole sessions are resampled."""

    def rho(behaviour: str, score: str, covariates: Sequence[str] = ()) -> Fact:
        return recordings.session_correlation(rows, behaviour, score, covariates).rho

    values = {f"coupling_{score}": rho("coupling", score) for score in ("drift", "wuc")}
    for behaviour in ("coupling", "accuracy", "accuracy_change"):
        values |= _by_reading(behaviour, [rho(behaviour, score) for score in READINGS])
    values |= _by_reading("coupling_given", [rho("coupling", score, recordings.SIZES) for score in READINGS])
    step = recordings.session_means(rows).accuracy_change
    return values | {
        **{"latter_half": over_draws(step), "latter_half_sd": step.std()},
        **{"sessions_worse": (step < 0).sum(), "sessions": len(step)},
    }


def _orders(rows: pd.DataFrame, published: pd.DataFrame) -> dict[str, Fact]:
    """Rank correlations of our order of the regions with the published order, and of two scores with each other."""
    means = rows.groupby("region")[[*READINGS, "few", "wuc", "drift"]].mean()
    stability, drift = (recordings.printed_regions(published, score).published for score in ("shesha", "drift"))

    def alike(first: pd.Series[float], second: pd.Series[float]) -> Fact:
        return rank_correlation(first.corr(second, method="spearman"), len(means))

    return {
        **_by_reading("order", [alike(means[name], stability) for name in READINGS]),
        **{f"order_{name}": alike(means[name], stability) for name in ("few", "wuc")},
        "order_drift": alike(means["drift"], drift),
        **_by_reading("orders", [alike(means[name], means["drift"]) for name in READINGS]),
    }
