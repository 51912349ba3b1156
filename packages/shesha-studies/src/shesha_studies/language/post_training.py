"""How much does training a model further change its geometry, and is Shesha's drift twice CKA's?"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from shesha.support.types import Matrix
from shesha_studies.external_data import table
from shesha_studies.framework.facts import (
    Fact,
    Facts,
    as_facts,
    over_draws,
    rank_correlation,
    smallest,
    steps as steps_of,
)
from shesha_studies.framework.page import Page
from shesha_studies.framework.published_checks import (
    Answers,
    Table,
    derived_answers,
    numbers_by_cell,
    printed_table,
    unjudged_answers,
)
from shesha_studies.framework.study_decorator import grid_of, study
from shesha_studies.language._drift_and_loss import drifts
from shesha_studies.language._model_outputs import load, prompt_rows, published_models, stand_in
from shesha_studies.language._tiny_gpt import TINY
from shesha_studies.language_models import MINILM, SMOLLM2, Model
from shesha_studies.sentences import PROMPT_SETS

TASKS = ("sentiment", "contradiction")
STEPS = (4.0, 8.0, 16.0, 32.0)
BATCH = 8
RATES = {TINY[0]: 1e-3, MINILM: 5e-5, SMOLLM2: 5e-5}
"""Learning rates."""
NOISE = (3.2, 1.6, 0.8, 0.4, 0.2, 0.1, 0.05, 0.02)
SHOWN = ["shesha", "cka", "procrustes", "squared"]
THREE = SHOWN[:3]
RATIOS = ["times CKA", "noise, times CKA"]
LEAST = 32
"""Minimum number of rows of a model that is reported: one training on each task."""
KINDS = {"news": "factual", "captions": "descriptive", "forums": "conversational", "reviews": "instructions"}
"""Our sets of prompts, and those of the paper that they replace."""
FAMILIES = "SmolLM2|SmolLM|Qwen|BLOOM|Pythia|Llama-3|TinyLlama|StableLM|Gemma|Mistral|Falcon"
_INSTRUCT = published_models("post_training.csv", "instruct")
PAIRS = {base: f"{base.partition('/')[0]}/{instruct}" for base, instruct in _INSTRUCT.items()}
"""Published models, and their instruction-tuned versions of the same organisation."""


def _grid(*values: Sequence[Any]) -> list[dict[str, Any]]:
    return grid_of("model", "change", "amount", "seed", "prompts")(*values, PROMPT_SETS)


_SMALL = (TINY[1], TINY[0], MINILM)
_TRAINED = (_SMALL[1:], TASKS, range(2))
"""Models, tasks and seeds."""


@study(
    "post-training",
    paper="Geometric Stability, 3.3 and 10.1, Tables 42 and 52",
    version=2,
    full=[
        *_grid(_SMALL, ["noise in rows"], NOISE, [0]),
        *_grid(_SMALL, ["shuffled rows"], [0.0], [0]),
        *(cell for model, task, seed in product(*_TRAINED) for cell in _grid([model], [task], STEPS, [seed])),
        *_grid([SMOLLM2], ["noise in rows"], NOISE, [0]),
        *_grid([SMOLLM2], ["shuffled rows"], [0.0], [0]),
        *_grid([SMOLLM2], TASKS, STEPS, [0]),
        *(cell for base, instruct in PAIRS.items() for cell in _grid([base], [instruct], [0.0], [0])),
    ],
    quick=[*_grid(_SMALL[:2], ["noise in rows"], NOISE, [0]), *_grid([TINY[0]], TASKS[:1], STEPS, [0])],
    published="post_training.csv",
    stand_ins="SmolLM2-135M-Instruct, MiniLM-L6 and a small model trained here, each before and after further "
    "training, replace the 23 published pairs",
)
def post_training(model: str, change: str, amount: float, seed: int, prompts: str) -> dict[str, float]:
    """Does Shesha measure twice the change that CKA does when a model is trained further, or is its scale different?

    The paper uses 23 pairs of a model and its instruction-tuned version, and four sets of 50 prompts. The stand-ins are
    SmolLM2-135M-Instruct (one of the 46, with 4-bit weights; its base is not available), MiniLM, and the GPT-2 trained
    here. They are compared before and after 4 to 32 training steps. The task is the sentiment of reviews, or whether
    one sentence of MNLI contradicts another. Two changes of the rows themselves give a common scale: Gaussian noise of
    `amount` times their spread, and permuted rows, which share nothing.
    """
    before = _rows(model)[prompts]
    if change == "noise in rows":
        rng = np.random.default_rng([seed, round(100 * amount), PROMPT_SETS.index(prompts)])
        return drifts(before, before + amount * before.std(axis=0).mean() * rng.standard_normal(before.shape))
    if change == "shuffled rows":
        return drifts(before, before[np.random.default_rng(seed).permutation(len(before))])
    return drifts(before, _rows(model, change, int(amount), seed)[prompts])


@lru_cache(maxsize=4)
def _rows(name: str, change: str = "", steps: int = 0, seed: int = 0) -> dict[str, Matrix]:
    """Return the rows of the prompts by a model, after further training, or by its published second version."""
    return prompt_rows(_tune(name, change, seed)[steps] if change in TASKS else load(change or name))


@lru_cache(maxsize=1)
def _tune(name: str, task: str, seed: int) -> dict[int, Model]:
    """Return copies of a model after 4, 8, 16 and 32 steps of training it, with a linear head, on a task."""
    import torch

    model, values = load(name), {}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = copy.deepcopy(model.network).eval()
        head = torch.nn.Linear(network.config.hidden_size, 2, dtype=network.dtype)
        optimiser = torch.optim.AdamW([*network.parameters(), *head.parameters()], lr=RATES[name])
        for step, (texts, labels) in enumerate(_batches(task, seed), start=1):
            logits = head(_means(network, model.reader, texts))
            loss: Any = torch.nn.functional.cross_entropy(logits, torch.tensor(labels))
            loss.backward()
            optimiser.step()
            optimiser.zero_grad()
            if step in STEPS:
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
    chosen = texts.sample(int(BATCH * STEPS[-1]), random_state=seed).index
    starts = range(0, len(chosen), BATCH)
    return [(texts[chosen[i : i + BATCH]].tolist(), labels[chosen[i : i + BATCH]].tolist()) for i in starts]


@post_training.page
def page(rows: Table, published: Table) -> Page:
    """Return our answers to the published lines."""
    trained, pairs = training_ratios(rows), published_pairs(published)
    medians = trained.groupby(["model", "prompts"])[["shesha", "cka", *RATIOS]].median()
    answers = published_numbers(medians.loc[stand_in(trained, LEAST)], pairs)
    return Page(answers=answers)


def training_ratios(rows: Table) -> Table:
    """Add the ratio of the two drift scores, and the ratio of the amounts of noise with the same drift."""
    trained = rows[rows.change.isin(TASKS)]
    noise = dict(list(rows[rows.change == "noise in rows"].groupby(["model", "prompts"])))
    shesha, cka = (
        np.array([_dose(noise[line.model, line.prompts], name, line[name]) for _, line in trained.iterrows()])
        for name in ("shesha", "cka")
    )
    return trained.assign(**{"times CKA": trained.shesha / trained.cka, "noise, times CKA": shesha / cka})


def _dose(noise: Table, name: str, drift: float) -> float:
    """Interpolate the amount of noise, both on logarithmic scales, where drift rises with the noise."""
    curve = noise.sort_values("amount")
    values = np.maximum.accumulate(np.maximum(curve[name].to_numpy(dtype=float), 1e-9))
    return float(np.exp(np.interp(np.log(max(drift, 1e-9)), np.log(values), np.log(curve["amount"]))))


def published_pairs(published: Table) -> Table:
    """Return Table 42, one line per pair, with its family."""
    pairs = printed_table(published, "Table 42")
    weights = [float(size[:-1]) / (1000 if size.endswith("M") else 1) for size in pairs["size"]]
    family = [re.findall(FAMILIES, pair)[0] for pair in pairs.index]
    relative = pairs.procrustes / pairs.cka
    return pairs.assign(weights=weights, family=family, relative=relative).sort_values("weights")


def published_numbers(medians: Table, pairs: Table) -> Answers:
    """Return ratios of the stand-in by kind of prompts, and numbers of the text that follow from Table 42."""
    groups = {name: pairs[pairs.family.str.startswith(name)] for name in ("Llama", "BLOOM", "Falcon")}
    means = pd.DataFrame({name: group[THREE].mean() for name, group in {"mean": pairs, **groups}.items()}).T
    ratios = means.div(means.cka, axis=0).add_prefix("times CKA, ")
    ours = medians[["times CKA"]].rename(index=KINDS, columns={"times CKA": "times CKA, shesha"})
    counts = {"pairs": len(pairs), "families": pairs.family.nunique(), "observations": 4 * len(pairs)}
    follows = numbers_by_cell(means) | numbers_by_cell(ratios) | {f"counts: {name}": n for name, n in counts.items()}
    return unjudged_answers(numbers_by_cell(ours)) | derived_answers(follows)


@post_training.facts
def facts(rows: Table, published: Table) -> Facts:
    """Return ratios of the two drift scores in the published table, and ours, raw and as amounts of noise."""
    pairs, trained = published_pairs(published), training_ratios(rows)
    medians = trained.groupby("model")[RATIOS].median()
    ratio, dose = (over_draws(np.log(medians[name])).transform(np.exp) for name in RATIOS)
    texts = {f"{name} in words": ", ".join(f"{v:.2f} ({m})" for m, v in medians[name].items()) for name in RATIOS}
    facts = {"ratio": ratio, "ratio_of_noise": dose, "real": stand_in(trained, LEAST), **texts}
    return as_facts(facts | _steps(trained) | _pair_facts(pairs) | _own_kind(trained))


def _steps(trained: Table) -> dict[str, Fact | float | str]:
    """Whether drift grows with the steps of a training."""
    means = trained.groupby(["model", "change", "amount"])[THREE].mean()
    falls = means.groupby(level=[0, 1]).diff().min(axis=1).groupby(level=0).min()
    trainings = [group for _, group in trained.groupby(["model", "change"])]
    steps = (steps_of(group, "amount", name, ["seed", "prompts"]) for group in trainings for name in THREE)
    return {
        "smallest_step": smallest(step for some in steps for step in some),
        "steps in words": ", ".join(f"{value:+.4f} ({name})" for name, value in falls.items()),
        "models": len(falls),
        "models_that_fall": (falls <= 0).sum(),
    }


def _pair_facts(pairs: Table) -> dict[str, Fact | float | str]:
    """Compare the scores in the published table, also by size, and list pairs that are not base and instruct."""
    small, large = pairs.relative[pairs.weights < 1.5], pairs.relative[pairs.weights >= 1.5]
    other, sizes = [pair for pair in pairs.index if "Deduped" in pair], {"small": small, "large": large}
    return {
        "published": pairs.shesha.mean() / pairs.cka.mean(),
        "same_order": rank_correlation(float(pairs.shesha.corr(pairs.cka, method="spearman")), len(pairs)),
        **{f"{size}_lowest": ratios.min() for size, ratios in sizes.items()},
        **{f"{size}_highest": ratios.max() for size, ratios in sizes.items()},
        **{f"{size}_median": ratios.median() for size, ratios in sizes.items()},
        "lowest_ratio": (pairs.shesha / pairs.cka).min(),
        "overlap": small.max() - large.min(),
        "other_pairs": len(other),
        "other_pairs in words": ", ".join(other),
    }


def _own_kind(trained: Table) -> dict[str, float]:
    """How often the ratio is smallest for reviews among trainings on reviews, compared with one in four by chance."""
    tuned = trained[trained.change == "sentiment"]
    # Stages of the same training are not independent, so they form one case.
    ratios = tuned.groupby(["model", "seed", "prompts"])["times CKA"].median().unstack()
    first, n = int((ratios.idxmin(axis=1) == "reviews").sum()), len(ratios)
    p = float(binomtest(first, n, 1 / ratios.shape[1], "greater").pvalue)
    return {"own_kind_first": first, "trainings": n, "own_kind_p": p}
