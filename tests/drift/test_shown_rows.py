"""A verdict tells the rows and classes that moved most, and what a stream's ranks add up to."""

from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

from shesha.drift import canary_check
from shesha.drift.conformal_stream import composite_jumper, conformal_stream


def setting(codes, classes, n, floor=None):
    reference = SimpleNamespace(codes=codes, classes=classes, row_name=lambda row: f"row {row}")
    unchanged = None if floor is None else SimpleNamespace(rows=floor, classes=np.zeros(len(classes)))
    return SimpleNamespace(reference=reference, unchanged=unchanged)


def test_the_five_rows_that_moved_most_beyond_what_re_encodings_do_are_told():
    moved, floor = np.array([0.9, 0.5, np.nan, 0.4, 0.3, 0.2, 0.1]), np.array([0.75, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0])
    found = canary_check._rows(setting(np.arange(7) % 2, ["a", "b"], 7, floor), moved)
    assert [(one.name, one.label) for one in found] == [
        ("row 1", "b"), ("row 3", "b"), ("row 4", "a"), ("row 5", "b"), ("row 0", "a")
    ]  # fmt: skip
    assert [one.floor for one in found] == [0.0, 0.1, 0.0, 0.0, 0.75]
    few = canary_check._rows(setting(None, [], 7), np.array([0.1, np.nan, 0.3]))
    assert [(one.name, one.label) for one in few] == [("row 2", ""), ("row 0", "")]


@pytest.mark.parametrize(("power", "state"), [(1, "ok"), (8, "alert")])
def test_a_verdict_holds_the_path_of_its_ranks(power, state, monkeypatch):
    rng = np.random.default_rng(1)
    p = rng.random(60) ** power
    monkeypatch.setattr(import_module("shesha.drift.conformal_stream"), "group_ranks", lambda *_: p)
    sides = rng.standard_normal((100, 3)), rng.standard_normal((60, 3))
    found, (path,) = conformal_stream(*sides, alpha=0.01), composite_jumper(p[None])
    assert (found.log10_martingale, found.log10_highest) == (path[-1], max(0.0, path.max()))
    assert (found.n_seen, found.mean_p_value) == (60, pytest.approx(p.mean()))
    assert found.log10_threshold == pytest.approx(2.0)
    assert found.state == state
    reached = np.flatnonzero(path >= 2.0)
    assert found.alarm_since == (reached[0] + 1 if len(reached) else 0)
    # A tenth of what raises an alarm is worth a look.
    for level, near in ((path.max() + 2, "ok"), (path[-1] + 0.5, "watch")):
        if near == "ok" or path[-1] == path.max():
            assert conformal_stream(*sides, alpha=10.0**-level).state == near
