"""`shesha audit` of files beyond the memory whose rows cannot be mapped."""

import json

import numpy as np
import pytest


@pytest.mark.parametrize("ending", [".zarr", ".parquet"])
def test_files_that_cannot_be_mapped_give_what_the_array_gives(invoke, tmp_path, ending, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60_000, 16)), rng.integers(0, 3, 60_000)
    file = tmp_path / f"x{ending}"
    if ending == ".zarr":
        pytest.importorskip("zarr").create_array(store=str(file), data=X, chunks=(7_000, 16))
    else:
        arrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        lists = arrow.FixedSizeListArray.from_arrays(arrow.array(X.ravel()), 16)
        parquet.write_table(arrow.table({"vector": lists, "kind": y}), file, row_group_size=7_000)
    np.save(tmp_path / "x.npy", X)
    np.savetxt(tmp_path / "y.csv", y, header="kind", comments="", fmt="%d")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setenv("SHESHA_MEMORY", "6M")
    quick = ("--quick", "--bootstrap", 0, "--permutations", 0, "--pairs", 20_000, "--labels", tmp_path / "y.csv")
    found = []
    for path in (tmp_path / "x.npy", file):
        ended = invoke("audit", path, *quick, "--json", tmp_path / "found.json")
        assert ended.status == 0, ended
        assert ("its rows are copied to a temporary file of 7 MiB" in ended.err) == (path == file)
        found.append(json.loads((tmp_path / "found.json").read_text())["representations"])
        assert not list(temporary.iterdir())
    assert found[0] == found[1]
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 10}))
    with pytest.raises(
        ValueError, match=r"the temporary folder must have 7 MiB of free space for a copy of .*, got 0 KiB"
    ):
        invoke("audit", file, *quick)
