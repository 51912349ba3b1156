"""One meaning for arrays of three dimensions: layers where several representations can be, and how to say otherwise."""

import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st

import shesha
from shesha import io as files
from shesha.support.layer_axis import MOST_LAYERS, layer_sequence, split, split_layers
from shesha.support.warnings import GuessedLayersWarning

RNG = np.random.default_rng(0)
SIDES = st.integers(0, 2000)
MANY = RNG.standard_normal((40, 4, 6))
FEW = np.ascontiguousarray(np.moveaxis(MANY, 1, 0))


@pytest.mark.parametrize(
    ("shape", "axis", "against", "doubtful"),
    [
        ((872, 7, 384), 1, False, False),
        ((21, 7, 384), 1, False, False),
        ((20, 7, 384), 1, False, True),
        ((7, 7, 384), 1, False, True),
        ((7, 20, 384), 1, False, True),
        ((7, 21, 384), 0, True, True),
        ((7, 872, 384), 0, True, True),
        ((1, 3, 5), 0, True, True),
        ((0, 5, 3), 1, False, True),
        ((5, 0, 3), 1, False, True),
    ],
)
def test_the_documented_order_stays_unless_the_shape_speaks_against_it(shape, axis, against, doubtful):
    found = split(shape)
    assert (found.axis, found.against_default, found.doubtful, found.guessed) == (axis, against, doubtful, True)


@given(SIDES, SIDES, SIDES)
def test_the_shorter_axis_wins_where_the_difference_is_large_whatever_is_documented(a, b, c):
    axes = [split((a, b, c), default=default).axis for default in (0, 1)]
    if 3 * min(a, b) <= max(a, b) and min(a, b) > 0:
        assert axes == [int(b < a)] * 2
    else:
        assert axes == [0, 1]


@pytest.mark.parametrize(("given", "axis"), [(0, 0), (1, 1), (2, 2), (-1, 2), (-3, 0), (np.int64(1), 1), (None, None)])
def test_what_is_said_counts_whatever_the_shape(given, axis):
    found = split((7, 872, 384), given)
    assert (found.axis, found.guessed, found.doubtful) == (axis, False, False)


def test_the_sentence_tells_the_reading_and_the_others():
    expected = (
        "an array of shape (7, 872, 384), read as 7 layers of 872 rows. "
        "If this is wrong, pass {0}1 (872 layers of 7 rows) or {0}{1} (one representation)"
    )
    found = split((7, 872, 384))
    assert found.describe() == expected.format("layer_axis=", "None")
    assert found.describe("--layer-axis ") == expected.format("--layer-axis ", "none")
    assert split((1, 872, 3), 0).describe() == "an array of shape (1, 872, 3), read as 1 layer of 872 rows"
    assert split((2, 3, 4), 2).describe() == "an array of shape (2, 3, 4), read as 4 layers of 2 rows"
    assert split((2, 3, 4), None).describe() == "an array of shape (2, 3, 4), read as one representation"


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_layers_are_those_of_the_axis(axis):
    found = split_layers({"a": MANY, 7: MANY[:, 0]}, layer_axis=axis)
    assert list(found) == [*(f"a[{i}]" for i in range(MANY.shape[axis])), 7]
    for i in range(MANY.shape[axis]):
        np.testing.assert_array_equal(found[f"a[{i}]"], MANY.take(i, axis=axis))
    assert found[7] is not MANY


def test_a_guess_is_said_and_an_answer_is_not():
    with pytest.warns(GuessedLayersWarning, match=r"a is an array of shape \(40, 4, 6\), read as 4 layers of 40 rows"):
        many = split_layers({"a": MANY})
    with pytest.warns(
        GuessedLayersWarning, match=r"read as 4 layers of 40 rows\. .* layer_axis=1 \(40 layers of 4 rows"
    ):
        few = split_layers({"a": FEW.tolist()})
    assert list(many) == list(few)
    for one in many:
        np.testing.assert_array_equal(many[one], few[one])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert split_layers({"a": MANY}, layer_axis=None)["a"] is MANY
        split_layers({"a": MANY}, layer_axis=1)


