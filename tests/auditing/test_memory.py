"""Every path of an audit and of an estimate keeps to the memory budget."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import shesha
from shesha.support.warnings import MeasureWarning

pytest.importorskip("resource")

BUDGET = 500
"""Megabytes that may be used beside what the process takes at rest."""
SIZES = {"many rows": (20_729, 50), "below the limit of all pairs": (2_900, 50), "panels": (6_000, 200)}


SOME = [
    pytest.param(*size, id=name, marks=() if name == "many rows" else pytest.mark.slow) for name, size in SIZES.items()
]


@pytest.mark.parametrize("n, d", SOME)
def test_an_audit_with_labels_keeps_to_the_budget(n, d):
    code = f"""
        import resource, numpy as np, shesha
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal(({n}, {d})), rng.integers(0, 8, {n})
        shesha.audit(X[:60], y[:60], n_bootstrap=2, n_permutations=19)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found = shesha.audit(X, y, n_bootstrap=3, n_permutations=19)
        assert not found["X"].reason, found["X"].reason
        assert all(one.value == one.value for one in found["X"].supervised.values())
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
    """
    environment = {**os.environ, "SHESHA_MEMORY": f"{BUDGET}M", "SHESHA_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < BUDGET


def test_python_audits_files_that_cannot_be_mapped_as_the_command_does(tmp_path, monkeypatch):
    zarr = pytest.importorskip("zarr")
    X = np.random.default_rng(0).standard_normal((60_000, 16))
    np.save(tmp_path / "x.npy", X)
    zarr.create_array(store=str(tmp_path / "x.zarr"), data=X, chunks=(7_000, 16))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setenv("SHESHA_MEMORY", "6M")
    quick = {"n_bootstrap": 0, "n_permutations": 0, "pairs": 20_000}
    expected = shesha.audit(tmp_path / "x.npy", **quick)
    told = "x.zarr takes too much of the memory budget, so its rows are copied to a temporary file of 7 MiB"
    for path in (tmp_path / "x.zarr", [str(tmp_path / "x.zarr")]):
        with pytest.warns(MeasureWarning, match=told):
            found = shesha.audit(path, **quick)
        assert found["x"].scores["feature_split"].value == expected["x"].scores["feature_split"].value
        assert found["x"].descriptors == expected["x"].descriptors
        assert not list(temporary.iterdir())
