"""Models before and after some steps of training on a task."""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any

from shesha_studies.external_data import table
from shesha_studies.language._perturbed_models import load
from shesha_studies.language_models import Model

TASKS = ("sentiment", "contradiction")
KEPT = (4, 8, 16, 32)
BATCH, RATES = 8, {"tiny GPT": 1e-3}
_RATE = 5e-5


@lru_cache(maxsize=1)
def tuned(name: str, task: str, seed: int) -> dict[int, Model]:
    """Return copies of a model after 4, 8, 16 and 32 steps of training it, with a linear head, on a task."""
    import torch

    model, values = load(name), {}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = copy.deepcopy(model.network).eval()
        head = torch.nn.Linear(network.config.hidden_size, 2, dtype=network.dtype)
        optimiser = torch.optim.AdamW([*network.parameters(), *head.parameters()], lr=RATES.get(name, _RATE))
        for step, (texts, labels) in enumerate(_batches(task, seed), start=1):
            logits = head(_means(network, model.reader, texts))
            loss: Any = torch.nn.functional.cross_entropy(logits, torch.tensor(labels))
            loss.backward()
            optimiser.step()
            optimiser.zero_grad()
            if step in KEPT:
                values[step] = Model(copy.deepcopy(network), model.reader, model.final)
    return values


def _means(network: Any, reader: Any, texts: list[str]) -> Any:
    tokens = reader(texts, padding=True, truncation=True, max_length=40, return_tensors="pt")
    states = network(**tokens).last_hidden_state
    mask = tokens["attention_mask"][..., None].to(states.dtype)
    return (states * mask).sum(1) / mask.sum(1)


def _batches(task: str, seed: int) -> list[tuple[list[str], list[int]]]:
    if task == "sentiment":
        rows = table("sst2", "train_sentences.csv")
        texts, labels = rows["sentence"], rows["label"]
    else:
        rows = table("mnli", "mnli_matched_1000.csv")
        texts, labels = rows["premise"] + " " + rows["hypothesis"], (rows["label"] == "contradiction").astype(int)
    chosen = texts.sample(BATCH * KEPT[-1], random_state=seed).index
    starts = range(0, len(chosen), BATCH)
    return [(texts[chosen[i : i + BATCH]].tolist(), labels[chosen[i : i + BATCH]].tolist()) for i in starts]
