"""Sums that several threads accumulate contain every batch once."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import shesha
from shesha import LayerMoments, Moments


def test_batches_of_eight_threads_are_all_counted():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((4000, 6)), rng.standard_normal((4000, 5))
    Y[:, 0] += X[:, 0]
    moments, layers = Moments(), LayerMoments()

    def add(start: int) -> None:
        rows = slice(start, start + 10)
        moments.update(X[rows], Y[rows])
        layers.update({"a": X[rows]}, {"b": Y[rows]})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(0, 4000, 10)))
    assert len(moments) == len(layers) == 4000
    expected = shesha.compare(X, Y, "CKA")["CKA"].value
    assert abs(shesha.compare(moments, "CKA")["CKA"].value - expected) < 1e-12
    assert abs(shesha.compare_layers(layers, "CKA").closest.value - expected) < 1e-12


def test_moments_can_be_sent_to_another_process_and_still_grow():
    rows = np.random.default_rng(1).standard_normal((30, 4))
    moments = Moments()
    moments.update(rows, rows)
    copy = pickle.loads(pickle.dumps(moments))
    copy.update(rows, rows)
    assert (len(moments), len(copy)) == (30, 60)
    layers = LayerMoments()
    layers.update({"a": rows}, {"b": rows})
    copies = pickle.loads(pickle.dumps(layers))
    copies.update({"a": rows}, {"b": rows})
    assert (len(layers), len(copies)) == (30, 60)
