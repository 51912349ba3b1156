"""Numbers of tokens that an extraction recorded, and batches and depth of cells, are asked as covariates."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import shesha
from shesha.cli._app import app
from shesha.doubting.recorded_columns import text_lengths
from shesha.io import read
from shesha.io.read import recorded_token_counts, shared_token_counts

TOLD = "number of tokens explains (partial rank correlation), feature_split changes from"
QUICK = {"n_bootstrap": 0, "n_permutations": 0}


def rows_of_lengths(n_tokens):
    """Return rows that lie nearer a common direction the more tokens they have."""
    rng = np.random.default_rng(38)
    return rng.standard_normal((90, 24)) + 0.2 * np.sqrt(n_tokens)[:, None] * rng.standard_normal(24)


@pytest.fixture
def n_tokens():
    return np.random.default_rng(2).integers(4, 80, 90)


@pytest.fixture
def file(tmp_path, n_tokens):
    """A file as an extraction writes it."""
    from shesha.extract._resumable_files import lay_out

    pytest.importorskip("safetensors")
    X = rows_of_lengths(n_tokens)
    place = tmp_path / "layers.safetensors"
    about = json.dumps({"inputs": {"rows": 90, "n_tokens": n_tokens.tolist()}})
    (region,) = lay_out(place, {"layer": (X.shape, "float64")}, about).values()
    with region.file.open("r+b") as stream:
        stream.seek(region.offset)
        stream.write(X.tobytes())
    return place


def said(doubts):
    return " ".join(str(doubts).split())


def test_an_audit_of_a_saved_file_asks_them(file, tmp_path, n_tokens):
    assert recorded_token_counts(file) == tuple(n_tokens)
    for given in (file, [file], {"mine": file}, read(file)):
        (found,) = shesha.audit(given, **QUICK)
        assert TOLD in said(found.doubts)
    (stored,) = shesha.audit(file, store=tmp_path / "kept.db", **QUICK)
    assert TOLD in said(stored.doubts)
    (plain,) = shesha.audit(dict(read(file)), **QUICK)
    assert "number of tokens" not in said(plain.doubts)


def test_doubts_asks_them_by_itself(file, n_tokens):
    for given in (file, str(file), read(file)):
        assert TOLD in said(shesha.doubts(given))
    assert TOLD not in said(shesha.doubts(read(file)["layer"]))
    assert TOLD in said(shesha.doubts(read(file)["layer"], covariates={"number of tokens": n_tokens}))


def test_activations_carry_them(tmp_path, n_tokens):
    pytest.importorskip("torch")
    from shesha.extract import Activations

    found = Activations({"layer": rows_of_lengths(n_tokens)}, {"inputs": {"rows": 90, "n_tokens": n_tokens.tolist()}})
    (alone,), (stored,) = (shesha.audit(found, **QUICK, **options) for options in ({}, {"store": tmp_path / "kept.db"}))
    assert TOLD in said(alone.doubts) and stored.doubts.names == alone.doubts.names
    (plain,) = shesha.audit(dict(found), store=tmp_path / "kept.db", **QUICK)
    assert "number of tokens" not in said(plain.doubts)


def test_lengths_that_explain_nothing_raise_no_doubt(n_tokens):
    rng = np.random.default_rng(3)
    lengths = {"number of tokens": n_tokens}
    found = [str(shesha.doubts(rng.standard_normal((90, 24)), covariates=lengths)) for _ in range(20)]
    raised = sum("number of tokens" in text for text in found)
    # 200 such audits raised none.
    assert raised <= 2


def test_the_command_asks_them(file):
    ended = CliRunner().invoke(app, ["audit", str(file), "--bootstrap", "0", "--permutations", "0"])
    assert TOLD in said(ended.stdout)


def test_several_representations_have_no_doubts_of_their_own(n_tokens):
    X = rows_of_lengths(n_tokens)
    with pytest.raises(
        ValueError, match=r"X must contain one representation, got 2 \(a, b\): pass one of them, or use"
    ):
        shesha.doubts({"a": X, "b": X})


def test_files_that_disagree_or_record_nothing_give_no_lengths(file, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    head = json.dumps({"__metadata__": {"shesha": json.dumps({"inputs": {"n_tokens": [1, 2]}})}}).encode()
    (other / "a.safetensors").write_bytes(len(head).to_bytes(8, "little") + head)
    assert shared_token_counts([other]) == (1, 2)
    assert shared_token_counts([other, file]) is None
    np.save(tmp_path / "plain.npy", np.zeros((3, 2)))
    assert shared_token_counts([tmp_path / "plain.npy", file]) == recorded_token_counts(file)
    assert text_lengths(tmp_path / "plain.npy") == {}


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff" * 8, b"\x02" + b"\0" * 7 + b"[]", b"\x02" + b"\0" * 7 + b"{}", (5).to_bytes(8, "little") + b"{nope"],
)
def test_damaged_headers_record_nothing(tmp_path, content):
    place = tmp_path / "broken.safetensors"
    place.write_bytes(content)
    assert recorded_token_counts(place) is None


def test_texts_of_one_length_are_no_covariate(tmp_path):
    head = json.dumps({"__metadata__": {"shesha": json.dumps({"inputs": {"n_tokens": [7, 7]}})}}).encode()
    place = tmp_path / "a.safetensors"
    place.write_bytes(len(head).to_bytes(8, "little") + head)
    assert recorded_token_counts(place) == (7, 7)
    assert text_lengths(place) == {}


@pytest.mark.parametrize(
    ("column", "values", "found"),
    [
        ("batch", lambda half, _: np.where(half, "a", "b"), "covariate"),
        ("nCount_RNA", lambda _, scale: scale, "covariate"),
        ("score", lambda _, scale: scale, ""),
        ("kind", lambda half, _: np.where(half, "a", "b"), ""),
        ("batch", lambda half, _: np.where(half, "a", None), ""),
        ("total_counts", lambda half, _: np.ones(len(half)), ""),
    ],
)
def test_batches_and_depth_of_cells_are_asked(column, values, found, tmp_path):
    anndata = pytest.importorskip("anndata")
    rng = np.random.default_rng(0)
    half = np.tile([True, False], 60)
    scale = half + 0.1 * rng.standard_normal(120)
    X = rng.standard_normal((120, 24)) + 2 * scale[:, None] * rng.standard_normal(24)
    axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    cells = anndata.AnnData(X, obsm={"X_pca": axes[0] * axes[1]})
    cells.obs[column] = values(half, scale)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    ran = CliRunner().invoke(
        app, ["audit", str(tmp_path / "cells.h5ad"), "--key", "obsm/X_pca", "--quick", "--json", "-"]
    )
    assert ran.exit_code == 0, ran.output
    (one,) = json.loads(ran.stdout)["representations"]
    names = [doubt["name"] for doubt in one["doubts"]["found"]]
    assert "whitened" in names
    assert ("covariate" in names) == (found != "")
