"""Rows of the study `crispr`, by part and setting: every number is compared with groups without an effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from shesha.coherence import coherence_by_group, expected_mean_cosine
from shesha.support.types import Labels
from shesha_studies import perturbation_tables as analysis
from shesha_studies.biology import _single_cell_data as screens
from shesha_studies.framework.facts import Fact

Row = dict[str, float | int | str]
SCREEN, STIMULATION, BOTH, GAUSSIAN = "papalexi2021", "kang2018", "both", "Gaussian"
SCORES = ("coherence", "unbiased")
DRAWS = {"standard": 999, "whitened": 999, "knn": 99}
NULL_MODELS: Mapping[str, Mapping[str, Any]] = {
    "effect 0.3, 100 cells": {},
    "effect 1, 100 cells": {"effect": 1.0},
    "effect 0.1 to 3, 100 cells": {"effect": [0.1, 0.3, 1.0, 3.0]},
    "no effect, 10 to 400 cells": {"effect": 0.0, "n_cells": [10, 25, 50, 100, 400]},
}


def _labels() -> Labels:
    return np.asarray(screens.papalexi().obs["target"].to_numpy())


def _group(data: str, setting: str) -> Row:
    """One target or type: its scores with chance."""
    frame = analysis.group_table(screens.targets() if data == SCREEN else screens.types())
    line = cast(Any, frame.set_axis(frame.index.str.split(" | ", regex=False).str[-1]).loc[setting])
    names = ("coherence", "chance", "p_adj", "unbiased", "unbiased_ci_low", "unbiased_ci_high")
    row: Row = {"n": int(line["n"]), **{name: float(line[name]) for name in (*names, "magnitude", "magnitude_chance")}}
    if data == SCREEN:
        guides = cast(Any, screens.by_guide().loc[setting])
        row |= {"guides_low": float(guides.unbiased_ci_low), "guides_high": float(guides.unbiased_ci_high)}
    return row


def _counts(data: str, setting: str) -> Row:
    """Count controls and their guides."""
    controls = screens.papalexi().obs.query("target == @screens.CONTROL")
    return {"n_controls": len(controls), "n_guides": int(controls["guide"].nunique())}


def _reading(data: str, setting: str) -> Row:
    """Scores of the targets after another normalisation of the counts."""
    table = analysis.group_table(
        coherence_by_group(screens.components(50, setting), _labels(), screens.CONTROL, n_draws=0)
    )
    magnitude = cast(Any, table["magnitude"].agg(mean="mean", sd="std", low="min", high="max"))
    return {
        **{f"{name}_rho": analysis.correlation(table, name, n_bootstrap=0).value for name in ("spread", "n")},
        **{f"magnitude_{name}": float(value) for name, value in magnitude.items()},
        "coherence_high": float(table["coherence"].max()),
    }


def _size(data: str, setting: str) -> Row:
    """Scores of groups of control cells, by their number of cells."""
    rows, n = screens.control_cells(), int(setting)
    groups = pd.concat(analysis.fake_tables(rows, {setting: n}, n_tables=screens.N_TABLES))
    return {
        "coherence": float(groups["coherence"].mean()),
        "low": float(groups["coherence"].quantile(0.025)),
        "high": float(groups["coherence"].quantile(0.975)),
        "expected": expected_mean_cosine(n, rows.shape[1], len(rows) - n),
        **{name: float(groups[name].mean()) for name in ("unbiased", "magnitude")},
    }


def _method(data: str, setting: str) -> Row:
    """Correlate magnitude with both scores for one definition of shifts, and compare with tables of null groups."""
    table = screens.targets(setting, DRAWS[setting]) if data == SCREEN else screens.types()
    row: Row = {}
    for score, link in zip(SCORES, table.links, strict=True):
        rho = analysis.correlation(analysis.group_table(table), y=score)
        row |= {
            f"{score}_{name}": number for name, number in (("rho", rho.value), ("low", rho.low), ("high", rho.high))
        }
        row |= {f"{score}_chance": link.chance, f"{score}_fake_low": link.chance_low}
        row |= {f"{score}_fake_high": link.chance_high, f"{score}_p": link.p_value, f"{score}_naive_p": rho.p_value}
    return row


def _compare_correlation(x: str, *covariates: str) -> Row:
    """Return the rank correlation of a column and coherence, compared with that in tables of null groups."""

    def rho(table: pd.DataFrame) -> Any:
        return analysis.correlation(table, x, covariates=covariates, n_bootstrap=0)

    found = rho(analysis.group_table(screens.targets()))
    fake = analysis.compare_with_null_tables(
        analysis.group_table(screens.targets()), screens.fake_targets(), lambda table: rho(table).value
    )
    null = {"chance": fake.chance, "fake_low": fake.low, "fake_high": fake.high}
    return {"rho": found.value, "naive_p": found.p_value, **null}


def _components(data: str, setting: str) -> Row:
    """Return the correlation in the first k components, and their rank agreement with 50 components."""
    k = int(setting.removeprefix("coherence in "))
    table, fifty = (
        analysis.group_table(coherence_by_group(screens.components()[:, :n], _labels(), screens.CONTROL, n_draws=0))
        for n in (k, 50)
    )
    rho = analysis.correlation(table)
    fake = analysis.compare_with_null_tables(
        table, screens.fake_targets(k, 100), lambda frame: analysis.correlation(frame, n_bootstrap=0).value
    )
    ranks = {
        name: spearmanr(table[name], fifty[name].loc[table.index]).statistic for name in ("coherence", "magnitude")
    }
    return {
        **{"rho": rho.value, "rho_low": rho.low, "rho_high": rho.high, "chance": fake.chance, "fake_p": fake.p_value},
        **{"rank_score": float(ranks["coherence"]), "rank_magnitude": float(ranks["magnitude"])},
    }


def _seeds(data: str, setting: str) -> Row:
    """Agreement of the order of the targets between fifteen draws of 80 % of the cells and all cells."""
    X = screens.papalexi().obsm["X_pca"]
    result = analysis.seed_ablation(X, _labels(), screens.CONTROL, share=0.8, n_bootstrap=0)
    return {"rank_score": result.consistency["coherence"]["min"]}


def _influence_range(data: str, setting: str) -> Row:
    """Leave out each target in turn."""
    without = analysis.influence(analysis.group_table(screens.targets()), y=setting).rho_without
    return {"rho_low": float(without.min()), "rho_high": float(without.max())}


def _quartiles(data: str, setting: str) -> Row:
    """Compare the most and the least discordant quarters of the targets with those of null groups."""

    def ratios(frame: pd.DataFrame) -> list[float]:
        spreads = analysis.discordance_quartiles(frame, y=setting)[[f"{setting}_sd", "magnitude_sd"]].astype(float)
        return list(spreads.loc["Q4"] / spreads.loc["Q1"])

    real = analysis.group_table(screens.targets())
    score, magnitude = ratios(real)
    fake = np.median([ratios(frame) for frame in screens.fake_targets()[:100]], axis=0)
    return {
        **{"sd_score_ratio": score, "sd_magnitude_ratio": magnitude},
        **{"sd_score_fake": float(fake[0]), "sd_magnitude_fake": float(fake[1])},
        "far_not_alike": ", ".join(analysis.discordances(real, y=setting).sort_values().index[::-1][:4]),
    }


def _mixed_model_row(data: str, setting: str) -> Row:
    """Compare the slopes of magnitude and size with their means in null groups."""
    options: dict[str, Any] = {"centre": setting == "coherence, centred"}
    model = analysis.mixed_model(screens.both(), "coherence", **options)
    null_models = [analysis.mixed_model(frame, "coherence", **options) for frame in screens.fakes_of_both()[:25]]
    values: Row = {"between": model.dataset_variance}
    for place, effect in enumerate(model.effects):
        if (name := effect.name.replace(" ", "_")) in ("magnitude", "log_n"):
            values |= {f"{name}_beta": effect.value, f"{name}_low": effect.low, f"{name}_high": effect.high}
            values[f"{name}_fake"] = float(np.mean([fake.effects[place].value for fake in null_models]))
    return values


def _pool_row(data: str, setting: str) -> Row:
    """Pool both data sets in one correlation of z-scores, and compare it with null groups."""
    score, _, scaled = setting.partition(", ")

    def rho(frame: pd.DataFrame, n_bootstrap: int) -> Any:
        return analysis.pooled_correlations(frame, y=score, n_bootstrap=n_bootstrap).set_index("scaled").loc[scaled]

    pooled = rho(screens.both(), 2000)
    null_rhos = np.array([rho(frame, 0).value for frame in screens.fakes_of_both()])
    return {
        **{"rho": float(pooled.value), "rho_low": float(pooled.low), "rho_high": float(pooled.high)},
        **{"chance": float(null_rhos.mean()), "fake_high": float(np.quantile(null_rhos, 0.975))},
    }


def _null_model(data: str, setting: str) -> Row:
    """The paper's three correlations among Gaussian cells, and magnitude with coherence at one level of noise."""
    table = analysis.null_model(500, **NULL_MODELS[setting])
    within = [analysis.correlation(group, n_bootstrap=0).value for _, group in table.groupby("noise")]
    return {
        **{f"{name}_rho": analysis.correlation(table, name, n_bootstrap=0).value for name in ("magnitude", "snr")},
        "partial_rho": analysis.correlation(table, covariates=("snr",), n_bootstrap=0).value,
        **{"within_noise": float(min(within)), "within_noise_highest": float(max(within))},
    }


