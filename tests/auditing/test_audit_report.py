"""The report, the table and the plain values of an audit all hold the same numbers, and say how to read them."""

import json
import pickle
import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import shesha
from shesha.auditing.audit import meanings
from shesha.report import numeral
from shesha.results import LabelClasses

MEANINGS = meanings()

ESTIMATES = [
    "feature_split",
    "basis_averaged_split",
    "supervised_alignment",
    "variance_ratio",
    "class_separation_ratio",
    "zscore_separation",
    "label_conditioned_split",
]
SPECTRUM = ["effective_rank", "participation_ratio", "corrected_participation_ratio", "anisotropy"]
CHANCE = ["chance_level", "chance_threshold", "p_value"]


def blocks(report):
    """The parts of a report by their titles."""
    parts, found = report.split("\n"), {}
    for line in parts:
        if line and not line.startswith(" "):
            title = line
            found[title] = []
        elif line:
            found[title].append(line)
    return found


def answer(report):
    """The first paragraph of a report as one text."""
    return " ".join(report.split("\n\n")[0].split())


def told(lines):
    """Lines as one text, however they were broken."""
    return " ".join(" ".join(lines).split())


def estimate_of(one, name):
    return getattr(one, name, None) or one.supervised[name]


def interval(estimate):
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def test_every_number_is_reported_once_for_each_and_asks_its_question_once(audited):
    report = audited.full_text()
    assert set(MEANINGS) == {*ESTIMATES, *SPECTRUM}
    flat = told(report.split("\n"))
    for name, meaning in MEANINGS.items():
        question = meaning.asks if meaning.asks.startswith("(") else meaning.asks[0].lower() + meaning.asks[1:]
        assert flat.count(f"{meaning.title}: {question}") == 1
        for one in audited.representations:
            number = numeral(one.descriptors[name]) if name in SPECTRUM else interval(estimate_of(one, name))
            rows = [line for line in report.split("\n") if line.split()[:1] == [one.name] and number in line]
            assert len(rows) == 1, (name, one.name)


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_the_report_fits_the_page_and_breaks_no_word(audited, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    report = audited.full_text()
    assert max(map(len, report.split("\n"))) <= columns
    assert report.isascii()
    monkeypatch.setenv("COLUMNS", "100")
    known = set(audited.full_text().split())
    assert set(report.split()) <= known


def test_the_headline_says_what_was_found(audited, classes):
    lines = audited.full_text().split("\n\n")[0].split("\n")
    assert audited.page().title == "Audit of 3 representations: 60 rows x 12 features"
    assert len(lines) <= 6
    low, high = (choose(one.feature_split.value for one in audited.representations) for choose in (min, max))
    best = audited["middle"].supervised["supervised_alignment"]
    assert audited.ranking[0] == "middle"
    text = told(lines)
    assert f"Stable above chance: all 3, feature-split stability {low:.2f} to {high:.2f}, p = 0.05." in text
    assert f"Most stable: middle ({audited['middle'].feature_split.value:.2f}" in text
    assert f" Least stable: early ({audited['early'].feature_split.value:.2f})." in text
    assert "Labels: 3 classes of 20 rows: 0 (20), 1 (20), 2 (20)." in text
    assert best.low <= 0
    assert "not significantly closer than other rows in any representation" in text


def test_labels_that_matter_stand_beside_what_they_can_reach(quick_audit):
    draw = np.random.default_rng(4)
    y = np.arange(60) % 3
    found = quick_audit(draw.standard_normal((60, 8)) + 3 * np.eye(8)[y], y)
    alignment = found["X"].supervised["supervised_alignment"]
    assert alignment.low > 0
    text = answer(found.full_text())
    bound = found.labels.highest_alignment
    assert f"alignment {alignment.value:.2f} [{alignment.low:.2f}, {alignment.high:.2f}], maximum {bound:.2f})" in text


def test_perfect_classes_reach_the_highest_alignment():
    draw = np.random.default_rng(0)
    y = np.repeat(np.arange(4), (30, 20, 10, 5))
    X = 1e4 * np.eye(40)[y] + draw.standard_normal((65, 40))
    bound = LabelClasses(tuple("abcd"), (30, 20, 10, 5)).highest_alignment
    assert shesha.supervised_alignment(X, y, metric="euclidean") == pytest.approx(bound, abs=0.001)


def test_drift_and_notes_are_reported(audited):
    found = blocks(audited.full_text())
    assert "Data" not in found
    for name, line, first, previous in zip(
        audited.drift.names,
        found["Drift along the given order"][2:],
        audited.drift.from_first,
        audited.drift.from_previous,
        strict=False,
    ):
        assert line.split() == [name, numeral(first), numeral(previous)]
    notes = told(found["Notes"])
    kinds = "other rows of the same kind and other partitions of the features"
    assert f"Brackets are 95% intervals for {kinds}." in notes
    assert "With 19 random matchings of rows, the smallest possible p-value is 0.05." in notes


def test_the_report_says_what_is_above_chance(layers, quick_audit):
    noise = np.random.default_rng(1).standard_normal((60, 12))
    found = quick_audit({"signal": layers["middle"], "noise": noise})
    parts = blocks(found.full_text())
    text = answer(found.full_text())
    assert "Stable above chance: signal, feature-split stability" in text
    assert "Not above chance: noise, feature-split stability" in text
    rows = [line for line in found.full_text().split("\n") if line.split()[:1] in (["signal"], ["noise"])]
    signal, chance = rows[:2]
    for line, null in ((signal, found["signal"].chance), (chance, found["noise"].chance)):
        assert f"{null.threshold:.3f}" in line.split()
        assert f"{null.p_value:.2g}" in line.split()
    assert found["signal"].chance.significant
    assert not found["noise"].chance.significant
    assert "noise: random halves of the features agree no better" in told(parts["How to read these numbers"])


def test_without_draws_no_chance_is_told(layers, quick_audit):
    found = quick_audit(layers["middle"], n_permutations=0)
    assert found["X"].chance is None
    assert np.isnan(found.to_frame()["p_value"]).all()
    assert "no chance level was computed" in answer(found.full_text())
    assert "chance up to" not in found.full_text()


def place_of(report, name):
    line = next(line for line in report.split("\n") if line.split()[:1] == [name] and "[" in line)
    return re.findall(r"\d+(?: =)?", line.rpartition("]")[2])[0].split()


def test_every_label_score_stands_beside_its_chance(layers, classes, quick_audit):
    # The variance between random classes is never 0, so that its interval lies above it.
    random, related = (quick_audit(X, classes) for X in (layers["late"], layers["late"] + 3 * np.eye(12)[classes]))
    assert random["X"].supervised["variance_ratio"].low > 0
    for found, p_values in ((random, (0.1, 1.0)), (related, (0.05, 0.05))):
        for score in found["X"].supervised.values():
            assert f"{score.threshold:.3f}" in told(blocks(found.full_text())["Agreement with the labels"])
        low, high = p_values
        assert low <= found["X"].supervised["variance_ratio"].p_value <= high


def test_chances_of_label_scores_come_back_from_plain_values(audited):
    plain = json.loads(json.dumps(audited.to_dict(), allow_nan=False))
    assert list(plain["representations"][2]["supervised"]) == ESTIMATES[2:]


def test_neighbours_in_the_ranking_tie_if_their_intervals_overlap(layers, quick_audit):
    twin = layers["middle"] + 1e-3 * layers["early"]
    found = quick_audit({"middle": layers["middle"], "twin": twin, "early": layers["early"]})
    assert found["early"].feature_split.high < min(found[name].feature_split.low for name in ("middle", "twin"))
    report = found.full_text()
    first, second, third = found.ranking
    assert [place_of(report, name) for name in (first, second, third)] == [["1"], ["2", "="], ["3"]]
    assert f"Most stable: {first} " in answer(report)
    assert f"its interval overlaps that of {second}. Least stable: early" in answer(report)
    assert "= after a rank: the interval overlaps" in " ".join(report.split())


def test_a_single_representation_has_no_place(layers, quick_audit):
    report = str(quick_audit(layers["middle"]))
    assert "1 representation of 60 rows x 12 features." in " ".join(report.split())
    assert " rank " not in report.split("\n\n")[1]
    assert "Most stable" not in report


def test_pairs_without_a_direction_are_noted(layers, quick_audit):
    X = layers["late"].copy()
    X[9, 1:] = 0.0
    found = quick_audit(X)
    dropped = found["X"].feature_split.pairs_dropped
    assert dropped > 0
    assert f"X, feature_split: {dropped:,} undefined pairs left out" in told(blocks(found.full_text())["Notes"])


def test_the_report_tells_reasons_in_place_of_numbers(layers, quick_audit):
    gaps = layers["late"].copy()
    gaps[8, 1] = np.nan
    report = quick_audit({"gaps": gaps, "equal": np.full((60, 12), 0.5)}).full_text()
    flat = " ".join(report.split())
    assert '! gaps: no scores: NaN or infinity in 1 row of 60 (8); missing="drop" leaves them out' in flat
    assert "No representation could be scored" in answer(report)
    reason = "all distances are equal within a half of the features, in every draw"
    assert f"Feature-split stability, Basis-averaged stability: {reason}" in flat
    assert ["gaps", "not", "scored"] in [line.split() for line in report.split("\n")]
    assert blocks(report)["Drift"] == ["  No drift was computed: a representation could not be scored"]


def test_a_fault_of_several_is_told_once(layers, quick_audit):
    zeros = {name: np.where(np.arange(12) == 3, 0.0, X) for name, X in layers.items()}
    assert "! all 3: constant columns: 1 (column 3)\n" in str(quick_audit(zeros))


def test_a_drift_that_cannot_be_given_has_a_reason(layers, quick_audit):
    report = quick_audit({"late": layers["late"], "equal": np.full((60, 12), 0.5)}).full_text()
    assert any("distances" in line and "equal" in line for line in blocks(report)["Drift along the given order"])


def test_a_confidence_close_to_one_is_not_called_certainty(layers, quick_audit):
    assert "100%" not in quick_audit(layers["late"], confidence=0.999).full_text()


def test_the_table_has_a_row_for_each_representation(audited):
    table = audited.to_frame()
    parts = [f"{name}{part}" for name in ESTIMATES for part in ("", "_low", "_high")]
    counts = ["not_finite", "zero_rows", "duplicate_rows", "constant_columns"]
    shape = ["representation", "n_rows", "n_features", "n_used"]
    drift = ["drift_from_first", "drift_from_previous"]
    beside = [f"{name}{part}" for name in ESTIMATES[2:] for part in ("_chance", "_p_value")]
    assert list(table) == [*shape, *counts, *parts, *CHANCE, *beside, *SPECTRUM, "doubts", "reason", *drift]
    assert table["representation"].tolist() == ["early", "middle", "late"]
    for (_, row), one in zip(table.iterrows(), audited.representations, strict=True):
        for name in ESTIMATES:
            estimate = estimate_of(one, name)
            own = estimate.value, estimate.low, estimate.high
            assert tuple(row[[name, f"{name}_low", f"{name}_high"]]) == own
        assert tuple(row[CHANCE]) == (one.chance.chance, one.chance.threshold, one.chance.p_value)
        chances = [(found.chance, found.p_value) for found in one.supervised.values()]
        assert row[beside].tolist() == [number for pair in chances for number in pair]
        assert dict(row[SPECTRUM]) == one.descriptors
    assert tuple(table["drift_from_first"]) == audited.drift.from_first
    assert tuple(table["drift_from_previous"]) == audited.drift.from_previous
    alone = audited["late"].to_frame()
    assert alone.equals(table.loc[[2], list(alone)].reset_index(drop=True))


def test_the_table_counts_faults_and_keeps_what_was_not_scored(layers, quick_audit):
    X = layers["late"].copy()
    X[[1, 2, 3]] = 0.0
    X[:, 5] = 0.0
    X[9, 0] = X[9, 1] = np.nan
    table = quick_audit({"late": X, "early": layers["early"]}).to_frame()
    assert table["representation"].tolist() == ["late", "early"]
    counts = ["not_finite", "zero_rows", "duplicate_rows", "constant_columns", "n_used"]
    assert table.loc[0, counts].tolist() == [2, 3, 2, 1, 0]
    assert table.loc[0, [*ESTIMATES[:2], *CHANCE, *SPECTRUM]].isna().all()
    assert table.loc[0, "reason"].startswith("NaN or infinity in 1 row of 60 (9)")
    assert table.loc[1, "reason"] == ""
    assert "drift_from_first" not in table


def test_an_audit_becomes_plain_values(audited):
    content = json.loads(json.dumps(audited.to_dict(), allow_nan=False))
    assert list(content) == ["representations", "drift", "drift_reason", "options", "labels", "interrupted"]
    assert content["labels"] == {"names": ["0", "1", "2"], "sizes": [20, 20, 20], "column": ""}
    late = content["representations"][2]
    assert late["feature_split"]["value"] == audited["late"].feature_split.value
    assert late["supervised"]["variance_ratio"]["low"] == audited["late"].supervised["variance_ratio"].low
    assert late["feature_split"]["null"] == list(audited["late"].chance.null)
    assert late["faults"]["zero_rows"] == []
    assert content["drift"]["from_first"] == list(audited.drift.from_first)
    assert content["options"] == audited.options


@pytest.mark.parametrize(
    "options", [{"seed": np.int64(3)}, {"n_bootstrap": np.int64(3)}, {"confidence": np.float32(0.5)}]
)
def test_options_given_as_numpy_numbers_become_plain_values(layers, quick_audit, options):
    found = quick_audit(layers["late"], **options)
    content = json.loads(json.dumps(found.to_dict()))
    assert content["options"] | options == content["options"]


def test_an_audit_cannot_be_changed_and_travels(audited):
    with pytest.raises(FrozenInstanceError):
        audited.representations = ()
    with pytest.raises(FrozenInstanceError):
        audited["late"].n_used = 3
    copy = pickle.loads(pickle.dumps(audited))
    assert copy == audited
    assert (str(copy), copy.full_text()) == (str(audited), audited.full_text())
