"""What fails or is interrupted has a reason, and what can be compared is compared nevertheless."""

import numpy as np
import pytest

import shesha.measures as measures
from shesha import compare, compare_all, compare_layers
from shesha.support.warnings import NotEstimable


def around(pair, function):
    """Compare with a measure between two that work."""
    before, score, after = compare(*pair, ["MagDiff", function, "CKA"]).scores
    assert before.value == measures.magnitude_difference(*pair)
    assert after.value == measures.cka(*pair)
    return score


def raising(error):
    def function(a, b):
        """Raise."""
        raise error

    return function


FAILURES = [
    (ZeroDivisionError("no rows"), "failed: ZeroDivisionError: no rows"),
    (MemoryError(), "failed: MemoryError: "),
    (ValueError("k must be odd"), "failed: ValueError: k must be odd"),
    (np.linalg.LinAlgError("SVD did not converge"), "failed: LinAlgError: SVD did not converge"),
    (NotEstimable("the rows are too even"), "the rows are too even"),
]


@pytest.mark.parametrize(("error", "reason"), FAILURES, ids=lambda case: type(case).__name__)
def test_a_measure_that_raises_does_not_stop_the_others(pair, mark, error, reason):
    score = around(pair, mark("broken")(raising(error)))
    assert (score.name, score.reason, score.has_value, score.seconds) == ("broken", reason, False, 0.0)
    assert np.isnan(score.value)


@pytest.mark.parametrize(("error", "reason"), FAILURES, ids=lambda case: type(case).__name__)
def test_a_view_that_raises_names_the_representation(pair, mark, plain_view, error, reason):
    class Broken(plain_view):
        @classmethod
        def build(cls, source):
            raise error

    score = around(pair, mark("broken", view=Broken)(raising(AssertionError("the views are missing"))))
    assert score.reason == f"X: {reason}"


@pytest.mark.parametrize("text", ["nan", "inf", "-inf"])
def test_what_is_not_finite_and_has_no_reason_gets_one(pair, mark, text):
    @mark("silent")
    def silent(a, b):
        """Say nothing."""
        return np.float64(text)

    score = around(pair, silent)
    assert score.reason == f"the measure returned {text} without a reason"
    assert np.isnan(score.value)


@pytest.mark.parametrize("text", ["mutual kNN(k=ten)", "IMD(k=None)"])
def test_an_option_of_a_wrong_kind_is_its_failure_alone(pair, text):
    assert around(pair, text).reason.startswith("X: failed: TypeError: ")


def test_failures_of_one_pair_leave_the_others_alone(layers, mark):
    @mark("picky")
    def picky(a, b):
        """Refuse other widths."""
        if a.rows.shape != b.rows.shape:
            raise RuntimeError("other widths")
        return 0.5

    found = compare_all(layers, [picky, "CKA"])
    for one in found.scores:
        if one.name == "CKA" or "narrow" not in (one.first, one.second):
            assert one.has_value
        else:
            assert one.reason == "failed: RuntimeError: other widths"
    grid = compare_layers(layers, layers, picky)
    assert grid.matrix().isna().sum().sum() == 6
    assert grid.reason == "failed: RuntimeError: other widths"


@pytest.fixture
def chosen(mark):
    """A measure that works, one in which Ctrl-C comes, and one that is never reached."""

    @mark("interrupted")
    def interrupted(a, b):
        """Meet Ctrl-C."""
        raise KeyboardInterrupt

    return ["CKA", interrupted, "RSA"]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_ctrl_c_returns_what_is_done(pair, chosen, with_threads, n_threads):
    found = with_threads(n_threads, lambda: compare(*pair, chosen))
    assert found.interrupted
    assert found["CKA"].value == measures.cka(*pair)
    assert [score.reason for score in found.scores] == ["", "interrupted", "interrupted"]
    assert "Interrupted: the remaining measures were not compared." in str(found)
    assert "interrupted, RSA: interrupted" in str(found)


def test_ctrl_c_while_a_view_is_made(pair, mark, plain_view):
    class Interrupted(plain_view):
        @classmethod
        def build(cls, source):
            raise KeyboardInterrupt

    found = compare(*pair, ["CKA", mark("never", view=Interrupted)(raising(AssertionError()))])
    assert found.interrupted
    assert [score.reason for score in found.scores] == ["", "interrupted"]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_ctrl_c_in_all_pairs(layers, chosen, with_threads, n_threads):
    found = with_threads(n_threads, lambda: compare_all(layers, chosen))
    assert found.interrupted
    assert {one.name for one in found.scores if one.has_value} == {"CKA"}
    assert {one.reason for one in found.scores if one.name != "CKA"} == {"interrupted"}
    assert found.matrix("RSA").isna().all(axis=None)
    assert "Interrupted: the remaining values were not computed." in str(found)


def test_ctrl_c_in_a_grid(layers, mark):
    calls = []

    @mark("third time")
    def third_time(a, b):
        """Meet Ctrl-C in the third comparison."""
        calls.append(1)
        if len(calls) >= 3:
            raise KeyboardInterrupt
        return 0.5

    found = compare_layers(layers, layers, third_time)
    assert found.interrupted
    assert found.matrix().notna().sum().sum() <= 2
    assert len(found.scores) == 16
    assert "interrupted" in found.reason
