"""What has made others' activations silently wrong."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

from shesha import PoolingWarning  # noqa: E402
from shesha.extract import activations, layers  # noqa: E402


class InPlace(nn.Module):
    """A layer whose output the next one overwrites."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.view = nn.Identity()

    def forward(self, x):
        states = self.first(x)
        self.view(states[:, :2]).mul_(0)
        return states.add_(100)


@pytest.mark.parametrize("pool", [None, "mean", lambda states: states[:, :3]])
def test_operations_in_place_do_not_rewrite_what_was_recorded(pool):
    torch.manual_seed(0)
    model, x = InPlace(), torch.randn(6, 4)
    expected = model.first(x).detach().numpy()
    found = activations(model, x, ["first", "view"], pool=pool)
    np.testing.assert_array_equal(found["first"], expected[:, : found["first"].shape[1]])
    assert (found["view"] == expected[:, :2]).all()


def left_and_right(model, rows):
    """The same rows of tokens padded on either side."""
    longest = max(map(len, rows))
    sides = []
    for left in (False, True):
        ids, mask = np.zeros((len(rows), longest), dtype=np.int64), np.zeros((len(rows), longest), dtype=np.int64)
        places = np.zeros_like(ids)
        for number, row in enumerate(rows):
            where = slice(longest - len(row), longest) if left else slice(len(row))
            ids[number, where], mask[number, where], places[number, where] = row, 1, np.arange(len(row))
        sides.append({"input_ids": ids, "attention_mask": mask, "position_ids": places})
    return sides


@pytest.mark.parametrize("pool", ["mean", "cls", "last"])
def test_padding_on_the_left_and_on_the_right_gives_the_same(bert, tokens, pool):
    model = bert().eval()
    right, left = left_and_right(model, tokens["input_ids"])
    a, b = (activations(model, side, pool=pool) for side in (right, left))
    for number, row in enumerate(tokens["input_ids"]):
        with torch.no_grad():
            alone = model(torch.tensor([row])).last_hidden_state[0].numpy()
        expected = {"mean": alone.mean(axis=0), "cls": alone[0], "last": alone[-1]}[pool]
        np.testing.assert_allclose(a["encoder.layer.1"][number], expected, atol=1e-5)
    for name in a:
        np.testing.assert_allclose(a[name], b[name], atol=1e-5)


def test_padding_of_any_value_does_not_reach_the_mean():
    class Overflowing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Identity()

        def forward(self, x, attention_mask):
            return self.layer(torch.where(attention_mask.bool().unsqueeze(-1), x, torch.inf))

    x, mask = np.ones((2, 3, 2), dtype=np.float32), np.array([[1, 1, 0], [0, 1, 1]])
    for pool in ("mean", "cls", "last"):
        found = activations(Overflowing(), {"x": x, "attention_mask": mask}, "layer", pool=pool)
        np.testing.assert_array_equal(found["layer"], 1)


class Repeats(nn.Module):
    """Runs the same layer several times, and returns a tuple and a mapping on the way."""

    def __init__(self, times: int = 3) -> None:
        super().__init__()
        self.shared = nn.Linear(4, 4)
        self.pair = Pair()
        self.times = times

    def forward(self, x):
        for _ in range(self.times):
            x = self.shared(x)
        return self.pair(x)


class Pair(nn.Module):
    def forward(self, x):
        return {"more": [(x * 2, None)], "rest": x}


def test_a_module_that_runs_again_is_kept_apart():
    torch.manual_seed(0)
    model, x = Repeats(), torch.randn(5, 4)
    found = activations(model, x, "*", batch_size=2)
    assert list(found) == ["shared", "shared#2", "shared#3", "pair"]
    once = model.shared(x)
    np.testing.assert_allclose(found["shared"], once.detach(), atol=1e-6)
    np.testing.assert_allclose(found["shared#2"], model.shared(once).detach(), atol=1e-6)
    np.testing.assert_allclose(found["pair"], 2 * found["shared#3"], atol=1e-6)
    assert list(layers(model, x)) == list(found)


def test_layers_that_run_differently_from_batch_to_batch_are_refused():
    class Moody(Repeats):
        def forward(self, x):
            self.times = len(x)
            return super().forward(x)

    with pytest.raises(ValueError, match=r"layers must be the same in every batch, got \['shared', 'shared#2'\] after"):
        activations(Moody(), np.zeros((5, 4)), "shared", batch_size=2)


