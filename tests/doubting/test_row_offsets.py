"""Rows that were shifted, reversed, or shuffled in one part, on one side of a pair."""

import numpy as np
import pytest

from shesha import compare
from shesha.doubting.doubt_input import Subject
from shesha.doubting.row_offsets import row_offset
from shesha.views import Rows


def find_offset(first, second):
    found = row_offset(Subject((Rows(first, "X"), Rows(second, "Y")), "cosine"))
    return "" if found is None else found.text


def draw_related(rng, n, noise=0.3):
    """Return two representations of n independent inputs, with noise relative to the signal of each feature."""
    latent = rng.standard_normal((n, 12))
    return tuple(
        latent @ rng.standard_normal((12, d)) + noise * np.sqrt(12) * rng.standard_normal((n, d)) for d in (32, 24)
    )


def series(rng, n, memory=0.95):
    latent = np.zeros((n, 6))
    for row in range(1, n):
        latent[row] = memory * latent[row - 1] + np.sqrt(1 - memory**2) * rng.standard_normal(6)
    return tuple(latent @ rng.standard_normal((6, d)) + 0.3 * rng.standard_normal((n, d)) for d in (32, 24))


@pytest.mark.parametrize("n", [200, 256, 1000])
def test_offsets_are_found(rng, n):
    X, Y = draw_related(rng, n + 3)
    assert "1 place earlier in Y (" in find_offset(X[:-1], Y[1:])
    assert "3 places later in Y (" in find_offset(X[3:], Y[:-3])
    middle = n // 2
    # One row is missing in the middle.
    text = find_offset(X[:n], np.delete(Y[: n + 1], middle, axis=0))
    start = int(text.split("from about row ")[1].split()[0].replace(",", ""))
    assert "1 place earlier" in text and middle <= start <= middle + n // 6
    assert n > 256 or "reverse order" in find_offset(X[:n], Y[:n][::-1])
    shuffled = np.r_[np.arange(middle), middle + rng.permutation(n - middle)]
    assert "do not fit" in find_offset(X[:n], Y[:n][shuffled])


def test_offsets_of_few_rows_are_found(rng):
    X, Y = draw_related(rng, 123)
    assert "3 places later in Y (" in find_offset(X[3:], Y[:-3])
    assert "3 places earlier in Y (" in find_offset(X[:90], Y[3:93])
    assert find_offset(X[:30], Y[3:33]) == ""


def test_a_lag_of_a_series_is_found(rng):
    X, Y = series(rng, 205)
    assert "5 places earlier in Y (" in find_offset(X[:-5], Y[5:])


def sound_pairs(rng, n):
    yield draw_related(rng, n, 2 * rng.random())
    yield rng.standard_normal((n, 8)), rng.standard_normal((n, 3))
    yield rng.standard_normal((n, 1)), rng.standard_normal((n, 2))
    yield series(rng, n)
    yield series(rng, n, 0.99)[0], series(rng, n, 0.99)[1]
    # Classes in order, which share nothing but their means.
    classes, centres = np.sort(rng.integers(0, 4, n)), 3 * rng.standard_normal((4, 20))
    yield tuple(centres[classes] @ side + rng.standard_normal((n, 20)) for side in (np.eye(20), -np.eye(20)))
    walk = rng.standard_normal((n, 5)).cumsum(axis=0)
    yield walk, walk @ rng.standard_normal((5, 7)) + rng.standard_normal((n, 7))
    tails = rng.standard_t(2, (n, 6))
    yield tails, tails + rng.standard_t(2, (n, 6))
    # Conditions that repeat in the same order.
    n_conditions = int(rng.integers(2, 9))
    shown = rng.standard_normal((n_conditions, 12))[np.arange(n) % n_conditions]
    yield tuple(shown @ rng.standard_normal((12, d)) + 2 * rng.standard_normal((n, d)) for d in (32, 24))
    angle = np.arange(n) / 3
    waves = np.c_[np.sin(angle), np.cos(angle)]
    yield tuple(waves @ rng.standard_normal((2, 6)) + 0.5 * rng.standard_normal((n, 6)) for _ in range(2))


def test_sound_pairs_have_no_offset(rng):
    found = [find_offset(*pair) for _ in range(25) for pair in sound_pairs(rng, int(rng.integers(60, 400)))]
    assert sum(map(bool, found)) <= 2


@pytest.mark.filterwarnings("ignore:row offset")
def test_an_offset_is_part_of_the_answer(rng):
    X, Y = draw_related(rng, 101)
    text = " ".join(compare(X[:-1], Y[1:]).full_text().split())
    assert "row offset: rows of X fit those 1 place earlier in Y" in text
