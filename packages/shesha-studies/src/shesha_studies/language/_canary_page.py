"""Page of the canary study: answer, tables, picture and notes."""

from __future__ import annotations

from typing import Any

from shesha.charts import PALETTE
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha.studies.published_checks import Table, split_numbers_and_claims
from shesha_studies.language._canary_statistics import Found, checks, gather_statistics
from shesha_studies.language._drift_measures import BOUND, NAMES

SHOWN = ("shesha", "cka", "procrustes", "squared", "wasserstein")


def make_page(rows: Table, lines: Table) -> Page:
    """Make the page: the verdicts on Table 47 and on the text."""
    statistics, (published, claims) = gather_statistics(rows), split_numbers_and_claims(lines)
    tables = (
        ("Comparison with Table 47 (last layers; means over encoders and draws)", statistics.beside(published)),
        (
            "Rank correlations of scores with the loss (both tasks)",
            statistics.correlations.join(statistics.within, rsuffix=" among equal noise").reset_index(names="number"),
        ),
        (
            "Lowest noise detected in the last layer (means over encoders, tasks and draws; 0.55 stands for never)",
            statistics.first.reset_index(names="bound"),
        ),
        (
            "Bounds with a rate of false alarms of 5 %, set on the other draw of the noise (both tasks)",
            statistics.matched.reset_index(names="number"),
        ),
    )
    notes = (
        "The published numbers are means over 26 encoders and 800 sentences. We use two of these encoders, six "
        "layers of each, 240 sentences and 100 pairs of sentences, and two draws of the noise. A loss of 1 % "
        "corresponds to two or three sentences, so McNemar's test (SST-2) or a jackknife (STS-B) at 5 % decides "
        "whether there is a loss.",
        'The text defines Procrustes similarity as 1 - |X - YR|^2 / (|X|^2 + |YR|^2); one minus it is "Procrustes, '
        'squared" here. The numbers of Table 47 fit the distance |X - YR| itself, the root of twice that. The root '
        "of a small number is larger than the number.",
        "Drift without a loss of performance is not a false alarm of a monitor, because the weights did change. A "
        "bound must be above the drift of mere re-encoding (another order, other batches, weights in half "
        'precision). The table calls such bounds "bound from chance".',
        "The caption of Table 47 says STS-B, but the method says SST-2 with a logistic regression. We computed both; "
        "claims are judged on SST-2.",
        "LoRA and quantisation are in the studies `structured-perturbation` and `canary-lm`, as in the paper.",
    )
    return Page("", tables, (_picture(statistics, published),), notes, tuple(checks(statistics, published, claims)))


def _picture(statistics: Found, published: Table) -> Picture:
    fig, axes = figure(3, width=3.7, height=3.5)
    rows = statistics.noise[statistics.noise["last"]]
    for place, name in enumerate(SHOWN[:4]):
        mean = rows.groupby("level")[name].mean()
        axes[0].plot(mean.index, mean, color=PALETTE[place], label=NAMES[name])
    axes[0].axhline(BOUND, color="0.5", linewidth=0.8, linestyle="--")
    loss = rows.groupby("level")["drop"].mean() / 100
    axes[0].plot(loss.index, loss, color="0.2", linestyle=":", label="loss / 100")
    axes[0].set(xlabel="noise", ylabel="drift, loss", title="last layer")
    axes[0].legend(frameon=False, fontsize="x-small")
    _bars(axes[1], statistics)
    _first(axes[2], statistics)
    return Picture(
        "canary",
        fig,
        "Drift and loss against noise; rank correlations with the loss, over all noise levels and at equal noise; "
        "lowest noise detected with the bound of 0.05 and with bounds from re-encodings",
    )


def _bars(ax: Any, results: Found) -> None:
    names = [*SHOWN[:3], "wasserstein", "level"]
    every = (("last layer", "s", results.correlations["last"]), ("all layers", "o", results.correlations.rho))
    for place, (label, mark, values) in enumerate((*every, ("layers, equal noise", "D", results.within.rho))):
        keys = [name for name in names if name in values]
        ax.plot(values[keys], [names.index(name) for name in keys], mark, color=PALETTE[place], label=label)
    ax.set(yticks=range(len(names)), yticklabels=[NAMES.get(name, "noise itself") for name in names], xlim=(-0.2, 1.02))
    ax.set(xlabel="rank correlation with the loss", title="predictors of the loss")
    ax.invert_yaxis()
    ax.legend(frameon=False, fontsize="x-small", loc="lower left")


def _first(ax: Any, results: Found) -> None:
    marks: dict[str, tuple[str, str]] = {"bound 0.05": ("o", PALETTE[0]), "bound from chance": ("D", PALETTE[1])}
    for bound, (mark, colour) in marks.items():
        ax.plot([results.first.loc[bound, name] for name in SHOWN], range(len(SHOWN)), mark, color=colour, label=bound)
    ax.set(
        yticks=range(len(SHOWN)),
        yticklabels=[NAMES[name] for name in SHOWN],
        xlabel="lowest noise detected (0.55: never)",
        title="how early",
    )
    ax.invert_yaxis()
    ax.legend(frameon=False, fontsize="x-small")
