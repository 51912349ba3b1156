"""Maps of rows: what they show is what a full decomposition gives, and they say how much that is."""

import numpy as np
import pandas as pd
import pytest

import shesha
from shesha.changes.row_map import labels_of_rows
from shesha.support.warnings import RowNamesWarning


def scores(X, *, unit):
    """Two principal axes by a full decomposition, up to signs."""
    rows = X / np.linalg.norm(X, axis=1, keepdims=True) if unit else X
    left, values, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    return left[:, :2] * values[:2]


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_places_are_principal_components(rng, metric):
    X = rng.standard_normal((50, 6)) * np.geomspace(3, 1, 6)
    found = shesha.explore(X, metric=metric)
    places = np.array(found.coordinates["X"])
    np.testing.assert_allclose(np.abs(places), np.abs(scores(X, unit=metric == "cosine")), atol=1e-9)
    assert found.neighbours_lost == ()
    assert found.headline.startswith(f"Two dimensions show {found.held['X']:.0%} of the squared distances of X")


def test_a_rotation_changes_nothing(rng):
    X = rng.standard_normal((60, 5)) * np.geomspace(3, 1, 5)
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    found = shesha.explore(X, 3 * X @ Q, names=("before", "after"))
    np.testing.assert_allclose(found.coordinates["before"], found.coordinates["after"], atol=1e-9)
    assert set(found.neighbours_lost) == {0.0}
    assert found.trustworthiness["before"] == pytest.approx(found.trustworthiness["after"], abs=1e-12)


def test_the_second_map_is_its_own_components_turned(rng):
    X, Y = rng.standard_normal((2, 40, 5)) * np.geomspace(3, 1, 5)
    found = shesha.explore(X, Y, metric="euclidean")
    own, turned = scores(Y, unit=False), np.array(found.coordinates["Y"])
    between = [np.linalg.norm(one[:, None] - one, axis=2) for one in (own, turned)]
    ratio = between[1][0, 1] / between[0][0, 1]
    np.testing.assert_allclose(between[1], ratio * between[0], atol=1e-9)
    assert np.linalg.norm(turned) == pytest.approx(np.linalg.norm(found.coordinates["X"]))


def test_rows_that_moved_come_first(rng):
    X = rng.standard_normal((60, 8))
    Y = X.copy()
    Y[7] = -X[7]
    found = shesha.explore(X, Y, row_names=[f"text {i}" for i in range(60)])
    assert found.moved[0] == 7 and found.neighbours_lost[7] == 1.0
    frame = found.to_frame()
    assert frame.loc[7, "name"] == "text 7" and len(frame) == 60
    assert list(frame.columns) == ["row", "name", "X x", "X y", "Y x", "Y y", "neighbours_lost"]
    assert found.plot().get_title() == "X to Y"


def test_names_of_rows_put_them_in_one_order(rng):
    X = pd.DataFrame(rng.standard_normal((30, 4)), index=[f"cell {i}" for i in range(30)])
    kinds = pd.Series(["a", "b"] * 15, index=X.index)
    with pytest.warns(RowNamesWarning):
        found = shesha.explore(X, X[::-1], kinds)
    assert set(found.neighbours_lost) == {0.0}
    assert found.row_names[3] == "cell 3" and found.labels[:2] == ("a", "b")


def test_many_rows_are_drawn_and_rows_without_a_direction_left_out(rng):
    X = rng.standard_normal((100, 4))
    X[3] = 0
    found = shesha.explore(X, max_rows=40)
    assert len(found.rows) == 40 == len(set(found.rows)) and 3 not in found.rows
    assert "1 of 100 rows" in found.notes[0] and "40 of 99 rows" in found.notes[1]
    assert str(found).count("\n") >= 3
    assert len(shesha.explore(X, metric="euclidean").rows) == 100


def test_numbers_of_many_values_become_ranges():
    values = np.random.default_rng(0).permutation(np.arange(0.0, 80.0))
    found = labels_of_rows(values)
    assert len(set(found)) == 8
    for value, text in zip(values, found, strict=True):
        low, high = map(float, text.split(" to "))
        assert low <= value <= high
    assert labels_of_rows(np.array([1.5, 2.5, 1.5])) == ["1.5", "2.5", "1.5"]
    # Half of the values are one.
    assert len(set(labels_of_rows(np.r_[np.zeros(40), np.arange(40.0)]))) >= 4


def test_twenty_thousand_rows_stay_below_two_megabytes(rng, tmp_path):
    pytest.importorskip("jinja2")
    X = rng.standard_normal((20_000, 3))
    found = shesha.explore(X, labels=rng.integers(0, 30, 20_000), metric="euclidean")
    assert len(found.rows) == 20_000
    found = shesha.results.RowMap(
        **{**vars(found), "coordinates": dict.fromkeys(("a", "b"), found.coordinates["X"])}
        | {"held": {"a": 1.0, "b": 1.0}, "trustworthiness": {"a": 1.0, "b": 1.0}, "neighbours_lost": (0.5,) * 20_000}
    )
    assert found.save_html(tmp_path / "map.html").stat().st_size < 2_000_000


def test_a_diff_brings_its_map(rng):
    before = {"first": rng.standard_normal((60, 8)), "second": rng.standard_normal((60, 8))}
    after = {"first": before["first"], "second": before["second"] + 0.5 * rng.standard_normal((60, 8))}
    found = shesha.diff(before, after, ["x", "y"] * 30, row_map=True)
    own = shesha.explore(before["second"], after["second"], ["x", "y"] * 30, names=("b", "a"))
    assert list(found.row_map.coordinates) == ["before (second)", "after (second)"]
    assert list(found.row_map.coordinates.values()) == list(own.coordinates.values())
    assert found.row_map.labels == own.labels
    most = found.moved[0]
    assert found.row_map.neighbours_lost[most.row] == most.neighbours_lost
    assert shesha.diff(before, after).row_map is None
