"""Names of files and models: the last part of a path, and folders only where they are needed to tell paths apart."""

from pathlib import Path

import pytest

from shesha.io.array_selection import short_paths


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a.npy", "x/b.npy"], ["a", "b"]),
        (["run1/final/emb.npy", "run2/final/emb.npy"], ["run1/final/emb", "run2/final/emb"]),
        (["run1/emb.npy", "run2/emb.npy", "old/other.npy"], ["run1/emb", "run2/emb", "other"]),
        (["emb.npy", "run/emb.npy"], ["emb", "run/emb"]),
        (["/emb.npy", "/run/emb.npy"], ["/emb", "run/emb"]),
        (["run/emb.npy", "run/emb.csv"], ["emb.npy", "emb.csv"]),
        (["emb.npy"] * 2, ["emb.npy (1)", "emb.npy (2)"]),
        ([], []),
    ],
)
def test_names_have_as_many_folders_as_they_need(paths, names):
    assert short_paths(paths, endings=False) == names
    assert short_paths(map(Path, paths), endings=False) == names


def test_endings_of_models_are_part_of_their_names():
    assert short_paths(["org/model.v1", "org/model.v2"]) == ["model.v1", "model.v2"]
    assert short_paths(["one/model", "two/model"]) == ["one/model", "two/model"]
    assert short_paths(["model", "other", "model"]) == ["model (1)", "other", "model (2)"]
