"""Checks of the published numbers on steering: shuffled labels, p-values and counts."""

from __future__ import annotations

import math
import re

import pandas as pd

from shesha.studies.checks import AGREES, DIFFERS, Found
from shesha_studies.language._steering_page import Tables

SHUFFLED = 0.0045 * math.sqrt(1 / 19 + 1 / 15)
"""Standard error of the difference: the alignment of one shuffle varies by 0.0045, and all encoders share our 19
shuffles and the paper's 15."""


def published_numbers(tables: Tables, published: pd.DataFrame) -> dict[str, Found]:
    """Return our numbers for shuffled labels, and numbers computed from the published tables."""
    assert published is not None
    shuffled = {name: float(table.alignment_chance.mean()) for name, table in tables.items()}
    return _arithmetic(published) | {
        f"shuffled/{name}": Found(value, SHUFFLED, "Shuffled labels give another mean on our encoders.")
        for name, value in shuffled.items()
    }


def _arithmetic(published: pd.DataFrame) -> dict[str, Found]:
    """p-values that follow from published correlations and numbers of encoders, and counts that are products."""
    from scipy.stats import t

    values = dict(zip(published.key.astype(str), published.published.astype(str), strict=True))
    labels = dict(zip(published.key.astype(str), published.what.astype(str), strict=True))
    checks = {
        key: Found(float(int(key.partition("/")[2]) * int(re.findall(r"times (\d+) seeds", label)[0])))
        for key, label in labels.items()
        if key.startswith("observations/")
    }
    for key, value in values.items():
        if not key.startswith("p/"):
            continue
        _, n, name = key.split("/", 2)
        freedom = int(n) - 2 - (2 if "partial" in name else 0)
        rho = abs(float(values[name]))
        p = float(2 * t.sf(rho * math.sqrt(freedom / (1 - rho**2)), freedom))
        holds = _p_value_fits(p, value)
        checks[key] = Found(
            p, 0.0, (f"A correlation of {rho:g} over {n} encoders has p = {p:.2g}."), AGREES if holds else DIFFERS
        )
    return checks


def _p_value_fits(p: float, value: str) -> bool:
    """Return whether a p-value is as stated: below a bound (to a power of ten), near a number, or not significant."""
    if value == "n.s.":
        return p > 0.05
    if value.startswith("<"):
        return round(math.log10(p)) <= round(math.log10(float(value.removeprefix("<"))))
    return abs(math.log10(p) - math.log10(float(value))) < math.log10(1.5)
