"""How far do noise, fewer bits and random adapters move a model, and do the orders of the numbers hold?"""

from __future__ import annotations

from functools import lru_cache

from shesha.studies.study_definition import study
from shesha.support.types import Matrix
from shesha_studies.language._drift_measures import drifts
from shesha_studies.language._perturbed_models import MINILM, embedded, load, perturbed
from shesha_studies.language._structured_perturbation_facts import make_facts
from shesha_studies.language._structured_perturbation_page import make_page
from shesha_studies.language._tasks_and_prompts import SETS, prompts
from shesha_studies.language._tiny_gpt import TINY
from shesha_studies.language_models import SMOLLM2

LEVELS = (0.01, 0.02, 0.05, 0.10, 0.15, 0.20, 0.30, 0.40, 0.50)
RANKS, SCALES = (1, 2, 4, 8, 16, 32, 64), (0.001, 0.005, 0.01, 0.02, 0.05, 0.1)
CHANGES = [
    *(("noise", level) for level in LEVELS[::-1]),
    ("int8", 8.0),
    ("nf4", 4.0),
    *(("rank", float(rank)) for rank in RANKS),
    *(("scale", scale) for scale in SCALES),
    ("precision", 16.0),
    ("precision", 11.0),
]
PUBLISHED = (
    *("HuggingFaceTB/SmolLM-135M", "HuggingFaceTB/SmolLM2-135M", "HuggingFaceTB/SmolLM-360M"),
    *("HuggingFaceTB/SmolLM2-360M", "Qwen/Qwen2-0.5B", "meta-llama/Llama-3.2-1B"),
    *("TinyLlama/TinyLlama-1.1B-intermediate-step-1431k-3T", "Qwen/Qwen2-1.5B", "stabilityai/stablelm-2-1_6b"),
    *("HuggingFaceTB/SmolLM-1.7B", "HuggingFaceTB/SmolLM2-1.7B", "google/gemma-2b", "google/gemma-2-2b"),
    *("meta-llama/Llama-3.2-3B", "Qwen/Qwen2-7B", "mistralai/Mistral-7B-v0.1"),
)
DRAWN = ("noise", "rank", "scale")


def _grid(model: str, seeds: range, changes: list[tuple[str, float]]) -> list[dict[str, object]]:
    return [
        {"model": model, "kind": kind, "amount": amount, "seed": seed, "prompts": prompt}
        for seed in seeds
        for kind, amount in changes
        if seed == 0 or kind in DRAWN
        for prompt in SETS
    ]


@study(
    "structured-perturbation",
    paper="Geometric Stability, 10.2, Tables 43 to 46",
    version=1,
    full=[
        *_grid(TINY[1], range(2), CHANGES),
        *_grid(TINY[0], range(4), CHANGES),
        *_grid(MINILM, range(1), CHANGES),
        *_grid(SMOLLM2, range(1), CHANGES),
        *(cell for name in PUBLISHED for cell in _grid(name, range(1), CHANGES[:1])),
    ],
    quick=[*_grid(TINY[1], range(1), CHANGES), *_grid(TINY[0], range(1), CHANGES)],
    published="structured_perturbation.csv",
    stand_ins="SmolLM2-135M-Instruct, MiniLM-L6 and a small model trained here replace the published models",
    own_numbers=("per cent,", "times CKA", "times int8", "in the table itself", "is the row of rank"),
)
def structured_perturbation(model: str, kind: str, amount: float, seed: int, prompts: str) -> dict[str, float]:
    """How far do noise, fewer bits and random adapters move a causal model, and which score detects it first?

    Published: means over 16 causal models of 0.1 to 7 billion weights and four sets of 50 prompts. Stand-ins:
    a GPT-2 of three blocks trained here on reviews, the same untrained, all-MiniLM-L6-v2, and SmolLM2-135M-Instruct
    (whose base is one of the 16) from a file of four bits; 50 sentences of each of four kinds.
    "precision": all weights rounded to bfloat16 or float16, which nobody takes for damage.
    """
    before, after = (_rows(model, *change)[prompts] for change in (("none", 0.0, 0), (kind, amount, seed)))
    return drifts(before, after)


@lru_cache(maxsize=4)
def _rows(name: str, kind: str, amount: float, seed: int) -> dict[str, Matrix]:
    model = load(name)
    texts = {key: prompts(key) for key in SETS}
    with perturbed(model.network, kind, amount, seed):
        matrix = embedded(model, [text for group in texts.values() for text in group], [model.final])[model.final]
    ends, rows = 0, {}
    for key, group in texts.items():
        rows[key], ends = matrix[ends : ends + len(group)], ends + len(group)
    return rows


structured_perturbation.page(make_page)
structured_perturbation.facts(make_facts)