def test_tuples_give_their_first_tensor():
    class Tuples(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.LSTM(3, 4, batch_first=True)

        def forward(self, x):
            return self.cell(x)[0]

    torch.manual_seed(0)
    model, x = Tuples(), torch.randn(3, 5, 3)
    np.testing.assert_allclose(
        activations(model, x, "cell", pool="last")["cell"], model(x)[:, -1].detach().numpy(), atol=1e-6
    )


def test_what_is_no_tensor_is_refused():
    class Words(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.says = Says()

        def forward(self, x):
            self.says(x)
            return x

    class Says(nn.Module):
        def forward(self, x):
            return "no tensor"

    with pytest.raises(ValueError, match="layers must return tensors, got str from says"):
        activations(Words(), np.zeros((2, 3)), "says")


def test_training_flags_and_random_states_return(tower):
    tower.train()
    tower.encoder.layer[0].dropout.eval()
    before = [module.training for module in tower.modules()]
    torch.manual_seed(3), np.random.seed(3), random.seed(3)  # noqa: NPY002
    drawn = torch.rand(2), np.random.rand(2), random.random()  # noqa: NPY002
    torch.manual_seed(3), np.random.seed(3), random.seed(3)  # noqa: NPY002
    x = np.ones((4, 4))
    # With dropout no two rows would be the same.
    assert np.ptp(activations(tower, x)["encoder.layer.1"], axis=0).max() == 0
    assert [module.training for module in tower.modules()] == before
    assert torch.equal(torch.rand(2), drawn[0])
    assert (np.random.rand(2) == drawn[1]).all()  # noqa: NPY002
    assert random.random() == drawn[2]
    with pytest.raises(ValueError, match=r"layer encoder\.layer\.0: pool must be 'gap'"):
        activations(tower, np.zeros((2, 2, 2, 4)))
    assert [module.training for module in tower.modules()] == before
    assert not any(module._forward_hooks for module in tower.modules())


def test_no_gradient_and_no_inference_tensor_is_left(tower):
    x = torch.randn(4, 4, requires_grad=True)
    activations(tower, x)
    assert torch.is_grad_enabled()
    assert x.grad is None
    tower(x).sum().backward()


def test_half_precision_is_pooled_in_single(bert, tokens):
    model = bert().to(torch.bfloat16)
    found = activations(model, tokens)
    assert {array.dtype for array in found.values()} == {np.dtype(np.float32)}
    assert found.info["dtype"] == "bfloat16"
    exact = activations(bert(), tokens)
    for name, array in found.items():
        np.testing.assert_allclose(array, exact[name], atol=0.1)
        # A mean of bfloat16 values that was itself rounded to bfloat16 would have no more digits.
        assert (array != torch.from_numpy(array).bfloat16().float().numpy()).any()


def test_numbers_of_a_broken_model_come_through(tower):
    with torch.no_grad():
        tower.encoder.layer[1].map.weight[0, 0] = torch.nan
    assert np.isnan(activations(tower, np.ones((2, 4)))["encoder.layer.1"]).any()


class Sinking(nn.Module):
    """Blocks of which the second makes the state of the first token long, as causal models do."""

    def __init__(self, times: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.early, self.deep = nn.Identity(), nn.Identity()
        self.times = times

    def forward(self, input_ids, attention_mask):
        states = self.early(self.embedding(input_ids))
        first = attention_mask.argmax(dim=1)
        long = torch.ones(*states.shape[:2], 1)
        long[torch.arange(len(states)), first] = self.times
        return self.deep(states * long)


@pytest.mark.parametrize("side", [0, 1])
def test_a_first_token_that_rules_the_mean_is_told(side):
    torch.manual_seed(0)
    rows = [list(np.random.default_rng(n).integers(0, 20, n)) for n in (1, 2, 3, 9, 7, 5)]
    model, given = Sinking(60.0), left_and_right(None, rows)[side]
    given.pop("position_ids")
    with pytest.warns(PoolingWarning, match=r"the mean in deep\. In deep, its norm is \d\d times .* pool='later'"):
        activations(model, given, ["early", "deep"], batch_size=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        activations(Sinking(3.0), given, ["early", "deep"], batch_size=2)
        for pool in ("last", "later", None):
            activations(model, given, ["early", "deep"], pool=pool, batch_size=2)


@pytest.mark.parametrize("side", [0, 1])
def test_later_is_the_mean_of_what_comes_after_the_first_token(side):
    torch.manual_seed(0)
    rows = [[3], [4, 5], [6, 7, 8, 9, 1]]
    model, given = Sinking(60.0), left_and_right(None, rows)[side]
    given.pop("position_ids")
    found = activations(model, given, ["early"], pool="later")["early"]
    for row, tokens in zip(found, rows, strict=True):
        expected = model.embedding.weight[tokens[1:] or tokens].mean(dim=0)
        np.testing.assert_allclose(row, expected.detach().numpy(), rtol=1e-6)
    whole = torch.randn(4, 5, 3)
    plain = activations(nn.Sequential(nn.Identity()), whole, "0", pool="later")["0"]
    np.testing.assert_allclose(plain, whole[:, 1:].mean(dim=1).numpy(), rtol=1e-6)


@pytest.mark.parametrize(("words", "unknown"), [(["a", "b"], True), (["[UNK]", "a", "b", "w0", "w1"], False)])
def test_unknown_tokens_are_stated(words, unknown):
    from shesha.extract._extraction_setup import _warn_of_unknown_tokens
    from shesha.extract._input_rows import IDS, TokenRows
    from shesha.support.provenance import collect_statements

    class Tokenizer:
        unk_token_id, unk_token, pad_token_id = 0, "[UNK]", 1

    rows = TokenRows({IDS: [[0 if unknown else 3, 2, 4]] * 5})
    with collect_statements() as stated:
        _warn_of_unknown_tokens(rows, Tokenizer(), "model")
    assert [text.split(",")[0] for text in stated] == ["warning: model: 33% of the tokens are [UNK]"] * unknown


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"pool": "cls"}, ["pooling 'mean' in a, 'cls' in b"]),
        ({"max_tokens": 9}, []),
        ({"max_tokens": 9, "cut_off": 3}, ["maximum number of tokens 5 in a, 9 in b"]),
        ({"inputs": {"fingerprint": "y"}}, ["the tokenizers of a and b give other tokens for the same texts"]),
        ({"inputs": {"fingerprint": "y"}, "texts": "other"}, []),
        ({"inputs": [1], "pool": ["\x1b"]}, ["pooling 'mean' in a, ['\\x1b'] in b"]),
    ],
)
def test_settings_that_differ_are_stated(changes, expected):
    from shesha.support.provenance import collect_statements, state_other_settings

    record = {"pool": "mean", "max_tokens": 5, "texts": "t", "inputs": {"fingerprint": "x"}}
    with collect_statements() as stated:
        state_other_settings({"a": record, "b": record | changes})
    assert list(stated) == expected
