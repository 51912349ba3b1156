"""The page of raw against calibrated scores: models of known groups, and the cells of the benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.benchmark import rank
from shesha.charts import PALETTE
from shesha.studies.facts import Facts, as_facts
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha_studies.benchmark import _resi_scores as tables

if TYPE_CHECKING:
    import pandas as pd

BY = ["data", "widths", "measure"]
CALIBRATED = ("CKA", "RSA", "mutual kNN")
"""The measures whose calibrated variants took part in the small suites."""
NOTES = (
    "Calibrated scores are 0 for all pairs within chance, so weak relations lose their order. With equal "
    "widths calibration can only lose. With different widths the raw value of a biased measure follows "
    "the widths, and calibration removes this. Measures without such a bias (unbiased CKA, RSA, "
    "neighbours) lose there as well.",
    "Groups of noise: two of four models, 48 rows, a shared part of rank 4 in noise, widths of 24 each or of 4 to "
    "108. Digits: features drawn from the first and from the last layer of the network that ships, 4 to 32 of "
    "them, so that width differs within groups and not between them. By chance AUPRC is 0.43 (6 of 14 distances "
    "of a model's partners are of its group: 3 of 7), conformity 0.5.",
    "On the benchmark: our small suites at the two decimals of docs/benchmark, positions among all 41 measures, "
    "with three calibrated ones. Its pairs have equal widths and equal rows, so that chance is nearly the same "
    "for each of them.",
    "A caution: calibration changes the meaning of a number (0 is chance). It changes the order only if "
    "chance differs between pairs, by width, rank or rows. The best measure here is the best for this "
    "strength and these widths.",
)


def make_page(rows: pd.DataFrame) -> Page:
    """Make the page of all cells."""
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
    made = means[["raw auprc", "calibrated auprc", "raw conformity", "calibrated conformity", "gain"]].mean()
    made = made.assign(error=means.gain.std() / np.sqrt(means.size()), draws=means.size()).reset_index()
    for how in ("raw", "calibrated"):
        made[f"{how} place"] = made.groupby(["data", "widths"])[f"{how} auprc"].rank(ascending=False).round(1)
    return made


def _readable(lines: pd.DataFrame) -> pd.DataFrame:
    made = lines[[*BY]].copy()
    for how in ("raw", "calibrated"):
        made[f"AUPRC, {how}"] = lines[f"{how} auprc"].round(2)
    made["gain"] = [f"{one.gain:+.3f} +- {one.error:.3f}" for _, one in lines.iterrows()]
    for how in ("raw", "calibrated"):
        made[f"conformity, {how}"] = lines[f"{how} conformity"].round(2)
    made["place, raw / calibrated"] = [
        f"{one['raw place']:g} / {one['calibrated place']:g}" for _, one in lines.iterrows()
    ]
    return made.assign(draws=lines.draws)


def _benchmark() -> pd.DataFrame:
    """Positions of the three measures and of their calibrated variants, and how alike their scores are."""
    import pandas as pd

    scores, made = tables.scores("all"), []
    ranks = rank(scores)
    place = {(line.domain, line.measure): int(line.position) for _, line in ranks.iterrows()}
    for domain in ("graph", "language", "vision"):
        own = scores[scores.domain == domain].pivot_table(index=list(tables.BLOCK), columns="measure", values="value")
        for name in CALIBRATED:
            both = own[[name, f"calibrated {name}"]].dropna()
            apart = (both[name] - both[f"calibrated {name}"]).abs()
            made.append(
                {
                    "domain": domain,
                    "measure": name,
                    "position, raw": place[domain, name],
                    "position, calibrated": place[domain, f"calibrated {name}"],
                    "mean difference of scores": round(float(apart.mean()), 3),
                    "largest": round(float(apart.max()), 2),
                    "scores": len(both),
                }
            )
    return pd.DataFrame(made)


def make_facts(rows: pd.DataFrame) -> Facts:
    """How many measures gain and lose by calibration in each design, and how far it moves places on the benchmark."""
    lines, benchmark = _lines(rows), _benchmark()
    made: dict[str, Any] = {}
    for (data, widths), part in lines.groupby(["data", "widths"], sort=False):
        clear = part[(part.gain.abs() > 3 * part.error) & (part.gain.abs() > 0.02)]
        name = f"{data}, {widths}"
        for how, some in (("better", clear[clear.gain > 0]), ("worse", clear[clear.gain < 0])):
            made |= {f"{name}, {how}": len(some), f"{name}, {how} in words": _gains_text(some)}
        for how in ("raw", "calibrated"):
            best = part.iloc[int(part[f"{how} auprc"].to_numpy().argmax())]
            made[f"{name}, first {how}"] = f"{best.measure} ({best[f'{how} auprc']:.2f})"
        made[f"{name}, measures"] = len(part)
    moves = (benchmark["position, raw"] - benchmark["position, calibrated"]).abs()
    made |= {"fewest places": moves.min(), "most places": moves.max()}
    return as_facts(made | {"difference of scores": benchmark["mean difference of scores"].mean()})


def _gains_text(clear: pd.DataFrame) -> str:
    return ", ".join(f"{one.measure} {one.gain:+.2f}" for _, one in clear.iterrows())


def _picture(lines: pd.DataFrame) -> Picture:
    parts = list(lines.groupby(["data", "widths"], sort=False))
    made, axes = figure(len(parts), width=3.6, height=3.6, sharey=True)
    names = list(dict.fromkeys(lines.measure))
    for ax, ((data, widths), own) in zip(axes, parts, strict=True):
        places = [len(names) - 1 - names.index(name) for name in own.measure]
        ax.hlines(places, own["raw auprc"], own["calibrated auprc"], color="0.7")
        ax.plot(own["raw auprc"], places, "o", color=PALETTE[1], label="raw")
        ax.plot(own["calibrated auprc"], places, "o", color=PALETTE[0], markersize=4.5, label="calibrated")
        ax.set(
            xlabel="AUPRC of pairs of a group",
            title=f"{data}, {widths} widths" if data == "noise" else "layers of digits, 4 to 32 features",
            xlim=(None, 1.03),
        )
    axes[0].set_yticks(range(len(names)), names[::-1])
    axes[0].legend(frameon=False, fontsize=8)
    return Picture("raw_and_calibrated", made, "AUPRC of known groups by measure, raw and calibrated, in three designs")
