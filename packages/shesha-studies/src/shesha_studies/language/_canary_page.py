"""What the canary study makes of its rows."""

from __future__ import annotations

from typing import Any

from shesha.charts import PALETTE
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha.studies.published import Table, apart
from shesha_studies.language._canary_claims import Found, checks, found_in
from shesha_studies.language._drifts import BOUND, NAMES

SHOWN = ("shesha", "cka", "procrustes", "squared", "wasserstein")


def page_of(rows: Table, lines: Table) -> Page:
    """Say which claims stand on one encoder and its layers."""
    found, (published, claims) = found_in(rows), apart(lines)
    at_bound, at_chance = found.first.loc["bound 0.05"], found.first.loc["bound from chance"]
    rho, equal, caught = found.correlations, found.within, found.matched.sensitivity
    answer = (
        f"Drift follows the loss of the encoder (rank correlation {rho['last'].shesha:.2f}), but no better than the "
        f"level of "
        f"noise does ({rho['last'].level:.2f}); which layer loses more at equal noise it says with "
        f"{equal.rho.shesha:.2f} "
        f"(p = {equal.p.shesha:.3f}; CKA {equal.rho.cka:.2f}, Procrustes {equal.rho.procrustes:.2f}). That Procrustes "
        f"warns "
        f"before Shesha and Shesha before CKA (first noise {at_bound.procrustes:.3f}, {at_bound.shesha:.3f}, "
        f"{at_bound.cka:.3f}) is the scale of three numbers under one bound of 0.05: beside re-encodings all are first "
        f"at "
        f"{at_chance.shesha:.2f}, and with bounds of equal false alarms they find {caught.procrustes:.0%}, "
        f"{caught.shesha:.0%} and {caught.cka:.0%} of the losses."
    )
    tables = (
        ("Beside Table 47: the last layer, means of the draws", found.beside(published)),
        (
            "Rank correlation with the loss",
            found.correlations.join(found.within, rsuffix=" among equal noise").reset_index(names="number"),
        ),
        (
            "First noise that is noticed by the last layer, means over tasks and draws",
            found.first.reset_index(names="bound"),
        ),
        (
            "Bounds of equal false alarms (5 % where nothing is lost, set on the other draw)",
            found.matched.reset_index(names="number"),
        ),
    )
    notes = (
        "Published: means over 26 encoders and 800 sentences; ours: one of them, with its six layers, 240 sentences "
        "and 100 "
        "pairs, two draws of the noise. A loss of 1 % is two or three sentences here: whether it is one is McNemar's "
        "test "
        "(SST-2) or a jackknife (STS-B), at 5 %.",
        'The text defines Procrustes as 1 - |X - YR|^2 / (|X|^2 + |YR|^2) ("Procrustes, squared"); Table 47 fits the '
        "distance |X - YR| itself, the root of twice that. A root is large where everything else is small.",
        "Drift without a loss is no false alarm of a monitor: the weights did change. What re-encoding does by itself "
        "(another order, other batches, weights in half precision) is the chance that a bound must lie beyond.",
        "The table's caption says STS-B, the method SST-2 with a logistic regression; both are here.",
        "LoRA and quantisation are in structured-perturbation and canary-lm, as in the paper.",
    )
    return Page(answer, tables, (_picture(found, published),), notes, tuple(checks(found, published, claims)))


def _picture(found: Found, published: Table) -> Picture:
    made, axes = figure(3, width=3.7, height=3.5)
    rows = found.noise[found.noise.layer == found.noise.layer.max()]
    for place, name in enumerate(SHOWN[:4]):
        mean = rows.groupby("level")[name].mean()
        axes[0].plot(mean.index, mean, color=PALETTE[place], label=NAMES[name])
    axes[0].axhline(BOUND, color="0.5", linewidth=0.8, linestyle="--")
    loss = rows.groupby("level")["drop"].mean() / 100
    axes[0].plot(loss.index, loss, color="0.2", linestyle=":", label="loss / 100")
    axes[0].set(xlabel="noise", ylabel="drift, loss", title="last layer")
    axes[0].legend(frameon=False, fontsize="x-small")
    _bars(axes[1], found)
    _first(axes[2], found)
    return Picture(
        "canary",
        made,
        "Drift and loss by noise; rank correlations, all and among equal noise; first noise that is noticed under one "
        "bound and beside chance",
    )


def _bars(ax: Any, found: Found) -> None:
    names = [*SHOWN[:3], "wasserstein", "level"]
    every = (("last layer", "s", found.correlations["last"]), ("all layers", "o", found.correlations.rho))
    for place, (label, mark, values) in enumerate((*every, ("layers, equal noise", "D", found.within.rho))):
        own = [name for name in names if name in values]
        ax.plot(values[own], [names.index(name) for name in own], mark, color=PALETTE[place], label=label)
    ax.set(yticks=range(len(names)), yticklabels=[NAMES.get(name, "noise itself") for name in names], xlim=(-0.2, 1.02))
    ax.set(xlabel="rank correlation with the loss", title="what foretells it")
    ax.invert_yaxis()
    ax.legend(frameon=False, fontsize="x-small", loc="lower left")


def _first(ax: Any, found: Found) -> None:
    marks: dict[str, tuple[str, str]] = {"bound 0.05": ("o", PALETTE[0]), "bound from chance": ("D", PALETTE[1])}
    for bound, (mark, colour) in marks.items():
        ax.plot([found.first.loc[bound, name] for name in SHOWN], range(len(SHOWN)), mark, color=colour, label=bound)
    ax.set(
        yticks=range(len(SHOWN)),
        yticklabels=[NAMES[name] for name in SHOWN],
        xlabel="first noise noticed (0.55: never)",
        title="how early",
    )
    ax.invert_yaxis()
    ax.legend(frameon=False, fontsize="x-small")
