"""How much does training a model further change its geometry, and is Shesha's drift twice CKA's?"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.stats import binomtest

from shesha.charts import PALETTE
from shesha.studies.facts import Fact, Facts, as_facts, over_draws, rank_correlation, smallest
from shesha.studies.facts import steps as steps_of
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure, logarithmic
from shesha.studies.published_checks import Table, split_numbers_and_claims
from shesha.studies.study_decorator import grid_of, study
from shesha.support.types import Matrix
from shesha_studies.language._drift_measures import NAMES, drifts
from shesha_studies.language._perturbed_models import MINILM, embedded, load
from shesha_studies.language._post_training_statistics import (
    SHOWN,
    best_stand_in,
    published_numbers,
    published_pairs,
    training_ratios,
)
from shesha_studies.language._sst2_and_stsb import SETS, prompts
from shesha_studies.language._tiny_gpt import TINY
from shesha_studies.language._tuning import TASKS, tuned
from shesha_studies.language_models import SMOLLM2, Model

STEPS = (4.0, 8.0, 16.0, 32.0)
NOISE = (3.2, 1.6, 0.8, 0.4, 0.2, 0.1, 0.05, 0.02)
PAIRS = (
    *(("HuggingFaceTB/SmolLM-135M", "HuggingFaceTB/SmolLM-135M-Instruct"),),
    *(("HuggingFaceTB/SmolLM2-135M", "HuggingFaceTB/SmolLM2-135M-Instruct"),),
    *(("HuggingFaceTB/SmolLM-360M", "HuggingFaceTB/SmolLM-360M-Instruct"),),
    *(("HuggingFaceTB/SmolLM2-360M", "HuggingFaceTB/SmolLM2-360M-Instruct"),),
    *(("Qwen/Qwen2-0.5B", "Qwen/Qwen2-0.5B-Instruct"), ("Qwen/Qwen1.5-0.5B", "Qwen/Qwen1.5-0.5B-Chat")),
    *(("bigscience/bloom-560m", "bigscience/bloomz-560m"), ("EleutherAI/pythia-1b", "EleutherAI/pythia-1b-deduped")),
    *(("meta-llama/Llama-3.2-1B", "meta-llama/Llama-3.2-1B-Instruct"),),
    *(("TinyLlama/TinyLlama-1.1B-intermediate-step-1431k-3T", "TinyLlama/TinyLlama-1.1B-Chat-v1.0"),),
    *(("bigscience/bloom-1b1", "bigscience/bloomz-1b1"), ("Qwen/Qwen2-1.5B", "Qwen/Qwen2-1.5B-Instruct")),
    *(("stabilityai/stablelm-2-1_6b", "stabilityai/stablelm-2-zephyr-1_6b"),),
    *(("HuggingFaceTB/SmolLM-1.7B", "HuggingFaceTB/SmolLM-1.7B-Instruct"),),
    *(("HuggingFaceTB/SmolLM2-1.7B", "HuggingFaceTB/SmolLM2-1.7B-Instruct"),),
    *(("Qwen/Qwen1.5-1.8B", "Qwen/Qwen1.5-1.8B-Chat"), ("google/gemma-2b", "google/gemma-2b-it")),
    *(("google/gemma-2-2b", "google/gemma-2-2b-it"), ("meta-llama/Llama-3.2-3B", "meta-llama/Llama-3.2-3B-Instruct")),
    *(("Qwen/Qwen1.5-4B", "Qwen/Qwen1.5-4B-Chat"), ("Qwen/Qwen2-7B", "Qwen/Qwen2-7B-Instruct")),
    *(
        ("mistralai/Mistral-7B-v0.1", "mistralai/Mistral-7B-Instruct-v0.1"),
        ("tiiuae/falcon-7b", "tiiuae/falcon-7b-instruct"),
    ),
)


_grid = grid_of("model", "change", "amount", "seed", "prompts")
_SMALL = (TINY[1], TINY[0], MINILM)


@study(
    "post-training",
    paper="Geometric Stability, 3.3 and 10.1, Tables 42 and 52",
    version=2,
    full=[
        *_grid(_SMALL, ["noise in rows"], NOISE, [0], SETS),
        *_grid(_SMALL, ["shuffled rows"], [0.0], [0], SETS),
        *(
            cell
            for model in _SMALL[1:]
            for task in TASKS
            for seed in range(2)
            for cell in _grid([model], [task], STEPS, [seed], SETS)
        ),
        *_grid([SMOLLM2], ["noise in rows"], NOISE, [0], SETS),
        *_grid([SMOLLM2], ["shuffled rows"], [0.0], [0], SETS),
        *_grid([SMOLLM2], TASKS, STEPS, [0], SETS),
        *(cell for base, tuned_to in PAIRS for cell in _grid([base], [tuned_to], [0.0], [0], SETS)),
    ],
    quick=[*_grid(_SMALL[:2], ["noise in rows"], NOISE, [0], SETS), *_grid([TINY[0]], TASKS[:1], STEPS, [0], SETS)],
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
        rng = np.random.default_rng([seed, round(100 * amount), SETS.index(prompts)])
        return drifts(before, before + amount * before.std(axis=0).mean() * rng.standard_normal(before.shape))
    if change == "shuffled rows":
        return drifts(before, before[np.random.default_rng(seed).permutation(len(before))])
    return drifts(before, _rows_after(model, change, int(amount), seed)[prompts])


@lru_cache(maxsize=2)
def _rows(name: str) -> dict[str, Matrix]:
    return _encode_prompts(load(name))


@lru_cache(maxsize=2)
def _rows_after(name: str, change: str, steps: int, seed: int) -> dict[str, Matrix]:
    return _encode_prompts(tuned(name, change, seed)[steps] if change in TASKS else load(change))


def _encode_prompts(model: Model) -> dict[str, Matrix]:

    texts = {kind: prompts(kind) for kind in SETS}
    every = [text for group in texts.values() for text in group]
    matrix, start, rows = embedded(model, every, [model.final])[model.final], 0, {}
    for kind, group in texts.items():
        rows[kind], start = matrix[start : start + len(group)], start + len(group)
    return rows


@post_training.page
def page(rows: Table, lines: Table) -> Page:
    """Make the page: ratios on a common scale, the amount of noise in the rows that gives the same drift."""
    published = split_numbers_and_claims(lines)[0]
    trained, pairs = training_ratios(rows), published_pairs(published)
    steps = (
        trained.groupby(["model", "change", "amount"])[[*SHOWN, "times CKA", "noise, times CKA"]].mean().reset_index()
    )
    sets = (
        trained.groupby(["model", "prompts"])[["shesha", "cka", "times CKA", "noise, times CKA"]].median().reset_index()
    )
    shuffled = rows[rows.change == "shuffled rows"].groupby("model")[list(SHOWN)].mean().reset_index()
    tables = (
        ("Drift after training (means over sets of sentences and draws)", steps),
        ("Drift by set of sentences (medians)", sets),
        ("Drift between unrelated rows (rows in another order)", shuffled),
        ("The published Table 42 (drifts in per cent)", pairs.reset_index().rename(columns={"row": "pair"})),
    )
    return Page("", tables, (_picture(trained, pairs),), answers=published_numbers(trained, pairs))


def _picture(trained: Table, pairs: Table) -> Picture:
    fig, axes = figure(2, width=4.4, height=3.6)
    for place, (name, part) in enumerate(trained.groupby("model", sort=False)):
        axes[0].plot(part.cka, part.shesha, "o", markersize=4, color=PALETTE[place], label=str(name))
    axes[0].plot(pairs.cka / 100, pairs.shesha / 100, "^", markersize=4, color="0.5", label="published pairs")
    axes[0].axline((0, 0), slope=1, color="0.7", linewidth=0.8)
    axes[0].set(xlabel="CKA drift", ylabel="Shesha drift", title="two scales")
    axes[1].plot(pairs.weights, pairs.relative, "o", color=PALETTE[2], label=f"{NAMES['procrustes']} / CKA")
    axes[1].plot(pairs.weights, pairs.shesha / pairs.cka, "^", color=PALETTE[0], label=f"{NAMES['shesha']} / CKA")
    axes[1].axvline(1.3, color="0.7", linestyle="--", linewidth=0.8)
    logarithmic(axes[1], (0.1, 0.3, 1.0, 3.0, 7.0))
    axes[1].set(xlabel="weights, billions", ylabel="published, times CKA", title="Table 42")
    for ax in axes:
        ax.legend(frameon=False, fontsize="x-small")
    return Picture(
        "post_training",
        fig,
        "Drift after training by Shesha against CKA; ratios in the published table against model size",
    )


@post_training.facts
def facts(rows: Table, published: Table) -> Facts:
    """Return ratios of the two drift scores in the published table, and ours, raw and as amounts of noise."""
    pairs, trained = published_pairs(split_numbers_and_claims(published)[0]), training_ratios(rows)
    names = ("times CKA", "noise, times CKA")
    medians = {name: trained.groupby("model")[name].median() for name in names}
    ratios, doses = (over_draws(np.log(medians[name])) for name in names)
    rho = float(pairs.shesha.corr(pairs.cka, method="spearman"))
    facts = {
        "published": Fact(float(pairs.shesha.mean() / pairs.cka.mean())),
        "ratio": Fact(*np.exp([ratios.value, ratios.low, ratios.high])),
        "ratio_of_noise": Fact(*np.exp([doses.value, doses.low, doses.high])),
        "same_order": rank_correlation(rho, len(pairs)),
    }
    texts = {f"{name} in words": ", ".join(f"{v:.2f} ({m})" for m, v in medians[name].items()) for name in names}
    return facts | as_facts(
        {"real": best_stand_in(trained), **texts, **_steps(trained), **_pair_facts(pairs), **_own_kind(trained)}
    )


def _steps(trained: Table) -> dict[str, Fact | float | str]:
    """Whether drift grows with the steps of a training."""
    means = trained.groupby(["model", "change", "amount"])[["shesha", "cka", "procrustes"]].mean()
    steps = means.groupby(level=[0, 1]).diff().min(axis=1).groupby(level=0).min()
    return {
        "smallest_step": smallest(_training_steps(trained)),
        "steps in words": ", ".join(f"{value:+.4f} ({name})" for name, value in steps.items()),
        "models": len(steps),
        "models_that_fall": int((steps <= 0).sum()),
    }


def _training_steps(trained: Table) -> list[Fact]:
    """Differences between steps of a training, over seeds and kinds of prompts."""
    unit = ["seed", "prompts"]
    return [
        step
        for _, group in trained.groupby(["model", "change"])
        for name in ("shesha", "cka", "procrustes")
        for step in steps_of(group, "amount", name, unit)
    ]


def _pair_facts(pairs: Table) -> dict[str, float | str]:
    """Compare Procrustes with CKA in the published table, by size, and list pairs that are not base and instruct."""
    small, large = pairs[~pairs.large].relative, pairs[pairs.large].relative
    other = [str(pair) for pair in pairs.index if "Deduped" in str(pair)]
    return {
        **{"small_lowest": small.min(), "small_highest": small.max(), "small_median": small.median()},
        **{"large_lowest": large.min(), "large_highest": large.max(), "large_median": large.median()},
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
