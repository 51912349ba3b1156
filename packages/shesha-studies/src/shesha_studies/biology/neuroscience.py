"""Is the geometry of brain areas reliable, does it drift, and is it related to behaviour?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from shesha.charts import PALETTE
from shesha.neuro import Session, tertiles, trial_split
from shesha.studies.checks import DATA
from shesha.studies.facts import Fact, Facts, over_draws, rank_correlation, rate
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import draw_with_intervals, figure
from shesha.studies.published_checks import against, split_numbers_and_claims
from shesha.studies.study_definition import study
from shesha.support.types import Index, Matrix
from shesha_studies.biology._neuroscience_checks import (
    SIZES,
    drift_z,
    order_of_regions,
    published_checks,
    session_means,
)
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


@neuroscience.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame) -> Facts:
    """Return means and correlations with intervals over whole sessions, and shares of areas beyond chance."""
    lines, _ = split_numbers_and_claims(published)
    published = lines.assign(published=lines.published.astype(float))
    rows = add_regions(rows).assign(step=lambda table: table.early_middle - table.middle_late)
    means = ("shesha", "shesha_chance", "equal", "equal_chance", "step")
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
    step = session_means(rows).accuracy_change
    return facts | {
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
        for name in ("shesha", "few", "wuc")
    }
    facts["order_drift"] = rank_correlation(order_of_regions(rows, published, "drift", "drift"), n)
    means = rows.groupby("region")[["shesha", "drift"]].mean()
    rho = float(spearmanr(means.shesha, means.drift).statistic) if len(means) > 3 else float("nan")
    return facts | {"orders": rank_correlation(rho, n)}


_CALLED = {
    "shesha": "odd and even trials",
    "nine": "odd and even, 9 conditions",
    "equal": "odd and even, 4 trials of each condition",
    "few": "odd and even, 4 trials of each condition, 20 neurons",
    "wuc": "whitened unbiased cosine",
    "whitened": "odd and even, whitened (shrinkage 0.1)",
    "drift": "first and second half",
}
_REGIONS = ("Striatum", "Motor", "Visual", "Thalamus", "Midbrain", "Other", "Frontal", "Hippocampus")


@neuroscience.page
def page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Compare areas, regions and drift with Tables 75 to 78."""
    rows = add_regions(rows)
    lines, worded = split_numbers_and_claims(published)
    printed = lines.assign(published=lines.published.astype(float))
    shows = (
        "Scores of regions for odd and even trials, equal numbers of trials, and halves of the session, with "
        "null values and the published values"
    )
    picture = Picture("neuroscience", _draw(rows, printed), shows)
    checks = (*published_checks(rows, printed), *against(worded, {}))
    return Page("", tuple(_tables(rows)), (picture,), _notes(rows), checks)


def interval_text(found: tuple[float, float, float], decimals: int = 3) -> str:
    """Print a mean and its interval."""
    return f"{Fact(*found):.{decimals}f}"


