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


def clause(one, name=None, confidence="95 % "):
    """What is said about each of several numbers."""
    ends_of = f" {ends(one.low, one.high, confidence)}" if one.low == one.low else ""
    chance = f", chance {three(one.chance)}" if one.chance == one.chance else ""
    corrected = one.corrected_p_value == one.corrected_p_value
    test = f", {'corrected ' * corrected}{p(one.deciding_p_value)}" if one.p_value == one.p_value or corrected else ""
    return f"{name or one.name} {three(one.value)}{ends_of}{chance}{test}"


def listed(*fields):
    """The numbers of these fields, and what a sentence says about each of them."""
    return lambda one: [clause(each) for field in fields for each in getattr(one, field)[:5]]


EXPECTED = {
    "Audit": lambda one: (
        [clause(part.feature_split, part.name) for part in one]
        + ["over 40 rows", "4 of 4 above chance at 0.05", "39 permutations of all rows)"]
    ),
    "Score": lambda one: [
        f"was {three(one.value)} over 40 rows, above chance at 0.05 {null(one)}39 permutations of all rows; "
        f"calibrated score {three(one.calibrated)})",
        "CKA (Kornblith et al. 2019)",
    ],
    "LayerComparison, calibrated": lambda one: [
        f"of 4 x 2 layers, the value of the closest pair, was {three(one.value)} over 40 inputs, above chance",
        null(one, "null of the same aggregate:"),
        f"calibrated score {three(one.calibrated)}",
        f"the closest layers are {one.closest.pair()}",
    ],
    "PairwiseComparison, named pairs": lambda one: (
        [clause(each, each.first) for each in one.scores]
        + ["Similarity of 2 pairs over 40 rows", "corrected for the number of pairs (Benjamini and Hochberg)"]
    ),
    "Coherence": lambda one: [
        f"was {three(one.value)} {ends(one.low, one.high)} over 20 rows against 70 controls, above chance",
        "99 null groups",
    ],
    "CoherenceTable": lambda one: [
        "1 of 3 groups shifts its rows in a common direction, above chance (corrected p at most 0.05)",
        clause(one["moved"], "moved (20 rows)"),
        "against 70 controls",
    ],
    "Comparison": lambda one: [
        clause(each, f"{each.name} ({shesha.measures.get(each.name).reference})")
        for each in (one["unbiased CKA"], one["RSA"])
    ],
    "Comparison, held out": lambda one: [
        f"{three(one['LinReg'].value)}, held out {three(one['LinReg'].held_out)} (4 folds)"
    ],
    "Consensus": lambda one: ["No representation is an outlier", clause(one.members[0]), three(one.spread)],
    "ClusterStability": lambda one: [*map(clause, one), clause(one.agreement, "adjusted Rand index")],
    "Correlations": lambda one: [f"{clause(one['a'])} (without control {three(one['a'].raw.value)})"],
    "DriftPath": lambda one: [f"Largest drift from first: {max(one.from_first[1:]):.3f} (fourth)"],
    "DriftVerdict": lambda one: [
        f"RDM drift is {one.scores[0].value:.3g}, compared with a mean of {one.scores[0].chance:.3g}",
        "rarely exceed",
        "19 re-encodings, level 0.05",
        "(40 rows)",
    ],
    "Estimate": lambda one: [f"was {three(one.value)} {ends(one.low, one.high)} over 40 rows and 8 features"],
    "LayerComparison": lambda one: [
        f"{one.closest.first} and {one.closest.second} are closest: CKA (Kornblith et al. 2019) "
        f"{three(one.closest.value)}, without a chance level"
    ],
    "LayerRanking": lambda one: [
        *map(clause, one.layers),
        f"null of the best layer: mean {three(one.best.chance)}, sd {three(one.best.chance_sd)}",
    ],
    "ModelRanking": lambda one: [
        *map(clause, one),
        f"noise ceiling {three(one.ceiling_lower)} to {three(one.ceiling_upper)}",
    ],
    "NoiseCeiling": lambda one: [
        f"noise ceiling {one.lower:.4g} to {one.upper:.4g}, reliability {one.reliability:.4g} (3 repeats of 40 rows"
    ],
    "OverTime": lambda one: [f"was {three(one.value)} over 72 trials of 30 neurons under 6 conditions (at 0 and 0)"],
    "PairwiseComparison": lambda one: [
        "6 of 6 pairs are above chance",
        clause(one["first", "second"], "first and second"),
        "39 permutations",
    ],
    "SessionDrift": lambda one: [
        f"{clause(part, part.name.replace('_', ' '))}, within sessions {three(part.within)}, change (95 % interval "
        f"{three(part.change_low)} to {three(part.change_high)}), corrected {p(part.corrected_change_p_value)}"
        for part in one.pairs[0]
    ],
    "SessionTable": lambda one: [clause(each.means["trial_split"], each.name) for each in one],
    "Steerability": listed("scores"),
    "SteeringPredictors": listed("scores"),
    "StochasticShape": lambda one: [f"distance {one.corrected:.4g}, corrected for few trials ({one.value:.4g} without"],
    "StreamVerdict": lambda one: [f"10^{one.log10_highest:.1f}, and the alarm is at 10^{one.log10_threshold:.1f}"],
    "Tertiles": lambda one: [*map(clause, (one.early_middle, one.middle_late, one.difference)), "changed gradually"],
    "TimeClusters": listed("numbers"),
    "TrialScore": lambda one: [
        f"was {three(one.value)} over 72 trials (24 of them unused in each draw) of 30 neurons under 6 conditions",
        null(one),
    ],
    "TwoSample": lambda one: [
        f"was {three(one.value)} over 40 reference rows and 40 new ones, above chance at 0.05 ({p(one.p_value)}, null "
        f"mean {three(one.chance)}, threshold {three(one.threshold)}"
    ],
    "TwoSampleTests": listed("numbers"),
    "UnitMatching": lambda one: ["7 of 8 units have a match", f"was {three(one.value)} over 40 rows", null(one)],
    "WithinClasses": lambda one: [
        one.headline.removesuffix("."),
        *(
            f"{name} ({shesha.measures.get(name).reference}) p {known:.2g}"
            for name, known in {name: min(one.corrected[name].values()) for name in one.measures}.items()
        ),
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
