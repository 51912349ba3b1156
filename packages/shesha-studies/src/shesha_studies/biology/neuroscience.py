"""Is the geometry of brain areas reliable, does it drift, and is it related to behaviour?"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from shesha.neuro import Session, tertiles, trial_split
from shesha.studies.checks import DATA
from shesha.studies.facts import Fact, Facts, over_draws, rank_correlation, rate
from shesha.studies.published_checks import split_numbers_and_claims
from shesha.studies.study_decorator import study
from shesha.support.types import Index, Matrix
from shesha_studies.biology._neuroscience_checks import (
    SIZES,
    drift_z,
    order_of_regions,
    session_means,
)
from shesha_studies.biology._neuroscience_page import make_page
from shesha_studies.biology._recordings import (
    CELLS,
    EACH,
    add_regions,
    as_difference,
    as_nine,
    count_areas,
    one_area,
    over_sessions,
    score_numbers,
    session_correlation,
    session_line,
)

FOUR = ("trial_split", "centroid_drift", "wuc", "behaviour_coupling")
FEW = {"n_neurons": 20, "n_draws": 10, "n_splits": 8}
"""Number of neurons and of draws if all areas are scored with the same number of neurons."""
SHRINKAGE = 0.1
READINGS = ("shesha", "nine", "difference")
"""The split with each pair of contrasts, and with nine conditions: three levels on either side, or nine differences.
The paper has "each unique stimulus combination (9 contrast pairings)"; the data have 15 or 16 pairs."""


@study(
    "neuroscience",
    paper="Geometric Stability, 3.5 and 13, Tables 75 to 78",
    version=1,
    full=CELLS,
    quick=[cell for cell in CELLS if cell["session"] in ("Cori 1", "Forssmann 6", "Hench 11")],
    published="neuroscience.csv",
    on=DATA,
)
def neuroscience(session: str, area: str) -> dict[str, float | int]:
    """Is the geometry of neural responses reliable, does it drift, and is it related to behaviour?

    The data are areas with at least 10 neurons in 18 sessions of four mice (Steinmetz et al. 2019). The numbers are the
    split of odd and even trials, halves and thirds of the session, the whitened unbiased cosine, and the relation to
    the outcome. Each has its chance level.
    """
    area_trials = one_area(session, area)
    nine, difference = (one_area(session, area, merge) for merge in (as_nine, as_difference))
    line = session_line(area_trials, scores=FOUR, n_permutations=99, trials_per_half="all")
    drift = {"scores": ("centroid_drift",)}
    free = session_line(area_trials, **drift, n_permutations=500)
    shifted = session_line(area_trials, **drift, n_permutations=99, drift_null="shift")
    splits = {"scores": ("trial_split",), "n_permutations": 99, "trials_per_half": "all"}
    thirds = tertiles(area_trials.X, n_permutations=0)
    outcome = np.asarray(area_trials.outcome)
    half = len(outcome) // 2
    return {
        "n_trials": line.n_trials,
        "n_conditions": line.n_conditions,
        "n_neurons": line.n_neurons,
        "rate": line.rate,
        **score_numbers(line, "trial_split", "shesha"),
        **score_numbers(session_line(nine, **splits), "trial_split", "nine"),
        **score_numbers(session_line(difference, **splits), "trial_split", "difference"),
        **score_numbers(session_line(area_trials, **{**splits, "trials_per_half": EACH}), "trial_split", "equal"),
        "few": session_line(area_trials, scores=("trial_split",), n_permutations=0, trials_per_half=EACH, **FEW)
        .scores["trial_split"]
        .value
        if line.n_neurons >= FEW["n_neurons"]
        else float("nan"),
        **score_numbers(free, "centroid_drift", "drift"),
        **score_numbers(shifted, "centroid_drift", "shifted"),
        **score_numbers(line, "wuc", "wuc"),
        "whitened": _whitened_split(area_trials),
        **score_numbers(line, "behaviour_coupling", "coupling"),
        "early_middle": thirds.early_middle.observed,
        "middle_late": thirds.middle_late.observed,
        "accuracy": float(outcome.mean()),
        "accuracy_change": float(outcome[half:].mean() - outcome[:half].mean()),
    }


def _whitened_split(recording: Session) -> float:
    """Agreement of odd and even trials after whitening with a shrinkage of 0.1, another reading of the paper's WUC."""
    X = np.asarray(recording.X)
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    shown = np.unique(np.asarray(recording.conditions), axis=0, return_inverse=True)[1].ravel()
    white = whitened(X, shown, SHRINKAGE)
    result = trial_split(white, recording.conditions, trials_per_half="all", normalize=False, n_permutations=0)
    return float(result.observed)


