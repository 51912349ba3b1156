"""Compare the published numbers of the appendix on perturbations with ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isnan
from typing import Any, cast

import pandas as pd

from shesha.studies import tolerance
from shesha.studies.checks import (
    AGREES,
    DIFFERS,
    INCONCLUSIVE,
    NOT_RUN,
    RECIPE,
    STAND_IN,
    UNREACHABLE,
    Check,
    judge_number,
)

SCREEN, STIMULATION, BOTH, GAUSSIAN = "papalexi2021", "kang2018", "both", "Gaussian"
SCORES = ("coherence", "unbiased")
AT_HAND = "not available. We have only Papalexi 2021, with 299 of the genes."
_MISSING = {
    "Norman 2019": f"The screen of Norman et al. 2019 is {AT_HAND}",
    "Adamson 2016": f"The screen of Adamson et al. 2016 is {AT_HAND}",
    "Dixit 2016": f"The screen of Dixit et al. 2016 is {AT_HAND}",
}
_POOLED = f"This needs the four screens, three of which are {AT_HAND}"
_CONTRADICTED = {
    "perturbations": "appendix 12 counts 422",
    "rho(magnitude, stability | SNR)": "Table 64 has -0.258",
    "p of it": "Table 64 has 8e-8 for a correlation of the opposite sign",
    "beta of magnitude (interval as printed)": "the limits do not contain the value; Table 65 has [0.116, 0.131]",
    "pooled rho after z-scores": "Table 66 has 0.913 [0.884, 0.936]",
    "lower end of the interval of rho": "Table 62 has 0.407",
    "rho of all": "Table 62 has 0.953 and 0.746",
    "mean rho over 15 seeds": "Table 62 has 0.953 and 0.746",
    "rho within single-gene perturbations": "Table 71 has 0.94 for Dixit",
}
"""Keys of published numbers that contradict other numbers of the paper, with an explanation."""


class Found:
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

    def text(self, part: str, setting: str, of: str, *, fake: bool = False, data: str = SCREEN) -> str:
        """Return a correlation with its interval, or that of null groups, as text."""
        names = (f"{of}chance", f"{of}fake_low", f"{of}fake_high") if fake else (f"{of}rho", f"{of}low", f"{of}high")
        value, low, high = (self.get(name, part, setting, data) for name in names)
        return f"{value:.2f} [{low:.2f}, {high:.2f}]"


def numbers(statistics: Found) -> Mapping[str, float]:
    """Return our numbers, by the key in the file of published numbers."""
    groups = statistics.build("group")
    known = {
        "n_groups": float(len(groups)),
        "n_cells": float(groups.n.sum()),
        "median_n": float(groups.n.median()),
        "min_n": float(groups.n.min()),
        "max_n": float(groups.n.max()),
        "n_controls": statistics.get("n_controls", "counts", "cells"),
        "n_control_guides": statistics.get("n_guides", "counts", "cells"),
    }
    for name, column in (("stability", "coherence"), ("magnitude", "magnitude")):
        known |= {f"{name}_{how}": float(groups[column].agg(how)) for how in ("mean", "min", "max")}
        known[f"{name}_sd"] = float(groups[column].std())
    for key, method in (("rho", "standard"), ("rho_whitened", "whitened"), ("rho_knn", "knn")):
        known[key] = statistics.get("coherence_rho", "method", method)
    known["rho_p"] = statistics.get("coherence_naive_p", "method", "standard")
    for name in ("spread", "n"):
        known[f"rho_{name}"] = statistics.get("rho", "confound", f"coherence and {name}")
        known[f"rho_{name}_p"] = statistics.get("naive_p", "confound", f"coherence and {name}")
    for key in ("magnitude", "snr", "partial"):
        known[f"null_{key}"] = statistics.get(f"{key}_rho", "null model", "effect 0.3, 100 cells", GAUSSIAN)
    return known | {"null_n": 2000.0, "partial": float("nan"), "partial_p": float("nan")}


def _reasons(statistics: Found) -> dict[str, str]:
    """Return the reasons why our numbers differ, by key; the key "" has the reason for all other numbers."""
    reading, null = statistics.build("reading"), statistics.build("null model", data=GAUSSIAN)
    stats = {name: statistics.get(name, "reading", "10,000 counts") for name in OF_READING}
    spread, n = (", ".join(f"{rho:.2f}" for rho in reading.get(f"{name}_rho", ())) for name in ("spread", "n"))
    normalisation = (
        "This needs all genes. We have 299 and scale counts to their median total. With counts scaled to 10,000, "
        f"the same cells have a mean magnitude of {stats['magnitude_mean']:.2f} (SD {stats['magnitude_sd']:.2f}, "
        f"{stats['magnitude_low']:.2f} to {stats['magnitude_high']:.2f}) and stabilities of up to "
        f"{stats['coherence_high']:.2f}, so these numbers depend on the normalisation."
    )
    targets = len(statistics.build("group"))
    ranks = (
        f"Magnitude and SNR rank these {targets} targets in the same order, so the partial correlation is not defined."
    )
    guides, controls = (statistics.get(name, "counts", "cells") for name in ("n_guides", "n_controls"))
    reasons = {
        "": normalisation,
        **{"partial": ranks, "partial_p": ranks},
        "rho_spread": "The correlation of the spread depends on genes and normalisation: three normalisations give "
        f"{spread}. We do not have the other genes.",
        "rho_spread_p": "The correlation of the spread depends on genes and normalisation, as explained at its value.",
        "rho_n": f"Ours are the same cells with other genes; three normalisations give {n}.",
        "rho_n_p": "This p-value belongs to the correlation of "
        f"{statistics.get('rho', 'confound', 'coherence and n'):.2f} (published -0.17).",
        "n_control_guides": f"The file names {guides:.0f} guides among these {controls:,.0f} cells. The text says "
        "six in one place and NTg1 to NTg7 in another.",
    }
    if len(null):
        open_ = f"The text gives neither effect sizes nor numbers of cells. Our {len(null)} choices"
        reasons["null_magnitude"] = (
            f"{open_} give {null.magnitude_rho.min():.2f} to {null.magnitude_rho.max():.2f}, of either sign."
        )
        reasons["null_partial"] = (
            f"{open_} give {null.partial_rho.min():.2f} to {null.partial_rho.max():.2f}, because SNR and coherence "
            f"have a rank correlation of {null.snr_rho.min():.4f} or more."
        )
    return reasons


_OF_GENES = ("stability_", "magnitude_", "rho_spread")
"""Keys of numbers whose size depends on the genes, of which we do not have all."""
OF_READING = ("magnitude_mean", "magnitude_sd", "magnitude_low", "magnitude_high", "coherence_high")


def published_checks(statistics: Found, published: pd.DataFrame) -> Iterator[Check]:
    """Yield a check for every line of the tables and the text."""
    values, reasons = numbers(statistics), _reasons(statistics)
    for line in cast(Any, published.itertuples(index=False)):
        what = f"{line.data}: {line.what}"
        key = "" if line.key != line.key else str(line.key)
        if not key:
            why = _MISSING.get(str(line.data), _POOLED)
            contradiction = next((text for name, text in _CONTRADICTED.items() if _contradicts(line, name)), "")
            why += f" The paper contradicts itself: {contradiction}." if contradiction else ""
            yield Check(line.where, what, _interval_text(line), None, UNREACHABLE, why)
        elif key.startswith("partial"):
            reason = statistics.build("given").reason if statistics.has("given") else None
            verdict = NOT_RUN if reason is None else INCONCLUSIVE
            yield Check(line.where, what, line.published, "not estimable", verdict, reasons[key])
        elif key.startswith(_OF_GENES):
            ours = None if isnan(values[key]) else f"{values[key]:.2g}" if key.endswith("_p") else values[key]
            why = reasons.get(key, reasons[""])
            yield Check(line.where, what, line.published, ours, UNREACHABLE, why, STAND_IN if ours is not None else "")
        elif key.endswith("_p"):
            yield _p_value(line.where, what, str(line.published), values[key], reasons.get(key, reasons[""]))
        else:
            check = _number(line, what, values[key], reasons.get(key, reasons[""]), statistics)
            yield replace(check, basis=RECIPE) if line.data == GAUSSIAN and key != "null_n" else check


def _contradicts(line: Any, name: str) -> bool:
    of_text = line.where.endswith((" 3.4", "Table 69", "Table 70"))
    pooled = line.data in ("Pooled", "four data sets", "Adamson 2016") or line.where.endswith(("Table 69", "Table 70"))
    return bool(line.what == name and of_text and (pooled or name.startswith("rho within")))


def _interval_text(line: Any) -> str:
    return str(line.published) if line.low != line.low else f"{line.published} [{line.low}, {line.high}]"


def _number(line: Any, what: str, value: float, why: str, statistics: Found) -> Check:
    key, text = str(line.key), str(line.published)
    decimals = len(text.partition(".")[2]) if "." in text else 0
    published_error = tolerance.interval_error(float(line.low), float(line.high))
    if key.startswith("null"):
        published_error, decimals = 0.0, min(decimals, 2)
    # Unless an interval is printed, both numbers have the sampling error of a correlation over the targets.
    error = tolerance.correlation_error(value, len(statistics.build("group"))) if key.startswith("rho_") else 0.0
    null = statistics.build("null model", data=GAUSSIAN)
    wanted = key == "null_magnitude" and len(null) > 0
    admissible = (float(null.magnitude_rho.min()), float(null.magnitude_rho.max())) if wanted else None
    # Where the text leaves the simulation open, other choices may give any number.
    if key == "null_partial" or (admissible is not None and admissible[0] < 0 < admissible[1]):
        return Check(line.where, what, float(text), value, INCONCLUSIVE, why)
    return judge_number(
        line.where,
        what,
        float(text),
        value,
        error=error,
        published_error=published_error or error,
        decimals=decimals,
        why=why,
        admissible=admissible,
    )


def _p_value(where: str, what: str, published: str, p_value: float, why: str) -> Check:
    """Check a p-value, which agrees if it is as small as published or within a factor of three."""
    if p_value != p_value:
        return Check(where, what, published, None, NOT_RUN, "this run does not contain the required cells")
    same = tolerance.p_values_agree(published, p_value)
    if same is None:
        return Check(where, what, published, f"{p_value:.2g}", INCONCLUSIVE, tolerance.UNDECIDED)
    return Check(where, what, published, f"{p_value:.2g}", AGREES if same else DIFFERS, "" if same else why)
