"""Sentences for a paper: their numbers are those of the result, and the verdict follows from p."""

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import shesha

NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e-?\d+)?(?![\w.]*\d)")
SECTION = re.compile(r"section [\d.]+")
WITHOUT = {"RowMap"}
"""Pictures have no number to report."""


def three(value):
    """Write a number as sentences do, by a rule of its own: two digits below 0.01, three above."""
    return "0" if value == 0 else f"{value:.{2 if abs(value) < 0.01 else 3}g}"


def p(value):
    return f"p = {value:.2g}" if value < 0.1 else f"p = {value:.2f}"


def numbers_in(plain):
    """All numbers of a result, at any depth."""
    if isinstance(plain, dict):
        for value in plain.values():
            yield from numbers_in(value)
    elif isinstance(plain, list | tuple):
        for value in plain:
            yield from numbers_in(value)
    elif isinstance(plain, int | float) and not isinstance(plain, bool):
        yield float(plain)


def test_every_whole_result_has_a_sentence(real_kind, real_result):
    assert bool(real_result(real_kind).sentence_sections()) == (real_kind not in WITHOUT)


def test_every_number_of_a_sentence_is_one_of_the_result(real_kind, real_result):
    if real_kind in WITHOUT:
        pytest.skip("has no sentence")
    found = real_result(real_kind)
    said = found.sentence()
    assert said.endswith(f" ({shesha.DISTRIBUTION} {shesha.__version__}).")
    assert said.count("(") == said.count(")")
    assert "nan" not in said
    # Levels that no field names, and sections of sources, are 0.05 and numbers of their own.
    known = [0.05, *(one for one in numbers_in(found.to_dict()) if one == one)]
    # The lengths of rows are described in words.
    known += map(float, NUMBER.findall(getattr(found, "lengths", "")))
    # The rates of a monitor are in percent.
    known += [100 * one for one in known] if real_kind == "DriftVerdict" else []
    for text in NUMBER.findall(SECTION.sub("", said.removesuffix(f"{shesha.__version__})."))):
        digits = len(text.partition(".")[2].partition("e")[0])
        scale = 10.0 ** int(text.partition("e")[2] or 0)
        assert min(abs(float(text) - one) for one in known) <= 0.5000001 * 10.0**-digits * scale, text


def test_pages_and_full_texts_end_with_the_sentence(real_kind, real_result):
    if real_kind in WITHOUT:
        pytest.skip("has no sentence")
    found = real_result(real_kind)
    section = found.page().sections[-1]
    assert section.title == "Sentence for a paper"
    assert section.parts[0].text == found.sentence()
    told = " ".join(found.full_text().split())
    assert told.endswith(f"Sentence for a paper {' '.join(found.sentence().split())}")


def test_a_sentence_says_the_value_with_its_interval_and_p(real_kind, real_result):
    found = real_result(real_kind)
    for name in ("value", "low", "high", "p_value"):
        number = getattr(found, name, None)
        if real_kind not in WITHOUT and isinstance(number, float) and number == number:
            assert three(number) in found.sentence() or p(number) in found.sentence(), (name, found.sentence())


@pytest.fixture(params=[0.0, 0.3, 2.0], ids=lambda strength: f"signal {strength}")
def pair(request):
    rng = np.random.default_rng(3)
    shared = rng.standard_normal((40, 6))
    return tuple(request.param * shared + rng.standard_normal((40, 6)) for _ in range(2))


@pytest.mark.parametrize("measure", ["cka", "gulp", "mutual_knn(k=5)"])
def test_the_verdict_follows_from_p(pair, measure):
    found = shesha.calibrate(*pair, measure, n_permutations=39)
    assert ("not above chance" in found.sentence()) != found.significant
    assert shesha.measures.get(measure).reference in found.sentence()


def test_raw_values_have_no_p(real_result):
    assert "p =" not in real_result("Comparison, raw").sentence()
    assert "no pair has a chance level" in real_result("PairwiseComparison, raw").sentence()


def test_designs_are_named_as_they_were_drawn(real_result):
    found = real_result("Score")
    for exchanged, said in {
        "circular shifts": "39 circular shifts;",
        "within blocks": "39 permutations of rows within blocks;",
        "whole groups": "39 permutations of whole groups;",
    }.items():
        assert said in replace(found, exchanged=exchanged).sentence()


def test_long_lists_are_counted(real_result):
    result = real_result("Comparison")
    n_others = sum(one.has_value for one in result.scores) - 5
    assert n_others > 20 and f"; {n_others} more measures (" in result.sentence()
    assert "10 more pairs" in real_result("CrossnobisPairs").sentence()


def test_what_could_not_be_estimated_says_why(real_result):
    nothing = {"value": float("nan"), "reason": "no pairs are left"}
    said = replace(real_result("Estimate"), **nothing).sentence()
    assert said.startswith("Feature split (Raju 2026, section 3.2) could not be estimated: no pairs are left (")
    said = replace(real_result("Score"), value=float("nan"), reason="one row").sentence()
    assert said.startswith("CKA (Kornblith et al. 2019) of the two representations could not be estimated: one row (")


def test_a_part_of_a_result_has_none(real_result):
    part = real_result("ModelRanking").pairs[0]
    message = "result must be a whole result to have a sentence, got ModelDifference, a part of one"
    with pytest.raises(ValueError, match=message):
        part.sentence()
    assert part.full_text() == str(part)


def test_a_result_from_a_file_names_its_source_in_a_fresh_process(tmp_path, real_result):
    found = real_result("Score")
    path = found.save(tmp_path / "one.json")
    code = f"import shesha; print(shesha.load({str(path)!r}).sentence())"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.strip() == found.sentence()
