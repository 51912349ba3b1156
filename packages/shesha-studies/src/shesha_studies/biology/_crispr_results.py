"""Rows of the study `crispr` by part and setting, and our values of its published numbers."""

from __future__ import annotations

from math import isnan, sqrt
from typing import Any, cast

import pandas as pd

from shesha.studies.checks import INCONCLUSIVE, NOT_RUN, RECIPE, STAND_IN, UNREACHABLE, Found
from shesha.studies.facts import Fact
from shesha.studies.tolerance import correlation_error

SCREEN, STIMULATION, BOTH, GAUSSIAN = "papalexi2021", "kang2018", "both", "Gaussian"
SCORES = ("coherence", "unbiased")


class Results:
    """Rows of the study, by part and setting."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.rows = rows

    def has(self, part: str, data: str = SCREEN) -> bool:
        """Whether a part was computed."""
        return bool(len(self.build(part, data)))

    def build(self, part: str, data: str = SCREEN) -> pd.DataFrame:
        """Return the rows of a part, by setting."""
        return self.rows[(self.rows.part == part) & (self.rows.data == data)].set_index("setting")

    def get(self, name: str, part: str, setting: str, data: str = SCREEN) -> float:
        """Return one number; NaN if it was not computed."""
        table = self.build(part, data)
        known = setting in table.index and name in table
        return float(cast(Any, table.loc[setting, name])) if known else float("nan")

    def fact(self, names: tuple[str, str, str], part: str, setting: str, data: str = SCREEN) -> Fact:
        """Return a number with its limits."""
        return Fact(*(self.get(name, part, setting, data) for name in names))


def published_numbers(results: Results) -> dict[str, Found]:
    """Return our values of the published numbers that our data or a simulation can give."""
    groups = results.build("group")
    counts = {
        "n_groups": float(len(groups)),
        "n_cells": float(groups.n.sum()),
        "median_n": float(groups.n.median()),
        "min_n": float(groups.n.min()),
        "max_n": float(groups.n.max()),
        "n_controls": results.get("n_controls", "counts", "cells"),
        "n_control_guides": results.get("n_guides", "counts", "cells"),
        "null_n": 2000.0,
    }
    found = {key: Found(value) for key, value in counts.items()}
    return found | _correlations(results, len(groups)) | _of_genes(results, groups) | _gaussian(results)


def _correlations(results: Results, n: int) -> dict[str, Found]:
    """Correlations over the targets; another sample of targets has the same error, unless an interval is printed."""
    found = {"rho": Found(results.get("coherence_rho", "method", "standard"))}
    for method in ("whitened", "knn"):
        rho = results.get("coherence_rho", "method", method)
        found[f"rho_{method}"] = Found(rho, error=correlation_error(rho, n))
    size = results.get("rho", "confound", "coherence and n")
    found["rho_n"] = Found(size, error=sqrt(2) * correlation_error(size, n))
    found["rho_p"] = Found(results.get("coherence_naive_p", "method", "standard"), p_value=True)
    found["rho_n_p"] = Found(results.get("naive_p", "confound", "coherence and n"), p_value=True)
    verdict = INCONCLUSIVE if results.has("given") else NOT_RUN
    return found | dict.fromkeys(("partial", "partial_p"), Found("not estimable", verdict=verdict))


def _of_genes(results: Results, groups: pd.DataFrame) -> dict[str, Found]:
    """Numbers whose size depends on the genes, of which we do not have all."""
    values: dict[str, float] = {"rho_spread": results.get("rho", "confound", "coherence and spread")}
    for name, column in (("stability", "coherence"), ("magnitude", "magnitude")):
        values |= {f"{name}_{how}": float(groups[column].agg(how)) for how in ("mean", "min", "max")}
        values[f"{name}_sd"] = float(groups[column].std())
    ours: dict[str, Any] = {key: None if isnan(value) else value for key, value in values.items()}
    p = results.get("naive_p", "confound", "coherence and spread")
    ours["rho_spread_p"] = None if isnan(p) else f"{p:.2g}"
    return {key: Found(value, verdict=UNREACHABLE, basis=STAND_IN) for key, value in ours.items()}


def _gaussian(results: Results) -> dict[str, Found]:
    """Correlations of simulated groups; the paper does not print the effects, and other effects may turn the sign."""
    null = results.build("null model", GAUSSIAN)
    setting = "effect 0.3, 100 cells"
    values = {
        key: results.get(f"{key}_rho", "null model", setting, GAUSSIAN) for key in ("magnitude", "snr", "partial")
    }
    open_ = {"partial"} | (
        {"magnitude"} if len(null) and null.magnitude_rho.min() < 0 < null.magnitude_rho.max() else set()
    )
    return {
        f"null_{key}": Found(value, basis=RECIPE, verdict=INCONCLUSIVE if key in open_ else None)
        for key, value in values.items()
    }
