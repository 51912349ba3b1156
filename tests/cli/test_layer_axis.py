"""`--layer-axis`: how a 3-D array in a file is read, said where the shape leaves a doubt."""

import json

import numpy as np
import pytest

from shesha import audit

FEW = np.random.default_rng(0).standard_normal((4, 40, 6))
SAID = (
    "is an array of shape (4, 40, 6), read as 4 layers of 40 rows. If this is wrong, pass --layer-axis 1 (40 layers of "
    "4 rows) or "
)


@pytest.fixture
def model(tmp_path):
    np.save(tmp_path / "model.npy", FEW)
    return tmp_path / "model.npy"


def values(ended):
    assert ended.status == 0
    found = json.loads(ended.out)
    return {(one["first"], one["second"]): one["value"] for one in found["scores"]}


def test_compare_says_what_it_guessed(invoke, model):
    guessed = invoke("compare", model, "--measures", "CKA", "--json", "-")
    assert guessed.err == f"{model}: model {SAID}--layer-axis none (one representation)\n"
    told = invoke("compare", model, "--measures", "CKA", "--json", "-", "--layer-axis", "0")
    assert told.err == ""
    assert values(told) == values(guessed)
    assert {name for pair in values(told) for name in pair} == {f"model[{i}]" for i in range(4)}


def test_a_clear_shape_needs_no_word(invoke, tmp_path):
    np.save(tmp_path / "model.npy", np.moveaxis(FEW, 0, 1))
    ended = invoke("compare", tmp_path / "model.npy", "--measures", "CKA", "--json", "-")
    assert (ended.err, len(values(ended))) == ("", 6)


@pytest.mark.parametrize("shape", [(13, 24, 6), (24, 13, 6), (40, 13, 6)])
def test_an_ambiguous_stack_is_stated_with_the_option_that_decides(invoke_main, tmp_path, shape):
    np.save(tmp_path / "s.npy", np.random.default_rng(0).standard_normal(shape))
    out = " ".join(invoke_main("audit", tmp_path / "s.npy", "--permutations", 0, "--bootstrap", 0).out.split())
    n, k, _ = shape
    assert f"s: {k} representations of {n} rows along axis 1 of {n} x {k} x 6" in out
    text = f"Warning: s is read as {k} layers of {n} rows; if it has {n} layers of {k} rows, pass"
    assert (text in out) == (n < 40) and ("--layer-axis 0" in out) == (n < 40)


def test_none_compares_flattened_token_sequences(invoke, model, tmp_path):
    from shesha import compare

    np.save(tmp_path / "other.npy", FEW**3)
    files = (model, tmp_path / "other.npy")
    ended = invoke("compare", *files, "--measures", "CKA", "--json", "-", "--layer-axis", "none")
    assert (ended.status, ended.err) == (0, "")
    (score,) = json.loads(ended.out)["scores"]
    flat = FEW.reshape(len(FEW), -1)
    assert score["value"] == pytest.approx(compare(flat, flat**3, "CKA")["CKA"].value, rel=1e-12)


def test_layers_reads_models_of_one_array(invoke, model):
    options = ("--permutations", "19", "--json", "-")
    guessed = invoke("layers", model, model, *options)
    assert guessed.err.count(SAID) == 2
    told = invoke("layers", model, model, *options, "--layer-axis", "0")
    assert (told.status, told.err, told.out) == (0, "", guessed.out)
    assert len(json.loads(told.out)["rows"]) == 4


@pytest.mark.parametrize("command", ["compare", "layers"])
@pytest.mark.parametrize("axis", ["3", "-1", "None", "rows", ""])
def test_an_axis_that_is_none_is_refused(invoke_main, model, command, axis):
    files = (model, model) if command == "layers" else (model,)
    ended = invoke_main(command, *files, f"--layer-axis={axis}")
    assert ended.status == 2
    assert "--layer-axis must be 0, 1, 2 or none, got " in ended.err


def test_a_guess_of_hundreds_is_refused_with_the_option(invoke_main, tmp_path):
    np.save(tmp_path / "tokens.npy", np.zeros((400, 350, 1), dtype=np.float32))
    ended = invoke_main("compare", tmp_path / "tokens.npy")
    assert ended.status == 2
    assert "must have at most 300 layers" in ended.err and "--layer-axis 1" in ended.err


@pytest.mark.parametrize(
    ("shape", "told"),
    [
        ((5, 4, 1, 24), "as many as entries of axis 3 of effects, which has shape (5, 4, 1, 24), and whose axis 0"),
        ((5, 4, 24), "save numpy.moveaxis(effects, 2, 0).reshape(24, -1)"),
        ((5, 24, 4), "--layer-axis 0, or save numpy.moveaxis(effects, 1, 0)"),
        ((24, 4, 1, 5), ""),
        ((5, 4, 1, 23), "for each of the 5 rows, got 24\n"),
    ],
)
def test_labels_for_another_axis_name_it(shape, told, tmp_path, invoke_main):
    h5py = pytest.importorskip("h5py")
    values = np.random.default_rng(0).standard_normal(shape)
    y = np.resize(["a", "b", "c"], 24)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["effects"] = values
    (tmp_path / "y.txt").write_text("\n".join(y))
    axis = ["--layer-axis", "1"] * (len(shape) == 3)
    ended = invoke_main(
        "audit", tmp_path / "a.h5", "--key", "effects", "--labels", tmp_path / "y.txt", "--quick", *axis
    )
    assert (told in ended.err and ended.status == 2) if told else ended.status == 0
    if told:
        with pytest.raises(ValueError, match="as many as entries" if 24 in shape else "rows, got 24$"):
            audit({"effects": values}, y, layer_axis=1)
