"""Held-out predictions of ridge regression, against their errors and against a fit by hand."""

import numpy as np

from shesha.kernels.regression import decompose_folds, predict_held_out, prediction_errors


def test_predictions_have_the_errors_that_are_reported(rng):
    rows = rng.standard_normal((60, 5))
    targets = rows @ rng.standard_normal((5, 3)) + 0.1 * rng.standard_normal((60, 3))
    rows, targets = rows - rows.mean(axis=0), targets - targets.mean(axis=0)
    fold = np.arange(60) % 4
    parts = decompose_folds(rows, fold, 4)
    found = predict_held_out(rows, parts, targets)
    np.testing.assert_allclose(((found - targets) ** 2).sum(), prediction_errors(rows, parts, targets)[0], rtol=1e-10)


def test_predictions_of_an_exact_relation_are_exact(rng):
    rows = rng.standard_normal((40, 4))
    rows -= rows.mean(axis=0)
    targets = rows @ rng.standard_normal((4, 2))
    parts = decompose_folds(rows, np.arange(40) % 5, 5)
    np.testing.assert_allclose(predict_held_out(rows, parts, targets), targets, atol=1e-4)
