"""Rows come from files, loaders and clusters, and give what arrays give."""

import numpy as np
import pytest
import scipy.sparse
import torch

import shesha
from shesha import Moments
from shesha.moments import merge_all, row_sources as sources
from shesha.moments.summed_views import SummedFeatures
from shesha.moments.sums import FirstRows


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    return rng.standard_normal((3_000, 6)).astype(np.float32), rng.standard_normal((3_000, 5)).astype(np.float32)


def require_equal(found, pair):
    one, other = merge_all(found.parts()), merge_all(Moments.of(*pair).parts())
    assert one.n_rows == other.n_rows
    assert np.abs(one.cross[0, 1] - other.cross[0, 1]).max() < 1e-10


def write(tmp_path, ending, rows, name="a"):
    path = tmp_path / f"{name}{ending}"
    if ending == ".npy":
        np.save(path, rows)
    elif ending == ".zarr":
        zarr = pytest.importorskip("zarr")
        array = zarr.create_array(store=str(path), shape=rows.shape, chunks=(700, rows.shape[1]), dtype=rows.dtype)
        array[:] = rows
    else:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        column = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.ravel()), rows.shape[1])
        parquet.write_table(pyarrow.table({"vector": column}), path, row_group_size=900)
    return path


@pytest.mark.parametrize("ending", [".npy", ".zarr", ".parquet"])
def test_files_are_read_in_stretches(tmp_path, pair, ending, monkeypatch):
    monkeypatch.setattr(sources, "stretch_rows", lambda sides: 512)
    require_equal(Moments.of(*(write(tmp_path, ending, side, str(i)) for i, side in enumerate(pair))), pair)


def test_numeric_columns_of_a_table_are_features(tmp_path, pair):
    import pandas as pd

    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(pair[0], columns=list("abcdef")).assign(label="x")
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=1_000)
    require_equal(Moments.of(tmp_path / "x.parquet", pair[1]), pair)


def test_several_arrays_in_a_store_need_a_key(tmp_path, pair):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "g.zarr"), mode="w")
    for name in ("x", "y"):
        group.create_array(name, data=pair[0])
    with pytest.raises(ValueError, match=r"key must be one of x, y in .*g.zarr, got None"):
        shesha.io.open_matrix(tmp_path / "g.zarr")
    assert shesha.io.open_matrix(tmp_path / "g.zarr", "y").shape == (3_000, 6)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"path must end in one of .npy, .zarr, .parquet to be read in chunks"):
        Moments.of(tmp_path / "a.csv", np.zeros((1, 2)))
    np.save(tmp_path / "a.npy", np.zeros(5))
    with pytest.raises(ValueError, match=r"must contain a matrix of real numbers"):
        Moments.of(tmp_path / "a.npy", np.zeros((5, 2)))


def test_nan_in_a_file_is_named_by_its_row(tmp_path, pair):
    X = pair[0].copy()
    X[2_500, 3] = np.nan
    with pytest.raises(
        ValueError, match=r"X must be finite, got NaN or infinity in rows 2500 of the batch that begins"
    ):
        Moments.of(write(tmp_path, ".npy", X), pair[1])


def test_loaders_generators_and_mappings(pair):
    dataset = torch.utils.data.TensorDataset(*map(torch.as_tensor, pair))
    require_equal(Moments.of(torch.utils.data.DataLoader(dataset, batch_size=128)), pair)
    slices = [slice(start, start + 170) for start in range(0, 3_000, 170)]
    require_equal(Moments.of((pair[0][one], pair[1][one]) for one in slices), pair)
    require_equal(Moments.of({"x": pair[0][one], "y": pair[1][one]} for one in slices), pair)
    with pytest.raises(ValueError, match=r"batches must contain at least one row, got an empty stream"):
        Moments.of(iter([]))
    with pytest.raises(TypeError, match=r"a batch must be a tuple"):
        Moments.of([3])
    with pytest.raises(TypeError, match=r"Moments.of needs two representations, or one iterable of batches"):
        Moments.of(pair[0])


def test_sparse_rows_with_a_dense_partner(pair):
    sparse = scipy.sparse.random(3_000, 9, 0.1, format="coo", rng=0)
    require_equal(Moments.of(sparse, pair[1] + 1e4), (sparse.toarray(), pair[1] + 1e4))
    moments = Moments()
    for start in range(0, 3_000, 7):
        moments.update(sparse.tocsr()[start : start + 7], pair[1][start : start + 7])
    require_equal(moments, (sparse.toarray(), pair[1]))


def test_tensors_are_summed_by_their_library(pair, monkeypatch):
    monkeypatch.setenv("SHESHA_ARRAYS", "own")
    x, y = (torch.as_tensor(side) for side in pair)
    require_equal(Moments.of(x, y), pair)
    moments = Moments()
    for start in range(0, 3_000, 100):
        moments.update(x[start : start + 100], y[start : start + 100])
    require_equal(moments, pair)
    with pytest.raises(ValueError, match=r"X must be finite"):
        moments.update(torch.full((2, 6), torch.nan), y[:2])


def test_ctrl_c_keeps_a_state_that_the_same_call_resumes(tmp_path, pair, monkeypatch):
    monkeypatch.setattr(sources, "stretch_rows", lambda sides: 512)
    paths = [write(tmp_path, ".npy", side, str(i)) for i, side in enumerate(pair)]
    state, counted = tmp_path / "state.npz", []
    add = Moments.add_unchecked

    def interrupt(self, sides):
        if len(counted) == 3:
            raise KeyboardInterrupt
        counted.append(len(sides[0]))
        add(self, sides)

    monkeypatch.setattr(Moments, "add_unchecked", interrupt)
    with pytest.raises(KeyboardInterrupt):
        Moments.of(*paths, state=state)
    assert len(Moments.load(state)) == 3 * 512
    monkeypatch.setattr(Moments, "add_unchecked", add)
    require_equal(Moments.of(*paths, state=state), pair)
    np.save(paths[0], pair[0] + 1)
    with pytest.raises(ValueError, match=r"state must belong to the same data"):
        Moments.of(*paths, state=state)


def test_rows_that_are_equal_up_to_storage_have_no_length(rng):
    """Rows that differ by less than a step of their number type, which is smaller the more rows there are."""
    ones = np.float32(0.1) * np.ones((400, 30), dtype=np.float32)
    nearly = np.where(rng.random(ones.shape) < 0.02, np.nextafter(ones, np.float32(1)), ones)
    moments = Moments()
    moments.update(nearly, rng.standard_normal((400, 5)))
    assert SummedFeatures(moments.side("X")).centred_norm == 0


def test_single_rows_show_the_dependence_that_a_batch_shows(rng):
    walk = rng.standard_normal((300, 6)).cumsum(axis=0)
    at_once, in_turn = FirstRows(), FirstRows()
    at_once.add([walk])
    for row in range(300):
        in_turn.add([walk[row : row + 1]])
    assert in_turn.signs == at_once.signs != ""
