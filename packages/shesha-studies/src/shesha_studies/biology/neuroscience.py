"""Is the geometry of brain areas reliable, does it drift, and is it related to behaviour?"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from shesha.neuro import Session, tertiles, trial_split
from shesha.studies.checks import DATA
from shesha.studies.facts import Fact, Facts, over_draws, rank_correlation, rate, smallest
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
    area_trials, nine = one_area(session, area), one_area(session, area, nine=True)
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
    means = ("shesha", "shesha_chance", "nine", "nine_chance", "equal", "equal_chance", "step")
    facts = {name: Fact(*over_sessions(rows, name)) for name in means}
    for name in ("shesha", "equal", "drift", "shifted"):
        above, n = count_areas(rows, name)
        facts |= {f"beyond_{name}": rate(above, n), f"areas_{name}": Fact(n), f"areas_beyond_{name}": Fact(above)}
    for name, score in (("z", "drift"), ("z_elsewhere", "shifted")):
        facts[name] = Fact(*over_sessions(drift_z(rows, score), "z"))
    return facts | _correlations(rows) | _orders(rows, published)


def _correlations(rows: pd.DataFrame) -> dict[str, Fact]:
    """Correlations of scores with behaviour; whole sessions are resampled."""

    def fact(result: dict[str, float]) -> Fact:
        return Fact(result["rho"], result["low"], result["high"])

    facts = {
        f"coupling_{name}": fact(session_correlation(rows, "coupling", name)) for name in ("shesha", "drift", "wuc")
    }
    facts |= {name: fact(session_correlation(rows, name, "shesha")) for name in ("accuracy", "accuracy_change")}
    # The paper has nine pairs of contrasts and does not name them.
    for name in ("coupling", "accuracy", "accuracy_change"):
        facts[f"{name}_nine"] = fact(session_correlation(rows, name, "nine"))
    step = session_means(rows).accuracy_change
    return facts | {
        "coupling_least": smallest([facts["coupling_shesha"], facts["coupling_nine"]]),
        "coupling_given_nine": fact(session_correlation(rows, "coupling", "nine", SIZES)),
        "coupling_given": fact(session_correlation(rows, "coupling", "shesha", SIZES)),
        "latter_half": over_draws(step),
        "latter_half_sd": Fact(float(step.std())),
        "sessions_worse": Fact(float((step < 0).sum())),
        "sessions": Fact(float(len(step))),
    }


def _orders(rows: pd.DataFrame, published: pd.DataFrame) -> dict[str, Fact]:
    """Rank correlations of our order of the regions with the published order, and of two scores with each other."""
    n = rows.region.nunique()
    facts = {
        f"order_{name}": rank_correlation(order_of_regions(rows, published, name), n)
        for name in ("shesha", "nine", "few", "wuc")
    }
    facts["order_drift"] = rank_correlation(order_of_regions(rows, published, "drift", "drift"), n)
    means = rows.groupby("region")[["shesha", "drift"]].mean()
    rho = float(spearmanr(means.shesha, means.drift).statistic) if len(means) > 3 else float("nan")
    return facts | {"orders": rank_correlation(rho, n)}
