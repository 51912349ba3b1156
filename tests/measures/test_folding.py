"""Token sequences and feature maps: pooled to one grid, folded into rows or into columns."""

import numpy as np
import pytest

import shesha.measures as measures
from shesha.kernels.map_flattening import ROWS, as_maps, average_pool, fold, from_channels_last
from shesha.views import Distances, Folds, Gram, RankedRdm

IN_COLUMNS = (Gram, RankedRdm, Distances, Folds)
"""Views of relations between rows, or of inputs in folds: there positions are features of their input."""


def maps(rng, n=12, channels=4, height=3, width=3):
    return rng.standard_normal((n, channels, height, width)) + 0.4


def pooled_by_hand(array, height, width):
    """Adaptive average pooling: cell c of m covers floor(c size / m) to ceil((c + 1) size / m)."""
    n, channels, h, w = array.shape
    out = np.empty((n, channels, height, width))
    for row in range(height):
        top, bottom = row * h // height, int(np.ceil((row + 1) * h / height))
        for column in range(width):
            left, right = column * w // width, int(np.ceil((column + 1) * w / width))
            out[:, :, row, column] = array[:, :, top:bottom, left:right].mean(axis=(2, 3))
    return out


def rows_of(array):
    """One row for each input and position, channels as columns."""
    return np.array([array[i, :, r, c] for i in range(len(array)) for r, c in np.ndindex(array.shape[2:])])


@pytest.mark.parametrize("grid", [(1, 1), (2, 2), (2, 5), (3, 4), (5, 3), (7, 6)])
def test_pooling_is_adaptive_average_pooling(rng, grid):
    array = maps(rng, height=7, width=6)
    assert average_pool(array, grid) == pytest.approx(pooled_by_hand(array, *grid), rel=1e-13)


def test_folding_into_rows_and_columns(rng):
    array, tokens = maps(rng), rng.standard_normal((6, 4, 3))
    assert np.array_equal(fold(array, "rows"), rows_of(array))
    assert np.array_equal(fold(array, "columns"), array.reshape(12, -1))
    assert np.array_equal(fold(tokens, "rows"), np.concatenate(list(tokens)))
    assert np.array_equal(fold(tokens, "columns"), tokens.reshape(6, -1))


@pytest.mark.parametrize(("n", "step"), [(100, 1), (555, 1), (1111, 1), (1112, 2), (2300, 4)])
def test_positions_are_thinned_evenly_to_about_5000_rows(n, step):
    array = np.arange(n * 9.0).reshape(n, 1, 3, 3)
    assert max(1, n * 9 // ROWS) == step
    assert np.array_equal(fold(array, "rows"), array.reshape(-1, 1)[::step])


def test_tokens_are_rows(measure, rng):
    X, Y = rng.standard_normal((2, 7, 5, 6)) + 0.3
    expected = measure.score(X.reshape(35, 6), Y.reshape(35, 6))
    assert measure.score(X, Y) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_maps_of_different_grids_are_pooled_and_folded(measure, rng):
    X, Y = maps(rng, height=4, width=3), maps(rng, height=3, width=5)
    small = [pooled_by_hand(side, 3, 3) for side in (X, Y)]
    if issubclass(measure.view, IN_COLUMNS):
        expected = measure.score(*(side.reshape(12, -1) for side in small))
    else:
        expected = measure.score(*(rows_of(side) for side in small))
    assert measure.score(X, Y) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_only_relations_of_rows_fold_into_columns(measure):
    assert (measure.view.folding == "columns") == issubclass(measure.view, IN_COLUMNS)


def test_a_map_beside_a_matrix_is_flattened(measure, rng):
    X, Y = maps(rng, n=16, channels=2, height=1), rng.standard_normal((16, 6)) + 0.4
    flat = X.reshape(16, 6)
    assert measure.score(X, Y) == pytest.approx(measure.score(flat, Y), rel=1e-12)
    assert measure.score(Y, X) == pytest.approx(measure.score(Y, flat), rel=1e-12)


def test_a_map_and_itself_on_another_grid_fold_once_each(rng):
    from shesha.views import Representation

    X = Representation.build(maps(rng, height=4, width=4))
    Y = Representation.build(maps(rng, height=2, width=2))
    other = Representation.build(maps(rng, height=4, width=4))
    for partner in (Y, other, Y):
        assert measures.get("CKA").score(X, partner) == pytest.approx(
            measures.cka(pooled_by_hand(X._array, *partner.shape[2:]), partner._array), rel=1e-12
        )


@pytest.mark.parametrize("where", [(0, 1, 1), (5, 0, 0)])
def test_nan_within_tokens_is_refused_naming_the_input(rng, where):
    tokens = rng.standard_normal((6, 4, 3))
    tokens[where] = np.nan
    with pytest.raises(ValueError, match=f"X must be finite, got NaN or infinity in rows {where[0]}"):
        measures.cka(tokens, tokens)


def test_channels_come_first_at_the_border(rng):
    last = rng.standard_normal((3, 4, 5, 6)).astype(np.float32)
    first = from_channels_last(last)
    assert first.shape == (3, 6, 4, 5) and first.dtype == np.float32 and first.flags.c_contiguous
    for row, down, across, channel in np.ndindex(last.shape):
        assert first[row, channel, down, across] == last[row, down, across, channel]


def test_rows_stand_beside_maps_as_maps_of_one_position(rng):
    rows = rng.standard_normal((5, 3))
    assert as_maps(rows).shape == (5, 3, 1, 1)
    np.testing.assert_array_equal(fold(as_maps(rows), "columns"), rows)
    np.testing.assert_array_equal(fold(as_maps(rows), "rows"), rows)
