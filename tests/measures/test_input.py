"""Any array of real numbers will do, none is modified, and what comes back is a plain float."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest

from shesha.support.warnings import NotEstimable


@pytest.fixture
def two(rng):
    X = rng.integers(-40, 40, (30, 6)) / 8
    return X, np.round(8 * (X[:, ::-1] + rng.standard_normal((30, 6)))) / 8


SAME_NUMBERS = {
    "Fortran order": np.asfortranarray,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "reversed twice": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
    "nested lists": lambda X: X.tolist(),
    "frame": pd.DataFrame,
    "long": lambda X: X.astype(np.longdouble),
    # The numbers fit, so that nothing is rounded.
    "single precision": lambda X: X.astype(np.float32),
    "half precision": lambda X: X.astype(np.float16),
}


def test_how_numbers_are_stored_does_not_matter(measure, two):
    X, Y = two
    before, expected = (X.copy(), Y.copy()), measure.score(X, Y)
    for kind, store in SAME_NUMBERS.items():
        assert measure.score(store(X), store(Y)) == expected, kind
    assert np.array_equal(X, before[0]) and np.array_equal(Y, before[1])


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool])
def test_whole_numbers(measure, rng, dtype):
    X, Y = (rng.integers(0, 2 if dtype is bool else 9, (30, 6)).astype(dtype) for _ in range(2))
    X[X.sum(axis=1) == 0] = 1
    Y[Y.sum(axis=1) == 0] = 1
    try:
        assert measure.score(X, Y) == measure.score(X * 1.0, Y * 1.0)
    except NotEstimable as reason:
        assert dtype is bool or "different features are unrelated" in str(reason)


# UnifDiff says of these rows that they are too far apart for it.
@pytest.mark.filterwarnings("ignore::shesha.support.warnings.MeasureWarning")
def test_the_function_returns_the_measures_value_as_a_plain_float(measure, function_of, two):
    found = function_of(measure)(*two, **measure.options)
    assert type(found) is float
    assert found == measure.score(*two)


def test_function_and_measure_pickle(measure, function_of, two):
    function = function_of(measure)
    assert pickle.loads(pickle.dumps(function)) is function
    again = pickle.loads(pickle.dumps(measure))
    assert again == measure
    assert again.score(*two) == measure.score(*two)


def test_signature_tells_the_data_and_the_options(measure, function_of):
    parameters = list(inspect.signature(function_of(measure)).parameters.values())
    assert [p.name for p in parameters[:2]] == ["X", "Y"]
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in parameters[2:])
    assert [p.name for p in parameters[2:]] == [*measure.parameters, "covariates"]
    assert inspect.getdoc(function_of(measure)) == measure.doc
