"""Views of every measure: permuted, shared, made once, and the same for any number of threads."""

import numpy as np
import pytest

from shesha.measures import get, names
from shesha.views import Folds, Representation

EXACT = 1e-12


def looked(measure, X):
    return measure.look(Representation.build(X))


def test_a_permuted_view_is_the_view_of_permuted_rows(measure, estimable, rng):
    for X, Y, _ in estimable(measure):
        order = rng.permutation(len(Y))
        expected = pytest.approx(measure.score(X, Y[order]), rel=EXACT, abs=EXACT)
        a, b = looked(measure, X), looked(measure, Y)
        assert measure.compare_views(a, b.permute(order)) == expected
        # What a first comparison has computed must move along.
        measure.compare_views(a, b)
        assert measure.compare_views(a, b.permute(order)) == expected
        back = rng.permutation(len(Y))
        assert measure.compare_views(a, b.permute(back).permute(np.argsort(back)[order])) == expected


def test_permuted_subsets_are_the_subsets_of_permuted_rows(small, rng):
    measure = small("RTD").with_options(subset_size=12)
    X, Y = rng.standard_normal((2, 30, 4))
    order = rng.permutation(30)
    found = measure.compare_views(looked(measure, X), looked(measure, Y).permute(order))
    assert found == pytest.approx(measure.score(X, Y[order]), rel=EXACT)


@pytest.mark.parametrize("measure", [name for name in names() if get(name).view is not Folds], indirect=True)
def test_permuting_both_changes_nothing(measure, estimable, rng):
    """But where rows are dealt into folds by their places."""
    for X, Y, found in estimable(measure):
        order = rng.permutation(len(Y))
        a, b = (looked(measure, side).permute(order) for side in (X, Y))
        assert measure.compare_views(a, b) == pytest.approx(found, rel=EXACT, abs=EXACT)


@pytest.mark.parametrize("name", ["Jaccard", "RankSim", "mutual kNN", "CKNNA"])
def test_permuted_views_of_unrelated_data_have_the_values_of_unrelated_data(name):
    """Where many rows tie as well: else every comparison of whole-number data is above its own chance."""
    measure, observed, null = get(name).with_options(k=4), [], []
    for draw in range(30):
        rng = np.random.default_rng(draw)
        X, Y = (np.eye(4)[rng.integers(0, 4, 60)] for _ in range(2))
        a, b = looked(measure, X), looked(measure, Y)
        observed.append(measure.compare_views(a, b))
        null.append(measure.compare_views(a, b.permute(rng.permutation(60))))
    error = np.sqrt((np.var(observed) + np.var(null)) / 30)
    assert abs(np.mean(observed) - np.mean(null)) < 4 * error


def test_same_number_for_one_thread_and_two(measure, rng, with_threads):
    # More rows than one panel of distances.
    X = rng.standard_normal((300, 6))
    Y = X @ rng.standard_normal((6, 6)) + rng.standard_normal((300, 6))
    one, two = (with_threads(n, lambda: measure.score(X, Y)) for n in (1, 2))
    assert one == two


def test_measures_with_equal_keys_share_their_view(measure, rng):
    source = Representation.build(rng.standard_normal((12, 6)))
    assert measure.look(source) is measure.look(source)
    kind, options = measure.view_key
    assert source.view(kind, **dict(options)) is measure.look(source)


def test_arrays_of_a_view_are_left_alone_by_comparing(measure, rng):
    X, Y = rng.standard_normal((2, 20, 6))
    a, b = looked(measure, X), looked(measure, Y)
    first = measure.compare_views(a, b)
    assert [measure.compare_views(a, b) for _ in range(2)] == [first, first]


@pytest.mark.parametrize("shape", [(10, 4), (1000, 50), (50, 1000)])
def test_memory_of_a_view_is_told_beforehand(measure, shape):
    kind, options = measure.view_key
    told = np.atleast_1d(kind.memory(*shape, **dict(options)))
    assert (told >= 0).all() and told.sum() > 0
