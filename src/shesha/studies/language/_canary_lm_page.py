"""What the study of canaries in causal models makes of its rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shesha.plots import PALETTE
from shesha.studies._checks import Check
from shesha.studies._page import Page, Picture
from shesha.studies._pictures import figure
from shesha.studies.language._detection import area, first_beyond, sensitivity
from shesha.studies.language._drifts import BOUND, NAMES
from shesha.studies.language._published_rows import Table, claim, derived, number, of, stand_ins
from shesha.studies.language._tiny_gpt import TINY

SHOWN = ("shesha", "cka", "procrustes", "squared", "wasserstein")
WHY = "15 causal models that are not at hand; ours: a GPT-2 of three blocks trained here"
LOST, STABLE = 0.05, 1.0


def page(rows: Table, published: Table) -> Page:
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
    return Page(answer, tables, (_picture(own),), notes, tuple(_checks(own, numbers, published)))


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


def _checks(own: Table, numbers: Table, published: Table) -> Iterator[Check]:
    means = own.groupby(["kind", "amount"])[["drop", *SHOWN]].mean()

    def ours(row: str, what: str) -> float | None:
        kind, _, amount = ("rank 8" if row == "scale 0.01" else row).partition(" ")
        at = (kind, float(amount) if amount else 8.0 if kind == "int8" else 4.0)
        return float(means.loc[at, what]) if at in means.index and what in means.columns else None

    for table in ("Table 49", "Table 50", "Table 51"):

        def in_its_unit(row: str, what: str, share: float = 1.0 if table == "Table 51" else 0.01) -> float | None:
            return _scaled(ours(row, what), what, share)

        yield from stand_ins(of(published, table), in_its_unit, WHY)
    columns = {"correlation": "probe", "first noise": "first noise beyond 0.05"}
    text = of(published, "10.4", "3.3", "10.5")
    for lines in (of(published, "Table 48"), text[text.number.isin(list(columns))]):
        yield from stand_ins(lines, lambda row, what: float(numbers.loc[row, columns[what]]), WHY)
    rest = text[~text.number.isin(list(columns))]
    ratio = rest.number.str.startswith(("times", "points"))
    yield from stand_ins(
        rest[~ratio], lambda row, what: ours(row, what) if " " not in row or row.startswith("scale") else None, WHY
    )
    yield from derived(rest[ratio], lambda _, what: _quotient(published, what), "quotient of the printed numbers")
    yield from _claims(own, numbers, published)


def _scaled(value: float | None, what: str, share: float) -> float | None:
    return value if value is None or what != "drop" else share * value


def _quotient(published: Table, what: str) -> float:
    if what.startswith("points"):
        both = [
            number(published, "3.3", "LoRA", f"sensitivity at 5 % false positives, {one}")
            for one in ("shesha", "procrustes")
        ]
        return both[0] - both[1]
    if what.startswith("times the drift"):
        return number(published, "3.3", "scale 0.001", "procrustes") / number(published, "3.3", "scale 0.001", "shesha")
    rates = [
        number(published, "3.3", "stable (drop below 1 %)", f"false alarms, {one}") for one in ("procrustes", "shesha")
    ]
    return rates[0] / rates[1]


def _claims(own: Table, numbers: Table, published: Table) -> Iterator[Check]:
    three = numbers.loc[["shesha", "cka", "procrustes"]]
    level = float(numbers.loc["amount", "probe"])
    yield claim(
        "10.4",
        "drift foretells the loss of causal models under noise",
        "rho > 0.9",
        f"{three.probe.min():.2f} to {three.probe.max():.2f}; noise itself {level:.2f}",
        bool(three.probe.max() > level + 0.05),
        f"in one model every number rises with the noise, whose own correlation with the loss is {level:.2f}",
    )
    first = [number(published, "10.4", one, "first noise") for one in ("shesha", "cka")]
    yield claim(
        "3.3",
        "Shesha warns earlier than CKA, also in causal models",
        "earlier",
        f"{first[0]} and {first[1]}",
        first[0] < first[1],
        "in the published causal models CKA (0.117) is before Shesha (0.120)",
    )
    areas = [number(published, "3.3", "LoRA", f"area under the curve, {one}") for one in ("shesha", "procrustes")]
    ours = three["area under the curve"]
    yield claim(
        "3.3",
        "Shesha is the best detector (area 0.990 against 0.988 and 0.987)",
        f"{areas[0]} against {areas[1]}",
        f"{ours['shesha']:.3f}, CKA {ours['cka']:.3f}, Procrustes {ours['procrustes']:.3f}",
        bool(ours["shesha"] > ours[["cka", "procrustes"]].max() + 0.02),
        "a difference of 0.002 in 165 changes is one pair in five hundred; on the stand-in there is none either",
    )
    alarms = numbers["alarms at 0.05"]
    yield claim(
        "10.5",
        "Procrustes gives six times the false alarms of Shesha",
        "44 % and 7.3 %",
        f"{alarms['procrustes']:.0%} and {alarms['shesha']:.0%}; squared {alarms['squared']:.0%}",
        bool(alarms["squared"] > alarms["shesha"]),
        f"it is a root under the bound of 0.05 for all: squared, as its formula is printed, it alarms in "
        f"{alarms['squared']:.0%}, and its order of changes is nearly Shesha's (areas {ours['procrustes']:.3f} and "
        f"{ours['shesha']:.3f})",
    )
    yield claim(
        "10.5",
        "Procrustes registers rotations and translations that do no harm",
        "oversensitive",
        "0 for any rotation",
        False,
        "it takes them away before it measures: its invariance is in its definition",
    )
    small = np.sqrt(2 * float(own[(own.kind == "scale") & (own.amount == 0.001)].squared.mean()))
    shesha = float(own[(own.kind == "scale") & (own.amount == 0.001)].shesha.mean())
    yield claim(
        "3.3",
        "at minimal change Procrustes inflates drift 37 times",
        "0.015 and 0.0004",
        f"{small:.4f} and {shesha:.6f}",
        False,
        "the root of a small number is large: 0.015 squared, halved, is 0.0001, below Shesha's 0.0004",
    )
    bits = own[own.kind.isin(["int8", "nf4"])]
    worst = float(bits["p_drop"].min()) if len(bits) else float("nan")
    yield claim(
        "10.4",
        "fewer bits move a model and lose nothing",
        "drops 0.01 % and 0.21 %",
        f"drops {', '.join(f'{value:.1f} %' for value in bits['drop'])}, smallest p = {worst:.2f}",
        bool(worst > LOST),
        "a loss beyond chance on the stand-in",
        control=False,
    )
    adapters = own[own.kind.isin(["rank", "scale"])]
    rho = float(adapters.shesha.corr(adapters["drop"], method="spearman"))
    yield claim(
        "10.4",
        "under random adapters the correlation is moderate (0.67 to 0.68)",
        0.67,
        rho,
        rho > 0.3,
        f"adapters of these scales cost the stand-in {adapters['drop'].max():.1f} % at most: there is little to "
        f"foretell",
        control=False,
    )


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
