"""The corrected participation ratio, beside brute force over rows and columns and populations of known value."""

from itertools import permutations
from unittest import mock

import numpy as np
import pytest

import shesha
from shesha.descriptors import corrected_participation_ratio, participation_ratio
from shesha.kernels import spectrum


def brute_force(X, columns):
    """Both averages over four different rows, and over pairs of different columns if these are a sample."""
    above = below = 0.0
    for i, j, k, m in permutations(range(len(X)), 4):
        a, b = X[i] - X[j], X[k] - X[m]
        alone = (a**2) @ (b**2) if columns else 0.0
        above += (a @ a) * (b @ b) - alone
        below += (a @ b) ** 2 - alone
    return above / below


def correlated(seed, shape):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((shape[0], 1)) * 2 + rng.standard_normal(shape) * np.geomspace(0.3, 2, shape[1]) + 5


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shape", [(7, 3), (6, 9)])
@pytest.mark.parametrize("sample", ["rows", "both"])
def test_both_sums_are_averages_over_different_rows_and_columns(seed, shape, sample):
    X = correlated(seed, shape)
    expected = brute_force(X, sample == "both")
    if expected > 0:
        assert corrected_participation_ratio(X, sample=sample) == pytest.approx(expected, rel=1e-9)
    else:
        with pytest.warns(shesha.NotEstimableWarning, match="too few rows"):
            assert np.isnan(corrected_participation_ratio(X, sample=sample))


def test_columns_alone_leave_out_single_columns():
    X = correlated(0, (9, 4))
    C = np.cov(X.T)
    apart = ~np.eye(4, dtype=bool)
    expected = np.outer(np.diag(C), np.diag(C))[apart].sum() / (C[apart] ** 2).sum()
    assert corrected_participation_ratio(X, sample="columns") == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [30, 100, 300])
def test_the_value_of_the_population_whatever_the_number_of_rows(n):
    variances = np.arange(1, 257) ** -0.5
    population = variances.sum() ** 2 / (variances**2).sum()
    rng = np.random.default_rng(n)
    drawn = [rng.standard_normal((n, 256)) * np.sqrt(variances) for _ in range(40)]
    raw, corrected = ([of(X) for X in drawn] for of in (participation_ratio, corrected_participation_ratio))
    assert np.mean(corrected) == pytest.approx(population, rel=0.05)
    assert max(raw) < 0.75 * population


@pytest.mark.parametrize(("n", "d"), [(60, 200), (200, 60), (100, 100)])
def test_units_that_are_a_sample(n, d):
    # Each unit reads ten hidden directions: the population of units has a ratio of ten.
    rng = np.random.default_rng([n, d])
    found = [
        corrected_participation_ratio(
            rng.standard_normal((n, 10)) @ rng.standard_normal((10, d)) + rng.standard_normal((n, d)), sample="both"
        )
        for _ in range(40)
    ]
    # Noise of each unit adds to the variance and to no covariance: (10 + 1)^2 / 10.
    assert np.mean(found) == pytest.approx(12.1, rel=0.07)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
@pytest.mark.parametrize("sample", spectrum.SAMPLES)
def test_scales_do_not_matter(scale, sample):
    X = correlated(1, (40, 6))
    expected = corrected_participation_ratio(X, sample=sample)
    assert corrected_participation_ratio(X * scale, sample=sample) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_one_direction_counts_once(offset):
    line = np.arange(12.0)[:, None] * [1, -2, 3] + offset
    assert corrected_participation_ratio(line) == pytest.approx(1, rel=1e-6)


def test_blocks_of_rows_add_up():
    X = correlated(2, (40, 6))
    with mock.patch.multiple(spectrum, ENTRIES=42, _STRETCH=100):
        shares, blocks = spectrum.variances_and_moments(X)
    expected, whole = spectrum.variances_and_moments(X)
    assert shares == pytest.approx(expected)
    assert (blocks.rows, blocks.columns, blocks.entries) == pytest.approx((whole.rows, whole.columns, whole.entries))


def test_too_few_rows_are_said():
    with pytest.warns(shesha.NotEstimableWarning, match="needs at least 4 rows, got 3"):
        assert np.isnan(corrected_participation_ratio(np.eye(3)))
    with pytest.raises(ValueError, match="sample must be one of 'rows', 'columns', 'both', got 'units'"):
        corrected_participation_ratio(np.eye(9), sample="units")


def test_an_audit_warns_of_unequal_numbers_of_rows():
    rng = np.random.default_rng(0)
    sides = {"few": rng.standard_normal((40, 64)), "many": rng.standard_normal((700, 64))}
    text = " ".join(shesha.audit(sides, n_bootstrap=0, n_permutations=19).full_text().split())
    assert "These representations have 40 to 700 rows" in text
    assert "few: there are too few rows to observe all directions" in text
    alone = " ".join(shesha.audit(rng.standard_normal((700, 16)), n_bootstrap=0, n_permutations=19).full_text().split())
    assert "number of rows" not in alone
