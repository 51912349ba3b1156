"""A fingerprint tells other values from the same ones, whatever holds them."""

import hashlib

import numpy as np
import pandas as pd
import pytest

from shesha.report import fingerprint

X = np.arange(6.0).reshape(3, 2)


def test_it_is_the_hash_of_the_values_in_the_order_of_the_rows():
    assert fingerprint(X) == f"3 x 2 float64, SHA-256 {hashlib.sha256(X.astype('<f8').tobytes()).hexdigest()}"


def test_what_holds_the_values_does_not_matter():
    for same in (np.asfortranarray(X), X.astype(">f8"), X.tolist(), pd.DataFrame(X, index=list("abc"))):
        assert fingerprint(same) == fingerprint(X)


def test_other_values_orders_and_types_differ():
    found = {fingerprint(one) for one in (X, X + 1e-12, X[::-1], X.T, X.astype(np.float32), X.ravel())}
    assert len(found) == 6


def test_a_sparse_matrix_has_one_whatever_its_form_and_is_never_made_dense(monkeypatch):
    sparse = pytest.importorskip("scipy.sparse")
    made = sparse.csr_array(X)
    parts = made.data.astype("<f8"), np.array([1, 0, 1, 0, 1], "<i8"), np.array([0, 1, 3, 5], "<i8")
    expected = f"3 x 2 sparse float64, SHA-256 {hashlib.sha256(b''.join(one.tobytes() for one in parts)).hexdigest()}"
    # Entries in another order, one of them in two parts, and a zero that is written down.
    entries = [5.0, 2.0, 2.5, 3.0, 1.0, 0.0, 1.5], ([2, 1, 2, 1, 0, 0, 2], [1, 0, 0, 1, 1, 0, 0])
    scattered = sparse.coo_array(entries, shape=(3, 2))
    unsorted = sparse.csr_array((np.array([1.0, 3, 2, 5, 4]), [1, 1, 0, 1, 0], [0, 1, 3, 5]), shape=(3, 2))
    before = unsorted.indices.copy()
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix):
        monkeypatch.setattr(kind, "toarray", None)
    for same in (made, made.tocsc(), made.tocoo(), sparse.csr_matrix(made), scattered, unsorted):
        assert fingerprint(same) == expected
    np.testing.assert_array_equal(unsorted.indices, before)
    assert len({fingerprint(one) for one in (made, made * 2, made[::-1], made.T, made.astype(np.float32))}) == 5


def test_a_large_sparse_matrix_costs_no_more_than_its_entries():
    sparse = pytest.importorskip("scipy.sparse")
    made = sparse.coo_array(([1.0, 2.0], ([0, 999_999], [5, 0])), shape=(1_000_000, 1_000_000)).tocsr()
    assert fingerprint(made).startswith("1,000,000 x 1,000,000 sparse float64, SHA-256 ")
    assert fingerprint(made * 0) != fingerprint(made)


def test_nothing_and_single_numbers_have_one():
    assert fingerprint(np.empty((0, 3))).startswith("0 x 3 float64, SHA-256 e3b0c442")
    assert fingerprint(np.array([True])) != fingerprint(np.array([False]))


def test_tensors_and_labels_have_one():
    assert fingerprint(np.array(["a", "b"])) == fingerprint(np.array(["a", "b"], dtype=object))
    assert fingerprint(["a", "b"]).startswith("2 words, SHA-256 ")
    torch = pytest.importorskip("torch")
    assert fingerprint(torch.from_numpy(X).requires_grad_()) == fingerprint(X)
