"""Does drift of a sentence encoder predict the loss of its task, and which number detects it first?"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from shesha.studies.facts import (
    NAN,
    Fact,
    Facts,
    as_facts,
    largest,
    over_draws,
    rate,
    resampled,
    resampled_groups,
    share,
    smallest,
    steps,
)
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import curves, figure
from shesha.studies.published_checks import Table, number, split_numbers_and_claims
from shesha.studies.rates import sign_difference
from shesha.studies.study_decorator import study
from shesha.support.types import Matrix
from shesha_studies.language._canary_statistics import (
    TASK,
    UNIT,
    Found,
    gather_statistics,
    last_layer_correlations,
    losses_found,
    published_numbers,
)
from shesha_studies.language._drift_measures import BOUND, NAMED, drifts
from shesha_studies.language._perturbed_models import MINILM, embedded, load, perturbed
from shesha_studies.language._sst2_and_stsb import sst2, stsb
from shesha_studies.language._task_loss import answers, fewer_right, less_correlated, likeness
from shesha_studies.language_models import MPNET

TASKS = ("SST-2", "STS-B")
SENTENCES, PAIRS = 240, 100
LAYERS = {MINILM: range(1, 7), MPNET: range(2, 13, 2)}
"""Layers that are used: six of each encoder, at equal relative depths."""
LEVELS = [*(round(0.01 * step, 2) for step in range(1, 11)), 0.15, 0.20, 0.25, 0.30, 0.35, 0.40, 0.45, 0.50]
NOISE: list[dict[str, Any]] = [
    {"model": model, "kind": "noise", "level": level, "seed": seed, "task": task, "layer": layer}
    for model, layers in LAYERS.items()
    for seed in range(2)
    for level in LEVELS[::-1]
    for task in TASKS
    for layer in layers[::-1]
]
UNCHANGED: list[dict[str, Any]] = [
    {"model": model, "kind": "unchanged", "level": 0.0, "seed": seed, "task": task, "layer": layer}
    for model, layers in LAYERS.items()
    for seed in range(4)
    for task in TASKS
    for layer in layers[::-1]
]
_FEW_LEVELS = (0.0, 0.05, 0.1, 0.2, 0.5)
QUICK = [
    cell
    for cell in (*NOISE, *UNCHANGED)
    if cell["model"] == MINILM
    and cell["task"] == "STS-B"
    and cell["seed"] < (2 if cell["kind"] == "unchanged" else 1)
    and cell["level"] in _FEW_LEVELS
]


@study(
    "canary",
    paper="Geometric Stability, 3.3 and 10.3, Table 47",
    version=1,
    full=[*UNCHANGED, *NOISE],
    quick=QUICK,
    published="canary.csv",
    stand_ins="two of the 26 published sentence encoders, MiniLM-L6 and MPNet, represent all",
)
def canary(model: str, kind: str, level: float, seed: int, task: str, layer: int) -> dict[str, float]:
    """Does drift of an encoder predict its loss of performance, and which score warns first without false alarms?

    The encoders are all-MiniLM-L6-v2 and all-mpnet-base-v2, two of the 26 published ones. Their layers replace the
    others. Either noise is added to all parameters, or only the order, the batches and the precision of the encoding
    change. The performance on SST-2 is the accuracy of a logistic regression in 5 folds, for 240 sentences. The
    performance on STS-B is the rank correlation of cosines with the scores of 100 pairs. Both are in per cent.
    """
    before, after = (
        np.asarray(layers[layer])
        for layers in (_rows(model, task, "unchanged", 0.0, -1), _rows(model, task, kind, level, seed))
    )
    loss, p_value, score = _lost(task, before, after)
    return {"drop": loss, "p_drop": p_value, "score": score, **drifts(before, after)}


def _lost(task: str, before: Matrix, after: Matrix) -> tuple[float, float, float]:
    """Return the loss in percent, its p-value, and the remaining performance."""
    if task == "SST-2":
        labels = sst2(SENTENCES)[1]
        then, now = answers(before, labels), answers(after, labels)
        return 100 * float(then.mean() - now.mean()), fewer_right(then, now), 100 * float(now.mean())
    scores = stsb(PAIRS)[2]
    cosines = [likeness(matrix[:PAIRS], matrix[PAIRS:]) for matrix in (before, after)]
    first, last = (100 * float(spearmanr(cosine, scores).statistic) for cosine in cosines)
    return first - last, less_correlated(cosines[0], cosines[1], scores), last


@lru_cache(maxsize=6)
def _rows(name: str, task: str, kind: str, level: float, seed: int) -> dict[int, Matrix]:
    """Encode the sentences of a task by all layers; seed -1 is the reference encoding without noise."""
    model = load(name)
    first = sst2(SENTENCES)[0] if task == "SST-2" else [*stsb(PAIRS)[0], *stsb(PAIRS)[1]]
    names = {layer: f"encoder.layer.{layer - 1}" for layer in LAYERS[name]}
    order, size, change = np.arange(len(first)), 32, perturbed(model.network, "noise", level, seed)
    if kind == "unchanged" and seed >= 0:
        rng = np.random.default_rng(seed)
        order, size = rng.permutation(len(first)), int(rng.choice([4, 8, 16, 64]))
        change = perturbed(model.network, "precision" if seed % 2 else "none", (11, 16)[seed // 2 % 2], seed)
    with change:
        rows = embedded(model, [first[i] for i in order], list(names.values()), batch_size=size)
    back = np.argsort(order)
    return {layer: rows[module][back] for layer, module in names.items()}


SHOWN = ("shesha", "cka", "procrustes", "squared", "wasserstein")


@canary.page
def page(rows: Table, lines: Table) -> Page:
    """Make the page: the verdicts on Table 47 and on the text."""
    statistics, published = gather_statistics(rows), split_numbers_and_claims(lines)[0]
    tables = (
        ("Comparison with Table 47 (last layers; means over encoders and draws)", statistics.compare_with(published)),
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
    answers = published_numbers(gather_statistics(_of_task(rows)), published)
    return Page("", tables, (_picture(statistics, published),), answers=answers)


def _of_task(rows: Table) -> Table:
    """Rows of SST-2, the task of the paper's method; all rows if a quick run has none."""
    of_task = rows.task == TASK
    return rows[of_task] if of_task.any() else rows


