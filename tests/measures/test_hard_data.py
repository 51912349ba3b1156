"""Data of any scale, offset, rank and tail: a number within the bounds, or NaN with its reason; never anything else."""

import warnings

import numpy as np
import pytest

import shesha.measures as measures
from shesha import MeasureWarning, NotEstimableWarning

N, D = 30, 6


def plain(n=N, d=D, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.3
    return X, X @ rng.standard_normal((d, d)) + rng.standard_normal((n, d))


X, Y = plain()
DRAW = np.random.default_rng(1)


def with_row(values):
    changed = X.copy()
    changed[3] = values
    return changed, Y


def with_column(values):
    changed = X.copy()
    changed[:, 2] = values
    return changed, Y


HARD = {
    "five rows": plain(5),
    "five rows, two columns": plain(5, 2),
    "four rows": plain(4),
    "repeated rows": (np.tile(X[:15], (2, 1)), Y),
    "repeated rows in both": (np.tile(X[:15], (2, 1)), np.tile(Y[:10], (3, 1))),
    "constant column": with_column(7.0),
    "constant column that rounds": with_column(0.1),
    "zero column": with_column(0.0),
    "rank 3": (X @ np.eye(D)[:, :3] @ DRAW.standard_normal((3, D)), Y),
    "rank 3, repeated columns": (np.tile(X[:, :3], 2), Y),
    "rank 1": (np.outer(X[:, 0], np.arange(1, D + 1)), Y),
    "offset of 1e6": (X + 1e6, Y + 1e6 * np.arange(1, D + 1)),
    "offset of 1e12": (X + 1e12, Y),
    **{f"times {scale}": (X * scale, Y) for scale in (1e-300, 1e-150, 1e-5, 1e5, 1e150, 1e300)},
    **{f"both times {scale}": (X * scale, Y * scale) for scale in (1e-300, 1e-150, 1e-5, 1e5, 1e150, 1e300)},
    "scales apart": (X * 1e150, Y * 1e-150),
    "columns of all scales": (X * np.geomspace(1e-150, 1e150, D), Y),
    "rows of all scales": (X * np.geomspace(1e-150, 1e150, N)[:, None], Y),
    "denormal": (X * 1e-310, Y),
    "Cauchy": tuple(DRAW.standard_t(1, (2, N, D))),
    "one far row": with_row(1e8 * np.arange(1, D + 1)),
    "whole numbers": (DRAW.integers(0, 3, (N, D)) + np.eye(N, D), DRAW.integers(1, 3, (N, D))),
    "one-hot": (np.eye(D)[np.arange(N) % D], np.eye(D)[np.arange(N) % 5]),
    "one-hot, one row each": (np.eye(N), DRAW.standard_normal((N, N))),
    "one-hot, one row each in both": (np.eye(N), 2 * np.eye(N)[::-1]),
    "signs": (np.where(X > 0, 1, -1), np.where(Y > 0, 1, -1)),
    "fewer rows than columns": tuple(DRAW.standard_normal((2, N, 80))),
    "one column": (X[:, :1], Y[:, :1]),
    "one column beside six": (X[:, :1], Y),
    "a constant row": with_row(2.0),
    "a zero row": with_row(0.0),
    "constant rows": (np.tile(X[:, :1], D), Y),
    "two values": (np.repeat([[0.0], [1.0]], N // 2, axis=0) * np.ones(D), Y),
    "opposite": (X, -X),
    "equal": (X, X),
    "single precision, offset": ((X + 1e4).astype(np.float32), Y.astype(np.float32)),
}


def test_a_number_within_bounds_or_a_reason(measure, function_of):
    low, high = measure.bounds
    for kind, sides in HARD.items():
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("error")
            warnings.simplefilter("always", NotEstimableWarning)
            if measure.remark is not None:
                warnings.simplefilter("ignore", MeasureWarning)
            found = function_of(measure)(*sides, **measure.options)
        assert type(found) is float, kind
        if np.isnan(found):
            assert len(told) == 1 and str(told[0].message).startswith("not estimable: "), kind
            assert told[0].filename == __file__, kind
        else:
            assert not told, kind
            assert low <= found <= high and np.isfinite(found), kind


ESTIMABLE = ["times 1e-150", "times 1e+150", "offset of 1e6", "Cauchy", "one far row", "single precision, offset"]


NOT_TO_BE_HAD = {
    # The share of the far row cancels, and leaves less than 1e-14 of the kernel.
    ("unbiased CKA", "one far row"),
    ("sampled CKA", "one far row"),
    # One row in one feature is nearly all there is.
    ("sampled CKA", "Cauchy"),
    # Overflows, as above.
    ("UnifDiff", "times 1e+150"),
}


def test_what_is_only_far_or_small_has_a_value(measure, value):
    name = measure.name.split("(")[0]
    without = {kind for kind in ESTIMABLE if value(measure, *HARD[kind]) is None}
    assert without <= {kind for exception, kind in NOT_TO_BE_HAD if exception == name}


def declaring(change):
    return [name for name in measures.names() if change in measures.get(name).invariant]


@pytest.mark.parametrize("measure", declaring("scaling"), indirect=True)
def test_scale_leaves_no_trace_where_declared(measure):
    expected = pytest.approx(measure.score(X, Y), rel=1e-9, abs=1e-12)
    for scale in (1e-300, 1e-150, 1e-5, 1e5, 1e150, 1e300):
        sides = ((X * scale, Y), (X, Y * scale), (X * scale, Y / scale), (X * scale, Y * scale))
        assert [measure.score(*pair) for pair in sides] == [expected] * 4, scale


@pytest.mark.parametrize("measure", declaring("translation"), indirect=True)
def test_offset_leaves_the_value_alone_where_declared(measure):
    centred = measure.score(X - X.mean(axis=0), Y - Y.mean(axis=0))
    assert measure.score(X + 1e6, Y - 1e6 * np.arange(1, D + 1)) == pytest.approx(centred, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-150, 1e-5, 1e5, 1e150])
@pytest.mark.parametrize("name", ["ProcDist", "PermProc", "RSMDiff", "MagDiff", "sliced Wasserstein"])
def test_distances_in_units_of_the_features_scale_with_them(scale, name, small):
    measure = small(name)
    assert measure.score(X * scale, Y * scale) == pytest.approx(scale * measure.score(X, Y), rel=1e-9)


@pytest.mark.parametrize("scale", [1e-150, 1e-5, 1e5, 1e150])
def test_mmd_has_the_units_of_its_bandwidth(scale, small):
    for bandwidth in (None, 2.0):
        one = small("MMD").with_options(bandwidth=bandwidth).score(X, Y)
        scaled = None if bandwidth is None else bandwidth * scale
        assert small("MMD").with_options(bandwidth=scaled).score(X * scale, Y * scale) == pytest.approx(one, rel=1e-9)


def test_near_duplicates_keep_their_neighbours(small):
    """Rows 1e-7 apart in six tight clusters: differences of rows still resolve them."""
    rng = np.random.default_rng(0)
    close, other = (rng.standard_normal((60, D)) * 1e-7 for _ in range(2))
    centres = np.repeat(rng.standard_normal((6, D)), 10, axis=0)
    found = small("Jaccard").with_options(metric="euclidean", k=3).score(centres + close, centres + other)
    assert found < 0.6


def test_neighbours_of_unrelated_rows_far_from_the_origin(small):
    rng = np.random.default_rng(0)
    one, two = rng.standard_normal((2, 60, D)) + 1e7
    assert small("Jaccard").score(one, two) < 0.5
