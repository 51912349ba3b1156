"""Does calibrating the scores change which measure one should trust?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.charts import PALETTE
from shesha.data import digits_network
from shesha.support.types import Matrix
from shesha_bench import rank, tests
from shesha_bench.measure_entries import calibrated
from shesha_studies.benchmark import _resi_scores_and_places as tables
from shesha_studies.framework.facts import Facts, as_facts
from shesha_studies.framework.page import Page, Picture
from shesha_studies.framework.pictures import figure
from shesha_studies.framework.study_decorator import study
from shesha_studies.measures_of_stored_rows import measure_of_stored_rows

MEASURES = ("CKA", "unbiased CKA", "RSA", "DistCorr", "mutual kNN", "Jaccard", "OrthProc", "SVCCA", "LinReg")
WIDTHS = {"equal": (24, 24, 24, 24), "unequal": (4, 12, 36, 108), "layers": (4, 8, 16, 32)}
N, RANK, STRENGTH = 48, 4, 0.35


FULL: list[dict[str, Any]] = [
    {"data": data, "widths": widths, "measure": measure, "seed": seed}
    for seed in range(20)
    for data, widths in (("noise", "equal"), ("noise", "unequal"), ("digits", "layers"))
    for measure in MEASURES
]


@study(
    "which-measure",
    paper="new",
    version=2,
    full=FULL,
    quick=[cell for cell in FULL if cell["seed"] < 2],
)
def which_measure(data: str, widths: str, measure: str, seed: int) -> dict[str, float]:
    """Does calibrating the scores change which measure one should trust?

    There are two groups of four models with equal or unequal widths. Models of a group share a part of rank 4 in noise,
    or their features are drawn from the same layer of a network trained on digits. The scores are AUPRC and conformity
    of the benchmark. They measure how well raw and calibrated scores separate pairs within a group from pairs of two
    groups.
    """
    rng = np.random.default_rng([seed, len(data), len(widths)])
    groups = _noise(WIDTHS[widths], rng) if data == "noise" else _digits(WIDTHS[widths], rng)
    used = measure_of_stored_rows(measure)
    scores = tests.label_randomization(groups, [used, calibrated(used)], seed=seed)
    values = scores.set_index(["measure", "quality"]).value
    return {
        f"{how} {quality}": float(values[name, quality])
        for name, how in ((used.name, "raw"), (f"calibrated {used.name}", "calibrated"))
        for quality in ("auprc", "conformity")
    }


def _noise(widths: tuple[int, ...], rng: np.random.Generator) -> dict[str, list[Matrix]]:
    """Draw models that share latent factors within a group; each model has its own features."""
    groups = {}
    for name in ("first", "second"):
        latent = STRENGTH * rng.standard_normal((N, RANK))
        groups[name] = [
            np.asarray(latent @ rng.standard_normal((RANK, d)) / np.sqrt(RANK) + rng.standard_normal((N, d)))
            for d in widths
        ]
    return groups


def _digits(widths: tuple[int, ...], rng: np.random.Generator) -> dict[str, list[Matrix]]:
    """Draw random features of the same rows from the first and the last layer of a trained network."""
    layers = digits_network()[0]
    rows = rng.choice(len(layers["trained_layer1"]), N, replace=False)
    return {
        name: [layers[name][rows][:, rng.choice(layers[name].shape[1], d, replace=False)] for d in widths]
        for name in ("trained_layer1", "trained_layer3")
    }


CALIBRATED = ("CKA", "RSA", "mutual kNN")
"""The measures with calibrated variants in the small suites."""


@which_measure.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Raw compared with calibrated: models of known groups, and the cells of the benchmark."""
    lines = _lines(rows)
    page_tables = (("Models of known groups", lines), ("The benchmark's cells", _benchmark()))
    return Page("", page_tables, (_picture(lines),))


def _lines(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over draws, and the mean difference with its standard error."""
    rows = rows.assign(gain=rows["calibrated auprc"] - rows["raw auprc"])
    means = rows.groupby(["data", "widths", "measure"], sort=False)
    table = means[["raw auprc", "calibrated auprc", "raw conformity", "calibrated conformity", "gain"]].mean()
    return table.assign(error=means.gain.sem()).reset_index()


def _benchmark() -> pd.DataFrame:
    """Positions of the three measures and of their calibrated variants, and the agreement of their scores."""
    place = rank(tables.scores("all")).set_index(["domain", "measure"]).position
    scores = tables.scores("all").pivot_table(index=list(tables.BLOCK), columns="measure", values="value")
    lines = {
        (domain, name): {
            "position, raw": place[domain, name],
            "position, calibrated": place[domain, f"calibrated {name}"],
            "mean difference of scores": round((table[name] - table[f"calibrated {name}"]).abs().mean(), 3),
        }
        for domain, table in scores.groupby("domain")
        for name in CALIBRATED
    }
    return pd.DataFrame(lines).T.rename_axis(["domain", "measure"]).reset_index()


@which_measure.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """How many measures gain and lose by calibration in each design, and how far it moves places on the benchmark."""
    facts: dict[str, Any] = {}
    for (data, widths), part in _lines(rows).groupby(["data", "widths"], sort=False):
        name = f"{data}, {widths}"
        clear = part[(part.gain.abs() > 3 * part.error) & (part.gain.abs() > 0.02)]
        for how, some in (("better", clear[clear.gain > 0]), ("worse", clear[clear.gain < 0])):
            gains = (f"{measure} {gain:+.2f}" for measure, gain in zip(some.measure, some.gain, strict=True))
            facts |= {f"{name}, {how}": len(some), f"{name}, {how} in words": ", ".join(gains)}
        for how in ("raw", "calibrated"):
            best = part.iloc[int(part[f"{how} auprc"].argmax())]
            facts[f"{name}, first {how}"] = f"{best.measure} ({best[f'{how} auprc']:.2f})"
        facts[f"{name}, measures"] = len(part)
    benchmark = _benchmark()
    moves = (benchmark["position, raw"] - benchmark["position, calibrated"]).abs()
    facts |= {"fewest places": moves.min(), "most places": moves.max()}
    return as_facts(facts | {"difference of scores": benchmark["mean difference of scores"].mean()})


def _picture(lines: pd.DataFrame) -> Picture:
    parts = list(lines.groupby(["data", "widths"], sort=False))
    fig, axes = figure(len(parts), width=3.6, height=3.6, sharey=True)
    names = list(dict.fromkeys(lines.measure))
    low = lines[["raw auprc", "calibrated auprc"]].to_numpy().min()
    for ax, ((data, widths), part) in zip(axes, parts, strict=True):
        places = [len(names) - 1 - names.index(name) for name in part.measure]
        ax.hlines(places, part["raw auprc"], part["calibrated auprc"], color="0.7")
        ax.plot(part["raw auprc"], places, "o", color=PALETTE[1], label="raw")
        ax.plot(part["calibrated auprc"], places, "o", color=PALETTE[0], markersize=4.5, label="calibrated")
        ax.set(
            xlabel="AUPRC of pairs within a group",
            title=f"{data}, {widths} widths" if data == "noise" else "digits network, 4 to 32 features",
            xlim=(low - 0.04, 1.03),
        )
    axes[0].set_yticks(range(len(names)), names[::-1])
    axes[0].legend(frameon=False, fontsize=8)
    return Picture("raw_and_calibrated", fig, "AUPRC of known groups by measure, raw and calibrated, in three designs")
