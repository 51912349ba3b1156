"""Associations of labels with covariates, and what a covariate explains of pairs, by their definitions."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2_contingency, f_oneway, rankdata

from shesha.doubting.doubt_input import functions
from shesha.doubting.row_doubts import _lengths_elsewhere, association

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("n_classes", "n_codes", "share"), [(2, 2, 0.3), (3, 4, 0.5), (5, 3, 0.0), (4, 4, 1.0)])
def test_labels_are_associated_as_chi_squared_and_bergsma_say(n_classes, n_codes, share):
    """Bergsma 2013: phi squared and the numbers of classes, each less what chance gives."""
    n = 90
    classes = np.arange(n) % n_classes
    codes = np.where(RNG.random(n) < share, classes % n_codes, RNG.integers(0, n_codes, n))
    table = np.array([[np.sum((classes == i) & (codes == j)) for j in range(n_codes)] for i in range(n_classes)])
    told = chi2_contingency(table, correction=False)
    strength, p_value = association(classes, codes.astype(str))
    assert p_value == pytest.approx(told.pvalue, rel=1e-9)
    phi = max(0.0, told.statistic / n - (n_classes - 1) * (n_codes - 1) / (n - 1))
    k, m = (size - (size - 1) ** 2 / (n - 1) for size in (n_classes, n_codes))
    assert strength == pytest.approx(min(1.0, np.sqrt(phi / (min(k, m) - 1))))
    if share == 1:
        assert strength == pytest.approx(1.0)


def test_numbers_are_associated_as_the_analysis_of_variance_of_their_ranks_says():
    classes = np.repeat(np.arange(3), [20, 15, 25])
    for shift in (0.0, 0.5, 5.0):
        values = RNG.standard_normal(60) + shift * classes
        groups = [rankdata(values)[classes == code] for code in range(3)]
        strength, p_value = association(classes, values)
        assert p_value == pytest.approx(f_oneway(*groups).pvalue, rel=1e-9)
        within = sum(((one - one.mean()) ** 2).sum() for one in groups) / 57
        whole = np.concatenate(groups).var(ddof=1)
        # Kelley 1935: the share of the variance, less what chance gives.
        assert strength == pytest.approx(np.sqrt(max(0.0, 1 - within / whole)))


def test_what_cannot_be_associated_has_no_strength():
    assert association(np.arange(6), np.arange(6.0)) == (0.0, 1.0)
    assert association(np.arange(6) % 2, np.array(["a"] * 6)) == (0.0, 1.0)


def test_many_levels_explain_by_agreement_and_by_rows_of_the_largest():
    sizes = [9, 8, 7, 6, 5, 4, 3, 2, 1, 1]
    levels = RNG.permutation(np.repeat(np.array(list("abcdefghij")), sizes))
    found = functions(levels)
    pairs = list(combinations(range(len(levels)), 2))
    assert found[0].tolist() == [levels[i] == levels[j] for i, j in pairs]
    for line, level in zip(found[1:], "abcdefgh", strict=True):
        assert line.tolist() == [int(levels[i] == level) + int(levels[j] == level) for i, j in pairs]


@pytest.mark.parametrize("n_levels", [2, 3, 8])
def test_few_levels_explain_by_each_kind_of_pair(n_levels):
    levels = np.arange(20) % n_levels
    kinds = [tuple(sorted((levels[i], levels[j]))) for i, j in combinations(range(20), 2)]
    expected = [[one == kind for one in kinds] for kind in sorted(set(kinds))]
    # The sum of all is constant: the last one says nothing more.
    assert functions(levels).tolist() == [[float(one) for one in line] for line in expected[:-1]]


@pytest.mark.parametrize(("width", "n_removed"), [(4, 1), (15, 1), (16, 2), (24, 3), (80, 3)])
def test_lengths_elsewhere_lack_the_directions_of_largest_variance(rng, width, n_removed):
    X = rng.standard_normal((30, width)) + 5.0
    left, sizes, right = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    rest = left[:, n_removed:] * sizes[n_removed:] @ right[n_removed:]
    assert _lengths_elsewhere(X) == pytest.approx(np.linalg.norm(rest, axis=1), abs=1e-6)
