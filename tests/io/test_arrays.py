"""NumPy files: which arrays are representations, what they are called, and what stays on disk."""

import io
import re
import zipfile

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from shesha import io as files
from shesha.io.array_selection import _hold_one_input_each
from shesha.support.provenance import collect_statements
from shesha.support.warnings import RowNamesWarning


def test_npy_is_mapped_and_named_after_the_file(tmp_path):
    path = tmp_path / "resnet.layer4.npy"
    np.save(path, np.arange(12, dtype=np.float16).reshape(4, 3))
    [(name, matrix)] = files.read(path).items()
    assert name == "resnet.layer4"
    assert isinstance(matrix, np.memmap)
    assert matrix.dtype == np.float16
    np.testing.assert_array_equal(matrix, np.arange(12).reshape(4, 3))


def test_a_large_npy_is_not_loaded(tmp_path):
    path = tmp_path / "large.npy"
    header = io.BytesIO()
    shape = (10_000_000, 256)
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": shape})
    with path.open("wb") as stream:  # a hole of 10 GB, which takes no room on disk
        stream.write(header.getvalue())
        stream.truncate(len(header.getvalue()) + 4 * shape[0] * shape[1])
    matrix = files.read(path)["large"]
    assert matrix.shape == shape
    assert matrix[-1, -1] == 0


@pytest.mark.parametrize("order", ["C", "F"])
def test_3d_npy_is_split_into_layers(tmp_path, order):
    hidden = np.asarray(np.random.default_rng(0).normal(size=(6, 2, 3)), order=order)
    np.save(tmp_path / "m.npy", hidden)
    layers = files.read(tmp_path / "m.npy")
    assert list(layers) == ["m[0]", "m[1]"]
    np.testing.assert_array_equal(layers["m[1]"], hidden[:, 1])


@pytest.fixture(params=[np.savez, np.savez_compressed])
def npz(tmp_path, request):
    rng = np.random.default_rng(0)
    path = tmp_path / "many.npz"
    request.param(
        path,
        z_first=rng.normal(size=(5, 3)).astype(np.float32),
        hidden=rng.normal(size=(5, 2, 4)).astype(np.float16),
        label=np.arange(5),
        words=np.array(list("abcde")),
        scale=np.float64(2),
        variance=np.ones(3),
        images=np.zeros((5, 2, 2), dtype=np.uint8),
        pixels=np.zeros((5, 2, 2, 3), dtype=np.uint8),
        spectrum=np.ones((5, 2), dtype=complex),
        when=np.zeros((5, 2), dtype="M8[s]"),
        objects=np.array([{}] * 5),
    )
    return path


def test_npz_keeps_file_order_and_number_types(npz):
    read = files.read(npz)
    assert list(read) == ["z_first", "hidden[0]", "hidden[1]"]
    assert [str(matrix.dtype) for matrix in read.values()] == ["float32", "float16", "float16"]
    assert {matrix.shape for matrix in read.values()} == {(5, 3), (5, 4)}


def test_npz_says_what_it_skipped_and_why(npz):
    found = files.open_file(npz)
    assert found.skipped == {
        "label": "is 1-D with shape (5,), so it may contain labels",
        "words": "contains text, not numbers",
        "scale": "is a single value",
        "variance": "is 1-D with shape (3,), so it may contain labels",
        "images": "is 3-D with shape (5, 2, 2) and uint8 values; only floats are split into layers, so flatten it to "
        "(rows, features)",
        "pixels": "is 4-D with shape (5, 2, 2, 3); flatten it to (rows, features)",
        "spectrum": "contains complex numbers, not real ones",
        "when": "contains dates, not numbers",
        "objects": "contains pickled Python objects, which are never read",
    }
    assert found.labels_available == ("label", "words")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_only_what_the_keys_name_is_loaded(tmp_path, save):
    path = tmp_path / "m.npz"
    save(path, good=np.eye(4), bad=np.random.default_rng(0).normal(size=(100, 100)))
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo("bad.npy")
    content = bytearray(path.read_bytes())
    content[member.header_offset + member.compress_size - 1000] ^= 0xFF
    path.write_bytes(content)
    assert list(files.read(path, keys=["good"])) == ["good"]
    with pytest.raises(files.UnreadableFileError, match=r"cannot be read .*: the file is damaged"):
        files.read(path)


