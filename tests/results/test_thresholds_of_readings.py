"""Sentences of an audit appear from the number on that they state: each rule at its boundary, and without a number."""

from dataclasses import replace
from types import SimpleNamespace as Finding

import numpy as np
import pytest

import shesha
from shesha.results import LabelClasses, audit_verdict

NAN = float("nan")


@pytest.mark.parametrize(
    ("seen", "corrected", "few"),
    [
        (9.0, 10.0, False),
        (8.99, 10.0, True),
        (10.0, 10.0, False),
        (4.0, NAN, True),
        (NAN, NAN, False),
        (NAN, 5.0, False),
    ],
)
def test_rows_are_too_few_where_a_tenth_of_the_directions_is_not_seen_or_nothing_is_known(seen, corrected, few):
    one = Finding(participation_ratio=seen, descriptors={"corrected_participation_ratio": corrected})
    assert audit_verdict._has_too_few_rows(one) == few
    if corrected != corrected:
        assert audit_verdict._has_too_few_rows(Finding(participation_ratio=seen, descriptors={})) == few


@pytest.mark.parametrize(("n_features", "n_used"), [(12, 100), (100, 13), (12, 13)])
def test_the_rank_is_full_from_three_quarters_of_what_rows_and_features_allow(n_features, n_used):
    for rank, full in ((9.0, True), (8.99, False), (12.0, True)):
        found = Finding(effective_rank=rank, n_features=n_features, n_used=n_used)
        assert audit_verdict._has_full_rank(found) == full


def test_labels_look_random_below_a_twentieth_of_the_variance():
    for low, random in ((0.0499, True), (0.05, False), (NAN, False)):
        assert audit_verdict._labels_look_random(Finding(supervised={"variance_ratio": Finding(low=low)})) == random
    assert not audit_verdict._labels_look_random(Finding(supervised={}))


def test_many_features_hide_classes_from_a_hundred_on():
    for n, ratio, told in ((100, 1.24, True), (99, 1.24, False), (100, 1.25, False)):
        one = Finding(n_features=n, supervised={"class_separation_ratio": Finding(value=ratio)})
        assert audit_verdict._has_many_features(one) == told
    assert not audit_verdict._has_many_features(Finding(n_features=100, supervised={}))


@pytest.mark.parametrize(("sizes", "told"), [((100, 91), False), ((100, 90), True), ((100, 100), False)])
def test_numbers_of_rows_are_unequal_where_they_differ_by_a_tenth_or_more(sizes, told):
    names = {"scores": {}, "supervised": {}, "descriptors": {"effective_rank": 3.0}}
    audit = Finding(representations=[Finding(n_used=n, **names) for n in (*sizes, sizes[0])])
    assert bool(audit_verdict._unequal_rows(audit)) == told
    # Without the number nothing is compared.
    audit.representations[1].descriptors = {}
    assert not audit_verdict._unequal_rows(audit)


@pytest.mark.parametrize("sizes", [(90,) * 10, (5, 20, 75), (50, 50)])
def test_chance_and_limit_of_labels_are_those_of_simulated_rows(sizes):
    """Random labels explain (classes - 1) / (rows - 1); distances rank with labels as Spearman's formula has it."""
    classes = LabelClasses(tuple(map(str, range(len(sizes)))), sizes)
    told = audit_verdict._placeholder_values(Finding(labels=classes))
    y, rng, shares = np.repeat(np.arange(len(sizes)), sizes), np.random.default_rng(0), []
    for _ in range(60):
        X = rng.standard_normal((len(y), 3))
        shares.append(shesha.variance_ratio(X, y))
    assert float(told["by_chance"]) == pytest.approx(np.mean(shares), rel=0.15)
    i, j = np.triu_indices(len(y), k=1)
    within = (y[i] == y[j]).mean()
    # The mean rank of pairs within classes, if all of them are nearer than any other pair.
    ranks = np.arange(len(i)) - (len(i) - 1) / 2
    best = ranks[: round(within * len(i))].sum() / len(i)
    assert float(told["highest"]) == pytest.approx(-best / np.sqrt(within * (1 - within)) / ranks.std(), abs=0.006)


def test_the_diagonal_is_known_where_a_representation_has_any_value():
    X = np.random.default_rng(0).standard_normal((4, 20, 3))
    found = shesha.compare_all(dict(zip("abcd", X, strict=True)), ["CKA"])

    def without(*names):
        lost = [
            replace(one, value=NAN, reason="none") if {one.first, one.second} & {*names} else one
            for one in found.scores
        ]
        return np.isnan(np.diagonal(replace(found, scores=tuple(lost)).matrix("CKA")))

    assert not without().any()
    assert without("b").tolist() == [False, True, False, False]
    assert without("b", "c", "d").all()


def test_lines_within_classes_have_their_reason_and_their_notes():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 40, 3))
    found = shesha.compare_within(X, Y, np.repeat(["a", "b"], 20), ["CKA"], n_permutations=19)
    (score,) = found.classes["a"].scores
    for reason, notes in (("why", ()), ("", ("how",)), ("why", ("how",)), ("", ())):
        changed = replace(found.classes["a"], scores=(replace(score, reason=reason, notes=notes),))
        frame = replace(found, classes={**found.classes, "a": changed}).to_frame(full=True)
        assert frame.loc[frame["class"] == "a", ["reason", "notes"]].values.tolist() == [[reason, "; ".join(notes)]]
