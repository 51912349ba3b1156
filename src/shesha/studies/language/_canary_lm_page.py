"""What the study of canaries in causal models makes of its rows."""

from __future__ import annotations

from shesha.plots import PALETTE
from shesha.studies._page import Page, Picture
from shesha.studies._pictures import figure
from shesha.studies._published import Table, apart
from shesha.studies.language._canary_lm_claims import SHOWN, STABLE, checks
from shesha.studies.language._detection import area, first_beyond, sensitivity
from shesha.studies.language._drifts import BOUND, NAMES
from shesha.studies.language._tiny_gpt import TINY


def page_of(rows: Table, lines: Table) -> Page:
    """Say what one small model can show of Tables 48 to 51."""
    # Equal losses are ties, whatever the last digits of a difference of shares.
    rows = rows.assign(**{name: rows[name].round(6) for name in rows.columns if name.startswith("drop")})
    own, control = rows[rows.model == TINY[0]], rows[rows.model == TINY[1]]
    numbers, raw = _numbers(own), _numbers(control)
    first = numbers.loc["shesha"]
    answer = (
        f"In a small model trained here drift follows the loss of next words under noise (rank correlation "
        f"{first['next words']:.2f} for Shesha, {numbers.loc['cka', 'next words']:.2f} for CKA, "
        f"{numbers.loc['procrustes', 'next words']:.2f} for Procrustes), and noise itself as well "
        f"({numbers.loc['amount', 'next words']:.2f}); with the published probe on SST-2 it is {first.probe:.2f}, and "
        f"in the same "
        f"model untrained {raw.loc['shesha', 'probe']:.2f}. False alarms are a matter of the bound: where the probe "
        f"loses less "
        f"than 1 %, {first['alarms at 0.05']:.0%} (Shesha), {numbers.loc['procrustes', 'alarms at 0.05']:.0%} "
        f"(Procrustes) and "
        f"{numbers.loc['squared', 'alarms at 0.05']:.0%} (Procrustes squared, as its formula is printed) pass 0.05."
    )
    means = own.groupby(["kind", "amount"])[["drop", "drop_verdicts", "drop_words", *SHOWN]].mean().reset_index()
    tables = (
        ("Trained model", numbers.reset_index(names="number")),
        ("The same model untrained", raw.reset_index(names="number")),
        ("Trained model, means of draws; losses in per cent", means),
    )
    notes = (
        "Published: 15 models of 0.1 to 7 thousand million weights. A model of a third of a million weights, trained "
        "in half a "
        "minute on the reviews it is asked about, says whether a claim can fail, not what large models do.",
        "The probe (a logistic regression on mean states, in 5 folds) is fitted anew after the damage, so that it "
        "repairs "
        "what it can; verdicts and next words are read as the undamaged model would. One sentence is 0.3 %.",
        "A stable regime of losses below 1 % holds real losses and gains by chance; McNemar's test at 5 % decides "
        "otherwise.",
        "Cells of the published models are in the grid and are computed where their weights are found.",
    )
    return Page(answer, tables, (_picture(own),), notes, tuple(checks(own, numbers, *apart(lines))))


def _numbers(own: Table) -> Table:
    """Correlations under noise by task, and how well each number tells losses from none over all changes."""
    import pandas as pd

    noise, every = own[own.kind == "noise"], own[own.kind != "precision"]
    lost, stable = (every["drop"] > STABLE).to_numpy(), every[every["drop"] < STABLE]
    found = {}
    for name in (*SHOWN, "amount"):
        values = every[name].to_numpy(dtype=float)
        plain = name == "amount"
        found[name] = {
            "probe": noise[name].corr(noise["drop"], method="spearman"),
            "verdicts": noise[name].corr(noise.drop_verdicts, method="spearman"),
            "next words": noise[name].corr(noise.drop_words, method="spearman"),
            "first noise beyond 0.05": float("nan") if plain else first_beyond(noise, name, BOUND, "amount"),
            "area under the curve": float("nan") if plain else area(values, lost),
            "sensitivity at 5 %": float("nan") if plain else sensitivity(values, lost),
            "alarms at 0.05": float("nan") if plain else float((stable[name] > BOUND).mean()),
        }
    return pd.DataFrame.from_dict(found, orient="index")


def _picture(own: Table) -> Picture:
    made, axes = figure(3, width=3.8, height=3.5)
    noise = own[own.kind == "noise"].groupby("amount")[[*SHOWN, "drop", "drop_words", "drop_verdicts"]].mean()
    for place, name in enumerate(SHOWN[:4]):
        axes[0].plot(noise.index, noise[name], color=PALETTE[place], label=NAMES[name])
    axes[0].axhline(BOUND, color="0.5", linestyle="--", linewidth=0.8)
    axes[0].set(xlabel="noise", ylabel="drift", title="drift")
    for place, (name, label) in enumerate(
        (("drop", "probe"), ("drop_verdicts", "verdicts"), ("drop_words", "next words"))
    ):
        axes[1].plot(noise.index, noise[name], color=PALETTE[place], label=label)
    axes[1].set(xlabel="noise", ylabel="loss, %", title="loss")
    scales = own[own.kind == "scale"].groupby("amount")[list(SHOWN[:4])].mean()
    for place, name in enumerate(SHOWN[:4]):
        axes[2].plot(scales.index, scales[name], "o-", markersize=3, color=PALETTE[place], label=NAMES[name])
    axes[2].axhline(BOUND, color="0.5", linestyle="--", linewidth=0.8)
    axes[2].set(xscale="log", xlabel="scale of random adapters of rank 8", ylabel="drift", title="adapters")
    for ax in axes[:2]:
        ax.legend(frameon=False, fontsize="x-small")
    return Picture(
        "canary_lm",
        made,
        "Drift and losses of a small causal model by noise, and drift by the scale of random adapters",
    )
