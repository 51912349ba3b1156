"""Averages of feature maps over a coarser grid are those of adaptive pooling."""

import numpy as np
import pytest

from shesha.kernels.map_flattening import as_maps, average_pool, fold, from_channels_last

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("shape", [(2, 3, 6, 6), (3, 2, 7, 5), (1, 1, 4, 9)])
@pytest.mark.parametrize("grid", [(1, 1), (3, 2), (4, 4), (2, 5)])
def test_cells_are_those_of_adaptive_pooling(shape, grid):
    maps = np.random.default_rng(0).standard_normal(shape)
    expected = torch.nn.functional.adaptive_avg_pool2d(torch.from_numpy(maps), grid).numpy()
    assert average_pool(maps, grid) == pytest.approx(expected, abs=1e-12)


def test_what_has_no_grid_or_that_grid_passes():
    maps, rows = np.ones((2, 3, 4, 5)), np.ones((6, 2))
    assert average_pool(maps, (4, 5)) is maps and average_pool(maps, None) is maps
    assert average_pool(rows, (2, 2)) is rows
    assert average_pool(np.ones((2, 3, 4)), (2, 2)).shape == (2, 3, 4)


def test_folds_keep_each_number_at_its_input_and_channel():
    maps = np.random.default_rng(0).standard_normal((3, 2, 4, 5))
    assert np.array_equal(from_channels_last(maps.transpose(0, 2, 3, 1)), maps)
    assert np.array_equal(fold(maps, "columns"), maps.reshape(3, -1))
    rows = fold(maps, "rows")
    assert rows.shape == (60, 2)
    assert np.array_equal(rows[1 * 20 + 2 * 5 + 3], maps[1, :, 2, 3])
    tokens = maps[:, :, :, 0]
    assert np.array_equal(fold(tokens, "rows")[1 * 2 + 1], tokens[1, 1])
    assert np.array_equal(fold(tokens, "columns")[2], tokens[2].ravel())
    assert np.array_equal(fold(as_maps(rows), "rows"), rows)
