"""The page of the study of early warning in causal models."""

from __future__ import annotations

from shesha.charts import PALETTE
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha.studies.published_checks import Table, split_numbers_and_claims
from shesha_studies.language._canary_lm_checks import LEAST, SHOWN, checks, model_tables, round_losses
from shesha_studies.language._drift_measures import BOUND, NAMES
from shesha_studies.language._perturbed_models import stand_in


def make_page(rows: Table, lines: Table) -> Page:
    """Make the page: Tables 48 to 51, as far as the available models allow."""
    rows = round_losses(rows)
    real = stand_in(rows, LEAST)
    subset = rows[rows.model == real]
    numbers = model_tables(rows, real)
    losses = ["drop", "drop_verdicts", "drop_words"]
    means = subset.groupby(["kind", "amount"])[[*losses, *SHOWN]].mean().dropna(axis=1, how="all").reset_index()
    tables = (
        *((name, table.dropna(axis=1, how="all").reset_index(names="number")) for name, table in numbers.items()),
        (f"{real}: mean drifts and losses over draws (losses in per cent)", means),
    )
    return Page(
        "",
        tables,
        (_picture(subset, real),),
        _NOTES,
        tuple(checks(subset, real, numbers[real], *split_numbers_and_claims(lines))),
    )


_NOTES = (
    "The published models have 0.1 to 7 billion weights. SmolLM2-135M-Instruct belongs to the family of the "
    "smallest, and we read it from a file with weights of four bits. The tiny GPT has a third of a million weights "
    "and was trained for half a minute on the same reviews. It can show that a claim can fail, but not what large "
    "models do.",
    "The loss of the probe is that of a logistic regression on mean states, in 5 folds. The probe is fitted again "
    "after the change, so it can compensate for part of the damage. The losses of verdicts and next words use the "
    "readout of the unchanged model. One sentence corresponds to 0.3 %.",
    (
        "False alarms are counted over changes with a loss below 1 %, as in the paper. These include real losses as "
        "well as gains by chance, so McNemar's test at 5 % can give another answer."
    ),
    "The published models are cells of the grid and are computed if their weights are available.",
)


def _picture(rows: Table, model: str) -> Picture:
    fig, axes = figure(3, width=3.8, height=3.5)
    noise = rows[rows.kind == "noise"].groupby("amount")[[*SHOWN, "drop", "drop_words", "drop_verdicts"]].mean()
    for place, name in enumerate(SHOWN[:4]):
        axes[0].plot(noise.index, noise[name], color=PALETTE[place], label=NAMES[name])
    axes[0].axhline(BOUND, color="0.5", linestyle="--", linewidth=0.8)
    axes[0].set(xlabel="noise", ylabel="drift", title="drift")
    for place, (task, label) in enumerate(
        (("drop", "probe"), ("drop_verdicts", "verdicts"), ("drop_words", "next words"))
    ):
        if noise[task].notna().any():
            axes[1].plot(noise.index, noise[task], color=PALETTE[place], label=label)
    axes[1].set(xlabel="noise", ylabel="loss, %", title="loss")
    scales = rows[rows.kind == "scale"].groupby("amount")[list(SHOWN[:4])].mean()
    for place, name in enumerate(SHOWN[:4]):
        axes[2].plot(scales.index, scales[name], "o-", markersize=3, color=PALETTE[place], label=NAMES[name])
    axes[2].axhline(BOUND, color="0.5", linestyle="--", linewidth=0.8)
    axes[2].set(xscale="log", xlabel="scale of random adapters of rank 8", ylabel="drift", title="adapters")
    for ax in axes[:2]:
        ax.legend(frameon=False, fontsize="x-small")
    return Picture(
        "canary_lm",
        fig,
        f"Drift and losses of {model} against noise, and its drift against the scale of random adapters",
    )
