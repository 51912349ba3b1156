"""Progress within a measure, and what an interruption leaves."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from shesha import compare
from shesha.comparison.engine import N_SUBSETS
from shesha.views import Features

K = 19
BEFORE_BOTH = "interrupted before the interval and the chance level were computed"
BEFORE_CHANCE = "interrupted before the chance level was computed"


@pytest.fixture
def steps(monkeypatch):
    """Note what is tracked: the total told, and each step."""
    found = []

    def track(items, total, label):
        found.append((total, label))
        for item in items:
            found.append(item)
            yield item

    monkeypatch.setattr(import_module("shesha.support.progress"), "track", track)
    return found


def test_each_subset_and_each_draw_is_a_step(pair, steps):
    compare(*pair, "CKA", calibrate=True, n_permutations=K)
    (total, label), *rest = steps
    assert label == "comparing"
    assert total == len(rest) == 3 + N_SUBSETS + 1 + K
    places = [place for place, step in enumerate(rest) if step is not None]
    assert places == [0, N_SUBSETS + 1, total - 1]


@pytest.mark.parametrize(
    "chosen", ["standard", ["CKA", "RV", "MagDiff"], ["CCA", "LinReg"]], ids=lambda chosen: "".join(chosen)
)
@pytest.mark.parametrize("kind", ["plain", "flat", "tokens"])
def test_the_steps_add_up_to_the_total_whatever_has_no_value(pair, steps, chosen, kind):
    X, Y = pair
    given = {"plain": pair, "flat": (np.ones_like(X), Y), "tokens": (X.reshape(10, 4, 11), Y.reshape(10, 4, 11))}[kind]
    compare(*given, chosen, calibrate=True, n_permutations=K)
    assert steps[0][0] == len(steps) - 1


@pytest.fixture
def interrupted_at(mark):
    """Make a measure in which Ctrl-C comes at a call: 1 is the value, then come subsets, then draws."""

    def make(call):
        calls = []

        @mark("stopped", view=Features)
        def stopped(a, b):
            """Meet Ctrl-C."""
            calls.append(1)
            if len(calls) == call:
                raise KeyboardInterrupt
            return float(np.abs(a.rows[0] - b.rows[0]).sum() % 1)

        return stopped

    return make


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize(("call", "note"), [(10, BEFORE_BOTH), (N_SUBSETS + 5, BEFORE_CHANCE)], ids=["subset", "draw"])
def test_ctrl_c_keeps_what_is_known(pair, interrupted_at, with_threads, n_threads, call, note):
    chosen = ["CKA", interrupted_at(call), "RSA"]
    found = with_threads(n_threads, lambda: compare(*pair, chosen, calibrate=True, n_permutations=K, seed=0))
    before, stopped, after = found.scores
    assert found.interrupted
    alone = compare(*pair, "CKA", calibrate=True, n_permutations=K, seed=0)["CKA"]
    assert replace(before, seconds=0) == replace(alone, seconds=0)
    assert before.has_null and not before.notes
    assert stopped.has_value and not stopped.has_null
    assert np.isfinite(stopped.low) == (note == BEFORE_CHANCE)
    assert stopped.notes == (note,)
    assert (after.reason, after.notes) == ("interrupted", ())
    assert f"stopped: {note}" in str(found)


def test_ctrl_c_in_a_measure_keeps_the_values_of_its_group(pair, mark, interrupted_at):
    @mark("beside", view=Features)
    def beside(a, b):
        """Look at the same view."""
        return 0.5

    @mark("unpaired", view=Features, paired=False)
    def unpaired(a, b):
        """Have no null."""
        return 0.25

    found = compare(*pair, [interrupted_at(10), beside, unpaired], calibrate=True, n_permutations=K)
    assert (found["beside"].value, found["beside"].notes) == (0.5, (BEFORE_BOTH,))
    assert (found["unpaired"].value, found["unpaired"].notes) == (
        0.25,
        ("interrupted before the interval was computed",),
    )
