"""Vectors stored as codes of one byte or packed bits."""

import numpy as np
import pytest

from shesha.inputs import split_names
from shesha.inputs.quantised import decode, infer_storage
from shesha.io import open_file
from shesha.support.provenance import collect_statements

RNG = np.random.default_rng(0)


def vectors(n, d, k=12):
    X = RNG.standard_normal((n, k)) @ RNG.standard_normal((k, d)) + 0.5 * RNG.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def codes_of(X):
    low, high = X.min(axis=0), X.max(axis=0)
    return np.round((X - low) / (high - low) * 255).astype(np.uint8), low, high


@pytest.mark.parametrize(("n", "d"), [(400, 64), (100, 384), (1000, 256), (60, 1024)])
def test_codes_and_bits_are_recognised(n, d):
    X = vectors(n, d)
    codes, packed = codes_of(X)[0], np.packbits(X > 0, axis=1)
    shifted = (codes.astype(int) - 128).astype(np.int8)
    assert infer_storage(codes) == infer_storage(shifted) == "codes"
    np.testing.assert_array_equal(decode(codes, "X"), shifted)
    signs = np.where(X > 0, 1, -1)
    np.testing.assert_array_equal(decode(packed, "X"), signs)
    np.testing.assert_array_equal(decode((packed.astype(int) - 128).astype(np.int8), "X"), signs)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("n", "d"), [(30, 24), (80, 24), (300, 64)])
def test_codes_and_bits_of_clusters_are_recognised(n, d, seed):
    rng = np.random.default_rng(seed)
    centres = 2 * rng.standard_normal((5, 32))
    X = (centres[rng.integers(5, size=n)] + 0.4 * rng.standard_normal((n, 32))) @ rng.standard_normal((32, 8 * d))
    assert infer_storage(codes_of(X[:, :d])[0]) != "bits"
    assert infer_storage(np.packbits(X > 0, axis=1)) == "bits"
    assert infer_storage(np.packbits(rng.standard_normal((n, 8 * d)) > 0, axis=1)) == "bits"


@pytest.mark.parametrize("dtype", ["u1", "i8"])
def test_numbers_of_centroids_are_no_vectors(tmp_path, dtype):
    np.save(tmp_path / "pq_codes.npy", RNG.integers(128, size=(40, 8)).astype(dtype))
    with pytest.raises(ValueError, match="pq_codes must contain vectors, got codes of product quantisation"):
        open_file(tmp_path / "pq_codes.npy")


@pytest.mark.parametrize("kind", ["counts", "smooth", "binary", "few"])
def test_counts_and_images_stay_as_they_are(kind):
    walk = np.cumsum(RNG.standard_normal((200, 784)), axis=1)
    values = {
        "counts": RNG.poisson(3, (300, 100)),
        "smooth": (walk - walk.min()) / np.ptp(walk) * 255,
        "binary": RNG.integers(0, 2, (100, 50)),
        "few": RNG.integers(100, 150, (5, 50)),
    }[kind].astype(np.uint8)
    assert infer_storage(values) == ""
    assert decode(values, "X") is values


SCALES = {
    "zero points": (lambda low, high, step: {"scale": step, "zero_point": -low / step}, "scale and zero point"),
    "zero points with the name of the codes": (
        lambda low, high, step: {"X_scale": step, "X_zero_point": -low / step},
        "scale and zero point",
    ),
    "an offset of the vectors": (lambda low, high, step: {"scale": step, "offset": low}, "scale and offset"),
    "lowest values and steps": (lambda low, high, step: {"min": low, "scale": step}, "ranges"),
    "limits": (lambda low, high, step: {"lower": low, "upper": high}, "ranges"),
    "scalar quantiser of FAISS": (
        lambda low, high, step: {"vmin": low - step / 2, "vdiff": high - low},
        "ranges",
    ),
}


@pytest.mark.parametrize("kind", SCALES)
def test_a_scale_in_the_file_is_used(tmp_path, kind):
    X = vectors(50, 16)
    codes, low, high = codes_of(X)
    step = (high - low) / 255
    arrays, what = SCALES[kind]
    np.savez(tmp_path / "m.npz", X=codes, **arrays(low, high, step))
    with collect_statements() as said:
        found = open_file(tmp_path / "m.npz").representations["X"]
    np.testing.assert_allclose(found, codes * step + low, atol=1e-12)
    assert list(said) == [f"X: uint8 codes, dequantised by the {what} in the file"]


