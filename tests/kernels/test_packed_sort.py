"""Both ways of sorting packed keys give the sorted array."""

import numpy as np
import pytest

from shesha.kernels import sorting

N = 40_000


@pytest.fixture(params=[True, False], ids=["numpy", "buckets"])
def path(request, monkeypatch):
    monkeypatch.setattr(sorting, "_numpy_is_faster", lambda: request.param)


def packed(high):
    """Keys with these leading parts and distinct low bits, as the ranks pack them."""
    return (high.astype(np.uint64) << np.uint64(16)) | np.arange(len(high), dtype=np.uint64)


LEADING = {
    "uniform": lambda rng: rng.integers(0, 1 << 47, N),
    "all equal": lambda rng: np.full(N, 12345),
    "two values": lambda rng: rng.integers(0, 2, N) * ((1 << 47) - 1),
    "crowded low": lambda rng: rng.integers(0, 7, N) + (np.arange(N) == 9) * (1 << 46),
    "falling": lambda rng: np.arange(N)[::-1] << 30,
}


@pytest.mark.parametrize("kind", LEADING)
def test_keys_come_out_sorted(path, rng, kind):
    keys = packed(LEADING[kind](rng))
    expected = np.sort(keys)
    sorting.sort_in_place(keys, 63)
    assert np.array_equal(keys, expected)


@pytest.mark.parametrize("kind", LEADING)
@pytest.mark.parametrize(("piece", "group"), [(N, 5_000), (N // 2, N), (9_999, 777), (N - 1, 1)])
def test_pieces_and_groups_come_together_sorted(path, rng, monkeypatch, kind, piece, group):
    monkeypatch.setattr(sorting, "_CACHED", 1 << 14)
    monkeypatch.setattr(sorting, "_PIECE", piece)
    monkeypatch.setattr(sorting, "_GROUP", group)
    keys = packed(LEADING[kind](rng))
    expected = np.sort(keys)
    sorting.sort_in_place(keys, 63)
    assert np.array_equal(keys, expected)


@pytest.mark.parametrize("n_bits", [20, 40, 63])
def test_keys_of_fewer_bits_are_sorted(path, rng, n_bits):
    keys = rng.integers(0, 1 << n_bits, N, dtype=np.uint64)
    expected = np.sort(keys)
    sorting.sort_in_place(keys, n_bits)
    assert np.array_equal(keys, expected)


@pytest.mark.parametrize("n", [0, 1, 2, (1 << 14) - 1, 1 << 14])
def test_any_length_is_sorted(path, rng, n):
    keys = rng.integers(0, 1 << 60, n, dtype=np.uint64)
    expected = np.sort(keys)
    sorting.sort_in_place(keys, 60)
    assert np.array_equal(keys, expected)


@pytest.mark.parametrize("upto", [3, 50, 10**12])
def test_numbers_that_stand_more_than_once_are_found(rng, upto):
    numbers = rng.integers(0, upto, 60)
    expected = [place for place, one in enumerate(numbers) if (numbers == one).sum() > 1]
    assert sorting.repeated_places(numbers).tolist() == expected
    assert sorting.repeated_places(numbers[:0]).tolist() == []


def test_the_measurement_of_speed_decides_once():
    assert sorting._numpy_is_faster() is sorting._numpy_is_faster()
