"""Sentences for a paper: their numbers are those of the result, and the verdict follows from p."""

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import shesha
from shesha.results.paper_sentences import has_sentence

NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e-?\d+)?(?![\w.]*\d)")
SECTION = re.compile(r"section [\d.]+")
WITHOUT = {"RowMap"}
"""Pictures have no number to report."""


def three(value):
    """Write a number as sentences do, by a rule of its own: two digits below 0.01, three above."""
    return "0" if value == 0 else f"{value:.{2 if abs(value) < 0.01 else 3}g}"


def p(value):
    return f"p = {value:.2g}" if value < 0.1 else f"p = {value:.2f}"


def ends(low, high, share="95 % "):
    return f"({share}interval {three(low)} to {three(high)})"


def null(one, name="null"):
    return f"({p(one.p_value)}, {name} mean {three(one.chance)}, sd {three(one.chance_sd)}, "


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
    assert has_sentence(real_result(real_kind)) == (real_kind not in WITHOUT)


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
    if real_kind.startswith("PairwiseComparison"):
        # The mean chance level of a measure is the one number that no field has.
        scores = list(found.scores)
        known += [np.mean([one.chance for one in scores if one.name == name]) for name in found.measures]
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


EXPECTED = {
    "Audit": lambda one: (
        [
            f"{three(part.feature_split.value)} {ends(part.feature_split.low, part.feature_split.high)} in {part.name}"
            for part in (one[one.ranking[0]], one[one.ranking[-1]])
        ]
        + ["over 40 rows", f"of {len(one.ranking)} above chance at 0.05", "39 permutations of all rows)"]
    ),
    "Score": lambda one: [
        f"was {three(one.value)} over 40 rows, above chance at 0.05 {null(one)}39 permutations of all rows; "
        f"calibrated score {three(one.calibrated)})",
        "CKA (Kornblith et al. 2019)",
    ],
    "LayerComparison, calibrated": lambda one: [
        f"of 4 x 2 layers over 40 inputs: the value of the closest pair was {three(one.value)}, above chance",
        null(one, "null of the same aggregate:"),
        f"calibrated score {three(one.calibrated)}",
        f"the closest layers were {one.closest.pair()}",
    ],
    "PairwiseComparison, named pairs": lambda one: (
        [f"{three(each.value)} ({each.first}, {p(each.corrected_p_value)})" for each in one.scores]
        + ["Similarity of 2 pairs over 40 rows", "corrected for the number of pairs (Benjamini and Hochberg)"]
    ),
    "Coherence": lambda one: [
        f"of {three(one.value)} {ends(one.low, one.high)} against 70 controls",
        f"(p = {one.p_value:.2g}, 99 null groups)",
    ],
    "CoherenceTable": lambda one: [
        "1 of 3 groups shifted its rows in a common direction, above chance (corrected p at most 0.05",
        f"moved {three(one['moved'].value)} {ends(one['moved'].low, one['moved'].high)}",
        f"over 20 rows, corrected p = {p(one['moved'].corrected_p_value).removeprefix('p = ')}",
    ],
    "Comparison": lambda one: [
        f"{three(each.value)} {ends(each.low, each.high)}, chance {three(each.chance)}, "
        f"corrected {p(each.corrected_p_value)}"
        for each in (one["unbiased CKA"], one["RSA"])
    ],
    "Comparison, held out": lambda one: [
        f"{three(one['LinReg'].value)}, held out {three(one['LinReg'].held_out)} (4 folds)"
    ],
    "Consensus": lambda one: [
        "none were outliers",
        f"was nearest ({three(one.members[0].value)})",
        three(one.spread),
    ],
    "DriftPath": lambda one: [f"largest at fourth: {three(max(one.from_first[1:]))}"],
    "DriftVerdict": lambda one: [
        f"was {three(one.scores[0].value)}, above the threshold for unchanged encodings at 0.05 (mean "
        f"{three(one.scores[0].chance)}, threshold {three(one.scores[0].threshold)}, {p(one.scores[0].p_value)}, 19 "
        "re-encodings): the geometry changed"
    ],
    "Estimate": lambda one: [f"was {three(one.value)} {ends(one.low, one.high)} over 40 rows and 8 features"],
    "LayerComparison": lambda one: [
        f"{one.closest.first} and {one.closest.second} were closest",
        three(one.closest.value),
    ],
    "LayerRanking": lambda one: [
        f"{one.winner} had the largest max drop: {three(one[one.winner].value)} "
        f"{ends(one[one.winner].low, one[one.winner].high)}",
        null(one.best, "null of the best layer:"),
    ],
    "ModelRanking": lambda one: [
        *(f"{each.name} {three(each.value)} {ends(each.low, each.high)}" for each in one),
        f"noise ceiling {three(one.ceiling_lower)} to {three(one.ceiling_upper)}",
        "2 subjects of 40 rows",
    ],
    "NoiseCeiling": lambda one: [
        f"was {three(one.lower)} to {three(one.upper)} (3 repeats of 40 rows; two repeats agree"
    ],
    "OverTime": lambda one: [f"was {three(one.value)} (at 0 and 0) over 72 trials of 30 neurons"],
    "PairwiseComparison": lambda one: ["6 of 6 pairs above chance", "(first and second, p = 0.025)", "39 permutations"],
    "Correlations": lambda one: [
        f"a {three(one['a'].value)} {ends(one['a'].low, one['a'].high)}, {p(one['a'].corrected_p_value)} (without "
        f"control {three(one['a'].raw.value)})"
    ],
    "SessionDrift": lambda one: [
        f"{part.name.replace('_', ' ')} {three(part.value)} between sessions (chance {three(part.chance)}, "
        f"{p(part.p_value)}) and {three(part.within)} within sessions (95 % interval of the change "
        f"{three(part.change_low)} to {three(part.change_high)}, corrected {p(part.corrected_change_p_value)})"
        for part in one.pairs[0]
    ],
    "SessionTable": lambda one: [
        f"{each.name} {three(each.means['trial_split'].value)} ("
        f"95 % interval {three(each.means['trial_split'].low)} to {three(each.means['trial_split'].high)}), chance "
        f"{three(each.means['trial_split'].chance)}"
        for each in one
    ],
    "Steerability": lambda one: [
        f"{each.name} {three(each.value)} {ends(each.low, each.high)}, chance {three(each.chance)}, {p(each.p_value)}"
        for each in one.scores
    ],
    "SteeringPredictors": lambda one: [
        f"{each.name} {three(each.value)}, chance {three(each.chance)}, {p(each.p_value)}" for each in one.scores[:4]
    ],
    "StochasticShape": lambda one: [f"was {three(one.corrected)}, corrected for few trials ({three(one.value)} w"],
    "StreamVerdict": lambda one: [f"10^{one.log10_highest:.1f} (alarm at 10^{one.log10_threshold:.1f}", "no alarm"],
    "TrialScore": lambda one: [
        f"was {three(one.value)} over 72 trials (24 of them unused in each draw) of 30 neurons under 6 conditions",
        null(one),
    ],
    "TwoSample": lambda one: [f"{three(one.value)}, null mean {three(one.chance)}, threshold {three(one.threshold)}"],
    "UnitMatching": lambda one: [f"{one.n_matched} of 8 units", f"was {three(one.value)} over 40 rows", null(one)],
    "WithinClasses": lambda one: [
        f"{three(min(part[name].value for part in one))} to {three(max(part[name].value for part in one))} where above "
        f"chance (p at most {max(one.corrected[name].values()):.2g})"
        for name in one.measures
    ],
    "SeveralWithinClasses": lambda one: [each.headline.removesuffix(".") for each in one],
}


@pytest.mark.parametrize("named", list(EXPECTED))
def test_a_sentence_says_the_fields_that_matter(named, real_result):
    found = real_result(named)
    for part in EXPECTED[named](found):
        assert part in found.sentence()


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
    assert "without a chance level" in real_result("PairwiseComparison, raw").sentence()


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
    assert n_others > 20 and f"; {n_others} more measures;" in result.sentence()
    assert "10 more pairs" in real_result("CrossnobisPairs").sentence()


def test_what_could_not_be_estimated_says_why(real_result):
    nothing = {"value": float("nan"), "reason": "no pairs are left"}
    said = replace(real_result("Estimate"), **nothing).sentence()
    assert said.startswith("Feature split (Raju 2026, section 3.2) could not be estimated: no pairs are left (")
    said = replace(real_result("Score"), value=float("nan"), reason="one row").sentence()
    assert said.startswith("CKA (Kornblith et al. 2019) could not be estimated: one row (")


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
