"""Names are found regardless of case and punctuation, and similar ones are offered."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from shesha.support.wording import close_names, did_you_mean, find_by_name, unknown


@dataclass(frozen=True)
class Called:
    names: tuple[str, ...]


CKA, KNN, RSA = Called(("CKA", "kernel alignment")), Called(("mutual kNN", "neighbours")), Called(("RSA", "CKA"))
KNOWN = (CKA, KNN, RSA)


@pytest.mark.parametrize(
    ("text", "found"), [("cka", RSA), ("Mutual-KNN", KNN), ("NEIGHBOURS", KNN), ("kernel_alignment", CKA), ("rsa", RSA)]
)
def test_case_and_punctuation_do_not_matter_and_the_last_of_a_name_counts(text, found):
    assert find_by_name(text, KNOWN, "measure", "`list`") is found


def test_a_main_name_stands_before_other_names_of_the_same_item():
    one = Called(("a", "A"))
    assert find_by_name("a", [one], "measure", "") is one


def test_close_names_are_offered_and_otherwise_all():
    with pytest.raises(
        ValueError, match=r"measure must be one of the names that `list` lists, got 'mutal knn'; did you "
    ):
        find_by_name("mutal knn", KNOWN, "measure", "`list`")
    with pytest.raises(ValueError, match=r"measure must be one of .*, got 'zzzz' \(`list` lists all\)"):
        find_by_name("zzzz", KNOWN, "measure", "`list`")
    with pytest.raises(ValueError, match=r"must be one of a, b, got 'q'$"):
        raise unknown("q", "x", ["a", "b", "a"], [])
    with pytest.raises(ValueError, match=r"got 'neighbors'; did you mean mutual kNN\?"):
        find_by_name("neighbors", KNOWN, "measure", "`list`")
    with pytest.raises(ValueError, match=r"must be one of a, b, got 'q'; did you mean a\?$"):
        raise unknown("q", "x", ["a", "b"], ["a"])
    with pytest.raises(TypeError, match="measure must be a name, got 3"):
        find_by_name(3, KNOWN, "measure", "")


@pytest.mark.parametrize(
    ("close", "text"),
    [
        ([], ""),
        (["a"], "; did you mean a?"),
        (["a", "b"], "; did you mean a or b?"),
        (["a", "b", "c"], "; did you mean a, b or c?"),
        (["a", "b", "a"], "; did you mean a or b?"),
    ],
)
def test_suggestions_are_listed_once(close, text):
    assert did_you_mean(close) == text


def test_three_similar_names_are_enough():
    known = ["layer1", "layer2", "layer3", "layer4", "other"]
    assert len(close_names("LAYER", known)) == 3
    assert len(close_names("layer", known, n=2)) == 2
    assert close_names("Other", known)[0] == "other"
    assert close_names("zz", known) == []
