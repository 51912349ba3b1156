"""What chance gives, by a formula: the mean over every permutation of the rows."""

from itertools import permutations

import numpy as np
import pytest

import shesha
from shesha.measures import get


@pytest.mark.parametrize("name", ["CKA", "CKA(kernel=rbf)", "unbiased CKA", "RSA", "mutual kNN(k=2)"])
def test_the_mean_over_all_permutations(name):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((6, 4)), rng.standard_normal((6, 3))
    (found,) = shesha.compare(X, Y, name)
    every = [get(name).score(X, Y[list(order)]) for order in permutations(range(6))]
    assert found.chance == pytest.approx(np.mean(every), abs=1e-10)


def test_it_stands_beside_raw_values_only_where_it_is_known():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 100)), rng.standard_normal((60, 80))
    found = shesha.compare(X, Y, ["CKA", "CCA", "LinReg"])
    assert "value  chance\n" in str(found)
    assert found["LinReg"].chance != found["LinReg"].chance
    assert "width" in found.doubts.names
    assert "value  chance\n" not in str(shesha.compare(X, Y, "LinReg"))
