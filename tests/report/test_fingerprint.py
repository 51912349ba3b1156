"""A fingerprint tells other values from the same ones, whatever holds them."""

from __future__ import annotations

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


def test_tensors_and_sparse_matrices_and_labels_have_one():
    sparse = pytest.importorskip("scipy.sparse")
    assert fingerprint(sparse.csr_array(X)) == fingerprint(X)
    assert fingerprint(np.array(["a", "b"])) == fingerprint(np.array(["a", "b"], dtype=object))
    assert fingerprint(["a", "b"]).startswith("2 words, SHA-256 ")
    torch = pytest.importorskip("torch")
    assert fingerprint(torch.from_numpy(X).requires_grad_()) == fingerprint(X)
