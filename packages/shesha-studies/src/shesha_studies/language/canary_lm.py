"""Does the drift of a causal model predict its loss of performance under noise, fewer bits and adapters?"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from shesha.studies.study_definition import study
from shesha_studies.language._canary_lm_facts import make_facts
from shesha_studies.language._canary_lm_page import make_page
from shesha_studies.language._drift_measures import answers, drifts, fewer_right
from shesha_studies.language._next_words import next_words, rows_of
from shesha_studies.language._perturbed_models import last_states, load, perturbed
from shesha_studies.language._tasks_and_prompts import sst2
from shesha_studies.language._tiny_gpt import TINY, right_verdicts
from shesha_studies.language.structured_perturbation import PUBLISHED, RANKS
from shesha_studies.language_models import SMOLLM2

SENTENCES, ADAPTERS = 320, 2
LEVELS = tuple(round(0.02 + 0.04 * step, 2) for step in range(13))
SCALES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.4)
"""The published scales and two larger ones, because adapters of the published scales do not harm a small model."""
EXCLUDED = "HuggingFaceTB/SmolLM2-1.7B"


def _grid(model: str, seeds: range, adapters: range) -> list[dict[str, object]]:
    changes = [("noise", level, seed) for seed in seeds for level in LEVELS[::-1]]
    changes += [("int8", 8.0, 0), ("nf4", 4.0, 0), ("precision", 16.0, 0), ("precision", 11.0, 0)]
    changes += [("rank", float(rank), seed) for rank in RANKS for seed in adapters]
    changes += [("scale", scale, seed) for scale in SCALES for seed in adapters if scale != 0.01]
    return [{"model": model, "kind": kind, "amount": amount, "seed": seed} for kind, amount, seed in changes]


@study(
    "canary-lm",
    paper="Geometric Stability, 3.3 and 10.4, Tables 48 to 51",
    version=2,
    full=[
        *_grid(TINY[0], range(1), range(ADAPTERS)),
        *_grid(TINY[1], range(1), range(ADAPTERS)),
        *_grid(SMOLLM2, range(1), range(1)),
        *(cell for name in PUBLISHED if name != EXCLUDED for cell in _grid(name, range(1), range(1))),
    ],
    quick=[*_grid(TINY[1], range(1), range(1)), *_grid(TINY[0], range(1), range(1))],
    published="canary_lm.csv",
    stand_ins=(
        "SmolLM2-135M-Instruct (if it is installed) and a small model trained here replace the 15 published causal "
        "models"
    ),
    own_numbers=("points of", "times as many", "times the drift", "earlier than CKA, also"),
)
def canary_lm(model: str, kind: str, amount: float, seed: int) -> dict[str, float]:
    """Does the drift of a causal model predict its loss of performance, and which score has no false alarms?

    Published: 15 causal models of 0.1 to 7 billion weights, 800 SST-2 sentences. Stand-ins:
    SmolLM2-135M-Instruct (whose base is one of the 15) from a file of four bits, and a GPT-2 of three blocks trained
    here on 6,920 reviews to go on with them and to end them with a verdict, and the same untrained; 320 sentences.
    Losses in per cent: of a logistic regression on mean states in 5 folds, as published; of the model's next words; and
    of the small models' own verdicts.
    """
    before, after = (_seen(model, *change) for change in (("none", 0.0, 0), (kind, amount, seed)))
    measured_drifts = drifts(before["rows"], after["rows"])
    for task, name in (("probe", "drop"), ("verdicts", "drop_verdicts"), ("words", "drop_words")):
        if task not in before:
            continue
        then, now = before[task].astype(bool), after[task].astype(bool)
        measured_drifts[name] = 100 * float(then.mean() - now.mean())
        measured_drifts[f"p_{name}"] = fewer_right(then, now)
    measured_drifts["score"] = 100 * float(after["probe"].mean())
    return measured_drifts


@lru_cache(maxsize=2)
def _seen(name: str, kind: str, amount: float, seed: int) -> dict[str, Any]:
    """Return rows of the sentences, and which answers of the probe and of the model itself are correct."""
    model = load(name)
    texts, labels = sst2(SENTENCES)
    with perturbed(model.network, kind, amount, seed):
        states = last_states(model, texts)
        outputs: dict[str, Any] = {"rows": rows_of(states)}
        if model.head is not None:
            predictions, true = next_words(model, texts, states)
            outputs["words"] = predictions == true
        if name in TINY:
            outputs["verdicts"] = right_verdicts(model, texts, labels)
    return outputs | {"probe": np.asarray(answers(outputs["rows"], labels))}


canary_lm.page(make_page)
canary_lm.facts(make_facts)
