"""Does drift of a sentence encoder predict the loss of its task, and which number detects it first?"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from shesha.studies.study_definition import study
from shesha.support.types import Matrix
from shesha_studies.language._canary_facts import make_facts
from shesha_studies.language._canary_page import make_page
from shesha_studies.language._drift_measures import answers, drifts, fewer_right, less_correlated, likeness
from shesha_studies.language._perturbed_models import MINILM, embedded, load, perturbed
from shesha_studies.language._tasks_and_prompts import sst2, stsb
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
    own_numbers=("counts:", "per cent of models", "the task that the caption", "10.5 | Shesha has the highest"),
)
def canary(model: str, kind: str, level: float, seed: int, task: str, layer: int) -> dict[str, float]:
    """Does drift of an encoder predict its loss of performance, and which score warns first without false alarms?

    all-MiniLM-L6-v2 and all-mpnet-base-v2, two of the 26 published encoders; their layers replace the others. Either
    noise is added to all parameters, or only the order, the batches and the precision of the encoding change. SST-2:
    accuracy of a logistic regression in 5 folds, 240 sentences; STS-B: rank correlation of cosines with the scores of
    100 pairs. Both in per cent.
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
    from scipy.stats import spearmanr

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


canary.page(make_page)
canary.facts(make_facts)