def _picture(statistics: Found, published: Table) -> Picture:
    fig, (ax,) = figure(width=4.8)
    rows = statistics.noise[statistics.noise["last"]]
    curves(ax, rows.groupby("level")[list(SHOWN)].mean(), NAMED, "-")
    ax.axhline(BOUND, color="0.5", linewidth=0.8, linestyle="--")
    loss = rows.groupby("level")["drop"].mean() / 100
    ax.plot(loss.index, loss, color="0.2", linestyle=":", label="loss / 100")
    ax.set(xlabel="noise", ylabel="drift, loss", title="last layer")
    ax.legend(frameon=False, fontsize="x-small")
    return Picture("canary", fig, "Drift and loss of the last layer against noise")


@canary.facts
def facts(rows: Table, published: Table) -> Facts:
    """Return how often Shesha is first on SST-2, the task of the paper, and correlations of drift and noise with the
    loss."""
    both, published = gather_statistics(rows), split_numbers_and_claims(published)[0]
    results = gather_statistics(_of_task(rows))
    early = {name: results.contests[f"{name}: shesha cka"] for name in ("bound 0.05", "bound from chance")}
    other = both.contests["bound 0.05, STS-B: shesha cka"]
    rho = last_layer_correlations(results.noise)
    facts = {
        "cases": Fact(float(sum(early["bound 0.05"]))),
        "earlier": rate(early["bound 0.05"][0], sum(early["bound 0.05"])),
        "later": rate(early["bound 0.05"][2], sum(early["bound 0.05"])),
        "earlier_other": rate(other[0], sum(other)),
        "later_between_levels": _reached_later(results.noise),
        "earlier_less_later": _first_less_later(early["bound 0.05"]),
        "earlier_than_chance": rate(early["bound from chance"][0], sum(early["bound from chance"])),
        "earlier_less_later_than_chance": _first_less_later(early["bound from chance"]),
        "drift": over_draws(rho["shesha"]),
        "drift_of_any": smallest(over_draws(rho[name]) for name in ("shesha", "cka", "procrustes")),
        "beyond_noise": largest(over_draws(rho[name] - rho["level"]) for name in ("shesha", "cka", "procrustes")),
    }
    numbers = {**_losses(results), **_bounds(results), **_table_47(both, published)}
    return facts | as_facts({**numbers, **_intervals(results)})


