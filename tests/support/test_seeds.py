"""Seeds: numbers repeat, generators go on, and streams of different purposes are independent."""

import numpy as np
import pytest

from shesha.support.seeds import draw_seed, generator, number, spawn


def first(rng):
    return rng.integers(2**32, size=4).tolist()


def test_a_number_repeats_and_a_generator_goes_on():
    assert first(generator(3)) == first(generator(np.int64(3))) == first(np.random.default_rng(3))
    rng = np.random.default_rng(0)
    assert generator(rng) is rng
    assert first(generator(None)) != first(generator(None))


@pytest.mark.parametrize("seed", [True, 1.0, "1", [1]])
def test_other_kinds_are_refused(seed):
    with pytest.raises(TypeError, match="seed must be an int, a numpy Generator or None, got "):
        generator(seed)


def test_zero_is_a_seed_and_below_it_is_none():
    assert first(generator(0)) == first(np.random.default_rng(0))
    with pytest.raises(ValueError, match="seed must be zero or positive, got -1"):
        generator(-1)


def test_only_numbers_are_reported():
    assert [number(seed) for seed in (0, np.int64(4), None, True, np.random.default_rng(0))] == [0, 4, *[None] * 3]


def test_a_drawn_seed_is_the_number_or_one_of_the_generator():
    assert draw_seed(7) == 7
    one, other = (draw_seed(np.random.default_rng(5)) for _ in range(2))
    assert one == other
    assert 0 <= one < 2**63
    assert draw_seed(None) != draw_seed(None)
    # Above 32 bits, as half of all numbers are not.
    assert max(draw_seed(np.random.default_rng(k)) for k in range(20)) > 2**60


def test_streams_of_purposes_do_not_depend_on_one_another():
    assert first(spawn(3, 1)) == first(spawn(3, 1))
    streams = [first(spawn(seed, purpose)) for seed in (3, 4) for purpose in (1, 2)]
    assert len(set(map(tuple, streams))) == 4
    assert first(spawn(None, 1)) != first(spawn(None, 1))
    rng = np.random.default_rng(0)
    children = [first(one) for one in np.random.default_rng(0).spawn(2)]
    assert [first(spawn(rng, 1)) for _ in range(2)] == children
    with pytest.raises(ValueError, match="seed must be zero or positive"):
        spawn(-3, 1)
