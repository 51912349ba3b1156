"""Submissions and the leaderboard."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shesha_bench import leaderboard, leaderboard_page, read_submissions
from shesha_bench.ranks import CELL
from shesha_bench.stored_results import _leave_one_training_out, training_influences
from shesha_bench.submissions import _complete, _mean_ranks, _place_ranges, _places, _resampled_cells, measure_file
from shesha_bench.tests import Cast

TASKS = tuple(f"net {k}" for k in range(8))


def write(folder, measure, values, left=None, *, suite="small", tests=("label_randomization",), tasks=TASKS, **changes):
    """A submission with one score per task, and what leaving out each of 5 trainings gives."""
    scores = [
        {
            **{"domain": "graph", "dataset": "Toy", "architecture": task, "pooling": "", "test": test},
            **{"quality": "auprc", "value": value, "without_training": [value] * 5 if left is None else left[k]},
        }
        for test in tests
        for k, (task, value) in enumerate(zip(tasks, values, strict=True))
    ]
    told = {"format": 1, "measure": measure, "suite": suite, "code": "abc", "closer": "higher", "scores": scores}
    place = folder / suite
    place.mkdir(exist_ok=True, parents=True)
    (place / f"{measure}.json").write_text(json.dumps(told | changes))


def test_a_clear_winner_has_the_first_place_and_equals_tie(tmp_path):
    rng = np.random.default_rng(0)
    write(tmp_path, "best", 0.9 + 0.01 * rng.random(8))
    for name in ("one", "two"):
        write(tmp_path, name, 0.5 + 0.1 * rng.random(8))
    board = leaderboard(tmp_path).set_index("measure")
    assert board.loc["best", ["position_low", "position_high"]].tolist() == [1, 1]
    assert board.loc["one", ["position_low", "position_high"]].tolist() == [2, 3]
    assert board.loc["two", ["position_low", "position_high"]].tolist() == [2, 3]
    assert "| best | 1 |" in leaderboard_page(tmp_path)
    assert "| one | 2 to 3 |" in leaderboard_page(tmp_path)


def test_equal_scores_share_their_place_whatever_is_drawn(tmp_path):
    for name in ("one", "two", "three"):
        write(tmp_path, name, np.linspace(0.2, 0.9, 8))
    board = leaderboard(tmp_path)
    assert set(board["mean_rank"]) == {2.0}
    assert set(board["position_low"]) == {1}
    assert set(board["position_high"]) == {3}


def test_trainings_alone_can_make_a_tie(tmp_path):
    """One task: whoever depends on which training was drawn is not ahead."""
    steady, shaky = [[0.6] * 5], [[0.75, 0.45, 0.75, 0.45, 0.35]]
    write(tmp_path, "steady", [0.6], steady, tasks=("net",))
    write(tmp_path, "shaky", [0.62], shaky, tasks=("net",))
    board = leaderboard(tmp_path).set_index("measure")
    assert board.loc["shaky", ["position_low", "position_high"]].tolist() == [1, 2]
    assert "not for other tasks" in leaderboard_page(tmp_path)
    write(tmp_path, "shaky", [0.62], [[0.62] * 5], tasks=("net",))
    assert leaderboard(tmp_path)["position_high"].tolist() == [1, 2]


def test_influences_of_a_mean_are_deviations_from_it():
    values = np.array([0.1, 0.5, 0.9, 0.3])
    without = [np.delete(values, k).mean() for k in range(4)]
    np.testing.assert_allclose(training_influences(values.mean(), without), values - values.mean())
    assert len(training_influences(0.5, [])) == 0
    assert len(training_influences(0.5, [0.1, float("nan")])) == 0


def test_a_measure_alone_has_no_place(tmp_path):
    write(tmp_path, "mine", [0.5] * 8)
    board = leaderboard(tmp_path)
    assert np.isnan(board["position_low"]).all()
    page = leaderboard_page(tmp_path)
    assert "| mine | - |" in page
    assert "is the only one" in page
    assert "1 of 1" not in page


def test_a_measure_that_lacks_tasks_is_listed_and_not_ranked(tmp_path):
    for name in ("one", "two"):
        write(tmp_path, name, np.linspace(0.2, 0.9, 8))
    write(tmp_path, "easy", [0.99], tasks=TASKS[:1])
    board = leaderboard(tmp_path).set_index("measure")
    assert np.isnan(board.loc["easy", "position_low"])
    assert board.loc["one", "position_high"] == 2


def test_raw_stands_beside_calibrated(tmp_path):
    write(tmp_path, "CKA", [0.5] * 8)
    write(tmp_path, "calibrated CKA", [0.7] * 8)
    board = leaderboard(tmp_path).set_index("measure")
    assert (board.loc["CKA", "score"], board.loc["CKA", "calibrated"]) == (0.5, pytest.approx(0.7))


def test_published_rows_are_marked(tmp_path):
    write(tmp_path, "mine", [0.5], tasks=("GCN",))
    path = tmp_path / "small" / "mine.json"
    path.write_text(path.read_text().replace('"Toy"', '"Cora"'))
    board = leaderboard(tmp_path).set_index("measure")
    assert board.loc["CKA (published)", "source"] == "published"
    assert len(board) == 25
    assert board.loc["mine", "position_high"] <= 25


def test_equal_measures_are_rarely_told_apart(tmp_path):
    """Two measures of the same kind over 8 tasks: one is called ahead in few of 60 tables."""
    apart = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        for name in ("one", "two"):
            write(tmp_path, name, rng.random(8))
        apart += leaderboard(tmp_path, n_resamples=300)["position_high"].min() == 1
    assert apart <= 8


def test_the_page_is_that_of_the_files_beside_it():
    """`shesha bench leaderboard docs/benchmark/leaderboard --out docs/benchmark/leaderboard.md` writes it."""
    place = Path(__file__).parents[3] / "docs" / "benchmark"
    assert (place / "leaderboard.md").read_text(encoding="utf-8") == leaderboard_page(place / "leaderboard")


@pytest.mark.parametrize(
    "changes",
    [{"suite": ["small"]}, {"measure": None}, {"closer": 3}, {"scores": [[]]}, {"scores": "abc"}, {"code": {}}],
)
def test_submissions_of_which_a_value_is_odd_are_refused_by_name(tmp_path, changes):
    write(tmp_path, "good", range(8))
    told = json.loads((tmp_path / "small" / "good.json").read_text())
    (tmp_path / "odd.json").write_text(json.dumps(told | changes))
    with pytest.raises(ValueError, match=r"odd.json must be a submission of format 1, got another file"):
        read_submissions(tmp_path)


def test_a_copy_of_a_submission_is_refused(tmp_path):
    write(tmp_path, "CKA", np.linspace(0, 1, 8))
    (tmp_path / "copy.json").write_bytes((tmp_path / "small" / "CKA.json").read_bytes())
    with pytest.raises(ValueError, match="must be the only submission of CKA, got two of small"):
        leaderboard(tmp_path)


def test_measures_whose_names_differ_in_signs_keep_files_of_their_own(tmp_path):
    first, second = "MMD(sigma=1e-05)", "MMD(sigma=1e+05)"
    place = measure_file(tmp_path, first)
    place.write_text(json.dumps({"measure": first}))
    other = measure_file(tmp_path, second)
    assert other != place
    assert measure_file(tmp_path, first) == place
    other.write_text("half of a")
    assert measure_file(tmp_path, second) == other


def test_names_in_submissions_are_no_markup(tmp_path):
    hostile = "a|b <img src=x onerror=f()> [c](x)\n# Title"
    for number, name in enumerate(("CKA", "RSA")):
        write(tmp_path, name, np.linspace(0, 1, 8) * (1 - 0.1 * number), tasks=[*TASKS[1:], hostile])
    for changes in ({}, {"measure": hostile}):
        place = tmp_path / "small" / "CKA.json"
        place.write_text(json.dumps(json.loads(place.read_text()) | changes))
        page = leaderboard_page(tmp_path)
        assert "&lt;img" in page
        assert not any(mark in page for mark in ("<img", "[c](", "\n# Title", "a|b <"))


def test_a_score_outside_the_bounds_of_its_quality_is_refused(tmp_path):
    write(tmp_path, "CKA", np.full(8, 1.5))
    with pytest.raises(ValueError, match=r"auprc must be between 0 and 1, got 1\.5"):
        leaderboard_page(tmp_path)


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
