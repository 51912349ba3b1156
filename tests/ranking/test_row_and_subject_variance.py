"""The variance over rows and subjects: measurement noise counts once."""

import numpy as np
import pytest

from shesha.ranking.problem import Resampled, RowResamples


def dual_bootstrap(double, subjects, rows, n_subjects, n_rows):
    """The small-sample formula of Schütt et al. (2023), before its limits."""
    interaction = n_rows * n_subjects / ((n_rows - 1) * (n_subjects - 1)) * (double - subjects - rows)
    return n_subjects / (n_subjects - 1) * subjects + n_rows / (n_rows - 1) * rows - interaction


def without_noise_of_pairs(observed, on_rows, n_rows):
    """Both kinds of resamples alike: nothing is extrapolated."""
    draws = [RowResamples(on_rows, n_rows / (n_rows - 1), noise) for noise in (2.0, 3.0)]
    return Resampled(observed, tuple(draws), n_rows)


@pytest.mark.parametrize("seed", range(50))
def test_resampling_subjects_without_end_gives_the_published_formula(seed):
    """All variances of the three bootstraps are worked out exactly, with no random draw of subjects."""
    rng = np.random.default_rng(seed)
    n_subjects, n_rows = int(rng.integers(2, 9)), int(rng.integers(6, 40))
    on_rows = rng.standard_normal((200, n_subjects, 1)) + 0.5 * rng.standard_normal((200, 1, 1))
    on_rows -= on_rows.mean(axis=0)
    observed = rng.standard_normal((n_subjects, 1))
    found = without_noise_of_pairs(observed, on_rows + observed, n_rows).variances[0]
    rows = on_rows.mean(axis=1).var(ddof=1)
    subjects = observed.var() / n_subjects
    noise = (on_rows.var(axis=0, ddof=1).mean() - rows) / n_subjects
    published = dual_bootstrap(rows + subjects + noise, subjects, rows, n_subjects, n_rows)
    lowest = max(n_subjects / (n_subjects - 1) * subjects, n_rows / (n_rows - 1) * rows)
    assert found == pytest.approx(max(published, lowest))


def test_the_variance_is_that_of_new_rows_and_new_subjects():
    """A mean of row, subject and noise effects: the estimate's mean is the true variance, the plain sum's is not."""
    n_subjects, n_rows, found, plain = 6, 20, [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        cells = (
            0.5 * rng.standard_normal(n_subjects)[:, None]
            + rng.standard_normal(n_rows)
            + 2 * rng.standard_normal((n_subjects, n_rows))
        )
        drawn = rng.integers(0, n_rows, (300, n_rows))
        on_rows = cells[:, drawn].mean(axis=2).T[:, :, None]
        one = without_noise_of_pairs(cells.mean(axis=1)[:, None], on_rows, n_rows)
        found.append(one.variances[0])
        over_rows = n_rows / (n_rows - 1) * on_rows.mean(axis=1).var(ddof=1)
        plain.append(over_rows + one.observed.var(ddof=1) / n_subjects)
    true = 0.25 / n_subjects + 1 / n_rows + 4 / (n_subjects * n_rows)
    assert np.mean(found) == pytest.approx(true, rel=0.08)
    assert np.mean(plain) > 1.2 * true


def test_the_noise_of_pairs_of_rows_counts_once():
    """A mean over pairs of rows, with an effect of each row and of each pair: bootstraps count the pairs thrice."""
    n, found, often = 24, [], []
    i, j = np.triu_indices(n, k=1)
    for seed in range(150):
        rng = np.random.default_rng(seed)
        effects = 0.3 * rng.standard_normal(n)
        pairs = effects[i] + effects[j] + 3 * rng.standard_normal(len(i))
        mean = pairs.mean()
        first, second = [], []
        for _ in range(200):
            counts = np.bincount(rng.integers(0, n, n), minlength=n)
            second.append(np.average(pairs, weights=counts[i] * counts[j]))
            first.append(mean + ((counts[i] + counts[j] - 2.0) @ (pairs - mean)) / len(pairs))
        draws = (np.array(one)[:, None, None] for one in (first, second))
        kinds = tuple(RowResamples(one, n / (n - 1), noise) for one, noise in zip(draws, (2.0, 3.0), strict=True))
        one = Resampled(np.array([[mean]]), kinds, n)
        found.append(one.variances[0])
        often.append(n / (n - 1) * kinds[1].values.var(ddof=1))
    true = 4 * 0.09 / n + 9 / len(i)
    assert np.mean(found) == pytest.approx(true, rel=0.15)
    assert np.mean(often) > 1.5 * true


def test_models_that_are_equal_tie_and_differ_nowhere():
    values = np.random.default_rng(0).standard_normal((40, 4, 1))
    both = np.concatenate([values, values], axis=2)
    differences = without_noise_of_pairs(both[0], both, 10).differences()
    assert differences.variances[0] == 0
    assert differences.p_values()[0] == 1


def test_degrees_of_freedom_are_never_below_one():
    """The formula gives one half for two rows and subjects that agree: too few for Student's t."""
    values = np.random.default_rng(0).standard_normal((9, 1, 3))
    agreeing = without_noise_of_pairs(np.zeros((2, 3)), np.repeat(values, 2, axis=1), 2)
    assert agreeing.freedom == pytest.approx(np.ones(3))


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_p_values_do_not_depend_on_the_unit_of_the_values(rng, scale):
    observed, on_rows = rng.standard_normal((5, 3)), rng.standard_normal((40, 5, 3))
    plain, scaled = (without_noise_of_pairs(one * observed, one * on_rows, 12).p_values() for one in (1.0, scale))
    np.testing.assert_allclose(scaled, plain)
