"""Entries of citations: every source has one or says so, results name theirs, and the text is BibTeX."""

import re

import numpy as np
import pytest

import shesha
from shesha import descriptors, measures, stability
from shesha.citations.cite import _BIB, _label, _references

EVERY = [*measures.choose("all"), *stability.list_variants().values(), *descriptors.descriptors().values()]
ENTRY = re.compile(r"@[a-z]+\{(?P<key>[a-z0-9]+),\n(  [a-z]+ = \{.*\},\n)+\}")


def balanced(text):
    depth = 0
    for letter in text:
        depth += (letter == "{") - (letter == "}")
        if depth < 0:
            return False
    return depth == 0


def test_the_file_is_bibtex_with_one_key_per_source():
    entries = _BIB.read_text(encoding="utf-8").split("\n\n")[1:]
    found = [ENTRY.fullmatch(entry.strip()) for entry in entries]
    assert all(found)
    keys = [match["key"] for match in found]
    assert len(set(keys)) == len(keys) == len(_references())
    assert all(balanced(entry) for entry in entries)
    for entry in entries:
        assert {"author", "title", "year"} <= set(re.findall(r"^  ([a-z]+) =", entry, flags=re.MULTILINE))


def test_every_entry_is_the_source_of_something():
    used = {_label(label) for one in EVERY for label in one.reference.split("; ")}
    assert set(_references()) <= used


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.name)
def test_each_source_has_an_entry_or_is_named_as_unchecked(one):
    found = shesha.cite(one.name)
    assert len(found.entries) - 1 + len(found.unchecked) == len({_label(x) for x in one.reference.split("; ")})
    for entry in found.entries[1:]:
        (year,) = re.findall(r"year = \{(\d+)\}", entry)
        assert year in one.reference
        assert "keywords" not in entry


def test_a_source_of_several_measures_is_cited_once():
    found = shesha.cite("CKA", "unbiased CKA", "cka")
    assert len(found.entries) == 3
    assert str(found).count("kornblith2019similarity") == 1


def test_a_result_cites_what_it_holds(tmp_path):
    X, Y = np.random.default_rng(0).standard_normal((2, 30, 5))
    compared = shesha.compare(X, Y, ["cka", "mutual_knn(k=5)"])
    assert shesha.cite(compared) == shesha.cite("cka", "mutual_knn")
    compared.save(tmp_path / "compared.json")
    assert shesha.cite(shesha.load(tmp_path / "compared.json")) == shesha.cite(compared)
    assert "kornblith2019" in str(shesha.cite(shesha.calibrate(X, Y, "cka", n_permutations=19)))
    assert "raju2026" in str(shesha.cite(shesha.estimate(X, n_bootstrap=0)))
    assert "raju2026" in str(shesha.cite(shesha.audit(X, n_bootstrap=0)))


def test_the_library_is_always_first_and_bad_names_are_refused():
    assert shesha.cite().entries[0].startswith("@software{shesha,")
    assert shesha.__version__ in str(shesha.cite())
    with pytest.raises(ValueError, match="did you mean"):
        shesha.cite("ckaa")
    with pytest.raises(TypeError, match="used must be names of measures or scores, or results"):
        shesha.cite(3)
