"""The axis of the inputs is found in layers of many kinds, and layers that mix their inputs are refused."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
nn = torch.nn
rnn = nn.utils.rnn

from shesha.extract import activations, layers  # noqa: E402
from shesha.extract.pooling import gap  # noqa: E402
from shesha.support.provenance import collect_statements  # noqa: E402
from shesha.support.warnings import CalibrationWarning  # noqa: E402

N, STEPS, WIDTH, HIDDEN = 7, 5, 3, 4


class Through(nn.Module):
    """Applies a function before and after a module."""

    def __init__(self, inner, before=lambda x: x, after=lambda x: x):
        super().__init__()
        self.inner, self.before, self.after = inner, before, after

    def forward(self, x):
        return self.after(self.inner(self.before(x)))


def steps_first(x):
    return x.transpose(0, 1)


def alone(model, x, output=lambda found: found):
    """The output for each input on its own, with the steps along the first axis of the result."""
    with torch.no_grad():
        return torch.stack([output(model.inner(model.before(row[None]))) for row in x])


def make(kind, **options):
    torch.manual_seed(1)
    return {
        "lstm": lambda: nn.LSTM(WIDTH, HIDDEN, **options),
        "two-way gru": lambda: nn.GRU(WIDTH, HIDDEN, num_layers=2, bidirectional=True, **options),
        "rnn": lambda: nn.RNN(WIDTH, HIDDEN, **options),
        "encoder": lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(WIDTH, 1, 8, dropout=0.0, **options), 1, enable_nested_tensor=False
        ),
        "map": lambda: nn.Linear(WIDTH, HIDDEN),
    }[kind]().eval()


@pytest.fixture(params=[N, STEPS, 3, 2, 1], ids="{} inputs".format)
def x(request):
    torch.manual_seed(0)
    return torch.randn(request.param, STEPS, WIDTH)


@pytest.mark.parametrize("pool", ["mean", "last", "cls", "max", None])
@pytest.mark.parametrize("kind", ["lstm", "two-way gru", "rnn", "encoder"])
@pytest.mark.parametrize("second", [True, False], ids=["batch second", "batch first"])
def test_recurrent_layers_give_one_row_per_input(x, kind, second, pool):
    model = Through(make(kind, batch_first=not second), steps_first if second else lambda x: x)
    found = activations(model, x, "inner", pool=pool)["inner"]
    expected = alone(model, x, lambda output: output[0] if isinstance(output, tuple) else output)
    expected = expected.squeeze(2 if second else 1).numpy()
    pooled = {
        "mean": lambda: expected.mean(axis=1),
        "last": lambda: expected[:, -1],
        "cls": lambda: expected[:, 0],
        "max": lambda: expected.max(axis=1),
        None: lambda: expected,
    }[pool]()
    np.testing.assert_allclose(found, pooled, atol=1e-6)


class Attention(nn.Module):
    def __init__(self, *, batch_first):
        super().__init__()
        torch.manual_seed(1)
        self.inner = nn.MultiheadAttention(4, 2, batch_first=batch_first)

    def forward(self, x):
        return self.inner(x, x, x)


@pytest.mark.parametrize(
    "model",
    [
        nn.Sequential(make("lstm")),
        nn.Sequential(make("two-way gru")),
        nn.Sequential(make("rnn")),
        nn.Sequential(make("encoder")),
        Through(make("lstm", batch_first=True), steps_first),
    ],
    ids=["lstm", "gru", "rnn", "encoder", "transposed"],
)
def test_layers_that_mix_their_inputs_are_refused(model):
    x, name = torch.randn(N, STEPS, WIDTH), next(name for name, _ in model.named_modules() if name)
    with pytest.raises(
        ValueError, match=r"layers must give each input a row of its own, got .*depend on the other .*batch_axis=1"
    ):
        activations(model, x, name)


@pytest.mark.parametrize("n", [N, STEPS, 3])
def test_attention_that_mixes_inputs_is_refused_and_right_with_the_option(n):
    torch.manual_seed(0)
    x = torch.randn(n, STEPS, 4)
    with pytest.raises(ValueError, match="batch_axis=1"):
        activations(Attention(batch_first=False), x, "inner")
    right = activations(Attention(batch_first=True), x, "inner")["inner"]
    other = activations(Attention(batch_first=False), x.transpose(0, 1), "inner", batch_axis=1)["inner"]
    np.testing.assert_allclose(other, right, atol=1e-6)
    shapes = layers(Attention(batch_first=False), x.transpose(0, 1), batch_axis=1)
    assert shapes["inner"] == (STEPS, 4)


@pytest.mark.parametrize("form", [np.asarray, torch.as_tensor])
def test_batch_axis_numbers_the_inputs(form):
    torch.manual_seed(0)
    x = torch.randn(N, STEPS, WIDTH)
    model = nn.Sequential(make("lstm"))
    found = activations(model, form(x.transpose(0, 1)), "0", batch_axis=1, batch_size=2)
    with torch.no_grad():
        expected = model[0](x.transpose(0, 1))[0].mean(dim=0).numpy()
    np.testing.assert_allclose(found["0"], expected, atol=1e-6)
    assert found.info["batch_axis"] == 1
    with pytest.raises(ValueError, match=r"batch_axis must be an axis of the inputs, of shape \(7, 5, 3\), got 3"):
        activations(model, form(x), "0", batch_axis=3)
    with pytest.raises(ValueError, match="batch_axis must be 0 unless the inputs are one array, got 1"):
        activations(model, {"x": form(x)}, "0", batch_axis=1)


class Packed(nn.Module):
    """Packs sequences before a recurrent layer."""

    def __init__(self, *, batch_first):
        super().__init__()
        torch.manual_seed(1)
        self.cell = nn.LSTM(WIDTH, HIDDEN, batch_first=batch_first)
        self.batch_first = batch_first

    def forward(self, x, attention_mask):
        states = x if self.batch_first else x.transpose(0, 1)
        lengths = attention_mask.sum(dim=1)
        packed = rnn.pack_padded_sequence(states, lengths, batch_first=self.batch_first, enforce_sorted=False)
        return self.cell(packed)[0].data


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("pool", ["mean", "last", "cls", "max", "weightedmean"])
def test_packed_sequences_are_unpacked_and_pooled_without_padding(batch_first, pool):
    torch.manual_seed(0)
    x, lengths = torch.randn(N, STEPS, WIDTH), [3, 5, 1, 2, 5, 4, 2]
    mask = (torch.arange(STEPS) < torch.tensor(lengths)[:, None]).long()
    model = Packed(batch_first=batch_first)
    found = activations(model, {"x": x, "attention_mask": mask}, "cell", pool=pool, batch_size=3)["cell"]
    for row, (sequence, length) in enumerate(zip(x, lengths, strict=True)):
        with torch.no_grad():
            states = model.cell(sequence[:length].unsqueeze(0 if batch_first else 1))[0].reshape(length, HIDDEN).numpy()
        weights = np.arange(1, length + 1)[:, None] / np.arange(1, length + 1).sum()
        expected = {
            "mean": states.mean(axis=0),
            "last": states[-1],
            "cls": states[0],
            "max": states.max(axis=0),
            "weightedmean": (weights * states).sum(axis=0),
        }[pool]
        np.testing.assert_allclose(found[row], expected, atol=1e-6)


def test_hidden_states_of_a_layer_keep_their_inputs():
    """The second output of a recurrent layer has the layers along its first axis."""
    torch.manual_seed(0)
    x = torch.randn(N, STEPS, WIDTH)
    model = Through(Through(make("two-way gru", batch_first=True), after=lambda found: found[1]))
    found = activations(model, x, "inner", pool=None)["inner"]
    with torch.no_grad():
        expected = model.inner.inner(x)[1].transpose(0, 1).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert found.shape == (N, 4, HIDDEN)


@pytest.mark.parametrize("n", [N, STEPS, 3, 1])
@pytest.mark.parametrize("order", ["inputs", "steps"])
def test_steps_that_are_folded_into_the_batch_are_separated(n, order):
    torch.manual_seed(0)
    x = torch.randn(n, STEPS, WIDTH)
    fold = (lambda x: x.flatten(0, 1)) if order == "inputs" else (lambda x: x.transpose(0, 1).flatten(0, 1))
    model = Through(make("map"), fold)
    with torch.no_grad():
        expected = model.inner(x).numpy()
    with collect_statements() as said:
        found = activations(model, x, "inner", pool=None)["inner"]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert list(said) == ["inner: axis 0 holds 5 entries of each input"]
    np.testing.assert_allclose(activations(model, x, "inner", pool="last")["inner"], expected[:, -1], atol=1e-6)
    assert layers(model, x)["inner"] == (STEPS, HIDDEN)


def test_folded_frames_need_a_choice():
    x = torch.randn(N, 4, 3, 8, 8)
    model = Through(nn.Conv2d(3, 2, 3), lambda x: x.flatten(0, 1))
    with pytest.raises(ValueError, match="pool must be None or a callable for inner, in which axis 0 holds 4 entries"):
        activations(model, x, "inner", pool="gap")
    assert activations(model, x, "inner", pool=None)["inner"].shape == (N, 4, 2, 6, 6)


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.positions = nn.Embedding(STEPS, WIDTH)
        self.tokens = nn.Identity()

    def forward(self, x):
        return self.tokens(x + self.positions(torch.arange(x.shape[1])))


@pytest.mark.parametrize("n", [N, STEPS, 3, 1])
def test_what_is_equal_for_all_inputs_has_no_rows(n):
    x = torch.randn(n, STEPS, WIDTH)
    with pytest.raises(ValueError, match=r"layers must give one row for each input, got shape \(5, 3\) for 3 inputs"):
        activations(Positions(), x, "positions")
    assert list(layers(Positions(), x)) == ["tokens"]


def test_similarities_within_a_batch_are_refused():
    model = Through(nn.Identity(), lambda x: x @ x.T)
    with pytest.raises(ValueError, match=r"layers must give one row for each input, got shape \(3, 3\)"):
        activations(model, torch.randn(N, 4), "inner")


def test_random_outputs_are_told():
    class Sampling(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean, self.sample = nn.Linear(4, 3), nn.Identity()

        def forward(self, x):
            mean = self.mean(x)
            return self.sample(mean + torch.randn_like(mean))

    with collect_statements() as said, pytest.warns(CalibrationWarning, match="outputs are random"):
        found = activations(Sampling(), torch.randn(N, 4), "*")
    assert {name: array.shape for name, array in found.items()} == {"mean": (N, 3), "sample": (N, 3)}
    assert ["sample: outputs are random" in text for text in said] == [True]


def test_a_pooling_of_the_user_sees_the_own_axes_of_the_layer(x):
    model = Through(make("lstm"), steps_first)
    found = activations(model, x, "inner", pool=lambda states: states[-1])["inner"]
    np.testing.assert_allclose(found, activations(model, x, "inner", pool="last")["inner"], atol=1e-7)
    with pytest.raises(ValueError, match="layers must give one row for each input"):
        activations(model, x, "inner", pool=lambda states: states.mean(dim=1))


def compiled(model):
    return torch.compile(model, backend="eager")


WRAPPERS = {
    "compiled": compiled,
    "parallel": nn.DataParallel,
    "both": lambda model: compiled(nn.DataParallel(model)),
}


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_wrappers_do_not_change_names_or_values(tower, wrap):
    x = torch.randn(N, 4)
    expected, wrapped = activations(tower, x), wrap(tower)
    with collect_statements() as said:
        found = activations(wrapped, x)
    assert list(found) == list(expected)
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name])
    assert len(said) == 1
    inner = next(name for name, _ in wrapped.named_modules() if name.endswith("encoder.layer.1"))
    assert list(activations(wrapped, x, inner)) == ["encoder.layer.1"]
    assert list(layers(wrapped, x)) == list(layers(tower, x))


@pytest.mark.parametrize("channels", ["first", "last", "first, as many as rows of the image"])
def test_maps_are_averaged_over_positions_wherever_the_channels_are(channels):
    shape = {"first": (5, 12, 7, 7), "last": (5, 7, 7, 12)}.get(channels, (5, 7, 7, 7))
    maps = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    expected = maps.mean(dim=(1, 2) if channels == "last" else (2, 3))
    with collect_statements() as statements:
        torch.testing.assert_close(gap(maps, None), expected)
    assert bool(statements) == (channels == "last")


class LastStates(nn.Module):
    """Returns the last states of two layers, with the layers before the inputs."""

    def __init__(self):
        super().__init__()
        self.lstm, self.states = nn.LSTM(WIDTH, 4, num_layers=2, batch_first=True), nn.Identity()

    def forward(self, x):
        return self.states(self.lstm(x)[1][0])


def test_the_answer_says_which_axis_numbers_the_inputs_and_what_is_pooled():
    found = activations(LastStates(), torch.randn(N, STEPS, WIDTH), "states")
    text = "axis 1 numbers the inputs, and the 2 entries of axis 0 (steps, layers or directions) are pooled"
    assert text in found.describe()


@pytest.mark.parametrize("mixes", ["without running statistics", "in training mode"])
def test_normalisation_over_the_batch_is_named_as_the_cause(rng, mixes):
    class Stubborn(nn.BatchNorm1d):
        def train(self, mode=True):
            return super().train(True)

    layer = nn.BatchNorm1d(6, track_running_stats=False) if mixes.startswith("without") else Stubborn(6)
    model, X = nn.Sequential(nn.Linear(4, 6), layer, nn.ReLU()), rng.standard_normal((20, 4)).astype(np.float32)
    with pytest.raises(ValueError, match=rf"Module 1 \(\w+ {mixes}\) normalises with the mean") as refused:
        activations(model, X, layers="*")
    assert "LSTM" not in str(refused.value)
    sound = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.LayerNorm(6), nn.ReLU())
    assert activations(sound, X, layers=["1"])["1"].shape == (20, 6)
