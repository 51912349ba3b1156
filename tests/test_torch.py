"""Torch tensors in the host's memory give the very numbers that arrays give; `test_devices.py` has those on devices."""

import numpy as np
import pytest

import shesha
import shesha.measures as measures
import shesha_studies.transferability as transfer

torch = pytest.importorskip("torch", reason="torch is an extra")
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here"))]


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 8))
    return X, X @ rng.standard_normal((8, 6)) + rng.standard_normal((40, 6))


@pytest.mark.parametrize("name", [name for name in measures.names() if name != "RTD"])
def test_measures_take_tensors(arrays, name):
    measure = measures.get(name)
    measure = measure.with_options(
        **{key: value for key, value in {"k": 4, "seed": 0}.items() if key in measure.parameters}
    )
    X, Y = arrays if not measure.equal_widths else (arrays[0], arrays[0][::-1].copy())
    a, b = (torch.tensor(Z, requires_grad=True) for Z in (X, Y))
    assert measure.score(a, b) == measure.score(X, Y)


def test_calibration_takes_tensors(arrays):
    a, b = (torch.tensor(Z) for Z in arrays)
    of_tensors, of_arrays = shesha.calibrate(a, b, "CKA", seed=0), shesha.calibrate(*arrays, "CKA", seed=0)
    assert of_tensors == of_arrays
    grid = shesha.calibrate_layers([a, b], [b], "mutual kNN", seed=0)
    assert grid == shesha.calibrate_layers([arrays[0], arrays[1]], [arrays[1]], "mutual kNN", seed=0)


@pytest.mark.parametrize("device", DEVICES)
def test_stability_and_transfer_take_tensors(arrays, device):
    X, labels = arrays[0], np.arange(40) % 3
    tensor, y = torch.tensor(X, device=device), torch.tensor(labels, device=device)
    assert shesha.feature_split(tensor, seed=0) == shesha.feature_split(X, seed=0)
    assert shesha.variance_ratio(tensor, y) == shesha.variance_ratio(X, labels)
    assert transfer.h_score(tensor, y) == transfer.h_score(X, labels)


def test_compare_takes_feature_maps():
    maps = torch.randn(12, 5, 4, 4, generator=torch.Generator().manual_seed(0))
    of_tensors, of_arrays = (shesha.compare(Z, Z * 2, ["CKA", "LinReg"]) for Z in (maps, maps.numpy()))
    assert [score.value for score in of_tensors.scores] == [score.value for score in of_arrays.scores]


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("name", sorted(set(transfer.__all__) - {"leep", "nce", "anisotropy"}))
def test_transferability_takes_tensors_by_keyword(arrays, name, kind):
    score, other = getattr(transfer, name), "Y" if name == "logme_regression" else "y"
    X, second = torch.tensor(arrays[0]).to(kind), torch.tensor(np.arange(40) % 3)
    if other == "Y":
        second = torch.tensor(arrays[1])
    expected = score(X, second)
    assert score(**{"X": X.requires_grad_(), other: second}) == expected
    assert score(X, second) == expected


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float32, torch.float64])
def test_an_encoder_of_tensors_takes_a_noise_level(kind):
    layer = torch.nn.Linear(8, 4).to(kind)
    X = torch.randn(30, 8, generator=torch.Generator().manual_seed(0)).to(kind).requires_grad_()
    small, large = (shesha.encoder_stability(f=layer, X=X, perturb=sd, n=3, seed=0) for sd in (0.01, 1.0))
    assert 1 / 3 < large < small < 1


def test_classes_of_the_source_may_be_tensors():
    z, y = np.arange(12) % 4, np.arange(12) % 3
    assert transfer.nce(z=torch.tensor(z), y=torch.tensor(y)) == transfer.nce(z, y)


@pytest.mark.parametrize("kind", ["gradients", "bfloat16"])
def test_a_list_of_tensors_is_a_matrix(kind):
    X = np.random.default_rng(0).integers(-9, 9, (20, 5)).astype(np.float32)
    dtype = torch.bfloat16 if kind == "bfloat16" else torch.float32
    rows = [torch.tensor(row, dtype=dtype, requires_grad=kind == "gradients") for row in X]
    for score in (lambda A: shesha.sim.cka(A, X[:, :3]), lambda A: shesha.feature_split(A, seed=0)):
        assert score(rows) == score(X)
