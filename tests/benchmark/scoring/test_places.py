"""The parts of the leaderboard: mean ranks, resampled tasks, complete measures and ranges of places."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shesha_bench.leaderboard_ranks import _complete, _mean_ranks, _place_ranges, _places, _resampled_cells
from shesha_bench.measure_ranks import CELL
from shesha_bench.tests import Cast
from shesha_bench.training_jackknife import _leave_one_training_out


def cell(task: str, test: str = "accuracy") -> tuple[str, ...]:
    return ("graph", "Toy", task, "", test, "auprc")


def test_mean_ranks_are_counted_one_by_one():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 4, size=(3, 5, 4)).astype(float)
    values[0, 1, 2] = values[2, 4, 0] = np.nan
    chosen = rng.integers(5, size=(3, 7))
    found = _mean_ranks(values, chosen)
    for draw in range(3):
        for measure in range(4):
            ranks = []
            for at in chosen[draw]:
                scores = np.where(np.isnan(values[draw, at]), -1.0, values[draw, at])
                better, same = (scores > scores[measure]).sum(), (scores == scores[measure]).sum()
                ranks.append(better + (same + 1) / 2)
            assert found[draw, measure] == pytest.approx(np.mean(ranks))


def test_rounding_makes_no_rank():
    assert _mean_ranks(np.array([[[0.3, 0.1 + 0.2]]]), np.array([[0]])).tolist() == [[1.5, 1.5]]


def test_tasks_are_drawn_whole():
    cells = [cell("a"), cell("a", "output"), cell("b"), cell("b", "output"), cell("c"), cell("c", "output")]
    drawn = _resampled_cells(cells, 400, np.random.default_rng(0))
    assert drawn.shape == (400, 6)
    counts = np.array([np.bincount(line, minlength=6) for line in drawn])
    assert (counts[:, ::2] == counts[:, 1::2]).all()
    assert counts.mean(axis=0) == pytest.approx(np.ones(6), abs=0.15)
    assert set(counts.ravel()) == {0, 1, 2, 3}


def test_tasks_of_different_size_are_repeated_to_equal_length():
    cells = [cell("a"), cell("b"), cell("b", "output"), cell("b", "groups")]
    drawn = _resampled_cells(cells, 200, np.random.default_rng(0))
    assert drawn.shape == (200, 6)
    for line in drawn:
        here = set(line.tolist())
        assert here in ({0}, {1, 2, 3}, {0, 1, 2, 3})


@pytest.mark.parametrize("n_tasks", range(2, 12))
def test_of_two_measures_one_is_ahead_if_seven_tasks_agree(n_tasks):
    low, high = _place_ranges(np.array([1.0, 2.0]), np.tile([1.0, 2.0], (50, 1)), n_tasks, 5)
    expected = ([1, 2], [1, 2]) if n_tasks >= 7 else ([1, 1], [2, 2])
    assert (low.tolist(), high.tolist()) == expected


@pytest.mark.parametrize("n_trainings", [0, 1, 2, 5])
def test_with_one_task_and_nothing_that_varies_places_are_ranks(n_trainings):
    ranks = np.array([2.5, 1.0, 2.5, 4.0])
    low, high = _place_ranges(ranks, np.tile(ranks, (50, 1)), 1, n_trainings)
    assert low.tolist() == [2, 1, 2, 4]
    assert high.tolist() == [3, 1, 3, 4]


def test_one_task_is_as_sure_as_its_trainings():
    """A lead of 1 against a spread s is sure if it exceeds Student's 97.5 % times s, corrected for few trainings."""
    drawn = np.array([[1.0, 2.0]] * 50 + [[1.4, 2.0]] * 50)
    # Standard deviation 0.2: with two trainings times root 2 times 12.7, with ten times 1.05 times 2.26.
    assert _place_ranges(np.array([1.0, 2.0]), drawn, 1, 2)[1].tolist() == [2, 2]
    assert _place_ranges(np.array([1.0, 2.0]), drawn, 1, 10)[1].tolist() == [1, 2]
    twice = 1.5 + 2.5 * (drawn - 1.5)
    assert _place_ranges(np.array([1.0, 2.0]), twice, 1, 10)[1].tolist() == [2, 2]


def scores(having: dict[str, list[str]]) -> pd.DataFrame:
    rows = [dict(zip(CELL, cell(task), strict=True)) | {"measure": m} for m, tasks in having.items() for task in tasks]
    return pd.DataFrame(rows)


def test_half_of_the_measures_make_a_task_that_counts():
    kept, partial = _complete(scores({"A": ["x", "y"], "B": ["x", "y"], "C": ["x"], "D": ["x"]}))
    assert (sorted(set(kept.measure)), partial) == (["A", "B"], ["C", "D"])
    kept, partial = _complete(scores({"A": ["x", "y"], "B": ["x"], "C": ["x"]}))
    assert (sorted(set(kept.measure)), set(kept.architecture), partial) == (["A", "B", "C"], {"x"}, [])
    _, partial = _complete(scores({"A": ["x", "y"], "B": ["x", "y"], "C (published)": ["x"]}))
    assert partial == []


@pytest.mark.parametrize(("low", "high", "text"), [(2, 2, "2"), (1, 3, "1 to 3"), (np.nan, np.nan, "-")])
def test_equal_ends_are_one_place(low, high, text):
    assert _places({"position_low": low, "position_high": high}) == text


def test_each_training_is_left_out_once_if_two_are_left():
    groups = {"one": ("a", "b", "c"), "two": ("d", "e", "f", "g")}
    found = [one.groups for one in _leave_one_training_out(Cast(groups))]  # type: ignore[arg-type]
    assert found == [
        {"one": ("b", "c"), "two": ("e", "f", "g")},
        {"one": ("a", "c"), "two": ("d", "f", "g")},
        {"one": ("a", "b"), "two": ("d", "e", "g")},
        {"one": ("a", "b", "c"), "two": ("d", "e", "f")},
    ]
    assert list(_leave_one_training_out(Cast({**groups, "few": ("h", "i")}))) == []  # type: ignore[arg-type, dict-item]
    assert list(_leave_one_training_out(Cast({}))) == []
