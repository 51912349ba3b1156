"""Does drift of a sentence encoder predict the loss of its task, and which number detects it first?"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from shesha.support.types import Matrix
from shesha_studies.framework.page import Page, Picture
from shesha_studies.framework.pictures import curves, figure
from shesha_studies.framework.published_checks import Table
from shesha_studies.framework.study_decorator import study
from shesha_studies.language import _canary_statistics as statistics
from shesha_studies.language._drift_and_loss import BOUND, METRICS, NAMED, answers, drifts, fewer_right, less_correlated
from shesha_studies.language._model_outputs import embed_texts, load, perturb_weights
from shesha_studies.language_models import MINILM, MPNET
from shesha_studies.sentences import sst2, stsb

TASKS = ("SST-2", "STS-B")
SENTENCES, PAIRS = 240, 100
LAYERS = {MINILM: range(1, 7), MPNET: range(2, 13, 2)}
"""Layers that are used: six of each encoder, at equal relative depths."""
LEVELS = [*(round(0.01 * step, 2) for step in range(1, 11)), 0.15, 0.20, 0.25, 0.30, 0.35, 0.40, 0.45, 0.50]
_CELLS = [
    *((model, "unchanged", 0.0, seed) for model in LAYERS for seed in range(4)),
    *((model, "noise", level, seed) for model in LAYERS for seed in range(2) for level in LEVELS[::-1]),
]
FULL: list[dict[str, Any]] = [
    {"model": model, "kind": kind, "level": level, "seed": seed, "task": task, "layer": layer}
    for model, kind, level, seed in _CELLS
    for task in TASKS
    for layer in LAYERS[model][::-1]
]
QUICK = [
    cell
    for cell in FULL
    if (cell["model"], cell["task"]) == (MINILM, "STS-B")
    and cell["seed"] < (2 if cell["kind"] == "unchanged" else 1)
    and cell["level"] in (0.0, 0.05, 0.1, 0.2, 0.5)
]


@study(
    "canary",
    paper="Geometric Stability, 3.3 and 10.3, Table 47",
    version=1,
    full=FULL,
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
    before, after = (_rows(model, task, *how)[layer] for how in (("unchanged", 0.0, -1), (kind, level, seed)))
    loss, p_value, score = _lost(task, before, after)
    return {"drop": loss, "p_drop": p_value, "score": score, **drifts(before, after)}


def _lost(task: str, before: Matrix, after: Matrix) -> tuple[float, float, float]:
    """Return the loss in percent, its p-value, and the remaining performance."""
    if task == "SST-2":
        labels = sst2(SENTENCES)[1]
        then, now = answers(before, labels), answers(after, labels)
        return 100 * float(then.mean() - now.mean()), fewer_right(then, now), 100 * float(now.mean())
    scores = stsb(PAIRS)[2]
    cosines = [np.einsum("ij,ij->i", rows[:PAIRS], rows[PAIRS:]) for rows in (before, after)]
    first, last = (100 * float(spearmanr(cosine, scores).statistic) for cosine in cosines)
    return first - last, less_correlated(cosines[0], cosines[1], scores), last


@lru_cache(maxsize=6)
def _rows(name: str, task: str, kind: str, level: float, seed: int) -> dict[int, Matrix]:
    """Encode the sentences of a task by all layers; seed -1 is the reference encoding without noise."""
    model = load(name)
    first = sst2(SENTENCES)[0] if task == "SST-2" else [*stsb(PAIRS)[0], *stsb(PAIRS)[1]]
    names = {layer: f"encoder.layer.{layer - 1}" for layer in LAYERS[name]}
    order, size, change = np.arange(len(first)), 32, perturb_weights(model.network, "noise", level, seed)
    if kind == "unchanged" and seed >= 0:
        rng = np.random.default_rng(seed)
        order, size = rng.permutation(len(first)), int(rng.choice([4, 8, 16, 64]))
        change = perturb_weights(model.network, "precision" if seed % 2 else "none", (11, 16)[seed // 2 % 2], seed)
    with change:
        rows = embed_texts(model, [first[i] for i in order], list(names.values()), batch_size=size)
    back = np.argsort(order)
    return {layer: rows[module][back] for layer, module in names.items()}


canary.facts(statistics.make_facts)


@canary.page
def page(rows: Table, published: Table) -> Page:
    """Make the page: the verdicts on Table 47 and on the text."""
    noise, unchanged = statistics.noisy_rows(rows)
    printed, correlations = statistics.join_table_47(noise, published), statistics.correlation_table(noise)
    first = statistics.last_layer_alarms(statistics.first_alarms(noise, unchanged)).groupby("bound").mean()
    title = "Lowest noise detected in the last layer (means over encoders, tasks and draws; 0.55 stands for never)"
    tables = (
        ("Comparison with Table 47 (last layers; means over encoders and draws)", printed),
        ("Rank correlations of scores with the loss (both tasks)", correlations.reset_index(names="number")),
        (title, first.reset_index()),
    )
    return Page("", tables, (_picture(noise),), answers=statistics.published_numbers(rows, published))


def _picture(noise: Table) -> Picture:
    fig, (ax,) = figure(width=4.8)
    means = noise[noise["last"]].groupby("level")[[*METRICS, "drop"]].mean()
    curves(ax, means, NAMED, "-")
    ax.axhline(BOUND, color="0.5", linewidth=0.8, linestyle="--", label=f"published bound, {BOUND:g}")
    ax.plot(means.index, means["drop"] / 100, color="0.2", linestyle=":", label="loss / 100")
    ax.set(xlabel="noise", ylabel="drift, loss", title="last layer")
    ax.legend(frameon=False, fontsize="x-small")
    return Picture("canary", fig, "Drift and loss of the last layer against noise")
