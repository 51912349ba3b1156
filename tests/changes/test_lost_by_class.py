"""Shares of neighbours that classes lost are the means over their rows."""

import numpy as np
import pytest

from shesha.changes.row_map import losses_by_class, neighbours_lost
from shesha.views import Representation

K = 5


def neighbours(X):
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -2)
    return [set(row) for row in np.argsort(-cosines, axis=1)[:, :K].tolist()]


@pytest.mark.parametrize("n_classes", [2, 3, 30])
def test_losses_are_those_of_a_loop_largest_first(n_classes):
    rng = np.random.default_rng(n_classes)
    before = rng.standard_normal((90, 8))
    after = before + rng.random((90, 1)) * rng.standard_normal((90, 8))
    labels = [f"c{i % n_classes:02}" for i in range(90)]
    found = losses_by_class(neighbours_lost(Representation.build(before), Representation.build(after), K), labels)
    lost = np.array([1 - len(a & b) / K for a, b in zip(neighbours(before), neighbours(after), strict=True)])
    expected = {name: lost[[one == name for one in labels]].mean() for name in sorted(set(labels))}
    assert found == pytest.approx(expected)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_one_class_or_more_than_can_be_shown_give_nothing():
    side = Representation.build(np.random.default_rng(0).standard_normal((62, 4)))
    for n_classes, n_known in ((1, 0), (2, 2), (30, 30), (31, 0)):
        found = losses_by_class(neighbours_lost(side, side, K), [str(i % n_classes) for i in range(62)])
        assert len(found) == n_known and not any(found.values())
