"""Distances in files: square, condensed and stacked, for every command that takes --rdm; and the hint without it."""

import json

import numpy as np
import pytest

import shesha
from shesha import io as files, measures

RNG = np.random.default_rng(0)
STACK = np.stack([np.linalg.norm(X[:, None] - X, axis=-1) for X in RNG.normal(size=(3, 20, 5))])
UPPER = np.triu_indices(20, k=1)
RDMS = [shesha.Rdm(one) for one in STACK]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("stack.npy", STACK)
    np.savez("condensed.npz", a=STACK[0][UPPER], b=STACK[1][UPPER], odd=np.zeros(7), label=np.arange(20))
    return tmp_path


def test_a_stack_and_triangles_are_distances_if_told(folder):
    stack = files.open_file("stack.npy", distances=True)
    assert list(stack.representations) == ["stack[0]", "stack[1]", "stack[2]"]
    np.testing.assert_array_equal(stack.representations["stack[2]"], STACK[2])
    condensed = files.open_file("condensed.npz", distances=True)
    assert list(condensed.representations) == ["a", "b"]
    assert list(condensed.skipped) == ["odd", "label"]
    with pytest.raises(files.UnreadableFileError, match="must contain a 2-D array"):
        files.open_file("condensed.npz")


@pytest.mark.parametrize("options", [[], ["--workers", 1, "--store", "s.sqlite"]])
def test_compare_takes_stacks_and_triangles(folder, invoke, options):
    ended = invoke("compare", "stack.npy", "--rdm", "--measures", "RSA", "--json", "j.json", *options)
    assert ended.status == 0
    scores = json.loads((folder / "j.json").read_text())["scores"]
    assert (scores[0]["first"], scores[0]["second"]) == ("stack[0]", "stack[1]")
    assert scores[0]["value"] == measures.rsa(*RDMS[:2])
    if not options:
        ended = invoke("compare", "condensed.npz", "--rdm", "--measures", "RSA", "--json", "-")
        assert json.loads(ended.out)["scores"][0]["value"] == measures.rsa(*RDMS[:2])


@pytest.mark.parametrize("options", [[], ["--store", "s.sqlite"]])
def test_audit_takes_distances(folder, invoke, options):
    ended = invoke("audit", "stack.npy", "--rdm", "--bootstrap", 0, "--permutations", 19, *options, "--full")
    expected = shesha.audit({f"stack[{k}]": one for k, one in enumerate(RDMS)}, n_bootstrap=0, n_permutations=19)
    assert ended.out == f"{expected.full_text()}\n"


def test_triangles_in_two_files_are_distances(folder, invoke):
    for name, one in zip("ab", STACK, strict=False):
        np.save(f"{name}.npy", one[UPPER])
    ended = invoke("compare", "a.npy", "b.npy", "--rdm", "--measures", "RSA", "--json", "-")
    assert json.loads(ended.out)["scores"][0]["value"] == measures.rsa(*RDMS[:2])
