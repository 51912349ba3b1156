"""Results are kept with the cells, in `.uns` and in files of AnnData."""

import json

import numpy as np
import pytest

import shesha

anndata = pytest.importorskip("anndata")
RNG = np.random.default_rng(0)
X, GROUPS = RNG.standard_normal((60, 6)), np.repeat(["control", "a", "b"], 20)
RESULTS = {
    "audit": lambda: shesha.audit({"one": X, "two": X**2}, GROUPS, n_permutations=19, seed=0),
    "comparison": lambda: shesha.compare(X, X**2, ["CKA", "OrthProc"], calibrate=True, n_permutations=19),
    "coherence": lambda: shesha.coherence.coherence_by_group(X, GROUPS, "control", n_draws=19),
    "doubts": lambda: shesha.doubts(X, seed=0),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_read_back_from_h5ad(name, tmp_path):
    result = RESULTS[name]()
    cells = anndata.AnnData(X)
    cells.uns[name] = result.to_uns()
    cells.write_h5ad(tmp_path / "cells.h5ad")
    kept = anndata.read_h5ad(tmp_path / "cells.h5ad").uns[name]
    assert kept["text"] == str(result)
    assert json.loads(kept["json"]) == json.loads(result.to_json())
    table = result.to_frame(full=True)
    assert len(kept["table"]) == len(table)
    for column in table.select_dtypes(float):
        np.testing.assert_array_equal(kept["table"][column].to_numpy(), table[column].to_numpy())
