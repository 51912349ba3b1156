"""Square matrices of which only the diagonal is not finite, such as Fisher's z of correlations."""

from __future__ import annotations

import numpy as np
import pytest

import shesha

REMEDY = r"if it contains similarities, pass shesha.Rdm of 1 - r with a diagonal of zeros \(r = numpy.tanh\(.*\) for"


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_the_diagonal_is_named_instead_of_rows_to_be_dropped(rng, value):
    z = np.arctanh(np.corrcoef(rng.standard_normal((30, 50))) * 0.99)
    np.fill_diagonal(z, value)
    with pytest.raises(ValueError, match=f"without numbers on its diagonal, .*{REMEDY}"):
        shesha.compare(z, z[::-1])
    with pytest.raises(ValueError, match=f"only on its diagonal, .*{REMEDY}"):
        shesha.core.feature_split(z)
    found = shesha.audit({"z": z}, n_bootstrap=0, n_permutations=0)
    reason = "a square matrix without numbers (NaN or infinity) on its diagonal, like correlations or Fisher's z"
    assert found["z"].reason.startswith(reason)
    assert not any("similarities" in text for text in found.inputs)
    if np.isinf(value):
        with pytest.raises(ValueError, match=r"got infinity only on its diagonal. Set the diagonal to zeros"):
            shesha.Rdm(1 - z)
    np.fill_diagonal(z, 1e3)
    assert shesha.audit(1 - np.tanh(z) * (1 - np.eye(30)), n_bootstrap=0, n_permutations=0)["X"].reason == ""


@pytest.mark.parametrize("kind", ["one more", "not all", "not square"])
def test_other_missing_values_are_named_by_row(rng, kind):
    X = rng.standard_normal((30, 30))
    np.fill_diagonal(X, np.nan)
    if kind == "one more":
        X[3, 4] = np.inf
    X = X[:, :20] if kind == "not square" else X
    if kind == "not all":
        X[3, 3] = 1.0
    found = shesha.audit({"X": X}, n_bootstrap=0, n_permutations=0)
    assert found["X"].reason.startswith("NaN or infinity in ") and 'missing="drop"' in found["X"].reason
