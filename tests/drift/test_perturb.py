"""Each way of breaking a model does what it says, and nothing of it is left afterwards."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

from shesha.drift import perturb  # noqa: E402
from shesha.drift.perturb import (  # noqa: E402
    NF4_LEVELS,
    _int8_values,
    _low_rank_values,
    _nf4_values,
)


class Tied(nn.Module):
    """An embedding that is its own classifier, a norm with buffers, odd shapes, attention by its name."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(30, 10)
        self.query = nn.Linear(10, 10)
        self.convolution = nn.Conv2d(3, 5, 3)
        self.norm = nn.BatchNorm1d(10)
        self.head = nn.Linear(10, 30, bias=False)
        self.head.weight = self.words.weight
        self.coarse = nn.Parameter(torch.randn(7, 9).bfloat16())
        self.register_buffer("table", torch.randn(4, 4))
        self.count = nn.Parameter(torch.arange(3), requires_grad=False)


@pytest.fixture
def model():
    torch.manual_seed(0)
    model = Tied()
    with torch.no_grad():
        # Bits that a round trip through arithmetic would lose.
        model.query.bias[:3] = torch.tensor([torch.nan, -0.0, torch.inf])
    return model


WAYS = {
    "noise": lambda model: perturb.gaussian_noise(model, 0.1),
    "int8": perturb.int8,
    "nf4": perturb.nf4,
    "lora": lambda model: perturb.lora(model, 2, 0.1),
    "prune": lambda model: perturb.prune(model, 0.3),
}


def bits(model):
    return {
        name: (tensor.data_ptr(), tensor.detach().clone().contiguous().view(torch.uint8).numpy().tobytes())
        for name, tensor in model.state_dict(keep_vars=True).items()
        if tensor.ndim
    }


@pytest.mark.parametrize("way", WAYS)
def test_everything_returns_to_the_last_bit(model, way):
    before, buffers = bits(model), {name: one.clone() for name, one in model.named_buffers()}
    parameters = {name: id(one) for name, one in model.named_parameters()}
    with WAYS[way](model):
        assert bits(model) != before
        assert all(torch.equal(one, buffers[name]) for name, one in model.named_buffers())
        assert model.head.weight is model.words.weight
    assert bits(model) == before
    assert {name: id(one) for name, one in model.named_parameters()} == parameters
    with pytest.raises(RuntimeError, match="on the way"), WAYS[way](model):
        raise RuntimeError("on the way")
    assert bits(model) == before


@pytest.mark.parametrize("way", WAYS)
def test_gradients_and_what_needs_them_stay(model, way):
    model.query.weight.grad = torch.ones(10, 10)
    model.words.weight.requires_grad_(False)
    with WAYS[way](model):
        pass
    assert torch.equal(model.query.weight.grad, torch.ones(10, 10))
    assert not model.words.weight.requires_grad
    assert model.query.weight.requires_grad


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4)])
def test_eight_bits_are_127_steps_on_either_side_of_zero_in_each_row(shape):
    values = torch.from_numpy(np.random.default_rng(0).standard_normal(shape))
    rows = values.numpy().reshape(shape[0] if len(shape) > 1 else 1, -1)
    expected = [[round(one / abs(row).max() * 127) * abs(row).max() / 127 for one in row] for row in rows]
    assert _int8_values(values).shape == shape
    assert _int8_values(values).flatten().tolist() == pytest.approx(np.ravel(expected), rel=1e-12)


def test_a_failure_while_changing_leaves_nothing(model, monkeypatch):
    before, calls = bits(model), []

    def fail(values):
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("no memory")
        return values * 2

    monkeypatch.setattr("shesha.drift.perturb._int8_values", fail)
    with pytest.raises(RuntimeError, match="no memory"), perturb.int8(model):
        pass
    assert len(calls) == 3
    assert bits(model) == before


def test_noise_is_in_units_of_each_tensor(model):
    big = nn.Linear(300, 200)
    with torch.no_grad():
        big.weight.mul_(50)
    before = big.weight.detach().clone()
    with perturb.gaussian_noise(big, 0.3, seed=4):
        added = big.weight.detach() - before
        first = big.weight.detach().clone()
    assert added.std() / before.std() == pytest.approx(0.3, rel=0.02)
    assert abs(added.mean()) < 0.01 * before.std()
    with perturb.gaussian_noise(big, 0.3, seed=4):
        assert torch.equal(big.weight, first)
    with perturb.gaussian_noise(big, 0.3, seed=5):
        assert not torch.equal(big.weight, first)
    with perturb.gaussian_noise(big, 0):
        assert torch.equal(big.weight, before)


