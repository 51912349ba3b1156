"""Re-encodings for a monitor: each row is its own input again, made once, in batches drawn anew."""

import json

import numpy as np
import pytest

from shesha.drift import CanaryEncodings, DriftMonitor, encode_canaries
from shesha.support.provenance import collect_statements

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

N_ROWS = 70


class Reader(torch.nn.Module):
    """Two layers that read arrays of 6 by 4 numbers and notes how many come at once."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(24, 8)
        self.second = torch.nn.Linear(8, 5)
        self.sizes = []

    def forward(self, pixels):
        self.sizes.append(len(pixels))
        return self.second(torch.tanh(self.first(pixels.flatten(1))))


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Reader()


@pytest.fixture
def images(rng):
    return [rng.integers(0, 255, (4, 2, 3), dtype=np.uint8) for _ in range(N_ROWS)]


@pytest.fixture
def encoding():
    def pixels(chosen):
        return torch.tensor(np.stack(chosen), dtype=torch.float32).permute(0, 3, 1, 2) / 255

    return {"reader": pixels, "layers": ["first", "second"], "pool": None}


def test_every_row_is_its_own_input_again(model, images, encoding, tmp_path):
    found = encode_canaries(model, images, tmp_path, n=8, half=False, encoding=encoding)
    again = list(found)
    assert found.layer == "second" and found.reference.shape == (N_ROWS, 5) and len(again) == 8
    with torch.no_grad():
        own = model(encoding["reader"](images)).numpy()
    for rows in (found.reference, *again):
        np.testing.assert_allclose(rows, own, atol=1e-6)


def test_batches_have_few_sizes_and_other_companions(model, images, encoding, tmp_path):
    encode_canaries(model, images, tmp_path, n=4, half=False, encoding=encoding)
    assert set(model.sizes) >= {8, 16, 32, 64}
    # The axis of the inputs is found with batches of 3 and 2.
    assert set(model.sizes) <= {1, 2, 3, 8, 16, 32, 64, *(N_ROWS % size for size in (8, 16, 32, 64))}


def test_half_precision_is_every_second_and_the_model_stays_as_it_is(model, images, encoding, tmp_path):
    found = encode_canaries(model, images, tmp_path, n=4, encoding=encoding)
    apart = [float(np.abs(rows - found.reference).max()) for rows in found]
    assert max(apart[0::2]) < 1e-5 < 1e-4 < min(apart[1::2])
    assert next(model.parameters()).dtype == torch.float32


def test_what_is_there_is_not_made_again(model, images, encoding, tmp_path):
    first = encode_canaries(model, images, tmp_path, n=3, half=False, encoding=encoding)
    times = [file.stat().st_mtime_ns for file in first.files]
    first.files[1].unlink()
    model.sizes.clear()
    more = encode_canaries(model, images, tmp_path, n=4, half=False, encoding=encoding)
    assert [file.stat().st_mtime_ns for file in more.files[:3:2]] == times[::2]
    # The second and the fourth: one look at the layers, and batches of 16 and of 64.
    assert sorted(model.sizes) == sorted([1, 16, 16, 16, 16, 6, 64, 6])


def test_another_model_or_other_inputs_are_refused(model, images, encoding, tmp_path):
    encode_canaries(model, images, tmp_path, n=1, encoding=encoding)
    with pytest.raises(ValueError, match="inputs"):
        encode_canaries(model, images[::-1], tmp_path, n=1, encoding=encoding)
    torch.manual_seed(1)
    with pytest.raises(ValueError, match="weights"):
        encode_canaries(Reader(), images, tmp_path, n=1, encoding=encoding)


def test_nineteen_bound_five_percent(model, images, encoding, tmp_path):
    found = encode_canaries(model, images, tmp_path, n=19, encoding=encoding)
    monitor = DriftMonitor(found.reference, nulls=found, false_alarm=0.05)
    assert monitor.n_nulls == 19 and monitor.check(found.reference).state == "ok"
    with pytest.raises(ValueError, match="current must have the rows of the reference in the same order"):
        monitor.check(found.reference[::-1])
    with pytest.raises(ValueError, match=r"false_alarm must be at least 0\.05 with 19 nulls"):
        DriftMonitor(found.reference, nulls=found, false_alarm=0.01)
    assert json.dumps(found.info)


def test_a_damaged_re_encoding_is_named(tmp_path, canaries):
    file = tmp_path / "seed0-0000.npy"
    np.save(file, canaries)
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(ValueError, match=r"seed0-0000.npy must be a complete .npy file, got one that cannot be read"):
        DriftMonitor(canaries, nulls=CanaryEncodings("layer", canaries, (file,), {}))


@pytest.mark.parametrize(
    ("n_random", "advice"),
    [(0, ""), (3, "leave these re-encodings out"), (19, "as with dropout in training mode, make the reference")],
)
def test_encodings_that_differ_as_other_models_are_named(n_random, advice):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 24))
    nulls = [X * (rng.random(X.shape) > 0.25 * (k < n_random)) + 1e-3 * rng.standard_normal(X.shape) for k in range(19)]
    with collect_statements() as statements:
        DriftMonitor(X, nulls=nulls, false_alarm=0.1)
    named = [one for one in statements if "differ from the reference by a drift above" in one]
    assert [advice in one for one in named] == [True] * (n_random > 0)


def test_the_most_different_re_encodings_of_a_random_encoder_are_no_exceptions():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 24))
    nulls = [X * (rng.random(X.shape) > share) for share in np.linspace(0.02, 0.1, 19)]
    with collect_statements() as statements:
        DriftMonitor(X, nulls=nulls, false_alarm=0.1)
    (named,) = [one for one in statements if "differ from the reference by a drift above" in one]
    assert int(named.split()[1]) < 10 and "as with dropout in training mode" in named
