"""The page on recordings: our values of the published numbers, tables, and the picture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr, ttest_rel

from shesha.charts import PALETTE
from shesha_studies.biology import _recordings as recordings
from shesha_studies.biology._recordings import READINGS, SIZES
from shesha_studies.framework.checks import INCONCLUSIVE, Found
from shesha_studies.framework.facts import Fact
from shesha_studies.framework.page import Page, Picture
from shesha_studies.framework.pictures import draw_with_intervals, figure
from shesha_studies.framework.published_checks import unjudged_answers
from shesha_studies.framework.tolerance import JOINT, UNDECIDED
from shesha_studies.printed_p_values import printed_p_values

_CALLED = {
    "shesha": "odd and even trials",
    "nine": "odd and even, 9 conditions (no, weak, full)",
    "difference": "odd and even, 9 conditions (differences)",
    "equal": "odd and even, 4 trials of each condition",
    "few": "odd and even, 4 trials of each condition, 20 neurons",
    "wuc": "whitened unbiased cosine",
    "drift": "first and second half",
}
_COUPLED = (*READINGS, "equal", "drift", "wuc")
_REGIONS = ("Striatum", "Motor", "Visual", "Thalamus", "Midbrain", "Other", "Frontal", "Hippocampus")
_LEVEL = 0.05
_PAIRS = (
    "This is for each pair of contrasts (16). With nine conditions, the number that the paper prints, it is {:.2g} "
    "(no, weak and full contrast on either side) or {:.2g} (contrast on the right minus that on the left)."
)


def make_page(rows: pd.DataFrame, published: pd.DataFrame) -> Page:
    """Compare areas, regions and drift with Tables 75 to 78."""
    rows = recordings.derived_columns(rows)
    shows = (
        "Scores of regions for odd and even trials, equal numbers of trials, and halves of the session, with "
        "null values and the published values"
    )
    picture = Picture("neuroscience", _draw(rows, published), shows)
    coupling = "Correlation of scores with the coupling of response and outcome (Table 75)"
    tables = (
        ("All areas", pd.DataFrame([_score_line(rows, name) for name in _CALLED])),
        ("Regions (Tables 76 and 77)", pd.DataFrame([_region_line(*group) for group in rows.groupby("region")])),
        (coupling, pd.DataFrame([_coupling_line(rows, name) for name in _COUPLED])),
    )
    return Page("", tables, (picture,), answers=published_numbers(rows) | printed_p_values(published))


def published_numbers(rows: pd.DataFrame) -> dict[str, Found]:
    """Return our values of the published numbers, with standard errors over sessions."""
    change = recordings.session_means(rows).accuracy_change
    means = {key: recordings.over_sessions(rows, key) for key in ("drift_chance", "early_middle", "middle_late")}
    named = {"drift_mean": "drift", "z": "drift_z", "thirds": "step"}
    means |= {key: recordings.over_sessions(rows, name) for key, name in named.items()}
    paired = ttest_rel(rows.early_middle, rows.middle_late)
    t, p = float(paired.statistic), float(paired.pvalue)
    not_comparable = {
        **{"n_sessions": len(change), "n_lines": len(rows), "n_areas": rows.area.nunique()},
        **{f"n {region}": len(group) for region, group in rows.groupby("region")},
        "change_min": float(change.min()),
        **{f"wuc_{how}": float(rows.wuc.agg(how)) for how in ("min", "max", "mean")},
        **{f"wuc {region}": float(group.wuc.mean()) for region, group in rows.groupby("region")},
        "wuc_shesha": recordings.session_correlation(rows, "wuc", "shesha").rho.value,
        "coupling_wuc": recordings.session_correlation(rows, "coupling", "wuc").rho.value,
    }
    return {
        **unjudged_answers(not_comparable),
        "n_conditions": Found(float(rows.n_conditions.median())),
        "change_mean": Found(float(change.mean()), float(change.std() / np.sqrt(len(change)))),
        "change_sd": Found(float(change.std()), float(change.std() / np.sqrt(2 * len(change)))),
        "change_max": Found(float(change.max())),
        **{key: Found(mean.value, _error(mean)) for key, mean in means.items()},
        "thirds_t": Found(t, 1.0, verdict=INCONCLUSIVE if abs(t) <= JOINT else None),
        "thirds_p": Found(p, why=UNDECIDED, verdict=INCONCLUSIVE) if p > _LEVEL else Found(p, p_value=True),
        **_correlations(rows),
        **_means_of_regions(rows),
    }


def _error(mean: Fact) -> float:
    """Return the standard error that a 95 % interval implies."""
    return (mean.high - mean.low) / (2 * JOINT)


def _by_reading(*readings: tuple[float, float]) -> Found:
    """Return a number, with its standard error, that depends on how conditions are counted."""
    (value, error), *others = readings
    return Found(value, error, note=_PAIRS.format(*(other for other, _ in others)), readings=tuple(others))


def _correlations(rows: pd.DataFrame) -> dict[str, Found]:
    """Correlations of scores with behaviour over areas, and of stability with the change of accuracy over sessions."""
    drift = recordings.session_correlation(rows, "coupling", "drift")
    found = {"coupling_drift": Found(drift.rho.value, _error(drift.rho))}
    pairs = {"coupling_shesha": "coupling", "accuracy_shesha": "accuracy", "change_shesha_areas": "accuracy_change"}
    for key, column in pairs.items():
        rhos = [recordings.session_correlation(rows, column, score).rho for score in READINGS]
        found[key] = _by_reading(*((rho.value, _error(rho)) for rho in rhos))
    sessions = recordings.session_means(rows)
    if len(sessions) > 3:
        alone = [float(spearmanr(sessions[score], sessions.accuracy_change).statistic) for score in READINGS]
        error = float(1 / np.sqrt(len(sessions) - 3))
        found["change_shesha"] = _by_reading(*((rho, error) for rho in alone))
    return found


def _means_of_regions(rows: pd.DataFrame) -> dict[str, Found]:
    found: dict[str, Found] = {}
    groups: Any = rows.groupby("region")
    for region, group in groups:
        # If there are few areas or sessions, the error is at least the standard error over areas.
        means = {score: recordings.over_sessions(group, score) for score in (*READINGS, "drift")}
        errors = {score: float(np.fmax(_error(mean), group[score].sem())) for score, mean in means.items()}
        found[f"shesha {region}"] = _by_reading(*((means[score].value, errors[score]) for score in READINGS))
        found[f"drift {region}"] = Found(means["drift"].value, errors["drift"])
    return found


def _score_line(rows: pd.DataFrame, name: str) -> dict[str, Any]:
    has_chance = f"{name}_chance" in rows
    return {
        "score": _CALLED[name],
        "mean, interval over sessions": f"{recordings.over_sessions(rows, name):.3f}",
        "chance": float(rows[f"{name}_chance"].mean()) if has_chance else float("nan"),
        "beyond": "{} of {}".format(*recordings.count_areas(rows, name)) if has_chance else "-",
    }


def _region_line(region: Any, rows: pd.DataFrame) -> dict[str, Any]:
    scores = {name: f"{recordings.over_sessions(rows, name):.2f}" for name in ("shesha", "equal", "few", "drift")}
    return {"region": region, "n": len(rows), "neurons": rows.n_neurons.median(), **scores}


def _coupling_line(rows: pd.DataFrame, name: str) -> dict[str, Any]:
    plain, partial = (recordings.session_correlation(rows, "coupling", name, covariates) for covariates in ((), SIZES))
    return {
        "score": _CALLED[name],
        "rho": f"{plain.rho:+.2f}",
        "p over sessions": plain.p,
        "p as if areas were independent": plain.naive_p,
        "given neurons, trials, rate": f"{partial.rho:+.2f}",
        "p of it": partial.p,
    }


def _draw(rows: pd.DataFrame, published: pd.DataFrame) -> Any:
    drawn, axes = figure(3, width=4.3, height=4.1)
    axes[1].sharey(axes[0])
    shifted = {"shifted_chance": "session cut elsewhere"}
    panels = {
        "shesha": ("odd and even trials", {"shesha_chance": "conditions shifted"}),
        "equal": ("4 trials of each condition per half", {"equal_chance": "conditions shifted"}),
        "drift": ("first and second half", {"drift_chance": "trials in random order", **shifted}),
    }
    known = [region for region in _REGIONS if region in set(rows.region)]
    positions = np.arange(len(known))
    for ax, (score, (title, nulls)) in zip(axes, panels.items(), strict=True):
        means = [recordings.over_sessions(rows[rows.region == region], score) for region in known]
        draw_with_intervals(ax, positions - 0.12, means, fmt="o", color=PALETTE[0], label="ours")
        if score != "equal":
            lines = recordings.printed_regions(published, score).loc[known]
            printed = [Fact(*map(float, line)) for line in lines[["published", "low", "high"]].to_numpy()]
            draw_with_intervals(ax, positions + 0.12, printed, fmt="x", color="k", label="paper")
        for (column, description), colour in zip(nulls.items(), PALETTE[1:], strict=False):
            chance = rows.groupby("region")[column].mean()[known]
            style = {"marker": "_", "markersize": 15, "markeredgewidth": 2, "linestyle": "", "color": colour}
            ax.plot(positions, chance, label=f"chance: {description}", **style)
        ax.set_xticks(positions, known, rotation=40, ha="right")
        ax.set(title=title)
        ax.legend(frameon=False, fontsize="small")
    axes[0].set_ylabel("rank correlation of distances")
    axes[2].set_ylabel("cosine of mean responses")
    return drawn