def test_tied_weights_are_changed_once(model):
    alone = nn.Embedding(30, 10)
    alone.weight = nn.Parameter(model.words.weight.detach().clone())
    with perturb.gaussian_noise(model, 0.1, targets="words"), perturb.gaussian_noise(alone, 0.1):
        assert torch.equal(model.words.weight, alone.weight)
        assert torch.equal(model.head.weight, alone.weight)
    with perturb.gaussian_noise(model, 0.1, targets=["head", "words"]), perturb.gaussian_noise(alone, 0.1):
        assert torch.equal(model.head.weight, alone.weight)


def test_nf4_gives_what_bitsandbytes_gives():
    # bitsandbytes 0.50.2: dequantize_4bit(*quantize_4bit(x, blocksize=64, quant_type="nf4")), the same bit for bit.
    values = torch.sin(0.37 * torch.arange(300, dtype=torch.float64)).float() * torch.linspace(0.1, 2, 300)
    found = _nf4_values(values.reshape(20, 15))
    some = [-0.0895299, -0.2544182, -0.3373323, -0.4845386, -0.4624774, -0.4624774, -0.3478381, -0.162746]
    assert found.flatten()[60:68].tolist() == pytest.approx(some, abs=1e-6)
    assert found.double().sum().item() == pytest.approx(4.933787, abs=1e-4)
    assert found.double().square().sum().item() == pytest.approx(212.739537, abs=1e-4)


def test_the_levels_of_nf4_are_quantiles_of_a_normal_distribution():
    from scipy.stats import norm

    offset = 0.9677083
    positive = norm.ppf(np.linspace(offset, 0.5, 9)[:-1])
    negative = -norm.ppf(np.linspace(offset, 0.5, 8)[:-1])
    levels = np.sort([*positive, 0, *negative])
    np.testing.assert_allclose(levels / levels.max(), NF4_LEVELS, atol=1e-6)


@pytest.mark.parametrize("rank", [1, 3])
def test_lora_adds_a_product_of_its_rank(model, rank):
    before = model.query.weight.detach().clone()
    words = model.words.weight.detach().clone()
    with perturb.lora(model, rank, 0.1):
        added = model.query.weight.detach() - before
        assert torch.equal(model.words.weight, words)
    assert torch.linalg.matrix_rank(added, rtol=1e-4) == rank
    with perturb.lora(model, rank, 0.1, alpha=rank):
        half = model.query.weight.detach() - before
    torch.testing.assert_close(2 * half, added, atol=1e-6, rtol=1e-4)
    with perturb.lora(model, rank, 0.0):
        assert torch.equal(model.query.weight, before)


def test_adapters_have_the_spread_that_was_asked_for():
    draws = torch.Generator().manual_seed(0)
    found = _low_rank_values(torch.zeros(400, 300), 8, 0.05, 2.0, draws)
    # Entries of A have the variance 1 / (3 n_in), those of B the scale squared, and eight products are added.
    assert found.std().item() == pytest.approx(2 * 0.05 * (8 / (3 * 300)) ** 0.5, rel=0.05)


@pytest.mark.parametrize(("share", "zeros"), [(0, 0), (0.3, 30), (0.5, 50), (1, 100)])
def test_pruning_takes_the_smallest(model, share, zeros):
    before = model.query.weight.detach().clone().flatten()
    with perturb.prune(model, share, targets="query"):
        after = model.query.weight.detach().clone().flatten()
        assert model.query.bias is not None
    assert (after == 0).sum() == zeros
    kept = after != 0
    assert torch.equal(after[kept], before[kept])
    if 0 < zeros < 100:
        assert before[~kept].abs().max() <= before[kept].abs().min()


def test_attention_is_found_in_transformers():
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24}
    for kind, words, n in (("BertModel", ("query", "key", "value", "dense"), 4), ("LlamaModel", ("_proj",), 4)):
        config = getattr(transformers, kind.replace("Model", "Config"))(**sizes, vocab_size=20)
        network = getattr(transformers, kind)(config)
        before = {name: one.detach().clone() for name, one in network.named_parameters()}
        with perturb.lora(network, 2, 0.1):
            changed = [name for name, one in network.named_parameters() if not torch.equal(one, before[name])]
        assert len(changed) == n
        assert all(any(word in name for word in words) for name in changed)
