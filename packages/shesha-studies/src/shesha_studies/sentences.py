"""Labelled sentences of the steering experiments: a grammar, film reviews, and pairs of premise and hypothesis."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from shesha_studies.external_data import lines

CONTEXTS = ("in my opinion", "overall", "considering everything", "to be honest")
NOUNS = ("aspect", "element", "part", "feature", "component", "unit", "item", "factor")
POSITIVE = ("adequate", "fine", "good", "decent", "solid", "excellent", "superb", "exceptional")
NEGATIVE = ("poor", "bad", "mediocre", "lacking", "subpar", "terrible", "awful", "dreadful")
N_ROWS = 800
SETS = ("Synthetic", "SST-2", "MNLI")
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
    """Return the texts of a set and their labels: all 512, or 800 of SST-2's validation sentences or of MNLI's pairs.

    Raises
    ------
    Unreachable
        If the file is missing.
    """
    if name == "Synthetic":
        return tuple((str(text), "") for text in grammar()["text"]), grammar()["label"]
    if name == "SST-2":
        chosen = _some(lines("sst2", "validation.csv"))
        names = {"0": "negative", "1": "positive"}
        return tuple((line["sentence"], "") for line in chosen), np.array([names[line["label"]] for line in chosen])
    chosen = _some(lines("mnli", "mnli_matched_1000.csv"))
    texts = tuple((line["premise"], line["hypothesis"]) for line in chosen)
    return texts, np.array([line["label"] for line in chosen])


def _some(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    order = np.random.default_rng(0).permutation(len(rows))[:N_ROWS]
    return [rows[i] for i in order]
