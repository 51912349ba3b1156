"""The report, the table and the plain values of an audit all hold the same numbers, and say how to read them."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import shesha
from shesha.results import LabelClasses

ESTIMATES = [
    "feature_split",
    "basis_averaged_split",
    "supervised_alignment",
    "variance_ratio",
    "class_separation_ratio",
    "zscore_separation",
    "label_conditioned_split",
]


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
    # A significant p beside an interval that includes 0 is told as both.
    few = replace(best, low=-0.01, high=0.05, value=0.02, p_value=0.03)
    finding = replace(audited["middle"], supervised={"supervised_alignment": few})
    text = told(replace(audited, representations=(finding,)).full_text().split("\n\n")[0].split("\n"))
    assert "hardly closer than other rows (alignment 0.02 [-0.01, 0.05], p = 0.03)" in text


def test_perfect_classes_reach_the_highest_alignment():
    draw = np.random.default_rng(0)
    y = np.repeat(np.arange(4), (30, 20, 10, 5))
    X = 1e4 * np.eye(40)[y] + draw.standard_normal((65, 40))
    bound = LabelClasses(tuple("abcd"), (30, 20, 10, 5)).highest_alignment
    assert shesha.supervised_alignment(X, y, metric="euclidean") == pytest.approx(bound, abs=0.001)


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
