"""What the study of further training makes of its rows, and of the published table itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from shesha.charts import PALETTE
from shesha.studies.checks import DIFFERS, INCONCLUSIVE, Check
from shesha.studies.facts import Fact, Facts, over_draws, rank_correlation
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure, logarithmic
from shesha.studies.published import Answers, Found, Table, against, apart, claim, derived, models, of, stand_ins
from shesha_studies.language._drift_texts import SETS
from shesha_studies.language._drifts import NAMES
from shesha_studies.language._perturbed_models import stand_in
from shesha_studies.language._tuning import TASKS

SHOWN = ("shesha", "cka", "procrustes", "squared")
_LEVEL = 0.05
_LEAST = 32
"""Rows of a model that is told of: one training on each task."""
OTHER = "23 pairs of causal models are not at hand"
FAMILIES = (
    "SmolLM2",
    "SmolLM",
    "Qwen",
    "BLOOM",
    "Pythia",
    "Llama-3",
    "TinyLlama",
    "StableLM",
    "Gemma",
    "Mistral",
    "Falcon",
)


def make_page(rows: Table, lines: Table) -> Page:
    """Put ratios on a common scale: the noise in the rows that gives the same drift."""
    published, claims = apart(lines)
    trained, theirs = _trained(rows), _pairs(published)
    ratios = trained.groupby("model")["times CKA"].median()
    doses = trained.groupby("model")["noise, times CKA"].median()
    order = float(theirs.shesha.corr(theirs.cka, method="spearman"))
    answer = (
        "The published ratio (1.96) is that of two scales: the same training gives Shesha "
        + ", ".join(f"{value:.2f} times CKA's drift in {name}" for name, value in ratios.items())
        + "; as the noise in the rows that would give the same number, "
        + ", ".join(f"{value:.2f}" for value in doses)
        + f" times. In the published table both order the pairs alike (rank correlation {order:.2f}); its Procrustes "
        f"column jumps from {theirs[~theirs.large].relative.median():.2f} to "
        f"{theirs[theirs.large].relative.median():.2f} times "
        "CKA between 1.1 and 1.5 thousand million weights."
    )
    steps = (
        trained.groupby(["model", "change", "amount"])[[*SHOWN, "times CKA", "noise, times CKA"]].mean().reset_index()
    )
    sets = (
        trained.groupby(["model", "prompts"])[["shesha", "cka", "times CKA", "noise, times CKA"]].median().reset_index()
    )
    shuffled = rows[rows.change == "shuffled rows"].groupby("model")[list(SHOWN)].mean().reset_index()
    tables = (
        ("After training: means of sets and draws", steps),
        ("By set of sentences: medians", sets),
        ("Rows in another order, which share nothing", shuffled),
        ("The published table again", theirs.reset_index().rename(columns={"row": "pair"})),
    )
    notes = (
        "1 - rho and 1 - CKA are both 0 for no change and about 1 where nothing is shared, and bend differently in "
        "between: "
        'which is the larger depends on the representation and on the kind of change. "noise, times CKA" reads both '
        "as the "
        "amount of Gaussian noise in the rows that gives the same number for the same model and sentences.",
        "SmolLM2-135M-Instruct is the second half of a published pair, whose first half is not at hand: it is trained "
        "further here, as the others are, and 32 steps are little beside a training on instructions.",
        "Pythia-1B to Deduped is listed as base and instruct: it is the same training on other data.",
        "The published prompts are not at hand: sentences of news, captions, forums (STS-B) and reviews (SST-2) are.",
    )
    return Page(
        answer,
        tables,
        (_picture(trained, theirs),),
        notes,
        (*_numbers(trained, theirs, published), *against(claims, _claims(trained, theirs))),
    )


def _trained(rows: Table) -> Table:
    """Add the ratio of the two drifts, and that of the amounts of noise that give them."""
    own = rows[rows.change.isin(TASKS)]
    noise = rows[rows.change == "noise in rows"]
    same = {
        name: [
            _dose(noise[(noise.model == line.model) & (noise.prompts == line.prompts)], name, line[name])
            for _, line in own.iterrows()
        ]
        for name in ("shesha", "cka")
    }
    ratio = np.array(same["shesha"]) / np.array(same["cka"])
    return own.assign(**{"times CKA": own.shesha / own.cka, "noise, times CKA": ratio})


def _dose(noise: Table, name: str, drift: float) -> float:
    """Interpolate the amount of noise, both on logarithmic scales, where drift rises with the noise."""
    curve = noise.sort_values("amount")
    values = np.maximum.accumulate(np.maximum(curve[name].to_numpy(dtype=float), 1e-9))
    return float(
        np.exp(np.interp(np.log(max(drift, 1e-9)), np.log(values), np.log(curve["amount"].to_numpy(dtype=float))))
    )


def _pairs(published: Table) -> Table:
    """Return Table 42, one line per pair, with its family."""
    table = of(published, "Table 42").pivot(index="row", columns="number", values="published")
    for name in SHOWN[:3]:
        table[name] = table[name].astype(float)
    table["weights"] = [float(re.sub("[MB]", "", size)) / (1000 if size.endswith("M") else 1) for size in table["size"]]
    family = [next(one for one in FAMILIES if str(name).startswith(one)) for name in table.index]
    return table.assign(family=family, large=table.weights >= 1.5, relative=table.procrustes / table.cka).sort_values(
        "weights"
    )


def _numbers(trained: Table, theirs: Table, published: Table) -> Iterator[Check]:
    yield from stand_ins(of(published, "Table 42"), lambda *_: None, OTHER)
    yield from models(
        of(published, "Table 52"), {}, "these weights are not at hand; cells of the grid load them where they are"
    )
    lines = of(published, "10.1", "3.3", "Figure 21", "Figure 22")
    kinds = lines[lines.row.isin(["factual", "descriptive", "conversational", "instructions"])]
    stands = {"factual": "news", "descriptive": "captions", "conversational": "forums", "instructions": "reviews"}
    real = stand_in(trained, _LEAST)
    medians = trained[trained.model == real].groupby("prompts")["times CKA"].median()
    yield from stand_ins(
        kinds,
        lambda row, _: float(medians[stands[row]]),
        f"{OTHER}; ours: {real}, other sentences ({', '.join(SETS)})",
    )
    own = {
        "mean": theirs,
        **{name: theirs[theirs.family.str.startswith(name)] for name in ("Llama", "BLOOM", "Falcon")},
    }
    yield from derived(
        lines[lines.row.isin(list(own))],
        lambda row, what: _derived(own[row], what),
        "the rows of Table 42 give this (mean of the column, or quotient of means)",
    )
    counts = {
        "pairs": float(len(theirs)),
        "families": float(theirs.family.nunique()),
        "observations": 4.0 * len(theirs),
    }
    yield from derived(lines[lines.row == "counts"], lambda _, what: counts[what], "counted in Table 42")


def _derived(own: Table, what: str) -> float:
    return (
        float(own[what.split(", ")[1]].mean() / own.cka.mean()) if what.startswith("times") else float(own[what].mean())
    )


def _claims(trained: Table, theirs: Table) -> Answers:
    answers: Answers = {}
    means = trained.groupby(["model", "change", "amount"])[["shesha", "cka", "procrustes"]].mean()
    steps = means.groupby(level=[0, 1]).diff().min(axis=1).groupby(level=0).min()
    answers["grows"] = claim(
        bool(steps.min() > 0),
        "smallest step " + ", ".join(f"{value:+.4f} ({name})" for name, value in steps.items()),
        f"drift falls at a step in {int((steps <= 0).sum())} of {len(steps)} models: training also comes back",
        DIFFERS,
    )
    order = float(theirs.shesha.corr(theirs.cka, method="spearman"))
    answers["underestimates"] = claim(
        order < 0.5,
        f"rank correlation of the two columns {order:.2f}",
        "both order the pairs alike; only Llama stands out, and a ratio of small numbers is large",
    )
    small, large = theirs[~theirs.large].relative, theirs[theirs.large].relative
    answers["procrustes"] = claim(
        bool(small.max() >= large.min()),
        f"to 1.1 B: {small.min():.2f} to {small.max():.2f}; from 1.5 B: {large.min():.2f} to {large.max():.2f}",
        "in Table 42 no pair below 1.5 thousand million weights reaches CKA and every one above passes it: the number "
        "was computed in two ways (or precisions), and the mean mixes them",
    )
    answers["own kind"] = _of_own_kind(trained)
    other = [str(pair) for pair in theirs.index if "Deduped" in str(pair)]
    answers["pairs"] = claim(
        not other,
        f"{', '.join(other)} is none",
        "pythia-1b-deduped is trained from scratch on other data; no instruction tuning",
        DIFFERS,
    )
    return answers


def _of_own_kind(trained: Table) -> Found:
    """Whether the ratio is smallest for reviews in more trainings on reviews than chance gives to one of four kinds."""
    from scipy.stats import binomtest

    tuned = trained[trained.change == "sentiment"]
    # Stages of one training are one case.
    ratios = tuned.groupby(["model", "seed", "prompts"])["times CKA"].median().unstack()
    first, n = int((ratios.idxmin(axis=1) == "reviews").sum()), len(ratios)
    p = float(binomtest(first, n, 1 / ratios.shape[1], "greater").pvalue)
    return claim(
        p <= _LEVEL,
        f"smallest for reviews in {first} of {n} trainings on reviews (p = {p:.3f})",
        "which kind has the smallest ratio differs from training to training, and so few trainings cannot rule it out",
        INCONCLUSIVE,
    )


def _picture(trained: Table, theirs: Table) -> Picture:
    made, axes = figure(3, width=3.8, height=3.6)
    for place, (name, own) in enumerate(trained.groupby("model", sort=False)):
        axes[0].plot(own.cka, own.shesha, "o", markersize=4, color=PALETTE[place], label=str(name))
    axes[0].plot(theirs.cka / 100, theirs.shesha / 100, "^", markersize=4, color="0.5", label="published pairs")
    axes[0].axline((0, 0), slope=1, color="0.7", linewidth=0.8)
    axes[0].set(xlabel="CKA drift", ylabel="Shesha drift", title="two scales")
    for place, (name, own) in enumerate(trained.groupby("model", sort=False)):
        axes[1].boxplot([own["times CKA"], own["noise, times CKA"]], positions=[3 * place, 3 * place + 1], widths=0.7)
        axes[1].text(
            3 * place + 0.5,
            1.02,
            str(name).replace("-", "-\n", 1),
            ha="center",
            fontsize="x-small",
            transform=axes[1].get_xaxis_transform(),
        )
    ticks = [3 * place + i for place in range(trained.model.nunique()) for i in (0, 1)]
    axes[1].set(xticks=ticks, xticklabels=["drift", "as\nnoise"] * trained.model.nunique(), ylabel="Shesha, times CKA")
    axes[1].axhline(1, color="0.7", linewidth=0.8)
    axes[2].plot(theirs.weights, theirs.relative, "o", color=PALETTE[2], label=f"{NAMES['procrustes']} / CKA")
    axes[2].plot(theirs.weights, theirs.shesha / theirs.cka, "^", color=PALETTE[0], label=f"{NAMES['shesha']} / CKA")
    axes[2].axvline(1.3, color="0.7", linestyle="--", linewidth=0.8)
    logarithmic(axes[2], (0.1, 0.3, 1.0, 3.0, 7.0))
    axes[2].set(xlabel="weights, thousand millions", ylabel="published, times CKA", title="Table 42")
    for ax in (axes[0], axes[2]):
        ax.legend(frameon=False, fontsize="x-small")
    return Picture(
        "post_training",
        made,
        "Shesha against CKA drift after training; their ratio, raw and as equivalent noise; ratios in the published "
        "table by size",
    )


def make_facts(rows: Table, published: Table) -> Facts:
    """Ratio of both drifts in the published table, and of ours as they are and as amounts of noise."""
    theirs, trained = _pairs(apart(published)[0]), _trained(rows)
    ratios, doses = (
        over_draws(np.log(trained.groupby("model")[name].median())) for name in ("times CKA", "noise, times CKA")
    )
    return {
        "published": Fact(float(theirs.shesha.mean() / theirs.cka.mean())),
        "ratio": Fact(*np.exp([ratios.value, ratios.low, ratios.high])),
        "ratio_of_noise": Fact(*np.exp([doses.value, doses.low, doses.high])),
        "same_order": rank_correlation(float(theirs.shesha.corr(theirs.cka, method="spearman")), len(theirs)),
    }
