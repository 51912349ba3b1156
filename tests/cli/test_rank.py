"""`shesha rank`: models against the data of several subjects."""

import json

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

FEW = ("--resamples", "40", "--permutations", "19")


@pytest.fixture
def place(tmp_path, rng):
    truth = rng.standard_normal((24, 6))
    models = {"near": truth + 0.3 * rng.standard_normal((24, 6)), "far": rng.standard_normal((24, 5))}
    subjects = {f"s{k}": truth + 0.5 * rng.standard_normal((24, 6)) for k in range(6)}
    np.savez(tmp_path / "models.npz", **models)
    np.savez(tmp_path / "data.npz", **subjects, object=np.repeat(np.arange(8).astype(str), 3))
    for name, one in (("model_rdms", models), ("data_rdms", subjects)):
        np.savez(tmp_path / f"{name}.npz", **{key: squareform(pdist(X)) for key, X in one.items()})
    np.savetxt(tmp_path / "objects.txt", np.repeat(np.arange(8), 3), fmt="%d")
    return tmp_path


def test_models_and_subjects_are_arrays_of_files(invoke, place):
    ended = invoke(
        *("rank", place / "models.npz", "--data", place / "data.npz", *FEW, "--json", place / "found.json"),
        *("--html", place / "found.html", "--plot", place / "found.png"),
    )
    assert ended.status == 0, ended
    assert ended.out.startswith("near explains the data best (RSA")
    found = json.loads((place / "found.json").read_text())
    assert (found["n_subjects"], found["n_rows"]) == (6, 24)
    assert (place / "found.html").stat().st_size > 10_000
    assert (place / "found.png").stat().st_size > 5_000


def test_distances_groups_and_a_subject(invoke, place):
    ended = invoke(
        *("rank", place / "model_rdms.npz", "--rdm", "--data", place / "data_rdms.npz", "--data-key", "s0", *FEW),
        *("--groups", place / "objects.txt", "--measure", "RSA(method=pearson)"),
    )
    assert ended.status == 0, ended
    assert "There is only one subject" in ended.out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--measure", "none such"), "none such"),
        (("--resamples", "3"), "--resamples must be at least 20"),
        (("--key", "absent"), "absent"),
    ],
)
def test_bad_options_end_with_a_message(invoke_main, place, more, message):
    ended = invoke_main("rank", place / "models.npz", "--data", place / "data.npz", *more)
    assert ended.status == 2
    assert message in ended.err
