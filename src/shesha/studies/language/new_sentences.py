"""What is a new sentence to a probe?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shesha.plots import PALETTE
from shesha.steering import steerability
from shesha.studies._checks import DIFFERS
from shesha.studies._encoders import FAMILIES, N_LAYERS, encoded
from shesha.studies._page import Page, Picture
from shesha.studies._pictures import figure
from shesha.studies._published import Found, against, claim
from shesha.studies._sentences import grammar
from shesha.studies._study import study

if TYPE_CHECKING:
    import pandas as pd

COUNTS = "words: counts, mixed"
ENCODERS = (COUNTS, f"{FAMILIES[0]}: layer {N_LAYERS}")
WAYS = ("1,000 drawn, as published", "512 different", "context and noun kept whole", "adjectives kept whole")
N_CORPUS, N_STEERED = 1000, 500


@study(
    "new-sentences",
    paper="Geometric Stability, 8.1.1",
    version=1,
    full={"encoder": ENCODERS, "way": WAYS, "seed": range(2)},
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
    X = encoded("Synthetic", encoder)[rows]
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
    encoder = str(rows.encoder.iloc[-1])
    own = table.loc[encoder]
    drawn, whole = own.loc[WAYS[0]], own.loc[WAYS[3]]
    made, (ax,) = figure(width=6.4)
    for colour, (name, line) in zip(PALETTE, table.groupby(level="encoder", sort=False), strict=False):
        ax.plot(line.accuracy.to_numpy(), "o-", color=colour, label=f"accuracy ({name})")
        ax.plot(line.max_drop_chance.to_numpy(), "s--", color=colour, label=f"max drop by chance ({name})")
    short = ("as published", "512 different", "frames whole", "adjectives whole")
    ax.set(xticks=range(len(WAYS)), xticklabels=short, ylim=(0, 1.05))
    ax.legend(frameon=False, fontsize="small", loc="center left")
    counts = table.loc[COUNTS].accuracy
    answer = (
        "Copies: of 1,000 sentences drawn from 512 at least 488 are copies, and a probe of plain word counts has "
        f"accuracy {counts[WAYS[0]]:.2f} as published and {counts[WAYS[3]]:.2f} once every adjective is on one side "
        f"only ({encoder}: {drawn.accuracy:.2f} and {whole.accuracy:.2f}); there the max drop of shuffled labels "
        f"rises from {drawn.max_drop_chance:.3f} to {whole.max_drop_chance:.3f}, since as far as sentiment goes there "
        "are sixteen sentences."
    )
    notes = (
        "Give templates as `groups`: groups are never cut by a split, and labels are shuffled for whole groups.",
        "`random` is max drop along random directions; p is that of max drop under 19 shuffles.",
    )
    checks = against(published, _found(own, counts))
    picture = Picture("new_sentences", made, "Accuracy of the probe and max drop by chance, by what is kept whole")
    return Page(answer, (("Means of the draws", table.reset_index()),), (picture,), notes, checks)


def _found(own: Any, counts: Any) -> dict[str, Found]:
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
            f"word counts: accuracy {counts[WAYS[0]]:.2f}, {counts[WAYS[3]]:.2f} with adjectives kept whole",
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