def test_tensors_are_split_where_they_are():
    torch = pytest.importorskip("torch")
    found = split_layers({"a": torch.as_tensor(MANY)}, layer_axis=1)
    assert isinstance(found["a[2]"], torch.Tensor)
    np.testing.assert_array_equal(found["a[2]"].numpy(), MANY[:, 2])


def test_hundreds_of_representations_are_made_only_on_request(tmp_path):
    X = np.zeros((500, MOST_LAYERS + 1, 1), dtype=np.float32)
    message = (
        r"must have at most 300 layers to be split automatically, got an array of shape \(500, 301, 1\), read as 301 "
        r"layers of 500 rows\. If this is wrong, pass layer_axis=0 .*\. If it is right, pass layer_axis=1 "
        r"\(--layer-axis 1\)"
    )
    with pytest.raises(ValueError, match=f"^a {message}"):
        split_layers({"a": X})
    assert len(split_layers({"a": X}, layer_axis=1)) == MOST_LAYERS + 1
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(ValueError, match=f"a in .* {message}"):
        files.read(tmp_path / "a.npy")
    assert len(files.read(tmp_path / "a.npy", layer_axis=1)) == MOST_LAYERS + 1
    # A few that are asked for by name are no guess gone wrong.
    assert list(files.read(tmp_path / "a.npy", keys=["a[3]", "a[300]"])) == ["a[3]", "a[300]"]
    np.save(tmp_path / "a.npy", X[:, :MOST_LAYERS])
    assert len(files.read(tmp_path / "a.npy")) == MOST_LAYERS


def test_a_sequence_of_layers_counts_them_first():
    found = layer_sequence(FEW, "layers_a")
    assert len(found) == 4 and all(np.array_equal(one, two) for one, two in zip(found, FEW, strict=True))
    square = np.ones((5, 6, 2))
    assert [one.shape for one in layer_sequence(square, "layers_a")] == [(6, 2)] * 5
    with pytest.warns(
        GuessedLayersWarning, match=r"layers_a is .*, read as 4 layers of 40 rows\. .* layer_axis=0 \(40"
    ):
        found = layer_sequence(MANY, "layers_a")
    assert len(found) == 4
    assert [one.shape for one in layer_sequence(MANY, "layers_a", None)] == [MANY.shape]
    given = [MANY, MANY]
    assert layer_sequence(given, "layers_a") is given


# Files, functions and one array: the same layers everywhere.


@pytest.mark.parametrize("array", [MANY, FEW], ids=["rows first", "layers first"])
@pytest.mark.parametrize("axis", ["guess", 0, 1, 2])
def test_a_file_and_an_array_are_the_same_layers(tmp_path, array, axis):
    np.savez(tmp_path / "m.npz", a=array)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuessedLayersWarning)
        read = files.read(tmp_path / "m.npz", layer_axis=axis)
        made = split_layers({"a": array}, axis)
    assert list(read) == list(made)
    for name in read:
        np.testing.assert_array_equal(read[name], made[name])