def whitened(X: Matrix, shown: Index, shrinkage: float) -> Matrix:
    """Give the noise within conditions the same variance in all directions, after shrinking its covariance."""
    means = np.stack([X[shown == code].mean(axis=0) for code in range(shown.max() + 1)])
    residuals = X - means[shown]
    noise = residuals.T @ residuals / (len(X) - len(means))
    shrunk = (1 - shrinkage) * noise + shrinkage * np.trace(noise) / len(noise) * np.eye(len(noise))
    values, axes = np.linalg.eigh(shrunk)
    return np.asarray(X @ (axes / np.sqrt(np.maximum(values, 1e-12))) @ axes.T)


neuroscience.page(make_page)


@neuroscience.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame) -> Facts:
    """Return means and correlations with intervals over whole sessions, and shares of areas beyond chance."""
    lines, _ = split_numbers_and_claims(published)
    published = lines.assign(published=lines.published.astype(float))
    rows = add_regions(rows).assign(step=lambda table: table.early_middle - table.middle_late)
    means = [f"{name}{end}" for name in (*READINGS, "equal") for end in ("", "_chance")]
    facts = {name: Fact(*over_sessions(rows, name)) for name in (*means, "step")}
    for name in (*READINGS, "equal", "drift", "shifted"):
        above, n = count_areas(rows, name)
        facts |= {f"beyond_{name}": _beyond(rows, name), f"areas_{name}": Fact(n), f"areas_beyond_{name}": Fact(above)}
    facts |= _by_reading("beyond", [facts[f"beyond_{name}"] for name in READINGS])
    for name, score in (("z", "drift"), ("z_elsewhere", "shifted")):
        facts[name] = Fact(*over_sessions(drift_z(rows, score), "z"))
    return facts | _correlations(rows) | _orders(rows, published)


def _beyond(rows: pd.DataFrame, name: str) -> Fact:
    """Share of the areas beyond chance, with its interval over sessions; if all areas are alike, over areas."""
    known = rows.dropna(subset=[name])
    hits = known.assign(hit=(known[f"{name}_p"] <= 0.05).astype(float))
    if hits.hit.nunique() < 2:
        return rate(*count_areas(rows, name))
    value, low, high = over_sessions(hits, "hit")
    return Fact(value, max(low, 0.0), min(high, 1.0))


def _of_readings(readings: list[Fact]) -> Fact:
    """Return the first reading, with the lowest and the highest limit of all, so that all must agree to decide."""
    low, high = zip(*(reading.limits for reading in readings), strict=True)
    return Fact(readings[0].value, min(low), max(high))


def _by_reading(name: str, readings: list[Fact]) -> dict[str, Fact]:
    """Name the facts of the readings, and that of all together."""
    facts = {f"{name}_{reading}": found for reading, found in zip(READINGS, readings, strict=True)}
    return facts | {f"{name}_any": _of_readings(readings)}


def _correlations(rows: pd.DataFrame) -> dict[str, Fact]:
    """Correlations of scores with behaviour; whole sessions are resampled."""

    def fact(first: str, second: str, given: tuple[str, ...] = ()) -> Fact:
        result = session_correlation(rows, first, second, given)
        return Fact(result["rho"], result["low"], result["high"])

    facts = {f"coupling_{name}": fact("coupling", name) for name in ("drift", "wuc")}
    for name in ("coupling", "accuracy", "accuracy_change"):
        facts |= _by_reading(name, [fact(name, reading) for reading in READINGS])
    facts |= _by_reading("coupling_given", [fact("coupling", reading, SIZES) for reading in READINGS])
    step = session_means(rows).accuracy_change
    return facts | {
        "latter_half": over_draws(step),
        "latter_half_sd": Fact(float(step.std())),
        "sessions_worse": Fact(float((step < 0).sum())),
        "sessions": Fact(float(len(step))),
    }


def _orders(rows: pd.DataFrame, published: pd.DataFrame) -> dict[str, Fact]:
    """Rank correlations of our order of the regions with the published order, and of two scores with each other."""
    n = rows.region.nunique()

    def alike(name: str, table: str = "shesha") -> Fact:
        return rank_correlation(order_of_regions(rows, published, name, table), n)

    means = rows.groupby("region")[[*READINGS, "drift"]].mean()
    rhos = [float(spearmanr(means[name], means.drift).statistic) for name in READINGS if len(means) > 3]
    orders = [rank_correlation(rho, n) for rho in rhos] or [Fact(float("nan"))] * len(READINGS)
    return {
        **_by_reading("order", [alike(name) for name in READINGS]),
        **_by_reading("orders", orders),
        **{f"order_{name}": alike(name) for name in ("few", "wuc")},
        "order_drift": alike("drift", "drift"),
    }