PARTS: Mapping[str, Callable[[str, str], Row]] = {
    "group": _group,
    "counts": _counts,
    "reading": _reading,
    "size": _size,
    "method": _method,
    "given": lambda data, setting: _compare_correlation("magnitude", "snr"),
    "confound": lambda data, setting: _compare_correlation(setting.removeprefix("coherence and ")),
    "components": _components,
    "seeds": _seeds,
    "left out": _influence_range,
    "quartiles": _quartiles,
    "mixed": _mixed_model_row,
    "pooled": _pool_row,
    "null model": _null_model,
}


class Results:
    """Rows of the study, by part and setting."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.rows = rows

    def build(self, part: str, data: str = SCREEN) -> pd.DataFrame:
        """Return the rows of a part, by setting."""
        return self.rows[(self.rows.part == part) & (self.rows.data == data)].set_index("setting")

    def get(self, name: str, part: str, setting: str, data: str = SCREEN) -> float:
        """Return one number; NaN if it was not computed."""
        table = self.build(part, data)
        known = setting in table.index and name in table
        return float(cast(Any, table.loc[setting, name])) if known else float("nan")

    def fact(self, names: Sequence[str], part: str, setting: str, data: str = SCREEN) -> Fact:
        """Return a number with its limits."""
        return Fact(*(self.get(name, part, setting, data) for name in names))
