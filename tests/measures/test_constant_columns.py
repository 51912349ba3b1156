"""A feature that never varies changes no measure of differences between rows; each exception has its reason."""

import numpy as np
import pytest

import shesha.measures as measures

ANGLES = "angles are taken from the origin, and a constant moves all rows away from it"
UNITS = "dead units count among the units, with a correlation of 0"
EXCEPTIONS = {
    **dict.fromkeys(["Jaccard", "RankSim", "2nd-Cos", "mutual kNN", "RDM drift", "AlignCos", "ConcDiff"], ANGLES),
    **dict.fromkeys(["HardCorr", "SoftCorr", "soft matching"], UNITS),
    "RSA": "correlation distances subtract the mean of each row, which a further feature moves",
    "MagDiff": "lengths of rows are taken from the origin",
    "EOS": "columns are not centred, so a constant is a direction of its own",
    "PermProc": "columns are not centred, and those without a partner count",
    "sampled CKA": "features are a sample, and those that never vary are part of it",
    "sliced Wasserstein": "directions of projection are drawn for the number of features",
    "stability difference": "features are divided at random, and there is one more",
}
CENTRED = [name for name in measures.names() if name not in EXCEPTIONS]
RNG = np.random.default_rng(5)
X = RNG.standard_normal((30, 2)) @ RNG.standard_normal((2, 6)) + 0.5 * RNG.standard_normal((30, 6)) + 0.4
Y = X @ RNG.standard_normal((6, 6)) + RNG.standard_normal((30, 6))


def with_constant(rows, number):
    return np.column_stack([rows, np.full(len(rows), number)])


@pytest.mark.parametrize("number", [0.0, 0.3, 1e6 + 0.3], ids=str)
@pytest.mark.parametrize("name", CENTRED)
def test_a_constant_feature_changes_no_measure_of_differences(small, name, number):
    score = small(name).score
    known = pytest.approx(score(X, Y), rel=1e-9, abs=1e-12)
    assert score(with_constant(X, number), with_constant(Y, number)) == known
    if name != "MMD":
        assert score(with_constant(X, number), Y) == known


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_a_constant_feature_changes_each_exception(small, name):
    score = small(name).score
    assert score(with_constant(X, 7.0), with_constant(Y, 3.0)) != pytest.approx(score(X, Y), rel=1e-6)
