"""What the commands print follows the options: each changes the number, the text or the JSON, or is refused."""

import json

import numpy as np
import pytest

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 8))
DONORS = np.arange(60) // 6


@pytest.fixture
def run(invoke_main, tmp_path, monkeypatch):
    """Return the text and the JSON of a command."""
    monkeypatch.chdir(tmp_path)
    np.savez("seeds.npz", **{f"r{i}": X + 0.5 * rng.standard_normal(X.shape) for i in range(5)})
    np.savez("subjects.npz", **{f"s{i}": X + 0.8 * rng.standard_normal(X.shape) for i in range(4)})
    np.savez("models.npz", m1=X, m2=X + rng.standard_normal(X.shape))
    np.savez("before.npz", l0=X, l1=X[:, ::-1])
    np.savez("after.npz", l0=X + 0.2 * rng.standard_normal(X.shape), l1=X[:, ::-1] + rng.standard_normal(X.shape))
    np.savetxt("donors.txt", DONORS, fmt="%d")
    np.savetxt("labels.txt", np.arange(60) % 3, fmt="%d")

    def call(*args):
        ended = invoke_main(*args, "--json", "out.json")
        text = " ".join(ended.out.split())
        return text, json.loads((tmp_path / "out.json").read_text()) if ended.status == 0 else ended.err

    return call


CONSENSUS = ("consensus", "seeds.npz")
RANK = ("rank", "models.npz", "--data", "subjects.npz", "--permutations", 19, "--resamples", 40)
DIFF = ("diff", "before.npz", "after.npz", "--labels", "labels.txt", "--no-reencode")


@pytest.mark.parametrize(
    ("command", "options", "said"),
    [
        (CONSENSUS, ("--confidence", 0.8), "Brackets are 80 % intervals"),
        (CONSENSUS, ("--groups", "donors.txt"), "60 rows in 10 groups"),
        (RANK, ("--groups", "donors.txt"), "resamples of 10 groups of rows and subjects"),
        (RANK, ("--blocks", "donors.txt"), "resamples of rows within blocks and subjects"),
        (RANK, ("--measure", "CKA"), "explains the data best (CKA"),
        (DIFF, ("--groups", "donors.txt"), "rows left out and relabelled by 10 groups"),
        (DIFF, ("--blocks", "donors.txt"), "labels permuted in 10 blocks"),
        (DIFF, ("--rows", 40), "40 of 60 rows"),
        (DIFF, ("--index", "--k", 3, "--max-loss", 0.2), "A loss of 0.2 is accepted"),
    ],
)
def test_answers_follow_options(run, command, options, said):
    plain, plain_json = run(*command)
    text, found = run(*command, *options)
    assert any(words in text and words not in plain for words in said.split("|"))
    assert found != plain_json


def test_blocks_without_labels_are_refused_by_diff(run):
    _, error = run("diff", "before.npz", "after.npz", "--blocks", "donors.txt")
    assert "--blocks must come with labels, whose permutations they restrict, got blocks alone" in error