@pytest.mark.parametrize("ending", ["npy", "npz", "safetensors", "zarr"])
def test_every_format_reads_layers_alike(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    if ending == "npy":
        np.save(path, FEW)
    elif ending == "npz":
        np.savez(path, a=FEW)
    elif ending == "safetensors":
        pytest.importorskip("safetensors.numpy").save_file({"a": FEW}, path)
    else:
        pytest.importorskip("zarr").save_array(path, FEW)
    with pytest.warns(GuessedLayersWarning, match=r"a in .* is an array of shape \(4, 40, 6\), read as 4 layers of 40"):
        assert {one.shape for one in files.read(path).values()} == {(40, 6)}
    found = files.open_file(path)
    assert found.split["a"].axis == 0 and found.split["a"].against_default
    (whole,) = files.read(path, layer_axis=None).values()
    np.testing.assert_array_equal(whole, FEW)
    assert [one.shape for one in files.read(path, layer_axis=1).values()] == [(4, 6)] * 40


def test_all_pairs_of_layers_or_of_token_sequences():
    other = RNG.standard_normal((40, 5))
    named = {f"a[{i}]": MANY[:, i] for i in range(4)}
    expected = shesha.compare_all({**named, "b": other}, "CKA").matrix("CKA")
    with pytest.warns(GuessedLayersWarning, match="a is an array of shape"):
        guessed = shesha.compare_all({"a": MANY, "b": other}, "CKA").matrix("CKA")
    assert guessed.equals(expected)
    assert shesha.compare_all({"a": FEW, "b": other}, "CKA", layer_axis=0).matrix("CKA").equals(expected)
    tokens = shesha.compare_all({"a": MANY, "b": other}, "CKA", layer_axis=None).matrix("CKA")
    assert tokens.loc["a", "b"] == pytest.approx(shesha.compare(MANY, other, "CKA")["CKA"].value, rel=1e-12)
    alone = shesha.compare_all({"a": MANY}, "CKA", layer_axis=1)
    assert list(alone.matrix("CKA")) == list(named)
    with pytest.raises(ValueError, match="a mapping of at least two names to arrays, got 1"):
        shesha.compare_all({"a": MANY}, "CKA", layer_axis=None)


@pytest.mark.parametrize("function", ["compare_layers", "calibrate_layers"])
def test_grids_take_a_model_as_one_array(function):
    options = {"n_permutations": 19, "seed": 0} if function == "calibrate_layers" else {}
    grid = getattr(shesha, function)
    expected = grid(list(FEW), list(FEW[:3]), "CKA", **options).matrix()
    assert grid(FEW, FEW[:3], "CKA", **options).matrix().equals(expected)
    assert grid(MANY, MANY[:, :3], "CKA", layer_axis=1, **options).matrix().equals(expected)
    with pytest.warns(GuessedLayersWarning, match="layers_[ab] is an array of shape"):
        assert grid(MANY, MANY[:, :3], "CKA", **options).matrix().equals(expected)


def test_one_representation_stays_token_sequences():
    X, Y = RNG.standard_normal((2, 12, 40, 3))
    flat = [side.reshape(-1, 3) for side in (X, Y)]
    assert shesha.sim.cka(X, Y) == pytest.approx(shesha.sim.cka(*flat), rel=1e-12)
    assert shesha.compare(X, Y, "CKA")["CKA"].value == pytest.approx(shesha.sim.cka(*flat), rel=1e-12)


@pytest.mark.parametrize(
    ("arrays", "evidence"),
    [
        ({"last_hidden_state": MANY}, "as its name shows"),
        ({"x": MANY, "attention_mask": np.ones((40, 4))}, "as attention_mask shows"),
        ({"block1": MANY, "block2": MANY}, "whose numbers show that they are the layers"),
        ({"hidden_states": np.stack([MANY, MANY, MANY])}, "layers and tokens"),
        ({"x": MANY * np.tri(4)[np.arange(40) % 4][:, :, None]}, "tokens of shape .* with padding at one end"),
        ({"x": np.where(np.tri(4)[np.arange(40) % 4][:, ::-1, None], MANY, np.nan)}, "tokens of shape .* padding"),
    ],
)
def test_tokens_in_memory_are_no_layers(arrays, evidence):
    with pytest.raises(ValueError, match=f"must have one row per input, got .*{evidence}"):
        split_layers(arrays)
    if "layers and" not in evidence:
        assert split_layers(arrays, None).keys() == arrays.keys()


def test_losses_and_labels_are_left_out_of_layers():
    arrays = {"layer": MANY[:, 0], "loss": np.ones(40), "names": ["a"] * 40, "other": np.ones(7)}
    assert list(split_layers(arrays)) == ["layer", "other"]
    result = shesha.diff({"layer": MANY[:, 0], "loss": np.ones(40)}, {"layer": MANY[:, 1], "loss": np.ones(40)})
    assert list(result.layers) == ["layer"]
    assert any("left out loss" in text for text in result.inputs)
    assert shesha.compare_layers({"a": MANY[:, 0], "y": np.ones(40)}, {"b": MANY[:, 1]}).rows == ("a",)