def test_an_array_cut_short_inside_the_archive(npz, tmp_path):
    damaged = tmp_path / "damaged.npz"
    with zipfile.ZipFile(npz) as source, zipfile.ZipFile(damaged, "w") as target:
        for member in source.infolist():
            data = source.read(member)
            target.writestr(member.filename, data[:-1] if member.filename == "hidden.npy" else data)
    with pytest.raises(
        files.UnreadableFileError, match=r"must contain 'hidden' completely, shape \(5, 2, 4\) of float16, got 79"
    ):
        files.read(damaged)


@pytest.mark.parametrize(
    ("keys", "error", "message"),
    [
        (
            ["nothing"],
            ValueError,
            r"keys must be among z_first, hidden\[0\], hidden\[1\] in .*many.npz, got 'nothing'$",
        ),
        (["hidden[2]"], ValueError, r"got 'hidden\[2\]'$"),
        (["pixels"], ValueError, r"got 'pixels', which cannot be used because it is 4-D with shape \(5, 2, 2, 3\)"),
        (["objects"], ValueError, "pickled Python objects, which are never read"),
        ([], ValueError, "keys must contain at least one name, got none"),
        ("hidden", TypeError, "keys must be a sequence of names, got 'hidden'"),
        ([1], TypeError, r"keys must be a sequence of names, got \[1\]"),
    ],
)
def test_keys_that_name_nothing(npz, keys, error, message):
    with pytest.raises(error, match=message):
        files.read(npz, keys=keys)


def test_a_file_without_representations_says_what_it_holds(tmp_path):
    np.savez(tmp_path / "labels.npz", label=np.arange(5), words=np.array(["a"]))
    with pytest.raises(
        files.UnreadableFileError,
        match=r"must contain a 2-D array .* got label \(is 1-D with shape \(5,\), .*words \(contains",
    ):
        files.read(tmp_path / "labels.npz")


def test_layer_names_that_collide(tmp_path):
    np.savez(tmp_path / "m.npz", **{"a": np.zeros((4, 2, 3)), "a[1]": np.zeros((4, 3))})
    with pytest.raises(files.UnreadableFileError, match=r"names in .* must be distinct, got 'a\[1\]' twice"):
        files.read(tmp_path / "m.npz")


def test_a_member_that_is_no_array_is_skipped(tmp_path):
    np.savez(tmp_path / "m.npz", a=np.eye(4))
    with zipfile.ZipFile(tmp_path / "m.npz", "a") as archive:
        archive.writestr("README.md", "made by hand")
    assert files.open_file(tmp_path / "m.npz").skipped == {"README.md": "is not an array"}


def test_bytes_behind_an_array_are_refused(tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, np.eye(4))
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as archive:
        archive.writestr("a.npy", buffer.getvalue() + b"more")
    with pytest.raises(files.UnreadableFileError, match=r"must end after 'a.npy'"):
        files.read(tmp_path / "m.npz")


def test_missing_values_and_empty_arrays_are_kept(tmp_path):
    np.savez(tmp_path / "m.npz", nan=np.full((4, 2), np.nan), empty=np.zeros((0, 3)))
    read = files.read(tmp_path / "m.npz")
    assert np.isnan(read["nan"]).all()
    assert read["empty"].shape == (0, 3)
    np.save(tmp_path / "none.npy", np.zeros((0, 3)))
    assert files.read(tmp_path / "none.npy")["none"].shape == (0, 3)


