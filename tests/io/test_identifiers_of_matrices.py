"""Arrays with the identifiers of the rows of one matrix of a file, such as expert_0_token_idx beside expert_0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shesha
from shesha.io import open_file


@pytest.fixture
def tokens(rng: np.random.Generator) -> Any:
    """Vectors of 60 tokens, and the tokens of two experts."""
    return rng.standard_normal((60, 8)), rng.permutation(60)[:40], rng.permutation(60)[:40]


@pytest.mark.parametrize(
    "form", ["{}_token_idx", "{}_ids", "{}.index", "{}_names", "ids_{}", "{}-row_indices", "{}/keys"]
)
@pytest.mark.parametrize("kind", [int, str])
def test_rows_are_matched_by_the_identifiers_of_their_matrix(tmp_path, tokens, form, kind):
    X, first, second = tokens
    path, second = tmp_path / "a.npz", first[::-1]
    arrays = {form.format("expert_1"): first, "expert_1": X[first], form.format("expert_10"): second}
    np.savez(path, **{k: v.astype(kind) if v.ndim == 1 else v for k, v in arrays.items()}, expert_10=X[second])
    found = shesha.compare_all([path], "CKA")
    assert found["expert_1", "expert_10"].value == pytest.approx(1)
    assert any(text.startswith("rows matched by") for text in found.inputs)
    assert open_file(path).names_of("expert_10").values.astype(int).tolist() == second.tolist()
    assert open_file(path, keys=["expert_10"]).names_of("expert_10").values.astype(int).tolist() == second.tolist()


@pytest.mark.parametrize(
    ("arrays", "named"),
    [
        # One array of identifiers names the rows of all matrices, as before.
        ({"a": (40, 8), "b": (40, 8), "a_ids": 40}, "a_ids"),
        ({"a": (40, 8), "b": (40, 8), "ids": 40}, "ids"),
        # Neighbours, classes and features are no identifiers of rows.
        ({"a": (40, 8), "b": (40, 8), "a_nn_idx": 40, "b_nn_idx": 40}, "a_nn_idx"),
        ({"a": (40, 8), "b": (40, 8), "a_class_names": 40, "b_class_names": 40}, None),
        ({"a": (40, 40), "b": (40, 40), "a_feature_names": 40, "b_feature_names": 40}, None),
        # Parts of a data set.
        ({"train": (40, 8), "test": (30, 8), "train_ids": 40, "test_ids": -30}, None),
    ],
)
def test_other_arrays_do_not_name_the_rows_of_one_matrix(tmp_path, rng, arrays, named):
    def make(size: Any) -> np.ndarray:
        if isinstance(size, tuple):
            return rng.standard_normal(size)
        return rng.permutation(size) if size > 0 else 100 + np.arange(-size)

    np.savez(tmp_path / "a.npz", **{name: make(size) for name, size in arrays.items()})
    found = open_file(tmp_path / "a.npz")
    columns = {names.column for names in map(found.names_of, found.representations) if names is not None}
    assert columns == ({named} if named else set()) and found.names_by_array == {}


def test_repeated_token_numbers_do_not_identify_rows(tmp_path, rng):
    X, repeated = rng.standard_normal((40, 8)), np.arange(40) // 2
    np.savez(tmp_path / "a.npz", e0=X, e1=X, e0_token_idx=repeated, e1_token_idx=repeated)
    assert open_file(tmp_path / "a.npz").names_by_array == {}
