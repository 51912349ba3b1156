"""Several representations beside one reference within classes: each is the comparison with it alone."""

import numpy as np
import pytest

from shesha import compare_within


@pytest.fixture(scope="module")
def cells():
    rng = np.random.default_rng(1)
    types = np.repeat(["B", "T"], 30)
    X = rng.standard_normal((60, 6)) + 4 * (types == "T")[:, None]
    lost = np.where((types == "T")[:, None], rng.standard_normal((60, 6)), X)
    return X, {"kept": X[:, ::-1], "lost": lost}, types


@pytest.fixture(scope="module")
def found(cells):
    return compare_within(*cells, ("RSA", "CKA"), names="before", n_permutations=39)


def test_each_is_the_comparison_with_the_reference(cells, found):
    X, others, types = cells
    for name, one in others.items():
        alone = compare_within(X, one, types, ("RSA", "CKA"), names=("before", name), n_permutations=39)
        again = found[name]
        assert again.corrected == alone.corrected
        for kind in ("B", "T"):
            assert [score.value for score in again[kind]] == [score.value for score in alone[kind]]
    assert (found["kept"].kept, found["lost"].lost) == (("B", "T"), ())
    assert found["lost"].class_verdict("T") == "undecided", "30 rows do not exclude that some of it is left"