STACKS = {
    "hidden": (None, ()),
    "last_hidden_state": (r"got tokens along axis 1 \(or 0, .*, as its name shows. Average the tokens", ()),
    "forward_features": (r"got tokens along axis 1 \(or 0, .*, as its name shows. Average the tokens", ()),
    "encoder.token_embeddings": ("got tokens along axis 1", ()),
    "output": ("got tokens along axis 1 of .*, as attention_mask shows", ("attention_mask",)),
    "states": (None, ("mask_of_others",)),
    "data.spikes": ("the name of a recording. .* pass layer_axis=None", ()),
    "trials": ("the name of a recording", ()),
    "glm_betas": ("the name of a recording", ()),
    "responses": (r"Otherwise save numpy.moveaxis\(X, AXIS, 0\)", ()),
    "trial_embeddings": (None, ()),
}


@pytest.mark.parametrize("name", STACKS)
def test_tokens_and_neurons_are_not_taken_for_layers(tmp_path, rng, name):
    message, masks = STACKS[name]
    array = rng.standard_normal((20, 5, 8))
    np.savez(tmp_path / "m.npz", **{name: array}, **{mask: np.ones((20, 5)) for mask in masks})
    if message is None:
        assert f"{name}[4]" in files.read(tmp_path / "m.npz")
        return
    with pytest.raises(ValueError, match=message):
        files.read(tmp_path / "m.npz")
    assert files.read(tmp_path / "m.npz", layer_axis=None)[name].shape == (20, 5, 8)
    assert files.read(tmp_path / "m.npz", keys=[name], layer_axis=1)[f"{name}[0]"].shape == (20, 8)


AXES = {
    "mat, three": ("a.mat", "R", (6, 5, 8), False),
    "mat, four": ("a.mat", "R", (6, 5, 4, 8), False),
    "mat, five": ("a.mat", "R", (6, 5, 4, 8, 3), False),
    "mat, layers": ("a.mat", "layer_activations", (20, 3, 8), True),
    "mat, one layer": ("a.mat", "R", (20, 1, 8), True),
    "volumes": ("a.npz", "bold", (6, 5, 4, 8), False),
    "feature maps": ("a.npz", "conv1", (20, 3, 4, 4), True),
}


@pytest.mark.parametrize("kind", AXES)
def test_arrays_whose_axes_are_unknown_are_not_read_by_their_first_axis(tmp_path, rng, kind):
    file, name, shape, known = AXES[kind]
    array = rng.standard_normal(shape)
    save = savemat if file.endswith(".mat") else lambda path, arrays: np.savez(path, **arrays)
    save(tmp_path / file, {name: array})
    if known:
        assert {len(matrix) for matrix in files.read(tmp_path / file).values()} == {20}
        return
    with pytest.raises(ValueError, match=r"numpy.moveaxis\(X, AXIS, 0\).reshape\(X.shape\[AXIS\], -1\)"):
        files.read(tmp_path / file)


@pytest.mark.parametrize("names", [["layer_0", "layer_1"], ["hidden_states.3", "hidden_states.7"], ["h[0]", "h[1]"]])
def test_several_stacks_that_are_layers_contain_tokens(tmp_path, rng, names):
    np.savez(tmp_path / "m.npz", **{name: rng.standard_normal((20, 5, 8)) for name in names})
    with pytest.raises(ValueError, match=r"got 2 arrays of shape \(20, 5, 8\), .* axis 1 contains tokens"):
        files.read(tmp_path / "m.npz")
    assert list(files.read(tmp_path / "m.npz", layer_axis=None)) == names
    np.savez(tmp_path / "m.npz", **{f"step_{i}": rng.standard_normal((20, 5, 8)) for i in range(2)})
    assert len(files.read(tmp_path / "m.npz")) == 10


