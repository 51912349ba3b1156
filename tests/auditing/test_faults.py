"""Faults of the data: counted and named exactly as a plain loop over the rows would."""

import itertools
import math
import tracemalloc
from unittest import mock

import numpy as np
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from shesha import audit
from shesha.auditing import representation_audit
from shesha.results import Faults
from shesha.views import Rows

# So few values that small matrices are full of zero rows, repeated rows and constant columns.
VALUES = [0.0, -0.0, 1.0, -1.0, 0.1, 5e-324, 1.7e308, math.nan, math.inf, -math.inf]
matrices = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=7), elements=st.sampled_from(VALUES))
block_sizes = st.integers(1, 20)


def find_faults(X):
    return representation_audit.find_faults(Rows(X, min_rows=0, min_columns=0))


def faults_by_loops(X):
    rows = [[float(value) for value in row] for row in X]
    bad = [[not math.isfinite(value) for value in row] for row in rows]
    texts = [[repr(value + 0.0) for value in row] for row in rows]
    return Faults(
        not_finite=sum(map(sum, bad)),
        not_finite_rows=tuple(i for i, row in enumerate(bad) if any(row)),
        zero_rows=tuple(i for i, row in enumerate(rows) if all(value == 0 for value in row)),
        duplicate_rows=tuple(i for i, row in enumerate(texts) if row in texts[:i]),
        constant_columns=tuple(j for j in range(len(rows[0])) if all(row[j] == rows[0][j] for row in rows)),
    )


def blocks_of(entries):
    return mock.patch.object(representation_audit, "_ENTRIES", entries)


@given(matrices, block_sizes)
def test_faults_are_those_of_a_plain_loop(X, entries):
    with blocks_of(entries):
        assert find_faults(X) == faults_by_loops(X)


@given(matrices, block_sizes, st.sampled_from([np.float32, np.float16, np.int8, np.uint64, bool]))
def test_every_number_type(X, entries, dtype):
    # What a cast makes of NaN or of a large number is the machine's choice, so they are replaced.
    X = np.where(np.abs(X) <= 1, X, 0.5).astype(dtype)
    with blocks_of(entries):
        assert find_faults(X) == faults_by_loops(X)


@given(st.integers(0, 2**32), st.sampled_from([1, 37, 1 << 20]))
def test_planted_faults_are_found_and_nothing_else(seed, entries):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 9))
    a, b, c, d, e, f = map(int, rng.permutation(40)[:6])
    column = int(rng.integers(9))
    X[:, column] = -3.25
    X[a, column - 1] = np.nan
    X[b, [column - 1, column - 2]] = np.inf, -np.inf
    first, later = sorted((c, d))
    X[later] = X[first]
    with blocks_of(entries):
        assert find_faults(X) == Faults(3, tuple(sorted((a, b))), (), (later,), (column,))
    X[e], X[f] = 0.0, -0.0
    with blocks_of(entries):
        assert find_faults(X) == Faults(
            3, tuple(sorted((a, b))), tuple(sorted((e, f))), tuple(sorted((later, max(e, f)))), ()
        )


def test_rows_that_differ_are_never_taken_for_repeats():
    every_binary_row = np.array(list(itertools.product([0.0, 1.0], repeat=12)))
    assert find_faults(every_binary_row).duplicate_rows == ()
    every_order = np.array(list(itertools.permutations(range(7))), dtype=float)
    assert find_faults(every_order).duplicate_rows == ()
    neighbours = np.nextafter(1.0, 2.0) ** np.arange(5)[:, None] * np.ones((5, 3))
    assert find_faults(neighbours).duplicate_rows == ()


def test_a_file_is_never_held_whole(tmp_path):
    X = np.random.default_rng(0).standard_normal((1000, 500))
    X[[3, 700]] = 0.0
    X[999, 499] = np.nan
    np.save(tmp_path / "X.npy", X)
    on_disk = np.load(tmp_path / "X.npy", mmap_mode="r")
    with blocks_of(10_000):
        tracemalloc.start()
        found = find_faults(on_disk)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert found == Faults(1, (999,), (3, 700), (700,), ())
    assert peak < X.nbytes / 4


def test_an_audit_tells_each_fault_on_a_line():
    X = np.random.default_rng(0).standard_normal((12, 5))
    X[:, 4] = 1.0
    X[5:] = X[0]
    X[1, 2:4] = np.nan
    report = audit(X).full_text()
    assert "! NaN or infinite entries: 2 (row 1)\n" in report
    assert "! rows that repeat an earlier row: 7 (rows 5, 6, 7, 8, 9, ...)\n" in report
    assert "! constant columns: 1 (column 4)\n" in report
    assert "rows of zeros" not in report
