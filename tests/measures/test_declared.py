"""Whatever a measure declares of itself holds, and whatever it does not declare is not so: for every measure there is.

The tests are made from the marks, so that a new measure is tested as soon as it is marked.
"""

import numpy as np
import pytest
from scipy.stats import ortho_group

import shesha.measures as measures
from shesha.measures.registry import INVARIANCES
from shesha.support.warnings import NotEstimable
from shesha.views import Folds, Representation

TIGHT = 1e-9
"""Relative; what rounding may do to a value under a change that leaves it alone."""
FLOOR = 1e-11
"""Absolute, for values that are nearly zero: differences of numbers of size one."""
NEAR_ZERO = 1e-7
"""Distances of equal things are roots of rounding, so that half of the digits are left."""


def close(a, b, tolerance=TIGHT):
    return abs(a - b) <= tolerance * max(abs(a), abs(b)) + FLOOR


def linear_map(d):
    """Invertible, far from a rotation, and far from singular."""
    left, right = ortho_group.rvs(d, size=2, random_state=d)
    return left * np.geomspace(0.3, 3, d) @ right


CHANGES = {
    "orthogonal": lambda X: [X @ ortho_group.rvs(X.shape[1], random_state=1)],
    "linear": lambda X: [X @ linear_map(X.shape[1])],
    "affine": lambda X: [X @ linear_map(X.shape[1]) + np.linspace(-5, 9, X.shape[1])],
    "permutation": lambda X: [X[:, np.random.default_rng(4).permutation(X.shape[1])], X[:, ::-1]],
    "scaling": lambda X: [X * 1e-5, X * 3, X * 1e5],
    "translation": lambda X: [X + 1.0, X + np.linspace(-30, 50, X.shape[1])],
}


def changed_values(measure, change, X, Y):
    """Values after every version of the change, of X alone and of Y alone."""
    for other in CHANGES[change](X):
        yield measure.score(other, Y)
    for other in CHANGES[change](Y):
        yield measure.score(X, other)


OTHERWISE = [
    "Procrustes similarity(published=True)",
    "Procrustes similarity(center=False)",
    "Procrustes similarity(scale=False)",
    "GULP(ridge=0.1)",
    "linear predictivity(direction=forward)",
]
"""Options that change what is declared."""
MARKS = {name: measures.get(name) for name in (*measures.names(), *OTHERWISE)}
DECLARED = [(name, change) for name, mark in MARKS.items() for change in INVARIANCES if change in mark.invariant]
UNDECLARED = [(name, change) for name in MARKS for change in INVARIANCES if (name, change) not in DECLARED]


@pytest.mark.parametrize(("measure", "change"), DECLARED, indirect=["measure"])
def test_declared_invariance_holds(measure, estimable, change):
    for X, Y, before in estimable(measure):
        for after in changed_values(measure, change, X, Y):
            assert close(before, after)


@pytest.mark.parametrize(("measure", "change"), UNDECLARED, indirect=["measure"])
def test_undeclared_invariance_does_not_hold(measure, estimable, change):
    assert any(
        not close(before, after, 1e-4)
        for X, Y, before in estimable(measure)
        for after in changed_values(measure, change, X, Y)
    )


@pytest.mark.parametrize("measure", MARKS, indirect=True)
def test_symmetric_if_declared_and_only_then(measure, estimable):
    gaps = [close(measure.score(Y, X), found) for X, Y, found in estimable(measure)]
    assert all(gaps) if measure.symmetric else not all(gaps)


def told(measure, X):
    """Whether there is something to remark on the data, such as units that never fire."""
    return measure.remark is not None and measure.score_and_remark(X, X)[1]