@pytest.mark.parametrize("kind", ["i4", "u1", "i8", "f4", "one"])
def test_zero_points_are_subtracted_whatever_their_type(tmp_path, kind):
    codes = codes_of(vectors(50, 16))[0]
    zero = np.array(128, "i4") if kind == "one" else RNG.integers(50, 200, 16).astype(kind)
    np.savez(tmp_path / "m.npz", X=codes, scale=np.full(16, 0.1), zero_points=zero, steps=np.arange(50))
    found = open_file(tmp_path / "m.npz").representations["X"]
    np.testing.assert_allclose(found, 0.1 * (codes - zero.astype(float)), atol=1e-12)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "recording", "counts", "pixels"])
def test_bits_of_floats_are_refused(tmp_path, kind):
    X = vectors(50, 16)
    values = {
        "float16": X.astype("f2").view("u2"),
        "bfloat16": (X.astype("f4").view("u4") >> 16).astype("u2"),
        "recording": (1000 * X).astype("i2"),
        "counts": RNG.poisson(300, (50, 16)).astype("u2"),
        "pixels": RNG.integers(0, 65536, (50, 16)).astype("u2"),
    }[kind]
    np.save(tmp_path / "x.npy", values)
    if "float" not in kind:
        np.testing.assert_array_equal(open_file(tmp_path / "x.npy").representations["x"], values)
        return
    for bits in (values, values.view("i2")):
        np.save(tmp_path / "x.npy", bits)
        with pytest.raises(ValueError, match=r"X must contain numbers, got u?int16 values that look like the bits"):
            split_names(bits)
        with pytest.raises(ValueError, match="look like the bits of bfloat16 or float16; save"):
            open_file(tmp_path / "x.npy")


def test_ranges_of_sentence_transformers_are_used():
    X = vectors(50, 16)
    codes, low, high = codes_of(X)
    found = decode((codes.astype(int) - 128).astype(np.int8), "X", {"ranges": np.stack([low, high])})
    assert np.abs(found - X).max() <= ((high - low) / 255).max()


def test_feature_maps_are_flattened_and_layers_are_counted(tmp_path):
    maps, tokens = RNG.standard_normal((10, 2, 3, 4)), RNG.standard_normal((40, 5, 6))
    np.savez(tmp_path / "m.npz", maps=maps, tokens=tokens)
    with collect_statements() as said:
        found = open_file(tmp_path / "m.npz").representations
    np.testing.assert_array_equal(found["maps"], maps.reshape(10, -1))
    assert sorted(said) == [
        "maps: feature maps 10 x 2 x 3 x 4, flattened to 10 x 24",
        "tokens: 5 representations of 40 rows along axis 1 of 40 x 5 x 6; for tokens or places, pass layer_axis=None "
        "(--layer-axis none)",
    ]


@pytest.mark.parametrize("zero", [False, True])
def test_columns_with_a_scale_per_row_dequantise_the_codes_beside_them(zero, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X = vectors(40, 16) * np.exp(RNG.standard_normal((40, 1)))
    low = X.min(axis=1, keepdims=True) if zero else 0.0
    step = (X.max(axis=1, keepdims=True) - low) / 255 if zero else np.abs(X).max(axis=1, keepdims=True) / 127
    codes = np.round((X - low) / step).astype(int)
    frame = pandas.DataFrame({"id": [f"d{i}" for i in range(40)], "vec": list(codes), "vec_scale": step[:, 0]})
    if zero:
        frame["vec_zero_point"] = (-low / step)[:, 0]
    frame.to_parquet(tmp_path / "a.parquet")
    with collect_statements() as statements:
        found = open_file(tmp_path / "a.parquet").representations["vec"]
    np.testing.assert_allclose(found, X, atol=step.max())
    assert any(f"dequantised by the scale{' and zero point' * zero} in the file" in text for text in statements)
    np.testing.assert_array_equal(split_names(frame)[0], found)


def test_two_codes_of_four_bits_in_each_byte_are_refused():
    levels = np.clip(np.round(8 + 3 * RNG.standard_normal((300, 32))), 0, 15).astype("u1")
    with pytest.raises(ValueError, match="q must contain vectors, got bytes that look like two codes of 4 bits"):
        decode(levels[:, ::2] << 4 | levels[:, 1::2], "q")
    assert decode(levels << 4 | RNG.integers(0, 16, levels.shape, dtype="u1"), "q").dtype == np.int8
