"""How far do noise, fewer bits and random adapters move a model, and do the orders of the numbers hold?"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from shesha.support.types import Matrix
from shesha_studies.framework.checks import Found
from shesha_studies.framework.facts import Fact, Facts, as_facts, over_draws, smallest, steps
from shesha_studies.framework.page import Page
from shesha_studies.framework.published_checks import (
    Answers,
    Table,
    derived_answers,
    lines_of,
    numbers_by_cell,
    printed_table,
    unjudged_answers,
)
from shesha_studies.framework.study_decorator import study
from shesha_studies.framework.tolerance import JOINT
from shesha_studies.language._drift_and_loss import NAMED, drifts
from shesha_studies.language._model_outputs import (
    change_name,
    load,
    perturb_weights,
    prompt_rows,
    published_models,
    stand_in,
)
from shesha_studies.language._tiny_gpt import TINY
from shesha_studies.language_models import MINILM, SMOLLM2
from shesha_studies.sentences import PROMPT_SETS

LEVELS = (0.01, 0.02, 0.05, 0.10, 0.15, 0.20, 0.30, 0.40, 0.50)
RANKS, SCALES = (1, 2, 4, 8, 16, 32, 64), (0.001, 0.005, 0.01, 0.02, 0.05, 0.1)
CHANGES = [
    *(("noise", level) for level in LEVELS[::-1]),
    *(("int8", 8.0), ("nf4", 4.0)),
    *(("rank", float(rank)) for rank in RANKS),
    *(("scale", scale) for scale in SCALES),
    *(("precision", 16.0), ("precision", 11.0)),
]
MODELS = published_models("structured_perturbation.csv", "experiment 4")
"""Published models, and whether the paper measures their loss as well."""
SHOWN = ("shesha", "cka", "procrustes", "squared")
TABLES = ("Table 43", "Table 44", "Table 45", "Table 46")
LEAST = 96
"""Minimum number of rows of a model that is compared with the published means: all changes except rounding."""
_THREE = list(SHOWN[:3])


def _grid(model: str, n_seeds: int, changes: list[tuple[str, float]]) -> list[dict[str, object]]:
    return [
        {"model": model, "kind": kind, "amount": amount, "seed": seed, "prompts": prompt}
        for seed in range(n_seeds)
        for kind, amount in changes
        if seed == 0 or kind in ("noise", "rank", "scale")
        for prompt in PROMPT_SETS
    ]


@study(
    "structured-perturbation",
    paper="Geometric Stability, 10.2, Tables 43 to 46",
    version=2,
    full=[
        *(*_grid(TINY[1], 2, CHANGES), *_grid(TINY[0], 4, CHANGES)),
        *(*_grid(MINILM, 1, CHANGES), *_grid(SMOLLM2, 1, CHANGES)),
        *(cell for name in MODELS for cell in _grid(name, 1, CHANGES[:1])),
    ],
    quick=[*_grid(TINY[1], 1, CHANGES), *_grid(TINY[0], 1, CHANGES)],
    published="structured_perturbation.csv",
    stand_ins="SmolLM2-135M-Instruct, MiniLM-L6 and a small model trained here replace the published models",
)
def structured_perturbation(model: str, kind: str, amount: float, seed: int, prompts: str) -> dict[str, float]:
    """How far do noise, fewer bits and random adapters move a causal model, and which score detects it first?

    The paper prints means over 16 causal models of 0.1 to 7 billion weights and four sets of 50 prompts. The stand-ins
    are a GPT-2 with three blocks (untrained, and trained here on reviews), all-MiniLM-L6-v2, and SmolLM2-135M-Instruct
    with 4-bit weights, whose base is one of the 16. They read 50 sentences of each of four kinds. "precision" rounds
    all weights to bfloat16 or float16, which is not regarded as damage.
    """
    before, after = (_rows(model, *change)[prompts] for change in (("none", 0.0, 0), (kind, amount, seed)))
    return drifts(before, after)


@lru_cache(maxsize=4)
def _rows(name: str, kind: str, amount: float, seed: int) -> dict[str, Matrix]:
    model = load(name)
    with perturb_weights(model.network, kind, amount, seed):
        return prompt_rows(model)


@structured_perturbation.page
def page(rows: Table, published: Table) -> Page:
    """Return our answers to the published lines."""
    means = rows.groupby(["model", "kind", "amount"])[list(SHOWN)].mean()
    name = stand_in(rows, LEAST)
    table = means.loc[name]
    return Page(answers=published_numbers(table, published))


def published_numbers(means: Table, published: Table) -> Answers:
    """Return drifts of the stand-in, and the numbers of the text that follow from the published tables."""
    ours = means.set_axis([change_name(*key) for key in means.index])
    lines = lines_of(published, *TABLES).dropna(subset="row")
    per_cent = dict(zip(lines.key, 100 * lines.published.astype(float), strict=True))
    ratios = {
        "noise 0.5: times CKA, Shesha": per_cent["noise 0.5: shesha"] / per_cent["noise 0.5: cka"],
        "nf4: times int8": per_cent["nf4: shesha"] / per_cent["int8: shesha"],
    }
    text = {f"per cent, {key}": Found(value, 0.05 / JOINT) for key, value in per_cent.items()}
    return unjudged_answers(numbers_by_cell(ours)) | text | derived_answers(ratios)


@structured_perturbation.facts
def facts(rows: Table, published: Table) -> Facts:
    """Return the facts by which the claims are judged."""
    means = rows.groupby(["model", "kind", "amount"])[list(SHOWN)].mean()
    name = stand_in(rows, LEAST)
    facts: dict[str, Any] = {"model": name, **_drifts(means.loc[name]), **_published_steps(published)}
    facts |= {**_over_prompts(rows[rows.model == name]), **_over_models(means)}
    tiny = {f"tiny GPT, {score}": means.loc[(TINY[0], "noise", 0.5), score] for score in _THREE}
    return as_facts(facts | tiny)


def _drifts(means: Table) -> dict[str, float | str]:
    """Drifts at little and at much noise, also in units of a harmless change, and by fewer bits and adapters."""
    noise, harmless = means.loc["noise"], means.loc[("precision", 16.0)]
    low, high, eight, four = noise.loc[0.05], noise.loc[0.5], means.loc[("int8", 8.0)], means.loc[("nf4", 4.0)]
    changes = {"low": low, "high": high, "units": high / harmless, "harmless": harmless, "int8": eight, "nf4": four}
    fallen = noise[_THREE].shift().where(noise[_THREE].diff() <= 0)
    falls = fallen.notna().any(axis=None)
    return {
        "falls_from": fallen.min(axis=None) if falls else 0.0,
        "falls_of": NAMED[str(fallen.min().idxmin())] if falls else "",
        **{f"{change}, {name}": drift[name] for change, drift in changes.items() for name in SHOWN},
        "four_bits": four.shesha / eight.shesha,
        "rank 64": means.loc[("rank", 64.0)].shesha,
        "scale 01": means.loc[("scale", 0.1)].shesha,
    }


def _over_prompts(rows: Table) -> dict[str, Fact]:
    """Differences and ratios within kinds of prompts; the model has one draw of noise and of adapters."""
    parts = {key: part.set_index(["prompts", "seed"]) for key, part in rows.groupby(["kind", "amount"])}
    low, high, harmless = parts["noise", 0.05], parts["noise", 0.5], parts["precision", 16.0]
    ratio, logarithms = high.shesha / high.cka, rows.assign(**np.log(rows[_THREE]))

    def smallest_step(table: Table, kind: str) -> Fact:
        changes = table[table.kind == kind]
        return smallest(step for name in _THREE for step in steps(changes, "amount", name, ["prompts", "seed"]))

    def order(procrustes: str) -> Fact:
        """Return the smaller of two differences: Procrustes minus Shesha, and Shesha minus CKA."""
        return smallest(map(over_draws, (low[procrustes] - low.shesha, low.shesha - low.cka)))

    def excess(procrustes: str) -> Fact:
        """Return how much Procrustes exceeds both other scores with fewer bits."""
        bits = (parts["int8", 8.0], parts["nf4", 4.0])
        return smallest(over_draws(part[procrustes] - part[["shesha", "cka"]].max(axis=1)) for part in bits)

    return {
        "smallest_step": smallest_step(rows, "noise"),
        # Drift by adapters covers several orders of magnitude, so its steps are factors.
        "smallest_factor of rank": smallest_step(logarithms, "rank").transform(np.exp),
        "smallest_factor of scale": smallest_step(logarithms, "scale").transform(np.exp),
        "low_order_of_roots": order("procrustes"),
        "roots_largest": excess("procrustes"),
        "low_order": order("squared"),
        "high_ratio": over_draws(ratio),
        "high_ratio_in_units": over_draws(ratio / (harmless.shesha / harmless.cka)),
        "squared_largest": excess("squared"),
    }


def _over_models(means: Table) -> dict[str, Fact | float | str]:
    """How many times more drift adapters of the largest scale cause than those of the smallest, at the same rank."""
    scale = means.shesha.xs("scale", level="kind").unstack("amount")
    times = (scale[SCALES[-1]] / scale[SCALES[0]]).dropna()
    return {
        "scale_times": over_draws(np.log(times)).transform(np.exp),
        "scale_times in words": ", ".join(f"{value:,.0f} in {name}" for name, value in times.items()),
        "scale_models": len(times),
    }


def _published_steps(published: Table) -> dict[str, float]:
    """Facts computed from the published tables alone."""
    noise, ranks, scales = (printed_table(published, f"Table {place}") for place in (43, 45, 46))
    return {
        "smallest_step of Table 43": noise.diff().min(axis=None),
        **{f"rank {rank} of Table 45": ranks.shesha[rank] for rank in ("4", "8")},
        "step of Table 45": ranks.shesha["8"] - ranks.shesha["4"],
        "same setting": scales.cka["0.01"],
        "same_setting_apart": abs(ranks.cka["8"] - scales.cka["0.01"]),
    }
