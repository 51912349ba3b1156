"""What is a new sentence to a probe?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.charts import PALETTE
from shesha.steering import steerability
from shesha.studies.checks import DIFFERS
from shesha.studies.definition import study
from shesha.studies.page import Page, Picture
from shesha.studies.pictures import figure
from shesha.studies.published import Found, against, claim
from shesha_studies.causal_rows import CAUSAL_FAMILIES, rows_by
from shesha_studies.encoders import FAMILIES, N_LAYERS
from shesha_studies.sentences import grammar

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COUNTS = "words: counts, mixed"
MINILM = f"{FAMILIES[0]}: layer {N_LAYERS}"
CAUSAL = (f"{CAUSAL_FAMILIES[1]}: layer 18", f"{CAUSAL_FAMILIES[2]}: layer 18")
WAYS = ("1,000 drawn, as published", "512 different", "context and noun kept whole", "adjectives kept whole")
N_CORPUS, N_STEERED = 1000, 500


@study(
    "new-sentences",
    paper="Geometric Stability, 8.1.1",
    version=1,
    full={"encoder": (COUNTS, MINILM, *CAUSAL), "way": WAYS, "seed": range(2)},
    quick={"encoder": (COUNTS,), "way": WAYS, "seed": range(1)},
    published="new_sentences.csv",
)
def new_sentences(encoder: str, way: str, seed: int) -> dict[str, float]:
    """Are the test sentences of the published grammar new to the probe, or copies of those it was trained on?

    The grammar has 512 different sentences; 1,000 were drawn and halved. Accuracy and max drop of a probe, and both
    under shuffled labels, where copies, frames or adjectives are on both sides and where they are not.
    """
    s = grammar()
    rows = np.arange(len(s["label"]))
    rng = np.random.default_rng(seed)
    if way == WAYS[0]:
        # Each sentence at least once, as many twice as make a thousand: the fewest copies there can be.
        corpus = np.concatenate([rows, rng.permutation(rows)[: N_CORPUS - len(rows)]])
        rows = rng.permutation(corpus)[:N_STEERED]
    groups = {WAYS[2]: s["template"], WAYS[3]: s["adjective"]}.get(way)
    kept = None if groups is None else groups[rows]
    X = rows_by("Synthetic", encoder)[rows]
    found = steerability(X, s["label"][rows], groups=kept, n_splits=5, n_draws=19, seed=seed)
    return {
        "rows": len(rows),
        "different": len(np.unique(rows)),
        "accuracy": float(found.accuracy.value),
        "accuracy_chance": float(found.accuracy.chance),
        "max_drop": float(found.max_drop.value),
        "max_drop_chance": float(found.max_drop.chance),
        "p": float(found.max_drop.p_value),
        "random": float(found.random_drop),
    }


@new_sentences.page
def page(rows: pd.DataFrame, published: pd.DataFrame | None) -> Page:
    """Compare the ways to split."""
    table: Any = rows.groupby(["encoder", "way"], sort=False).mean(numeric_only=True).drop(columns="seed")
    names = list(dict.fromkeys(rows.encoder))
    told = MINILM if MINILM in names else names[-1]
    own = table.loc[told]
    drawn, whole = own.loc[WAYS[0]], own.loc[WAYS[3]]
    counts = table.loc[COUNTS].accuracy
    others = "; ".join(
        f"{name}: {table.loc[name].accuracy[WAYS[0]]:.2f} and {table.loc[name].accuracy[WAYS[3]]:.2f}"
        for name in names
        if name != COUNTS
    )
    answer = (
        "Copies: of 1,000 sentences drawn from 512 at least 488 are copies, and a probe of plain word counts has "
        f"accuracy {counts[WAYS[0]]:.2f} as published and {counts[WAYS[3]]:.2f} once every adjective is on one side "
        f"only{f' ({others})' if others else ''}; the max drop of shuffled labels ({told}) "
        f"rises from {drawn.max_drop_chance:.3f} to {whole.max_drop_chance:.3f}, since as far as sentiment goes there "
        "are sixteen sentences."
    )
    notes = (
        "Give templates as `groups`: groups are never cut by a split, and labels are shuffled for whole groups.",
        "`random` is max drop along random directions; p is that of max drop under 19 shuffles.",
        *([_CAUSAL_NOTE] if any(name in names for name in CAUSAL) else []),
    )
    checks = against(published, _answer_numbers(own, counts, others))
    picture = Picture("new_sentences", _draw(table), "Accuracy and max drop of the probe, by what is kept whole")
    return Page(answer, (("Means of the draws", table.reset_index()),), (picture,), notes, checks)


_CAUSAL_NOTE = (
    "States of a causal model are long beside the published strengths of at most 2, which move its probe little: "
    "max drop is below the largest there is whatever the accuracy, and often below that of shuffled labels, whose "
    "probes have smaller margins (the study `steering` tells of it)."
)


def _draw(table: Any) -> Figure:
    made, axes = figure(2, width=4.6)
    for colour, (name, line) in zip(PALETTE, table.groupby(level="encoder", sort=False), strict=False):
        axes[0].plot(line.accuracy.to_numpy(), "o-", color=colour, label=str(name))
        axes[1].plot(line.max_drop.to_numpy(), "o-", color=colour)
        axes[1].plot(line.max_drop_chance.to_numpy(), "s--", color=colour)
    axes[1].plot([], [], "s--", color="0.4", label="shuffled labels")
    short = ("as\npublished", "512\ndifferent", "frames\nwhole", "adjectives\nwhole")
    for ax, label in zip(axes, ("accuracy", "max drop"), strict=True):
        ax.set(xticks=range(len(WAYS)), xticklabels=short, ylabel=label)
        ax.legend(frameon=False, fontsize="small")
    axes[0].set_ylim(0, 1.05)
    return made


def _answer_numbers(own: Any, counts: Any, others: str) -> dict[str, Found]:
    s = grammar()
    different = len(np.unique(s["text"]))
    drawn, whole = own.loc[WAYS[0]], own.loc[WAYS[3]]
    return {
        "positive": Found(float((s["label"] == "positive").sum())),
        "negative": Found(float((s["label"] == "negative").sum())),
        "corpus": claim(
            different >= N_CORPUS,
            f"{different} different, so {N_CORPUS - different} copies at least",
            "4 x 8 x 8 gives 256 of either kind, 512 in all: a corpus of 1,000 holds copies, and a random split puts "
            "copies of most sentences on both sides.",
            DIFFERS,
        ),
        "disjoint": claim(
            bool(counts[WAYS[0]] - counts[WAYS[3]] < 0.02),
            f"word counts: accuracy {counts[WAYS[0]]:.2f}, {counts[WAYS[3]]:.2f} with adjectives kept whole"
            f"{f' ({others})' if others else ''}",
            "Rows are disjoint, sentences are not: copies are on both sides, and of those that differ the adjective, "
            "which alone carries the label, was seen in another frame.",
        ),
        "memorisation": claim(
            bool(whole.max_drop_chance < 2 * drawn.max_drop_chance and counts[WAYS[0]] - counts[WAYS[3]] < 0.02),
            f"word counts reach {counts[WAYS[0]]:.2f}; max drop by chance "
            f"{drawn.max_drop_chance:.3f}, adjectives whole {whole.max_drop_chance:.3f}",
            "Sixteen adjectives decide the label; a probe that knows them knows all 512 sentences, and labels shuffled "
            "among sixteen give a larger drop by chance.",
        ),
    }
