"""Sentences with labels or scores: a grammar, SST-2 (film reviews), MNLI and STS-B (pairs)."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from shesha.support.types import Labels, Vector
from shesha_studies.external_data import table

CONTEXTS = ("in my opinion", "overall", "considering everything", "to be honest")
NOUNS = ("aspect", "element", "part", "feature", "component", "unit", "item", "factor")
POSITIVE = ("adequate", "fine", "good", "decent", "solid", "excellent", "superb", "exceptional")
NEGATIVE = ("poor", "bad", "mediocre", "lacking", "subpar", "terrible", "awful", "dreadful")
N_ROWS = 800
SETS = ("Synthetic", "SST-2", "MNLI")
PROMPT_SETS = ("news", "captions", "forums", "reviews")
"""Sets of sentences that replace the published prompts, which are not available."""
N_PROMPTS = 50
Text = tuple[str, str]
"""A sentence and an empty text, or a premise and a hypothesis."""
Words = NDArray[np.str_]


@cache
def grammar() -> dict[str, Words]:
    """Return the 512 different sentences of the published grammar, with their label, template and adjective."""
    rows = [
        (f"{context}, the {noun} was {adjective}", label, f"{context}/{noun}", adjective)
        for label, adjectives in (("negative", NEGATIVE), ("positive", POSITIVE))
        for context, noun, adjective in product(CONTEXTS, NOUNS, adjectives)
    ]
    columns = (np.array(column) for column in zip(*rows, strict=True))
    return dict(zip(("text", "label", "template", "adjective"), columns, strict=True))


@cache
def read_set(name: str) -> tuple[tuple[Text, ...], Words]:
    """Return the texts of a set and their labels: all 512, or 800 validation sentences of SST-2 or pairs of MNLI."""
    if name == "Synthetic":
        return tuple((str(text), "") for text in grammar()["text"]), grammar()["label"]
    file = ("sst2", "validation.csv") if name == "SST-2" else ("mnli", "mnli_matched_1000.csv")
    rows = table(*file)
    rows = rows.iloc[np.random.default_rng(0).permutation(len(rows))[:N_ROWS]]
    if name == "SST-2":
        return tuple((text, "") for text in rows["sentence"]), rows["label"].map(
            {0: "negative", 1: "positive"}
        ).to_numpy(str)
    return tuple(zip(rows["premise"], rows["hypothesis"], strict=True)), rows["label"].to_numpy(str)


def sst2(n: int) -> tuple[list[str], Labels]:
    """Return the first n validation sentences, half of each class, and whether they are positive."""
    half = table("sst2", "validation.csv").groupby("label").head(n // 2)
    return half["sentence"].tolist(), half["label"].to_numpy(dtype=np.intp)


def stsb(n: int) -> tuple[list[str], list[str], Vector]:
    """Return n evenly spaced pairs of sentences (the pairs are sorted by genre), and their scores."""
    every = table("stsb", "validation.csv")
    chosen = every.iloc[np.linspace(0, len(every) - 1, n).round().astype(int)]
    return chosen["sentence1"].tolist(), chosen["sentence2"].tolist(), chosen["score"].to_numpy(dtype=np.float64)


def prompts(kind: str) -> list[str]:
    """Return 50 different sentences of a kind of `PROMPT_SETS`, of 4 to 15 words."""
    if kind == "reviews":
        every = table("sst2", "validation.csv")["sentence"]
    else:
        pairs = table("stsb", "validation.csv")
        every = pairs.loc[pairs["genre"] == f"main-{kind}", "sentence1"]
    short = [sentence for sentence in dict.fromkeys(every) if 4 <= len(sentence.split()) <= 15]
    return short[:: len(short) // N_PROMPTS][:N_PROMPTS]
