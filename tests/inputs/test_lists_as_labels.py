"""Labels that are lists of several labels of one row, such as 'Comedy|Drama'."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha.inputs.class_labels import describe_label_lists

GENRES = np.array(["Action", "Comedy", "Drama", "Horror", "Romance", "Sci-Fi", "Thriller"])


@pytest.mark.parametrize("separator", ["|", ";", ", "])
@pytest.mark.parametrize("seed", range(5))
def test_several_labels_per_row_are_recognised(separator, seed):
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.choice(7, rng.integers(1, 5), replace=False)) for _ in range(80)]
    text = describe_label_lists([separator.join(GENRES[row]) for row in rows])
    n_lists = sum(len(row) > 1 for row in rows)
    assert text.startswith(f"{n_lists} of 80 labels are lists joined by {separator.strip()!r} (such as ")
    assert ", from 7 labels), and each combination counts as a class" in text


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: rng.choice(GENRES),
        lambda rng: f"drug{rng.integers(5)}|dose{rng.integers(4)}",
        lambda rng: f"drug{rng.integers(5)};dose{rng.integers(4)};hour{rng.integers(3)}",
        lambda rng: "|".join([f"kind{rng.integers(3)}", f"order{rng.integers(4)}", "leaf"][: rng.integers(1, 4)]),
        lambda rng: f"surname{rng.integers(60)}, name{rng.integers(15)}",
        lambda rng: f"{rng.integers(20)},{rng.integers(20)}",
        lambda rng: rng.choice(
            ["T cell, CD4", "T cell, CD8", "T cell, naive", "B cell, naive", "B cell, memory", "NK"]
        ),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_factors_paths_names_and_numbers_are_no_lists_of_labels(make, seed):
    rng = np.random.default_rng(seed)
    assert describe_label_lists([make(rng) for _ in range(80)]) == ""


def test_the_answer_says_that_combinations_count_as_classes(rng):
    labels = rng.choice(["Comedy|Drama", "Drama", "Action|Drama", "Action|Comedy", "Drama|Horror", "Horror|War"], 60)
    found = shesha.audit(pd.DataFrame(rng.standard_normal((60, 6))), y=labels, n_bootstrap=0, n_permutations=0)
    assert any(text.startswith("warning: y: ") and "are lists joined by '|'" in text for text in found.inputs)
