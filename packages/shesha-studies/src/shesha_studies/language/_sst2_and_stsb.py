"""Sentences of SST-2 and STS-B for studies of drift, with their labels or scores."""

from __future__ import annotations

import numpy as np

from shesha.support.types import Labels, Vector
from shesha_studies.external_data import table

SETS = ("news", "captions", "forums", "reviews")
"""Sets of sentences that replace the published prompts, which are not available."""
PROMPTS = 50
LONGEST = 15


def sst2(n: int) -> tuple[list[str], Labels]:
    """Return the first n validation sentences, half of each class, and whether they are positive."""
    half = table("sst2", "validation.csv").groupby("label").head(n // 2)
    return half["sentence"].tolist(), half["label"].to_numpy(dtype=np.intp)


def stsb(n: int) -> tuple[list[str], list[str], Vector]:
    """Return n evenly spaced pairs of sentences (the pairs are sorted by genre), and their scores."""
    every = table("stsb", "validation.csv")
    chosen = every.iloc[np.linspace(0, len(every) - 1, n).round().astype(int)]
    return chosen["sentence1"].tolist(), chosen["sentence2"].tolist(), chosen["score"].to_numpy(dtype=np.float64)


def prompts(kind: str, n: int = PROMPTS) -> list[str]:
    """Return n different sentences of a kind of `SETS`, of at most 15 words."""
    if kind == "reviews":
        every = table("sst2", "validation.csv")["sentence"]
    else:
        pairs = table("stsb", "validation.csv")
        every = pairs.loc[pairs["genre"] == f"main-{kind}", "sentence1"]
    short = [sentence for sentence in dict.fromkeys(every) if 4 <= len(sentence.split()) <= LONGEST]
    return short[:: max(1, len(short) // n)][:n]