@pytest.mark.parametrize("name, axis", [("hidden_states", None), ("output", 0), ("output", 1)])
def test_layers_of_tokens_are_not_taken_for_feature_maps(tmp_path, rng, name, axis):
    array = rng.standard_normal((20, 5, 4, 8) if axis == 0 else (5, 20, 4, 8))
    masks = {} if axis is None else {"attention_mask": np.ones((20, 5 if axis == 0 else 4))}
    np.savez(tmp_path / "m.npz", **{name: array}, **masks)
    with pytest.raises(ValueError, match=r"got layers and tokens in .*8\), as (its name|attention_mask) shows"):
        files.read(tmp_path / "m.npz")
    for maps in ({"conv": array}, {"hidden_states": rng.standard_normal((20, 5, 4, 4))}):
        np.savez(tmp_path / "m.npz", **maps)
        assert files.read(tmp_path / "m.npz")[next(iter(maps))].ndim == 2


@pytest.mark.parametrize(
    "beside",
    [
        {"attention_mask": np.ones((20, 7), dtype=int)},
        {"input_ids": np.ones((20, 7), dtype=int), "padding_mask": np.ones((20, 7), dtype=bool)},
        {"neighbors": np.ones((20, 9), dtype=int), "distances": np.ones((20, 9))},
        {"knn_indices": np.ones((20, 9), dtype=int)},
    ],
)
def test_masks_and_neighbours_are_read_only_if_they_are_named(tmp_path, rng, beside):
    np.savez(tmp_path / "a.npz", features=rng.normal(size=(20, 6)), **beside)
    found = files.open_file(tmp_path / "a.npz")
    assert list(found.representations) == ["features"]
    assert set(found.skipped) == set(beside)
    assert set(files.open_file(tmp_path / "a.npz", keys=[*beside]).representations) == set(beside)
    np.savez(tmp_path / "b.npz", distances=rng.normal(size=(20, 6)))
    assert list(files.open_file(tmp_path / "b.npz").representations) == ["distances"]


@pytest.mark.parametrize(
    ("names", "rows", "refused"),
    [
        (["batch_0", "batch_1"], [20, 20], True),
        (["emb[0]", "emb[1]", "emb[2]"], [20, 20, 7], True),
        (["img_emb_0", "img_emb_1", "img_emb_2", "img_emb_3"], [20, 20, 20, 7], True),
        (["layer_0", "layer_1", "layer_2"], [20, 20, 20], False),
        (["sub-1", "sub-2", "sub-3"], [20, 15, 18], False),
    ],
)
def test_batches_of_rows_are_refused(tmp_path, rng, names, rows, refused):
    arrays = {name: rng.normal(size=(n, 6)) for name, n in zip(names, rows, strict=True)}
    np.savez(tmp_path / "a.npz", **arrays)
    if refused:
        with pytest.raises(files.UnreadableFileError, match=f"got {re.escape(names[0])} to .* parts of one"):
            files.read(tmp_path / "a.npz")
    else:
        assert set(files.read(tmp_path / "a.npz")) == set(names)
    assert len(files.read(tmp_path / "a.npz", keys=names)) == len(names)


@pytest.mark.parametrize(("volume", "refused"), [((4, 3, 2), True), ((3, 4, 2), False)])
def test_volumes_with_inputs_along_the_last_axis_are_refused(tmp_path, rng, volume, refused):
    np.savez(tmp_path / "a.npz", maps=rng.standard_normal((4, 3, 2, 30)), R2=rng.random(volume))
    if refused:
        with pytest.raises(files.UnreadableFileError, match=r"as that of R2 shows. Save numpy.moveaxis\(maps, 3, 0\)"):
            files.read(tmp_path / "a.npz")
    else:
        assert len(next(iter(files.read(tmp_path / "a.npz").values()))) == 4


