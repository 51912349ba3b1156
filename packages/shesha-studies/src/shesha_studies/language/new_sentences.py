"""Are the test sentences of a probe new to it?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shesha.steering import steerability
from shesha.support.types import Index
from shesha_studies.causal_lm_embeddings import CAUSAL_FAMILIES, encoder_rows
from shesha_studies.framework.facts import Fact, Facts, as_facts, over_draws, smallest
from shesha_studies.framework.page import Page
from shesha_studies.framework.published_checks import derived_answers
from shesha_studies.framework.study_decorator import grid_of, study
from shesha_studies.sentence_encoders import FAMILIES, N_LAYERS
from shesha_studies.sentences import grammar

COUNTS = "words: counts, mixed"
MINILM = f"{FAMILIES[0]}: layer {N_LAYERS}"
CAUSAL = (f"{CAUSAL_FAMILIES[1]}: layer 18", f"{CAUSAL_FAMILIES[2]}: layer 18")
WAYS = ("1,000 drawn, as published", "512 different", "context and noun kept whole", "adjectives kept whole")
N_CORPUS, N_STEERED = 1000, 500
DRAWS, CORPORA = 6, 15
"""Draws of the encoders that decide claims, and draws of the corpus."""
_grid = grid_of("encoder", "way", "seed")


@study(
    "new-sentences",
    paper="Geometric Stability, 8.1.1",
    version=1,
    full=[*_grid((COUNTS, MINILM), WAYS, range(DRAWS)), *_grid(CAUSAL, WAYS, range(2))],
    quick={"encoder": (COUNTS,), "way": WAYS, "seed": range(1)},
    published="new_sentences.csv",
)
def new_sentences(encoder: str, way: str, seed: int) -> dict[str, float]:
    """Are the test sentences of the published grammar new to the probe, or copies of those it was trained on?

    The grammar has 512 different sentences, from which the paper drew 1,000 and halved them. The numbers are the
    accuracy and the max drop of a probe, also with shuffled labels. Copies, frames or adjectives are shared by both
    halves, or not.
    """
    sentences, rng = grammar(), np.random.default_rng(seed)
    rows = np.arange(len(sentences["label"]))
    if way == WAYS[0]:
        rows = draw_corpus(rng)[:N_STEERED]
    kept_whole = {WAYS[2]: "template", WAYS[3]: "adjective"}.get(way)
    groups = sentences[kept_whole][rows] if kept_whole else None
    X = encoder_rows("Synthetic", encoder)[rows]
    score = steerability(X, sentences["label"][rows], groups=groups, n_splits=5, n_draws=19, seed=seed)
    return {
        "rows": len(rows),
        "different": len(np.unique(rows)),
        "accuracy": float(score.accuracy.value),
        "accuracy_chance": float(score.accuracy.chance),
        "max_drop": float(score.max_drop.value),
        "max_drop_chance": float(score.max_drop.chance),
        "p": float(score.max_drop.p_value),
        "random": float(score.random_drop),
    }


def draw_corpus(rng: np.random.Generator) -> Index:
    """Draw 1,000 sentences: each once, and repeat only as many as are needed, which gives the fewest copies."""
    rows = np.arange(len(grammar()["label"]))
    return rng.permutation(np.concatenate([rows, rng.permutation(rows)[: N_CORPUS - len(rows)]]))


def _shared() -> Fact:
    """Share of the sentences in one half of the corpus that also occur in the other half."""
    corpora = [draw_corpus(np.random.default_rng(seed)) for seed in range(CORPORA)]
    return over_draws([np.isin(corpus[N_STEERED:], corpus[:N_STEERED]).mean() for corpus in corpora])


@new_sentences.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Return our answers to the published lines."""
    _table, labels = _means(rows), grammar()["label"]
    answers = derived_answers({name: (labels == name).sum() for name in ("positive", "negative")})
    return Page(answers=answers)


def _means(rows: pd.DataFrame) -> Any:
    return rows.groupby(["encoder", "way"], sort=False).mean(numeric_only=True).drop(columns="seed")


@new_sentences.facts
def facts(rows: pd.DataFrame, published: pd.DataFrame | None) -> Facts:
    """Accuracies if both sides contain copies and if adjectives are kept whole, and drops by chance."""
    table, (drawn, _, _, whole) = _means(rows), WAYS
    accuracy, others = table.accuracy.unstack(), [name for name in rows.encoder.unique() if name != COUNTS]
    chance = table.max_drop_chance[MINILM if MINILM in others else COUNTS]
    draws = rows.pivot(index=["encoder", "seed"], columns="way", values="accuracy")
    loss = draws[drawn] - draws[whole]
    losses = {name: over_draws(loss[name]) for name in (COUNTS, MINILM) if name in accuracy.index}
    different = len(np.unique(grammar()["text"]))
    both = (f"{name}: {accuracy.loc[name, drawn]:.2f} and {accuracy.loc[name, whole]:.2f}" for name in others)
    facts = {
        **{"different": different, "copies": N_CORPUS - different},
        **{"counts_drawn": accuracy.loc[COUNTS, drawn], "counts_whole": accuracy.loc[COUNTS, whole]},
        "counts_lose": losses[COUNTS],
        **({"encoder_drawn": accuracy.loc[MINILM, drawn], "encoder_lose": losses[MINILM]} if others else {}),
        "least_lose": smallest(losses.values()),
        **{"shared": _shared(), "corpora": CORPORA, "draws": len(loss[COUNTS]), "others": "; ".join(both)},
        **{"chance_drawn": chance[drawn], "chance_whole": chance[whole]},
    }
    return as_facts(facts)
