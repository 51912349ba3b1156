"""The page of raw against calibrated scores: models of known groups, and the cells of the benchmark."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.benchmark import rank
from shesha.charts import PALETTE
from shesha.studies.facts import Facts, as_facts
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha_studies.benchmark import _resi_scores as tables

BY = ["data", "widths", "measure"]
CALIBRATED = ("CKA", "RSA", "mutual kNN")
"""The measures with calibrated variants in the small suites."""
NOTES = (
    "Calibrated scores are 0 for all pairs that do not exceed chance, so the order of weak relations is lost. With "
    "equal widths, calibration therefore cannot help. With different widths, the raw value of a biased measure "
    "follows the widths, and calibration removes this bias. Measures without such a bias (unbiased CKA, RSA, "
    "neighbourhood measures) lose in this case as well.",
    'The data set "noise" has two groups of four models with 48 rows. Models of a group share a signal of rank 4 '
    'in noise. Their widths are all 24, or between 4 and 108. For "digits", the groups are the first and the last '
    "layer of the network that the library contains. A model is a random choice of 4 to 32 features, so widths "
    "differ within groups but not between them. Chance is 0.43 for AUPRC, because 3 of the 7 other models belong to "
    "the group of a model, and 0.5 for conformity.",
    "The table of the benchmark uses our small suites with the two decimals of docs/benchmark. Positions are among "
    "all 41 measures, three of which are calibrated. Pairs of the benchmark have equal widths and equal numbers of "
    "rows, so chance is nearly the same for all pairs.",
    "Calibration changes the meaning of a score, because 0 is chance. It changes the order of pairs that exceed "
    "chance only if chance differs between them, by width, rank or number of rows. The best measure here is the "
    "best for this signal strength and these widths only.",
)


def make_page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Raw compared with calibrated: models of known groups, and the cells of the benchmark."""
    lines = _lines(rows)
    return Page(
        "",
        (("Models of known groups", _readable(lines)), ("The benchmark's cells", _benchmark())),
        (_picture(lines),),
        NOTES,
    )


def _lines(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over draws, and the mean difference with its standard error."""
    rows = rows.assign(gain=rows["calibrated auprc"] - rows["raw auprc"])
    means = rows.groupby(BY, sort=False)
    table = means[["raw auprc", "calibrated auprc", "raw conformity", "calibrated conformity", "gain"]].mean()
    table = table.assign(error=means.gain.std() / np.sqrt(means.size()), draws=means.size()).reset_index()
    for how in ("raw", "calibrated"):
        table[f"{how} place"] = table.groupby(["data", "widths"])[f"{how} auprc"].rank(ascending=False).round(1)
    return table


def _readable(lines: pd.DataFrame) -> pd.DataFrame:
    table = lines[[*BY]].copy()
    for how in ("raw", "calibrated"):
        table[f"AUPRC, {how}"] = lines[f"{how} auprc"].round(2)
    table["gain"] = [f"{line.gain:+.3f} +- {line.error:.3f}" for _, line in lines.iterrows()]
    for how in ("raw", "calibrated"):
        table[f"conformity, {how}"] = lines[f"{how} conformity"].round(2)
    table["place, raw / calibrated"] = [
        f"{line['raw place']:g} / {line['calibrated place']:g}" for _, line in lines.iterrows()
    ]
    return table.assign(draws=lines.draws)


def _benchmark() -> pd.DataFrame:
    """Positions of the three measures and of their calibrated variants, and the correlation of their scores."""
    scores, rows = tables.scores("all"), []
    ranks = rank(scores)
    place = {(line.domain, line.measure): int(line.position) for _, line in ranks.iterrows()}
    for domain in ("graph", "language", "vision"):
        table = scores[scores.domain == domain].pivot_table(index=list(tables.BLOCK), columns="measure", values="value")
        for name in CALIBRATED:
            both = table[[name, f"calibrated {name}"]].dropna()
            distances = (both[name] - both[f"calibrated {name}"]).abs()
            rows.append(
                {
                    "domain": domain,
                    "measure": name,
                    "position, raw": place[domain, name],
                    "position, calibrated": place[domain, f"calibrated {name}"],
                    "mean difference of scores": round(float(distances.mean()), 3),
                    "largest": round(float(distances.max()), 2),
                    "scores": len(both),
                }
            )
    return pd.DataFrame(rows)


def make_facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Return how many measures calibration improves or worsens, and how much it changes positions on the benchmark."""
    lines, benchmark = _lines(rows), _benchmark()
    facts: dict[str, Any] = {}
    for (data, widths), part in lines.groupby(["data", "widths"], sort=False):
        clear = part[(part.gain.abs() > 3 * part.error) & (part.gain.abs() > 0.02)]
        name = f"{data}, {widths}"
        for how, some in (("better", clear[clear.gain > 0]), ("worse", clear[clear.gain < 0])):
            facts |= {f"{name}, {how}": len(some), f"{name}, {how} in words": _gains_text(some)}
        for how in ("raw", "calibrated"):
            best = part.iloc[int(part[f"{how} auprc"].to_numpy().argmax())]
            facts[f"{name}, first {how}"] = f"{best.measure} ({best[f'{how} auprc']:.2f})"
        facts[f"{name}, measures"] = len(part)
    moves = (benchmark["position, raw"] - benchmark["position, calibrated"]).abs()
    facts |= {"fewest places": moves.min(), "most places": moves.max()}
    return as_facts(facts | {"difference of scores": benchmark["mean difference of scores"].mean()})


def _gains_text(clear: pd.DataFrame) -> str:
    return ", ".join(f"{line.measure} {line.gain:+.2f}" for _, line in clear.iterrows())


def _picture(lines: pd.DataFrame) -> Picture:
    parts = list(lines.groupby(["data", "widths"], sort=False))
    fig, axes = figure(len(parts), width=3.6, height=3.6, sharey=True)
    names = list(dict.fromkeys(lines.measure))
    for ax, ((data, widths), part) in zip(axes, parts, strict=True):
        places = [len(names) - 1 - names.index(name) for name in part.measure]
        ax.hlines(places, part["raw auprc"], part["calibrated auprc"], color="0.7")
        ax.plot(part["raw auprc"], places, "o", color=PALETTE[1], label="raw")
        ax.plot(part["calibrated auprc"], places, "o", color=PALETTE[0], markersize=4.5, label="calibrated")
        ax.set(
            xlabel="AUPRC of pairs within a group",
            title=f"{data}, {widths} widths" if data == "noise" else "layers of a digits network, 4 to 32 features",
            xlim=(None, 1.03),
        )
    axes[0].set_yticks(range(len(names)), names[::-1])
    axes[0].legend(frameon=False, fontsize=8)
    return Picture("raw_and_calibrated", fig, "AUPRC of known groups by measure, raw and calibrated, in three designs")
