"""Inputs of every kind give the same numbers in the order in which they were given."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

from shesha.extract import activations  # noqa: E402
from shesha.extract._input_rows import make_rows, token_counts  # noqa: E402

X = np.random.default_rng(0).standard_normal((7, 4))


class Points(torch.utils.data.Dataset):
    """Pairs of an input and a label."""

    def __len__(self):
        return len(X)

    def __getitem__(self, row):
        return torch.tensor(X[row], dtype=torch.float32), row % 2


@pytest.mark.parametrize(
    "inputs", [torch.tensor(X, dtype=torch.float32), X.astype(np.float32), Points(), list(Points())]
)
def test_arrays_tensors_and_data_sets_give_the_same(tower, inputs):
    expected = activations(tower, X, batch_size=3)
    found = activations(tower, inputs, batch_size=3)
    assert list(found) == ["encoder.layer.0", "encoder.layer.1"]
    for name, array in found.items():
        np.testing.assert_array_equal(array, expected[name])
    with torch.no_grad():
        np.testing.assert_allclose(
            found["encoder.layer.1"], tower.eval()(torch.tensor(X, dtype=torch.float32)), atol=1e-6
        )


def test_a_data_set_may_give_mappings(bert):
    rows = [{"input_ids": torch.tensor([1, 2, 3]), "attention_mask": torch.tensor([1, 1, n % 2])} for n in range(4)]
    fields = {name: torch.stack([row[name] for row in rows]) for name in rows[0]}
    model = bert()
    for name, array in activations(model, rows).items():
        np.testing.assert_array_equal(array, activations(model, fields)[name])


def test_rows_of_any_length_are_sorted_padded_and_put_back(bert, tokens):
    model = bert()
    activations(model, tokens)  # The axis of the inputs is found in the first run.
    seen = []
    hook = model.embeddings.register_forward_hook(lambda _, __, out: seen.append(tuple(out.shape[:2])))
    found = activations(model, tokens, batch_size=3)
    hook.remove()
    assert seen == [(3, 9), (3, 4), (1, 1)]
    assert found.info["order"] == "longest first"
    assert found.info["batch_size"] == 3
    for number, row in enumerate(tokens["input_ids"]):
        alone = activations(model, {"input_ids": [row]})
        for name, array in found.items():
            np.testing.assert_allclose(array[number], alone[name][0], atol=1e-5)


def test_without_pooling_padding_is_nan(bert, tokens):
    model = bert()
    found = activations(model, tokens, pool=None, batch_size=3)["encoder.layer.1"]
    lengths = [len(row) for row in tokens["input_ids"]]
    assert found.shape == (7, 9, 16)
    assert (np.isfinite(found).all(axis=2).sum(axis=1) == lengths).all()
    mean = activations(model, tokens, batch_size=3)["encoder.layer.1"]
    np.testing.assert_allclose(np.nanmean(found, axis=1), mean, atol=1e-6)


def test_feature_maps_are_averaged_over_their_places():
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Conv2d(3, 5, 3), nn.Flatten(), nn.Linear(20, 2)), torch.randn(4, 3, 4, 4)
    found = activations(model, x, ["0", "2"], pool="gap")
    np.testing.assert_allclose(found["0"], model[0](x).mean(dim=(2, 3)).detach(), atol=1e-6)
    assert found["2"].shape == (4, 2)
    with pytest.raises(ValueError, match=r"layer 0: pool must be 'gap', None or callable .*\(4, 5, 2, 2\), got 'mean'"):
        activations(model, x, "0")
    with pytest.raises(
        ValueError, match=r"pool must be one of 'mean', 'cls', 'last', 'later', 'max', .* for tokens .*, got 'gap'"
    ):
        activations(nn.Sequential(nn.Identity()), torch.zeros(2, 3, 4), "0", pool="gap")


def test_a_callable_may_ask_for_the_mask(bert, tokens):
    model = bert()
    count = activations(model, tokens, pool=lambda states, mask: mask.sum(dim=1))["encoder.layer.0"]
    assert count.ravel().tolist() == [len(row) for row in tokens["input_ids"]]
    first = activations(model, tokens, pool=lambda states: states[:, 0])["encoder.layer.0"]
    np.testing.assert_array_equal(first, activations(model, tokens, pool="cls")["encoder.layer.0"])


def test_what_enters_a_module_can_be_had(bert, tokens):
    model = bert()
    found = activations(model, tokens, ["embeddings", "encoder.layer.*", "encoder.layer.*:input"])
    np.testing.assert_array_equal(found["encoder.layer.0:input"], found["embeddings"])
    np.testing.assert_array_equal(found["encoder.layer.1:input"], found["encoder.layer.0"])


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        (
            ["a text"],
            TypeError,
            r"inputs must be arguments of the model, got text; for texts, use encode\(model, texts\)",
        ),
        ({"x": X, "edge_index": X[:2]}, TypeError, r"got graphs \(edge_index\). Run the model yourself"),
        ([SimpleNamespace(x=X, edge_index=X[:2])], TypeError, "got graphs"),
        ("text", TypeError, "inputs must be arguments of the model, got text"),
        (3, TypeError, "inputs must be an array, a mapping of arrays, or have a length .*, got int"),
        (np.float64(3), ValueError, "inputs must have one entry per row, got a single value"),
        (np.array([object()]), TypeError, "inputs must contain numbers, got an array of dtype object"),
        ({}, ValueError, "inputs must contain at least one field, got none"),
        (
            {"a": np.zeros((3, 2)), "b": np.zeros((2, 2))},
            ValueError,
            "equal numbers of rows in all fields, got {'a': 3, 'b': 2}",
        ),
        ({"input_ids": [[1], []]}, ValueError, "at least one token per row, got none in rows 1"),
        ({"input_ids": [[1, 2]], "token_type_ids": [[0]]}, ValueError, "got different numbers in 'token_type_ids'"),
        (
            {"input_ids": np.ones((2, 2), int), "attention_mask": np.array([[1, 1], [0, 0]])},
            ValueError,
            "at least one token per row, got none in rows 1",
        ),
    ],
)
def test_inputs_that_are_none_are_refused(tower, inputs, error, message):
    with pytest.raises(error, match=message):
        activations(tower, inputs)


def test_masks_of_another_length_are_refused():
    class Half(nn.Module):
        def forward(self, x):
            return x[:, ::2]

    class Merged(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fewer = Half()

        def forward(self, x, attention_mask):
            return self.fewer(x)

    fields = {"x": np.zeros((2, 4, 3)), "attention_mask": np.ones((2, 4), int)}
    with pytest.raises(ValueError, match=r"one entry for each of the 2 tokens .*, got 4; pass a callable"):
        activations(Merged(), fields, "fewer")
    assert activations(Merged(), fields, "fewer", pool=lambda states: states.mean(1))["fewer"].shape == (2, 3)


def test_a_model_stays_where_it_was(tower):
    found = activations(tower, X, device="cpu")
    assert found.info["device"] == "cpu"
    assert {one.device.type for one in tower.parameters()} == {"cpu"}
    assert "Activations of 7 inputs: encoder.layer.0 (7, 4)" in repr(found)
    assert found.describe() == "model Tower; pool mean; batch size 32; order as given; dtype float32"


@pytest.mark.parametrize("device", ["texts.txt", "meta", [], *["cuda"] * (not torch.cuda.is_available())])
def test_a_device_that_cannot_hold_the_model_is_refused(tower, device):
    with pytest.raises(ValueError, match=r"^device must be a device .*, got '"):
        activations(tower, X, device=device)


def test_token_lists_of_one_tokenizer_call_per_text_are_padded_alike():
    lists = [[1, 2, 3], [4, 5]]
    one_each = [{"input_ids": row, "attention_mask": [1] * len(row)} for row in lists]
    together = {name: [one[name] for one in one_each] for name in ("input_ids", "attention_mask")}
    first, second = (
        make_rows(one).batch(np.arange(2), torch.device("cpu"), torch.float32) for one in (one_each, together)
    )
    assert first.named["input_ids"].tolist() == second.named["input_ids"].tolist() == [[1, 2, 3], [4, 5, 0]]
    assert first.mask.tolist() == second.mask.tolist() == [[True, True, True], [True, True, False]]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([[1, 2, 3], [4, 5]], "inputs must be items of one shape, got"),
        ([[1, 2], [[3], [4, 5]]], "inputs must be items that torch can convert to a tensor"),
        ({"input_ids": [[1.5, 2.0], [3.0]]}, "inputs must contain lists of whole numbers in 'input_ids'"),
        ({"input_ids": [[1, [2]], [3]]}, "input_ids must be an array, got lists of unequal lengths"),
    ],
)
def test_token_lists_that_cannot_be_stacked_are_refused_by_name(inputs, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make_rows(inputs).batch(np.arange(2), torch.device("cpu"), torch.float32)


def test_tokens_are_counted_without_padding():
    padded = {"x": np.zeros((2, 3, 4)), "attention_mask": np.array([[1, 1, 0], [1, 0, 0]])}
    assert token_counts(make_rows(padded)) == [2, 1]
    assert token_counts(make_rows({"input_ids": [[1, 2, 3], [4]]})) == [3, 1]
    assert token_counts(make_rows(np.zeros((3, 4)))) is None
