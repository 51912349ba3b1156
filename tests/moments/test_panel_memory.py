"""Panels take over the memory of earlier ones, and nothing of their values."""

from collections.abc import Iterator

import numpy as np
import pytest

from shesha.kernels.threads import parallel, single_threaded_blas
from shesha.moments import sums as row_panel_sums
from shesha.moments.sums import Sums, sum_panel

SHAPES = ((300, 7), (40, 90), (300, 7), (512, 3), (64, 64))


@pytest.fixture(autouse=True)
def no_spare_memory() -> Iterator[None]:
    """Begin and end without memory of earlier panels."""
    row_panel_sums._spare.clear()
    yield
    row_panel_sums._spare.clear()


def sides(seed: int, shape: tuple[int, int]) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape) + 5, rng.standard_normal(shape) * 1e-3]


def assert_equal(one: Sums, other: Sums) -> None:
    np.testing.assert_array_equal(one.cross[0, 1], other.cross[0, 1])
    for left, right in zip(one.sides, other.sides, strict=True):
        np.testing.assert_array_equal(left.products, right.products)


def fresh(seed: int, shape: tuple[int, int]) -> Sums:
    row_panel_sums._spare.clear()
    return sum_panel(sides(seed, shape), [(0, 1)])


def test_memory_of_earlier_panels_changes_no_bit() -> None:
    expected = [fresh(seed, shape) for seed, shape in enumerate(SHAPES)]
    row_panel_sums._spare.clear()
    for seed, (shape, sums) in enumerate(zip(SHAPES, expected, strict=True)):
        assert_equal(sum_panel(sides(seed, shape), [(0, 1)]), sums)
    assert row_panel_sums._spare


def test_threads_never_share_the_memory_of_a_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHESHA_THREADS", "4")
    jobs = [(seed, SHAPES[seed % len(SHAPES)]) for seed in range(60)]
    # Threads of the library run BLAS on one core each, which sums in another order than on two.
    with single_threaded_blas():
        expected = [fresh(*job) for job in jobs]
    found = parallel(lambda job: sum_panel(sides(*job), [(0, 1)]), jobs)
    for one, other in zip(found, expected, strict=True):
        assert_equal(one, other)


def test_kept_memory_stays_within_a_share_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHESHA_MEMORY", "1M")
    sum_panel(sides(0, (400, 30)), [(0, 1)])
    assert sum(spare.nbytes for spare in row_panel_sums._spare) <= 2**20 // 32