def test_value_with_itself(measure, pairs, value):
    sides = [X for pair in pairs.values() for X in pair if not told(measure, X)]
    found = [(value(measure, X, X.copy()), X) for X in sides]
    defined = [(itself, X) for itself, X in found if itself is not None]
    assert len(defined) >= 16
    for itself, X in defined:
        if measure.self_value is not None:
            size = 1.0 if "scaling" in measure.invariant else max(1.0, np.linalg.norm(X))
            assert itself == pytest.approx(measure.self_value, abs=NEAR_ZERO * size)
    if measure.self_value is None:
        assert np.ptp([itself for itself, _ in defined]) > 1e-3


@pytest.mark.parametrize("measure", MARKS, indirect=True)
def test_bounds_are_never_left(measure, value, pairs):
    low, high = measure.bounds
    sides = [side for pair in pairs.values() for side in pair]
    for number, X in enumerate(sides):
        for Y in (*sides[number : number + 3], -X):
            if measure.paired and len(X) != len(Y):
                continue
            found = value(measure, X, Y)
            assert found is None or low <= found <= high


def test_a_noisy_copy_is_closer_than_something_else(measure, rng):
    X = rng.standard_normal((36, 6)) + 0.3
    # Other in direction, spread, offset and evenness, so that coarse measures see it as well.
    other = np.outer(rng.standard_t(2, 36), np.geomspace(4, 1, 6)) + 0.2 * rng.standard_normal((36, 6)) + 2
    near, far = measure.score(X, X + 0.01 * rng.standard_normal(X.shape)), measure.score(X, other)
    assert near > far if measure.higher_is_closer else near < far


def test_rows_count_if_declared_and_only_then(measure, estimable, rng):
    orders = [rng.permutation, lambda n: np.roll(np.arange(n), 1)]
    same = [close(measure.score(X, Y[order(len(Y))]), found) for X, Y, found in estimable(measure) for order in orders]
    # Counts of neighbours may agree by luck.
    assert np.mean(same) < 0.2 if measure.paired else all(same)


@pytest.mark.parametrize("measure", [name for name in MARKS if not issubclass(MARKS[name].view, Folds)], indirect=True)
def test_the_order_of_the_inputs_does_not_count(measure, estimable):
    """But where they are dealt into folds by their places."""
    for X, Y, found in estimable(measure):
        assert close(measure.score(X[::-1], Y[::-1]), found)


def test_numbers_of_rows_may_differ_if_rows_do_not_count(measure, rng):
    X, Y = rng.standard_normal((20, 6)), rng.standard_normal((31, 6))
    if measure.paired:
        with pytest.raises(ValueError, match=r"Y must have as many rows as X \(20\), got 31"):
            measure.score(X, Y)
    else:
        low, high = measure.bounds
        assert low <= measure.score(X, Y) <= high


def test_widths_may_differ_unless_declared(measure, rng):
    X, Y = (rng.standard_normal((20, d)) + rng.standard_normal((20, 1)) for d in (6, 7))
    if measure.equal_widths:
        with pytest.raises(NotEstimable, match="needs equal widths, got 6 and 7 features"):
            measure.score(X, Y)
    else:
        assert np.isfinite(measure.score(X, Y))


@pytest.mark.parametrize("measure", [name for name in MARKS if MARKS[name].inner_product], indirect=True)
def test_value_rises_with_the_inner_product_where_declared(measure, estimable):
    found = []
    for X, Y, one in estimable(measure):
        a, b = (measure.look(Representation.build(side)) for side in (X, Y))
        found.append((a.inner(b), one if measure.higher_is_closer else -one))
    found.sort()
    assert (np.diff([one for _, one in found]) >= -FLOOR).all()


def test_every_property_shows_in_the_table():
    table = measures.table()
    assert list(table.index) == measures.names()
    for name in measures.names():
        declared = measures.get(name)
        assert {change for change in INVARIANCES if table.loc[name, change]} == declared.invariant
        assert (table.loc[name, "possible_low"], table.loc[name, "possible_high"]) == declared.bounds
        assert table.loc[name, "symmetric"] == declared.symmetric
