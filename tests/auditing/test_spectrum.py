"""The three summaries of the spectrum, against singular values, closed forms and the laws that they obey."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shesha.kernels import spectrum

EXACT = 1e-9
TALL, WIDE = (60, 12), (12, 60)

seeds = st.integers(0, 2**32)
shapes = st.tuples(st.integers(4, 30), st.integers(1, 30))


def summaries(X):
    variances = spectrum.centred_variances(X)
    return (
        spectrum.effective_rank(variances),
        spectrum.participation_ratio(variances),
        spectrum.anisotropy(variances),
    )


def summaries_by_svd(X):
    singular = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    shares = singular[singular > 0] / singular.sum()
    variances = singular**2
    return (
        np.exp(-np.sum(shares * np.log(shares))),
        variances.sum() ** 2 / np.sum(variances**2),
        variances.max() / variances.sum(),
    )


def uneven(seed, shape):
    """Directions of very different spread, away from the origin."""
    rng = np.random.default_rng(seed)
    mixed = rng.standard_normal(shape) @ np.diag(0.7 ** np.arange(shape[1])) @ rng.standard_normal((shape[1],) * 2)
    return mixed + rng.standard_normal(shape[1])


@given(seeds, shapes)
def test_summaries_are_those_of_the_singular_values(seed, shape):
    X = uneven(seed, shape)
    assert summaries(X) == pytest.approx(summaries_by_svd(X), rel=1e-6)


@pytest.mark.parametrize("shape", [TALL, WIDE])
def test_far_from_the_origin(shape):
    far = uneven(0, shape) + 1e8
    # The subtraction is exact, so this is the same data, near the origin.
    assert summaries(far) == pytest.approx(summaries_by_svd(far - 1e8), rel=1e-7)


@pytest.mark.parametrize("shape", [TALL, WIDE])
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_squares_stay_within_range(shape, scale):
    X = uneven(0, shape)
    assert summaries(X * scale) == pytest.approx(summaries(X), rel=EXACT)


def test_sums_stay_within_range():
    X = uneven(0, TALL)
    largest = X / np.abs(X).max() * 1.7e308
    assert summaries(largest) == pytest.approx(summaries(X), rel=EXACT)


@given(seeds, shapes, st.floats(1e-3, 1e3))
def test_rotation_translation_and_scale_do_not_matter(seed, shape, scale):
    X = uneven(seed, shape)
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.standard_normal((shape[1],) * 2)).Q
    moved = scale * (X @ rotation) + rng.standard_normal(shape[1])
    assert summaries(moved) == pytest.approx(summaries(X), rel=1e-6)


@given(seeds, shapes)
def test_the_summaries_bound_each_other(seed, shape):
    rank, ratio, largest = summaries(uneven(seed, shape))
    rounding = 1 + EXACT
    assert 1 / largest <= ratio * rounding
    assert ratio <= rank * rounding
    assert rank <= min(shape[0] - 1, shape[1]) * rounding


@pytest.mark.parametrize("d", [1, 3, 20])
def test_equal_directions_count_fully(d):
    axes = np.vstack([np.eye(d), -np.eye(d)])
    assert summaries(axes) == pytest.approx((d, d, 1 / d), rel=EXACT)


@pytest.mark.parametrize("shape", [TALL, WIDE])
def test_one_direction_counts_once(shape):
    line = np.arange(shape[0])[:, None] * np.linspace(-1, 1, shape[1])
    assert summaries(line) == pytest.approx((1, 1, 1), rel=1e-6)


def test_blocks_of_rows_add_up():
    X = uneven(0, TALL)
    with mock.patch.object(spectrum, "ENTRIES", 7 * TALL[1]):
        assert summaries(X) == pytest.approx(summaries_by_svd(X), rel=EXACT)


@pytest.mark.parametrize("value", [0.0, 0.5, 0.1, -1 / 3, 1e8 + 0.1, 1e-150])
@pytest.mark.parametrize(("n", "d"), [TALL, WIDE])
def test_equal_rows_have_no_spectrum(n, d, value):
    assert np.isnan(summaries(np.full((n, d), value))).all()
    assert np.isnan(summaries(value * np.tile(np.linspace(0.3, 1.7, d), (n, 1)))).all()
