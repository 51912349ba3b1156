"""What chance gives, by a formula: the mean over every permutation of the rows."""

from itertools import permutations

import numpy as np
import pytest

import shesha
from shesha.comparison.engine import outside_note
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


def test_saturation_names_measures_without_a_worst_value_and_those_that_no_matching_changes():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 128)), rng.standard_normal((60, 100))
    with pytest.warns(shesha.CalibrationWarning, match="saturate"):
        found = shesha.compare(X, Y, ["GULP", "EOS", "unbiased CKA"], calibrate=True, n_permutations=19, seed=0)
    assert "GULP, EOS saturate for 60 rows of 128 and 100 features" in " ".join(str(found).split())


def test_values_outside_of_what_they_estimate_are_named():
    assert outside_note(get("sampled CKA"), 1.37).startswith(
        "1.37, an estimate from a sample, is outside the range -1 to 1"
    )
    assert outside_note(get("sampled CKA"), 1.0) == outside_note(get("CKA"), 0.4) == ""