@pytest.mark.parametrize("column", ["Symbol", "gene_id"])
def test_a_column_of_genes_names_features(tmp_path, column):
    rows = "".join(f"Gm{i},{i % 5},{i % 7},1\n" for i in range(30))
    (tmp_path / "t.csv").write_text(f"{column},s1,s2,s3\n{rows}")
    with pytest.warns(RowNamesWarning, match="rows look like genes .* pass transpose=True"):
        files.open_file(tmp_path / "t.csv")


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_matrices_of_scipy(tmp_path, rng, form):
    X = rng.poisson(0.3, (20, 9)).astype(float)
    matrix = sparse.coo_matrix(X)
    matrix.data[:3] = 0
    sparse.save_npz(tmp_path / "m.npz", matrix.asformat(form))
    np.testing.assert_array_equal(files.read(tmp_path / "m.npz")["m"], matrix.toarray())
    with np.load(tmp_path / "m.npz") as parts:
        broken = {**parts, "data": parts["data"][:-2]}
    np.savez(tmp_path / "broken.npz", **broken)
    with pytest.raises(ValueError, match=r"broken\.npz"):
        files.read(tmp_path / "broken.npz")


def test_values_of_other_sparse_formats_are_no_matrix(tmp_path):
    for form in ("dia", "bsr"):
        sparse.save_npz(tmp_path / "m.npz", sparse.eye(20, 9).asformat(form))
        with pytest.raises(files.UnreadableFileError, match=f"format csr, csc or coo, got {form}"):
            files.read(tmp_path / "m.npz")
    # Another file with these names: its arrays are what they are.
    np.savez(tmp_path / "other.npz", data=np.ones((5, 3)), format="image", shape=[5, 3])
    assert list(files.read(tmp_path / "other.npz")) == ["data"]


def test_arrays_that_cannot_be_read_come_with_a_way_to_save_them(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((5, 3)) * 1j)
    with pytest.raises(
        files.UnreadableFileError, match=r"Save the real and imaginary parts side by side, numpy.hstack"
    ):
        files.read(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", np.array([[1.0], [2.0]], dtype=object))
    with pytest.raises(files.UnreadableFileError, match=r"save numpy.stack\(numpy.load\(FILE, allow_pickle=True\)\)"):
        files.read(tmp_path / "a.npy")


@pytest.mark.filterwarnings("ignore::shesha.RowNamesWarning")
@pytest.mark.parametrize("name, doubted", [("trial_ids", True), ("paths", True), ("gene_ids", False), ("ids", True)])
def test_identifiers_of_columns_are_doubted(tmp_path, rng, name, doubted):
    ids = np.array([f"n{i}" for i in rng.permutation(12)])
    np.savez(tmp_path / "m.npz", responses=rng.standard_normal((5, 12)), **{name: ids})
    with collect_statements() as said:
        files.open_file(tmp_path / "m.npz")
    assert any(f"{name} has 12 entries, one per column" in text for text in said) == doubted
    found = files.open_file(tmp_path / "m.npz", transpose=True)
    assert found.row_names.values.tolist() == ids.tolist()


@pytest.mark.parametrize(
    ("rows", "each"), [([4, 4, 4, 4, 5, 5, 6, 7], True), ([4] * 5 + [5, 6, 7], False), ([4, 5, 6], False)]
)
def test_matrices_of_many_lengths_belong_to_one_input_each(rows, each):
    assert _hold_one_input_each({str(k): np.zeros((n, 3)) for k, n in enumerate(rows)}) == each


@pytest.mark.parametrize("name", ["state_dict.item.weight", "group/item.weight"])
def test_the_end_of_a_name_is_a_key(tmp_path, name):
    np.savez(tmp_path / "a.npz", **{name: np.eye(8, 4), "other.weight": np.eye(8, 5)})
    assert list(files.read(tmp_path / "a.npz", keys=["item.weight"])) == [name]
    with pytest.raises(ValueError, match="keys must be among"):
        files.read(tmp_path / "a.npz", keys=["tem.weight"])
