"""Does the drift of a causal model predict its loss of performance under noise, fewer bits and adapters?"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from shesha_studies.external_data import sklearn
from shesha_studies.framework.facts import Fact, Facts, as_facts, largest, rank_correlation, share, smallest
from shesha_studies.framework.page import Page
from shesha_studies.framework.published_checks import (
    Answers,
    Table,
    derived_answers,
    number,
    numbers_by_cell,
    printed_table,
    unjudged_answers,
)
from shesha_studies.framework.rates import sign_difference
from shesha_studies.framework.study_decorator import study
from shesha_studies.language import _model_outputs as models
from shesha_studies.language._drift_and_loss import BOUND, NAMED, answers, drifts, fewer_right
from shesha_studies.language._tiny_gpt import TINY, right_verdicts
from shesha_studies.language.structured_perturbation import MODELS, RANKS
from shesha_studies.language_models import SMOLLM2
from shesha_studies.sentences import sst2

SENTENCES, ADAPTERS = 320, 2
LEVELS = tuple(round(0.02 + 0.04 * step, 2) for step in range(13))
SCALES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.4)
"""The published scales and two larger ones, because adapters of the published scales do not harm a small model."""
TASKS = {"drop": "probe", "drop_verdicts": "verdicts", "drop_words": "next words"}
"""Losses, and the tasks that they are of."""
SHOWN = ("shesha", "cka", "procrustes", "squared", "wasserstein")
THREE = list(SHOWN[:3])
STABLE = 1.0
LEAST = 27
"""Minimum number of rows of a model that is reported: all changes except rounding, once."""
_LOST = 0.05


def _grid(model: str, adapters: range) -> list[dict[str, object]]:
    changes = [("noise", level, 0) for level in LEVELS[::-1]]
    changes += [("int8", 8.0, 0), ("nf4", 4.0, 0), ("precision", 16.0, 0), ("precision", 11.0, 0)]
    changes += [("rank", float(rank), seed) for rank in RANKS for seed in adapters]
    changes += [("scale", scale, seed) for scale in SCALES for seed in adapters if scale != 0.01]
    return [{"model": model, "kind": kind, "amount": amount, "seed": seed} for kind, amount, seed in changes]


@study(
    "canary-lm",
    paper="Geometric Stability, 3.3 and 10.4, Tables 48 to 51",
    version=3,
    full=[
        *_grid(TINY[0], range(ADAPTERS)),
        *_grid(TINY[1], range(ADAPTERS)),
        *_grid(SMOLLM2, range(1)),
        *(cell for name, included in MODELS.items() if included == "yes" for cell in _grid(name, range(1))),
    ],
    quick=[*_grid(TINY[1], range(1)), *_grid(TINY[0], range(1))],
    published="canary_lm.csv",
    stand_ins="SmolLM2-135M-Instruct (if it is installed) and a small model trained here replace the 15 published "
    "causal models",
)
def canary_lm(model: str, kind: str, amount: float, seed: int) -> dict[str, float]:
    """Does the drift of a causal model predict its loss of performance, and which score has no false alarms?

    The paper uses 15 causal models of 0.1 to 7 billion weights and 800 SST-2 sentences. One stand-in is
    SmolLM2-135M-Instruct with 4-bit weights, whose base is one of the 15. The other is a GPT-2 with three blocks,
    untrained and trained here. It learns to continue 6,920 reviews and to end them with a verdict. There are 320
    sentences. Losses are in per cent: of a logistic regression on mean states in 5 folds, as published; of the
    predicted next words; and of the verdicts of the small models.
    """
    before, after = (_seen(model, *change) for change in (("none", 0.0, 0), (kind, amount, seed)))
    row = drifts(before["rows"], after["rows"])
    for loss, task in TASKS.items():
        if task in before:
            then, now = before[task].astype(bool), after[task].astype(bool)
            row |= {loss: 100 * float(then.mean() - now.mean()), f"p_{loss}": fewer_right(then, now)}
    return row | {"score": 100 * float(after["probe"].mean())}


@lru_cache(maxsize=2)
def _seen(name: str, kind: str, amount: float, seed: int) -> dict[str, Any]:
    """Return rows of the sentences, and which answers of the probe and of the model itself are correct."""
    model = models.load(name)
    texts, labels = sst2(SENTENCES)
    with models.perturb_weights(model.network, kind, amount, seed):
        states = models.last_states(model, texts)
        outputs: dict[str, Any] = {"rows": models.mean_states(states)}
        if model.head is not None:
            predictions, true = models.next_words(model, texts, states)
            outputs["next words"] = predictions == true
        if name in TINY:
            outputs["verdicts"] = right_verdicts(model, texts, labels)
    return outputs | {"probe": np.asarray(answers(outputs["rows"], labels))}


@canary_lm.page
def page(rows: Table, published: Table) -> Page:
    """Return our answers to the published lines."""
    rows = _round_losses(rows)
    real = models.stand_in(rows, LEAST)
    changes = rows[rows.model == real]
    numbers = {name: _numbers(rows[rows.model == name]) for name in dict.fromkeys((real, *TINY))}
    means = changes.groupby(["kind", "amount"])[[*TASKS, *SHOWN]].mean()
    return Page(answers=published_numbers(means, numbers[real], published))


def published_numbers(means: Table, numbers: Table, published: Table) -> Answers:
    """Return numbers of the stand-in by change and by score, and quotients of printed numbers."""
    by_change = means.assign(**{"drop as a share": 0.01 * means["drop"]})
    by_change = by_change.set_axis([models.change_name(*key) for key in means.index])
    columns = {"probe": "correlation", "first noise beyond 0.05": "first noise"}
    by_score = numbers[list(columns)].rename(columns=columns)
    printed = printed_table(published, "3.3")
    lora, stable, smallest_adapter = (printed.loc[row] for row in ("LoRA", "stable (drop below 1 %)", "scale 0.001"))
    points = lora["sensitivity at 5 % false positives, shesha"] - lora["sensitivity at 5 % false positives, procrustes"]
    times = stable["false alarms, procrustes"] / stable["false alarms, shesha"]
    follows = {
        "LoRA: points of sensitivity that Procrustes is below Shesha": points,
        "stable (drop below 1 %): times as many, procrustes": times,
        "scale 0.001: times the drift of shesha, procrustes": smallest_adapter.procrustes / smallest_adapter.shesha,
    }
    ours = numbers_by_cell(by_change) | numbers_by_cell(by_score)
    return unjudged_answers(
        {key: "never" if np.isinf(value) else value for key, value in ours.items()}
    ) | derived_answers(follows)


@canary_lm.facts
def facts(rows: Table, published: Table) -> Facts:
    """Return false alarms of the reported model, correlations of its drift with losses, and its losses by change."""
    rows = _round_losses(rows)
    real = models.stand_in(rows, LEAST)
    changes = rows[rows.model == real]
    untrained = _numbers(rows[rows.model == TINY[1]])
    shesha, cka = (number(published, "10.4", name, "first noise") for name in ("shesha", "cka"))
    facts = {"model": real, **_harmless_changes(changes), **_detection(changes)}
    facts["probe of untrained"] = untrained.loc["shesha", "probe"]
    facts |= {"published first, shesha": shesha, "published first, cka": cka, "shesha_earlier": cka - shesha}
    return as_facts(facts | _damage(changes))


def _harmless_changes(changes: Table) -> dict[str, Fact | float]:
    """Shares of changes with a loss below 1 % that exceed the bound, and in which Procrustes exceeds Shesha."""
    still = changes[(changes.kind != "precision") & (changes["drop"] < STABLE)]
    alarms = still[list(NAMED)].gt(BOUND)

    def more(name: str, other: str) -> Fact:
        """Share of changes with an alarm of the first score only minus that of the second only (sign test)."""
        first, second = alarms[name] > alarms[other], alarms[name] < alarms[other]
        return sign_difference(int(first.sum()), int(second.sum()), len(alarms))

    return {
        "changes": len(still),
        **{str(name): share(alarms[name]) for name in alarms},
        **{f"{name}_more": smallest(more(name, other) for other in THREE[:2]) for name in ("procrustes", "squared")},
        "root_larger": share(still.procrustes > still.shesha),
        "squared_larger": share(still.squared > still.shesha),
    }


def _detection(changes: Table) -> dict[str, Fact | float]:
    """Correlations of drift with losses under noise, and areas under the curve."""
    numbers, noise = _numbers(changes), changes[changes.kind == "noise"]
    areas, probe = numbers["area under the curve"][THREE], numbers.probe[THREE]
    return {
        **{f"next words, {name}": numbers["next words"][name] for name in (*THREE, "amount")},
        **{f"probe, {name}": numbers.probe[name] for name in ("shesha", "amount")},
        **areas.add_prefix("area, "),
        "probe_lowest": rank_correlation(probe.min(), len(noise)),
        "noise_cases": len(noise),
        "area_cases": int((changes.kind != "precision").sum()),
        "drift_and_noise": noise[THREE].corrwith(noise.amount, method="spearman").min(),
        "beyond_noise": probe.max() - numbers.probe["amount"],
        "shesha_surer": areas["shesha"] - areas[["cka", "procrustes"]].max(),
    }


def _damage(changes: Table) -> dict[str, Fact | float | str]:
    """Drift by the smallest adapter, and the loss by fewer bits and by adapters."""
    least = changes[(changes.kind == "scale") & (changes.amount == 0.001)].mean(numeric_only=True)
    bits, adapters = changes[changes.kind.isin(["int8", "nf4"])], changes[changes.kind.isin(["rank", "scale"])]
    drops = [_loss(drop, p) for drop, p in zip(bits["drop"], bits.p_drop, strict=True)]
    rho = adapters.shesha.corr(adapters["drop"], method="spearman")
    low, high = np.tanh(np.arctanh(rho) + np.array([-1.96, 1.96]) / np.sqrt(len(adapters) - 3))
    return {
        "least_root": np.sqrt(2 * least.squared),
        "least_shesha": least.shesha,
        "bits_loss": largest(drops),
        "drops by bits": " and ".join(f"{drop:.1%}" for drop in drops),
        "adapters": Fact(float(rho), float(low), float(high)),
        "n_adapters": len(adapters),
        "adapters_that_lose": int((adapters.p_drop < _LOST).sum()),
    }


def _loss(drop: float, p: float) -> Fact:
    """Return a loss, given in per cent, as a share, with the exact interval of the sentences that changed.

    The rows have no number of changed sentences, but the p-value of the loss determines it.
    """
    net = round(drop * SENTENCES / 100)
    changed = range(abs(net), SENTENCES + 1, 2)
    p_values = {n: binomtest((n + net) // 2, n, 0.5, "greater").pvalue if n else 1.0 for n in changed}
    n = min(p_values, key=lambda n: abs(p_values[n] - p))
    return sign_difference((n + net) // 2, (n - net) // 2, SENTENCES)


def _round_losses(rows: Table) -> Table:
    """Round losses, so that equal losses are ties in spite of rounding errors."""
    return rows.assign(**{loss: rows[loss].round(6) for loss in TASKS})


def _numbers(changes: Table) -> Table:
    """Correlations under noise by task, and how well each score separates changes with and without a loss."""
    noise, every = changes[changes.kind == "noise"], changes[changes.kind != "precision"]
    lost, stable = (every["drop"] > STABLE).to_numpy(), every[every["drop"] < STABLE]
    roc_auc = sklearn("metrics").roc_auc_score
    correlations = {
        task: noise[[*SHOWN, "amount"]].corrwith(noise[loss], method="spearman") for loss, task in TASKS.items()
    }
    detection = {
        name: {
            "first noise beyond 0.05": noise.amount[noise[name] > BOUND].min(),
            "area under the curve": roc_auc(lost, every[name]),
            "alarms at 0.05": float((stable[name] > BOUND).mean()),
        }
        for name in SHOWN
    }
    return pd.DataFrame(correlations).join(pd.DataFrame.from_dict(detection, orient="index").fillna(np.inf))
