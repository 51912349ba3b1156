"""Numbers of things agree with their words in messages."""

import numpy as np
import pytest

import shesha
from shesha.inputs.validation import shape
from shesha.neuro import session_drift, trial_split
from shesha.support.wording import agree, count


def test_a_number_agrees_with_its_word() -> None:
    assert [count(n, "row") for n in (0, 1, 2, 1000)] == ["0 rows", "1 row", "2 rows", "1,000 rows"]
    assert [count(n, "class") for n in (1, 3)] == ["1 class", "3 classes"]
    assert [agree(n, "has", "have") for n in (0, 1, 2)] == ["have", "has", "have"]


def test_messages_about_one_thing_are_in_the_singular() -> None:
    X = np.random.default_rng(0).poisson(2, size=(40, 6))
    with pytest.warns(shesha.NotEstimableWarning, match="only 1 condition has enough trials"):
        trial_split(X, np.zeros(40, dtype=int), n_permutations=0)
    days = {"a": (X, np.arange(40) % 4), "b": (X, np.arange(40) % 4 + 3)}
    with pytest.warns(shesha.NotEstimableWarning, match="share only 1 condition"):
        session_drift(days, n_permutations=19)
    with pytest.raises(ValueError, match="X must have at least 1 column, got 0"):
        shape((20, 0), "X", 4, 1)
