"""Differences of the outputs of two classifiers."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from shesha_bench.output_differences import accuracy_difference, disagreement, jensen_shannon


@pytest.fixture
def outputs(rng):
    found = rng.dirichlet(np.full(4, 0.3), size=(2, 30))
    found[0, 0], found[1, 0] = [1, 0, 0, 0], [0, 0.5, 0.5, 0]
    return found


def twin_jsd(p, q):
    total = 0.0
    for a, b in zip(p, q, strict=True):
        for u, v in zip(a, b, strict=True):
            middle = (u + v) / 2
            total += (u * math.log(u / middle) if u > 0 else 0) / 2 + (v * math.log(v / middle) if v > 0 else 0) / 2
    return total / len(p)


def test_jensen_shannon(outputs):
    p, q = outputs
    assert jensen_shannon(p, q) == pytest.approx(twin_jsd(p, q))
    assert jensen_shannon(p, q) == pytest.approx(np.mean([jensenshannon(a, b) ** 2 for a, b in zip(p, q, strict=True)]))
    assert jensen_shannon(q, p) == pytest.approx(jensen_shannon(p, q))
    assert jensen_shannon(p, p) == 0
    assert jensen_shannon(np.eye(2), np.eye(2)[::-1]) == pytest.approx(math.log(2))


def test_disagreement_and_accuracy(outputs):
    p, q = outputs
    assert (
        disagreement(p, q)
        == sum(max(range(4), key=list(a).__getitem__) != b.argmax() for a, b in zip(p, q, strict=True)) / 30
    )
    labels = p.argmax(axis=1)
    assert accuracy_difference(p, q, labels) == pytest.approx(disagreement(p, q))
    assert accuracy_difference(q, p, labels) == accuracy_difference(p, q, labels)


@pytest.mark.parametrize("difference", [jensen_shannon, disagreement])
@pytest.mark.parametrize(
    ("p", "q", "message"),
    [
        ([0.5, 0.5], [[0.5, 0.5]], "p must be a non-empty 2-D array"),
        ([[0.5, 0.5]], [[0.5, 0.5], [1, 0]], r"q must have the shape of p, \(1, 2\), got \(2, 2\)"),
        ([[0.5, 0.5]], [[2.0, -1.0]], "q must contain finite, non-negative probabilities"),
        ([[0.5, np.nan]], [[0.5, 0.5]], "p must contain finite, non-negative probabilities"),
        ([[2.0, 3.0]], [[0.5, 0.5]], "p must have rows that sum to one, got a sum that deviates by 4"),
    ],
)
def test_bad_outputs(difference, p, q, message):
    with pytest.raises(ValueError, match=message):
        difference(p, q)


def test_sums_may_deviate_by_the_rounding_of_half_precision():
    assert disagreement([[0.6, 0.3995]], [[0.4, 0.6]]) == 1
    with pytest.raises(ValueError, match=r"p must have rows that sum to one, got a sum that deviates by 0\.002"):
        disagreement([[0.6, 0.398]], [[0.4, 0.6]])
    with pytest.raises(ValueError, match="q must have rows that sum to one"):
        disagreement([[1, 0], [1, 0]], [[1, 0], [0, 0]])


@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (2,), (1, 2, 2)])
def test_outputs_are_tables_with_rows_and_classes(shape):
    with pytest.raises(ValueError, match="p must be a non-empty 2-D array"):
        jensen_shannon(np.full(shape, 0.5), np.full(shape, 0.5))


@pytest.mark.parametrize("labels", [[0], [0, 2], [0, -1], [0.0, 1.0]])
def test_bad_labels(labels):
    with pytest.raises(ValueError, match="labels must"):
        accuracy_difference(np.eye(2), np.eye(2), labels)
