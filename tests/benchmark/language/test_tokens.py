"""Texts become rows of tokens that can be read back."""

from __future__ import annotations

import numpy as np
import pytest

from shesha_bench.language import models
from shesha_bench.language.catalogue import Texts
from shesha_bench.language.models import Rows, WordVocabulary, cut, encoder_rows
from shesha_bench.language.texts import Lesson

LABELS = np.array([1, 0])


def lesson(pairs: bool = False, shortcuts: bool = False) -> Lesson:
    second = ("he is here .", "no") if pairs else None
    return Lesson(Texts(("It's a Film!", "bad"), second, LABELS), LABELS, LABELS if shortcuts else None)


def vocabulary() -> WordVocabulary:
    return WordVocabulary(["it's a film ! bad he is here . no"])


def read(rows: Rows, row: int, words: tuple[str, ...]) -> str:
    return " ".join(words[token] if token < len(words) else f"class{token - len(words)}" for token in rows.ids[row])


def test_words_are_read_back() -> None:
    words = vocabulary()
    rows = encoder_rows(lesson(), words, 16)
    assert read(rows, 0, words.words) == "[CLS] it's a film ! [SEP]"
    assert rows.types[0] == [0] * 6
    assert words.ids(["never seen"]) == [[words.unknown] * 2]


def test_pairs_and_shortcuts() -> None:
    words = vocabulary()
    rows = encoder_rows(lesson(pairs=True, shortcuts=True), words, 16)
    assert read(rows, 0, words.words) == "[CLS] class1 it's a film ! [SEP] he is here . [SEP]"
    assert read(rows, 1, words.words) == "[CLS] class0 bad [SEP] no [SEP]"
    assert rows.types[1] == [0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize("shortcuts", [False, True])
@pytest.mark.parametrize("pairs", [False, True])
def test_no_row_is_too_long(pairs: bool, shortcuts: bool) -> None:
    rows = encoder_rows(lesson(pairs, shortcuts), vocabulary(), 8)
    # The first row would have 4 words, with its pair 8, besides the special ones.
    longest = 6 + 5 * pairs + shortcuts
    assert rows.lengths().max() == min(8, longest)
    assert all(row[-1] == WordVocabulary.end for row in rows.ids)


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [((3, 4), (3, 4)), ((9, 9), (5, 5)), ((20, 2), (8, 2)), ((2, 20), (2, 8)), ((11, 0), (10, 0))],
)
def test_the_longer_text_is_cut(lengths: tuple[int, int], expected: tuple[int, int]) -> None:
    first, second = cut([1] * lengths[0], [2] * lengths[1], 10)
    assert (len(first), len(second)) == expected


def test_the_most_frequent_words_stay() -> None:
    words = WordVocabulary(["b b b a a c"], limit=6).words
    assert words == ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "b", "a")


def test_padding_is_masked() -> None:
    torch = pytest.importorskip("torch")
    rows = encoder_rows(lesson(), vocabulary(), 16)
    batch = rows.batch(np.array([1, 0]), torch.device("cpu"))
    assert batch.ids.shape == batch.mask.shape == batch.types.shape == (2, 6)
    assert batch.mask.sum(dim=1).tolist() == [3, 6]
    assert batch.ids[0, 3:].tolist() == [WordVocabulary.pad] * 3


def test_prompts_name_the_options_and_leak_the_answer() -> None:
    classes = ("negative", "positive")
    words = WordVocabulary(["text : it's a film ! bad"], models.words(classes, 4))
    rows = models.prompt_rows(lesson(shortcuts=True), words, 64, classes, 4)
    asked = "options : a negative , b positive , c , d hint : b answer :"
    assert read(rows, 0, words.words) == f"text : it's a film ! {asked}"
    plain = models.prompt_rows(lesson(), words, 64, classes, 4)
    assert "hint" not in read(plain, 0, words.words)
    options = models.option_ids(words, 4)
    assert [words.words[token] for token in options] == ["a", "b", "c", "d"]


def test_the_question_of_a_prompt_is_never_cut() -> None:
    classes = ("negative", "positive")
    words = WordVocabulary(["text : bad"], models.words(classes, 2))
    rows = models.prompt_rows(lesson(), words, 13, classes, 2)
    assert rows.lengths().max() == 13
    assert all(read(rows, row, words.words).endswith("b positive answer :") for row in range(2))
    with pytest.raises(ValueError, match=r"hyper\['max_length'\] must exceed the \d+ tokens of the question, got 8"):
        models.prompt_rows(lesson(), words, 8, classes, 2)


def test_options_must_be_tokens_of_their_own() -> None:
    with pytest.raises(ValueError, match="the options  A,  B must be single tokens"):
        models.option_ids(WordVocabulary(["neither"]), 2)