def _tables(rows: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    yield "All areas", pd.DataFrame([_line(rows, name) for name in _CALLED])
    yield "Regions (Tables 76 and 77)", pd.DataFrame([_region(rows, name) for name in _REGIONS])
    lines = []
    nulls = {"drift": "trials in random order (500 draws)", "shifted": "sessions cut at other points (99)"}
    for name, called in nulls.items():
        below, n = count_areas(rows, name)
        z = interval_text(over_sessions(drift_z(rows, name), "z"), 1)
        observed, chance = (interval_text(over_sessions(rows, column)) for column in ("drift", f"{name}_chance"))
        lines.append({"chance": called, "z": z, "observed": observed, "by chance": chance, "below": f"{below} of {n}"})
    yield "Null models of the similarity between halves of a session (Table 78)", pd.DataFrame(lines)
    yield (
        "Correlation of scores with the coupling of response and outcome (Table 75)",
        pd.DataFrame([_coupling_line(rows, name) for name in _COUPLED]),
    )


_COUPLED = ("shesha", "equal", "drift", "wuc")


def _line(rows: pd.DataFrame, name: str) -> dict[str, Any]:
    values: dict[str, Any] = {
        "score": _CALLED[name],
        "mean, interval over sessions": interval_text(over_sessions(rows, name)),
    }
    if f"{name}_chance" not in rows:
        return values | {"chance": float("nan"), "beyond": "-"}
    beyond_, n = count_areas(rows, name)
    return values | {"chance": float(rows[f"{name}_chance"].mean()), "beyond": f"{beyond_} of {n}"}


def _region(rows: pd.DataFrame, region: str) -> dict[str, Any]:
    subset = rows[rows.region == region]
    values: dict[str, Any] = {"region": region, "n": len(subset), "neurons": float(subset.n_neurons.median())}
    for name, short in (("shesha", "odd and even"), ("equal", "4 trials each"), ("few", "and 20 neurons")):
        values[short] = interval_text(over_sessions(subset, name), 2)
        if name != "few" and len(subset):
            values[f"{short}: chance"] = float(subset[f"{name}_chance"].mean())
            values[f"{short}: above"] = "{}/{}".format(*count_areas(subset, name))
    values["drift"] = interval_text(over_sessions(subset, "drift"), 2)
    values["cut elsewhere"] = float(subset.shifted_chance.mean())
    return values


def _coupling_line(rows: pd.DataFrame, name: str) -> dict[str, Any]:
    plain, partial = session_correlation(rows, "coupling", name), session_correlation(rows, "coupling", name, SIZES)
    return {
        "score": _CALLED[name],
        "rho": f"{plain['rho']:+.3f} [{plain['low']:+.2f}, {plain['high']:+.2f}]",
        "p over sessions": plain["p"],
        "p as if areas were independent": plain["naive_p"],
        "given neurons, trials, rate": f"{partial['rho']:+.3f} [{partial['low']:+.2f}, {partial['high']:+.2f}]",
        "p of it": partial["p"],
    }


def _draw(rows: pd.DataFrame, published: pd.DataFrame) -> Any:
    drawn, axes = figure(3, width=4.3, height=4.1)
    panels = (
        ("odd and even trials", "shesha", "shesha", (("shesha_chance", "conditions shifted"),)),
        ("4 trials of each condition per half", "equal", "", (("equal_chance", "conditions shifted"),)),
        (
            "first and second half",
            "drift",
            "drift",
            (("drift_chance", "trials in random order"), ("shifted_chance", "session cut elsewhere")),
        ),
    )
    for ax, (title, score, table, nulls) in zip(axes, panels, strict=True):
        known = [region for region in _REGIONS if (rows.region == region).any()]
        positions = np.arange(len(known))
        means = [Fact(*over_sessions(rows[rows.region == region], score)) for region in known]
        draw_with_intervals(ax, positions - 0.12, means, fmt="o", color=PALETTE[0], label="ours")
        if table:
            keys = published[published["where"].str.contains("Table")].set_index("key")[["published", "low", "high"]]
            printed = [Fact(*keys.loc[f"{table} {region}"].astype(float)) for region in known]
            draw_with_intervals(ax, positions + 0.12, printed, fmt="x", color="k", label="paper")
        for (column, description), colour in zip(nulls, PALETTE[1:], strict=False):
            chance = [rows[rows.region == region][column].mean() for region in known]
            style = {"marker": "_", "markersize": 15, "markeredgewidth": 2, "linestyle": "", "color": colour}
            ax.plot(positions, chance, label=f"chance: {description}", **style)
        ax.set_xticks(positions, known, rotation=40, ha="right")
        ax.set(title=title)
        ax.legend(frameon=False, fontsize="small")
    axes[0].set_ylabel("rank correlation of distances")
    axes[2].set_ylabel("cosine of mean responses")
    return drawn


def _notes(rows: pd.DataFrame) -> tuple[str, ...]:
    share = (1 - rows.shifted_chance.mean()) / (1 - rows["drift"].mean())
    return (
        f"We have {rows.session.nunique()} of 39 sessions, from four mice (the paper: 26 sessions). We use spikes in "
        "the 400 ms after the stimulus (the paper: 500 ms) and areas with at least 10 neurons. Our intervals are "
        "over sessions. Those of the paper are over areas, as if areas of one session were independent.",
        f"The conditions are the {rows.n_conditions.median():.0f} pairs of contrasts. The mean response to a rare "
        "pair is noisy and far from all others in both halves. The expected score without any geometry is therefore "
        "0 only with equal numbers of trials. The study `odd-even` separates slow drift from unequal numbers.",
        f"Halves of a session that is cut at other points have a mean cosine of {rows.shifted_chance.mean():.3f}. "
        f"This explains {share:.0%} of the drop from 1.",
        "The numbers of areas above or below a null are counted at 5 % without correction, so one in twenty is "
        "expected by chance.",
        "The paper contradicts itself. It gives 228 and 229 areas, 68 and 42 brain areas, differences between "
        "thirds of 0.001 and -0.001, and correlations with the change of accuracy of -0.05 (areas) and -0.079 "
        "(sessions).",
    )
