"""Numbers that occur more than once."""

import pytest

from shesha.kernels import sorting


@pytest.mark.parametrize("upto", [3, 50, 10**12])
def test_numbers_that_stand_more_than_once_are_found(rng, upto):
    numbers = rng.integers(0, upto, 60)
    expected = [place for place, one in enumerate(numbers) if (numbers == one).sum() > 1]
    assert sorting.positions_of_repeats(numbers).tolist() == expected
    assert sorting.positions_of_repeats(numbers[:0]).tolist() == []
