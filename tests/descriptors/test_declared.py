"""Whatever a descriptor declares of itself holds, and what it does not declare is not so: for every one there is.

The tests are made from the marks, so that a new descriptor is tested as soon as it is marked.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import ortho_group

import shesha
from shesha.descriptors import descriptor, descriptors, spectrum_and_dimension
from shesha.inputs.validation import INVARIANCES
from shesha.views import Plain, Representation

N = 42
DESCRIPTORS = descriptors()
every = pytest.mark.parametrize("one", DESCRIPTORS.values(), ids=list(DESCRIPTORS))


def of(one, X):
    """What the marked function gives: NaN with a warning where there is no value."""
    import importlib

    return getattr(importlib.import_module(one.function.__module__), one.function.__name__)(X)


def of_data(one, every):
    """The value for each of some data; NaN where it is not estimable."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", shesha.NotEstimableWarning)
        return [of(one, X) for X in every]


def independent(rng):
    return rng.standard_normal((N, 6)) + 0.3


def low_rank(rng):
    return rng.standard_normal((N, 3)) @ rng.standard_normal((3, 9)) + 0.2 * rng.standard_normal((N, 9))


def heavy_tails(rng):
    return rng.standard_t(2, (N, 8)) * np.geomspace(1, 20, 8) + 1


def wide(rng):
    return rng.standard_normal((N, 60)) * np.geomspace(0.1, 10, 60)


def tied(rng):
    return rng.integers(0, 2, (N, 3)) * 1.0


def two_rows(rng):
    return rng.standard_normal((2, 5))


DATA = {
    f"{make.__name__} {draw}": make(np.random.default_rng([draw, number]))
    for number, make in enumerate((independent, low_rank, heavy_tails, wide, tied, two_rows))
    for draw in range(2)
}
PLAIN = DATA["independent 0"]
CHANGED = {
    "scaling": [lambda X: X * 1e-5, lambda X: X * 3, lambda X: X * 1e5],
    "translation": [lambda X: X + 7.0, lambda X: X + np.linspace(-30, 50, X.shape[1])],
    "orthogonal": [lambda X: X @ ortho_group.rvs(X.shape[1], random_state=1)],
}


def close(a, b, tolerance=1e-9):
    return abs(a - b) <= tolerance * max(abs(a), abs(b)) + 1e-11


@every
def test_bounds_are_never_left(one):
    low, high = one.bounds
    found = [value for value in of_data(one, DATA.values()) if value == value]
    assert low <= min(found) < max(found) <= high


@every
@pytest.mark.parametrize("change", INVARIANCES)
def test_invariances_hold_if_declared_and_only_then(one, change):
    pairs = [(X, version(X)) for X in DATA.values() for version in CHANGED[change]]
    same = [close(*found) or np.isnan(found).all() for found in (of_data(one, pair) for pair in pairs)]
    assert all(same) if change in one.invariant else not all(same)


@every
def test_rows_that_are_all_equal_have_no_value_and_a_reason(one):
    with pytest.warns(shesha.NotEstimableWarning, match="not estimable: all rows are equal"):
        assert np.isnan(of(one, np.full((5, 3), 7.0)))


@every
def test_every_form_of_the_same_numbers_gives_the_same_value(one, tmp_path):
    torch = pytest.importorskip("torch")
    X = PLAIN.astype(np.float32).astype(np.float64)
    X[np.abs(X) < 0.4] = 0
    found = of(one, X)
    np.save(tmp_path / "rows.npy", X)
    forms = {
        "list": X.tolist(),
        "single precision": X.astype(np.float32),
        "Fortran order": np.asfortranarray(X),
        "every second row": np.repeat(X, 2, axis=0)[::2],
        "mapped file": np.load(tmp_path / "rows.npy", mmap_mode="r"),
        "sparse CSR": sparse.csr_array(X),
        "sparse COO": sparse.coo_matrix(X),
        "tensor": torch.from_numpy(X.copy()),
        "representation": Representation.build(X),
        "table": pd.DataFrame(X),
    }
    for form, other in forms.items():
        assert close(of(one, other), found), form


@every
def test_distances_are_refused(one):
    with pytest.raises(TypeError, match=f"X must be features for {one.name}, got distances between rows"):
        of(one, shesha.Rdm(shesha.compute_rdm(PLAIN)))


@every
def test_an_audit_tells_those_that_are_part_of_it(one):
    found = shesha.audit(PLAIN, n_bootstrap=0, n_permutations=19)
    assert (one.name in found.meanings) == one.audited
    if one.audited:
        assert found["X"].descriptors[one.name] == of(one, PLAIN)


@pytest.fixture
def forgotten(monkeypatch):
    """Whatever a test registers is gone after it."""
    monkeypatch.setattr(spectrum_and_dimension.DESCRIPTORS, "known", dict(spectrum_and_dimension.DESCRIPTORS.known))


DECLARED = {
    "view": Plain,
    "title": "Largest entry",
    "bounds": (-np.inf, np.inf),
    "means": "The largest number.",
    "means_not": "Nothing else.",
    "reference": "nobody 2026",
}


def test_no_number_has_a_reason(forgotten):
    mark = descriptor(**DECLARED)

    @mark
    def largest(view, *, power=1.0):
        return view.rows.max() ** power

    assert largest(PLAIN) == PLAIN.max() and largest(PLAIN, power=2) == PLAIN.max() ** 2
    with pytest.warns(shesha.NotEstimableWarning, match="not estimable: largest did not return a number"):
        assert np.isnan(largest(PLAIN, power=np.nan))
    with pytest.raises(TypeError, match=r"largest\(\) must take one representation; options are keyword-only"):
        largest(PLAIN, 2)
