"""How far do noise, fewer bits and random adapters move a model, and do the orders of the numbers hold?"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from shesha.studies.checks import Found
from shesha.studies.facts import Fact, Facts, absolute, as_facts, over_draws, smallest, steps
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import curves, figure
from shesha.studies.published_checks import Answers, Table, lines_of, number, shown, split_numbers_and_claims
from shesha.studies.study_decorator import study
from shesha.studies.tolerance import JOINT
from shesha.support.types import Matrix
from shesha_studies.language._drift_measures import NAMED, drifts
from shesha_studies.language._perturbed_models import MINILM, embedded, load, perturbed, stand_in
from shesha_studies.language._sst2_and_stsb import SETS, prompts
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
SHOWN = ("shesha", "cka", "procrustes", "squared")
TABLES = {"Table 43": "noise", "Table 44": "", "Table 45": "rank", "Table 46": "scale"}
LEAST = 96
"""Minimum number of rows of a model that is compared with the published means: all changes except rounding."""
_THREE = list(SHOWN[:3])
_UNIT = ["prompts", "seed"]


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
    version=2,
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
    texts = {key: prompts(key) for key in SETS}
    with perturbed(model.network, kind, amount, seed):
        matrix = embedded(model, [text for group in texts.values() for text in group], [model.final])[model.final]
    ends, rows = 0, {}
    for key, group in texts.items():
        rows[key], ends = matrix[ends : ends + len(group)], ends + len(group)
    return rows


@structured_perturbation.page
def page(rows: Table, lines: Table) -> Page:
    """Make the page: orders and ratios of the scores for stand-ins, raw and on a common scale."""
    published = split_numbers_and_claims(lines)[0]
    means = rows.groupby(["model", "kind", "amount"])[list(SHOWN)].mean()
    name = stand_in(rows, LEAST)
    table = means.loc[name]
    title = f"Comparison with Tables 43 to 46: {name} (means over draws and sets of sentences)"
    tables, pictures = ((title, _join_published(table, published)),), (_picture(means, published, name),)
    return Page("", tables, pictures, answers=published_numbers(table, published))


def _join_published(means: Table, published: Table) -> Table:
    lines = []
    for table in TABLES:
        for row, group in lines_of(published, table).groupby("row", sort=False):
            key = change_key(table, str(row))
            values = {line.number: float(line.published) for line in group.itertuples()}
            drift = means.loc[key].to_dict() if key in means.index else {}
            pairs = {
                f"{name}{what}": side.get(name)
                for name in SHOWN[:3]
                for what, side in (("", drift), (", published", values))
            }
            lines.append({"table": table, "change": key[0], "amount": key[1], **pairs, "squared": drift.get("squared")})
    return pd.DataFrame(lines)


def _picture(means: Table, published: Table, real: str) -> Picture:
    fig, axes = figure(4, width=3.1, height=3.5)
    table = lines_of(published, "Table 43").astype({"row": float, "published": float})
    noise = {"published, 16 models": table.pivot(index="row", columns="number", values="published")}
    noise |= {name: means.loc[(name, "noise")] for name in (TINY[0], real if real != TINY[0] else TINY[1])}
    for ax, (title, drift) in zip(axes, noise.items(), strict=False):
        curves(ax, drift, {name: label for name, label in NAMED.items() if name in drift})
        ax.set(title=title, xlabel="noise")
    highest = max(ax.get_ylim()[1] for ax in axes[:3])
    for ax in axes[:3]:
        ax.set_ylim(0, highest)
    axes[0].set_ylabel("drift")
    axes[1].legend(frameon=False, fontsize="x-small")
    curves(axes[3], means.loc[(real, "noise")] / means.loc[(real, "precision", 16.0)], NAMED)
    axes[3].set(yscale="log", title="in units of bfloat16", xlabel="noise")
    shows = (
        "Drift against noise, published and in two stand-ins; drift of the stand-in divided by that of bfloat16 weights"
    )
    return Picture("structured_perturbation", fig, shows)


@structured_perturbation.facts
def facts(rows: Table, lines: Table) -> Facts:
    """Return the facts by which the claims are judged."""
    means = rows.groupby(["model", "kind", "amount"])[list(SHOWN)].mean()
    name = stand_in(rows, LEAST)
    table, tiny = means.loc[name], means.loc[TINY[0]]
    model_rows = rows[rows.model == name]
    values = {**_noise(table), **_bits_and_adapters(table), **_tables(split_numbers_and_claims(lines)[0])}
    facts: dict[str, Any] = {**values, **_over_prompts(model_rows), **_over_models(means)}
    return as_facts({"model": name, **facts}) | as_facts(tiny.loc[("noise", 0.5)][_THREE].to_dict(), "tiny GPT, ")


def _noise(table: Table) -> dict[str, float]:
    """Whether all scores rise with the noise, and which is largest at little and at much noise, on a common scale."""
    noise = table.loc["noise"].sort_index()
    fallen = noise[_THREE].shift().dropna().where(noise[_THREE].diff().dropna() <= 0)
    low, high, harmless = noise.loc[0.05], noise.loc[0.5], table.loc[("precision", 16.0)]
    drifts = {"low": low, "high": high, "units": high / harmless, "harmless": harmless}
    return {
        "falls_from": fallen.min(axis=None) if fallen.notna().any(axis=None) else 0.0,
        "falls_of": NAMED[str(fallen.min().idxmin())] if fallen.notna().any(axis=None) else "",
        **{f"{what}, {name}": drift[name] for what, drift in drifts.items() for name in SHOWN},
    }


def _over_prompts(rows: Table) -> dict[str, Fact]:
    """Differences and ratios within kinds of prompts; the model has one draw of noise and of adapters."""
    parts = {key: part.set_index(_UNIT) for key, part in rows.groupby(["kind", "amount"])}
    low, high, harmless = parts["noise", 0.05], parts["noise", 0.5], parts["precision", 16.0]
    kinds = {"smallest_step": "noise", "smallest_step of rank": "rank", "smallest_step of scale": "scale"}
    ratio = high.shesha / high.cka
    roots = [part.procrustes - part[["shesha", "cka"]].max(axis=1) for part in (parts["int8", 8.0], parts["nf4", 4.0])]
    few = [part.squared - part[["shesha", "cka"]].max(axis=1) for part in (parts["int8", 8.0], parts["nf4", 4.0])]
    return {
        **{
            key: smallest(step for name in _THREE for step in steps(rows[rows.kind == kind], "amount", name, _UNIT))
            for key, kind in kinds.items()
        },
        "low_order_of_roots": smallest(map(over_draws, (low.procrustes - low.shesha, low.shesha - low.cka))),
        "roots_largest": smallest(map(over_draws, roots)),
        "low_order": smallest(map(over_draws, (low.squared - low.shesha, low.shesha - low.cka))),
        "high_ratio": over_draws(ratio),
        "high_ratio_in_units": over_draws(ratio / (harmless.shesha / harmless.cka)),
        "four_bits_off": absolute(over_draws(parts["nf4", 4.0].shesha / parts["int8", 8.0].shesha - 3)),
        "squared_largest": smallest(map(over_draws, few)),
    }


def _over_models(means: Table) -> dict[str, Any]:
    """How many times more drift adapters of the largest scale cause than those of the smallest, at the same rank."""
    scale = means.shesha.xs("scale", level="kind").unstack("amount")
    times = (scale[SCALES[-1]] / scale[SCALES[0]]).dropna()
    mean = over_draws(np.log(times))
    return {
        "scale_times": Fact(*np.exp([mean.value, mean.low, mean.high])),
        "scale_times in words": ", ".join(f"{value:,.0f} in {name}" for name, value in times.items()),
        "scale_models": len(times),
    }


def _bits_and_adapters(table: Table) -> dict[str, float]:
    """Facts on the drift by fewer bits, and on its rise with the rank and the scale of random adapters."""
    eight, four = table.loc[("int8", 8.0)], table.loc[("nf4", 4.0)]
    rank, scale = table.loc[("rank", 64.0)].shesha, table.loc[("scale", 0.1)].shesha
    drifts = {f"{bits}, {name}": means[name] for bits, means in (("int8", eight), ("nf4", four)) for name in SHOWN}
    return {
        **drifts,
        "four_bits": four.shesha / eight.shesha,
        **{"rank 64": rank, "scale 01": scale},
    }


def _tables(published: Table) -> dict[str, float]:
    """Facts computed from the published tables alone."""
    lines = lines_of(published, "Table 43")
    lines = lines[lines.number.isin(_THREE)]
    wide = lines.assign(value=lines.published.astype(float)).pivot(index="row", columns="number", values="value")
    adapters = lines_of(published, "Table 45")
    of_shesha = adapters[adapters.number == "shesha"].set_index("row").published.astype(float)
    of_shesha.index = of_shesha.index.astype(str)
    pairs = [number(published, table, row, "cka") for table, row in (("Table 45", "8"), ("Table 46", "0.01"))]
    return {
        "smallest_step of Table 43": wide.diff().min().min(),
        **{"rank 4 of Table 45": of_shesha["4"], "rank 8 of Table 45": of_shesha["8"]},
        "step of Table 45": of_shesha["8"] - of_shesha["4"],
        "same setting": pairs[1],
        "same_setting_apart": abs(pairs[0] - pairs[1]),
    }


def change_key(table: str, row: str) -> tuple[str, float]:
    """Return the change and the amount that a row of a table is about."""
    if table == "Table 44":
        return row, 8.0 if row == "int8" else 4.0
    return TABLES[table], float(row)


def published_numbers(own: Table, published: Table) -> Answers:
    """Return drifts of the stand-in, and the numbers of the text that follow from the published tables."""
    ours: dict[str, float | None] = {}
    per_cent: dict[str, float] = {}
    for table, kind in TABLES.items():
        for _, line in lines_of(published, table).iterrows():
            key = change_key(table, str(line.row))
            ours[f"{table} | {line.row}: {line.number}"] = (
                float(own.loc[key, line.number]) if key in own.index else None
            )
            change = f"{kind} {float(line.row):g}" if kind else line.row
            per_cent[f"{change}: {line.number}"] = 100 * float(line.published)
    ratios = {
        "noise 0.5: times CKA, Shesha": per_cent["noise 0.5: shesha"] / per_cent["noise 0.5: cka"],
        "nf4: times int8": per_cent["nf4: shesha"] / per_cent["int8: shesha"],
    }
    rounded = {key: Found(value, 0.05 / JOINT) for key, value in per_cent.items()}
    return {**shown(ours), **rounded, **{key: Found(ratio) for key, ratio in ratios.items()}}
