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
        *("--groups", place / "objects.txt", "--measure", "RSA(method=pearson)", "--flexible", "both=near,far"),
    )
    assert ended.status == 0, ended
    assert "There is only one subject" in ended.out
    assert "both is a weighted sum of models, fitted to other rows of each subject" in " ".join(ended.out.split())


def test_stacks_of_distances_are_subjects_in_every_form(tmp_path, invoke):
    """Square matrices along the first or last axis, and condensed ones, give one ranking."""
    rng = np.random.default_rng(0)
    subjects = np.abs(rng.standard_normal((5, 9, 9))) + 3 * rng.random((9, 9))
    subjects = (subjects + subjects.transpose(0, 2, 1)) * (1 - np.eye(9))
    np.savez(tmp_path / "models.npz", near=subjects.mean(0), far=subjects[0][::-1, ::-1])
    stacks = {"first": subjects, "last": subjects.transpose(1, 2, 0), "row": subjects[:, *np.triu_indices(9, k=1)]}
    answers = set()
    for name, stack in stacks.items():
        np.save(tmp_path / f"{name}.npy", stack)
        options = ("--rdm", "--resamples", "20", "--permutations", "19")
        ended = invoke("rank", tmp_path / "models.npz", "--data", tmp_path / f"{name}.npy", *options)
        assert ended.status == 0, ended
        answers.add(ended.out[ended.out.index("  value ") :])
    assert len(answers) == 1


def test_distances_are_compared_by_measures_of_distances(tmp_path, invoke):
    stack = np.abs(np.random.default_rng(0).standard_normal((3, 45)))
    np.save(tmp_path / "stack.npy", stack)
    ended = invoke("compare", tmp_path / "stack.npy", "--rdm")
    assert "RSA of each pair (higher is closer)" in ended.out and "unbiased CKA" not in ended.out