def _intervals(results: Found) -> dict[str, Fact]:
    """Facts that decide claims, over encoders, layers and draws."""
    noise, three = results.noise, ("shesha", "cka", "procrustes")
    last = last_layer_correlations(noise)[list(three)].to_numpy()
    chance = results.firsts["bound from chance"]

    def gain(sample: Table) -> float:
        shesha, *others = (float(losses_found(sample, name)[0]) for name in three)
        return shesha - max(others)

    return {
        "alike_range": resampled(lambda rows: float(np.ptp(last[rows].mean(axis=0))), len(last)),
        "smallest_step": smallest(step for name in three for step in steps(noise, "level", name, UNIT)),
        "procrustes_not_first": _procrustes_not_first(results),
        "squared_first": _squared_first(results),
        "first, wasserstein": over_draws(results.firsts["bound 0.05"].wasserstein),
        "first by chance, wasserstein": over_draws(chance.wasserstein),
        # Both draws of an encoder, task and layer form one unit, because its bounds need both.
        "gain": resampled_groups(gain, noise, ["model", "task", "layer"], draws=200),
    }


def _squared_first(results: Found) -> Fact:
    """Return how much more often squared Procrustes is first than later, compared with the score it leads least."""
    return smallest(_first_less_later(results.contests[f"bound 0.05: squared {name}"]) for name in ("shesha", "cka"))


def _reached_later(noise: Table) -> Fact:
    """Share of cases in which Shesha reaches the bound at more noise than CKA, interpolated between levels."""

    def reached(rows: Table, name: str) -> float:
        drift = np.maximum.accumulate(rows.sort_values("level")[name].to_numpy(dtype=float))
        return float(np.interp(np.log(BOUND), np.log(np.maximum(drift, 1e-12)), np.sort(rows.level)))

    return share([reached(rows, "shesha") > reached(rows, "cka") for _, rows in noise.groupby(UNIT)])


def _procrustes_not_first(results: Found) -> Fact:
    """Count the cases in which Procrustes does not warn before the score that it leads least."""
    contests = (results.contests[f"bound 0.05: procrustes {name}"] for name in ("shesha", "cka"))
    return Fact(float(max(ties + later for _, ties, later in contests)))


def _losses(results: Found) -> dict[str, float]:
    """Correlations of scores with the loss and with the noise."""
    last, equal = results.correlations["last"], results.within
    rhos = last[["shesha", "cka", "procrustes"]]
    return {
        **{f"loss and {name}": float(last[name]) for name in ("shesha", "cka", "procrustes", "level")},
        **{f"at equal noise, {name}": float(equal.rho[name]) for name in ("shesha", "cka", "procrustes")},
        "at equal noise_p": float(equal.p.shesha),
        "alike_lowest": float(rhos.min()),
        "alike_highest": float(rhos.max()),
    }


def _bounds(results: Found) -> dict[str, float]:
    """Lowest noise that is detected under each kind of bound, and losses found at equal false alarms."""
    fixed, chance, caught = results.first.loc["bound 0.05"], results.first.loc["bound from chance"], results.matched
    names = ("shesha", "cka", "procrustes", "squared", "wasserstein")
    return {
        "lowest noise": float(results.noise.level[results.noise.level > 0].min()),
        **{f"first, {name}": float(fixed[name]) for name in names},
        **{f"first by chance, {name}": float(chance[name]) for name in names},
        **{f"losses, {name}": float(caught.sensitivity[name]) for name in ("shesha", "cka", "procrustes", "level")},
    }


def _growth(fits: Table) -> dict[str, float]:
    """How many times drift grows from noise 0.04 to 0.08, for both formulas and the published table."""
    names = ("procrustes", "squared", "published procrustes")
    low, high = (fits[(fits.task == TASK) & (fits.level == level)][list(names)] for level in (0.04, 0.08))
    return {f"growth, {name}": float(high[name].iloc[0] / low[name].iloc[0]) if len(low) else NAN for name in names}


def _table_47(results: Found, published: Table) -> dict[str, Any]:
    """Facts on the formula and the task that fit the published table, and on the numbers in the text."""
    fits = results.compare_with(published)
    off = (fits["loss, %"] - fits["published loss, %"]).abs().groupby(fits.task).mean()
    scores = [number(published, "10.5", "correlation with the drop", name) for name in ("shesha", "cka")]
    return {
        **_growth(fits),
        **{f"losses off, {task}": float(value) for task, value in off.items()},
        **{"published_cka": scores[1], "shesha_higher": scores[0] - scores[1]},
    }


def _first_less_later(contest: tuple[int, int, int]) -> Fact:
    first, ties, later = contest
    cases = first + ties + later
    return sign_difference(first, later, cases) if cases else Fact(NAN)
