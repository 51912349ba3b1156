"""Rows of the study `crispr`, by part and setting: every number is compared with groups without an effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from shesha.bio.analysis import (
    compare_with_null_tables,
    correlation,
    discordance_quartiles,
    discordances,
    fake_tables,
    influence,
    mixed_model,
    null_model,
    pooled_correlations,
    seed_ablation,
)
from shesha.coherence import coherence_by_group, expected_mean_cosine
from shesha_studies.biology import _single_cell_data as screens
from shesha_studies.biology._crispr_results import BOTH, SCORES, SCREEN, STIMULATION

Row = dict[str, float | int | str]
DRAWS = {"standard": 999, "whitened": 999, "knn": 99}
GIVEN: Mapping[str, Sequence[str]] = {"nothing": (), "n": ("n",), "snr": ("snr",), "snr and n": ("snr", "n")}
NULL_MODELS: Mapping[str, Mapping[str, Any]] = {
    "effect 0.3, 100 cells": {},
    "effect 1, 100 cells": {"effect": 1.0},
    "effect 0.1 to 3, 100 cells": {"effect": [0.1, 0.3, 1.0, 3.0]},
    "no effect, 10 to 400 cells": {"effect": 0.0, "n_cells": [10, 25, 50, 100, 400]},
}


def _group(data: str, setting: str) -> Row:
    """One target or type: its scores with chance."""
    table = screens.targets() if data == SCREEN else screens.types()
    frame = table.to_frame()
    if data == STIMULATION:
        frame.index = [name.split(" | ")[1] for name in frame.index]
    line = cast(Any, frame.loc[setting])
    names = ["coherence", "chance", "p", "p_adj", "unbiased", "unbiased_ci_low", "unbiased_ci_high", "unbiased_p"]
    names += ["magnitude", "unbiased_magnitude", "magnitude_chance", "spread", "snr"]
    row: Row = {"n": int(line["n"]), **{name: float(line[name]) for name in names}}
    if data == SCREEN:
        guides = cast(Any, screens.by_guide().loc[setting])
        row |= {"guides_low": float(guides.unbiased_ci_low), "guides_high": float(guides.unbiased_ci_high)}
    return row


def _counts(data: str, setting: str) -> Row:
    """Count cells, controls and their guides."""
    obs = screens.papalexi().obs
    controls = obs[obs["target"] == screens.CONTROL]
    return {"n": len(obs), "n_controls": len(controls), "n_guides": int(controls["guide"].nunique())}


def _reading(data: str, setting: str) -> Row:
    """Scores of the targets after another normalisation of the counts."""
    labels = screens.papalexi().obs["target"].to_numpy()
    X = screens.components(50, setting)
    table = coherence_by_group(X, labels, screens.CONTROL, n_draws=0).to_frame()
    pairs = (("rho", "magnitude"), ("spread_rho", "spread"), ("n_rho", "n"))
    row = {name: correlation(table, x, n_bootstrap=0).rho for name, x in pairs}
    for name in ("coherence", "magnitude"):
        row |= {f"{name}_mean": float(table[name].mean()), f"{name}_sd": float(table[name].std())}
        row |= {f"{name}_low": float(table[name].min()), f"{name}_high": float(table[name].max())}
    return {**row}


def _size(data: str, setting: str) -> Row:
    """Scores of groups of control cells, by their number of cells."""
    rows = screens.control_cells()
    n = int(setting)
    null_tables = [table.iloc[0] for table in fake_tables(rows, {setting: n}, n_tables=screens.N_TABLES)]
    coherence = np.array([fake.coherence for fake in null_tables])
    return {
        "n": n,
        "coherence": float(coherence.mean()),
        "low": float(np.quantile(coherence, 0.025)),
        "high": float(np.quantile(coherence, 0.975)),
        "expected": expected_mean_cosine(n, rows.shape[1], len(rows) - n),
        "unbiased": float(np.mean([fake.unbiased for fake in null_tables])),
        "magnitude": float(np.mean([fake.magnitude for fake in null_tables])),
    }


def _fewer_cells(data: str, setting: str) -> Row:
    """Mean score of a target over 50 draws of 25 of its cells."""
    labels, X = screens.papalexi().obs["target"].to_numpy(), screens.papalexi().obsm["X_pca"]
    cells, controls = (np.flatnonzero(labels == name) for name in (setting, screens.CONTROL))
    rng, drawn = np.random.default_rng(0), []
    for _ in range(50):
        rows = np.concatenate([controls, rng.choice(cells, 25, replace=False)])
        drawn.append(coherence_by_group(X[rows], labels[rows], screens.CONTROL, n_draws=0).groups[0])
    names = (*SCORES, "magnitude", "unbiased_magnitude")
    return {"n": 25, **{name: float(np.mean([getattr(group, name) for group in drawn])) for name in names}}


def _method(data: str, setting: str) -> Row:
    """Correlate magnitude with both scores for one definition of shifts, and compare with tables of null groups."""
    table = screens.targets(setting, DRAWS[setting]) if data == SCREEN else screens.types()
    row: Row = {}
    for score, link in zip(SCORES, table.links, strict=True):
        rho = correlation(table.to_frame(), y=score)
        row |= {f"{score}_{name}": float(getattr(rho, name)) for name in ("rho", "low", "high")}
        row |= {f"{score}_chance": link.chance, f"{score}_fake_low": link.chance_low}
        row |= {f"{score}_fake_high": link.chance_high, f"{score}_p": link.p_value, f"{score}_naive_p": rho.p_value}
    return row


def _tables(data: str) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    if data == BOTH:
        return screens.both(), screens.fakes_of_both()
    return screens.targets().to_frame(), screens.fake_targets()


def _compare_row(data: str, x: str, y: str, covariates: Sequence[str] = ()) -> Row:
    """Return a rank correlation with its interval, compared with that of null groups."""
    table, null_tables = _tables(data)
    rho = correlation(table, x, y, covariates=covariates)

    def statistic(frame: pd.DataFrame) -> float:
        return correlation(frame, x, y, covariates=covariates, n_bootstrap=0).rho

    # The comparison is one-sided, so negative correlations are reversed for it.
    side = -1.0 if rho.rho < 0 else 1.0
    fake = compare_with_null_tables(table, null_tables, lambda frame: side * statistic(frame))
    low, high = sorted((side * fake.low, side * fake.high))
    return {
        "rho": rho.rho,
        "rho_low": rho.low,
        "rho_high": rho.high,
        "naive_p": rho.p_value,
        "chance": side * fake.chance,
        "fake_low": low,
        "fake_high": high,
        "fake_p": fake.p_value if rho.rho == rho.rho else float("nan"),
        "reason": rho.reason,
    }


def _partial_correlation(data: str, setting: str) -> Row:
    score, _, covariate = setting.partition(" given ")
    return _compare_row(data, "magnitude", score, GIVEN[covariate])


def _confound(data: str, setting: str) -> Row:
    score, _, name = setting.partition(" and ")
    return _compare_row(data, name, score)


def _components(data: str, setting: str) -> Row:
    """Return the correlation in the first k components, and their rank agreement with 50 components."""
    score, _, k = setting.partition(" in ")
    labels = screens.papalexi().obs["target"].to_numpy()
    table, fifty = (
        coherence_by_group(screens.components()[:, :n], labels, screens.CONTROL, n_draws=0).to_frame()
        for n in (int(k), 50)
    )
    rho = correlation(table, y=score)
    null_tables = screens.fake_targets(int(k), 100)
    fake = compare_with_null_tables(table, null_tables, lambda frame: correlation(frame, y=score, n_bootstrap=0).rho)
    agreement = {
        f"rank_{name}": float(spearmanr(table[name], fifty[name].loc[table.index]).statistic)
        for name in (score, "magnitude")
    }
    return {
        **{"rho": rho.rho, "rho_low": rho.low, "rho_high": rho.high},
        **{"chance": fake.chance, "fake_low": fake.low, "fake_high": fake.high, "fake_p": fake.p_value},
        **{"rank_score": agreement[f"rank_{score}"], "rank_magnitude": agreement["rank_magnitude"]},
    }


def _seeds(data: str, setting: str) -> Row:
    """Scores for fifteen seeds, on all cells (no randomness) and on 80 % of the cells."""
    labels, X = screens.papalexi().obs["target"].to_numpy(), screens.papalexi().obsm["X_pca"]
    share = 1.0 if setting == "all cells" else 0.8
    result = seed_ablation(X, labels, screens.CONTROL, share=share, n_bootstrap=0)
    rho = np.array([entry["rho"] for entry in result.correlations.values()])
    return {"rho": float(rho.mean()), "rho_sd": float(rho.std()), "rank_score": result.consistency["coherence"]["min"]}


def _influence_range(data: str, setting: str) -> Row:
    """Leave out each target in turn."""
    table = influence(screens.targets().to_frame(), y=setting)
    most, least = table.iloc[0], table.iloc[-1]
    return {
        **{"rho_low": float(table.rho_without.min()), "rho_high": float(table.rho_without.max())},
        **{"helpful": str(most.name), "helpful_change": float(most.change)},
        **{"harmful": str(least.name), "harmful_change": float(least.change)},
    }


def _quartiles(data: str, setting: str) -> Row:
    """Compare the most and the least discordant quarters of the targets with those of null groups."""

    def ratios(frame: pd.DataFrame) -> tuple[float, float, float]:
        quartiles = discordance_quartiles(frame, y=setting)
        first, last = (cast(Any, quartiles.loc[name]) for name in ("Q1", "Q4"))
        score, magnitude = (last[f"{name}_sd"] / first[f"{name}_sd"] for name in (setting, "magnitude"))
        return float(score), float(magnitude), float(last["median_n"] / first["median_n"])

    real, null_tables = screens.targets().to_frame(), screens.fake_targets()[:100]
    real_ratios, fake = ratios(real), np.median([ratios(frame) for frame in null_tables], axis=0)
    ordered = discordances(real, y=setting).sort_values()
    names = ("sd_score", "sd_magnitude", "median_n")
    return {
        **{f"{name}_ratio": value for name, value in zip(names, real_ratios, strict=True)},
        **{f"{name}_fake": float(value) for name, value in zip(names, fake, strict=True)},
        "far_not_alike": ", ".join(ordered.index[::-1][:4]),
        "alike_not_far": ", ".join(ordered.index[:4]),
    }


def _mixed_model_row(data: str, setting: str) -> Row:
    """Compare the slopes of magnitude, size and spread with their means in null groups."""
    score, _, how = setting.partition(", ")
    options: dict[str, Any] = {"centre": how == "centred"}
    model = mixed_model(screens.both(), score, **options)
    values: Row = {"residual": model.residual_variance, "between": model.dataset_variance, "fitted": model.fitted}
    null_models = [mixed_model(frame, score, **options) for frame in screens.fakes_of_both()[:25]]
    for place, effect in enumerate(model.effects):
        name = effect.predictor.replace(" ", "_")
        values |= {f"{name}_beta": effect.beta, f"{name}_low": effect.low, f"{name}_high": effect.high}
        values |= {f"{name}_z": effect.z, f"{name}_model_p": effect.p_value}
        values[f"{name}_fake"] = float(np.mean([fake.effects[place].beta for fake in null_models]))
    return values


def _pool_row(data: str, setting: str) -> Row:
    """Pool both data sets in one correlation, raw or on a common scale, and compare it with null groups."""
    score, _, scaled = setting.partition(", ")

    def rho(frame: pd.DataFrame, n_bootstrap: int) -> Any:
        return pooled_correlations(frame, y=score, n_bootstrap=n_bootstrap).set_index("scaled").loc[scaled]

    pooled = rho(screens.both(), 2000)
    null_rhos = np.array([rho(frame, 0).rho for frame in screens.fakes_of_both()])
    return {
        **{"rho": float(pooled.rho), "rho_low": float(pooled.low), "rho_high": float(pooled.high)},
        "chance": float(null_rhos.mean()),
        "fake_low": float(np.quantile(null_rhos, 0.025)),
        "fake_high": float(np.quantile(null_rhos, 0.975)),
        "fake_p": float((1 + (null_rhos >= pooled.rho).sum()) / (1 + len(null_rhos))),
    }


def _null_model(data: str, setting: str) -> Row:
    """The paper's three correlations among Gaussian cells, and magnitude with coherence at one level of noise."""
    table = null_model(500, **NULL_MODELS[setting])
    row: Row = {}
    for name, x, covariates in (("magnitude", "magnitude", ()), ("snr", "snr", ()), ("partial", "magnitude", ("snr",))):
        rho = correlation(table, x, covariates=covariates, n_bootstrap=1000)
        row |= {f"{name}_rho": rho.rho, f"{name}_low": rho.low, f"{name}_high": rho.high}
    within = [correlation(group, n_bootstrap=0).rho for _, group in table.groupby("noise")]
    return {**row, "within_noise": float(min(within)), "within_noise_highest": float(max(within))}


PARTS: Mapping[str, Callable[[str, str], Row]] = {
    "group": _group,
    "counts": _counts,
    "reading": _reading,
    "size": _size,
    "fewer cells": _fewer_cells,
    "method": _method,
    "given": _partial_correlation,
    "confound": _confound,
    "components": _components,
    "seeds": _seeds,
    "left out": _influence_range,
    "quartiles": _quartiles,
    "mixed": _mixed_model_row,
    "pooled": _pool_row,
    "null model": _null_model,
}
