"""Hooks add the vector while a block lasts, and leave the model as it was however the block ends."""

from collections import namedtuple

import numpy as np
import pytest

from shesha.steering import vector

torch = pytest.importorskip("torch")


@pytest.fixture
def found():
    rng = np.random.default_rng(0)
    return vector(rng.standard_normal((20, 3)), np.repeat([0, 1], 10), n_draws=0)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 4))


class Returns(torch.nn.Module):
    """Gives out whatever it is told to make of its input."""

    def __init__(self, make):
        super().__init__()
        self.inner = torch.nn.Identity()
        self.inner.forward = make

    def forward(self, x):
        return self.inner(x)


def hooks(model):
    return sum(len(module._forward_hooks) for module in model.modules())


def test_the_vector_is_added_and_then_is_not(found, model):
    x = torch.randn(5, 2)
    before, hidden = model(x), model[0](x)
    with found.hook(model, "0", alpha=0.5) as module:
        assert module is model[0]
        inside = model(x)
    shift = torch.tensor(0.5 * found.norm * found.direction, dtype=torch.float32)
    torch.testing.assert_close(inside, model[1](hidden + shift))
    assert torch.equal(model(x), before)
    assert hooks(model) == 0


def test_raw_units_are_those_of_the_features(found, model):
    x = torch.randn(1, 2)
    with found.hook(model, "0", alpha=-2, units="raw"):
        inside = model[0](x)
    torch.testing.assert_close(inside, model[0](x) - 2 * torch.tensor(found.direction, dtype=torch.float32))


def test_an_exception_restores_as_well(found, model):
    with pytest.raises(RuntimeError, match="stop"), found.hook(model, "0", alpha=1):
        model(torch.zeros(1, 2))
        raise RuntimeError("stop")
    assert hooks(model) == 0


def test_an_error_of_the_hook_restores_as_well(found, model):
    with (
        pytest.raises(ValueError, match=r"the output of '1' must have 3 features, like the vector, got shape \(1, 4\)"),
        found.hook(model, "1", alpha=1),
    ):
        model(torch.zeros(1, 2))
    assert hooks(model) == 0


def test_hooks_within_one_another_add_up(found, model):
    x = torch.zeros(1, 2)
    with found.hook(model, "0", alpha=1), found.hook(model, "0", alpha=1):
        twice = model[0](x)
    with found.hook(model, "0", alpha=2):
        torch.testing.assert_close(twice, model[0](x))


def test_nothing_is_written_in_place(found):
    held = torch.zeros(2, 3)
    model = Returns(lambda x: held)
    with found.hook(model, "inner", alpha=1):
        out = model(torch.zeros(1))
    assert not held.any()
    assert out.all(dim=1).all()


def test_every_position_of_a_sequence_moves_alike(found):
    model = Returns(lambda x: x)
    with found.hook(model, "inner", alpha=1, units="raw"):
        out = model(torch.zeros(2, 5, 3))
    torch.testing.assert_close(out, torch.tensor(found.direction, dtype=torch.float32).expand(2, 5, 3))


Output = namedtuple("Output", "hidden cache")


@pytest.mark.parametrize("kind", [lambda h: (h, "cache"), lambda h: [h, "cache"], lambda h: Output(h, "cache")])
def test_of_several_outputs_the_first_is_steered(found, kind):
    model = Returns(lambda x: kind(x))
    with found.hook(model, "inner", alpha=1, units="raw"):
        out = model(torch.zeros(1, 3))
    assert type(out) is type(kind(0))
    np.testing.assert_allclose(out[0].numpy()[0], found.direction, atol=1e-6)
    assert out[1] == "cache"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_the_precision_of_the_model_stays(found, dtype):
    model = Returns(lambda x: x)
    with found.hook(model, "inner", alpha=1):
        assert model(torch.zeros(1, 3, dtype=getattr(torch, dtype))).dtype == getattr(torch, dtype)


def test_gradients_flow_through(found, model):
    x = torch.zeros(1, 2, requires_grad=True)
    with found.hook(model, "0", alpha=1):
        model(x).sum().backward()
    assert x.grad.any()


def test_outputs_that_are_no_real_tensors_are_refused(found):
    for made in ("text", torch.zeros(1, 3, dtype=torch.long), {"hidden": torch.zeros(1, 3)}):
        model = Returns(lambda x, made=made: made)
        with (
            pytest.raises(TypeError, match="the output of 'inner' must be a tensor of real numbers, or a tuple"),
            found.hook(model, "inner", alpha=1),
        ):
            model(torch.zeros(1))


def test_a_layer_that_the_model_lacks_is_answered_with_close_names(found):
    model = torch.nn.ModuleDict({"encoder": torch.nn.ModuleList([torch.nn.Linear(2, 3) for _ in range(3)])})
    with (
        pytest.raises(ValueError, match=r"got 'encoder.7'; did you mean encoder\..* or encoder\..\?") as error,
        found.hook(model, "encoder.7", alpha=1),
    ):
        pass
    assert "encoder.0" in str(error.value)
    with pytest.raises(ValueError, match=r"got '2'; did you mean encoder.2\?"), found.hook(model, "2", alpha=1):
        pass
    with (
        pytest.raises(ValueError, match=r"got 'zzzz'; known names are 'encoder', 'encoder.0', 'encoder.1' and more"),
        found.hook(model, "zzzz", alpha=1),
    ):
        pass
    assert hooks(model) == 0
