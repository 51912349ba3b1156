"""Disturbed texts keep their words sensible and are never empty."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shesha_bench.language import augmentation
from shesha_bench.language.augmentation import augment
from shesha_bench.language.synonyms import _lexicon, synonyms

WORDS = st.lists(st.sampled_from(["a", "Film", "great", "story", ",", "zyx", "the", "slowly"]), min_size=1, max_size=20)


@given(words=WORDS, share=st.floats(0, 1), seed=st.integers(0, 10_000))
def test_words_are_old_ones_or_their_synonyms(words: list[str], share: float, seed: int) -> None:
    found = augment(" ".join(words), share, np.random.default_rng(seed)).split()
    related = {word.lower() for word in words}
    # A synonym may be replaced in its turn.
    for _ in range(max(1, round(share * len(words)))):
        related |= {synonym for word in related for synonym in synonyms(word)}
    assert found
    assert {word.lower() for word in found} <= related


@given(words=WORDS, share=st.floats(0, 1), seed=st.integers(0, 10_000))
def test_as_many_changes_as_the_share_says(words: list[str], share: float, seed: int) -> None:
    changes = max(1, round(share * len(words)))
    found = augment(" ".join(words), share, np.random.default_rng(seed)).split()
    assert abs(len(found) - len(words)) <= changes
    # A swap moves two words, every other change touches one: more cannot have gone.
    assert sum((Counter(words) - Counter(found)).values()) <= changes


@pytest.mark.parametrize("text", ["zyx", ""])
def test_nothing_to_change(text: str) -> None:
    assert augment(text, 1.0, np.random.default_rng(0)) == text


def test_all_four_changes_happen() -> None:
    text = "the great film"
    found = [augment(text, 0.0, np.random.default_rng(seed)).split() for seed in range(200)]
    kinds = Counter(
        "delete" if len(words) == 2 else "insert" if len(words) == 4 else "swap" if "great" in words and "film" in words
        else "replace"
        for words in found
    )  # fmt: skip
    assert set(kinds) == {"delete", "insert", "swap", "replace"}
    assert min(kinds.values()) > 30


def test_capitals_are_kept() -> None:
    words = ["Great"]
    augmentation._replace(words, np.random.default_rng(0))
    assert words[0][0].isupper()
    assert words[0] != "Great"


def test_the_list_of_synonyms_is_sound() -> None:
    lexicon = _lexicon()
    assert len(lexicon) > 1500
    for word, others in lexicon.items():
        assert word == word.lower()
        assert others, f"{word} stands alone"
        assert word not in others
        assert all(word in lexicon[other] for other in others)
    assert synonyms("zyx") == ()
